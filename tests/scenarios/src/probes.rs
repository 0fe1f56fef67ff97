//! Probes and what follows from them.

use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};
use witlet_testkit::{Behaviour, Endpoint, FakeImage, FakeNode};

use crate::support::{
    condition, container_of, ends_after, from_spec, node, orders, pass, pod_with_uid, reported, shown,
    started, status, takes,
};

#[tokio::test(start_paused = true)]
async fn a_readiness_probe_decides_and_a_failed_liveness_probe_restarts() {
    let mut node = node();
    node.start();
    let at = |path: &str| json!({"httpGet": {"port": 80, "path": path}, "periodSeconds": 5, "failureThreshold": 1});
    let spec = json!({"containers": [{
        "name": "app", "image": "sleeper:1", "readinessProbe": at("/ready"), "livenessProbe": at("/alive"),
    }]});
    node.source.put("web", vec![from_spec("web", spec)]);
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
        .set(&format!("{ip}:80/alive"), Endpoint { failure: Some("no".into()), ..Endpoint::default() });
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

/// A probe by HTTP of port 80 each five seconds of which one failure is enough, with these fields instead.
fn probe(path: &str, with: Value) -> Value {
    let mut probe = json!({"httpGet": {"port": 80, "path": path}, "periodSeconds": 5, "failureThreshold": 1});
    for (name, value) in with.as_object().expect("fields") {
        probe[name] = value.clone();
    }
    probe
}

fn probed(probes: &Value) -> Value {
    let mut app = json!({"name": "app", "image": "sleeper:1"});
    for (name, value) in probes.as_object().expect("probes") {
        app[name] = value.clone();
    }
    json!({"containers": [app]})
}

fn is_ready(node: &FakeNode) -> bool {
    container_of(node, "web", "app").ready
}

/// When an endpoint was asked.
fn asked(node: &FakeNode, path: &str) -> Vec<String> {
    let log = node.endpoints.log();
    let of_path =
        log.iter().filter_map(|line| line.split_once(' ').filter(|(_, endpoint)| endpoint.ends_with(path)));
    of_path.map(|(at, _)| at.to_owned()).collect()
}

const READY: &str = "10.0.0.1:80/ready";
const ALIVE: &str = "10.0.0.1:80/alive";
const UP: &str = "10.0.0.1:80/up";

#[tokio::test(start_paused = true)]
async fn a_startup_probe_holds_back_the_other_probes_until_it_passes() {
    let node = started();
    node.endpoints.set_failing(UP, true);
    let probes = json!({
        "startupProbe": probe("/up", json!({"failureThreshold": 10})),
        "readinessProbe": probe("/ready", json!({})),
        "livenessProbe": probe("/alive", json!({})),
    });
    node.source.put("web", vec![from_spec("web", probed(&probes))]);
    pass(12.0).await;
    assert_eq!((asked(&node, "/ready"), asked(&node, "/alive")), (vec![], vec![]));
    assert_eq!(container_of(&node, "web", "app").started, Some(false));
    assert!(!is_ready(&node));
    node.endpoints.set_failing(UP, false);
    pass(12.0).await;
    assert_eq!(container_of(&node, "web", "app").started, Some(true));
    assert!(is_ready(&node));
    let startup = asked(&node, "/up");
    pass(30.0).await;
    assert_eq!(asked(&node, "/up"), startup, "once it has passed it isn't run again");
    assert!(asked(&node, "/alive").len() > 4);
}

#[tokio::test(start_paused = true)]
async fn a_startup_probe_that_never_passes_ends_the_container() {
    let node = started();
    node.endpoints.set_failing(UP, true);
    let probes = json!({"startupProbe": probe("/up", json!({"failureThreshold": 3}))});
    node.source.put("web", vec![from_spec("web", probed(&probes))]);
    pass(18.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 create web-node1/app#0
        0.000 start web-node1/app#0
        15.000 stop within 30s web-node1/app#0
        15.000 ended with 143 web-node1/app#0
        15.000 create web-node1/app#1
        15.000 start web-node1/app#1
    "#]]
    .assert_eq(&orders(&node));
    expect![[r#"
        Unhealthy ×3 Startup probe failed: HTTP probe failed with statuscode: 500
        Killing ×1 Container app failed startup probe, will be restarted
        Pulled ×2 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×2 Container created
        Started ×2 Container started
    "#]]
    .assert_eq(&reported(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_startup_probe_counts_again_for_a_container_that_is_started_again() {
    let node = started();
    let probes = json!({"startupProbe": probe("/up", json!({"failureThreshold": 3}))});
    node.source.put("web", vec![from_spec("web", probed(&probes))]);
    pass(8.0).await;
    assert_eq!(container_of(&node, "web", "app").started, Some(true));
    node.endpoints.set_failing(UP, true);
    node.runtime.end_container("web-node1", "app", 1);
    pass(3.0).await;
    let status = container_of(&node, "web", "app");
    assert_eq!((status.started, status.ready), (Some(false), false));
}

#[tokio::test(start_paused = true)]
async fn thresholds_are_counted_in_a_row() {
    let node = started();
    let probes =
        json!({"readinessProbe": probe("/ready", json!({"failureThreshold": 3, "successThreshold": 2}))});
    node.source.put("web", vec![from_spec("web", probed(&probes))]);
    pass(13.0).await;
    assert!(is_ready(&node));
    node.endpoints.set_failing(READY, true);
    // Two failures aren't three.
    pass(10.0).await;
    assert!(is_ready(&node));
    node.endpoints.set_failing(READY, false);
    pass(5.0).await;
    node.endpoints.set_failing(READY, true);
    pass(10.0).await;
    assert!(is_ready(&node), "the success in between has the failures counted again");
    pass(10.0).await;
    assert!(!is_ready(&node));
    expect!["False ContainersNotReady: containers with unready status: [app]"]
        .assert_eq(&condition(&node, "web", "Ready").unwrap_or_default());
    node.endpoints.set_failing(READY, false);
    pass(20.0).await;
    assert!(is_ready(&node));
    assert_eq!(orders(&node).lines().filter(|line| line.contains(" start ")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_initial_delay_counts_from_the_containers_start() {
    let node = started();
    let probes = json!({
        "livenessProbe": probe("/alive", json!({"initialDelaySeconds": 12})),
        "readinessProbe": probe("/ready", json!({"initialDelaySeconds": 7})),
    });
    node.source.put("web", vec![from_spec("web", probed(&probes))]);
    pass(21.0).await;
    let first = |path: &str| asked(&node, path).first().cloned();
    assert_eq!((first("/ready").as_deref(), first("/alive").as_deref()), (Some("10.000"), Some("15.000")));
    node.runtime.end_container("web-node1", "app", 0);
    let before = asked(&node, "/alive").len();
    pass(11.0).await;
    assert_eq!(asked(&node, "/alive").len(), before, "it counts for each instance");
}

#[tokio::test(start_paused = true)]
async fn a_liveness_probe_may_bring_a_grace_of_its_own() {
    let node = started();
    node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    let with = |extra: Value| probe("/alive", extra);
    let mut spec = probed(&json!({"livenessProbe": with(json!({"terminationGracePeriodSeconds": 4}))}));
    spec["containers"][0]["image"] = json!("stubborn:1");
    spec["terminationGracePeriodSeconds"] = json!(60);
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(8.0).await;
    orders(&node);
    node.endpoints.set_failing(ALIVE, true);
    pass(7.0).await;
    expect![[r#"
        10.000 stop within 4s web-node1/app#0
        14.000 ended with 137 web-node1/app#0
        14.000 create web-node1/app#1
        14.000 start web-node1/app#1
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn an_ended_container_is_not_probed_and_a_failed_liveness_probe_runs_hooks() {
    let node = started();
    let mut spec = probed(&json!({"livenessProbe": probe("/alive", json!({}))}));
    spec["containers"][0]["lifecycle"] = json!({"preStop": {"exec": {"command": ["flush"]}}});
    spec["restartPolicy"] = json!("Never");
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(8.0).await;
    orders(&node);
    node.endpoints.set_failing(ALIVE, true);
    pass(30.0).await;
    expect![[r#"
        10.000 exec "flush" in web-node1/app#0
        10.000 stop within 30s web-node1/app#0
        10.000 ended with 143 web-node1/app#0
        10.000 stop sandbox web-node1#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["Failed app: ended 143, 0 restarts"].assert_eq(&status(&node, "web"));
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        Unhealthy ×1 Liveness probe failed: HTTP probe failed with statuscode: 500
        Killing ×1 Stopping container app
    "#]]
    .assert_eq(&reported(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_restarted_agent_takes_ready_containers_for_ready() {
    let mut node = started();
    let probes = json!({
        "readinessProbe": probe("/ready", json!({"periodSeconds": 60})),
        "startupProbe": probe("/up", json!({"periodSeconds": 60})),
    });
    node.source.put("web", vec![from_spec("web", probed(&probes))]);
    pass(130.0).await;
    assert!(is_ready(&node));
    node.kill();
    node.start();
    for _ in 0..40 {
        pass(0.5).await;
        if shown(&node, "web")
            .and_then(|pod| pod.status)
            .is_some_and(|status| status.container_statuses.is_some())
        {
            let status = container_of(&node, "web", "app");
            assert!(status.ready && status.started == Some(true), "{status:?}");
        }
    }
    node.endpoints.set_failing(READY, true);
    pass(130.0).await;
    assert!(!is_ready(&node), "but it is probed again");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_agent_takes_what_probes_had_found_of_a_static_pod_from_its_checkpoint() {
    let mut node = started();
    let probes = json!({
        "readinessProbe": probe("/ready", json!({"failureThreshold": 3})),
        "startupProbe": probe("/up", json!({})),
    });
    node.source.put("web", vec![from_spec("web", probed(&probes))]);
    pass(30.0).await;
    assert!(is_ready(&node));
    node.kill();
    // A container that has started isn't asked again whether it has, and is ready until its probe has failed often enough.
    node.endpoints.set_failing(UP, true);
    node.endpoints.set_failing(READY, true);
    node.start();
    let before = asked(&node, "/up").len();
    for _ in 0..14 {
        pass(0.5).await;
        let shown = shown(&node, "web").and_then(|pod| pod.status);
        if shown.is_some_and(|status| status.container_statuses.is_some()) {
            let status = container_of(&node, "web", "app");
            assert!(status.ready && status.started == Some(true), "{status:?}");
        }
    }
    pass(20.0).await;
    let status = container_of(&node, "web", "app");
    assert_eq!((status.started, status.ready, status.restart_count), (Some(true), false, 0));
    assert_eq!(asked(&node, "/up").len(), before);

    // That it isn't ready any more is known to the next agent, too.
    node.kill();
    node.start();
    pass(0.5).await;
    let status = container_of(&node, "web", "app");
    assert_eq!((status.started, status.ready), (Some(true), false));
}

#[tokio::test(start_paused = true)]
async fn a_container_of_a_few_seconds_is_not_ready_for_a_restarted_agent_before_its_probe_says_so() {
    let mut node = started();
    node.endpoints.set_failing(READY, true);
    let probes = json!({"readinessProbe": probe("/ready", json!({"failureThreshold": 100}))});
    node.source.put("web", vec![from_spec("web", probed(&probes))]);
    pass(4.0).await;
    node.kill();
    node.start();
    pass(4.0).await;
    assert!(!is_ready(&node));
}

#[tokio::test(start_paused = true)]
async fn a_sidecars_probes_count_for_the_pod() {
    let node = started();
    node.endpoints.set_failing(READY, true);
    let spec = json!({
        "initContainers": [{
            "name": "helper", "image": "sleeper:1", "restartPolicy": "Always",
            "readinessProbe": probe("/ready", json!({})), "livenessProbe": probe("/alive", json!({})),
        }],
        "containers": [{"name": "app", "image": "sleeper:1"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(8.0).await;
    expect!["False ContainersNotReady: containers with unready status: [helper]"]
        .assert_eq(&condition(&node, "web", "Ready").unwrap_or_default());
    node.endpoints.set_failing(READY, false);
    pass(8.0).await;
    assert_eq!(condition(&node, "web", "Ready").as_deref(), Some("True"));
    orders(&node);
    node.endpoints.set_failing(ALIVE, true);
    pass(4.5).await;
    let log = orders(&node);
    assert!(log.contains("start web-node1/helper#1") && !log.contains("web-node1/app"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_errs_is_tried_three_times_and_then_changes_nothing() {
    let node = started();
    let exec = json!({"exec": {"command": ["alive"]}, "periodSeconds": 5, "failureThreshold": 1});
    node.source
        .put("web", vec![from_spec("web", probed(&json!({"livenessProbe": exec, "readinessProbe": exec})))]);
    pass(8.0).await;
    assert!(is_ready(&node));
    orders(&node);
    node.runtime.fail_next("ExecSync", 2);
    pass(5.0).await;
    assert!(!reported(&node, "web").contains("Unhealthy"), "{}", reported(&node, "web"));
    orders(&node);
    node.runtime.fail_next("ExecSync", 1_000);
    pass(30.0).await;
    assert!(is_ready(&node));
    assert_eq!(orders(&node), "");
    assert!(
        reported(&node, "web").contains("errored and resulted in unknown state"),
        "{}",
        reported(&node, "web")
    );
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_answers_too_slowly_fails_its_probe_and_holds_up_no_other() {
    let node = started();
    node.endpoints.set(READY, Endpoint { takes: Duration::from_secs(86_400), ..Endpoint::default() });
    let slow = json!({"readinessProbe": probe("/ready", json!({"timeoutSeconds": 2}))});
    node.source.put("web", vec![from_spec("web", probed(&slow))]);
    let quick = json!({"readinessProbe": {"tcpSocket": {"port": 81}, "periodSeconds": 5}});
    pass(1.0).await;
    node.source.put("quick", vec![from_spec("quick", probed(&quick))]);
    pass(20.0).await;
    assert!(!is_ready(&node));
    assert!(container_of(&node, "quick", "app").ready);
    assert!(reported(&node, "web").contains("Unhealthy"));
}

#[tokio::test(start_paused = true)]
async fn every_type_of_probe_asks_its_endpoint() {
    let node = started();
    let spec = json!({"containers": [
        {"name": "http", "image": "sleeper:1", "ports": [{"name": "web", "containerPort": 8080}],
         "readinessProbe": {"httpGet": {"port": "web", "path": "/x", "host": "192.0.2.7"}}},
        {"name": "tcp", "image": "sleeper:1", "readinessProbe": {"tcpSocket": {"port": 81}}},
        {"name": "grpc", "image": "sleeper:1", "readinessProbe": {"grpc": {"port": 82, "service": "s"}}},
        {"name": "exec", "image": "sleeper:1", "readinessProbe": {"exec": {"command": ["ready"]}}},
    ]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    let mut log: Vec<String> =
        node.endpoints.log().iter().filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect();
    log.sort();
    log.dedup();
    assert_eq!(log, ["10.0.0.1:81", "10.0.0.1:82 s", "192.0.2.7:8080/x"]);
    assert!(orders(&node).contains("exec \"ready\" in web-node1/exec#0"));
    assert_eq!(condition(&node, "web", "Ready").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn an_ending_pod_is_probed_for_readiness_and_no_longer_for_liveness() {
    let node = started();
    node.runtime.set_exec("flush", takes(20));
    let mut spec = probed(&json!({
        "readinessProbe": probe("/ready", json!({})), "livenessProbe": probe("/alive", json!({})),
    }));
    spec["containers"][0]["lifecycle"] = json!({"preStop": {"exec": {"command": ["flush"]}}});
    node.source.put("web", vec![pod_with_uid("web", "u1", spec)]);
    pass(8.0).await;
    node.source.remove("web");
    pass(1.0).await;
    let (ready, alive) = (asked(&node, "/ready").len(), asked(&node, "/alive").len());
    node.endpoints.set_failing(READY, true);
    node.endpoints.set_failing(ALIVE, true);
    pass(12.0).await;
    assert!(asked(&node, "/ready").len() > ready);
    assert_eq!(asked(&node, "/alive").len(), alive);
    assert!(!is_ready(&node));
    pass(60.0).await;
    assert_eq!(status(&node, "web"), "not shown");
    let done = node.endpoints.log().len();
    pass(60.0).await;
    assert_eq!(node.endpoints.log().len(), done, "no one probes a pod that is gone");
}

#[tokio::test(start_paused = true)]
async fn a_job_with_probes_succeeds_all_the_same() {
    let node = started();
    ends_after(&node, "job:1", 0, 12);
    let mut spec = probed(&json!({
        "readinessProbe": probe("/ready", json!({})), "livenessProbe": probe("/alive", json!({})),
        "startupProbe": probe("/up", json!({})),
    }));
    spec["restartPolicy"] = json!("Never");
    spec["containers"][0]["image"] = json!("job:1");
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(40.0).await;
    assert_eq!(status(&node, "web"), "Succeeded app: ended 0, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn what_probes_find_is_shown_while_the_pods_work_takes_long() {
    let node = started();
    let image = |takes: u64| {
        let pull_takes = Duration::from_secs(takes);
        FakeImage { pull_takes, ..FakeImage::absent(Behaviour::Sleeps) }
    };
    node.runtime.add_image("moving:latest", image(0));
    let mut spec = probed(&json!({
        "readinessProbe": probe("/ready", json!({})), "startupProbe": probe("/up", json!({})),
    }));
    let other = json!({"name": "other", "image": "moving:latest", "imagePullPolicy": "Always"});
    spec["containers"].as_array_mut().expect("a list").push(other);
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(20.0).await;
    assert!(is_ready(&node));
    node.runtime.add_image("moving:latest", image(600));
    node.runtime.end_container("web-node1", "other", 1);
    pass(12.0).await;
    assert!(is_ready(&node));
    node.endpoints.set_failing(READY, true);
    pass(6.0).await;
    assert!(!is_ready(&node), "the pull goes on for minutes");
    expect!["False ContainersNotReady: containers with unready status: [app other]"]
        .assert_eq(&condition(&node, "web", "Ready").unwrap_or_default());
    node.endpoints.set_failing(READY, false);
    pass(6.0).await;
    assert!(is_ready(&node));
}
