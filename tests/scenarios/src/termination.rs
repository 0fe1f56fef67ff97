//! How pods end: grace, hooks, order, deadlines.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};
use witlet_testkit::{Behaviour, Endpoint, ExecScript, FakeImage};

use crate::support::{
    condition, container_of, ends_after, from_spec, orders, pass, pod_with_uid, reported, started, status,
    takes,
};

#[tokio::test(start_paused = true)]
async fn sidecars_end_after_the_app_in_reverse_and_share_what_hooks_leave_of_the_grace() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let flush = ExecScript { takes: Duration::from_secs(3), ..ExecScript::default() };
    node.runtime.set_exec("flush", flush);
    let hook = json!({"preStop": {"exec": {"command": ["flush"]}}});
    let spec = json!({
        "terminationGracePeriodSeconds": 10,
        "initContainers": [
            {"name": "one", "image": "sleeper:1", "restartPolicy": "Always"},
            {"name": "two", "image": "stubborn:1", "restartPolicy": "Always"},
        ],
        "containers": [{"name": "app", "image": "sleeper:1", "lifecycle": hook}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(5.0).await;
    orders(&node);
    node.source.remove("web");
    pass(30.0).await;
    expect![[r#"
        5.000 exec "flush" in web-node1/app#0
        8.000 stop within 7s web-node1/app#0
        8.000 ended with 143 web-node1/app#0
        8.000 stop within 7s web-node1/two#0
        15.000 ended with 137 web-node1/two#0
        15.000 stop within 2s web-node1/one#0
        15.000 ended with 143 web-node1/one#0
        15.000 stop sandbox web-node1#0
        16.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_pre_stop_hook_that_never_returns_is_cut_by_the_grace() {
    let node = started();
    node.runtime.set_exec("hang", ExecScript { takes: Duration::from_secs(86_400), ..ExecScript::default() });
    let hook = json!({"preStop": {"exec": {"command": ["hang"]}}});
    let containers = json!([{"name": "app", "image": "sleeper:1", "lifecycle": hook}]);
    let spec = json!({"terminationGracePeriodSeconds": 5, "containers": containers});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    orders(&node);
    node.source.remove("web");
    pass(5.5).await;
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        Killing ×1 Stopping container app
        FailedPreStopHook ×1 PreStopHook failed
    "#]]
    .assert_eq(&reported(&node, "web"));
    pass(20.0).await;
    expect![[r#"
        3.000 exec "hang" in web-node1/app#0
        8.000 stop within 2s web-node1/app#0
        8.000 ended with 143 web-node1/app#0
        8.000 stop sandbox web-node1#0
        10.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_pre_stop_hook_that_never_returns_goes_on_in_the_least_grace_and_ends_with_its_container() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    node.runtime.set_exec("hang", takes(86_400));
    let hook = json!({"preStop": {"exec": {"command": ["hang"]}}});
    let sidecar = |name: &str| json!({"name": name, "image": "stubborn:1", "restartPolicy": "Always", "lifecycle": hook});
    let spec = json!({
        "terminationGracePeriodSeconds": 30,
        "initContainers": [sidecar("one"), sidecar("two"), sidecar("three")],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(5.0).await;
    orders(&node);
    node.source.remove("web");
    pass(60.0).await;
    let log = orders(&node);
    for name in ["one", "two", "three"] {
        let stop = format!("35.000 stop within 2s web-node1/{name}#0");
        assert!(log.contains(&stop), "{stop} in\n{log}");
    }
    let mut cut = node.runtime.cut_execs();
    cut.sort();
    expect![[r#"
        37.000 "hang" in web-node1/one#0
        37.000 "hang" in web-node1/three#0
        37.000 "hang" in web-node1/two#0"#]]
    .assert_eq(&cut.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_beyond_its_deadline_fails_at_that_second() {
    let node = started();
    let spec = json!({"activeDeadlineSeconds": 100, "containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    orders(&node);
    pass(120.0).await;
    expect![[r#"
        100.000 stop within 30s web-node1/app#0
        100.000 ended with 143 web-node1/app#0
        100.000 stop sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Failed DeadlineExceeded app: ended 143, 0 restarts"].assert_eq(&status(&node, "web"));
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        DeadlineExceeded ×1 Pod was active on the node longer than the specified deadline
        Killing ×1 Stopping container app
    "#]]
    .assert_eq(&reported(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_shorter_grace_cuts_a_longer_one_short_hooks_included() {
    let node = started();
    node.runtime.set_exec("hang", ExecScript { takes: Duration::from_secs(86_400), ..ExecScript::default() });
    let hook = json!({"preStop": {"exec": {"command": ["hang"]}}});
    let containers = json!([{"name": "app", "image": "sleeper:1", "lifecycle": hook}]);
    let manifest = |deletion_grace: Option<i64>| {
        let spec = json!({"terminationGracePeriodSeconds": 600, "containers": containers.clone()});
        let mut pod = pod_with_uid("web", "u1", spec);
        if let Some(seconds) = deletion_grace {
            let at = serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time");
            pod.metadata.deletion_timestamp = Some(at);
            pod.metadata.deletion_grace_period_seconds = Some(seconds);
        }
        vec![pod]
    };
    node.source.put("web", manifest(None));
    pass(3.0).await;
    orders(&node);
    node.source.put("web", manifest(Some(300)));
    pass(10.0).await;
    node.source.put("web", manifest(Some(4)));
    pass(10.0).await;
    expect![[r#"
        3.000 exec "hang" in web-node1/app#0
        13.000 exec "hang" in web-node1/app#0
        17.000 stop within 2s web-node1/app#0
        17.000 ended with 143 web-node1/app#0
        17.000 stop sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

fn one(container: &Value, grace: i64) -> Value {
    json!({"terminationGracePeriodSeconds": grace, "containers": [container]})
}

#[tokio::test(start_paused = true)]
async fn hooks_before_the_end_count_against_the_grace() {
    let exec = json!({"exec": {"command": ["flush"]}});
    let http = json!({"httpGet": {"port": 80, "path": "/stop"}});
    let sleep = |seconds: i64| json!({"sleep": {"seconds": seconds}});
    // Hook, grace, seconds until the container is asked to end, grace that is left for that.
    for (hook, grace, after, left) in [
        (exec.clone(), 30, 4, 26),
        (http.clone(), 30, 6, 24),
        (sleep(5), 30, 5, 25),
        (sleep(100), 10, 10, 2),
        (exec, 3, 3, 2),
        (http, 5, 5, 2),
    ] {
        let node = started();
        node.runtime.set_exec("flush", takes(4));
        node.endpoints
            .set("10.0.0.1:80/stop", Endpoint { takes: Duration::from_secs(6), ..Endpoint::default() });
        let app = json!({"name": "app", "image": "sleeper:1", "lifecycle": {"preStop": hook}});
        node.source.put("web", vec![from_spec("web", one(&app, grace))]);
        pass(3.0).await;
        orders(&node);
        node.source.remove("web");
        pass(60.0).await;
        let log = orders(&node);
        let expected = format!("{}.000 stop within {left}s web-node1/app#0", 3 + after);
        assert!(log.contains(&expected), "{hook} within {grace}: {expected} in\n{log}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_before_the_end_that_fails_is_reported_and_the_end_goes_on() {
    let node = started();
    node.runtime
        .set_exec("flush", ExecScript { exit_code: 1, stderr: "secret".into(), ..ExecScript::default() });
    let hook = json!({"preStop": {"exec": {"command": ["flush"]}}});
    let app = json!({"name": "app", "image": "sleeper:1", "lifecycle": hook});
    node.source.put("web", vec![from_spec("web", one(&app, 10))]);
    pass(3.0).await;
    orders(&node);
    node.runtime.end_container("web-node1", "app", 0);
    pass(3.0).await;
    // A container that ended by itself has nothing to be prepared for.
    assert!(!orders(&node).contains("exec"));
    node.source.remove("web");
    pass(0.5).await;
    expect![[r#"
        Pulled ×2 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×2 Container created
        Started ×2 Container started
        Killing ×1 Stopping container app
        FailedPreStopHook ×1 PreStopHook failed
    "#]]
    .assert_eq(&reported(&node, "web"));
    pass(20.0).await;
    expect![[r#"
        6.000 exec "flush" in web-node1/app#1
        6.000 stop within 10s web-node1/app#1
        6.000 ended with 143 web-node1/app#1
        6.000 stop sandbox web-node1#0
        10.000 remove web-node1/app#0
        14.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn every_container_gets_two_seconds_at_least() {
    for grace in [0, 1, 2] {
        let node = started();
        node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
        let app = json!({"name": "app", "image": "stubborn:1"});
        node.source.put("web", vec![from_spec("web", one(&app, grace))]);
        pass(3.0).await;
        orders(&node);
        node.source.remove("web");
        pass(30.0).await;
        let log = orders(&node);
        assert!(log.contains("3.000 stop within 2s web-node1/app#0\n5.000 ended with 137"), "{grace}: {log}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_ending_says_so_and_starts_nothing_more() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    ends_after(&node, "crasher:1", 1, 5);
    let spec = json!({"terminationGracePeriodSeconds": 20, "containers": [
        {"name": "app", "image": "stubborn:1"}, {"name": "crasher", "image": "crasher:1"},
    ]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(4.0).await;
    orders(&node);
    node.source.remove("web");
    pass(10.0).await;
    assert!(!orders(&node).contains(" start "));
    expect!["Running app: running, 0 restarts crasher: running, 0 restarts"].assert_eq(&status(&node, "web"));
    pass(30.0).await;
    assert_eq!(status(&node, "web"), "not shown");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_counts_from_the_pods_start_over_restarts_of_the_agent() {
    let mut node = started();
    let spec = json!({"activeDeadlineSeconds": 100, "containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(50.0).await;
    node.kill();
    node.start();
    pass(40.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
    orders(&node);
    pass(30.0).await;
    assert_eq!(status(&node, "web"), "Failed DeadlineExceeded app: ended 143, 0 restarts");
    expect![[r#"
        100.000 stop within 30s web-node1/app#0
        100.000 ended with 143 web-node1/app#0
        100.000 stop sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["False PodFailed"].assert_eq(&condition(&node, "web", "Ready").unwrap_or_default());
    // It stays failed, also after another restart.
    node.kill();
    node.start();
    pass(30.0).await;
    assert_eq!(orders(&node), "");
    expect!["Failed DeadlineExceeded app: ended 143, 0 restarts"].assert_eq(&status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ended_before_it_had_a_sandbox_stays_ended_over_restarts_of_the_agent() {
    let mut node = started();
    node.runtime.fail_next("RunPodSandbox", 1_000);
    let spec = json!({"activeDeadlineSeconds": 60, "containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("web", vec![pod_with_uid("web", "u1", spec)]);
    pass(90.0).await;
    assert!(status(&node, "web").starts_with("Failed DeadlineExceeded"), "{}", status(&node, "web"));
    node.runtime.fail_next("RunPodSandbox", 0);
    orders(&node);
    node.kill();
    node.start();
    pass(30.0).await;
    assert!(status(&node, "web").starts_with("Failed DeadlineExceeded"), "{}", status(&node, "web"));
    assert_eq!(orders(&node), "");
}

/// What is left of a termination message of this many bytes.
async fn message_of(policy: &str, exit_code: i32, file: &str, log: &str) -> Option<String> {
    let node = started();
    ends_after(&node, "job:1", exit_code, 5);
    let spec = json!({"restartPolicy": "Never", "containers": [{
        "name": "app", "image": "job:1",
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": policy,
    }]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(2.0).await;
    let config = node.runtime.container_spec("web-node1", "app").expect("it was made");
    let mount =
        config.mounts.iter().find(|m| m.container_path.ends_with("termination-log")).expect("mounted");
    node.machine.write(&mount.host_path, file);
    let path = std::path::Path::new("/var/log/pods").join(&config.log_path);
    node.machine.write(path, log);
    pass(10.0).await;
    let ended = container_of(&node, "web", "app").state.and_then(|state| state.terminated);
    ended.expect("it ended").message
}

#[tokio::test(start_paused = true)]
async fn a_termination_message_comes_from_the_file_or_as_a_last_resort_from_the_log() {
    let log = "first\nsecond\n";
    for (policy, code, file, expected) in [
        ("File", 1, "from the file", Some("from the file")),
        ("File", 1, "", None),
        ("FallbackToLogsOnError", 1, "from the file", Some("from the file")),
        ("FallbackToLogsOnError", 1, "", Some("first\nsecond\n")),
        ("FallbackToLogsOnError", 0, "", None),
    ] {
        assert_eq!(
            message_of(policy, code, file, log).await.as_deref(),
            expected,
            "{policy} {code} {file:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_termination_message_is_cut_however_long_it_is() {
    let long = "x".repeat(10 << 20);
    assert_eq!(message_of("File", 1, &long, "").await.map(|message| message.len()), Some(4096));
}

#[tokio::test(start_paused = true)]
async fn the_termination_messages_of_a_pod_share_twelve_kibibytes() {
    let node = started();
    ends_after(&node, "job:1", 1, 5);
    let names: Vec<String> = (0..6).map(|n| format!("c{n}")).collect();
    let containers: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "image": "job:1", "terminationMessagePath": "/dev/termination-log"}))
        .collect();
    let spec = json!({"restartPolicy": "Never", "containers": containers});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(2.0).await;
    for name in &names {
        let config = node.runtime.container_spec("web-node1", name).expect("it was made");
        let mounts = &config.mounts;
        let mount = mounts.iter().find(|m| m.container_path.ends_with("termination-log")).expect("mounted");
        node.machine.write(&mount.host_path, "y".repeat(4096));
    }
    pass(10.0).await;
    let length = |name: &String| {
        let ended = container_of(&node, "web", name).state.and_then(|state| state.terminated);
        ended.and_then(|ended| ended.message).map_or(0, |message| message.len())
    };
    let lengths: Vec<usize> = names.iter().map(length).collect();
    assert_eq!(lengths, [2048; 6]);
}

#[tokio::test(start_paused = true)]
async fn the_containers_of_an_ending_pod_are_stopped_at_once() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let spec = json!({"terminationGracePeriodSeconds": 6, "containers": [
        {"name": "a", "image": "stubborn:1"}, {"name": "b", "image": "stubborn:1"},
    ]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    orders(&node);
    node.source.remove("web");
    pass(10.0).await;
    expect![[r#"
        3.000 stop within 6s web-node1/b#0
        3.000 stop within 6s web-node1/a#0
        9.000 ended with 137 web-node1/b#0
        9.000 ended with 137 web-node1/a#0
        9.000 stop sandbox web-node1#0
        10.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_fails_to_stop_is_asked_again_until_it_does() {
    let node = started();
    node.source
        .put("web", vec![pod_with_uid("web", "u1", one(&json!({"name": "app", "image": "sleeper:1"}), 5))]);
    pass(3.0).await;
    orders(&node);
    node.runtime.fail_next("StopContainer", 2);
    node.source.remove("web");
    pass(60.0).await;
    expect![[r#"
        3.000 stop sandbox web-node1#0
        10.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(status(&node, "web"), "not shown");
}

#[tokio::test(start_paused = true)]
async fn the_pre_stop_hook_of_a_pod_that_no_one_knows_any_more_runs_all_the_same() {
    let mut node = started();
    let hook = json!({"preStop": {"exec": {"command": ["drain"]}}});
    let spec = json!({"containers": [{"name": "app", "image": "sleeper:1", "lifecycle": hook}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(5.0).await;
    node.kill();
    node.source.remove("web");
    orders(&node);
    node.start();
    pass(10.0).await;
    expect![[r#"
        7.000 exec "drain" in web-node1/app#0
        7.000 stop within 30s web-node1/app#0
        7.000 ended with 143 web-node1/app#0
        7.000 stop sandbox web-node1#0
        11.000 remove sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
}
