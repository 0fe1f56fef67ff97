//! What a probe found last, as it is kept for people who check the pod.

use std::time::Duration;

use jiff::Timestamp;
use witlet_core::probe::ProbeOutcome;
use witlet_core::text::shortened;
use witlet_ports::{LastOutcome, LastProbe, ProbeError};

#[cfg(test)]
mod tests;

/// Bytes of what a probe said that are kept.
const MESSAGE_BYTES_MAX: usize = 1024;

/// A probe that ended at this time; none is the outcome of one that panicked.
pub(super) fn latest(
    outcome: Option<&Result<ProbeOutcome, ProbeError>>,
    at: Timestamp,
    took: Duration,
) -> LastProbe {
    let (outcome, message) = match outcome {
        Some(Ok(ProbeOutcome::Success(said))) => (LastOutcome::Success, said.clone()),
        Some(Ok(ProbeOutcome::Warning(said))) => (LastOutcome::Warning, said.clone()),
        Some(Ok(ProbeOutcome::Failure(said))) => (LastOutcome::Failure, said.clone()),
        Some(Err(error @ (ProbeError::UnknownType { .. } | ProbeError::Parameters { .. }))) => {
            (LastOutcome::Failure, error.to_string())
        }
        Some(Err(error @ (ProbeError::NotCarriedOut { .. } | ProbeError::NotNow { .. }))) => {
            (LastOutcome::Unknown, error.to_string())
        }
        None => (LastOutcome::Unknown, "the probe panicked; see the agent's log".to_owned()),
    };
    LastProbe { at, took, outcome, message: shortened(message, MESSAGE_BYTES_MAX) }
}
