//! A node of a hundred pods with a plugin that never answers, on a runtime that answers at once.

use std::time::Duration;
use witlet_harness::WAIT_TIMEOUT;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_fake_cri::FakeCri;
use witlet_harness::{Daemon, DaemonOptions, report};

/// Pods that the plugin says nothing about.
const FREE: usize = 90;

/// Pods that it hangs on.
const HELD: usize = 10;

fn failed(error: &dyn std::error::Error) -> Failed {
    Failed::from(report(error))
}

/// Free pods run while the plugin hangs; held ones wait, and run once it answers.
pub(crate) async fn hundred_pods() -> Result<(), Failed> {
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
    let mut options = DaemonOptions::below(
        folder.path(),
        witlet_harness::program::witlet().map_err(|error| failed(&error))?,
        endpoint,
    );
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
    daemon.stop().await.map_err(|error| failed(&error))?;
    if cri.running() != FREE + HELD {
        return Err(Failed::from(format!(
            "{} containers run, and not all pods were asked to stop",
            cri.running()
        )));
    }
    stop.cancel();
    serving.join_all().await;
    Ok(())
}

/// The plugin was asked, and didn't answer: until it is loaded, pods wait for that.
async fn wait_for_timeout(daemon: &Daemon) -> Result<(), Failed> {
    let deadline = Instant::now() + WAIT_TIMEOUT;
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

async fn wait(daemon: &Daemon, what: &str, expected: impl Fn(&[Value]) -> bool) -> Result<(), Failed> {
    let waited = daemon.wait_for_pods(what, |pods| expected(pods)).await;
    waited.map(drop).map_err(|error| failed(&error))
}

fn pod(namespace: &str, number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pod-{number}"), "namespace": namespace},
        "spec": {"containers": [{"name": "app", "image": "registry.example.com/app:1"}]},
    })
}

fn count(pods: &[Value], namespace: &str, expected: impl Fn(&Value) -> bool) -> usize {
    pods.iter().filter(|pod| pod["metadata"]["namespace"] == *namespace && expected(pod)).count()
}

fn running(pods: &[Value], namespace: &str) -> usize {
    count(pods, namespace, |pod| pod["status"]["phase"] == "Running")
}

fn waiting(pod: &Value) -> &str {
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"].as_str().unwrap_or_default()
}
