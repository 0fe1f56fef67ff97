//! Probes by annotation: other checks and finer times in place of those of the spec's probes.

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_ports::{AgentView, ProbeCounts, ProbeError};
use witlet_testkit::{Endpoint, FakeNode};

use crate::support::{condition, container_of, orders, pass, pod_with_uid, reported, started};

const REDIS: &str = "redis 10.0.0.1:6379";

/// A pod that keeps its UID, whose container `app` has all three probes by HTTP each five seconds, and the named port `db`.
fn web(annotation: &str) -> Pod {
    let probe = |path: &str| json!({"httpGet": {"port": 80, "path": path}, "periodSeconds": 5, "failureThreshold": 1});
    let app = json!({
        "name": "app", "image": "sleeper:1",
        "ports": [{"name": "db", "containerPort": 6379}],
        "env": [{"name": "DB", "value": "7"}],
        "startupProbe": probe("/up"), "readinessProbe": probe("/ready"), "livenessProbe": probe("/alive"),
    });
    annotated(json!({"containers": [app]}), "app", annotation)
}

fn annotated(spec: Value, container: &str, annotation: &str) -> Pod {
    let mut pod = pod_with_uid("web", "u1", spec);
    if !annotation.is_empty() {
        let annotations = pod.metadata.annotations.get_or_insert_default();
        annotations.insert(format!("probe.witlet.dev/{container}"), annotation.to_owned());
    }
    pod
}

fn node() -> FakeNode {
    let node = started();
    node.endpoints.add_type("redis");
    node
}

/// When an endpoint was asked, in seconds.
fn asked(node: &FakeNode, endpoint: &str) -> Vec<f64> {
    let log = node.endpoints.log();
    let lines = log.iter().filter_map(|line| line.split_once(' '));
    let lines = lines.filter(|(_, asked)| *asked == endpoint || asked.ends_with(endpoint));
    lines.map(|(at, _)| at.parse().expect("seconds")).collect()
}

fn failing(why: &str) -> Endpoint {
    Endpoint { failure: Some(why.to_owned()), ..Endpoint::default() }
}

fn is_ready(node: &FakeNode) -> bool {
    container_of(node, "web", "app").ready
}

#[tokio::test(start_paused = true)]
async fn an_annotation_replaces_the_check_of_each_probe_that_it_names() {
    let node = node();
    node.endpoints.set(REDIS, failing("no answer to PING"));
    let annotation = r#"{"readiness": {"type": "redis", "parameters": {"port": "db"}}}"#;
    node.source.put("web", vec![web(annotation)]);
    pass(12.0).await;
    assert!(!is_ready(&node));
    assert_eq!(asked(&node, "/ready"), [0.0; 0]);
    assert!(!asked(&node, "/alive").is_empty(), "the others are the spec's");
    expect![[r#"
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
        Unhealthy ×3 Readiness probe failed: no answer to PING
    "#]]
    .assert_eq(&reported(&node, "web"));
    node.endpoints.set(REDIS, Endpoint::default());
    pass(6.0).await;
    assert!(is_ready(&node));
}

#[tokio::test(start_paused = true)]
async fn startup_and_liveness_by_annotation_gate_and_restart_as_the_specs_do() {
    let node = node();
    node.endpoints.set(REDIS, failing("loading"));
    let annotation = r#"{
        "startup": {"type": "redis", "parameters": {"port": "db"}, "failureThreshold": 100, "periodMilliseconds": 500},
        "liveness": {"type": "redis", "parameters": {"port": "db"}, "periodMilliseconds": 200, "failureThreshold": 2}
    }"#;
    node.source.put("web", vec![web(annotation)]);
    pass(10.0).await;
    assert_eq!(container_of(&node, "web", "app").started, Some(false));
    assert_eq!(asked(&node, "/ready"), [0.0; 0]);
    node.endpoints.set(REDIS, Endpoint::default());
    pass(2.0).await;
    assert_eq!(container_of(&node, "web", "app").started, Some(true));
    orders(&node);
    node.endpoints.set(REDIS, failing("gone"));
    pass(1.0).await;
    expect![[r#"
        12.200 stop within 30s web-node1/app#0
        12.200 ended with 143 web-node1/app#0
        12.200 create web-node1/app#1
        12.200 start web-node1/app#1
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn periods_below_a_second_have_ticks_that_dont_drift() {
    let node = node();
    let annotation =
        r#"{"readiness": {"type": "redis", "parameters": {"port": 6379}, "periodMilliseconds": 100}}"#;
    let mut pod = web(annotation);
    let app = &mut pod.spec.as_mut().expect("a spec").containers[0];
    (app.startup_probe, app.liveness_probe) = (None, None);
    node.source.put("web", vec![pod]);
    pass(30.0).await;
    let ticks = asked(&node, REDIS);
    let first = *ticks.iter().find(|at| **at > 20.0).expect("it is probed");
    let late: Vec<f64> = ticks.iter().copied().filter(|at| *at >= first).collect();
    assert!(late.len() >= 95, "{} in 10 s", late.len());
    for (n, at) in late.iter().enumerate() {
        let expected = first + 0.1 * f64::from(u32::try_from(n).expect("few"));
        assert!((at - expected).abs() < 0.002, "tick {n} at {at} instead of {expected}");
    }
    assert_eq!(node.agent().stats().probes.liveness, ProbeCounts::default());
    assert!(node.agent().stats().probes.readiness.successful >= 95);
}

#[tokio::test(start_paused = true)]
async fn a_sidecar_has_probes_by_annotation_too() {
    let node = node();
    node.endpoints.set(REDIS, failing("loading"));
    let probe = json!({"exec": {"command": ["true"]}, "failureThreshold": 100});
    let side = json!({
        "name": "side", "image": "sleeper:1", "restartPolicy": "Always", "startupProbe": probe,
    });
    let spec = json!({"initContainers": [side], "containers": [{"name": "app", "image": "sleeper:1"}]});
    let annotation =
        r#"{"startup": {"type": "redis", "parameters": {"port": 6379}, "periodMilliseconds": 100}}"#;
    node.source.put("web", vec![annotated(spec, "side", annotation)]);
    pass(10.0).await;
    assert!(!orders(&node).contains("start web-node1/app"), "it waits for its sidecar");
    node.endpoints.set(REDIS, Endpoint::default());
    pass(2.0).await;
    assert!(orders(&node).contains("start web-node1/app"));
}

#[tokio::test(start_paused = true)]
async fn a_type_that_no_one_has_fails_the_probe_and_is_reported_once() {
    let node = node();
    let annotation = r#"{"readiness": {"type": "mysql", "periodMilliseconds": 500}}"#;
    node.source.put("web", vec![web(annotation)]);
    pass(10.0).await;
    assert!(!is_ready(&node));
    let reported = reported(&node, "web");
    assert!(
        reported.contains("InvalidProbe ×1 Readiness probe of container app: unknown probe type \"mysql\"\n"),
        "{reported}"
    );
    assert!(reported.contains("Readiness probe failed: unknown probe type \"mysql\"\n"), "{reported}");
    assert_eq!(asked(&node, "/ready"), [0.0; 0], "the spec's check isn't made in its place");
    assert!(node.agent().stats().probes.readiness.failed >= 8);
}

#[tokio::test(start_paused = true)]
async fn parameters_that_the_type_refuses_fail_the_probe_in_its_words() {
    let node = node();
    let annotation = r#"{"liveness": {"type": "redis", "parameters": {"port": "$(DB)"}}}"#;
    node.source.put("web", vec![web(annotation)]);
    pass(12.0).await;
    let reported = reported(&node, "web");
    assert!(
        reported.contains("InvalidProbe ×1 Liveness probe of container app: port must be a number\n"),
        "{reported}"
    );
    assert!(reported.contains("Unhealthy ×1 Liveness probe failed: port must be a number\n"), "{reported}");
    assert!(
        reported.contains("Killing ×1 Container app failed liveness probe, will be restarted\n"),
        "{reported}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_annotation_that_cant_be_read_fails_every_probe_of_its_container() {
    let node = node();
    let mut pod = web("{\"readiness\"");
    pod.spec.as_mut().expect("a spec").containers[0].liveness_probe = None;
    node.source.put("web", vec![pod]);
    pass(6.0).await;
    expect![[r#"
        InvalidProbe ×1 probe.witlet.dev/app: EOF while parsing an object at line 1 column 12
        Unhealthy ×1 Startup probe failed: the annotation probe.witlet.dev/app is wrong: EOF while parsing an object at line 1 column 12
        Killing ×1 Container app failed startup probe, will be restarted
        Pulled ×2 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×2 Container created
        Started ×2 Container started
    "#]]
    .assert_eq(&reported(&node, "web"));
    assert_eq!(node.endpoints.log(), [""; 0]);
    // It is mended.
    node.source.put("web", vec![web("")]);
    pass(20.0).await;
    assert!(is_ready(&node));
}

#[tokio::test(start_paused = true)]
async fn what_has_no_probe_to_fail_is_reported_and_changes_nothing() {
    let node = node();
    let mut pod = web(r#"{"readiness": {"type": "redis", "parameters": {"port": 6379}}}"#);
    pod.spec.as_mut().expect("a spec").containers[0].readiness_probe = None;
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert("probe.witlet.dev/no-one".to_owned(), "{}".to_owned());
    node.source.put("web", vec![pod]);
    pass(120.0).await;
    let invalid: Vec<String> = reported(&node, "web")
        .lines()
        .filter(|line| line.starts_with("Invalid"))
        .map(str::to_owned)
        .collect();
    expect![[r#"
        InvalidProbe ×1 probe.witlet.dev/app: readiness: the container's spec has no probe of this kind
        InvalidProbe ×1 probe.witlet.dev/no-one: the pod has no container or sidecar of this name"#]]
    .assert_eq(&invalid.join("\n"));
    assert!(is_ready(&node));
}

#[tokio::test(start_paused = true)]
async fn a_changed_annotation_puts_another_check_in_place_without_a_flap() {
    let node = node();
    node.source.put("web", vec![web("")]);
    pass(12.0).await;
    assert!(is_ready(&node));
    let of_spec = asked(&node, "/ready").len();
    let turned = condition(&node, "web", "Ready");
    let since = |node: &FakeNode| {
        let conditions = crate::support::status_of(node, "web").conditions.unwrap_or_default();
        conditions.into_iter().find(|c| c.type_ == "Ready").and_then(|c| c.last_transition_time)
    };
    let ready_since = since(&node);
    node.endpoints.set(REDIS, failing("no"));
    let redis = |count: u32, period: u32| {
        let parameters = r#""parameters": {"port": "db"}"#;
        format!(
            r#"{{"readiness": {{"type": "redis", {parameters}, "failureThreshold": {count}, "periodMilliseconds": {period}}}}}"#
        )
    };
    node.source.put("web", vec![web(&redis(3, 1000))]);
    pass(1.9).await;
    assert_eq!(asked(&node, REDIS).len(), 2, "it begins at once");
    assert!(is_ready(&node), "two failures of three");
    pass(2.0).await;
    assert!(!is_ready(&node));
    assert_eq!(asked(&node, "/ready").len(), of_spec);

    // Only the times change: the result stands, and the new ones hold at once.
    node.endpoints.set(REDIS, Endpoint::default());
    pass(2.0).await;
    assert!(is_ready(&node));
    let mended = since(&node);
    assert!(mended > ready_since);
    let before = asked(&node, REDIS).len();
    node.source.put("web", vec![web(&redis(3, 100))]);
    pass(2.0).await;
    assert!(asked(&node, REDIS).len() >= before + 15);
    assert_eq!((since(&node), condition(&node, "web", "Ready")), (mended, turned), "no flap");
    assert_eq!(container_of(&node, "web", "app").restart_count, 0);
}

#[tokio::test(start_paused = true)]
async fn a_type_that_cant_be_asked_changes_no_result() {
    let node = node();
    let annotation =
        r#"{"readiness": {"type": "redis", "parameters": {"port": 6379}, "periodMilliseconds": 1000}}"#;
    node.source.put("web", vec![web(annotation)]);
    pass(10.0).await;
    assert!(is_ready(&node));
    let error = |error| Endpoint { error: Some(error), ..Endpoint::default() };
    let message = "the plugin trapped".to_owned();
    node.endpoints.set(REDIS, error(ProbeError::NotCarriedOut { message }));
    let tries = asked(&node, REDIS).len();
    pass(3.5).await;
    assert!(is_ready(&node), "the result is discarded");
    assert!(asked(&node, REDIS).len() >= tries + 9, "three tries each time");
    let message = "the plugin is quarantined".to_owned();
    node.endpoints.set(REDIS, error(ProbeError::NotNow { message }));
    let tries = asked(&node, REDIS).len();
    pass(3.0).await;
    assert!(is_ready(&node));
    assert_eq!(asked(&node, REDIS).len(), tries + 3, "no second try");
    let reported = reported(&node, "web");
    for why in ["trapped", "is quarantined"] {
        let words = format!("Readiness probe errored and resulted in unknown state: the plugin {why}");
        assert!(reported.contains(&words), "{reported}");
    }
    assert!(node.agent().stats().probes.readiness.unknown >= 6);
}
