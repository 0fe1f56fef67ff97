//! What is kept of a probe.

use super::*;

#[test]
fn each_outcome_is_kept_with_its_words() {
    let (at, took) = (Timestamp::UNIX_EPOCH, Duration::from_millis(2));
    let text = |text: &str| text.to_owned();
    for (outcome, kept, message) in [
        (Some(Ok(ProbeOutcome::Success(text("ok")))), LastOutcome::Success, "ok"),
        (Some(Ok(ProbeOutcome::Warning(text("redirected")))), LastOutcome::Warning, "redirected"),
        (Some(Ok(ProbeOutcome::Failure(text("HTTP 500")))), LastOutcome::Failure, "HTTP 500"),
        (Some(Err(ProbeError::Parameters { words: text("no port") })), LastOutcome::Failure, "no port"),
        (
            Some(Err(ProbeError::UnknownType { probe_type: text("mysql") })),
            LastOutcome::Failure,
            "unknown probe type \"mysql\"",
        ),
        (Some(Err(ProbeError::NotCarriedOut { message: text("gone") })), LastOutcome::Unknown, "gone"),
        (Some(Err(ProbeError::NotNow { message: text("quarantined") })), LastOutcome::Unknown, "quarantined"),
        (None, LastOutcome::Unknown, "the probe panicked; see the agent's log"),
    ] {
        let expected = LastProbe { at, took, outcome: kept, message: text(message) };
        assert_eq!(latest(outcome.as_ref(), at, took), expected);
    }
}

#[test]
fn what_a_process_says_at_length_is_cut() {
    let said = Ok(ProbeOutcome::Success("x".repeat(1 << 20)));
    let kept = latest(Some(&said), Timestamp::UNIX_EPOCH, Duration::ZERO);
    assert!(kept.message.len() <= MESSAGE_BYTES_MAX);
}
