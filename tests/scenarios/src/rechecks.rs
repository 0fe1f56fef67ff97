//! Running pods are put to admission again, and end if they are rejected.

use std::time::Duration;

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::admission::{Decision, Operation};
use witlet_testkit::FakeNode;

use crate::support::{condition, node, orders, pass, pod_with_uid, reported, status};

/// The interval, in seconds.
const EVERY: u64 = 600;

fn reject() -> Decision {
    Decision::Reject {
        reason: "NotNeeded".to_owned(),
        message: "no (plugin images)".to_owned(),
        handler: Some("images".to_owned()),
    }
}

fn sleeper(name: &str) -> Pod {
    pod_with_uid(name, name, json!({"containers": [{"name": "app", "image": "sleeper:1"}]}))
}

/// A node on which these pods run, whose handlers want to be asked about them again and answer so.
async fn running(names: &[&str], decision: Decision) -> FakeNode {
    let mut node = node();
    node.admission.set_answer(Operation::Recheck, Some(decision));
    node.admission.set_recheck(Some(Duration::from_secs(EVERY)));
    node.start();
    node.source.put("p", names.iter().map(|name| sleeper(name)).collect());
    pass(5.0).await;
    orders(&node);
    node
}

/// How often the handlers were asked about this pod again.
fn asked(node: &FakeNode, name: &str) -> usize {
    let question = format!("{name}-node1 rechecked");
    node.admission.asked().iter().filter(|asked| asked.starts_with(&question)).count()
}

async fn intervals(count: u64) {
    pass(Duration::from_secs(EVERY * count).as_secs_f64()).await;
}

#[tokio::test(start_paused = true)]
async fn a_running_pod_is_asked_about_once_an_interval_and_goes_on() {
    let node = running(&["web", "db"], Decision::Admit).await;
    intervals(3).await;
    for name in ["web", "db"] {
        assert_eq!(
            (asked(&node, name), status(&node, name).as_str()),
            (3, "Running app: running, 0 restarts")
        );
    }
    assert_eq!(orders(&node), "");
    let question = node.admission.scripted_questions().remove(0);
    assert_eq!((question.operation, question.other_pods.len()), (Operation::Recheck, 1));
    assert_eq!(question.old_pod, Some(question.pod), "it runs as it is");
}

#[tokio::test(start_paused = true)]
async fn without_an_interval_running_pods_are_not_asked_about() {
    let node = running(&["web"], reject()).await;
    node.admission.set_recheck(None);
    intervals(3).await;
    assert_eq!((asked(&node, "web"), status(&node, "web").as_str()), (0, "Running app: running, 0 restarts"));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_pod_ends_within_its_grace_and_stays_ended_over_a_restart() {
    let mut node = running(&["web"], reject()).await;
    intervals(1).await;
    let log = orders(&node);
    assert!(log.contains("stop within 30s web-node1/app#0"), "{log}");
    assert!(status(&node, "web").starts_with("Failed NotNeeded"), "{}", status(&node, "web"));
    let target = condition(&node, "web", "DisruptionTarget").unwrap_or_default();
    assert_eq!(target, "True TerminationByKubelet: Pod was rejected: no (plugin images)");
    let events = || {
        let all = reported(&node, "web");
        all.lines()
            .filter(|line| line.starts_with("NotNeeded"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    expect![[r#"
        NotNeeded ×1 Pod was rejected: no (plugin images)
    "#]]
    .assert_eq(&events());
    intervals(2).await;
    assert_eq!(asked(&node, "web"), 1, "what has ended isn't asked about");
    node.start();
    pass(60.0).await;
    assert!(status(&node, "web").starts_with("Failed NotNeeded"), "{}", status(&node, "web"));
    let log = orders(&node);
    assert!(!log.contains("create"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_rejection_changes_nothing() {
    let (reason, message) = ("NotNow".to_owned(), "later".to_owned());
    let node =
        running(&["web"], Decision::Defer { reason, message, retry_after: Duration::from_secs(1) }).await;
    intervals(2).await;
    assert_eq!((asked(&node, "web"), status(&node, "web").as_str()), (2, "Running app: running, 0 restarts"));
    assert_eq!(orders(&node), "");
    assert!(!reported(&node, "web").contains("NotNow"));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_rejects_every_pod_ends_one_in_an_interval() {
    let names = ["a", "b", "c"];
    let node = running(&names, reject()).await;
    let ended =
        |node: &FakeNode| names.iter().filter(|name| status(node, name).starts_with("Failed")).count();
    intervals(1).await;
    assert_eq!(ended(&node), 1);
    let said = names.iter().filter(|name| {
        reported(&node, name)
            .contains("NotNeeded ×1 Rejected, but the pod keeps running: the limit of ended pods is reached")
    });
    assert_eq!(said.count(), 2);
    intervals(1).await;
    assert_eq!(ended(&node), 2);
    // What goes on does so as ever.
    node.admission.set_answer(Operation::Recheck, Some(Decision::Admit));
    intervals(3).await;
    assert_eq!(ended(&node), 2);
}

#[tokio::test(start_paused = true)]
async fn other_handlers_are_asked_within_a_minute() {
    let node = running(&["web"], Decision::Admit).await;
    node.admission.change();
    pass(120.0).await;
    assert_eq!(asked(&node, "web"), 0, "at the start handlers come as they are loaded");
    node.admission.set_answer(Operation::Recheck, Some(reject()));
    pass(65.0).await;
    assert!(status(&node, "web").starts_with("Failed NotNeeded"), "{}", status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_verdict_stands_and_the_pod_is_asked_about_in_the_interval() {
    let mut node = running(&["web"], Decision::Admit).await;
    node.kill();
    let before = node.admission.asked().len();
    node.start();
    pass(30.0).await;
    assert_eq!(node.admission.asked().len(), before, "a restart alone has nothing asked");
    intervals(1).await;
    assert_eq!(asked(&node, "web"), 1);
}
