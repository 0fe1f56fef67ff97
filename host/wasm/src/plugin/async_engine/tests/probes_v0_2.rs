//! Probe types of contract 0.2.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use witlet_core::probe::{ProbeOutcome, ProbeRequest};

use super::node::{Setting, WAIT_TIMEOUT, ask, request};
use crate::plugin::CallError;
use crate::plugin::async_engine::AsyncPlugin;
use crate::plugin::config::Warm;
use crate::role::Role;
use crate::worlds::probe::answer::ProbeRemarks;
use crate::worlds::probe::facts::ProbeFacts;

/// The guest, which wants everything that a probe type may have.
fn guest(setting: Setting) -> Arc<AsyncPlugin> {
    setting.made(witlet_test_guests::PROBE_V0_2)
}

/// Parameters that have the guest do this.
fn doing(what: &str, text: &str) -> String {
    json!({"do": what, "text": text}).to_string()
}

async fn said(guests: &Arc<AsyncPlugin>, what: &str) -> String {
    match ask(guests, &doing(what, "so it is")).await {
        Ok(ProbeOutcome::Success(text)) => format!("success: {text}"),
        Ok(ProbeOutcome::Warning(text)) => format!("warning: {text}"),
        Ok(ProbeOutcome::Failure(text)) => format!("failure: {text}"),
        Err(CallError::Refused { words }) => format!("nothing found: {words}"),
        Err(CallError::BadAnswer { fault }) => format!("bad answer: {fault}"),
        Err(error) => format!("error: {error}"),
    }
}

async fn inspected(guests: &Arc<AsyncPlugin>, request: ProbeRequest) -> Value {
    let called = guests.probe(Arc::new(ProbeFacts::new(request, false))).await;
    match called.result {
        Ok(ProbeOutcome::Success(text)) => serde_json::from_str(&text).expect(&text),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_kind_of_answer_becomes_an_outcome_and_others_are_bad_ones() {
    let guests = guest(Setting::default());
    let error = "NoTable: the table can't be read (rows: 7)";
    let cases = [
        ("success", "success: so it is".to_owned()),
        ("failure", "failure: so it is".to_owned()),
        ("unknown", "nothing found: so it is".to_owned()),
        ("warned", "warning: it is old; fine".to_owned()),
        (
            "nothing",
            "bad answer: it answered nothing: an answer is one of success, failure, unknown".to_owned(),
        ),
        ("twice", "bad answer: it answered failure, and then success".to_owned()),
        ("error", format!("nothing found: {error}")),
        ("error-after-all", format!("nothing found: {error}")),
    ];
    for (what, expected) in cases {
        assert_eq!(said(&guests, what).await, expected, "{what}");
    }
}

#[tokio::test]
async fn what_is_said_next_to_an_outcome_is_noted() {
    let guests = guest(Setting::default());
    let facts = Arc::new(ProbeFacts::new(request(&doing("remark", "")), false));
    let called = guests.probe(facts.clone()).await;
    assert_eq!(called.result.ok(), Some(ProbeOutcome::Success(String::new())));
    let annotations = [("version".to_owned(), "7".to_owned())].into();
    let latency = Some(Duration::from_micros(1500));
    assert_eq!(facts.take_remarks(), ProbeRemarks { latency, annotations, left_out: 0 });
    assert_eq!(facts.take_remarks(), ProbeRemarks::default());
    let histograms = guests.setting.metrics.numbers().histograms;
    let found: Vec<_> =
        histograms.iter().map(|(series, seen)| (&*series.name, &series.labels, seen.sum)).collect();
    let labels = vec![("probe".to_owned(), "readiness".to_owned())];
    assert_eq!(found, [("probe_latency_seconds", &labels, 0.0015)]);
    let plain = Arc::new(ProbeFacts::new(request(&doing("success", "")), false));
    assert!(guests.probe(plain.clone()).await.result.is_ok());
    assert_eq!(plain.take_remarks(), ProbeRemarks::default(), "each probe has its own");
}

#[tokio::test]
async fn a_guest_sees_the_pod_the_container_and_its_ports() {
    let mut request = request(&doing("inspect", ""));
    let pod = Arc::make_mut(&mut request.pod);
    pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    pod.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
    if let Some(spec) = &mut pod.spec {
        spec.containers[0].image = Some("nginx:1.29".to_owned());
    }
    assert_eq!(
        inspected(&guest(Setting::default()), request).await,
        json!({
            "pod": {
                "namespace": "default", "name": "web", "uid": "uid-1",
                "label": "web", "labels": [["app", "web"]], "annotation": "b", "annotations": [["a", "b"]],
                "addresses": ["127.0.0.1"], "hostAddresses": ["192.0.2.1"], "hostNetwork": false,
                "jsonHasName": true, "pointer": "\"web\"", "nothing": null,
            },
            "container": {
                "name": "main", "id": "c0ffee", "restarts": 3, "image": "nginx:1.29",
                "ports": [["web", 8080, "TCP"], ["", 1, "TCP"]], "port": 8080, "noPort": null,
                "pointer": "\"main\"", "noPointer": null,
            },
            "kind": "readiness", "time": true,
        })
    );
}

#[tokio::test]
async fn a_guest_sees_init_containers_and_pods_without_containers() {
    let sidecar = |name: &str| {
        let mut request = request(&doing("inspect", ""));
        let spec = Arc::make_mut(&mut request.pod).spec.as_mut().expect("it has a spec");
        let mut init = spec.containers[0].clone();
        init.name = "side".to_owned();
        init.ports = None;
        spec.init_containers = Some(vec![init]);
        ProbeRequest { container: name.to_owned(), ..request }
    };
    let guests = guest(Setting::default());
    let found = inspected(&guests, sidecar("side")).await;
    assert_eq!(
        (&found["container"]["pointer"], &found["container"]["ports"]),
        (&json!("\"side\""), &json!([]))
    );
    let found = inspected(&guests, sidecar("gone")).await;
    assert_eq!((&found["container"]["image"], &found["container"]["pointer"]), (&json!(""), &Value::Null));
}

#[tokio::test]
async fn the_host_is_there_on_this_engine_too() {
    let secrets = [("password".to_owned(), Arc::from(&b"hunter2"[..]))].into();
    let grants = crate::plugin::config::Grants {
        secrets: ["password".to_owned()].into(),
        ..crate::plugin::config::Grants::default()
    };
    let log = Some(crate::guest::LogTap::default());
    let guests = guest(Setting { config: "\"mine\"", secrets, grants, log, ..Setting::default() });
    assert_eq!(
        inspected(&guests, request(&doing("host", ""))).await,
        json!({
            "config": "\"mine\"", "enabled": true, "feature": false, "node": null, "zone": null, "label": null,
            "labels": [], "addresses": [], "allocatable": null, "secret": "hunter2",
            "other": ["NotGranted", null, null],
        })
    );
    let numbers = guests.setting.metrics.numbers();
    assert_eq!((numbers.counters.len(), numbers.histograms.len()), (1, 1));
}

#[tokio::test]
async fn commands_have_two_outputs_and_errors_a_code() {
    let guests = guest(Setting::default());
    let ran = async |command: &[&str]| {
        let parameters = json!({"do": "exec", "command": command}).to_string();
        match ask(&guests, &parameters).await {
            Ok(ProbeOutcome::Success(text) | ProbeOutcome::Failure(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ran(&["cat", "/alive"]).await, "7|c0ffee cat /alive| true");
    assert_eq!(ran(&["late"]).await, "TimedOut: the command ran out of the probe's time");
    let missing = ran(&["missing"]).await;
    assert!(missing.starts_with("Failed: ") && missing.contains("no such container"), "{missing}");
    let without = guest(Setting { containers: None, ..Setting::default() });
    let nowhere = ask(&without, &json!({"do": "exec", "command": ["true"]}).to_string()).await;
    let words = "Failed: there is no container runtime".to_owned();
    assert_eq!(nowhere.ok(), Some(ProbeOutcome::Failure(words)));
}

#[tokio::test]
async fn what_an_earlier_probe_handed_out_is_over() {
    let warm = Some(Warm { max: 1, uses: 1000, idle: Duration::from_secs(60) });
    let over = |result: Result<(), CallError>, what: &str| match result {
        Err(CallError::Trap { message }) => {
            assert!(message.contains("belongs to an earlier probe, which is over"), "{what}: {message}");
        }
        other => panic!("{what}: {other:?}"),
    };
    let guests = guest(Setting { warm, ..Setting::default() });
    for what in ["pod", "container", "port"] {
        assert_eq!(said(&guests, "keep").await, "success: kept");
        over(ask(&guests, &doing("use", what)).await.map(|_| ()), what);
    }
    assert_eq!(said(&guests, "use").await, "success: nothing is kept", "it is a fresh instance");
    // Next to no probe there is nothing to check, either.
    assert_eq!(said(&guests, "keep").await, "success: kept");
    let check: Arc<str> = doing("use-in-check", "").into();
    over(guests.check_parameters(&check, WAIT_TIMEOUT).await.result, "check-parameters");
}

#[tokio::test]
async fn parameters_are_refused_and_warned_of() {
    let guests = guest(Setting::default());
    let check =
        async |what: &str| guests.check_parameters(&doing(what, "").into(), Duration::ZERO).await.result;
    match check("").await {
        Err(CallError::Refused { words }) => assert_eq!(words, "NoTable: the table can't be read (rows: 7)"),
        other => panic!("{other:?}"),
    }
    assert!(check("warned").await.is_ok());
    assert_eq!(guests.checked(&doing("warned", "")), Some(Ok(())), "a warning refuses nothing");
}

#[tokio::test]
async fn validate_warns_and_refuses() {
    let warned = guest(Setting { config: r#"{"do": "warn"}"#, ..Setting::default() });
    let warnings = warned.validate(Role::Probe).await.expect("it is loaded all the same");
    assert_eq!((warnings.kept.len(), warnings.left_out), (16, 4));
    assert_eq!(warnings.kept[0], "warning 0");
    match guest(Setting { config: r#"{"do": "refuse"}"#, ..Setting::default() }).validate(Role::Probe).await {
        Err(CallError::Refused { words }) => assert_eq!(words, "NoTable: the table can't be read (rows: 7)"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn probe_types_of_both_contracts_are_asked_next_to_each_other() {
    let (old, new) = (Setting::default().prober(), guest(Setting::default()));
    for _ in 0..3 {
        let parameters = doing("success", "new");
        let (one, other) =
            tokio::join!(ask(&old, r#"{"do": "succeed", "text": "old"}"#), ask(&new, &parameters));
        assert_eq!(one.ok(), Some(ProbeOutcome::Success("old".to_owned())));
        assert_eq!(other.ok(), Some(ProbeOutcome::Success("new".to_owned())));
    }
}
