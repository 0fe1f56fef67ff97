//! What handlers see of the node beyond the machine's own facts: measured usage, and handlers of runtime classes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use witlet_core::admission::{Decision, Operation};
use witlet_core::node::NodeFacts;
use witlet_testkit::FakeNode;

use crate::support::{node, pass, pod_with_uid};

const GIB: i64 = 1 << 30;

/// The node of the newest question about the pod that runs, which is asked about every ten minutes.
async fn seen(node: &FakeNode) -> Arc<NodeFacts> {
    pass(600.0).await;
    node.admission.scripted_questions().pop().expect("asked").node
}

/// A node on which one pod runs.
async fn running(mut node: FakeNode) -> FakeNode {
    node.admission.set_answer(Operation::Recheck, Some(Decision::Admit));
    node.admission.set_recheck(Some(Duration::from_secs(600)));
    node.start();
    let spec = json!({"containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("p", vec![pod_with_uid("web", "web", spec)]);
    pass(5.0).await;
    node
}

/// What is in use of these resources.
fn used(node: &NodeFacts) -> [Option<i64>; 4] {
    ["cpu", "memory", "ephemeral-storage", "pid"].map(|name| node.observed.used.get(name).copied())
}

#[tokio::test(start_paused = true)]
async fn handlers_see_what_was_measured_last_and_nothing_that_is_unknown() {
    let node = running(node()).await;
    let half = Some(4 * GIB);
    assert_eq!(used(&*seen(&node).await), [None, half, half, half]);
    node.usage.set(|seen| seen.cpu = Some(Duration::from_secs(100)));
    node.usage.set(|seen| seen.memory = None);
    assert_eq!(used(&*seen(&node).await), [Some(0), None, half, half]);
    let readings = node.usage.reads();
    seen(&node).await;
    let readings = node.usage.reads() - readings;
    assert!((55..=65).contains(&readings), "a question costs no check of its own: {readings}");
}

#[tokio::test(start_paused = true)]
async fn usage_is_measured_where_no_pod_is_ever_evicted() {
    let mut node = node();
    node.config.eviction.thresholds = Vec::new();
    node.config.eviction.local_storage_isolation = false;
    let node = running(node).await;
    assert_eq!(used(&*seen(&node).await)[1], Some(4 * GIB));
}

#[tokio::test(start_paused = true)]
async fn handlers_see_which_handler_a_runtime_class_means() {
    let mut node = node();
    node.host.runtime_classes = Arc::new([("gvisor".to_owned(), "runsc".to_owned())].into());
    let node = running(node).await;
    let seen = seen(&node).await;
    assert_eq!(seen.observed.runtime_classes.get("gvisor").map(String::as_str), Some("runsc"));
}
