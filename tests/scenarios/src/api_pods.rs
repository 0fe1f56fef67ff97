//! Pods as an API server has them: deletion by a time stamp, statuses that come back, graces that shrink.

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::pod::defaults;
use witlet_ports::AgentView;
use witlet_testkit::{Behaviour, FakeImage, FakeNode};

use crate::support::{ends_after, left, orders, pass, started};

/// A pod that an API server bound to this node.
fn bound(name: &str, uid: &str, spec: Value) -> Pod {
    let metadata = json!({
        "name": name, "namespace": "default", "uid": uid, "creationTimestamp": "2029-12-31T23:59:59Z",
        "annotations": {"kubernetes.io/config.source": "api"},
    });
    let mut pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod");
    pod.spec.get_or_insert_default().node_name = Some("node1".to_owned());
    defaults::apply(&mut pod);
    pod
}

fn deleted(mut pod: Pod, grace: i64) -> Pod {
    pod.metadata.deletion_timestamp =
        Some(serde_json::from_value(json!("2030-01-01T00:01:00Z")).expect("a time"));
    pod.metadata.deletion_grace_period_seconds = Some(grace);
    pod
}

fn plain(image: &str) -> Value {
    json!({"terminationGracePeriodSeconds": 30, "containers": [{"name": "app", "image": image}]})
}

fn phase(node: &FakeNode, uid: &str) -> String {
    let pods = node.agent().pods();
    let found = pods.iter().find(|pod| pod.metadata.uid.as_deref() == Some(uid));
    let Some(found) = found else { return "not shown".to_owned() };
    let status = found.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready");
    let ready = ready.map(|ready| format!(", ready {}", ready.status)).unwrap_or_default();
    format!("{}{ready}", status.phase.unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pod_ends_within_the_grace_of_its_deletion_and_stays_until_the_server_drops_it() {
    let node = started();
    let pod = bound("web", "u1", plain("sleeper:1"));
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(5.0).await;
    assert_eq!(phase(&node, "u1"), "Running, ready True");
    orders(&node);
    node.source.put_as_is("web", vec![deleted(pod, 7)]);
    pass(10.0).await;
    expect![[r#"
        5.000 stop within 7s web/app#0
        5.000 ended with 143 web/app#0
        5.000 stop sandbox web#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Failed, ready False"].assert_eq(&phase(&node, "u1"));
    node.source.remove("web");
    pass(10.0).await;
    assert_eq!(phase(&node, "u1"), "not shown");
    assert_eq!(left(&node).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_pod_deleted_before_it_was_seen_starts_nothing() {
    let node = started();
    node.source.put_as_is("web", vec![deleted(bound("web", "u1", plain("sleeper:1")), 30)]);
    pass(20.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(node.admission.asked(), Vec::<String>::new());
    expect!["Failed, ready False"].assert_eq(&phase(&node, "u1"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_phase_on_the_server_is_terminal_is_not_run_again() {
    for terminal in ["Succeeded", "Failed"] {
        let node = started();
        let mut pod = bound("web", "u1", plain("sleeper:1"));
        pod.status = Some(serde_json::from_value(json!({"phase": terminal})).expect("a status"));
        node.source.put_as_is("web", vec![pod]);
        pass(20.0).await;
        assert_eq!(orders(&node), "", "{terminal}");
        assert!(phase(&node, "u1").starts_with(terminal), "{}", phase(&node, "u1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_grace_that_grows_again_changes_nothing() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let pod = bound("web", "u1", plain("stubborn:1"));
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(5.0).await;
    orders(&node);
    node.source.put_as_is("web", vec![deleted(pod.clone(), 10)]);
    pass(2.0).await;
    node.source.put_as_is("web", vec![deleted(pod, 100)]);
    pass(20.0).await;
    expect![[r#"
        5.000 stop within 10s web/app#0
        15.000 ended with 137 web/app#0
        15.000 stop sandbox web#0
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_ends_a_pod_also_while_its_image_is_fetched_or_its_volume_hangs() {
    let node = started();
    let slow = FakeImage {
        pull_takes: std::time::Duration::from_secs(1_000),
        ..FakeImage::absent(Behaviour::Sleeps)
    };
    node.runtime.add_image("slow:1", slow);
    node.machine.hang_volume("data", true);
    let mut stuck = plain("sleeper:1");
    stuck["volumes"] = json!([{"name": "data", "emptyDir": {}}]);
    stuck["containers"][0]["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    let (pulls, stuck) = (bound("pulls", "u1", plain("slow:1")), bound("stuck", "u2", stuck));
    node.source.put_as_is("web", vec![pulls.clone(), stuck.clone()]);
    pass(5.0).await;
    node.source.put_as_is("web", vec![deleted(pulls, 3), deleted(stuck, 3)]);
    pass(5.0).await;
    assert_eq!(
        (phase(&node, "u1").as_str(), phase(&node, "u2").as_str()),
        ("Failed, ready False", "Failed, ready False")
    );
    node.source.remove("web");
    node.machine.hang_volume("data", false);
    pass(20.0).await;
    assert_eq!(left(&node).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_survives_a_restart_of_the_agent() {
    let mut node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let pod = bound("web", "u1", plain("stubborn:1"));
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(5.0).await;
    orders(&node);
    node.source.put_as_is("web", vec![deleted(pod, 10)]);
    pass(3.0).await;
    node.kill();
    node.start();
    pass(30.0).await;
    let log = orders(&node);
    assert!(!log.contains(" start "), "{log}");
    expect!["Failed, ready False"].assert_eq(&phase(&node, "u1"));
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_is_opened_on_the_server_makes_the_pod_ready() {
    let node = started();
    let mut spec = plain("sleeper:1");
    spec["readinessGates"] = json!([{"conditionType": "example.com/open"}]);
    let mut pod = bound("web", "u1", spec);
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(5.0).await;
    assert_eq!(phase(&node, "u1"), "Running, ready False");
    orders(&node);
    let now = node.agent().pods()[0].status.clone().expect("it has a status");
    let mut status = serde_json::to_value(now).expect("JSON");
    status["conditions"]
        .as_array_mut()
        .expect("conditions")
        .push(json!({"type": "example.com/open", "status": "True"}));
    pod.status = Some(serde_json::from_value(status).expect("a status"));
    node.source.put_as_is("web", vec![pod]);
    pass(5.0).await;
    assert_eq!(phase(&node, "u1"), "Running, ready True");
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn two_pods_of_one_name_but_different_uids_are_two_pods() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let old = bound("web", "u1", plain("stubborn:1"));
    node.source.put_as_is("web", vec![old]);
    pass(5.0).await;
    node.source.put_as_is("web", vec![bound("web", "u2", plain("sleeper:1"))]);
    pass(60.0).await;
    assert_eq!(
        (phase(&node, "u1").as_str(), phase(&node, "u2").as_str()),
        ("not shown", "Running, ready True")
    );
    let log = orders(&node);
    assert!(log.contains("stop within 30s web/app#0"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_finished_pod_keeps_its_status_while_the_server_has_it() {
    let mut node = started();
    ends_after(&node, "job:1", 4, 2);
    let mut spec = plain("job:1");
    spec["restartPolicy"] = json!("Never");
    node.source.put_as_is("web", vec![bound("web", "u1", spec)]);
    pass(200.0).await;
    assert_eq!(phase(&node, "u1"), "Failed, ready False");
    orders(&node);
    node.kill();
    node.start();
    pass(20.0).await;
    assert_eq!(phase(&node, "u1"), "Failed, ready False");
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn the_generation_that_the_status_is_about_is_reported() {
    let node = started();
    let with = |generation: i64, value: &str| {
        let mut spec = plain("sleeper:1");
        spec["containers"][0]["env"] = json!([{"name": "A", "value": value}]);
        let mut pod = bound("web", "u1", spec);
        pod.metadata.generation = Some(generation);
        vec![pod]
    };
    for (generation, value) in [(1, "a"), (2, "b")] {
        node.source.put_as_is("web", with(generation, value));
        pass(3.0).await;
        let status = node.agent().pods()[0].status.clone().expect("it has a status");
        assert_eq!(status.observed_generation, Some(generation));
        let conditions = status.conditions.unwrap_or_default();
        let generations: Vec<_> =
            conditions.into_iter().map(|condition| condition.observed_generation).collect();
        assert!(generations.iter().all(|of| *of == Some(generation)), "{generations:?}");
    }
}
