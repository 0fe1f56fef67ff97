//! An eviction, cut at each of its steps: the agent is killed before or after each write, and before or after each call that ends
//! something. Nothing is doubled, nothing is lost, and the pod stays evicted.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::eviction::{EvictionConfig, ThresholdConfig};
use witlet_core::stats::ContainerUsage;
use witlet_ports::Left;
use witlet_testkit::{Behaviour, FakeImage, FakeNode};

use crate::support::{bound_pod, left, node, pass, status, status_of};

const GIB: u64 = 1 << 30;

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

fn pod(name: &str) -> Pod {
    let app = json!({"name": "app", "image": "clinging:1", "resources": {"requests": {"memory": "1Mi"}}});
    bound_pod(&format!("{name}-node1"), json!({"terminationGracePeriodSeconds": 30, "containers": [app]}))
}

fn left_of_memory(node: &FakeNode, available: u64) {
    node.usage.set(|seen| seen.memory = Some(Left { capacity: 8 * GIB, available }));
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

/// The whole story of an eviction. Says how it came out, and how many writes and calls there were to be cut.
async fn story(cut: Option<Cut>) -> (String, usize, usize) {
    let mut node = node();
    node.runtime.add_image("clinging:1", FakeImage::present(Behaviour::IgnoresStop));
    let hard = [("memory.available".to_owned(), "100Mi".to_owned())].into();
    let thresholds = ThresholdConfig { hard: Some(hard), ..ThresholdConfig::default() }.thresholds();
    node.config.eviction =
        EvictionConfig { thresholds: thresholds.expect("thresholds"), ..EvictionConfig::default() };
    node.start();
    let (bomb, tame) = (pod("bomb"), pod("tame"));
    node.source.put_as_is("pods", vec![bomb.clone(), tame.clone()]);
    for (pod, memory) in [(&bomb, GIB), (&tame, 1 << 20)] {
        let usage =
            ContainerUsage { name: "app".to_owned(), memory: Some(memory), ..ContainerUsage::default() };
        node.usage.set_container(pod, usage);
    }
    pass(12.0).await;
    let (writes, calls) = (node.state.all_saves(), node.runtime.ending_calls());
    match cut {
        Some(Cut::Write(number, is_written)) => node.state.cut_write(number, is_written),
        Some(Cut::Full(number)) => node.state.cut_write(number, false),
        Some(Cut::Call(number, is_carried_out)) => node.runtime.cut_ending_call(number, is_carried_out),
        None => {}
    }
    left_of_memory(&node, 1);
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
    // A pod that is deleted leaves nothing.
    node.source.put_as_is("pods", vec![tame]);
    pass(30.0).await;
    reported.push(format!("left of it: {}", left(&node).await.contains("bomb")));
    (reported.join("\n"), writes, calls)
}

#[tokio::test(start_paused = true)]
async fn an_eviction_comes_out_the_same_wherever_it_is_cut() {
    let (expected, writes, calls) = story(None).await;
    expect_test::expect![[r#"
        bomb: Failed Evicted app: ended 137, 0 restarts, started 1 times
        tame: Running app: running, 0 restarts, started 1 times
        The node was low on resource: memory. Threshold quantity: 100Mi, available: 1. Container app was using 1Gi, request is 1Mi, has larger consumption of memory.
        left of it: false"#]]
    .assert_eq(&expected);
    assert!(writes >= 2 && calls >= 2, "{writes} writes, {calls} calls");
    let at_writes = (0..writes).flat_map(|at| [Cut::Write(at, false), Cut::Write(at, true), Cut::Full(at)]);
    let at_calls = (0..calls).flat_map(|at| [Cut::Call(at, false), Cut::Call(at, true)]);
    for cut in at_writes.chain(at_calls) {
        let (outcome, ..) = story(Some(cut)).await;
        assert_eq!(outcome, expected, "{cut:?} of {writes} writes and {calls} calls");
    }
}
