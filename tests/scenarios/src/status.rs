//! Status: messages, conditions, counts, generations.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};
use witlet_testkit::{Behaviour, FakeImage};

use crate::support::{
    condition, container_of, ends_after, from_spec, orders, pass, pod_with_uid, shown, started, status,
    status_of,
};

#[tokio::test(start_paused = true)]
async fn what_a_container_leaves_behind_becomes_part_of_its_status() {
    let node = started();
    ends_after(&node, "bad:1", 1, 5);
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [
            {"name": "app", "image": "bad:1", "terminationMessagePath": "/dev/termination-log"},
        ],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(2.0).await;
    let config = node.runtime.container_spec("web-node1", "app").expect("it was made");
    let log = config.mounts.iter().find(|m| m.container_path.ends_with("termination-log")).expect("mounted");
    node.machine.write(&log.host_path, "no disk");
    pass(10.0).await;
    let status = shown(&node, "web").and_then(|pod| pod.status).expect("shown");
    let containers = status.container_statuses.unwrap_or_default();
    let ended = containers[0].state.clone().and_then(|state| state.terminated).expect("it ended");
    assert_eq!(ended.message.as_deref(), Some("no disk"));
    assert_eq!(status.phase.as_deref(), Some("Failed"));
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_is_shown_as_ready_while_the_image_is_pulled() {
    let node = started();
    let slow = FakeImage { pull_takes: Duration::from_secs(30), ..FakeImage::absent(Behaviour::Sleeps) };
    node.runtime.add_image("slow:1", slow);
    let spec = json!({"containers": [{"name": "app", "image": "slow:1"}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(5.0).await;
    let status = shown(&node, "web").and_then(|pod| pod.status).expect("shown");
    let conditions = status.conditions.unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "PodReadyToStartContainers");
    assert_eq!(ready.map(|condition| condition.status.as_str()), Some("True"));
    assert!(status.pod_ip.is_some());
}

/// The conditions, one a line.
fn conditions(node: &witlet_testkit::FakeNode, name: &str) -> String {
    let conditions = status_of(node, name).conditions.unwrap_or_default();
    let lines = conditions.into_iter().map(|found| {
        let reason = found.reason.filter(|reason| !reason.is_empty());
        let reason = reason.map(|reason| format!(" {reason}")).unwrap_or_default();
        format!("{} {}{reason}\n", found.type_, found.status)
    });
    lines.collect()
}

#[tokio::test(start_paused = true)]
async fn conditions_follow_the_pod_from_its_beginning_to_its_end() {
    let node = started();
    ends_after(&node, "init:1", 0, 5);
    ends_after(&node, "job:1", 0, 5);
    node.runtime.add_image(
        "slow:1",
        FakeImage { pull_takes: Duration::from_secs(5), ..FakeImage::absent(Behaviour::Sleeps) },
    );
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "first", "image": "init:1"}],
        "containers": [{"name": "job", "image": "job:1"}],
    });
    node.runtime.fail_next("RunPodSandbox", 1);
    node.source.put("web", vec![from_spec("web", spec)]);
    let mut all = String::new();
    for (what, seconds) in [("no sandbox", 3.0), ("init", 9.0), ("app", 5.0), ("ended", 10.0)] {
        pass(seconds).await;
        all.push_str(&format!("{what}: {}\n{}", status(&node, "web"), conditions(&node, "web")));
    }
    expect![[r#"
        no sandbox: Pending job: PodInitializing(), 0 restarts
        PodReadyToStartContainers False
        Initialized False ContainersNotInitialized
        Ready False ContainersNotReady
        ContainersReady False ContainersNotReady
        PodScheduled True
        init: Pending job: PodInitializing(), 0 restarts
        PodReadyToStartContainers True
        Initialized False ContainersNotInitialized
        Ready False ContainersNotReady
        ContainersReady False ContainersNotReady
        PodScheduled True
        app: Running job: running, 0 restarts
        PodReadyToStartContainers True
        Initialized True
        Ready True
        ContainersReady True
        PodScheduled True
        ended: Succeeded job: ended 0, 0 restarts
        PodReadyToStartContainers False
        Initialized True PodCompleted
        Ready False PodCompleted
        ContainersReady False PodCompleted
        PodScheduled True
    "#]]
    .assert_eq(&all);
}

#[tokio::test(start_paused = true)]
async fn restart_counts_and_last_states_outlive_the_agent() {
    let mut node = started();
    ends_after(&node, "crasher:1", 3, 1);
    node.source
        .put("web", vec![from_spec("web", json!({"containers": [{"name": "app", "image": "crasher:1"}]}))]);
    pass(40.0).await;
    let before = container_of(&node, "web", "app");
    assert_eq!(before.restart_count, 3);
    node.kill();
    node.start();
    pass(5.0).await;
    let after = container_of(&node, "web", "app");
    // Delays aren't remembered, as upstream's aren't: it was started at once.
    assert_eq!(after.restart_count, before.restart_count + 1);
    let code = after.last_state.and_then(|state| state.terminated).map(|ended| ended.exit_code);
    assert_eq!(code, Some(3));
    pass(600.0).await;
    assert!(container_of(&node, "web", "app").restart_count > before.restart_count);
}

#[tokio::test(start_paused = true)]
async fn a_restart_count_goes_on_where_the_runtime_has_lost_the_container() {
    let mut node = started();
    ends_after(&node, "crasher:1", 3, 1);
    node.source.put(
        "web",
        vec![pod_with_uid("web", "u1", json!({"containers": [{"name": "app", "image": "crasher:1"}]}))],
    );
    pass(15.0).await;
    assert_eq!(container_of(&node, "web", "app").restart_count, 2);
    node.kill();
    node.runtime.lose_sandboxes();
    node.start();
    pass(3.0).await;
    assert!(container_of(&node, "web", "app").restart_count >= 2);
}

#[tokio::test(start_paused = true)]
async fn a_readiness_gate_holds_back_ready_and_nothing_else() {
    let node = started();
    let spec = json!({
        "readinessGates": [{"conditionType": "example.com/open"}],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    expect![[r#"False ReadinessGatesNotReady: corresponding condition of pod readiness gate "example.com/open" does not exist."#]]
        .assert_eq(&condition(&node, "web", "Ready").unwrap_or_default());
    assert_eq!(condition(&node, "web", "ContainersReady").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn the_class_of_service_follows_from_requests_and_limits() {
    for (resources, class) in [
        (json!({}), "BestEffort"),
        (json!({"requests": {"cpu": "1"}}), "Burstable"),
        (json!({"limits": {"cpu": "1", "memory": "1Gi"}}), "Guaranteed"),
        (json!({"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "1Gi"}}), "Burstable"),
    ] {
        let node = started();
        let spec = json!({"containers": [{"name": "app", "image": "sleeper:1", "resources": resources}]});
        node.source.put("web", vec![from_spec("web", spec)]);
        pass(3.0).await;
        assert_eq!(status_of(&node, "web").qos_class.as_deref(), Some(class), "{resources}");
    }
}

#[tokio::test(start_paused = true)]
async fn addresses_are_the_sandboxes_or_the_nodes() {
    let node = started();
    let app = json!([{"name": "app", "image": "sleeper:1"}]);
    node.source.put("own", vec![from_spec("own", json!({"containers": app}))]);
    node.source.put("host", vec![from_spec("host", json!({"hostNetwork": true, "containers": app}))]);
    pass(3.0).await;
    let (own, host) = (status_of(&node, "own"), status_of(&node, "host"));
    assert_eq!((own.pod_ip.as_deref(), own.host_ip.as_deref()), (Some("10.0.0.1"), Some("192.0.2.1")));
    assert_eq!((host.pod_ip.as_deref(), host.host_ip.as_deref()), (Some("192.0.2.1"), Some("192.0.2.1")));
}

#[tokio::test(start_paused = true)]
async fn a_container_that_the_runtime_forgot_is_started_again_whatever_the_policy() {
    let node = started();
    let spec = json!({"restartPolicy": "Never", "containers": [
        {"name": "app", "image": "sleeper:1"}, {"name": "other", "image": "sleeper:1"},
    ]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    node.runtime.forget_container("web-node1", "app");
    pass(5.0).await;
    expect!["Running app: running, 1 restarts other: running, 0 restarts"].assert_eq(&status(&node, "web"));
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/app#0
        0.000 start web-node1/app#0
        0.000 create web-node1/other#0
        0.000 start web-node1/other#0
        3.000 create web-node1/app#1
        3.000 start web-node1/app#1
    "#]]
    .assert_eq(&orders(&node));
}

/// What a container that waits is shown to wait for.
fn waits(node: &witlet_testkit::FakeNode) -> String {
    let state = container_of(node, "web", "app").state.unwrap_or_default();
    state.waiting.and_then(|waiting| waiting.reason).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn what_keeps_a_container_from_running_is_reported_by_upstreams_names() {
    let plain = json!({"name": "app", "image": "sleeper:1"});
    let no_user = json!({"name": "app", "image": "sleeper:1", "securityContext": {"runAsNonRoot": true, "runAsUser": 0}});
    for (container, call, reason) in [
        (&plain, "CreateContainer", "CreateContainerError"),
        (&plain, "StartContainer", "RunContainerError"),
        (&plain, "ImageStatus", "ImageInspectError"),
        (&plain, "RunPodSandbox", "ContainerCreating"),
        (&no_user, "", "CreateContainerConfigError"),
    ] {
        let node = started();
        if !call.is_empty() {
            node.runtime.fail_next(call, 1_000);
        }
        node.source.put("web", vec![from_spec("web", json!({"containers": [container]}))]);
        pass(5.0).await;
        assert_eq!(waits(&node), reason, "{call}");
        if !call.is_empty() {
            node.runtime.fail_next(call, 0);
            pass(60.0).await;
            assert!(status(&node, "web").contains("app: running"), "{call}: {}", status(&node, "web"));
        }
    }
}

/// The phase of a pod by what its containers do.
#[tokio::test(start_paused = true)]
async fn the_phase_is_what_all_containers_together_make_it() {
    for (policy, ends, phase) in [
        ("Never", [(0, 1), (0, 1)], "Succeeded"),
        ("Never", [(0, 1), (1, 1)], "Failed"),
        ("Never", [(1, 1), (0, 1000)], "Running"),
        ("OnFailure", [(0, 1), (0, 1)], "Succeeded"),
        ("OnFailure", [(0, 1), (1, 1)], "Running"),
        ("Always", [(0, 1), (0, 1)], "Running"),
        ("Always", [(0, 1000), (1, 1)], "Running"),
    ] {
        let node = started();
        let mut containers: Vec<Value> = Vec::new();
        for (n, (code, after)) in ends.iter().enumerate() {
            ends_after(&node, &format!("i{n}:1"), *code, *after);
            containers.push(json!({"name": format!("c{n}"), "image": format!("i{n}:1")}));
        }
        let spec = json!({"restartPolicy": policy, "containers": containers});
        node.source.put("web", vec![from_spec("web", spec)]);
        pass(20.0).await;
        assert_eq!(status_of(&node, "web").phase.as_deref(), Some(phase), "{policy} {ends:?}");
    }
}
