//! Calls that a node recorded: the kit asks them again.

use libtest_mimic::Failed;
use serde_json::{Value, json};
use witlet_conformance::{CheckResult, Layer};
use witlet_wasm::record::RecordedCall;
use witlet_wasm::role::Role;

use super::faults::{examine, plan};
use super::planted::Guest;

/// One test: a claim, and what shows it.
type Claim = (&'static str, fn() -> Result<(), Failed>);

/// All of them.
pub(crate) const CLAIMS: &[Claim] = &[
    ("a recorded call that gets another answer is found", another_answer_is_found),
    ("a recorded call that gets the same answer passes", same_answer_passes),
    ("a recorded call of a source is skipped with its reason", source_is_skipped),
];

/// As the node's file has it.
fn recorded(question: Value, answer: Value) -> Result<RecordedCall, Failed> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "witlet.dev/v1alpha1",
        "kind": "RecordedCall",
        "note": "made for a test",
        "plugin": "faults",
        "component": "faults.wasm",
        "digest": "of another build",
        "config": {"label": "team"},
        "limits": {"timeoutMilliseconds": 1000, "memoryBytes": 16 << 20},
        "grants": [],
        "recordedAt": "2026-01-01T00:00:00Z",
        "tookNanoseconds": 1000,
        "question": question,
        "answer": answer,
    }))?)
}

/// About a pod that has no team.
fn about_a_pod() -> Value {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
        "spec": {"containers": [{"name": "app", "image": "nginx"}]},
    });
    json!({
        "role": "admission",
        "operation": "add",
        "now": "2026-01-01T00:00:00Z",
        "pod": {"source": "file", "pod": pod},
        "node": {
            "name": "node-1",
            "node": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}},
            "addresses": [],
            "facts": {},
            "devices": "[]",
        },
        "otherPods": [],
    })
}

/// What the kit makes of one recorded call.
fn result(role: Role, call: RecordedCall) -> Result<CheckResult, Failed> {
    let mut plan = plan(Guest::Faults, role, None)?;
    plan.layers = [Layer::Load, Layer::Replay].into();
    plan.records = vec![call];
    let report = examine(Guest::Faults, &plan)?;
    let check = report.checks.into_iter().find(|check| check.id == "replay/call");
    Ok(check.ok_or("there was no check of the call")?.result)
}

fn another_answer_is_found() -> Result<(), Failed> {
    let call = recorded(about_a_pod(), json!({"kind": "admit"}))?;
    match result(Role::Admission, call)? {
        CheckResult::Failed(finding) if finding.seen.contains("NoTeam") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn same_answer_passes() -> Result<(), Failed> {
    let answer = json!({"kind": "reject", "reason": "NoTeam", "message": "the pod has no label \"team\""});
    match result(Role::Admission, recorded(about_a_pod(), answer)?)? {
        CheckResult::Passed => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn source_is_skipped() -> Result<(), Failed> {
    let call =
        recorded(json!({"role": "podSource", "cursor": null}), json!({"kind": "empty", "cursor": null}))?;
    match result(Role::PodSource, call)? {
        CheckResult::Skipped { why } if why.contains("what it read isn't recorded") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}
