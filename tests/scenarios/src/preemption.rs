//! Pods end so that a critical one fits, and no other pod takes the capacity.

mod stories;

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_ports::AgentView;
use witlet_testkit::{Behaviour, FakeImage, FakeNode, container, pod};

use crate::support::{bound_pod, condition, events, node, orders, pass, status};

/// A pod of an API server, which may be ended for a critical one; its name as it is shown is `<name>-node1`.
fn modest(name: &str, cpu: &str, grace: i64) -> Pod {
    let full = format!("{name}-node1");
    let app = json!({"name": "app", "image": "clinging:1", "resources": {"requests": {"cpu": cpu}}});
    bound_pod(&full, json!({"terminationGracePeriodSeconds": grace, "containers": [app]}))
}

/// A static pod is critical.
fn critical(name: &str, cpu: &str) -> Pod {
    pod(name).container(container("app", "sleeper:1").request("cpu", cpu)).build()
}

/// Modest pods don't heed the stop signal, so that their end takes their whole grace.
fn node_with_clinging_pods() -> FakeNode {
    let node = node();
    node.runtime.add_image("clinging:1", FakeImage::present(Behaviour::IgnoresStop));
    node
}

fn started() -> FakeNode {
    let mut node = node_with_clinging_pods();
    node.start();
    node
}

#[tokio::test(start_paused = true)]
async fn a_modest_pod_ends_within_its_own_grace_and_the_critical_one_takes_its_place() {
    let node = started();
    node.source.put_as_is("modest", vec![modest("small", "500m", 30), modest("big", "3", 20)]);
    pass(5.0).await;
    orders(&node);
    node.source.put("critical", vec![critical("vital", "3")]);
    pass(1.0).await;
    expect!["Pending Preempting app: Blocked(Preempting: Preempting 1 pod: Node didn't have enough resource: cpu, requested: 3000, used: 3500, capacity: 4000), 0 restarts"].assert_eq(&status(&node, "vital"));
    expect!["Failed Preempting app: running, 0 restarts"].assert_eq(&status(&node, "big"));
    expect!["True TerminationByKubelet: Pod was preempted by Kubelet to accommodate a critical pod."]
        .assert_eq(&condition(&node, "big", "DisruptionTarget").unwrap_or_default());
    pass(30.0).await;
    expect![[r#"
        5.000 stop within 20s big-node1/app#0
        25.000 ended with 137 big-node1/app#0
        25.000 stop sandbox big-node1#0
        26.000 run sandbox vital-node1#0
        26.000 create vital-node1/app#0
        26.000 start vital-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect![[r#"
        Running app: running, 0 restarts
        Failed Preempting app: ended 137, 0 restarts
        Running app: running, 0 restarts"#]]
    .assert_eq(&format!("{}\n{}\n{}", status(&node, "vital"), status(&node, "big"), status(&node, "small")));
    expect![[r#"
        MissingClusterDNS ×1 pod: "big-node1_default(uid-big-node1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.
        Pulled ×1 Container image "clinging:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        Preempting ×1 Preempted in order to admit critical pod
        Killing ×1 Stopping container app
    "#]].assert_eq(&events(&node, "big"));
    assert!(events(&node, "vital").starts_with("Blocked ×3 Preempting: "), "{}", events(&node, "vital"));
    assert_eq!(node.agent().stats().preemptions, [("cpu".to_owned(), 1)].into());
    // It doesn't come back, whatever its source says of it.
    let mut edited = modest("big", "3", 20);
    edited.metadata.labels.get_or_insert_default().insert("edited".to_owned(), "yes".to_owned());
    node.source.put_as_is("modest", vec![modest("small", "500m", 30), edited]);
    node.source.remove("critical");
    pass(120.0).await;
    assert!(status(&node, "big").starts_with("Failed Preempting"), "{}", status(&node, "big"));
    assert!(!orders(&node).contains("start big"));
}

#[tokio::test(start_paused = true)]
async fn no_one_takes_the_capacity_that_is_freed_and_no_one_is_refused_for_it() {
    let node = started();
    node.source.put_as_is("modest", vec![modest("big", "3500m", 20)]);
    pass(5.0).await;
    node.source.put("critical", vec![critical("vital", "2")]);
    pass(1.0).await;
    // With both there is no capacity for it; with the critical one alone there is.
    node.source.put_as_is("late", vec![modest("late", "1500m", 30), modest("huge", "3", 30)]);
    node.source.put("second", vec![critical("second", "2500m")]);
    pass(10.0).await;
    for name in ["vital", "late", "huge", "second"] {
        let shown = status(&node, name);
        assert!(shown.starts_with("Pending Preempting"), "{name}: {shown}");
    }
    pass(30.0).await;
    assert!(status(&node, "vital").starts_with("Running"), "{}", status(&node, "vital"));
    assert!(status(&node, "late").starts_with("Running"), "{}", status(&node, "late"));
    assert!(status(&node, "huge").starts_with("Failed OutOfcpu"), "{}", status(&node, "huge"));
    assert!(
        status(&node, "second").starts_with("Failed UnexpectedAdmissionError"),
        "{}",
        status(&node, "second")
    );
    let reasons: Vec<(String, u64)> = node.agent().stats().rejections.into_iter().collect();
    assert_eq!(reasons, [("OutOfcpu".to_owned(), 1), ("UnexpectedAdmissionError".to_owned(), 1)]);
}

#[tokio::test(start_paused = true)]
async fn no_one_is_ended_where_that_doesnt_suffice() {
    let node = started();
    node.source.put("critical", vec![critical("first", "3")]);
    node.source.put_as_is("modest", vec![modest("small", "1", 30)]);
    pass(5.0).await;
    orders(&node);
    node.source.put("more", vec![critical("second", "2")]);
    pass(10.0).await;
    assert_eq!(orders(&node), "");
    assert!(
        status(&node, "second").starts_with("Failed UnexpectedAdmissionError"),
        "{}",
        status(&node, "second")
    );
    assert!(status(&node, "small").starts_with("Running"), "{}", status(&node, "small"));
    assert!(node.agent().stats().preemptions.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_the_agent_in_the_middle_changes_nothing() {
    let mut node = started();
    node.source.put_as_is("modest", vec![modest("small", "500m", 30), modest("big", "3", 20)]);
    pass(5.0).await;
    orders(&node);
    node.source.put("critical", vec![critical("vital", "3")]);
    pass(8.0).await;
    assert!(status(&node, "vital").starts_with("Pending Preempting"), "{}", status(&node, "vital"));
    node.kill();
    pass(1.0).await;
    node.start();
    pass(60.0).await;
    assert!(status(&node, "vital").starts_with("Running"), "{}", status(&node, "vital"));
    assert!(status(&node, "big").starts_with("Failed Preempting"), "{}", status(&node, "big"));
    assert!(status(&node, "small").starts_with("Running"), "{}", status(&node, "small"));
    expect![[r#"
        5.000 stop within 20s big-node1/app#0
        14.000 stop within 20s big-node1/app#0
        34.000 ended with 137 big-node1/app#0
        34.000 stop sandbox big-node1#0
        35.000 run sandbox vital-node1#0
        35.000 create vital-node1/app#0
        35.000 start vital-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    // Nor does one after it bring the pod back.
    node.kill();
    node.start();
    pass(120.0).await;
    assert!(status(&node, "big").starts_with("Failed Preempting"), "{}", status(&node, "big"));
}

#[tokio::test(start_paused = true)]
async fn a_preempted_pod_whose_containers_end_well_has_succeeded_and_stays_ended() {
    let mut node = node_with_clinging_pods();
    node.runtime.add_image("obliging:1", FakeImage::present(Behaviour::EndsWell));
    node.start();
    let mut big = modest("big", "3", 20);
    big.spec.get_or_insert_default().containers[0].image = Some("obliging:1".to_owned());
    node.source.put_as_is("modest", vec![big]);
    pass(5.0).await;
    node.source.put("critical", vec![critical("vital", "3")]);
    pass(10.0).await;
    let ended = "Succeeded app: ended 0, 0 restarts";
    let target = "True TerminationByKubelet: Pod was preempted by Kubelet to accommodate a critical pod.";
    let shown = |node: &FakeNode| (status(node, "big"), condition(node, "big", "DisruptionTarget"));
    assert_eq!(shown(&node), (ended.to_owned(), Some(target.to_owned())));
    assert!(events(&node, "big").contains("Preempting ×1 Preempted in order"), "{}", events(&node, "big"));
    assert!(status(&node, "vital").starts_with("Running"), "{}", status(&node, "vital"));
    node.source.remove("critical");
    pass(60.0).await;
    node.kill();
    node.start();
    pass(60.0).await;
    assert_eq!(shown(&node), (ended.to_owned(), Some(target.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_static_pod_of_lower_priority_stays_ended_until_its_manifest_changes() {
    let mut node = started();
    let with_priority = |name: &str, cpu: &str, priority: i32| {
        let mut pod = critical(name, cpu);
        pod.spec.get_or_insert_default().priority = Some(priority);
        pod
    };
    node.source.put("low", vec![with_priority("low", "3", 1)]);
    pass(5.0).await;
    node.source.put("high", vec![with_priority("high", "3", 2)]);
    pass(60.0).await;
    assert!(status(&node, "low").starts_with("Failed Preempting"), "{}", status(&node, "low"));
    assert!(status(&node, "high").starts_with("Running"), "{}", status(&node, "high"));
    node.source.remove("high");
    pass(60.0).await;
    node.kill();
    node.start();
    pass(60.0).await;
    assert!(status(&node, "low").starts_with("Failed Preempting"), "{}", status(&node, "low"));
    // An edited manifest is another pod.
    node.source.put("low", vec![with_priority("low", "2", 1)]);
    pass(60.0).await;
    assert!(status(&node, "low").starts_with("Running"), "{}", status(&node, "low"));
}

#[tokio::test(start_paused = true)]
async fn an_admission_that_isnt_saved_yet_can_be_taken_back() {
    let mut node = node_with_clinging_pods();
    node.state.set_full(true);
    node.start();
    node.source.put_as_is("modest", vec![modest("big", "3", 20)]);
    pass(5.0).await;
    node.source.put("critical", vec![critical("vital", "3")]);
    pass(5.0).await;
    node.state.set_full(false);
    pass(30.0).await;
    assert!(status(&node, "vital").starts_with("Running"), "{}", status(&node, "vital"));
    assert!(status(&node, "big").starts_with("Failed Preempting"), "{}", status(&node, "big"));
    assert!(!orders(&node).contains("start big"));
}
