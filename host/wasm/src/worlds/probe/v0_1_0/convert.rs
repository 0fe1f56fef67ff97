//! Between the host's vocabulary and `witlet:probe@0.1.0`'s.

use k8s_openapi::api::core::v1::{ContainerPort, Pod};
use witlet_core::probe::{ProbeKind, ProbeOutcome};
use witlet_core::runtime::ExecOutput;

use super::super::TEXT_BYTES_MAX;
use super::bindings::witlet::probe::{exec, types as wit};
use crate::record::ExecRecord;
use crate::worlds::{Reply, output};

/// A `result` as the guest gave it.
pub(super) fn reply<T>(answer: Result<T, String>) -> Reply<T> {
    match answer {
        Ok(answer) => Reply::Answer(answer),
        Err(words) => Reply::Refusal(words),
    }
}

/// With its text cut.
pub(super) fn outcome(outcome: wit::Outcome) -> ProbeOutcome {
    match outcome {
        wit::Outcome::Success(text) => ProbeOutcome::Success(output(text, TEXT_BYTES_MAX)),
        wit::Outcome::Warning(text) => ProbeOutcome::Warning(output(text, TEXT_BYTES_MAX)),
        wit::Outcome::Failure(text) => ProbeOutcome::Failure(output(text, TEXT_BYTES_MAX)),
    }
}

pub(super) fn kind(kind: ProbeKind) -> wit::ProbeKind {
    match kind {
        ProbeKind::Startup => wit::ProbeKind::Startup,
        ProbeKind::Readiness => wit::ProbeKind::Readiness,
        ProbeKind::Liveness => wit::ProbeKind::Liveness,
    }
}

pub(super) fn pod_ref(pod: &Pod) -> wit::PodRef {
    let metadata = &pod.metadata;
    wit::PodRef {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        uid: metadata.uid.clone().unwrap_or_default(),
    }
}

/// Ports of valid pods are in range, and TCP is what a port is that says nothing.
pub(super) fn named_port((name, port): (&str, &ContainerPort)) -> wit::NamedPort {
    wit::NamedPort {
        name: name.to_owned(),
        port: u16::try_from(port.container_port).unwrap_or(0),
        protocol: port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()),
    }
}

/// First what the command wrote on its standard output, then on its standard error.
pub(super) fn exec_result(output: ExecOutput) -> exec::ExecResult {
    let ExecOutput { stdout, stderr, exit_code } = output;
    let mut output = stdout;
    output.extend(stderr);
    output.truncate(TEXT_BYTES_MAX);
    exec::ExecResult { exit_code, output }
}

/// A command as it is recorded.
pub(super) fn exec_record(
    command: Vec<String>,
    answer: &Result<exec::ExecResult, exec::ExecError>,
) -> ExecRecord {
    let (output, exit_code, error) = match answer {
        Ok(exec::ExecResult { exit_code, output }) => {
            (Some(String::from_utf8_lossy(output).into_owned()), Some(*exit_code), None)
        }
        Err(exec::ExecError::TimedOut) => (None, None, Some("timed out".to_owned())),
        Err(exec::ExecError::Failed(words)) => (None, None, Some(words.clone())),
    };
    ExecRecord { command, output, exit_code, error }
}

#[cfg(test)]
mod tests;
