//! The loop under load and without a runtime.

use std::time::Duration;

use expect_test::expect;
use tokio::time::Instant;
use witlet_ports::{AgentView, PodView};
use witlet_testkit::{FakeAdmission, FakeNode, NODE_NAME};

use crate::process::slowdown;
use crate::support::{orders, pass, sleeper, started, status};

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
    expect!["False KubeletNotReady container runtime is down: Status: the runtime at fake can't be reached: connection refused"].assert_eq(&ready(&node));
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

/// How long the loop may pause at most, on a machine that does nothing else.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// On real time, for a pause is what the loop really spends. It is printed. A machine that is busy with something else
/// makes everything take so many times longer, and a pause that it makes doesn't come in each of several rounds.
#[tokio::test]
async fn the_loop_never_pauses_for_long_with_a_hundred_pods_and_a_hanging_handler() {
    let mut pauses = Vec::new();
    let is_short = |(pause, slowdown): &(Duration, f64)| *pause < PAUSE_MAX.mul_f64(*slowdown);
    while pauses.len() < 5 && !pauses.iter().any(is_short) {
        pauses.push((longest_pause().await, slowdown(std::process::id())));
    }
    println!("longest pause of each round, and how many times slower the machine was: {pauses:?}");
    assert!(pauses.iter().any(is_short), "{pauses:?}");
}

async fn longest_pause() -> Duration {
    let node = started();
    let pods = (0..100).map(|n| {
        let pod = sleeper(&format!("p{n}"));
        if n % 10 == 0 { pod.label(FakeAdmission::hangs_label()).build() } else { pod.build() }
    });
    node.source.put("all", pods.collect());
    let deadline = Instant::now() + Duration::from_secs(60);
    let running = |node: &FakeNode| {
        (0..100).filter(|n| status(node, &format!("p{n}")).contains("app: running")).count()
    };
    while running(&node) < 90 {
        assert!(Instant::now() < deadline, "only {} run", running(&node));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let stats = node.agent().stats();
    assert_eq!(stats.pleg_events_dropped, 0);
    stats.longest_pause
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
