//! What a sync and a pod's end do beyond starting and stopping containers: order, hooks, volumes, messages, images.

use std::time::Duration;

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_testkit::{Behaviour, Endpoint, ExecScript, FakeImage, FakeNode};

use crate::support::{events, node, orders, pass, shown, started, status};

/// A pod from its spec.
fn pod(name: &str, spec: Value) -> Pod {
    let metadata = json!({"name": name, "namespace": "default"});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("the test's spec is one")
}

/// Events about the pod, without that there is no cluster, which every pod hears.
fn told(node: &FakeNode, name: &str) -> String {
    let lines = events(node, name);
    lines
        .lines()
        .filter(|line| !line.starts_with("MissingClusterDNS"))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn ends_after(node: &FakeNode, image: &str, code: i32, seconds: u64) {
    let behaviour = Behaviour::Exits { code, after: Duration::from_secs(seconds) };
    node.runtime.add_image(image, FakeImage::present(behaviour));
}

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
    node.source.put("web", vec![pod("web", spec)]);
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
    node.source.put("web", vec![pod("web", spec)]);
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
    node.source.put("web", vec![pod("web", spec)]);
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
    node.source.put("web", vec![pod("web", spec)]);
    pass(3.0).await;
    orders(&node);
    node.source.remove("web");
    pass(5.5).await;
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine
        Created ×1 Created container app
        Started ×1 Started container app
        Killing ×1 Stopping container app
        FailedPreStopHook ×1 PreStopHook failed
    "#]]
    .assert_eq(&told(&node, "web"));
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
async fn a_post_start_hook_that_fails_stops_its_container_and_is_told_without_its_words() {
    let node = started();
    let fails = ExecScript { exit_code: 3, stdout: "secret".to_owned(), ..ExecScript::default() };
    node.runtime.set_exec("begin", fails);
    let hook = json!({"postStart": {"exec": {"command": ["begin"]}}});
    let spec = json!({"containers": [
        {"name": "app", "image": "sleeper:1", "lifecycle": hook},
        {"name": "other", "image": "sleeper:1"},
    ]});
    node.source.put("web", vec![pod("web", spec)]);
    pass(1.5).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/app#0
        0.000 start web-node1/app#0
        0.000 exec "begin" in web-node1/app#0
        0.000 stop within 30s web-node1/app#0
        0.000 ended with 143 web-node1/app#0
        0.000 create web-node1/other#0
        0.000 start web-node1/other#0
        0.000 create web-node1/app#1
        0.000 start web-node1/app#1
        0.000 exec "begin" in web-node1/app#1
        0.000 stop within 30s web-node1/app#1
        0.000 ended with 143 web-node1/app#1
    "#]]
    .assert_eq(&orders(&node));
    expect!["Running app: CrashLoopBackOff(back-off 10s restarting failed container=app pod=web-node1_default(27ff77d294d2ef917a4b2be452ae8fe3)), 1 restarts other: running, 0 restarts"].assert_eq(&status(&node, "web"));
    expect![[r#"
        Created ×1 Created container other
        Started ×1 Started container other
        Pulled ×3 Container image "sleeper:1" already present on machine
        Created ×2 Created container app
        Started ×2 Started container app
        FailedPostStartHook ×2 PostStartHook failed
        Killing ×2 FailedPostStartHook
        BackOff ×2 Back-off restarting failed container app in pod web-node1_default(27ff77d294d2ef917a4b2be452ae8fe3)
    "#]].assert_eq(&told(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_post_start_hook_that_never_returns_holds_up_no_other_pod_and_not_the_end_of_its_own() {
    let node = started();
    node.runtime.set_exec("hang", ExecScript { takes: Duration::from_secs(86_400), ..ExecScript::default() });
    let hook = json!({"postStart": {"exec": {"command": ["hang"]}}});
    let held = json!({"containers": [{"name": "app", "image": "sleeper:1", "lifecycle": hook}]});
    let free = json!({"containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("held", vec![pod("held", held)]);
    pass(3.0).await;
    node.source.put("free", vec![pod("free", free)]);
    pass(3.0).await;
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "free"));
    orders(&node);
    node.source.remove("held");
    pass(5.0).await;
    expect![[r#"
        6.000 stop within 30s held-node1/app#0
        6.000 ended with 143 held-node1/app#0
        6.000 stop sandbox held-node1#0
        10.000 remove sandbox held-node1#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn an_http_hook_without_a_host_goes_to_the_pod() {
    let node = started();
    let hook = json!({"postStart": {"httpGet": {"port": 8080, "path": "/ready"}}});
    let spec = json!({"containers": [{"name": "app", "image": "sleeper:1", "lifecycle": hook}]});
    node.source.put("web", vec![pod("web", spec)]);
    pass(3.0).await;
    expect!["0.000 10.0.0.1:8080/ready"].assert_eq(&node.endpoints.log().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_hangs_or_fails_holds_up_its_own_pod_only() {
    let node = started();
    node.machine.hang_volume("stuck", true);
    node.machine.fail_volume("flaky", 1);
    let with = |volume: &str| {
        json!({
            "volumes": [{"name": volume, "emptyDir": {}}],
            "containers": [{
                "name": "app", "image": "sleeper:1",
                "volumeMounts": [{"name": volume, "mountPath": "/data"}],
            }],
        })
    };
    node.source.put("stuck", vec![pod("stuck", with("stuck"))]);
    node.source.put("flaky", vec![pod("flaky", with("flaky"))]);
    pass(20.0).await;
    expect!["Pending app: ContainerCreating(), 0 restarts"].assert_eq(&status(&node, "stuck"));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "flaky"));
    expect![[r#"
        FailedMount ×1 MountVolume.SetUp failed for volume "flaky" : set up /var/lib/witlet/pods/34692ad4c6a0e83de6e35ff01d6d61ec/volumes/flaky: failed as the test wanted
        Pulled ×1 Container image "sleeper:1" already present on machine
        Created ×1 Created container app
        Started ×1 Started container app
    "#]].assert_eq(&told(&node, "flaky"));
    pass(120.0).await;
    expect![[r#"
        FailedMount ×1 Unable to attach or mount volumes: unmounted volumes=[stuck]: timed out waiting for the condition
    "#]].assert_eq(&told(&node, "stuck"));
    node.source.remove("stuck");
    node.source.remove("flaky");
    pass(10.0).await;
    assert_eq!(shown(&node, "stuck"), None);
    expect![[r#"
        tear down 34692ad4c6a0e83de6e35ff01d6d61ec
        tear down 7f170e8647acbdd82f4aeb11a72ad05b
        tear down 7f170e8647acbdd82f4aeb11a72ad05b
        tear down 34692ad4c6a0e83de6e35ff01d6d61ec"#]]
    .assert_eq(&node.machine.log().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn mounts_are_the_volumes_the_hosts_file_and_the_termination_log() {
    let node = started();
    let spec = json!({
        "hostAliases": [{"ip": "192.0.2.9", "hostnames": ["db"]}],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "containers": [{
            "name": "app", "image": "sleeper:1", "terminationMessagePath": "/dev/termination-log",
            "env": [{"name": "PART", "value": "one"}],
            "volumeMounts": [
                {"name": "data", "mountPath": "/data"},
                {"name": "data", "mountPath": "/part", "subPathExpr": "parts/$(PART)", "readOnly": true},
            ],
        }],
    });
    node.source.put("web", vec![pod("web", spec)]);
    pass(3.0).await;
    let config = node.runtime.container_config("web-node1", "app").expect("it was made");
    let mounts: Vec<String> = config
        .mounts
        .iter()
        .map(|mount| {
            let mode = if mount.read_only { "ro" } else { "rw" };
            format!("{} {} {mode}", mount.container_path.display(), mount.host_path.display())
        })
        .collect();
    expect![[r#"
        /data /var/lib/witlet/pods/763f83015c746bf0cb9bc79415229802/volumes/data rw
        /part /var/lib/witlet/pods/763f83015c746bf0cb9bc79415229802/volumes/data/parts/one ro
        /etc/hosts /var/lib/witlet/pods/763f83015c746bf0cb9bc79415229802/etc-hosts rw
        /dev/termination-log /var/lib/witlet/pods/763f83015c746bf0cb9bc79415229802/containers/app/0 rw"#]]
    .assert_eq(&mounts.join("\n"));
    expect!["web-node1_default_app-c2.log"]
        .assert_eq(&node.machine.links().keys().cloned().collect::<Vec<_>>().join("\n"));
}

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
    node.source.put("web", vec![pod("web", spec)]);
    pass(2.0).await;
    let config = node.runtime.container_config("web-node1", "app").expect("it was made");
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
async fn a_pod_beyond_its_deadline_fails_at_that_second() {
    let node = started();
    let spec = json!({"activeDeadlineSeconds": 100, "containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("web", vec![pod("web", spec)]);
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
        Pulled ×1 Container image "sleeper:1" already present on machine
        Created ×1 Created container app
        Started ×1 Started container app
        DeadlineExceeded ×1 Pod was active on the node longer than the specified deadline
        Killing ×1 Stopping container app
    "#]]
    .assert_eq(&told(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn pods_that_want_the_same_image_share_a_pull_and_others_wait_their_turn() {
    let node = started();
    for image in ["one:1", "two:1"] {
        let image_behaviour = FakeImage::absent(Behaviour::Sleeps);
        node.runtime.add_image(image, FakeImage { pull_takes: Duration::from_secs(5), ..image_behaviour });
    }
    let of = |image: &str| json!({"containers": [{"name": "app", "image": image}]});
    node.source.put("a", vec![pod("a", of("one:1"))]);
    node.source.put("b", vec![pod("b", of("one:1"))]);
    node.source.put("c", vec![pod("c", of("two:1"))]);
    pass(20.0).await;
    expect![[r#"
        0.000 run sandbox a-node1#0
        0.000 pull one:1
        0.000 run sandbox b-node1#0
        0.000 run sandbox c-node1#0
        5.000 create a-node1/app#0
        5.000 start a-node1/app#0
        5.000 create b-node1/app#0
        5.000 start b-node1/app#0
        5.000 pull two:1
        10.000 create c-node1/app#0
        10.000 start c-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect![[r#"
        Pulling ×1 Pulling image "one:1"
        Pulled ×1 Successfully pulled image "one:1" in 5.0s (5.0s including waiting). Image size: 1 bytes.
        Created ×1 Created container app
        Started ×1 Started container app
    "#]]
    .assert_eq(&told(&node, "a"));
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_is_shown_as_ready_while_the_image_is_pulled() {
    let node = started();
    let slow = FakeImage { pull_takes: Duration::from_secs(30), ..FakeImage::absent(Behaviour::Sleeps) };
    node.runtime.add_image("slow:1", slow);
    let spec = json!({"containers": [{"name": "app", "image": "slow:1"}]});
    node.source.put("web", vec![pod("web", spec)]);
    pass(5.0).await;
    let status = shown(&node, "web").and_then(|pod| pod.status).expect("shown");
    let conditions = status.conditions.unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "PodReadyToStartContainers");
    assert_eq!(ready.map(|condition| condition.status.as_str()), Some("True"));
    assert!(status.pod_ip.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_readiness_probe_decides_and_a_failed_liveness_probe_restarts() {
    let mut node = node();
    node.start();
    let at = |path: &str| json!({"httpGet": {"port": 80, "path": path}, "periodSeconds": 5, "failureThreshold": 1});
    let spec = json!({"containers": [{
        "name": "app", "image": "sleeper:1", "readinessProbe": at("/ready"), "livenessProbe": at("/alive"),
    }]});
    node.source.put("web", vec![pod("web", spec)]);
    pass(20.0).await;
    expect![[r#"
        0.000 10.0.0.1:80/ready
        0.000 10.0.0.1:80/ready
        5.000 10.0.0.1:80/ready
        5.000 10.0.0.1:80/alive
        10.000 10.0.0.1:80/ready
        10.000 10.0.0.1:80/alive
        15.000 10.0.0.1:80/ready
        15.000 10.0.0.1:80/alive"#]]
    .assert_eq(&node.endpoints.log().join("\n"));
    let ready = |node: &FakeNode| {
        let status = shown(node, "web").and_then(|pod| pod.status).expect("shown");
        status.container_statuses.unwrap_or_default()[0].ready
    };
    assert!(ready(&node));
    let ip =
        shown(&node, "web").and_then(|pod| pod.status).and_then(|status| status.pod_ip).expect("an address");
    orders(&node);
    node.endpoints
        .set(&format!("{ip}:80/alive"), Endpoint { failure: Some("no".into()), takes: Duration::ZERO });
    pass(8.0).await;
    expect![[r#"
        20.000 stop within 30s web-node1/app#0
        20.000 ended with 143 web-node1/app#0
        20.000 create web-node1/app#1
        20.000 start web-node1/app#1
        25.000 stop within 30s web-node1/app#1
        25.000 ended with 143 web-node1/app#1
        25.000 create web-node1/app#2
        25.000 start web-node1/app#2
    "#]]
    .assert_eq(&orders(&node));
}

/// A pod that stays the same one when it is edited.
fn pod_with_uid(name: &str, uid: &str, spec: Value) -> Pod {
    let mut pod = pod(name, spec);
    pod.metadata.uid = Some(uid.to_owned());
    pod
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
    let config = node.runtime.container_config("web-node1", "debug").expect("it was made");
    assert!(config.pid_target.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_container_without_its_target_is_told_as_a_fault_of_its_configuration() {
    let node = started();
    let spec = json!({
        "containers": [{"name": "app", "image": "sleeper:1"}],
        "ephemeralContainers": [{"name": "debug", "image": "sleeper:1", "targetContainerName": "nobody"}],
    });
    node.source.put("web", vec![pod("web", spec)]);
    pass(3.0).await;
    expect![[r#"
        Created ×1 Created container app
        Started ×1 Started container app
        Pulled ×2 Container image "sleeper:1" already present on machine
        Failed ×1 Error: unable to find target container nobody
    "#]]
    .assert_eq(&told(&node, "web"));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_resize_changes_the_running_container_and_is_told_from_beginning_to_end() {
    let node = started();
    let with = |cpu: &str| {
        let resources = json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu}});
        json!({"containers": [{"name": "app", "image": "sleeper:1", "resources": resources}]})
    };
    node.source.put("web", vec![pod_with_uid("web", "u1", with("1"))]);
    pass(3.0).await;
    orders(&node);
    node.runtime.fail_next("UpdateContainerResources", 1);
    node.source.put("web", vec![pod_with_uid("web", "u1", with("2"))]);
    pass(5.0).await;
    let condition = |node: &FakeNode| {
        let status = shown(node, "web").and_then(|pod| pod.status).expect("shown");
        let conditions = status.conditions.unwrap_or_default();
        let found = conditions.into_iter().find(|condition| condition.type_ == "PodResizeInProgress");
        found.map(|found| (found.reason.unwrap_or_default(), found.message.unwrap_or_default()))
    };
    let (reason, message) = condition(&node).expect("it is in progress");
    assert_eq!(reason, "Error");
    expect!["resizing container app: UpdateContainerResources: failed as the test wanted"]
        .assert_eq(&message);
    pass(90.0).await;
    assert_eq!(condition(&node), None);
    expect![[r#"
        13.000 update cpu 200000 memory 0 web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine
        Created ×1 Created container app
        Started ×1 Started container app
        ResizeStarted ×1 Pod resize started
        ResizeError ×1 Pod resize error: resizing container app: UpdateContainerResources: failed as the test wanted
        ResizeCompleted ×1 Pod resize completed
    "#]].assert_eq(&told(&node, "web"));
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

#[tokio::test(start_paused = true)]
async fn a_container_that_restarts_all_has_them_removed_and_begun_again() {
    let node = started();
    ends_after(&node, "init:1", 0, 1);
    ends_after(&node, "again:1", 42, 5);
    let rules = json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]);
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "first", "image": "init:1"}],
        "containers": [
            {"name": "app", "image": "again:1", "restartPolicy": "Never", "restartPolicyRules": rules},
            {"name": "side", "image": "sleeper:1"},
        ],
    });
    node.source.put("web", vec![pod("web", spec)]);
    pass(8.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/first#0
        0.000 start web-node1/first#0
        1.000 create web-node1/app#0
        1.000 start web-node1/app#0
        1.000 create web-node1/side#0
        1.000 start web-node1/side#0
        6.000 stop within 30s web-node1/side#0
        6.000 ended with 143 web-node1/side#0
        6.000 remove web-node1/side#0
        6.000 remove web-node1/first#0
        6.000 remove web-node1/app#0
        6.000 create web-node1/first#1
        6.000 start web-node1/first#1
        7.000 create web-node1/app#1
        7.000 start web-node1/app#1
        7.000 create web-node1/side#1
        7.000 start web-node1/side#1
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn pull_secrets_that_are_missing_are_told_and_the_pull_goes_on() {
    let node = started();
    node.runtime.add_image("private:1", FakeImage::absent(Behaviour::Sleeps));
    let spec = json!({
        "imagePullSecrets": [{"name": "nowhere"}],
        "containers": [{"name": "app", "image": "private:1"}],
    });
    node.credentials.set_missing(&["nowhere"]);
    node.source.put("web", vec![pod("web", spec)]);
    pass(3.0).await;
    expect![[r#"
        Pulling ×1 Pulling image "private:1"
        FailedToRetrieveImagePullSecret ×1 Unable to retrieve some image pull secrets (nowhere); attempting to pull the image may not succeed.
        Pulled ×1 Successfully pulled image "private:1" in 0.0s (0.0s including waiting). Image size: 1 bytes.
        Created ×1 Created container app
        Started ×1 Started container app
    "#]].assert_eq(&told(&node, "web"));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_that_fails_is_tried_again_and_nothing_is_started_without_it() {
    let node = started();
    node.runtime.fail_next("RunPodSandbox", 1);
    let spec = json!({"containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("web", vec![pod("web", spec)]);
    pass(5.0).await;
    expect![[""]].assert_eq(&orders(&node));
    expect!["Pending app: ContainerCreating(), 0 restarts"].assert_eq(&status(&node, "web"));
    pass(20.0).await;
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_container_takes_its_environment_from_a_file_that_an_init_container_wrote() {
    let node = started();
    ends_after(&node, "init:1", 0, 5);
    let mounts = json!([{"name": "config", "mountPath": "/config"}]);
    let file = json!({"fileKeyRef": {"volumeName": "config", "path": "env", "key": "COLOUR"}});
    let spec = json!({
        "volumes": [{"name": "config", "emptyDir": {}}],
        "initContainers": [{"name": "first", "image": "init:1", "volumeMounts": mounts}],
        "containers": [
            {"name": "app", "image": "sleeper:1", "env": [{"name": "COLOUR", "valueFrom": file}]},
        ],
    });
    node.source.put("web", vec![pod_with_uid("web", "u1", spec)]);
    pass(2.0).await;
    node.machine.write("/var/lib/witlet/pods/u1/volumes/config/env", "COLOUR='blue'\n");
    pass(5.0).await;
    let config = node.runtime.container_config("web-node1", "app").expect("it was made");
    assert!(config.env.contains(&("COLOUR".to_owned(), "blue".to_owned())));
}
