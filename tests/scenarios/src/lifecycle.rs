//! The life of a pod, order by order.

use std::time::Duration;

use expect_test::expect;
use k8s_openapi::api::core::v1::{ExecAction, Probe};
use witlet_ports::{AgentView, PodView};
use witlet_testkit::{Behaviour, ExecScript, FakeImage, container, pod};

use crate::support::{events, node, orders, pass, shown, sleeper, started, status};

#[tokio::test(start_paused = true)]
async fn a_pod_is_started_and_ended_in_upstreams_order_and_leaves_nothing() {
    let node = started();
    node.source
        .put("web", vec![sleeper("web").container(container("side", "sleeper:1")).grace_seconds(7).build()]);
    pass(5.0).await;
    expect![[r#"
           0.000 run sandbox web-node1#0
           0.000 create web-node1/app#0
           0.000 start web-node1/app#0
           0.000 create web-node1/side#0
           0.000 start web-node1/side#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Running app: running, 0 restarts side: running, 0 restarts"].assert_eq(&status(&node, "web"));
    node.source.remove("web");
    pass(10.0).await;
    expect![[r#"
        5.000 stop within 7s web-node1/side#0
        5.000 ended with 143 web-node1/side#0
        5.000 stop within 7s web-node1/app#0
        5.000 ended with 143 web-node1/app#0
        5.000 stop sandbox web-node1#0
        10.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    expect![[r#"
        MissingClusterDNS ×1 pod: "web-node1_default(9bc95b8833f11a197a07ef0a32c09679)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        Killing ×1 Stopping container side
        Killing ×1 Stopping container app
    "#]]
    .assert_eq(&events(&node, "web"));
    assert_eq!(shown(&node, "web"), None);
    assert_eq!(node.files.uids(), []);
}

#[tokio::test(start_paused = true)]
async fn the_delay_of_a_crashing_container_doubles_up_to_five_minutes() {
    let node = started();
    let crashes = Behaviour::Exits { code: 1, after: Duration::from_secs(1) };
    node.runtime.add_image("crasher:1", FakeImage::present(crashes));
    node.source.put("c", vec![pod("c").image("crasher:1").build()]);
    pass(1300.0).await;
    let starts: String =
        orders(&node).lines().filter(|l| l.contains(" start ")).map(|l| format!("{l}\n")).collect();
    expect![[r#"
        0.000 start c-node1/app#0
        1.000 start c-node1/app#1
        12.000 start c-node1/app#2
        33.000 start c-node1/app#3
        74.000 start c-node1/app#4
        155.000 start c-node1/app#5
        316.000 start c-node1/app#6
        617.000 start c-node1/app#7
        918.000 start c-node1/app#8
        1219.000 start c-node1/app#9
    "#]]
    .assert_eq(&starts);
    expect!["Running app: CrashLoopBackOff(back-off 5m0s restarting failed container=app pod=c-node1_default(80d58935dfec76e9f75f83f8606f1729)), 9 restarts"].assert_eq(&status(&node, "c"));
    let reported = events(&node, "c");
    assert!(reported.contains("BackOff"), "{reported}");
}

#[tokio::test(start_paused = true)]
async fn an_edited_pod_starts_only_when_the_old_one_has_ended() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    node.source.put("web", vec![pod("web").image("stubborn:1").grace_seconds(20).build()]);
    pass(3.0).await;
    orders(&node);
    node.source.put("web", vec![sleeper("web").build()]);
    pass(30.0).await;
    expect![[r#"
        3.000 stop within 20s web-node1/app#0
        23.000 ended with 137 web-node1/app#0
        23.000 stop sandbox web-node1#0
        23.000 run sandbox web-node1#0
        23.000 create web-node1/app#0
        23.000 start web-node1/app#0
        24.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_pod_edited_twice_while_the_old_one_ends_starts_as_it_was_last_written() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    node.source.put("web", vec![pod("web").image("stubborn:1").grace_seconds(20).build()]);
    pass(3.0).await;
    node.source.put("web", vec![sleeper("web").label(("edit", "1")).build()]);
    pass(3.0).await;
    node.source.put("web", vec![sleeper("web").label(("edit", "2")).build()]);
    pass(30.0).await;
    let label = shown(&node, "web").and_then(|pod| pod.metadata.labels).and_then(|l| l.get("edit").cloned());
    assert_eq!(label.as_deref(), Some("2"));
    assert_eq!(node.agent().pods().len(), 1);
    let starts = orders(&node).lines().filter(|line| line.contains(" start ")).count();
    assert_eq!(starts, 2, "the first and the last version, not the one between");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_comes_back_with_the_uid_of_one_that_still_ends_starts_from_the_beginning() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let manifest = pod("web").image("stubborn:1").grace_seconds(4).restart_policy("Never").build();
    node.source.put("web", vec![manifest.clone()]);
    pass(3.0).await;
    orders(&node);
    node.source.remove("web");
    pass(1.0).await;
    node.source.put("web", vec![manifest]);
    pass(15.0).await;
    expect![[r#"
        3.000 stop within 4s web-node1/app#0
        7.000 ended with 137 web-node1/app#0
        7.000 stop sandbox web-node1#0
        10.000 remove sandbox web-node1#0
        12.000 run sandbox web-node1#0
        12.000 create web-node1/app#0
        12.000 start web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_manifest_removed_and_written_again_restarts_its_pod_within_its_grace() {
    for (between, at) in [(0.1, "7.000"), (1.0, "7.000"), (3.9, "7.000"), (4.1, "7.100")] {
        let node = started();
        node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
        let manifest = pod("web").image("stubborn:1").grace_seconds(4).build();
        node.source.put("web", vec![manifest.clone()]);
        pass(3.0).await;
        orders(&node);
        node.source.remove("web");
        pass(between).await;
        node.source.put("web", vec![manifest]);
        pass(15.0).await;
        let log = orders(&node);
        assert_eq!(status(&node, "web"), "Running app: running, 1 restarts", "{between}\n{log}");
        let started = format!("{at} start web-node1/app#1\n");
        assert!(log.contains(&started), "{between}: {started} in\n{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_sandbox_is_replaced_and_everything_in_it_restarted() {
    let node = started();
    node.source.put("web", vec![sleeper("web").build()]);
    pass(3.0).await;
    orders(&node);
    node.runtime.lose_sandboxes();
    pass(20.0).await;
    expect![[r#"
           3.000 run sandbox web-node1#1
           3.000 create web-node1/app#1
           3.000 start web-node1/app#1
    "#]]
    .assert_eq(&orders(&node));
    expect!["Running app: running, 1 restarts"].assert_eq(&status(&node, "web"));
    assert!(events(&node, "web").contains("SandboxChanged"));
}

/// A probe each second of which one failure is enough.
fn exec_probe(command: &str) -> Probe {
    Probe {
        exec: Some(ExecAction { command: Some(vec![command.to_owned()]) }),
        period_seconds: Some(1),
        failure_threshold: Some(1),
        ..Probe::default()
    }
}

fn failing() -> ExecScript {
    ExecScript { exit_code: 1, ..ExecScript::default() }
}

#[tokio::test(start_paused = true)]
async fn a_failed_liveness_probe_restarts_the_container() {
    let node = started();
    let mut manifest = sleeper("web").build();
    manifest.spec.as_mut().expect("it has one").containers[0].liveness_probe = Some(exec_probe("alive"));
    node.source.put("web", vec![manifest]);
    pass(3.0).await;
    orders(&node);
    node.runtime.set_exec("alive", failing());
    pass(20.0).await;
    expect![[r#"
        3.000 exec "alive" in web-node1/app#0
        3.000 stop within 30s web-node1/app#0
        3.000 ended with 143 web-node1/app#0
        3.000 create web-node1/app#1
        3.000 start web-node1/app#1
        4.000 exec "alive" in web-node1/app#1
        4.000 stop within 30s web-node1/app#1
        4.000 ended with 143 web-node1/app#1
        4.000 create web-node1/app#2
        4.000 start web-node1/app#2
        5.000 exec "alive" in web-node1/app#2
        5.000 stop within 30s web-node1/app#2
        5.000 ended with 143 web-node1/app#2
        14.000 remove web-node1/app#0
        14.000 remove web-node1/app#1
        15.000 create web-node1/app#3
        15.000 start web-node1/app#3
        16.000 exec "alive" in web-node1/app#3
        16.000 stop within 30s web-node1/app#3
        16.000 ended with 143 web-node1/app#3
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_removed_pod_does_not_wait_for_a_longer_grace_that_a_probe_gave() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let mut manifest = pod("web").image("stubborn:1").grace_seconds(5).build();
    let probe = Probe { termination_grace_period_seconds: Some(600), ..exec_probe("alive") };
    manifest.spec.as_mut().expect("it has one").containers[0].liveness_probe = Some(probe);
    node.source.put("web", vec![manifest]);
    pass(3.0).await;
    orders(&node);
    node.runtime.set_exec("alive", failing());
    pass(2.0).await;
    node.source.remove("web");
    pass(20.0).await;
    expect![[r#"
        3.000 exec "alive" in web-node1/app#0
        3.000 stop within 600s web-node1/app#0
        5.000 stop within 5s web-node1/app#0
        10.000 ended with 137 web-node1/app#0
        10.000 stop sandbox web-node1#0
        12.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_pod_written_again_right_after_its_end_starts_at_once() {
    let node = started();
    node.source.put("web", vec![sleeper("web").build()]);
    pass(3.0).await;
    orders(&node);
    pass(0.1).await;
    node.source.remove("web");
    pass(0.1).await;
    node.source.put("web", vec![sleeper("web").label(("edit", "1")).build()]);
    pass(5.0).await;
    expect![[r#"
        3.100 stop within 30s web-node1/app#0
        3.100 ended with 143 web-node1/app#0
        3.100 stop sandbox web-node1#0
        3.200 run sandbox web-node1#0
        3.200 create web-node1/app#0
        3.200 start web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn what_fails_to_start_says_why_and_is_tried_again() {
    for (call, reason) in [
        ("CreateContainer", "CreateContainerError"),
        ("StartContainer", "RunContainerError"),
        ("ImageStatus", "ImageInspectError"),
        ("RunPodSandbox", "ContainerCreating"),
    ] {
        let mut node = node();
        node.runtime.fail_next(call, 2);
        node.start();
        node.source.put("web", vec![sleeper("web").build()]);
        pass(3.0).await;
        let shown = status(&node, "web");
        assert!(shown.contains(reason), "{call}: {shown}\n{}", events(&node, "web"));
        pass(40.0).await;
        assert!(status(&node, "web").contains("app: running"), "{call}: {}", status(&node, "web"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_the_network_unless_it_uses_the_hosts() {
    let mut node = node();
    node.runtime.set_network_down(true);
    node.start();
    node.source.put("a", vec![sleeper("own").build(), sleeper("host").host_network().build()]);
    pass(5.0).await;
    assert!(status(&node, "own").contains("ContainerCreating"), "{}", status(&node, "own"));
    assert!(status(&node, "host").contains("app: running"), "{}", status(&node, "host"));
    assert!(events(&node, "own").contains("NetworkNotReady"));
    node.runtime.set_network_down(false);
    pass(8.0).await;
    assert!(status(&node, "own").contains("app: running"), "{}", status(&node, "own"));
}

#[tokio::test(start_paused = true)]
async fn dead_containers_are_collected_but_for_the_newest_of_each() {
    let node = started();
    let crashes = Behaviour::Exits { code: 1, after: Duration::from_secs(1) };
    node.runtime.add_image("crasher:1", FakeImage::present(crashes));
    node.source.put("c", vec![pod("c").image("crasher:1").build()]);
    pass(120.0).await;
    let pods = node.runtime.list_pods().await.expect("the runtime is up");
    assert!(pods[0].containers.len() <= 2, "{:?}", pods[0].containers);
    let app = shown(&node, "c").and_then(|pod| pod.status).and_then(|s| s.container_statuses);
    let last = app.and_then(|statuses| statuses[0].last_state.clone()).and_then(|state| state.terminated);
    assert_eq!(last.map(|ended| ended.exit_code), Some(1), "the last state is still known");
    // Started five times, and the last instance waits to be started again.
    let logs: Vec<_> = node.files.removed_logs().iter().map(|log| log.display().to_string()).collect();
    assert_eq!(logs, [0, 1, 2, 3].map(|number| format!("/var/log/pods/app/{number}.log")));
    // The last one goes with the sandbox: a pod with this UID may come back and keep the folders.
    node.source.remove("c");
    pass(10.0).await;
    let last = node.files.removed_logs().last().map(|log| log.display().to_string());
    assert_eq!(last.as_deref(), Some("/var/log/pods/app/4.log"));
}

#[tokio::test(start_paused = true)]
async fn a_container_that_never_starts_is_tried_again_with_delays_only() {
    let node = started();
    node.runtime.fail_next("StartContainer", 1000);
    node.source.put("web", vec![sleeper("web").build()]);
    pass(100.0).await;
    let creations = orders(&node).lines().filter(|line| line.contains(" create ")).count();
    assert!((3..=12).contains(&creations), "{creations} creations in 100 s");
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_runtime_are_shown_in_the_words_of_a_kubelet() {
    let node = started();
    node.runtime.fail_next("RunPodSandbox", 1);
    node.runtime.fail_next("CreateContainer", 1);
    node.source.put("web", vec![sleeper("web").build()]);
    pass(20.0).await;
    expect!["Pending app: CreateContainerError(failed as the test planned), 0 restarts"]
        .assert_eq(&status(&node, "web"));
    pass(30.0).await;
    node.runtime.fail_next("StopContainer", 1);
    node.runtime.fail_next("StopPodSandbox", 1);
    node.source.remove("web");
    pass(60.0).await;
    let failures = events(&node, "web");
    let failures: Vec<&str> = failures.lines().filter(|event| event.contains("Failed")).collect();
    expect![[r#"
        FailedCreatePodSandBox ×1 Failed to create pod sandbox: rpc error: code = Unknown desc = failed as the test planned
        Failed ×1 Error: failed as the test planned
        FailedKillPod ×1 error killing pod: [failed to "KillContainer" for "app" with KillContainerError: "rpc error: code = Unknown desc = failed as the test planned", failed to "KillPodSandbox" for "f2059ad4c635fa60d441132dd7ec7a67" with KillPodSandboxError: "rpc error: code = Unknown desc = failed as the test planned"]"#]].assert_eq(&failures.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_comes_while_a_pod_starts_is_made_on_what_the_start_brought() {
    let node = started();
    let slow = FakeImage { pull_takes: Duration::from_millis(2500), ..FakeImage::absent(Behaviour::Sleeps) };
    node.runtime.add_image("slow:1", slow);
    // So that the check after the start is not there yet when the change's turn comes.
    node.runtime.set_inspections_take(Duration::from_millis(100));
    let pod = |label| pod("web").uid("fixed").image("slow:1").label(("edit", label)).build();
    node.source.put("web", vec![pod("1")]);
    pass(1.0).await;
    node.source.put("web", vec![pod("2")]);
    pass(10.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.100 pull slow:1
        2.600 create web-node1/app#0
        2.600 start web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ran_once_runs_again_when_its_manifest_comes_back() {
    let node = started();
    let manifest = || vec![sleeper("web").restart_policy("Never").build()];
    for between in [0.0, 0.1, 1.0, 5.0] {
        node.source.put("web", manifest());
        pass(10.0).await;
        assert_eq!(status(&node, "web"), "Running app: running, 0 restarts", "after {between}");
        node.source.remove("web");
        pass(0.1 + between).await;
    }
}
