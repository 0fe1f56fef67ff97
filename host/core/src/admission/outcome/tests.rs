//! Tables of decisions, and what the pod's status says.

use std::time::Duration;

use serde_json::json;

use super::*;

fn pod(cpu: &str) -> Pod {
    let container = json!({"name": "app", "image": "app:1", "resources": {"requests": {"cpu": cpu}}});
    let pod = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "u1"}, "spec": {"containers": [container]}});
    serde_json::from_value(pod).expect("a pod")
}

/// The kind, and what of the status people see.
fn shown(outcome: &Outcome) -> String {
    let kind = outcome.kind.as_str();
    let Some(status) = &outcome.status else { return kind.to_owned() };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut shown =
        format!("{kind}: {} {}: {}", text(&status.phase), text(&status.reason), text(&status.message));
    if status.phase.is_none() {
        let condition = &status.conditions.as_deref().expect("a condition")[0];
        shown =
            format!("{kind}: {} {}: {}", condition.type_, text(&condition.reason), text(&condition.message));
    }
    let waiting = status.container_statuses.iter().flatten();
    let mut waiting = waiting.filter_map(|container| container.state.as_ref()?.waiting.as_ref());
    if let Some(waiting) = waiting.next() {
        shown.push_str(&format!(" ({} {})", text(&waiting.reason), text(&waiting.message)));
    }
    shown
}

fn reject(reason: &str) -> Decision {
    Decision::Reject { reason: reason.to_owned(), message: "no".to_owned(), handler: None }
}

#[test]
fn each_decision_has_its_words_in_the_status() {
    let defer = || Decision::Defer {
        reason: "NotNow".to_owned(),
        message: "later".to_owned(),
        retry_after: Duration::from_secs(5),
    };
    let preempt =
        || Decision::Preempt { victims: Vec::new(), resource: "cpu".to_owned(), message: "1 pod".to_owned() };
    let cases = [
        (Operation::Add, Decision::Admit, "admitted"),
        (Operation::Add, reject("NotNeeded"), "rejected: Failed NotNeeded: Pod was rejected: no"),
        (Operation::Add, defer(), "deferred: Pending NotNow: later (Blocked NotNow: later)"),
        (Operation::Add, preempt(), "preempting: Pending Preempting: 1 pod (Blocked Preempting: 1 pod)"),
        (Operation::Resize, Decision::Admit, "admitted"),
        (Operation::Resize, reject("Infeasible"), "rejected: PodResizePending Infeasible: no"),
        (Operation::Resize, reject("NotNeeded"), "deferred: PodResizePending Deferred: no"),
        (Operation::Resize, defer(), "deferred: PodResizePending Deferred: later"),
        (Operation::ImageResolved, Decision::Admit, "admitted"),
        (Operation::ImageResolved, defer(), "deferred"),
        (Operation::Recheck, reject("NotNeeded"), "rejected"),
        (Operation::Recheck, preempt(), "rejected"),
        (Operation::Readmit, reject("NotNeeded"), "rejected"),
        (Operation::Readmit, defer(), "deferred"),
        (Operation::Update, Decision::Admit, "admitted"),
        (
            Operation::Update,
            reject("NotNeeded"),
            "rejected: witlet.dev/ImageUpdatePending Rejected: NotNeeded: no",
        ),
        (Operation::Update, defer(), "deferred: witlet.dev/ImageUpdatePending Deferred: NotNow: later"),
        (Operation::Update, preempt(), "rejected: witlet.dev/ImageUpdatePending Rejected: 1 pod"),
        (Operation::Ephemeral, Decision::Admit, "admitted"),
        (
            Operation::Ephemeral,
            reject("NotNeeded"),
            "rejected: witlet.dev/EphemeralContainersPending Rejected: NotNeeded: no",
        ),
    ];
    for (operation, decision, expected) in cases {
        let outcome = Outcome::of(&pod("1"), operation, decision.clone(), Timestamp::UNIX_EPOCH);
        assert_eq!(shown(&outcome), expected, "{operation:?} {decision:?}");
    }
}

#[test]
fn a_resize_that_changes_nothing_or_never_fits_is_put_to_no_handler() {
    let node = NodePolicy { cpu_milli: Some(4000), ..NodePolicy::default() };
    let of = |pod: &Pod, old: &Pod| {
        before_resize(pod, old, node, Timestamp::UNIX_EPOCH)
            .map_or_else(|| "asked".to_owned(), |it| shown(&it))
    };
    assert_eq!(of(&pod("2"), &pod("1")), "asked");
    assert_eq!(of(&pod("1"), &pod("1")), "admitted");
    assert_eq!(
        of(&pod("5"), &pod("1")),
        "rejected: PodResizePending Infeasible: Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000"
    );
}

#[test]
fn a_node_says_how_much_it_can_give_at_all() {
    let node = json!({"status": {"allocatable": {"cpu": "1500m", "memory": "1Gi", "pods": "x"}}});
    let policy = NodePolicy::of(&serde_json::from_value(node).expect("a node"));
    let expected = NodePolicy { cpu_milli: Some(1500), memory_bytes: Some(1 << 30), ..NodePolicy::default() };
    assert_eq!(policy, expected);
    assert_eq!(NodePolicy::of(&Default::default()), NodePolicy::default());
}
