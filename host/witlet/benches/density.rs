//! Density: many static pods written at once, left alone, and removed at once.
//!
//! The daemon runs as a process next to a fake CRI server in this one, which answers at once, so that its figures hold
//! none of a runtime's costs. Progress goes to standard error; the last line of standard output is one JSON object.
//! `DENSITY_PODS` says how many pods (450 if not given), `DENSITY_ARGUMENTS` more arguments of `witlet run`, apart by
//! spaces (`--eviction-hard=` shows what the monitors cost). With `DENSITY_API=1` they are created in an API server, and deleted there;
//! `DENSITY_QPS` then sets the daemon's request rate (`default` for its own; no limit if not given), and with `DENSITY_OBJECTS=2000`
//! so many config maps and secrets are used by a few pods instead. `BENCH_PROGRAM` measures another `witlet` than the one just built.

mod daemon;
mod density_api;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_fake_cri::FakeCri;

use daemon::{Daemon, START_DEADLINE};

/// How many pods, if no one says otherwise.
const PODS_DEFAULT: usize = 450;
/// How long the daemon is left alone before a reading.
const SETTLE: Duration = Duration::from_secs(10);
/// How long idle CPU is read for.
const IDLE_WINDOW: Duration = Duration::from_secs(30);
/// Between two checks of what the daemon shows.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

fn main() {
    let pods = match std::env::var("DENSITY_PODS") {
        Ok(text) => text.parse().expect("DENSITY_PODS is a number"),
        Err(_) => PODS_DEFAULT,
    };
    let arguments = std::env::var("DENSITY_ARGUMENTS").unwrap_or_default();
    let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    if std::env::var("DENSITY_API").is_ok_and(|value| value == "1") {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        return print(&match std::env::var("DENSITY_OBJECTS") {
            Ok(text) => {
                let count = text.parse().expect("DENSITY_OBJECTS is a number");
                runtime.block_on(density_api::measure_objects(count, arguments))
            }
            Err(_) => runtime.block_on(density_api::measure(pods, arguments)),
        });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure(pods, &arguments));
}

async fn measure(pods: usize, arguments: &[String]) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let (cri, stop) = (FakeCri::default(), CancellationToken::new());
    let cri_socket = home.path().join("cri.sock");
    let serve = cri.serve(&cri_socket, stop.clone());
    let work = async {
        std::fs::create_dir_all(home.path().join("pods")).expect("the manifest folder");
        // The first start fills the code cache, as a package's installation does.
        Daemon::start_empty(home.path()).await.end();
        let daemon = Daemon::start_with(home.path(), arguments).await;
        tokio::time::sleep(SETTLE).await;
        let figures = run(&daemon, &cri, home.path(), pods).await;
        daemon.end();
        stop.cancel();
        figures
    };
    let (served, figures) = tokio::join!(serve, work);
    served.expect("the fake runtime serves until it is stopped");
    print(&figures);
}

async fn run(daemon: &Daemon, cri: &FakeCri, home: &Path, pods: usize) -> Value {
    let (rss_before, anonymous_before) = (daemon.resident_mb("VmRSS"), daemon.resident_mb("RssAnon"));
    let (cpu, begun) = (daemon.cpu_seconds(), Instant::now());
    let begun_ns = witlet_fake_cri::now();
    for number in 0..pods {
        std::fs::write(manifest_path(home, number), manifest(number)).expect("a manifest");
    }
    until(|| cri.running() >= pods, begun, "pods run").await;
    let shown_ready = shown_ready(home, pods, begun).await;
    let start_cpu = daemon.cpu_seconds() - cpu;
    let starts = seconds_since(begun_ns, cri.starts());
    say(&format!("{pods} pods were ready after {shown_ready:.2} s"));
    tokio::time::sleep(SETTLE).await;
    let (rss, threads, cpu) = (daemon.resident_mb("VmRSS"), daemon.threads(), daemon.cpu_seconds());
    let anonymous = daemon.resident_mb("RssAnon");
    tokio::time::sleep(IDLE_WINDOW).await;
    let idle = (daemon.cpu_seconds() - cpu) / IDLE_WINDOW.as_secs_f64() * 100.0;

    let (cpu, begun) = (daemon.cpu_seconds(), Instant::now());
    let begun_ns = witlet_fake_cri::now();
    for number in 0..pods {
        std::fs::remove_file(manifest_path(home, number)).expect("it was written");
    }
    until(|| cri.sandboxes() == 0, begun, "pods are gone").await;
    let delete_cpu = daemon.cpu_seconds() - cpu;
    let ends = seconds_since(begun_ns, cri.ends());
    say(&format!("nothing was left of them after {:.2} s", begun.elapsed().as_secs_f64()));
    tokio::time::sleep(SETTLE).await;
    json!({
        "pods": pods,
        "pods_per_s": rounded(pods as f64 / shown_ready),
        "start_p50_s": percentile(&starts, 50),
        "start_p90_s": percentile(&starts, 90),
        "start_p99_s": percentile(&starts, 99),
        "ready_s": rounded(shown_ready),
        "start_cpu_s": rounded(start_cpu),
        "idle_cpu_pct": rounded(idle),
        "delete_p50_s": percentile(&ends, 50),
        "delete_p99_s": percentile(&ends, 99),
        "delete_cpu_s": rounded(delete_cpu),
        "rss_before_mb": rounded(rss_before),
        "rss_anon_before_mb": rounded(anonymous_before),
        "rss_mb": rounded(rss),
        "rss_anon_mb": rounded(anonymous),
        "rss_after_mb": rounded(daemon.resident_mb("VmRSS")),
        "threads": threads,
    })
}

/// Seconds until the daemon's own API shows all pods as ready.
async fn shown_ready(home: &Path, pods: usize, begun: Instant) -> f64 {
    let client = Daemon::client(home);
    loop {
        let shown: Value = client.get("/pods").await.expect("the daemon answers");
        let list = shown["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if list.iter().filter(|pod| is_ready(pod)).count() >= pods {
            return begun.elapsed().as_secs_f64();
        }
        assert!(begun.elapsed() < START_DEADLINE, "not all pods are shown as ready");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

async fn until(holds: impl Fn() -> bool, begun: Instant, what: &str) {
    while !holds() {
        assert!(begun.elapsed() < START_DEADLINE, "not all {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Sorted, in seconds.
fn seconds_since(begun_ns: i64, moments: Vec<i64>) -> Vec<f64> {
    let mut seconds: Vec<f64> = moments
        .into_iter()
        .filter(|moment| *moment >= begun_ns)
        .map(|moment| (moment - begun_ns) as f64 / 1e9)
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds
}

/// Of sorted values: the nearest rank.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    rounded(sorted.get(rank - 1).copied().unwrap_or_default())
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn manifest_path(home: &Path, number: usize) -> std::path::PathBuf {
    home.join(format!("pods/pod-{number}.json"))
}

fn manifest(number: usize) -> String {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pod-{number}")},
        "spec": {"containers": [{"name": "main", "image": "registry.example.com/app:1.0"}]},
    })
    .to_string()
}

#[allow(clippy::print_stderr, reason = "progress of a long run")]
fn say(text: &str) {
    eprintln!("density: {text}");
}

#[allow(clippy::print_stdout, reason = "a benchmark's output is its product")]
fn print(figures: &Value) {
    println!("{figures}");
}
