//! A host takes what was signed of a report, and nothing else.

use std::time::Duration;

use serde_json::json;
use witlet_wasm::attestation::{Requirements, SigningKey, VerifyError, verify};

use super::*;
use crate::check::{Check, Finding};
use crate::plan::KIT_VERSION;
use crate::report::{API_VERSION, Examined, KIND, ReportRole};

const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIZEkyYXsYlcllWOfZF8F777/U9QikkTEVLr7IYygXbg
-----END PRIVATE KEY-----
";
const DIGEST: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn check(layer: Layer, role: Role, result: CheckResult) -> Check {
    let title = String::new();
    Check { layer, role: Some(role), id: "a/b", title, result, took: Duration::ZERO }
}

fn report(checks: Vec<Check>) -> Report {
    let served = |role| ReportRole { role, version: "0.1.0" };
    Report {
        api_version: API_VERSION,
        kind: KIND,
        kit_version: KIT_VERSION,
        component: Examined { name: "a.wasm".to_owned(), digest: DIGEST.to_owned(), size_bytes: 8 },
        roles: vec![served(Role::Admission), served(Role::Probe)],
        config: json!({"a": 1}),
        seed: 7,
        layers: Layer::ALL.to_vec(),
        checks,
        figures: Vec::new(),
    }
}

/// Whether a host that demands these roles takes it.
fn taken(report: &Report, roles: &[&str]) -> Result<(), VerifyError> {
    let key = SigningKey::from_pem(KEY.as_bytes()).expect("a key");
    let envelope = statement(report, Timestamp::UNIX_EPOCH).sign(&key);
    let kit_version = KIT_VERSION.parse().ok();
    let expected = Requirements { digest: DIGEST, roles, kit_version, failed_too: false };
    verify(&envelope, &[key.public()], &expected).map(|accepted| assert!(accepted.passed))
}

#[test]
fn a_host_takes_a_report_for_the_roles_that_were_tried() {
    let skipped = || CheckResult::Skipped { why: "no case".to_owned() };
    let report = report(vec![
        check(Layer::Load, Role::Admission, CheckResult::Passed),
        check(Layer::Load, Role::Probe, CheckResult::Passed),
        check(Layer::Vectors, Role::Admission, CheckResult::Passed),
        check(Layer::Vectors, Role::Probe, skipped()),
    ]);
    assert_eq!(taken(&report, &["admission"]), Ok(()));
    assert!(matches!(taken(&report, &["probe"]), Err(VerifyError::RoleNotTested { .. })));
}

#[test]
fn a_host_takes_no_report_that_leaves_a_layer_out() {
    let checks = || {
        vec![
            check(Layer::Load, Role::Admission, CheckResult::Passed),
            check(Layer::Vectors, Role::Admission, CheckResult::Passed),
        ]
    };
    assert_eq!(taken(&report(checks()), &["admission"]), Ok(()));
    for left_out in Layer::ALL {
        let layers = Layer::ALL.into_iter().filter(|layer| *layer != left_out).collect();
        let missing = vec![left_out.as_str().to_owned()];
        let partial = Report { layers, ..report(checks()) };
        assert_eq!(taken(&partial, &["admission"]), Err(VerifyError::Incomplete { missing }));
    }
}

#[test]
fn a_host_takes_no_report_of_failures_or_of_nothing() {
    let failed = CheckResult::Failed(Finding::new("a", "b", "c"));
    let passed = || check(Layer::Vectors, Role::Admission, CheckResult::Passed);
    let load = || check(Layer::Load, Role::Admission, CheckResult::Passed);
    let failing = report(vec![load(), passed(), check(Layer::Budget, Role::Admission, failed)]);
    assert!(matches!(taken(&failing, &["admission"]), Err(VerifyError::Failed { failed: 1, .. })));
    assert!(matches!(taken(&report(vec![passed()]), &["admission"]), Err(VerifyError::Failed { .. })));
    assert!(matches!(taken(&report(Vec::new()), &["admission"]), Err(VerifyError::RoleNotTested { .. })));
}
