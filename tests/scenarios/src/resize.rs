//! Resources of running pods change.

use std::time::Duration;

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::admission::AdmissionRequest;
use witlet_testkit::FakeNode;

use crate::support::{condition, container_of, orders, pass, pod_with_uid, reported, shown, started, status};

#[tokio::test(start_paused = true)]
async fn a_resize_changes_the_running_container_and_is_reported_from_beginning_to_end() {
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
    expect!["rpc error: code = Unknown desc = failed as the test planned"].assert_eq(&message);
    pass(90.0).await;
    assert_eq!(condition(&node), None);
    expect![[r#"
        13.000 update cpu 200000 memory 0 web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        ResizeStarted ×1 Pod resize started: {"containers":[{"name":"app","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}],"generation":0}
        ResizeError ×1 Pod resize error: {"containers":[{"name":"app","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}],"generation":0,"error":"rpc error: code = Unknown desc = failed as the test planned"}
        ResizeCompleted ×1 Pod resize completed: {"containers":[{"name":"app","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}],"generation":0}
    "#]].assert_eq(&reported(&node, "web"));
}

/// A pod with these limits, which are its requests, too.
fn sized(name: &str, cpu: &str, memory: &str, policy: Value) -> Vec<Pod> {
    let amounts = json!({"cpu": cpu, "memory": memory});
    let resources = json!({"requests": amounts, "limits": amounts});
    let app = json!({"name": "app", "image": "sleeper:1", "resources": resources, "resizePolicy": policy});
    vec![pod_with_uid(name, &format!("uid-{name}"), json!({"containers": [app]}))]
}

/// The pod `big` wishes for 3 CPUs, that doesn't fit.
async fn big_waits_for_more(node: &FakeNode) {
    node.source.put("big", sized("big", "3", "1Gi", json!([])));
    pass(5.0).await;
    assert!(condition(node, "big", "PodResizePending").is_some());
}

fn limits(node: &FakeNode, name: &str) -> String {
    let resources = container_of(node, name, "app").resources.unwrap_or_default();
    let amounts = |amounts: Option<
        std::collections::BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
    >| {
        let amounts = amounts.unwrap_or_default();
        let texts: Vec<String> =
            amounts.into_iter().map(|(name, amount)| format!("{name} {}", amount.0)).collect();
        texts.join(" ")
    };
    amounts(resources.limits)
}

#[tokio::test(start_paused = true)]
async fn a_pod_grows_and_shrinks_in_place_and_admission_is_asked() {
    let node = started();
    node.source.put("web", sized("web", "1", "1Gi", json!([])));
    pass(3.0).await;
    orders(&node);
    node.source.put("web", sized("web", "2", "2Gi", json!([])));
    pass(5.0).await;
    assert_eq!(limits(&node, "web"), "cpu 2 memory 2Gi");
    node.source.put("web", sized("web", "500m", "512Mi", json!([])));
    pass(5.0).await;
    expect![[r#"
        3.000 update cpu 100000 memory 2147483648 web-node1/app#0
        3.000 update cpu 200000 memory 2147483648 web-node1/app#0
        8.000 update cpu 200000 memory 536870912 web-node1/app#0
        8.000 update cpu 50000 memory 536870912 web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["cpu 500m memory 512Mi"].assert_eq(&limits(&node, "web"));
    assert_eq!(
        node.admission.asked(),
        ["web-node1 with 0", "web-node1 resized with 0", "web-node1 resized with 0"]
    );
    let cpus = |pod: &Pod| {
        let resources = pod.spec.as_ref()?.containers[0].resources.as_ref()?;
        Some(resources.limits.as_ref()?.get("cpu")?.0.clone())
    };
    let from_to = |asked: AdmissionRequest| (asked.old_pod.and_then(|old| cpus(&old)), cpus(&asked.pod));
    let wish = |from: &str, to: &str| (Some(from.to_owned()), Some(to.to_owned()));
    let asked: Vec<_> = node.admission.resizes().into_iter().map(from_to).collect();
    assert_eq!(
        asked,
        [wish("1", "2"), wish("2", "500m")],
        "handlers see what the pod has, and what it asks for"
    );
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn a_resize_may_want_the_container_restarted() {
    let node = started();
    let policy = json!([
        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        {"resourceName": "memory", "restartPolicy": "RestartContainer"},
    ]);
    node.source.put("web", sized("web", "1", "1Gi", policy.clone()));
    pass(3.0).await;
    orders(&node);
    node.source.put("web", sized("web", "2", "1Gi", policy.clone()));
    pass(5.0).await;
    expect![[r#"
        3.000 update cpu 200000 memory 1073741824 web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    node.source.put("web", sized("web", "2", "2Gi", policy));
    pass(5.0).await;
    expect![[r#"
        8.000 stop within 30s web-node1/app#0
        8.000 ended with 143 web-node1/app#0
        8.000 create web-node1/app#1
        8.000 start web-node1/app#1
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(status(&node, "web"), "Running app: running, 1 restarts");
    assert_eq!(limits(&node, "web"), "cpu 2 memory 2Gi");
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_does_not_fit_waits_until_another_pod_leaves() {
    let node = started();
    node.source.put("web", sized("web", "1", "1Gi", json!([])));
    node.source.put("big", sized("big", "2", "1Gi", json!([])));
    pass(3.0).await;
    orders(&node);
    node.source.put("web", sized("web", "3", "1Gi", json!([])));
    pass(5.0).await;
    assert_eq!(orders(&node), "");
    expect![
        "True Deferred: Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    ]
    .assert_eq(&condition(&node, "web", "PodResizePending").unwrap_or_default());
    assert_eq!(limits(&node, "web"), "cpu 1 memory 1Gi");
    node.source.remove("big");
    pass(10.0).await;
    expect![[r#"
        8.000 stop within 30s big-node1/app#0
        8.000 ended with 143 big-node1/app#0
        8.000 stop sandbox big-node1#0
        8.000 update cpu 300000 memory 1073741824 web-node1/app#0
        10.000 remove sandbox big-node1#0
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(condition(&node, "web", "PodResizePending"), None);
    assert_eq!(limits(&node, "web"), "cpu 3 memory 1Gi");
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        ResizeDeferred ×1 Pod resize OutOfcpu: {"containers":[{"name":"app","resources":{"limits":{"cpu":"3","memory":"1Gi"},"requests":{"cpu":"3","memory":"1Gi"}}}],"generation":0,"error":"Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"}
        ResizeStarted ×1 Pod resize started: {"containers":[{"name":"app","resources":{"limits":{"cpu":"3","memory":"1Gi"},"requests":{"cpu":"3","memory":"1Gi"}}}],"generation":0}
        ResizeCompleted ×1 Pod resize completed: {"containers":[{"name":"app","resources":{"limits":{"cpu":"3","memory":"1Gi"},"requests":{"cpu":"3","memory":"1Gi"}}}],"generation":0}
    "#]]
    .assert_eq(&reported(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_waits_for_more_counts_as_it_is() {
    let node = started();
    node.source.put("web", sized("web", "1", "1Gi", json!([])));
    node.source.put("big", sized("big", "2", "1Gi", json!([])));
    pass(3.0).await;
    node.source.put("web", sized("web", "3", "1Gi", json!([])));
    pass(3.0).await;
    node.source.put("fits", sized("fits", "1", "1Gi", json!([])));
    pass(3.0).await;
    assert_eq!(status(&node, "fits"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn a_wish_for_more_than_the_node_has_is_infeasible_and_can_be_taken_back() {
    let node = started();
    node.source.put("web", sized("web", "1", "1Gi", json!([])));
    pass(3.0).await;
    orders(&node);
    node.source.put("web", sized("web", "100", "1Gi", json!([])));
    pass(5.0).await;
    expect!["True Infeasible: Node didn't have enough capacity: cpu, requested: 100000, capacity: 4000"]
        .assert_eq(&condition(&node, "web", "PodResizePending").unwrap_or_default());
    assert_eq!(node.admission.asked(), ["web-node1 with 0"]);
    node.source.put("web", sized("web", "1", "1Gi", json!([])));
    pass(5.0).await;
    assert_eq!(condition(&node, "web", "PodResizePending"), None);
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn what_was_granted_and_what_waits_outlive_the_agent() {
    let mut node = started();
    node.source.put("web", sized("web", "1", "1Gi", json!([])));
    node.source.put("big", sized("big", "2", "1Gi", json!([])));
    pass(3.0).await;
    node.source.put("web", sized("web", "2", "1Gi", json!([])));
    pass(5.0).await;
    big_waits_for_more(&node).await;
    orders(&node);
    node.kill();
    node.start();
    pass(10.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(
        (limits(&node, "web").as_str(), limits(&node, "big").as_str()),
        ("cpu 2 memory 1Gi", "cpu 2 memory 1Gi")
    );
    assert!(condition(&node, "big", "PodResizePending").is_some());
    node.source.remove("web");
    pass(20.0).await;
    assert_eq!(limits(&node, "big"), "cpu 3 memory 1Gi");
    assert_eq!(status(&node, "big"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn a_resize_while_the_agent_was_away_is_made_afterwards() {
    let mut node = started();
    node.source.put("web", sized("web", "1", "1Gi", json!([])));
    pass(3.0).await;
    orders(&node);
    node.kill();
    node.source.put("web", sized("web", "2", "1Gi", json!([])));
    node.start();
    pass(10.0).await;
    expect![[r#"
        3.000 update cpu 200000 memory 1073741824 web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(limits(&node, "web"), "cpu 2 memory 1Gi");
}

/// A checkpoint of the kubelet's form that knows one pod with one container.
fn checkpoint(node: &FakeNode, name: &str) -> Value {
    let saved: Value = serde_json::from_str(&node.state.values()[name]).expect("JSON");
    serde_json::from_str(saved["data"].as_str().expect("a text")).expect("JSON")
}

#[tokio::test(start_paused = true)]
async fn what_containers_were_given_is_saved_for_a_kubelet() {
    let node = started();
    node.source.put("web", sized("web", "1", "1Gi", json!([])));
    pass(5.0).await;
    for name in ["allocated_pods_state", "actuated_pods_state"] {
        let amounts = json!({"cpu": "1", "memory": "1Gi"});
        let expected = json!({"entries": {"uid-web": {
            "ContainerResources": {"app": {"limits": amounts, "requests": amounts}},
            "PodLevelResources": null,
        }}});
        assert_eq!(checkpoint(&node, name), expected, "{name}");
    }
    node.runtime.fail_next("UpdateContainerResources", 1);
    node.source.put("web", sized("web", "2", "1Gi", json!([])));
    pass(3.0).await;
    let cpu = |name: &str| {
        let saved = checkpoint(&node, name);
        saved["entries"]["uid-web"]["ContainerResources"]["app"]["limits"]["cpu"].clone()
    };
    assert_eq!([cpu("allocated_pods_state"), cpu("actuated_pods_state")], ["2", "1"]);
    pass(90.0).await;
    assert_eq!(cpu("actuated_pods_state"), "2");
    node.source.remove("web");
    node.source.put("next", sized("next", "1", "1Gi", json!([])));
    pass(60.0).await;
    for name in ["allocated_pods_state", "actuated_pods_state"] {
        let saved = checkpoint(&node, name);
        let pods: Vec<_> = saved["entries"].as_object().expect("a map").keys().cloned().collect();
        assert_eq!(pods, ["uid-next"], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resize_that_no_runtime_can_show_is_made_after_a_restart() {
    let sized = |request: &str| {
        let resources = json!({"requests": {"memory": request}, "limits": {"memory": "4Gi"}});
        let policy = json!([{"resourceName": "memory", "restartPolicy": "RestartContainer"}]);
        let app =
            json!({"name": "app", "image": "sleeper:1", "resources": resources, "resizePolicy": policy});
        vec![pod_with_uid("web", "uid-web", json!({"containers": [app]}))]
    };
    let mut node = started();
    node.source.put("web", sized("1Gi"));
    pass(5.0).await;
    node.kill();
    node.source.put("web", sized("2Gi"));
    node.start();
    pass(40.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 1 restarts");
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_resize_waited_under_a_kubelet_keeps_what_it_was_allocated() {
    let mut node = started();
    node.source.put("big", sized("big", "2", "1Gi", json!([])));
    let others: Vec<String> = (0..20).map(|number| format!("small-{number}")).collect();
    for name in &others {
        node.source.put(name, sized(name, "100m", "1Mi", json!([])));
    }
    pass(5.0).await;
    big_waits_for_more(&node).await;
    orders(&node);
    node.kill();
    // A kubelet leaves its own files only. All pods are judged again, and the first one is admitted while others still wait.
    node.files.forget_checkpoints();
    node.admission.set_delay(Duration::from_millis(15));
    node.start();
    pass(10.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(limits(&node, "big"), "cpu 2 memory 1Gi");
    for name in &others {
        assert_eq!(status(&node, name), "Running app: running, 0 restarts", "{name}");
    }
    assert!(condition(&node, "big", "PodResizePending").is_some());
    for name in &others[..10] {
        node.source.remove(name);
    }
    pass(60.0).await;
    assert_eq!(limits(&node, "big"), "cpu 3 memory 1Gi");
    assert_eq!(status(&node, "big"), "Running app: running, 0 restarts");
}
