//! One probe, carried out: with a limit of time, and again if it could not be.

use std::time::Duration;

use tokio::time::timeout;
use witlet_core::probe::{ProbeOutcome, ProbeRequest};
use witlet_core::text::truncated;
use witlet_ports::{ProbeError, ProbeTypes};

/// How often a probe that could not be carried out is tried (upstream: `maxProbeRetries`).
pub(super) const TRIES_MAX: u32 = 3;
/// Probe types keep their time limit themselves; one that doesn't is cut off this much later.
const SLACK: Duration = Duration::from_secs(1);
/// What a probe says is cut to this many bytes (upstream: `maxRespBodyLength`, `maxReadLength`).
const OUTPUT_BYTES_MAX: usize = 10 * 1024;

/// Probes, at most [`TRIES_MAX`] times, but only once where another try can't do better.
pub(super) async fn attempt(
    types: &dyn ProbeTypes,
    request: &ProbeRequest,
) -> Result<ProbeOutcome, ProbeError> {
    let limit = request.timeout;
    let mut tries = 0;
    loop {
        tries += 1;
        let probe = timeout(limit.saturating_add(SLACK), types.probe(request)).await;
        match probe {
            Ok(Ok(outcome)) => return Ok(cut(outcome)),
            Ok(Err(ProbeError::NotCarriedOut { .. })) if tries < TRIES_MAX => {}
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                return Ok(ProbeOutcome::Failure(format!("no answer within {}s", limit.as_secs_f64())));
            }
        }
    }
}

fn cut(outcome: ProbeOutcome) -> ProbeOutcome {
    let cut = |text: String| truncated(text, OUTPUT_BYTES_MAX);
    match outcome {
        ProbeOutcome::Success(text) => ProbeOutcome::Success(cut(text)),
        ProbeOutcome::Warning(text) => ProbeOutcome::Warning(cut(text)),
        ProbeOutcome::Failure(text) => ProbeOutcome::Failure(cut(text)),
    }
}
