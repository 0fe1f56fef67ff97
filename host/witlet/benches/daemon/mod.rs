//! The daemon as a process, for benchmarks: started on a fake runtime, measured from outside.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use witlet_server::LocalClient;

/// Longer than this and the daemon doesn't work.
pub(crate) const START_DEADLINE: Duration = Duration::from_secs(120);

/// The program that is measured: `BENCH_PROGRAM`, so that two releases can be compared by one bench, or the one just built.
fn program() -> PathBuf {
    std::env::var_os("BENCH_PROGRAM").map_or_else(|| env!("CARGO_BIN_EXE_witlet").into(), PathBuf::from)
}

/// A running daemon.
pub(crate) struct Daemon {
    process: Child,
    /// From the start of the process to its first sync, or to its first answer.
    pub(crate) started_after: Duration,
}

impl Daemon {
    /// Starts one in this folder, on the runtime at `cri.sock` in it, and waits for its first sync.
    #[allow(dead_code, reason = "each benchmark uses a part of this file")]
    pub(crate) async fn start(home: &Path) -> Self {
        Self::start_until(home, &[], |stats| stats["firstSync"].is_string()).await
    }

    /// Starts one that has nothing to sync, and waits until it has seen all sources.
    #[allow(dead_code, reason = "each benchmark uses a part of this file")]
    pub(crate) async fn start_empty(home: &Path) -> Self {
        Self::start_with(home, &[]).await
    }

    /// The same with more arguments.
    #[allow(dead_code, reason = "each benchmark uses a part of this file")]
    pub(crate) async fn start_with(home: &Path, arguments: &[String]) -> Self {
        Self::start_until(home, arguments, |stats| stats["sourcesReady"] == true).await
    }

    async fn start_until(home: &Path, arguments: &[String], is_started: impl Fn(&Value) -> bool) -> Self {
        let log = std::fs::File::create(home.join("witlet.log")).expect("a log file");
        let socket = home.join("api.sock");
        let begin = Instant::now();
        let process = Command::new(program())
            .arg("run")
            .args(flag("--container-runtime-endpoint", format!("unix://{}", home.join("cri.sock").display())))
            .args(flag("--pod-manifest-path", home.join("pods").display()))
            .args(flag("--root-dir", home.join("root").display()))
            .args(flag("--pod-logs-dir", home.join("logs").display()))
            .args(flag("--api-socket", socket.display()))
            .args(["--node-name", "bench", "--max-pods", "100000", "--cgroups-per-qos=false"])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the daemon's binary");
        let mut daemon = Self { process, started_after: Duration::ZERO };
        let client = LocalClient::new(&socket);
        loop {
            assert!(begin.elapsed() < START_DEADLINE, "{}", read(&home.join("witlet.log")));
            let stats: Result<Value, _> = client.get("/stats").await;
            if stats.is_ok_and(|stats| is_started(&stats)) {
                daemon.started_after = begin.elapsed();
                return daemon;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    fn proc(&self, file: &str) -> String {
        read(&PathBuf::from(format!("/proc/{}/{file}", self.process.id())))
    }

    /// User and system time so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        witlet_harness::usage::cpu_seconds(self.process.id()).unwrap_or_default()
    }

    /// How many threads it has.
    #[allow(dead_code, reason = "each benchmark uses a part of this file")]
    pub(crate) fn threads(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id()));
        tasks.map(Iterator::count).unwrap_or_default()
    }

    /// How often its threads of this name have gone to sleep by themselves, which they do after each time that they woke up.
    #[allow(dead_code, reason = "each benchmark uses a part of this file")]
    pub(crate) fn wakes(&self, name: &str) -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id()));
        let tasks = tasks.into_iter().flatten().filter_map(|task| Some(task.ok()?.path()));
        let count = |status: String| {
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            line.trim().parse::<u64>().ok()
        };
        let named = tasks.filter(|task| read(&task.join("comm")).trim() == name);
        named.filter_map(|task| count(read(&task.join("status")))).sum()
    }

    /// Its local API.
    #[allow(dead_code, reason = "each benchmark uses a part of this file")]
    pub(crate) fn client(home: &Path) -> LocalClient {
        LocalClient::new(&home.join("api.sock"))
    }

    /// A line of `/proc/PID/status` in MB.
    pub(crate) fn resident_mb(&self, key: &str) -> f64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        let kib =
            line.trim_start_matches(':').split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
        kib.unwrap_or_default() * 1024.0 / 1e6
    }

    /// Ends it without grace; the next start has to cope.
    pub(crate) fn end(self) {
        drop(self);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.process.kill().expect("the daemon is ours");
        self.process.wait().expect("the daemon is ours");
    }
}

fn flag(name: &str, value: impl ToString) -> [String; 2] {
    [name.to_owned(), value.to_string()]
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
