//! Which probes a pod has once its annotations were read.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

/// Each probe with its type, its period and whether it fails, then what is wrong.
fn check(annotations: &[(&str, &str)], expected: &Expect) {
    let annotations: BTreeMap<String, String> = annotations
        .iter()
        .map(|(name, text)| (format!("{ANNOTATION_PREFIX}{name}"), (*text).to_owned()))
        .collect();
    let exec = json!({"exec": {"command": ["true"]}, "periodSeconds": 7});
    let wrong = json!({"tcpSocket": {"port": "none"}});
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "web", "annotations": annotations},
        "spec": {
            "initContainers": [
                {"name": "once", "livenessProbe": exec},
                {"name": "side", "restartPolicy": "Always", "startupProbe": exec, "livenessProbe": exec},
            ],
            "containers": [
                {"name": "app", "readinessProbe": exec, "livenessProbe": wrong},
                {"name": "bare"},
            ],
        },
    }))
    .expect("the test's pod is one");
    let DesiredProbes { probes, problems } = desired_probes(&pod);
    let lines = probes.iter().map(|probe| {
        let DesiredProbe { container, is_sidecar, kind, settings, handler } = probe;
        let side = if *is_sidecar { " (sidecar)" } else { "" };
        let what = match handler {
            Ok(handler) => format!("{} {}", handler.probe_type, handler.parameters),
            Err(NoHandler::Spec(error)) => format!("errs: {error}"),
            Err(NoHandler::Annotation(error)) => format!("fails: {error}"),
        };
        format!("{container}{side} {} each {:?}: {what}\n", kind.as_str(), settings.period)
    });
    let problems = problems.iter().map(|problem| format!("problem: {problem}\n"));
    expected.assert_eq(&lines.chain(problems).collect::<String>());
}

#[test]
fn without_annotations_probes_are_the_specs() {
    check(
        &[],
        &expect![[r#"
        side (sidecar) Startup each 7s: exec {"command":["true"]}
        side (sidecar) Liveness each 7s: exec {"command":["true"]}
        app Readiness each 7s: exec {"command":["true"]}
        app Liveness each 10s: errs: port none not found
    "#]],
    );
}

#[test]
fn an_annotation_replaces_what_it_names_and_nothing_else() {
    let app = r#"{"liveness": {"type": "redis", "parameters": {"port": 1}, "periodMilliseconds": 200}}"#;
    let side = r#"{"startup": {"type": "udp"}}"#;
    check(
        &[("app", app), ("side", side)],
        &expect![[r#"
        side (sidecar) Startup each 7s: udp null
        side (sidecar) Liveness each 7s: exec {"command":["true"]}
        app Readiness each 7s: exec {"command":["true"]}
        app Liveness each 200ms: redis {"port":1}
    "#]],
    );
}

#[test]
fn an_annotation_that_cant_be_read_fails_all_probes_of_its_container() {
    check(
        &[("side", "{")],
        &expect![[r#"
        side (sidecar) Startup each 7s: fails: EOF while parsing an object at line 1 column 1
        side (sidecar) Liveness each 7s: fails: EOF while parsing an object at line 1 column 1
        app Readiness each 7s: exec {"command":["true"]}
        app Liveness each 10s: errs: port none not found
        problem: probe.witlet.dev/side: EOF while parsing an object at line 1 column 1
    "#]],
    );
}

#[test]
fn a_probe_that_is_wrong_fails_alone() {
    let app = r#"{"readiness": {"type": "redis", "period": 1}, "liveness": {"type": "redis"}}"#;
    check(
        &[("app", app)],
        &expect![[r#"
        side (sidecar) Startup each 7s: exec {"command":["true"]}
        side (sidecar) Liveness each 7s: exec {"command":["true"]}
        app Readiness each 7s: fails: unknown field `period`, expected one of `type`, `parameters`, `periodMilliseconds`, `timeoutMilliseconds`, `initialDelayMilliseconds`, `successThreshold`, `failureThreshold`
        app Liveness each 10s: redis null
        problem: probe.witlet.dev/app: readiness: unknown field `period`, expected one of `type`, `parameters`, `periodMilliseconds`, `timeoutMilliseconds`, `initialDelayMilliseconds`, `successThreshold`, `failureThreshold`
    "#]],
    );
}

#[test]
fn what_has_no_probe_to_fail_is_a_problem_only() {
    let startup = r#"{"startup": {"type": "redis"}}"#;
    check(
        &[("app", startup), ("bare", "{"), ("once", startup), ("", startup), ("no-one", startup)],
        &expect![[r#"
            side (sidecar) Startup each 7s: exec {"command":["true"]}
            side (sidecar) Liveness each 7s: exec {"command":["true"]}
            app Readiness each 7s: exec {"command":["true"]}
            app Liveness each 10s: errs: port none not found
            problem: probe.witlet.dev/app: startup: the container's spec has no probe of this kind
            problem: probe.witlet.dev/bare: EOF while parsing an object at line 1 column 1
            problem: probe.witlet.dev/: the pod has no container or sidecar of this name
            problem: probe.witlet.dev/no-one: the pod has no container or sidecar of this name
            problem: probe.witlet.dev/once: the pod has no container or sidecar of this name
        "#]],
    );
}

#[test]
fn a_pod_has_a_bounded_number_of_probes_a_second() {
    let probe = json!({"exec": {"command": ["true"]}});
    let found = |containers: usize, period: u64| {
        let names: Vec<String> = (0..containers).map(|n| format!("c{n}")).collect();
        let annotation =
            json!({"liveness": {"type": "x", "periodMilliseconds": period}, "readiness": {"type": "x"}});
        let annotations: BTreeMap<String, String> =
            names.iter().map(|name| (format!("{ANNOTATION_PREFIX}{name}"), annotation.to_string())).collect();
        let containers: Vec<_> = names
            .iter()
            .map(|name| json!({"name": name, "livenessProbe": probe, "readinessProbe": probe}))
            .collect();
        let pod = json!({"metadata": {"annotations": annotations}, "spec": {"containers": containers}});
        let DesiredProbes { probes, problems } = desired_probes(&serde_json::from_value(pod).expect("a pod"));
        let periods: std::collections::BTreeSet<Duration> =
            probes.iter().map(|probe| probe.settings.period).collect();
        format!("{periods:?} {}", problems.join(" "))
    };
    expect!["{50ms, 10s} "].assert_eq(&found(10, 50));
    expect!["{1s, 10s} probes with periods below a second: 220 per second exceed the limit of 200 for a pod; each runs once per second"].assert_eq(&found(11, 50));
    expect!["{999ms, 10s} "].assert_eq(&found(200, 999));
    expect!["{1s, 10s} "].assert_eq(&found(500, 1_000));
}

#[test]
fn words_that_all_name_a_long_variable_fill_no_memory() {
    let long = "x".repeat(100_000);
    let probe = |words: usize| json!({"exec": {"command": vec!["$(LONG)"; words]}});
    let container = |number: usize, words: usize| json!({"name": format!("c{number}"), "env": [{"name": "LONG", "value": long}], "livenessProbe": probe(words)});
    let desired_of = |containers: Vec<serde_json::Value>| {
        let pod: Pod = serde_json::from_value(json!({"spec": {"containers": containers}})).expect("a pod");
        desired_probes(&pod).probes
    };
    let too_long = |text| Err(NoHandler::Spec(HandlerError::TooLong { text }));
    assert_eq!(desired_of(vec![container(0, 100_000)])[0].handler, too_long("the command"), "10 GB");
    let many = desired_of((0..10).map(|number| container(number, 9)).collect());
    assert_eq!(many.iter().filter(|probe| probe.handler.is_ok()).count(), 4, "0.9 MB each");
    assert_eq!(many[9].handler, too_long("the parameters of all probes of the pod together"));
}
