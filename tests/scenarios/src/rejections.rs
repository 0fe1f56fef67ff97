//! Rejected pods of controllers that make others in their place: when each rejection is published.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use serde_json::json;
use witlet_core::admission::rejections::delay;
use witlet_core::admission::{Decision, Operation};
use witlet_core::event::EventObject;
use witlet_ports::AgentView;
use witlet_testkit::{FakeNode, REJECTED_BY};

use crate::support::{bound_pod, orders, pass, started};

/// A pod of the ReplicaSet `web` that this configured handler rejects; an empty name is a shipped handler's.
fn replica(name: &str, handler: &str) -> Pod {
    let mut pod = bound_pod(name, json!({"containers": [{"name": "app", "image": "sleeper:1"}]}));
    pod.metadata.labels = Some([(REJECTED_BY.to_owned(), handler.to_owned())].into());
    pod.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: "ReplicaSet".to_owned(),
        name: "web".to_owned(),
        uid: "uid-of-set".to_owned(),
        controller: Some(true),
        ..OwnerReference::default()
    }]);
    pod
}

fn put(node: &FakeNode, pod: Pod) {
    let name = pod.metadata.name.clone().unwrap_or_default();
    node.source.put_as_is(&name, vec![pod]);
}

/// `Phase reason`, as the pod's status has them.
fn status(node: &FakeNode, name: &str) -> String {
    let Some(pod) = node.agent().pod("default", name) else { return "not shown".to_owned() };
    let status = pod.status.clone().unwrap_or_default();
    format!("{} {}", status.phase.unwrap_or_default(), status.reason.unwrap_or_default()).trim().to_owned()
}

fn message(node: &FakeNode, name: &str) -> String {
    let pod = node.agent().pod("default", name).expect("the pod is shown");
    pod.status.as_ref().and_then(|status| status.message.clone()).unwrap_or_default()
}

/// Why the pod's container waits.
fn waiting_reason(node: &FakeNode, name: &str) -> Option<String> {
    let pod = node.agent().pod("default", name)?;
    let container = pod.status.as_ref()?.container_statuses.as_ref()?.first()?.clone();
    container.state?.waiting?.reason
}

/// Messages of the pod's events with this reason.
fn events(node: &FakeNode, name: &str, reason: &str) -> Vec<String> {
    let about = |object: &EventObject| match object {
        EventObject::Pod { full_name, .. } => &*full_name.name == name,
        EventObject::Node | EventObject::Plugin(_) | EventObject::Source { .. } => false,
    };
    let events = node.agent().events().into_iter();
    let events = events.filter(|recorded| about(&recorded.event.object) && recorded.event.reason == reason);
    events.map(|recorded| recorded.event.message.clone()).collect()
}

/// Has so many pods rejected before, whose rejections were all published.
async fn rejected_before(node: &FakeNode, count: u32) {
    pass(3.0).await;
    for n in 1..=count {
        put(node, replica(&format!("before-{n}"), "policy"));
        pass(delay(n).as_secs_f64() + 1.5).await;
        assert_eq!(status(node, &format!("before-{n}")), "Failed NotNeeded");
    }
}

/// A ReplicaSet's controller with one replica, which it replaces as soon as it sees that the pod failed. It checks each `step`
/// seconds. Returns how many pods it had made after each check.
async fn replace_failed(node: &FakeNode, handler: &str, step: f64, rounds: usize) -> Vec<usize> {
    let (mut made, mut counts) = (0, Vec::new());
    for _ in 0..rounds {
        let current = format!("web-{made}");
        if made == 0 || status(node, &current).starts_with("Failed") {
            node.source.remove(&current);
            made += 1;
            put(node, replica(&format!("web-{made}"), handler));
        }
        counts.push(made);
        pass(step).await;
    }
    counts
}

/// How many pods such a controller makes in this many seconds by the table of delays, when each is replaced so long after its
/// failure.
fn made_by_the_table(seconds: f64, replaced_after: f64) -> usize {
    let (mut now, mut made) = (0.0, 0_u32);
    while now < seconds {
        made += 1;
        now += delay(made).as_secs_f64() + replaced_after;
    }
    usize::try_from(made).expect("a small number")
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_replaces_failed_pods_makes_7_in_the_first_minute_and_one_each_5_minutes_in_the_end()
 {
    // A shipped handler's rejection is published at once, as a kubelet does it: one pod with each check.
    let node = started();
    let rounds = 600;
    let before = replace_failed(&node, "", 0.1, rounds).await;
    let before = before.last().copied().unwrap_or_default();
    assert!((rounds / 2..=rounds).contains(&before), "{before} pods in a minute");
    assert_eq!(node.agent().stats().rejections_delayed, 0);
    drop(node);

    let node = started();
    let after = replace_failed(&node, "policy", 1.0, 3600).await;
    let in_a_minute = after[59];
    let (least, most) = (made_by_the_table(60.0, 1.5), made_by_the_table(60.0, 0.0));
    assert!((least..=most).contains(&in_a_minute), "{in_a_minute} isn't in {least} to {most}");
    assert_eq!(most, 7);
    let in_an_hour = after[3599];
    let (least, most) = (made_by_the_table(3600.0, 1.5), made_by_the_table(3600.0, 0.0));
    assert!((least..=most).contains(&in_an_hour), "{in_an_hour} isn't in {least} to {most}");
    assert!(after[3599] - after[2999] <= 2, "in the last 10 minutes: {}", after[3599] - after[2999]);
    assert_eq!(orders(&node), "", "none of them ever ran");
    let delayed = usize::try_from(node.agent().stats().rejections_delayed).expect("a small number");
    assert!((in_an_hour - 2..in_an_hour).contains(&delayed), "all but the first: {delayed} of {in_an_hour}");
}

#[tokio::test(start_paused = true)]
async fn a_rejection_that_waits_shows_who_rejected_the_pod_why_and_when_it_fails() {
    let node = started();
    rejected_before(&node, 3).await;
    put(&node, replica("web", "policy"));
    pass(3.0).await;
    assert_eq!(status(&node, "web"), "Pending RejectionDelayed");
    assert_eq!(waiting_reason(&node, "web").as_deref(), Some("Blocked"));
    let shown = message(&node, "web");
    for part in [
        "Admission handler policy rejected the pod: NotNeeded: this pod isn't needed. The pod fails at 2030-01-01T00:00:",
        "because this is rejection 4 of pods of ReplicaSet web on this node",
    ] {
        assert!(shown.contains(part), "{shown:?} has no {part:?}");
    }
    assert_eq!(events(&node, "web", "Blocked"), [format!("RejectionDelayed: {shown}")]);
    assert_eq!(events(&node, "web", "NotNeeded"), [""; 0]);
    let stats = node.agent().stats();
    assert_eq!((stats.rejections_waiting, stats.rejections_delayed, stats.deferred), (1, 3, 0));
    assert_eq!(stats.rejections["NotNeeded"], 3, "what waits isn't published");
    pass(2.0).await;
    assert_eq!(status(&node, "web"), "Failed NotNeeded");
    assert_eq!(message(&node, "web"), "Pod was rejected: this pod isn't needed");
    assert_eq!(events(&node, "web", "NotNeeded"), ["this pod isn't needed"]);
    let stats = node.agent().stats();
    assert_eq!((stats.rejections_waiting, stats.rejections["NotNeeded"]), (0, 4));
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn rejections_that_no_controller_replaces_or_that_a_kubelet_makes_too_are_published_at_once() {
    let node = started();
    rejected_before(&node, 4).await;
    let mut bare = replica("bare", "policy");
    bare.metadata.owner_references = None;
    let mut of_file = replica("of-file", "policy");
    of_file.metadata.annotations =
        Some([("kubernetes.io/config.source".to_owned(), "file".to_owned())].into());
    for pod in [bare, of_file, replica("short", "")] {
        let name = pod.metadata.name.clone().unwrap_or_default();
        put(&node, pod);
        pass(0.5).await;
        assert_eq!(status(&node, &name), "Failed NotNeeded", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_deleted_while_its_rejection_waits_starts_nothing_and_goes() {
    let node = started();
    rejected_before(&node, 4).await;
    let pod = replica("web", "policy");
    put(&node, pod.clone());
    pass(1.0).await;
    assert_eq!(status(&node, "web"), "Pending RejectionDelayed");
    let mut deleted = pod;
    deleted.metadata.deletion_timestamp = Some(Time("2030-01-01T00:01:00Z".parse().expect("a time")));
    deleted.metadata.deletion_grace_period_seconds = Some(30);
    put(&node, deleted);
    pass(2.0).await;
    assert_eq!(node.agent().stats().rejections_waiting, 0);
    node.source.remove("web");
    pass(20.0).await;
    assert_eq!(status(&node, "web"), "not shown");
    assert_eq!(events(&node, "web", "NotNeeded"), [""; 0], "there is nothing to publish");
    assert_eq!(orders(&node), "");
    // One that is gone without a deletion.
    put(&node, replica("other", "policy"));
    pass(1.0).await;
    assert_eq!(node.agent().stats().rejections_waiting, 1);
    node.source.remove("other");
    pass(60.0).await;
    assert_eq!(
        (status(&node, "other"), node.agent().stats().rejections_waiting),
        ("not shown".to_owned(), 0)
    );
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn other_handlers_are_asked_about_a_pod_whose_rejection_waits_and_do_not_change_its_time() {
    let node = started();
    rejected_before(&node, 4).await;
    put(&node, replica("web", "policy"));
    pass(3.0).await;
    let asked = node.admission.asked().len();
    node.admission.change();
    pass(1.0).await;
    assert_eq!(node.admission.asked().len(), asked + 1);
    assert_eq!(status(&node, "web"), "Pending RejectionDelayed", "rejected again, and still waiting");
    pass(3.5).await;
    assert_eq!(status(&node, "web"), "Pending RejectionDelayed", "7.5 of 8 s");
    pass(1.0).await;
    assert_eq!(status(&node, "web"), "Failed NotNeeded");
    let delayed = node.agent().stats().rejections_delayed;
    assert_eq!(delayed, 4, "a pod that is asked about again counts once");
    // The next one is admitted by the new handlers.
    put(&node, replica("next", "policy"));
    pass(3.0).await;
    assert_eq!(status(&node, "next"), "Pending RejectionDelayed");
    node.admission.set_admits_all(true);
    pass(3.0).await;
    assert_eq!(status(&node, "next"), "Running");
    pass(60.0).await;
    assert_eq!(status(&node, "next"), "Running", "its rejection isn't published any more");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_edited_while_its_rejection_waits_is_asked_about_as_it_is_now() {
    let node = started();
    rejected_before(&node, 4).await;
    let mut pod = replica("web", "policy");
    put(&node, pod.clone());
    pass(1.0).await;
    assert_eq!(status(&node, "web"), "Pending RejectionDelayed");
    pod.metadata.labels = None;
    put(&node, pod);
    pass(3.0).await;
    assert_eq!(status(&node, "web"), "Running");
}

#[tokio::test(start_paused = true)]
async fn a_controller_without_a_rejection_for_10_minutes_begins_again() {
    let node = started();
    rejected_before(&node, 3).await;
    pass(590.0).await;
    put(&node, replica("soon", "policy"));
    pass(1.0).await;
    assert_eq!(status(&node, "soon"), "Pending RejectionDelayed");
    pass(4.0 + 600.0).await;
    put(&node, replica("late", "policy"));
    pass(1.0).await;
    assert_eq!(status(&node, "late"), "Failed NotNeeded", "as the first one");
    // The wall clock has no part in it.
    for (seconds, wait) in [(-86_400, 0.5), (2 * 86_400, 1.5)] {
        node.clock.jump(seconds);
        put(&node, replica(&format!("after-{seconds}"), "policy"));
        pass(wait).await;
        assert_eq!(status(&node, &format!("after-{seconds}")), "Pending RejectionDelayed");
        pass(3.0).await;
        assert_eq!(status(&node, &format!("after-{seconds}")), "Failed NotNeeded");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_rejection_waits_is_asked_about_after_a_restart_and_never_runs() {
    let mut node = started();
    rejected_before(&node, 4).await;
    for name in ["web", "more"] {
        put(&node, replica(name, "policy"));
    }
    pass(1.0).await;
    // Their failure isn't in this source, so that a restarted agent would ask about them again.
    for n in 1..=4 {
        node.source.remove(&format!("before-{n}"));
    }
    node.kill();
    node.admission.set_defers(true);
    node.start();
    pass(30.0).await;
    assert_eq!(status(&node, "web"), "Pending PluginLoading", "the plugins are still being loaded");
    assert_eq!(orders(&node), "");
    node.admission.set_defers(false);
    pass(5.0).await;
    assert_eq!(status(&node, "web"), "Failed NotNeeded");
    assert_eq!(status(&node, "more"), "Failed NotNeeded");
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_runs_and_is_rejected_in_the_end_ends_at_once() {
    let mut node = started();
    node.admission.set_admits_all(true);
    let names: Vec<String> = (1..=5).map(|n| format!("web-{n}")).collect();
    for name in &names {
        put(&node, replica(name, "policy"));
    }
    pass(5.0).await;
    node.kill();
    node.config.readmit_on_restart = true;
    node.admission.set_admits_all(false);
    node.start();
    pass(5.0).await;
    assert!(delay(5) > Duration::from_secs(5), "the last one would have waited");
    for name in &names {
        assert!(status(&node, name).starts_with("Failed"), "{name}: {}", status(&node, name));
    }
    assert_eq!(node.agent().stats().rejections_waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_a_recheck_ended_counts_among_the_rejections_of_its_controller() {
    let node = started();
    pass(3.0).await;
    let mut running = replica("runs", "");
    running.metadata.labels = None;
    put(&node, running);
    pass(5.0).await;
    assert_eq!(status(&node, "runs"), "Running");
    let reject = Decision::Reject {
        reason: "NotNeeded".to_owned(),
        message: "no (plugin policy)".to_owned(),
        handler: Some("policy".to_owned()),
    };
    node.admission.set_answer(Operation::Recheck, Some(reject));
    node.admission.set_recheck(Some(Duration::from_secs(600)));
    pass(620.0).await;
    assert_eq!(status(&node, "runs"), "Failed NotNeeded", "what runs ends at once");
    put(&node, replica("next", "policy"));
    pass(3.0).await;
    assert_eq!(status(&node, "next"), "Failed NotNeeded");
    assert_eq!(node.agent().stats().rejections_delayed, 1, "it was the second one, and waited");
}
