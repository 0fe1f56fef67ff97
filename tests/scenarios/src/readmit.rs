//! Pods that ran before the agent's start are put to the handlers that want it, and end if they are rejected.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::admission::{Decision, Operation};
use witlet_ports::AgentView;
use witlet_testkit::FakeNode;

use crate::support::{condition, node, orders, pass, pod_with_uid, reported, status};

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

/// A node on which these pods ran when the agent ended. The handlers of the next one answer so to questions about them.
async fn ended(names: &[&str], decision: Option<Decision>) -> FakeNode {
    let mut node = node();
    node.start();
    node.source.put("p", names.iter().map(|name| sleeper(name)).collect());
    pass(10.0).await;
    orders(&node);
    node.kill();
    node.admission.set_answer(Operation::Readmit, decision);
    node
}

/// How often the handlers were asked about this pod after a start.
fn asked(node: &FakeNode, name: &str) -> usize {
    let questions = node.admission.scripted_questions();
    let is_about = |pod: &Pod| pod.metadata.uid.as_deref() == Some(name);
    questions.iter().filter(|it| it.operation == Operation::Readmit && is_about(&it.pod)).count()
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ran_is_asked_about_once_and_one_that_is_new_is_not() {
    let mut node = ended(&["a", "b"], Some(Decision::Admit)).await;
    node.start();
    node.source.put("q", vec![sleeper("new")]);
    pass(60.0).await;
    assert_eq!(["a", "b", "new"].map(|name| asked(&node, name)), [1, 1, 0]);
    let questions = node.admission.scripted_questions();
    let question = questions.first().expect("asked");
    assert_eq!(question.old_pod, Some(question.pod.clone()), "nothing of it is to change");
    // A source that leaves a pod out and brings it again is no restart.
    node.source.put("p", vec![sleeper("a")]);
    pass(60.0).await;
    node.source.put("p", vec![sleeper("a"), sleeper("b")]);
    node.admission.change();
    pass(1200.0).await;
    assert_eq!(["a", "b"].map(|name| asked(&node, name)), [1, 1]);
    assert_eq!(status(&node, "a"), "Running app: running, 0 restarts");
    node.start();
    pass(60.0).await;
    assert_eq!(asked(&node, "a"), 2, "another start is another question");
}

#[tokio::test(start_paused = true)]
async fn no_restart_has_anything_asked_where_no_handler_wants_it() {
    let mut node = ended(&["a"], None).await;
    let before = node.admission.asked().len();
    node.start();
    pass(60.0).await;
    assert_eq!(node.admission.asked().len(), before);
    // Late ones have nothing to do with the start.
    pass(600.0).await;
    node.admission.set_answer(Operation::Readmit, Some(reject()));
    pass(600.0).await;
    assert_eq!((asked(&node, "a"), status(&node, "a").as_str()), (0, "Running app: running, 0 restarts"));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_pod_ends_within_its_grace_and_says_why_over_a_restart() {
    let mut node = ended(&["web"], Some(reject())).await;
    node.start();
    pass(60.0).await;
    assert!(orders(&node).contains("stop within 30s"), "it has its grace");
    assert!(status(&node, "web").starts_with("Failed NotNeeded"), "{}", status(&node, "web"));
    assert!(condition(&node, "web", "DisruptionTarget").is_some());
    let events = reported(&node, "web");
    assert!(events.contains("NotNeeded ×1 Pod was rejected: no (plugin images)"), "{events}");
    node.start();
    pass(60.0).await;
    assert!(status(&node, "web").starts_with("Failed NotNeeded"), "{}", status(&node, "web"));
    assert_eq!(asked(&node, "web"), 1, "what has ended isn't asked about");
    assert!(!orders(&node).contains("create"));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_rejection_changes_nothing() {
    let (reason, message) = ("NotNow".to_owned(), "later".to_owned());
    let defer = Decision::Defer { reason, message, retry_after: Duration::from_secs(1) };
    let mut node = ended(&["web"], Some(defer)).await;
    node.start();
    pass(120.0).await;
    assert_eq!((asked(&node, "web"), status(&node, "web").as_str()), (1, "Running app: running, 0 restarts"));
    assert_eq!(orders(&node), "");
    assert!(!reported(&node, "web").contains("NotNow"));
}

#[tokio::test(start_paused = true)]
async fn handlers_that_reject_every_pod_end_one_in_ten_minutes() {
    let names = ["a", "b", "c"];
    let mut node = ended(&names, Some(reject())).await;
    let failed =
        |node: &FakeNode| names.iter().filter(|name| status(node, name).starts_with("Failed")).count();
    node.start();
    pass(300.0).await;
    assert_eq!(failed(&node), 1);
    let goes_on = |name: &&&str| {
        let words = "NotNeeded ×1 Rejected, but the pod keeps running: the limit of ended pods is reached";
        reported(&node, name).contains(words)
    };
    assert_eq!(names.iter().filter(goes_on).count(), 2);
    pass(600.0).await;
    assert_eq!(failed(&node), 2);
    node.admission.set_answer(Operation::Readmit, Some(Decision::Admit));
    pass(3600.0).await;
    assert_eq!(failed(&node), 2, "what is taken in the end goes on");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_starts_again_and_again_ends_no_more_than_one_that_runs_on() {
    let names = ["a", "b", "c"];
    let mut node = ended(&names, Some(reject())).await;
    let failed =
        |node: &FakeNode| names.iter().filter(|name| status(node, name).starts_with("Failed")).count();
    for _ in 0..3 {
        node.start();
        pass(100.0).await;
    }
    assert_eq!(failed(&node), 1, "three starts in five minutes");
    assert_eq!(names.iter().filter(|name| asked(&node, name) >= 3).count(), 2, "each start asks");
    pass(900.0).await;
    assert_eq!(failed(&node), 2, "ten minutes after the first one");
}

#[tokio::test(start_paused = true)]
async fn ends_that_cannot_be_read_are_reported_and_count_no_more() {
    let mut node = ended(&["a", "b"], Some(reject())).await;
    node.state.put("recheck-ends.json", b"{");
    node.start();
    pass(100.0).await;
    let reported = node.agent().events();
    let lost: Vec<_> =
        reported.iter().filter(|reported| reported.event.reason == "RecheckEndsLost").collect();
    let words = "counting them from now on: expected a list of times";
    assert!(matches!(&lost[..], [one] if one.event.message.contains(words)), "{lost:?}");
    assert_eq!(["a", "b"].iter().filter(|name| status(&node, name).starts_with("Failed")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_handlers_that_were_replaced_meanwhile_is_asked_for_again() {
    let mut node = ended(&["web"], Some(reject())).await;
    node.admission.set_delay(Duration::from_secs(10));
    node.start();
    pass(6.0).await;
    node.admission.set_delay(Duration::ZERO);
    node.admission.set_answer(Operation::Readmit, Some(Decision::Admit));
    pass(60.0).await;
    assert_eq!((asked(&node, "web"), status(&node, "web").as_str()), (2, "Running app: running, 0 restarts"));
}
