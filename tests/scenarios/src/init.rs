//! Init containers, sidecars and ephemeral containers: who starts when.

use expect_test::expect;
use serde_json::{Value, json};
use witlet_testkit::ExecScript;

use crate::support::{
    container_of, ends_after, from_spec, orders, pass, pod_with_uid, reported, started, status, status_of,
};

#[tokio::test(start_paused = true)]
async fn init_containers_run_one_after_the_other_and_sidecars_stay() {
    let node = started();
    ends_after(&node, "init:1", 0, 2);
    let spec = json!({
        "initContainers": [
            {"name": "first", "image": "init:1"},
            {"name": "helper", "image": "sleeper:1", "restartPolicy": "Always"},
            {"name": "second", "image": "init:1"},
        ],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(10.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/first#0
        0.000 start web-node1/first#0
        2.000 create web-node1/helper#0
        2.000 start web-node1/helper#0
        2.000 create web-node1/second#0
        2.000 start web-node1/second#0
        4.000 create web-node1/app#0
        4.000 start web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_failing_init_container_stops_those_behind_it() {
    let node = started();
    ends_after(&node, "bad:1", 1, 1);
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "first", "image": "bad:1"}, {"name": "second", "image": "sleeper:1"}],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(30.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/first#0
        0.000 start web-node1/first#0
        1.000 stop sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Failed app: PodInitializing(), 0 restarts"].assert_eq(&status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_container_starts_while_init_containers_run_and_is_never_restarted() {
    let node = started();
    ends_after(&node, "init:1", 0, 10);
    ends_after(&node, "debug:1", 1, 2);
    let with = |ephemeral: Value| {
        json!({
            "initContainers": [{"name": "first", "image": "init:1"}],
            "containers": [{"name": "app", "image": "sleeper:1"}],
            "ephemeralContainers": ephemeral,
        })
    };
    node.source.put("web", vec![pod_with_uid("web", "u1", with(json!([])))]);
    pass(3.0).await;
    let debug = json!([{"name": "debug", "image": "debug:1", "targetContainerName": "first"}]);
    node.source.put("web", vec![pod_with_uid("web", "u1", with(debug))]);
    pass(60.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/first#0
        0.000 start web-node1/first#0
        3.000 create web-node1/debug#0
        3.000 start web-node1/debug#0
        10.000 create web-node1/app#0
        10.000 start web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    let config = node.runtime.container_spec("web-node1", "debug").expect("it was made");
    assert!(config.pid_target.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_container_without_its_target_is_reported_as_a_fault_of_its_configuration() {
    let node = started();
    let spec = json!({
        "containers": [{"name": "app", "image": "sleeper:1"}],
        "ephemeralContainers": [{"name": "debug", "image": "sleeper:1", "targetContainerName": "no-one"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Failed ×1 Error: unable to find target container no-one
    "#]]
    .assert_eq(&reported(&node, "web"));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
}

fn fails() -> ExecScript {
    ExecScript { exit_code: 1, ..ExecScript::default() }
}

#[tokio::test(start_paused = true)]
async fn a_sidecar_holds_up_those_behind_it_until_its_startup_probe_passes() {
    let node = started();
    node.runtime.set_exec("up", fails());
    ends_after(&node, "init:1", 0, 1);
    let probe = json!({"exec": {"command": ["up"]}, "periodSeconds": 5, "failureThreshold": 100});
    let spec = json!({
        "initContainers": [
            {"name": "helper", "image": "sleeper:1", "restartPolicy": "Always", "startupProbe": probe},
            {"name": "first", "image": "init:1"},
        ],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(12.0).await;
    let starts = |log: String| -> String {
        log.lines().filter(|line| line.contains(" start ")).map(|line| format!("{line}\n")).collect()
    };
    expect![[r#"
        0.000 start web-node1/helper#0
    "#]]
    .assert_eq(&starts(orders(&node)));
    assert_eq!(status(&node, "web"), "Pending app: PodInitializing(), 0 restarts");
    node.runtime.set_exec("up", ExecScript::default());
    pass(10.0).await;
    expect![[r#"
        15.000 start web-node1/first#0
        16.000 start web-node1/app#0
    "#]]
    .assert_eq(&starts(orders(&node)));
    assert_eq!(container_of(&node, "web", "helper").started, Some(true));
}

#[tokio::test(start_paused = true)]
async fn a_sidecar_that_ends_is_started_again_alone_whatever_the_policy() {
    for policy in ["Always", "OnFailure", "Never"] {
        let node = started();
        ends_after(&node, "ends:1", 0, 5);
        let spec = json!({
            "restartPolicy": policy,
            "initContainers": [{"name": "helper", "image": "ends:1", "restartPolicy": "Always"}],
            "containers": [{"name": "app", "image": "sleeper:1"}],
        });
        node.source.put("web", vec![from_spec("web", spec)]);
        pass(30.0).await;
        let log = orders(&node);
        let starts: Vec<&str> = log.lines().filter(|line| line.contains(" start ")).collect();
        assert_eq!(
            starts,
            [
                "0.000 start web-node1/helper#0",
                "0.000 start web-node1/app#0",
                "5.000 start web-node1/helper#1",
                "20.000 start web-node1/helper#2",
            ],
            "{policy}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_runs_once_ends_although_its_sidecars_run() {
    for (policy, code, phase) in
        [("Never", 0, "Succeeded"), ("Never", 3, "Failed"), ("OnFailure", 0, "Succeeded")]
    {
        let node = started();
        ends_after(&node, "job:1", code, 5);
        let spec = json!({
            "restartPolicy": policy,
            "initContainers": [
                {"name": "one", "image": "sleeper:1", "restartPolicy": "Always"},
                {"name": "two", "image": "sleeper:1", "restartPolicy": "Always"},
            ],
            "containers": [{"name": "job", "image": "job:1"}],
        });
        node.source.put("web", vec![from_spec("web", spec)]);
        pass(3.0).await;
        orders(&node);
        pass(30.0).await;
        assert_eq!(status(&node, "web"), format!("{phase} job: ended {code}, 0 restarts"), "{policy}");
        let log = orders(&node);
        let stops: Vec<&str> = log.lines().filter(|line| line.contains(" stop ")).collect();
        assert_eq!(
            stops,
            [
                "5.000 stop within 30s web-node1/two#0",
                "5.000 stop within 30s web-node1/one#0",
                "5.000 stop sandbox web-node1#0"
            ],
            "{policy} {code}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_init_container_is_tried_again_with_delays_unless_the_pod_runs_once() {
    for policy in ["Always", "OnFailure"] {
        let node = started();
        ends_after(&node, "bad:1", 1, 1);
        let spec = json!({
            "restartPolicy": policy,
            "initContainers": [{"name": "first", "image": "bad:1"}],
            "containers": [{"name": "app", "image": "sleeper:1"}],
        });
        node.source.put("web", vec![from_spec("web", spec)]);
        pass(40.0).await;
        let log = orders(&node);
        let starts: Vec<&str> = log.lines().filter(|line| line.contains(" start ")).collect();
        assert_eq!(
            starts,
            [
                "0.000 start web-node1/first#0",
                "1.000 start web-node1/first#1",
                "12.000 start web-node1/first#2",
                "33.000 start web-node1/first#3"
            ],
            "{policy}"
        );
        let first = container_of(&node, "web", "first");
        let waiting = first.state.and_then(|state| state.waiting).and_then(|waiting| waiting.reason);
        assert_eq!(waiting.as_deref(), Some("CrashLoopBackOff"));
        assert_eq!(status(&node, "web"), "Pending app: PodInitializing(), 0 restarts");
    }
}

#[tokio::test(start_paused = true)]
async fn init_containers_run_again_with_a_new_sandbox_and_not_with_a_crash() {
    let node = started();
    ends_after(&node, "init:1", 0, 1);
    let spec = json!({
        "initContainers": [{"name": "first", "image": "init:1"}],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(5.0).await;
    orders(&node);
    node.runtime.end_container("web-node1", "app", 1);
    pass(5.0).await;
    node.runtime.lose_sandboxes();
    pass(5.0).await;
    expect![[r#"
        5.000 create web-node1/app#1
        5.000 start web-node1/app#1
        10.000 remove web-node1/first#0
        10.000 run sandbox web-node1#1
        10.000 create web-node1/first#1
        10.000 start web-node1/first#1
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_sidecar_goes_with_a_pod_whose_init_container_failed_for_good() {
    let node = started();
    ends_after(&node, "bad:1", 7, 2);
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [
            {"name": "helper", "image": "sleeper:1", "restartPolicy": "Always"},
            {"name": "first", "image": "bad:1"},
        ],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(10.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/helper#0
        0.000 start web-node1/helper#0
        0.000 create web-node1/first#0
        0.000 start web-node1/first#0
        2.000 stop within 30s web-node1/helper#0
        2.000 ended with 143 web-node1/helper#0
        2.000 stop sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(status_of(&node, "web").phase.as_deref(), Some("Failed"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_removed_while_it_initialises_never_starts_its_app() {
    let node = started();
    ends_after(&node, "init:1", 0, 5);
    let spec = json!({
        "initContainers": [{"name": "first", "image": "init:1"}],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(2.0).await;
    node.source.remove("web");
    pass(10.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/first#0
        0.000 start web-node1/first#0
        2.000 stop within 30s web-node1/first#0
        2.000 ended with 143 web-node1/first#0
        2.000 stop sandbox web-node1#0
        10.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}
