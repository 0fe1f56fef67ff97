//! Between the host's vocabulary and `witlet:probe@0.1.0`'s.

use k8s_openapi::api::core::v1::{ContainerPort, Pod};
use witlet_core::probe::{ProbeKind, ProbeOutcome};
use witlet_core::runtime::ExecOutput;

use super::super::answer::TEXT_BYTES_MAX;
use super::super::exec::{ExecFault, joined};
use super::bindings::witlet::probe::{exec, types as wit};
use crate::worlds::output;

/// Converts the outcome, with its text cut.
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

/// Both outputs as one.
pub(super) fn exec_result(ended: Result<ExecOutput, ExecFault>) -> Result<exec::ExecResult, exec::ExecError> {
    match ended {
        Ok(output) => Ok(exec::ExecResult { exit_code: output.exit_code, output: joined(&output) }),
        Err(ExecFault::TimedOut) => Err(exec::ExecError::TimedOut),
        Err(ExecFault::Failed(words)) => Err(exec::ExecError::Failed(words)),
    }
}

#[cfg(test)]
mod tests;
