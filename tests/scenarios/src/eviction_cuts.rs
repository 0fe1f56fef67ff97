//! An end by the node, cut at each of its steps: the agent is killed before or after each write, and before or after each call that ends
//! something. Nothing is doubled, nothing is lost, the pod stays ended, and nothing is reported of that before it is saved.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::event::Event;
use witlet_core::eviction::{EvictionConfig, ThresholdConfig};
use witlet_core::pod::PodUid;
use witlet_core::stats::{ContainerUsage, FsUsage, LocalStorage};
use witlet_ports::{EventSink, Left, NoObjects, PodReport, StatusSink};
use witlet_testkit::{
    Behaviour, ClusterEdge, FakeImage, FakeNode, MemoryStateStore, container, pod as static_pod,
};

use crate::support::{bound_pod, left, node, pass, status, status_of};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Why the node ends the pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Memory,
    StorageLimit,
    Preemption,
}

/// What goes wrong at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// The agent is killed at this write, which is on disk or isn't.
    Write(usize, bool),
    /// The disk is full for a while from this write on, and the agent is killed.
    Full(usize),
    /// The agent is killed at this call of the runtime, which is carried out or isn't.
    Call(usize, bool),
}

/// An edge that all agents of the node have: it sees their events and statuses.
struct Edge {
    state: Arc<MemoryStateStore>,
    /// The reasons of ends by the node, each end by its time once.
    ends: Mutex<BTreeSet<(Timestamp, String)>>,
    /// Reports of what wasn't on disk.
    early: Mutex<Vec<String>>,
}

impl Edge {
    fn saw(&self, what: &str, reason: &str) {
        if !matches!(reason, "Evicted" | "Preempting") {
            return;
        }
        let ends_so = format!("\"reason\":\"{reason}\"");
        let is_saved =
            self.state.values().iter().any(|(name, content)| {
                name.ends_with("witlet-checkpoint.json") && content.contains(&ends_so)
            });
        if !is_saved {
            self.early.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{what} {reason}"));
        }
    }

    fn reported(&self) -> Vec<String> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().map(|(_, reason)| format!("event {reason}")).collect()
    }

    fn early(&self) -> Vec<String> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventSink for Edge {
    fn record(&self, event: Event) {
        let is_of_end = event.reason == "Evicted"
            || (event.reason == "Preempting" && event.message.starts_with("Preempted"));
        assert!(!is_of_end, "an end by the node has a time by which it is known: {event:?}");
    }

    fn record_once(&self, event: Event, at: Timestamp) {
        self.saw("event", &event.reason);
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).insert((at, event.reason));
    }
}

impl StatusSink for Edge {
    fn report(&self, report: PodReport) {
        if let Some(status) = report.status.filter(|status| status.phase.as_deref() == Some("Failed")) {
            self.saw("status", status.reason.as_deref().unwrap_or_default());
        }
    }

    fn forget(&self, _: &PodUid) {}
}

fn connect(node: &mut FakeNode) -> Arc<Edge> {
    let (ends, early) = (Mutex::default(), Mutex::default());
    let edge = Arc::new(Edge { state: node.state.clone(), ends, early });
    let shared = edge.clone();
    node.cluster = Some(Box::new(move |_| ClusterEdge {
        sources: Vec::new(),
        statuses: shared.clone(),
        objects: Arc::new(NoObjects),
        events: shared.clone(),
        node: None,
        work: Box::new(|_| Box::pin(std::future::pending())),
    }));
    edge
}

fn pod(cause: Cause, name: &str) -> Pod {
    let (cpu, limits, grace) = match cause {
        Cause::Memory => ("10m", json!({}), 30),
        Cause::StorageLimit => ("10m", json!({"ephemeral-storage": "10Mi"}), 30),
        Cause::Preemption if name == "bomb" => ("3", json!({}), 3),
        Cause::Preemption => ("10m", json!({}), 3),
    };
    let resources = json!({"requests": {"memory": "1Mi", "cpu": cpu}, "limits": limits});
    let app = json!({"name": "app", "image": "clinging:1", "resources": resources});
    bound_pod(&format!("{name}-node1"), json!({"terminationGracePeriodSeconds": grace, "containers": [app]}))
}

fn left_of_memory(node: &FakeNode, available: u64) {
    node.usage.set(|seen| seen.memory = Some(Left { capacity: 8 * GIB, available }));
}

/// What the pod uses from now on: bytes of memory, and of its layer.
fn uses(node: &FakeNode, pod: &Pod, memory: u64, layer: u64) {
    let usage = ContainerUsage {
        name: "app".to_owned(),
        memory: Some(memory),
        rootfs: FsUsage::new(layer, 1),
        ..ContainerUsage::default()
    };
    node.usage.set_container(pod, usage);
    node.usage.set_storage(pod, LocalStorage::default());
}

/// The node comes to end the bomb.
fn trigger(node: &FakeNode, cause: Cause, bomb: &Pod) {
    match cause {
        Cause::Memory => left_of_memory(node, 1),
        Cause::StorageLimit => uses(node, bomb, GIB, 20 * MIB),
        Cause::Preemption => {
            let vital = static_pod("vital").container(container("app", "sleeper:1").request("cpu", "3"));
            node.source.put("vital", vec![vital.build()]);
        }
    }
}

/// Lets time pass; where the cut comes, the agent is killed and another one starts. The memory of the pod is free once it has ended.
async fn pass_with(node: &mut FakeNode, seconds: u32, cut: Option<Cut>) {
    for _ in 0..seconds * 20 {
        pass(0.05).await;
        let has_ended =
            node.runtime.log().iter().any(|line| line.contains("ended with 137 bomb-node1/app#0"));
        if has_ended {
            left_of_memory(node, GIB);
        }
        if !node.state.take_cut() && !node.runtime.take_call_cut() {
            continue;
        }
        let is_full = matches!(cut, Some(Cut::Full(_)));
        node.state.set_full(is_full);
        node.kill();
        pass(1.0).await;
        node.start();
        if is_full {
            pass(5.0).await;
            node.state.set_full(false);
        }
    }
}

/// The whole story of an end by the node. Says how it came out, and how many writes and calls there were to be cut.
async fn story(cause: Cause, cut: Option<Cut>) -> (String, usize, usize) {
    let mut node = node();
    node.runtime.add_image("clinging:1", FakeImage::present(Behaviour::IgnoresStop));
    let hard = [("memory.available".to_owned(), "100Mi".to_owned())].into();
    let thresholds = ThresholdConfig { hard: Some(hard), ..ThresholdConfig::default() }.thresholds();
    node.config.eviction =
        EvictionConfig { thresholds: thresholds.expect("thresholds"), ..EvictionConfig::default() };
    let edge = connect(&mut node);
    node.start();
    let (bomb, tame) = (pod(cause, "bomb"), pod(cause, "tame"));
    node.source.put_as_is("pods", vec![bomb.clone(), tame.clone()]);
    uses(&node, &bomb, GIB, MIB);
    uses(&node, &tame, MIB, MIB);
    pass(12.0).await;
    let (writes, calls) = (node.state.all_saves(), node.runtime.ending_calls());
    match cut {
        Some(Cut::Write(number, is_written)) => node.state.cut_write(number, is_written),
        Some(Cut::Full(number)) => node.state.cut_write(number, false),
        Some(Cut::Call(number, is_carried_out)) => node.runtime.cut_ending_call(number, is_carried_out),
        None => {}
    }
    trigger(&node, cause, &bomb);
    pass_with(&mut node, 60, cut).await;
    let (writes, calls) = (node.state.all_saves() - writes, node.runtime.ending_calls() - calls);
    // Whatever was written is what the next agent begins with.
    node.kill();
    node.start();
    pass(30.0).await;
    let mut reported: Vec<String> = ["bomb", "tame"]
        .map(|name| {
            let of = format!("{name}-node1");
            let starts = node.runtime.starts().into_iter().filter(|start| start.pod == of).count();
            format!("{name}: {}, started {starts} times", status(&node, name))
        })
        .into();
    reported.push(status_of(&node, "bomb").message.unwrap_or_default().trim_end().to_owned());
    reported.extend(edge.reported());
    if !matches!(cut, Some(Cut::Full(_))) {
        // A full disk takes no checkpoint, and the pod has to end all the same.
        reported.extend(edge.early().into_iter().map(|what| format!("{what} before it was saved")));
    }
    // A pod that is deleted leaves nothing.
    node.source.put_as_is("pods", vec![tame]);
    pass(30.0).await;
    reported.push(format!("left of it: {}", left(&node).await.contains("bomb")));
    (reported.join("\n"), writes, calls)
}

/// The story comes out the same wherever it is cut.
async fn cut_everywhere(cause: Cause, expected: &str, writes: usize, calls: usize) {
    assert!(writes >= 2 && calls >= 2, "{writes} writes, {calls} calls");
    let at_writes = (0..writes).flat_map(|at| [Cut::Write(at, false), Cut::Write(at, true), Cut::Full(at)]);
    let at_calls = (0..calls).flat_map(|at| [Cut::Call(at, false), Cut::Call(at, true)]);
    for cut in at_writes.chain(at_calls) {
        let (outcome, ..) = story(cause, Some(cut)).await;
        assert_eq!(outcome, expected, "{cut:?} of {writes} writes and {calls} calls");
    }
}

#[tokio::test(start_paused = true)]
async fn an_eviction_comes_out_the_same_wherever_it_is_cut() {
    let (outcome, writes, calls) = story(Cause::Memory, None).await;
    expect_test::expect![[r#"
        bomb: Failed Evicted app: ended 137, 0 restarts, started 1 times
        tame: Running app: running, 0 restarts, started 1 times
        The node was low on resource: memory. Threshold quantity: 100Mi, available: 1. Container app was using 1Gi, request is 1Mi, has larger consumption of memory.
        event Evicted
        left of it: false"#]]
    .assert_eq(&outcome);
    cut_everywhere(Cause::Memory, &outcome, writes, calls).await;
}

#[tokio::test(start_paused = true)]
async fn an_eviction_for_a_limit_of_local_storage_comes_out_the_same_wherever_it_is_cut() {
    let (outcome, writes, calls) = story(Cause::StorageLimit, None).await;
    expect_test::expect![[r#"
        bomb: Failed Evicted app: ended 137, 0 restarts, started 1 times
        tame: Running app: running, 0 restarts, started 1 times
        Pod ephemeral local storage usage exceeds the total limit of containers 10Mi.
        event Evicted
        left of it: false"#]]
    .assert_eq(&outcome);
    cut_everywhere(Cause::StorageLimit, &outcome, writes, calls).await;
}

#[tokio::test(start_paused = true)]
async fn a_preemption_comes_out_the_same_wherever_it_is_cut() {
    let (outcome, writes, calls) = story(Cause::Preemption, None).await;
    expect_test::expect![[r#"
        bomb: Failed Preempting app: ended 137, 0 restarts, started 1 times
        tame: Running app: running, 0 restarts, started 1 times
        Preempted in order to admit critical pod
        event Preempting
        left of it: false"#]]
    .assert_eq(&outcome);
    cut_everywhere(Cause::Preemption, &outcome, writes, calls).await;
}
