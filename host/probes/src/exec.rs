//! A command in the container, whose exit code says how it is.

use std::time::Duration;

use witlet_core::probe::ProbeOutcome;
use witlet_core::runtime::ContainerId;
use witlet_ports::{Containers, ProbeError, RuntimeError};

use crate::OUTPUT_BYTES_MAX;

#[cfg(test)]
mod tests;

/// Runs the command. Too long is a failure (`ExecProbeTimeout`); a runtime that can't run it is an error.
pub(crate) async fn probe(
    containers: &dyn Containers,
    container: &ContainerId,
    command: &[String],
    timeout: Duration,
) -> Result<ProbeOutcome, ProbeError> {
    // The runtime keeps the time; that it does is not relied on.
    let ran = tokio::time::timeout(timeout, containers.exec_sync(container, command, Some(timeout))).await;
    match ran {
        Err(_) | Ok(Err(RuntimeError::DeadlineExceeded { .. })) => Ok(ProbeOutcome::Failure(format!(
            "command {:?} timed out after {}s",
            command.join(" "),
            timeout.as_secs_f64()
        ))),
        Ok(Ok(output)) => {
            let text = text(&output.stdout, &output.stderr);
            Ok(match output.exit_code {
                0 => ProbeOutcome::Success(text),
                _ => ProbeOutcome::Failure(text),
            })
        }
        Ok(Err(error)) => Err(ProbeError { message: error.to_string() }),
    }
}

/// What the command wrote: first its standard output, then its standard error.
fn text(stdout: &[u8], stderr: &[u8]) -> String {
    let kept: Vec<u8> = stdout.iter().chain(stderr).take(OUTPUT_BYTES_MAX).copied().collect();
    String::from_utf8_lossy(&kept).into_owned()
}
