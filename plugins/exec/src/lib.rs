//! Probe type `exec`: a command in the container, whose exit code says how it is (upstream's `pkg/probe/exec`).
//!
//! Parameters are the spec's `exec` object: `{"command": ["cat", "/tmp/healthy"]}`.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use witlet_plugin_sdk::probe::{ExecError, Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::seconds;
use witlet_plugin_sdk::{Error, export_probe};

/// The probe type.
pub struct Exec;

/// What stands under `exec:` in the spec.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The command and its arguments; no shell runs it.
    #[serde(default)]
    pub command: Vec<String>,
}

impl ProbeType for Exec {
    type Config = ();
    type Parameters = Parameters;

    /// Exit code 0 is a success, any other a failure, and so is a command that takes longer than the probe may; a runtime
    /// that can't run it is an error. What the command wrote is reported.
    fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
        let timeout = target.remaining();
        match target.exec(&parameters.command) {
            Ok(ended) => {
                let text = String::from_utf8_lossy(&ended.output).into_owned();
                Ok(if ended.exit_code == 0 { Outcome::Success(text) } else { Outcome::Failure(text) })
            }
            Err(ExecError::TimedOut) => Ok(Outcome::Failure(format!(
                "command timed out: {:?} timed out after {}",
                parameters.command.join(" "),
                seconds(timeout)
            ))),
            Err(error @ ExecError::Failed { .. }) => Err(error.into()),
        }
    }
}

export_probe!(Exec);

#[cfg(test)]
mod tests;
