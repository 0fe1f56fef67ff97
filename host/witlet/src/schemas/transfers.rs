//! What the commands say that measure, examine and repeat plugins, or bring them to registries and from there.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use witlet_conformance::report::{API_VERSION, Examined, KIND, ReportRole};
use witlet_conformance::{Check, CheckResult, Figure, Finding, KIT_VERSION, Layer, Report};
use witlet_oci::{PLUGIN_FILE, PLUGIN_FILE_TYPE, Pushed, SetArtifact, SetCode, SetFile};
use witlet_wasm::compile::code_target;
use witlet_wasm::engine::EngineKind;
use witlet_wasm::plugin::config::FEATURES;
use witlet_wasm::role::Role;

use super::{holds, json_of};
use crate::inspect;
use crate::plugin::pull::WrittenFiles;
use crate::plugin::{bench, pull, push, push_set, replay, sign};

const REFERENCE: &str = "registry.example.com/plugins/a:1@sha256:00ff";
const DIGEST: &str = "sha256:00ff";

#[test]
fn features_and_benchmarks_are_as_their_schemas_say() {
    let features = json_of(&FEATURES);
    assert!(features.as_array().is_some_and(|all| !all.is_empty()), "{features}");
    holds("plugin-features.json", &features);
    for benchmark in bench::shown::tests::benchmarks() {
        holds("plugin-bench.json", &benchmark);
    }
}

#[test]
fn transfers_are_as_their_schemas_say() {
    let of = |report: Option<&str>| Pushed {
        digest: DIGEST.to_owned(),
        component: DIGEST.to_owned(),
        report: report.map(str::to_owned),
        sent: 7,
    };
    for report in [None, Some(DIGEST)] {
        holds("plugin-push.json", &push::for_programs(REFERENCE, &of(report), 7));
        let signed_by = report.map(|_| "00ff".to_owned());
        let written = WrittenFiles { file: Path::new("a.wasm"), report: report.map(Path::new), signed_by };
        holds("plugin-pull.json", &pull::for_programs(REFERENCE, DIGEST, "00ff", 7, &written));
    }
    let file = SetFile {
        name: PLUGIN_FILE.to_owned(),
        media_type: PLUGIN_FILE_TYPE,
        bytes: Vec::from(*b"plugins: []").into(),
    };
    let target = code_target(EngineKind::Synchronous).expect("an engine");
    let code = SetCode { component: DIGEST.to_owned(), target, bytes: Vec::from(*b"code").into() };
    let (created, annotations) = (Timestamp::UNIX_EPOCH, BTreeMap::new());
    let mut set = SetArtifact { files: vec![file], code: vec![code], created, annotations };
    holds("plugin-push-set.json", &push_set::for_programs(REFERENCE, &of(None), &set));
    set.code.clear();
    holds("plugin-push-set.json", &push_set::for_programs(REFERENCE, &of(None), &set));
    holds("plugin-inspect-set.json", &inspect::set::for_programs(&inspect::set::tests::listing()));
    let signature = "registry.example.com/plugins/a:sha256-00ff.sig";
    holds("plugin-sign.json", &sign::for_programs(REFERENCE, DIGEST, "ab", signature));
}

#[test]
fn answers_to_recorded_questions_are_as_their_schema_says() {
    for report in replay::tests::reports() {
        holds("plugin-replay.json", &report);
    }
    for data in [None, Some(b"allowed")] {
        holds("plugin-replay.json", &case_of_recording(data.map(|data| &data[..])));
    }
}

/// Returns what `--to-case` prints of a call of a handler that had these data.
fn case_of_recording(data: Option<&[u8]>) -> Value {
    let digests = data.map(|data| json!({"list": witlet_wasm::record::replay::digest_of(data)}));
    let pod = json!({"source": "api", "pod": {"metadata": {"name": "web", "namespace": "shop", "uid": "u-1"}, "spec": {"containers": []}}});
    let call = json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "RecordedCall", "note": "", "plugin": "p", "component": "p.wasm",
        "digest": "00", "config": {"allow": ["a"]}, "data": digests.unwrap_or_else(|| json!({})),
        "limits": {"timeoutMilliseconds": 100, "memoryBytes": 16_777_216}, "grants": [],
        "recordedAt": "2026-01-02T03:04:05Z", "tookNanoseconds": 1, "answer": {"kind": "admit"},
        "question": {
            "role": "admission", "operation": "add", "now": "2026-01-02T03:04:05.678Z", "pod": pod, "otherPods": [],
            "node": {"name": "n1", "addresses": ["10.0.0.1"], "facts": {"os": "linux"}, "devices": "[]", "node": {"metadata": {"name": "n1"}}},
        },
    });
    let call = serde_json::from_value(call).expect("a recorded call");
    let given = data.map(|data| ("list".to_owned(), data.to_owned())).into_iter().collect();
    witlet_conformance::cases::of_recording(&call, &given).expect("a case")
}

#[test]
fn conformance_reports_are_as_their_schema_says() {
    let finding = |repeat| Finding { repeat, ..Finding::new("a case", "reject", "handler.admit admits") };
    let results = [
        CheckResult::Passed,
        CheckResult::Failed(finding(None)),
        CheckResult::Failed(finding(Some("--only vectors".to_owned()))),
        CheckResult::Skipped { why: "there are none".to_owned() },
    ];
    let checks = Layer::ALL
        .into_iter()
        .cycle()
        .zip([None, Some(Role::Admission), Some(Role::Probe)].into_iter().cycle());
    let check = |((layer, role), result)| Check {
        layer,
        role,
        id: "layer/check",
        title: "it holds".to_owned(),
        result,
        took: Duration::from_millis(3),
    };
    let report = Report {
        api_version: API_VERSION,
        kind: KIND,
        kit_version: KIT_VERSION,
        component: Examined { name: "a.wasm".to_owned(), digest: "00ff".to_owned(), size_bytes: 7 },
        roles: vec![ReportRole { role: Role::PodSource, version: "0.1.0" }],
        config: Value::Null,
        seed: 7,
        layers: Layer::ALL.to_vec(),
        checks: checks.zip(results).map(check).collect(),
        figures: vec![Figure { name: "component size".to_owned(), unit: "bytes", value: 2048.0 }],
    };
    holds("plugin-test.json", &json_of(&report));
}
