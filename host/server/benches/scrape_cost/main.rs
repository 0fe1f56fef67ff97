//! What the six paths of a node's figures cost the processor: a server over TLS on the loopback, and below it real cgroups with processes
//! that sleep.
//!
//! Needs root, because it makes `SCRAPE_PODS` (450 if not given) pods' cgroups with two processes each, and removes them at the end. Each path
//! is read as it is and compressed: while nothing happens in any pod, and after something happened in a tenth of them and in each. Prints
//! one JSON object a line: CPU of the process with the server (its client is another one), in milliseconds.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark talks to its user")]

mod machine;
mod reader;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_node::SystemClock;
use witlet_server::{
    Authentication, Authorization, Diagnostics, KubeletServer, Metrics, ServerOptions, ServerParts,
    ServerTls, TlsOptions,
};

use machine::{Machine, Pods};

const PODS_DEFAULT: usize = 450;
/// What a Prometheus and a metrics server read of a node.
const PATHS: [&str; 6] = [
    "/metrics",
    "/metrics/cadvisor",
    "/metrics/probes",
    "/metrics/resource",
    "/metrics/slis",
    "/stats/summary",
];
/// How often all paths are read, and the pause between: longer than measurements are shared for.
const ROUNDS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(1100);
/// In how many of the pods something happens between two rounds: none, one in ten, all.
const BUSY: [(&str, Option<usize>); 3] = [("none", None), ("a tenth", Some(10)), ("all", Some(1))];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, address, authority] = &arguments[..]
        && mode == "--read"
    {
        reader::read(address, authority);
        return ExitCode::SUCCESS;
    }
    let number = |name: &str, default| {
        std::env::var(name).ok().and_then(|value| value.parse::<usize>().ok()).unwrap_or(default)
    };
    let rounds = number("SCRAPE_ROUNDS", ROUNDS as usize);
    let pods = match Pods::make(number("SCRAPE_PODS", PODS_DEFAULT)) {
        Ok(pods) => Arc::new(pods),
        Err(error) => {
            eprintln!("bench: the cost of scrapes was NOT measured: make cgroups: {error}");
            return ExitCode::SUCCESS;
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("threads can be started");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut serving = JoinSet::new();
    let (address, authority) = runtime.block_on(serve(&pods, folder.path(), &mut serving));
    let mut client = Client::start(&address, &authority);
    for is_gzip in [false, true] {
        for busy in BUSY {
            measure(&mut client, &pods, rounds, is_gzip, busy);
        }
    }
    ExitCode::SUCCESS
}

/// Reads all paths again and again, and prints what each cost on average.
#[allow(clippy::disallowed_methods, reason = "between two rounds real time passes")]
fn measure(client: &mut Client, pods: &Pods, rounds: usize, is_gzip: bool, busy: (&str, Option<usize>)) {
    let mut of_paths = PATHS.map(|_| (0.0, 0.0, 0));
    for round in 0..=rounds {
        std::thread::sleep(PAUSE);
        if let (_, Some(one_in)) = busy {
            pods.wake(one_in);
        }
        for (path, (cpu, took, bytes)) in PATHS.into_iter().zip(&mut of_paths) {
            let before = cpu_ms();
            let (size, ms) = client.read(path, is_gzip);
            // The first round reads what nothing knows yet.
            if round > 0 {
                *cpu += cpu_ms() - before;
                *took += ms;
                *bytes = size;
            }
        }
    }
    let each = |sum: f64| (sum / rounds as f64 * 100.0).round() / 100.0;
    let mut all = (0.0, 0.0);
    for (path, (cpu, took, bytes)) in PATHS.into_iter().zip(of_paths) {
        all = (all.0 + cpu, all.1 + took);
        println!(
            "{}",
            json!({"path": path, "gzip": is_gzip, "busy": busy.0, "bytes": bytes, "cpu_ms": each(cpu), "ms": each(took)})
        );
    }
    println!(
        "{}",
        json!({"path": "all", "gzip": is_gzip, "busy": busy.0, "cpu_ms": each(all.0), "ms": each(all.1)})
    );
}

/// Processor time of this process so far.
fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Serves until the process ends; returns the address and the file with the server's authority.
async fn serve(pods: &Arc<Pods>, folder: &std::path::Path, serving: &mut JoinSet<()>) -> (String, String) {
    let clock = Arc::new(SystemClock);
    let machine = Arc::new(Machine::new(pods.clone()));
    let options = TlsOptions {
        certificate: None,
        client_ca: None,
        cert_dir: folder.join("pki"),
        node_name: "node-1".to_owned(),
        alternative_names: vec!["127.0.0.1".to_owned()],
        only_tls13: false,
    };
    let tls = ServerTls::open(options, clock.clone()).expect("a certificate can be made");
    let parts = ServerParts {
        view: machine.clone(),
        mirrors: None,
        pods: machine.clone(),
        containers: machine.clone(),
        streaming: machine.clone(),
        logs: machine.clone(),
        clock,
        metrics: Metrics::default(),
        probes: machine.clone(),
        process_started_at: None,
        stats: machine.clone().stats(),
        configz: json!({}),
        diagnostics: Diagnostics {
            flags: Default::default(),
            kubernetes_version: "1.36.0".to_owned(),
            verbosity: machine.clone(),
            system_logs: machine.clone(),
            checkpoints: machine,
            checkpoint_folder: folder.join("checkpoints"),
        },
        tracer: Default::default(),
        authentication: Authentication { anonymous: true, tokens: None },
        authorization: Authorization::AlwaysAllow,
        options: ServerOptions::default(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    serving.spawn(KubeletServer::new(parts).serve(listener, tls, CancellationToken::new()));
    (address, folder.join("pki/kubelet.crt").display().to_string())
}

/// A process that reads the paths that it is given.
struct Client {
    process: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Client {
    fn start(address: &str, authority: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("this program has a file"))
            .args(["--read", address, authority])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let answers = BufReader::new(process.stdout.take().expect("its output is piped"));
        Self { process, answers }
    }

    /// The size of the body and how long it took, in milliseconds.
    fn read(&mut self, path: &str, is_gzip: bool) -> (usize, f64) {
        let input = self.process.stdin.as_mut().expect("its input is piped");
        writeln!(input, "{path} {is_gzip}").expect("it reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        let (bytes, ms) = line.trim().split_once(' ').expect("two numbers");
        (bytes.parse().expect("a number"), ms.parse().expect("a number"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
