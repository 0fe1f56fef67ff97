//! What recordings come to as cases, and which are none.

use super::*;
use crate::plugin_response::ResponseKind;

fn call(question: Value, answer: Value, more: &[(&str, Value)]) -> RecordedCall {
    let mut call = json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "RecordedCall", "note": "", "plugin": "p", "component": "p.wasm",
        "digest": "00", "config": {"allow": ["a"]}, "limits": {"timeoutMilliseconds": 100, "memoryBytes": 16_777_216},
        "grants": [], "recordedAt": "2026-01-02T03:04:05Z", "tookNanoseconds": 1,
        "question": question, "answer": answer,
    });
    for (field, value) in more {
        call[field] = value.clone();
    }
    serde_json::from_value(call).expect("a recorded call")
}

fn pod(name: &str) -> Value {
    json!({"source": "api", "pod": {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"), "labels": {"team": "red"}},
        "spec": {"runtimeClassName": "kata", "containers": [{"name": "app", "image": "app:1"}]},
    }})
}

fn question(operation: &str, more: &[(&str, Value)]) -> Value {
    let mut question = json!({
        "role": "admission", "operation": operation, "now": "2026-01-02T03:04:05.678Z", "pod": pod("web"),
        "node": {
            "name": "n1", "addresses": ["10.0.0.1"], "facts": {"os": "linux"}, "devices": "[]",
            "used": {"cpu": 1500, "memory": 7}, "runtimeClasses": {"kata": "kata-qemu"},
            "node": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
        },
        "otherPods": [pod("other")],
    });
    for (field, value) in more {
        question[field] = value.clone();
    }
    question
}

/// The one case, as a case file is read.
fn read(file: &Value) -> super::super::model::Case {
    CaseFile::parse("case", &file.to_string()).expect("a case file").cases.remove(0)
}

#[test]
fn every_answer_becomes_what_is_expected() {
    for (answer, kind, words) in [
        (json!({"kind": "admit"}), ResponseKind::Admit, None),
        (json!({"kind": "reject", "reason": "No", "message": "never"}), ResponseKind::Reject, Some("never")),
        (
            json!({"kind": "defer", "reason": "Later", "message": "wait", "retryAfterMilliseconds": 5000}),
            ResponseKind::Defer,
            Some("wait"),
        ),
        (
            json!({"kind": "shortage", "resources": ["cpu: requested 2000, used 500, capacity 1000"]}),
            ResponseKind::Shortage,
            None,
        ),
    ] {
        let call = call(question("add", &[]), answer, &[]);
        let file = of_recording(&call, &GivenData::new()).expect("a case");
        assert_eq!(file["config"], json!({"allow": ["a"]}));
        assert_eq!(file["limits"], json!({"timeout": "100ms", "memory": "16777216"}));
        let case = read(&file);
        assert_eq!(case.name, "add shop/web, recorded at 2026-01-02T03:04:05Z");
        let expect = &case.steps[0].expect;
        assert_eq!((expect.kind, expect.text.exact.as_deref()), (Some(kind), words));
        if kind == ResponseKind::Shortage {
            let lacking = &expect.resources.as_ref().expect("resources")[0];
            let amounts = (lacking.requested, lacking.used, lacking.capacity);
            assert_eq!((&*lacking.resource, amounts), ("cpu", (Some(2000), Some(500), Some(1000))));
        }
    }
}

#[test]
fn every_operation_is_asked_about_again() {
    let old = ("oldPod", pod("web")["pod"].clone());
    let image =
        json!({"container": "app", "id": "sha256:01", "digest": "sha256:02", "credentials": "secret"});
    for (operation, more) in [
        ("add", vec![]),
        ("resize", vec![old.clone()]),
        ("update", vec![old.clone()]),
        ("ephemeral", vec![old.clone()]),
        ("readmit", vec![old.clone()]),
        ("recheck", vec![old]),
        ("imageResolved", vec![("image", image)]),
    ] {
        let call = call(question(operation, &more), json!({"kind": "admit"}), &[]);
        let made = of_recording(&call, &GivenData::new());
        assert!(made.is_ok(), "{operation}: {:?}", made.err());
    }
}

#[test]
fn data_come_along_if_they_are_those_of_then() {
    let digest = witlet_wasm::record::replay::digest_of(b"\xff\0");
    let call = call(question("add", &[]), json!({"kind": "admit"}), &[("data", json!({"list": digest}))]);
    let given = |bytes: &[u8]| GivenData::from([("list".to_owned(), bytes.to_vec())]);
    let file = of_recording(&call, &given(b"\xff\0")).expect("a case");
    assert_eq!(file["data"], json!({"list": {"base64": "/wA="}}));
    assert!(matches!(of_recording(&call, &given(b"other")), Err(NoCaseError::Data(_))));
    assert!(matches!(of_recording(&call, &GivenData::new()), Err(NoCaseError::Data(_))));
}

#[test]
fn what_is_no_case_says_why() {
    let admit = json!({"kind": "admit"});
    let failed = json!({"kind": "failed", "outcome": "timeout", "message": "late"});
    let polled = json!({"role": "podSource", "cursor": null});
    let unbound = json!({"source": "api", "pod": {"metadata": {"name": "web"}, "spec": {"containers": []}}});
    for (call, words) in [
        (call(polled, admit.clone(), &[]), "a call of the role podSource can't be a case"),
        (call(question("add", &[]), failed, &[]), "the call failed (timeout)"),
        (
            call(question("add", &[]), admit.clone(), &[("grants", json!(["secrets"]))]),
            "it was granted secrets",
        ),
        (call(question("add", &[("pod", unbound)]), admit, &[]), "its pod can't be as the recorded one"),
    ] {
        let error = of_recording(&call, &GivenData::new()).expect_err("no case").to_string();
        assert!(error.contains(words), "{error}");
    }
}
