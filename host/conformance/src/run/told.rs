//! What came of a call, in words.

use witlet_core::admission::Verdict;
use witlet_core::config::source::{PollAnswer, Snapshot, SourceFault};
use witlet_core::probe::ProbeOutcome;
use witlet_wasm::direct::HeardLine;
use witlet_wasm::plugin::CallError;

/// `reject ImageNotAllowed: …`
pub fn verdict_told(result: &Result<Verdict, CallError>) -> String {
    match result {
        Ok(Verdict::Admit) => "admit".to_owned(),
        Ok(Verdict::Reject { reason, message }) => format!("reject {reason}: {message:?}"),
        Ok(Verdict::Defer { reason, message, retry_after }) => {
            format!("defer {reason}: {message:?}, again after {}ms", retry_after.as_millis())
        }
        Ok(Verdict::Shortage(shortages)) => {
            let told = shortages.iter().map(|shortage| {
                let witlet_core::admission::Shortage { resource, requested, used, capacity } = shortage;
                format!("{resource} (requested {requested}, used {used}, capacity {capacity})")
            });
            format!("shortage of {}", told.collect::<Vec<_>>().join(", "))
        }
        Err(error) => error_told(error),
    }
}

/// `failure: …`
pub fn outcome_told(result: &Result<ProbeOutcome, CallError>) -> String {
    match result {
        Ok(ProbeOutcome::Success(detail)) => format!("success: {detail:?}"),
        Ok(ProbeOutcome::Warning(detail)) => format!("warning: {detail:?}"),
        Ok(ProbeOutcome::Failure(detail)) => format!("failure: {detail:?}"),
        Err(error) => error_told(error),
    }
}

/// `2 pods, cursor "…"`
pub fn poll_told(result: &Result<Result<PollAnswer, SourceFault>, CallError>) -> String {
    match result {
        Ok(Ok(PollAnswer { snapshot, cursor, next_poll: _ })) => {
            let has = match snapshot {
                Snapshot::Unchanged => "unchanged".to_owned(),
                Snapshot::Pods(manifests) => format!("{} pods", manifests.len()),
                Snapshot::Empty => "empty".to_owned(),
            };
            match cursor {
                Some(cursor) => format!("{has}, cursor {cursor:?}"),
                None => has,
            }
        }
        Ok(Err(SourceFault { reason, message, retry_after: _ })) => format!("error {reason}: {message:?}"),
        Err(error) => error_told(error),
    }
}

/// An error in the plugin's own words, or how the call failed.
pub(crate) fn error_told(error: &CallError) -> String {
    match error {
        CallError::Refused { words } => format!("an error: {words:?}"),
        other => format!("no answer: {}", other.sentence()),
    }
}

/// How many lines of a log are told.
const LINES_TOLD_MAX: usize = 10;

/// What was logged, each line in one; nothing for a silent one.
pub fn lines_told(lines: &[HeardLine]) -> String {
    let mut told: Vec<String> = lines
        .iter()
        .take(LINES_TOLD_MAX)
        .map(|line| {
            let fields: String = line.fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            format!("{}: {}{fields}", line.level, line.message)
        })
        .collect();
    if lines.len() > LINES_TOLD_MAX {
        told.push(format!("… and {} lines more", lines.len() - LINES_TOLD_MAX));
    }
    told.join("\n")
}
