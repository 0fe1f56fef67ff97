//! A node of a hundred pods with a plugin that never answers, on a runtime that answers at once.

use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_containerd::{Daemon, DaemonOptions, report};
use witlet_fake_cri::FakeCri;
use witlet_server::LocalClient;

use crate::process::slowdown;

/// Pods that the plugin says nothing about.
const FREE: usize = 90;

/// Pods that it hangs on.
const HELD: usize = 10;

/// The loop may not be longer than this on one event, on a machine that does nothing else: it may be as many times longer
/// as the machine has everything take.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// A machine that is busy with something else may pause any process: one of so many rounds has to hold.
const ROUNDS_MAX: usize = 3;

/// How long anything may take before it counts as never.
const PATIENCE: Duration = Duration::from_secs(120);

fn failed(error: &dyn std::error::Error) -> Failed {
    Failed::from(report(error))
}

/// Plays rounds until one holds; everything but the length of pauses has to hold in each.
#[allow(clippy::print_stderr, reason = "the figure is part of what this shows")]
pub(crate) async fn hundred_pods() -> Result<(), Failed> {
    let mut pauses = Vec::new();
    for round in 1..=ROUNDS_MAX {
        let (pause, slowdown) = play().await?;
        eprintln!(
            "round {round}: the event loop's longest pause was {:.1} ms, on a machine that is {slowdown:.1} times slower than \
             by itself",
            pause.as_secs_f64() * 1e3,
        );
        if pause < PAUSE_MAX.mul_f64(slowdown) {
            return Ok(());
        }
        pauses.push((pause, slowdown));
    }
    Err(Failed::from(format!(
        "the event loop paused for so long, on a machine so many times slower: {pauses:?}; {PAUSE_MAX:?} is allowed"
    )))
}

/// The longest pause of the event loop while all of it happens, and how many times slower the machine was.
async fn play() -> Result<(Duration, f64), Failed> {
    let folder = tempfile::Builder::new().prefix("wtl").tempdir_in("/tmp")?;
    let (cri, stop) = (FakeCri::default(), CancellationToken::new());
    let socket = folder.path().join("cri.sock");
    let mut serving = JoinSet::new();
    serving.spawn({
        let (cri, socket, stop) = (cri.clone(), socket.clone(), stop.clone());
        async move { cri.serve(&socket, stop).await }
    });
    std::fs::write(folder.path().join("hostile.wasm"), witlet_test_guests::HOSTILE)?;
    let configure = |behaviour: &str| {
        let plugin = json!({
            "name": "hangs", "component": "./hostile.wasm", "config": behaviour,
            "admission": {"match": {"namespaces": ["held"]}},
        });
        let file = json!({
            "apiVersion": "witlet.dev/v1alpha1", "kind": "PluginConfiguration", "plugins": [plugin],
        });
        std::fs::write(folder.path().join("plugins.yaml"), file.to_string())
    };
    configure("loop-in-admit")?;
    let endpoint = format!("unix://{}", socket.display());
    let mut options = DaemonOptions::below(folder.path(), env!("CARGO_BIN_EXE_witlet"), endpoint);
    options.plugins = Some(folder.path().join("plugins.yaml"));
    let mut daemon = Daemon::start(options).map_err(|error| failed(&error))?;

    // The held ones come first, so that they are in front of the others in the queue.
    for (namespace, pods) in [("held", HELD), ("free", FREE)] {
        let items: Vec<Value> = (0..pods).map(|number| pod(namespace, number)).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        daemon.write_manifest(&format!("{namespace}.json"), &list).map_err(|error| failed(&error))?;
    }
    wait(&daemon, "free pods run and held ones wait", |pods| {
        running(pods, "free") == FREE && count(pods, "held", |pod| waiting(pod) == "Blocked") == HELD
    })
    .await?;
    wait_for_timeout(&daemon).await?;
    // A plugin that answers takes its place, and everything works.
    configure("admit")?;
    wait(&daemon, "held pods run as well", |pods| running(pods, "held") == HELD).await?;
    let stats: Value =
        LocalClient::new(&daemon.api_socket()).get("/stats").await.map_err(|error| failed(&error))?;
    let pause = stats["longestPauseSeconds"].as_f64().ok_or("the daemon tells its longest pause")?;
    let slowdown = slowdown(daemon.pid().ok_or("the daemon runs")?);
    daemon.stop().await.map_err(|error| failed(&error))?;
    if cri.running() != FREE + HELD {
        return Err(Failed::from(format!(
            "{} containers run, and not all pods were told to stop",
            cri.running()
        )));
    }
    stop.cancel();
    serving.join_all().await;
    Ok((Duration::from_secs_f64(pause), slowdown))
}

/// The plugin was asked, and didn't answer: until it is loaded, pods wait for that.
async fn wait_for_timeout(daemon: &Daemon) -> Result<(), Failed> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let plugins = daemon.get("plugins").await;
        let items = plugins.as_ref().ok().and_then(|plugins| plugins["items"].as_array());
        let hangs = items.and_then(|all| all.iter().find(|plugin| plugin["name"] == "hangs"));
        let timeouts = hangs.and_then(|plugin| plugin["roles"][0]["timeouts"].as_u64());
        if timeouts.unwrap_or_default() > 0 {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let seen = plugins.map_err(|error| failed(&error))?;
            return Err(Failed::from(format!("the plugin didn't hang: {seen}")));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn wait(daemon: &Daemon, what: &str, wanted: impl Fn(&[Value]) -> bool) -> Result<(), Failed> {
    let waited = daemon.wait_for_pods(what, PATIENCE, |pods| wanted(pods)).await;
    waited.map(drop).map_err(|error| failed(&error))
}

fn pod(namespace: &str, number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pod-{number}"), "namespace": namespace},
        "spec": {"containers": [{"name": "app", "image": "registry.example.com/app:1"}]},
    })
}

fn count(pods: &[Value], namespace: &str, wanted: impl Fn(&Value) -> bool) -> usize {
    pods.iter().filter(|pod| pod["metadata"]["namespace"] == *namespace && wanted(pod)).count()
}

fn running(pods: &[Value], namespace: &str) -> usize {
    count(pods, namespace, |pod| pod["status"]["phase"] == "Running")
}

fn waiting(pod: &Value) -> &str {
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"].as_str().unwrap_or_default()
}
