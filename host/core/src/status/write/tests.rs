//! Tests of writes: which comes next, when an object may go, and what an answer means.

use k8s_openapi::api::core::v1::PodCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{StatusCause, StatusDetails};
use proptest::prelude::*;

use super::*;
use crate::fixtures::at;

fn status(phase: &str) -> PodStatus {
    PodStatus { phase: Some(phase.to_owned()), ..PodStatus::default() }
}

fn at_server(status: &PodStatus, is_deleted: bool) -> AtServer<'_> {
    AtServer { uid: "u1", resource_version: "7", is_deleted, status }
}

/// Reported of a pod: it may run, or is finished, or neither.
fn at_node(status: Option<&PodStatus>, may_run: bool, is_finished: bool) -> AtNode<'_> {
    AtNode { status, may_run, is_finished, is_static: false }
}

fn show(write: &Write) -> String {
    match write {
        Write::Patch { body, .. } => format!("patch {}", body["status"]["phase"].as_str().unwrap_or("-")),
        Write::Delete => "delete".to_owned(),
        Write::Nothing => "nothing".to_owned(),
    }
}

#[test]
fn an_end_is_reported_then_the_object_goes() {
    // At the server: phase, deleted. Reported: phase, may run, finished, static.
    type Case = (&'static str, bool, Option<&'static str>, bool, bool, bool, &'static str);
    let cases: [Case; 16] = [
        ("Pending", false, None, true, false, false, "nothing"),
        ("Pending", false, Some("Pending"), true, false, false, "nothing"),
        ("Pending", false, Some("Running"), true, false, false, "patch Running"),
        ("Running", true, Some("Running"), true, false, false, "nothing"),
        // Held back while containers may run.
        ("Running", true, Some("Failed"), true, false, false, "nothing"),
        ("Running", true, Some("Failed"), false, false, false, "patch Failed"),
        ("Running", true, Some("Failed"), false, true, false, "patch Failed"),
        // Reported, but something of it is left.
        ("Failed", true, Some("Failed"), false, false, false, "nothing"),
        ("Failed", true, Some("Failed"), false, true, false, "delete"),
        ("Succeeded", true, Some("Succeeded"), false, true, false, "delete"),
        // No one deleted it.
        ("Failed", false, Some("Failed"), false, true, false, "nothing"),
        // Its end came from elsewhere, and this agent never had a status of it.
        ("Failed", true, None, false, true, false, "delete"),
        ("Failed", true, None, true, false, false, "nothing"),
        ("Pending", true, None, false, true, false, "nothing"),
        // A mirror goes with its static pod.
        ("Failed", true, Some("Failed"), false, true, true, "nothing"),
        ("Running", true, Some("Failed"), false, true, true, "patch Failed"),
    ];
    for (phase, deleted, tells, may_run, is_finished, is_static, expected) in cases {
        let tells = tells.map(|phase| {
            let conditions = Some(Vec::<PodCondition>::new());
            PodStatus { conditions, ..status(phase) }
        });
        let at_node = AtNode { is_static, ..at_node(tells.as_ref(), may_run, is_finished) };
        let write = next_write(at_server(&status(phase), deleted), at_node, at(0));
        assert_eq!(show(&write), expected, "{phase} {deleted} {at_node:?}");
    }
}

fn words(code: i32, reason: &str, field: Option<&str>) -> Status {
    let cause = field.map(|field| StatusCause { field: Some(field.to_owned()), ..StatusCause::default() });
    let details = StatusDetails { causes: cause.map(|cause| vec![cause]), ..StatusDetails::default() };
    Status { code: Some(code), reason: Some(reason.to_owned()), details: Some(details), ..Status::default() }
}

#[test]
fn what_an_answer_means() {
    let seconds = Duration::from_secs;
    let said = |code: u16, reason: &str, field| (Some(code), Some(words(i32::from(code), reason, field)));
    let cases = [
        (said(404, "NotFound", None), None, Next::AwaitNews),
        (said(409, "Conflict", None), None, Next::AwaitNews),
        (said(422, "Invalid", Some("metadata.uid")), None, Next::AwaitNews),
        // The server doesn't like the status itself.
        (said(422, "Invalid", Some("status.phase")), None, Next::Retry),
        (said(422, "Invalid", None), None, Next::Retry),
        (said(403, "Forbidden", None), None, Next::Retry),
        (said(400, "BadRequest", None), None, Next::Retry),
        (said(500, "InternalError", None), None, Next::Retry),
        (said(500, "InternalError", None), Some(seconds(3)), Next::Pause(seconds(3))),
        (said(401, "Unauthorized", None), None, Next::Pause(seconds(0))),
        (said(429, "TooManyRequests", None), Some(seconds(7)), Next::Pause(seconds(7))),
        (said(429, "TooManyRequests", None), Some(seconds(86_400)), Next::Pause(RETRY_AFTER_MAX)),
        // Something between here and the server speaks.
        ((Some(404), None), None, Next::Retry),
        ((Some(409), None), None, Next::Retry),
        ((Some(422), None), None, Next::Retry),
        ((Some(502), None), None, Next::Pause(seconds(0))),
        ((Some(503), None), None, Next::Pause(seconds(0))),
        ((Some(504), None), None, Next::Pause(seconds(0))),
        // No one does.
        ((None, None), None, Next::Pause(seconds(0))),
    ];
    for ((code, words), retry_after, expected) in cases {
        assert_eq!(judge(code, words.as_ref(), retry_after), expected, "{code:?} {words:?} {retry_after:?}");
    }
}

#[test]
fn retries_come_later_and_later_but_not_too_late() {
    let full = |failures| backoff(failures, 0.0).as_millis();
    assert_eq!([1, 2, 3, 4, 5, 6, 7].map(full), [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    assert_eq!(backoff(u32::MAX, 0.0), RETRY_MAX);
    assert_eq!(backoff(3, 0.5), Duration::from_millis(1_500));
}

#[test]
fn the_newer_object_is_the_one_with_the_greater_version() {
    let cases = [
        ("10", "9", true),
        ("9", "10", false),
        ("9", "9", false),
        ("9", "", true),
        ("", "9", false),
        ("x", "y", false),
    ];
    for (version, than, expected) in cases {
        assert_eq!(is_newer(version, than), expected, "{version} and {than}");
    }
}

proptest! {
    #[test]
    fn a_back_off_is_within_its_bounds(failures in 1_u32.., jitter in 0.0..1.0_f64) {
        let wait = backoff(failures, jitter);
        prop_assert!(wait >= RETRY_MIN / 2 && wait <= RETRY_MAX);
    }
}
