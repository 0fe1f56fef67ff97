//! The loop under load and without a runtime.

use std::time::Duration;

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_ports::{AgentView, PodView};
use witlet_testkit::{Behaviour, FakeAdmission, FakeImage, FakeNode, NODE_NAME, pod};

use crate::support::{from_spec, orders, pass, sleeper, started, status};

fn ready(node: &FakeNode) -> String {
    let node = node.agent().node();
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.and_then(|all| all.iter().find(|condition| condition.type_ == "Ready"));
    ready.map_or_else(String::new, |ready| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{} {} {}", ready.status, text(&ready.reason), text(&ready.message))
    })
}

#[tokio::test(start_paused = true)]
async fn without_a_runtime_the_node_is_not_ready_and_nothing_is_lost_when_it_comes_back() {
    let node = started();
    node.source.put("a", vec![sleeper("a").build()]);
    pass(5.0).await;
    expect!["True KubeletReady kubelet is posting ready status"].assert_eq(&ready(&node));
    orders(&node);
    node.runtime.set_down(true);
    pass(10.0).await;
    expect!["False KubeletNotReady container runtime is down: Status: failed to reach the runtime at fake: connection refused"].assert_eq(&ready(&node));
    node.source.put("b", vec![sleeper("b").build()]);
    pass(300.0).await;
    assert_eq!(status(&node, "a"), "Running app: running, 0 restarts");
    node.runtime.set_down(false);
    pass(10.0).await;
    assert_eq!(status(&node, "b"), "Running app: running, 0 restarts");
    expect![[r#"
         315.000 run sandbox b-node1#0
         315.000 create b-node1/app#0
         315.000 start b-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["True KubeletReady kubelet is posting ready status"].assert_eq(&ready(&node));
    let events: Vec<String> = node.agent().events().into_iter().map(|e| e.event.reason.clone()).collect();
    assert!(events.iter().any(|reason| reason == "NodeNotReady"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_answers_but_lists_nothing_for_three_minutes_is_unhealthy() {
    let node = started();
    pass(5.0).await;
    node.runtime.fail_next("ListPodSandbox", 250);
    pass(170.0).await;
    assert!(ready(&node).starts_with("True"), "{}", ready(&node));
    pass(25.0).await;
    expect![
        "False KubeletNotReady PLEG is not healthy: pleg was last seen active 192s ago; threshold is 180s"
    ]
    .assert_eq(&ready(&node));
    pass(100.0).await;
    assert!(ready(&node).starts_with("True"), "{}", ready(&node));
}

/// Longer than any of these tests: what takes this long never ends.
const FOR_EVER: Duration = Duration::from_hours(24);

/// Events that the loop may handle for each pod until all run: a bound on its work, whatever the machine's speed.
const EVENTS_PER_POD_MAX: u64 = 40;

/// Asserts that the loop has waited for nothing. What the fakes do takes paused time, so a loop that awaits any of it has a pause.
fn assert_never_paused(node: &FakeNode) {
    assert_eq!(node.agent().stats().longest_pause, Duration::ZERO);
}

fn running(node: &FakeNode, names: impl Iterator<Item = String>) -> usize {
    names.filter(|name| status(node, name).contains("app: running")).count()
}

/// The n-th of a hundred pods: of each ten one hangs in its handler, one in its pull and one in its volume.
fn pod_of_hundred(n: usize) -> Pod {
    let name = format!("p{n}");
    match n % 10 {
        0 => sleeper(&name).label(FakeAdmission::hangs_label()).build(),
        1 => pod(&name).image("endless:1").build(),
        2 => from_spec(
            &name,
            json!({
                "containers": [{
                    "name": "app", "image": "sleeper:1",
                    "volumeMounts": [{"name": "stuck", "mountPath": "/data"}],
                }],
                "volumes": [{"name": "stuck", "emptyDir": {}}],
            }),
        ),
        _ => sleeper(&name).build(),
    }
}

#[tokio::test(start_paused = true)]
async fn the_loop_starts_the_other_pods_while_handlers_pulls_and_volumes_hang() {
    let node = started();
    let endless = FakeImage { pull_takes: FOR_EVER, ..FakeImage::absent(Behaviour::Sleeps) };
    node.runtime.add_image("endless:1", endless);
    node.machine.hang_volume("stuck", true);
    node.source.put("all", (0..100).map(pod_of_hundred).collect());
    pass(30.0).await;
    let names = |hang: bool| (0..100).filter(move |n| (n % 10 <= 2) == hang).map(|n| format!("p{n}"));
    assert_eq!((running(&node, names(false)), running(&node, names(true))), (70, 0));
    let stats = node.agent().stats();
    assert_eq!(stats.pleg_events_dropped, 0);
    assert!(stats.events_handled <= 100 * EVENTS_PER_POD_MAX, "{}", stats.events_handled);
    assert_never_paused(&node);
    // It handles what comes later, too.
    node.source.put("later", vec![sleeper("later").build()]);
    node.source.remove("all");
    pass(60.0).await;
    assert_eq!(status(&node, "later"), "Running app: running, 0 restarts");
    assert_eq!(running(&node, names(false)), 0);
    assert_never_paused(&node);
}

#[tokio::test(start_paused = true)]
async fn the_loop_admits_pods_and_shows_the_nodes_health_while_the_disk_hangs() {
    let node = started();
    pass(5.0).await;
    node.state.set_delay(FOR_EVER);
    node.source.put("all", (0..20).map(|n| sleeper(&format!("p{n}")).build()).collect());
    pass(60.0).await;
    assert_eq!(node.admission.asked().len(), 20);
    assert_eq!(running(&node, (0..20).map(|n| format!("p{n}"))), 0, "none starts before it is saved");
    node.runtime.set_down(true);
    pass(10.0).await;
    assert!(ready(&node).starts_with("False KubeletNotReady"), "{}", ready(&node));
    assert_never_paused(&node);
}

#[tokio::test(start_paused = true)]
async fn the_loop_admits_and_forgets_pods_while_the_runtime_hangs() {
    let node = started();
    pass(5.0).await;
    node.runtime.set_inspections_take(FOR_EVER);
    node.source.put("all", (0..20).map(|n| sleeper(&format!("p{n}")).build()).collect());
    pass(60.0).await;
    assert_eq!(node.admission.asked().len(), 20);
    let before = node.agent().stats().events_handled;
    node.source.put("later", vec![sleeper("later").build()]);
    pass(60.0).await;
    assert_eq!(node.admission.asked().len(), 21);
    assert!(node.agent().stats().events_handled > before);
    assert_never_paused(&node);
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_hangs_holds_up_the_others_for_one_round_only() {
    let node = started();
    node.source.put("stuck", vec![sleeper("stuck").build()]);
    node.source.put("later", vec![sleeper("later").build()]);
    pass(5.0).await;
    node.runtime.hang_removals(&format!("stuck-{NODE_NAME}"), 1);
    node.source.remove("stuck");
    pass(10.0).await;
    node.source.remove("later");
    pass(50.0).await;
    let left = node.runtime.list_pods().await.expect("the runtime is up");
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_ends_though_no_one_asked_it_to_ends_the_agent_and_no_pod() {
    let node = started();
    node.source.put("p", vec![sleeper("web").build()]);
    pass(5.0).await;
    orders(&node);
    assert_eq!(node.failure(), None);
    node.source.end();
    pass(10.0).await;
    assert_eq!(node.failure().as_deref(), Some("source file ended unexpectedly"));
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn a_task_of_the_agent_that_ends_though_no_one_asked_it_to_ends_the_agent_with_its_name() {
    let node = started();
    node.source.put("p", vec![sleeper("web").build()]);
    pass(5.0).await;
    orders(&node);
    node.plugin_sources.end();
    pass(10.0).await;
    assert_eq!(node.failure().as_deref(), Some("the pod sources of plugins ended unexpectedly"));
    assert_eq!(orders(&node), "");
}
