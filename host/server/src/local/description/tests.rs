//! The form of what is known of a pod.

use jiff::Timestamp;
use witlet_core::admission::chain::{FailureKind, FailurePolicy, HandlerResponse};
use witlet_core::admission::verdicts::Remarks;
use witlet_core::probe::ProbeKind;
use witlet_core::probe::worker::ProbeSettings;
use witlet_ports::{LastOutcome, LastProbe, ProbeCounts};

use super::*;

#[test]
fn verdicts_and_probes_have_all_their_fields() {
    let failure = HandlerResponse::Failure {
        kind: FailureKind::Trapped,
        message: "it trapped".to_owned(),
        policy: FailurePolicy::Defer,
        retry_after: None,
    };
    let asked = (Operation::Resize, Timestamp::UNIX_EPOCH);
    let verdict =
        HandlerVerdict::new("images".into(), Some("c0dd".into()), asked, &failure, Duration::from_millis(1));
    let annotations = [("rule".to_owned(), "7".to_owned())].into();
    let verdict = verdict.with_remarks(Remarks { warnings: vec!["old tag".to_owned()], annotations });
    let settings = ProbeSettings {
        period: Duration::from_millis(500),
        timeout: Duration::from_secs(1),
        initial_delay: Duration::ZERO,
        success_threshold: 1,
        failure_threshold: 3,
    };
    let last = LastProbe {
        at: Timestamp::UNIX_EPOCH,
        took: Duration::from_millis(2),
        outcome: LastOutcome::Warning,
        message: "moved".to_owned(),
    };
    let probe = ProbeReport {
        container: "app".to_owned(),
        kind: ProbeKind::Liveness,
        probe_type: Some("httpGet".into()),
        settings,
        result: Some(ProbeResult::Success),
        last: Some(last),
        counts: ProbeCounts { successful: 5, failed: 2, unknown: 1 },
    };
    let unprobed = ProbeReport { probe_type: None, result: None, last: None, ..probe.clone() };
    let shown = json(&PodDescription { verdicts: vec![verdict], probes: vec![probe, unprobed] });
    let admission = json!([{
        "handler": "images", "digest": "c0dd", "operation": "Resize", "outcome": "Failed", "reason": "HandlerTrapped",
        "message": "it trapped", "failurePolicy": "Defer", "time": "1970-01-01T00:00:00Z", "durationSeconds": 0.001,
        "warnings": ["old tag"], "annotations": {"rule": "7"},
    }]);
    assert_eq!(shown["admission"], admission);
    let probe = json!({
        "container": "app", "kind": "Liveness", "type": "httpGet", "periodSeconds": 0.5, "timeoutSeconds": 1.0,
        "initialDelaySeconds": 0.0, "successThreshold": 1, "failureThreshold": 3, "result": "Success",
        "last": {"outcome": "Warning", "message": "moved", "time": "1970-01-01T00:00:00Z", "durationSeconds": 0.002},
        "successes": 5, "failures": 2, "unknowns": 1,
    });
    assert_eq!(shown["probes"][0], probe);
    assert_eq!((&shown["probes"][1]["last"], &shown["probes"][1]["type"]), (&Value::Null, &Value::Null));
}
