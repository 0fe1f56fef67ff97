//! The daemon as a process: start-up, memory, and what it costs while nothing happens.
//!
//! It runs next to a fake CRI server in this process, so its figures hold none of a runtime's costs. Prints one JSON
//! object a line.

mod daemon;

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_fake_cri::FakeCri;

use daemon::{Daemon, START_DEADLINE};

/// How many pods the daemon has while its idle cost is read.
const PODS: usize = 100;

/// How long the daemon is left alone before a reading.
const SETTLE: Duration = Duration::from_secs(10);

/// How long idle CPU is read for.
const IDLE_WINDOW: Duration = Duration::from_secs(30);

/// How often the threads that tick the plugins' epochs may wake up in [`IDLE_WINDOW`]: they park.
const EPOCH_WAKES_MAX: u64 = 4;

/// The agent's budget of resident memory without pods, in MB (10⁶ bytes).
const MEMORY_BUDGET_MB: f64 = 25.0;

/// The agent's budget of CPU while idle, in percent of one core.
const IDLE_CPU_BUDGET_PERCENT: f64 = 1.0;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(measure());
}

async fn measure() {
    let home = tempfile::tempdir().expect("a temporary folder");
    let (cri, stop) = (FakeCri::default(), CancellationToken::new());
    let cri_socket = home.path().join("cri.sock");
    let serve = cri.serve(&cri_socket, stop.clone());
    let work = async {
        // The daemon's start ends with the first sync, so it needs a pod.
        std::fs::create_dir_all(home.path().join("pods")).expect("the manifest folder");
        write_pod(home.path(), "first");
        let first = Daemon::start(home.path()).await;
        report("daemon_start_to_first_sync_empty_cache", "ms", first.started_after.as_secs_f64() * 1e3, None);
        first.end();
        let daemon = Daemon::start(home.path()).await;
        report("daemon_start_to_first_sync", "ms", daemon.started_after.as_secs_f64() * 1e3, None);
        std::fs::remove_file(home.path().join("pods/first.json")).expect("it was written");
        // Twice, because memory is given back once in this time.
        tokio::time::sleep(2 * SETTLE).await;
        report("daemon_memory_idle", "MB", daemon.resident_mb("VmRSS"), Some(MEMORY_BUDGET_MB));
        report("daemon_memory_idle_anonymous", "MB", daemon.resident_mb("RssAnon"), None);
        idle(&daemon).await;
        with_pods(&daemon, &cri, home.path()).await;
        daemon.end();
        stop.cancel();
    };
    let (served, ()) = tokio::join!(serve, work);
    served.expect("the fake runtime serves until it is stopped");
}

/// Without pods, and with all built-ins loaded.
async fn idle(daemon: &Daemon) {
    report("daemon_threads_idle", "threads", daemon.threads() as f64, None);
    let (cpu, wakes) = (daemon.cpu_seconds(), daemon.wakes("epochs"));
    tokio::time::sleep(IDLE_WINDOW).await;
    let wakes = daemon.wakes("epochs") - wakes;
    let percent = (daemon.cpu_seconds() - cpu) / IDLE_WINDOW.as_secs_f64() * 100.0;
    report("daemon_cpu_idle", "%", percent, Some(IDLE_CPU_BUDGET_PERCENT));
    report("daemon_epoch_wakes_idle", "times in 30 s", wakes as f64, Some(EPOCH_WAKES_MAX as f64));
    assert!(wakes <= EPOCH_WAKES_MAX, "the epochs tick while nothing runs: {wakes} times in {IDLE_WINDOW:?}");
}

async fn with_pods(daemon: &Daemon, cri: &FakeCri, home: &Path) {
    let (before, begin) = (daemon.cpu_seconds(), Instant::now());
    for number in 0..PODS {
        let manifest = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("pod-{number}")},
            "spec": {"containers": [{"name": "main", "image": "registry.example.com/app:1.0"}]},
        });
        std::fs::write(home.join(format!("pods/pod-{number}.json")), manifest.to_string())
            .expect("a manifest");
    }
    while cri.running() < PODS {
        assert!(begin.elapsed() < START_DEADLINE, "only {} of {PODS} pods run", cri.running());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    report("daemon_start_100_pods", "s", begin.elapsed().as_secs_f64(), None);
    report("daemon_cpu_to_start_100_pods", "s", daemon.cpu_seconds() - before, None);
    tokio::time::sleep(SETTLE).await;
    let before = daemon.cpu_seconds();
    tokio::time::sleep(IDLE_WINDOW).await;
    let percent = (daemon.cpu_seconds() - before) / IDLE_WINDOW.as_secs_f64() * 100.0;
    report("daemon_cpu_idle_100_pods", "%", percent, Some(IDLE_CPU_BUDGET_PERCENT));
    report("daemon_memory_100_pods", "MB", daemon.resident_mb("VmRSS"), None);
}

fn write_pod(home: &Path, name: &str) {
    let manifest = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "registry.example.com/app:1.0"}]},
    });
    std::fs::write(home.join(format!("pods/{name}.json")), manifest.to_string()).expect("a manifest");
}

/// Prints one figure.
#[allow(clippy::print_stdout, reason = "a benchmark's output is its product")]
fn report(name: &str, unit: &str, value: f64, budget: Option<f64>) {
    let value = (value * 1e4).round() / 1e4;
    println!(
        "{}",
        json!({"name": name, "unit": unit, "value": value, "floor": null, "ratio": null, "budget": budget})
    );
}
