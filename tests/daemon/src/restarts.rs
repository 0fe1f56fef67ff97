//! The daemon starts again under pods that run, with plugins that would judge them otherwise now, or can't judge at all.

use std::fs;
use std::path::Path;
use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::sleep;

use witlet_harness::fake_node::{FakeNode, NodeView, pod};

/// Pods that run before.
const PODS: usize = 40;

/// Pods that run in each namespace before its plugin breaks, and that come while the daemon starts, and later.
const PODS_EACH: usize = 3;

/// How long nothing may happen, once all has been seen.
const CALM: Duration = Duration::from_secs(3);

fn judge(version: u64, rejects: bool) -> Value {
    json!([{
        "name": "judge", "component": "./witness-0.wasm", "admission": {}, "limits": {"timeout": "10s"},
        "config": {"version": version, "rejects": rejects},
    }])
}

fn is_ready(view: &NodeView, name: &str) -> bool {
    view.plugin(name).is_some_and(|plugin| plugin["state"] == "Ready" && plugin["pending"].is_null())
}

fn rejected(view: &NodeView, reason: &str) -> usize {
    let rejected = view.pods.iter().filter(|pod| pod["status"]["phase"] == "Failed");
    rejected.filter(|pod| pod["status"]["reason"] == *reason).count()
}

/// Pods that were admitted run on; with re-admission they are ended.
pub(crate) async fn judged_otherwise() -> Result<(), Failed> {
    let mut node = FakeNode::start(&[], |_, _| judge(0, false)).await?;
    let pods: Vec<Value> = (0..PODS).map(|number| pod("old", &format!("old-{number}"))).collect();
    node.put("old", &pods)?;
    let before = node.until("all pods run", |view| view.running("old").len() == PODS).await?.running("old");

    node.daemon.kill()?;
    node.configure(&judge(1, true))?;
    node.put("new", &[pod("new", "new")])?;
    node.daemon.launch()?;
    let view = node.until("a new pod is rejected", |view| {
        is_ready(view, "judge") && rejected(view, "Version1") == 1 && view.running("old").len() == PODS
    });
    view.await?;
    sleep(CALM).await;
    let after = node.until("the daemon answers", |_| true).await?;
    if after.running("old") != before || rejected(&after, "Version1") != 1 {
        return Err(Failed::from("a restart touched pods that were admitted before it"));
    }
    if node.cri.starts().len() != PODS || !node.cri.ends().is_empty() {
        let (starts, ends) = (node.cri.starts().len(), node.cri.ends().len());
        return Err(Failed::from(format!("{starts} containers were started and {ends} sandboxes ended")));
    }

    node.restart_with(&["--readmit-on-restart"])?;
    node.until("all are rejected", |view| rejected(view, "Version1") == PODS + 1).await?;
    let ended = node.until("their containers end", |_| node.cri.running() == 0).await?;
    if node.cri.starts().len() != PODS {
        return Err(Failed::from(format!("something was started again: {:?}", ended.running("old"))));
    }
    node.end().await
}

/// What follows from each failure policy.
const POLICIES: [(&str, &str); 3] = [("reject", "Reject"), ("admit", "Admit"), ("defer", "Defer")];

fn policies(component: &str) -> Value {
    let entries = POLICIES.iter().map(|(name, policy)| {
        json!({
            "name": name, "component": component, "config": {"version": 0}, "limits": {"timeout": "10s"},
            "admission": {"failurePolicy": policy, "match": {"namespaces": [name]}},
        })
    });
    entries.collect()
}

/// Pods by their beginnings that are as the policy of their namespace has it, while its plugin can't be asked.
fn by_policy(view: &NodeView, what: &str) -> usize {
    let mut right = 0;
    for pod in
        view.pods.iter().filter(|pod| pod["metadata"]["name"].as_str().unwrap_or_default().starts_with(what))
    {
        let status = &pod["status"];
        let waiting = &status["containerStatuses"][0]["state"]["waiting"]["reason"];
        right += usize::from(match pod["metadata"]["namespace"].as_str().unwrap_or_default() {
            "reject" => status["phase"] == "Failed",
            "admit" => status["phase"] == "Running",
            _ => status["phase"] == "Pending" && *waiting == "Blocked",
        });
    }
    right
}

fn put_each(node: &FakeNode, what: &str) -> Result<(), Failed> {
    for (namespace, _) in POLICIES {
        let pods: Vec<Value> =
            (0..PODS_EACH).map(|number| pod(namespace, &format!("{what}-{number}"))).collect();
        node.put(&format!("{what}-{namespace}"), &pods)?;
    }
    Ok(())
}

fn runs(view: &NodeView, what: &str) -> usize {
    let all = POLICIES
        .iter()
        .map(|(namespace, _)| view.running(namespace).keys().filter(|name| name.starts_with(what)).count());
    all.sum()
}

/// The last good copy of a component judges in place of a broken one. Where there is none, each failure policy holds for every new
/// pod, and what runs is left alone.
pub(crate) async fn cannot_be_judged() -> Result<(), Failed> {
    let all = POLICIES.len() * PODS_EACH;
    let mut node = FakeNode::start(&[], |_, _| policies("./witness-0.wasm")).await?;
    node.until("all plugins are asked", |view| POLICIES.iter().all(|(name, _)| is_ready(view, name))).await?;
    put_each(&node, "old")?;
    node.until("all pods run", |view| runs(view, "old") == all).await?;
    node.daemon.kill()?;
    break_component(node.folder.path())?;
    put_each(&node, "kept")?;
    node.daemon.launch()?;
    let view = node.until("the last good copy judges", |view| {
        POLICIES.iter().all(|(name, _)| view.plugin(name).is_some_and(is_last_good))
            && runs(view, "kept") == all
    });
    let before = view.await?;

    node.daemon.kill()?;
    fs::remove_dir_all(node.folder.path().join("agent/witlet/last-good-plugins"))?;
    put_each(&node, "early")?;
    node.daemon.launch()?;
    let failed = |view: &NodeView| {
        let state = |name: &str| view.plugin(name).is_some_and(|plugin| plugin["state"] == "Failed");
        POLICIES.iter().all(|(name, _)| state(name))
    };
    node.until("no plugin loads", failed).await?;
    put_each(&node, "late")?;
    let view = node.until("the policies hold", |view| {
        failed(view) && by_policy(view, "early") == all && by_policy(view, "late") == all
    });
    view.await?;
    sleep(CALM).await;
    let after = node.until("the daemon answers", |_| true).await?;
    if by_policy(&after, "early") != all || by_policy(&after, "late") != all {
        return Err(Failed::from("a policy held for a moment only"));
    }
    for (namespace, _) in POLICIES {
        let (was, is) = (before.running(namespace), after.running(namespace));
        if was.iter().any(|(name, id)| is.get(name) != Some(id)) {
            return Err(Failed::from(format!("pods that ran were touched: {was:?}, {is:?}")));
        }
    }
    // With the component back, those that waited run, and no rejection is taken back.
    node.configure(&policies("./witness-1.wasm"))?;
    let view =
        node.until("those that waited run", |view| view.running("defer").len() == PODS_EACH * 4).await?;
    let still = view.pods.iter().filter(|pod| pod["metadata"]["namespace"] == "reject");
    if still.filter(|pod| pod["status"]["phase"] == "Failed").count() != PODS_EACH * 2 {
        return Err(Failed::from("a rejection was taken back"));
    }
    node.end().await
}

/// Whether a plugin works, by the copy of its component that was kept.
fn is_last_good(plugin: &Value) -> bool {
    let component = plugin["component"].as_str().unwrap_or_default();
    plugin["state"] == "Ready" && component.ends_with("(last good copy)")
}

fn break_component(folder: &Path) -> Result<(), Failed> {
    let path = folder.join("witness-0.wasm");
    let mut bytes = fs::read(&path)?;
    bytes.truncate(bytes.len() / 2);
    fs::write(path, bytes)?;
    Ok(())
}
