//! Lifecycle hooks after the start.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use witlet_testkit::{Endpoint, ExecScript};

use crate::support::{from_spec, orders, pass, reported, started, status, takes};

#[tokio::test(start_paused = true)]
async fn a_post_start_hook_that_fails_stops_its_container_and_is_reported_without_its_words() {
    let node = started();
    let fails = ExecScript { exit_code: 3, stdout: "secret".to_owned(), ..ExecScript::default() };
    node.runtime.set_exec("begin", fails);
    let hook = json!({"postStart": {"exec": {"command": ["begin"]}}});
    let spec = json!({"containers": [
        {"name": "app", "image": "sleeper:1", "lifecycle": hook},
        {"name": "other", "image": "sleeper:1"},
    ]});
    node.source.put("web", vec![from_spec("web", spec)]);
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
    expect!["Running app: CrashLoopBackOff(back-off 10s restarting failed container=app pod=web-node1_default(2a0bbbad2c9bb986ed856d2997d1a9d1)), 1 restarts other: running, 0 restarts"].assert_eq(&status(&node, "web"));
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        Pulled ×2 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×2 Container created
        Started ×2 Container started
        FailedPostStartHook ×2 PostStartHook failed
        Killing ×2 FailedPostStartHook
        BackOff ×2 Back-off restarting failed container app in pod web-node1_default(2a0bbbad2c9bb986ed856d2997d1a9d1)
    "#]].assert_eq(&reported(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_post_start_hook_that_never_returns_holds_up_no_other_pod_and_not_the_end_of_its_own() {
    let node = started();
    node.runtime.set_exec("hang", ExecScript { takes: Duration::from_secs(86_400), ..ExecScript::default() });
    let hook = json!({"postStart": {"exec": {"command": ["hang"]}}});
    let held = json!({"containers": [{"name": "app", "image": "sleeper:1", "lifecycle": hook}]});
    let free = json!({"containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("held", vec![from_spec("held", held)]);
    pass(3.0).await;
    node.source.put("free", vec![from_spec("free", free)]);
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
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    expect!["0.000 10.0.0.1:8080/ready"].assert_eq(&node.endpoints.log().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_hook_after_the_start_holds_up_the_containers_behind_its_own() {
    let node = started();
    node.runtime.set_exec("begin", takes(5));
    let hook = json!({"postStart": {"exec": {"command": ["begin"]}}});
    let spec = json!({"containers": [
        {"name": "app", "image": "sleeper:1", "lifecycle": hook},
        {"name": "behind", "image": "sleeper:1"},
    ]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(10.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/app#0
        0.000 start web-node1/app#0
        0.000 exec "begin" in web-node1/app#0
        5.000 create web-node1/behind#0
        5.000 start web-node1/behind#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_failed_hook_ends_a_container_that_runs_once_for_good() {
    let node = started();
    node.endpoints.set_failing("10.0.0.1:80/begin", true);
    let hook = json!({"postStart": {"httpGet": {"port": 80, "path": "/begin"}}});
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [{"name": "app", "image": "sleeper:1", "lifecycle": hook}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(30.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/app#0
        0.000 start web-node1/app#0
        0.000 stop within 30s web-node1/app#0
        0.000 ended with 143 web-node1/app#0
        0.000 stop sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Failed app: ended 143, 0 restarts"].assert_eq(&status(&node, "web"));
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        FailedPostStartHook ×1 PostStartHook failed
        Killing ×1 FailedPostStartHook
    "#]]
    .assert_eq(&reported(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_sleep() {
    let node = started();
    let hook = json!({"postStart": {"sleep": {"seconds": 4}}});
    let spec = json!({"containers": [
        {"name": "app", "image": "sleeper:1", "lifecycle": hook},
        {"name": "behind", "image": "sleeper:1"},
    ]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(10.0).await;
    assert!(orders(&node).contains("4.000 start web-node1/behind#0"));
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_answers_slowly_delays_its_container_only() {
    let node = started();
    node.endpoints
        .set("10.0.0.1:80/begin", Endpoint { takes: Duration::from_secs(300), ..Endpoint::default() });
    let hook = json!({"postStart": {"httpGet": {"port": 80, "path": "/begin"}}});
    let spec = json!({"containers": [{"name": "app", "image": "sleeper:1", "lifecycle": hook}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    node.source.put("other", vec![crate::support::sleeper("other").build()]);
    pass(5.0).await;
    assert_eq!(status(&node, "other"), "Running app: running, 0 restarts");
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "web"));
    pass(300.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
}
