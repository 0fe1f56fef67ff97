//! How a workload ended, in the terms that Kubernetes has for processes.

use serde::{Deserialize, Serialize};
use wasmtime_wasi::I32Exit;

use super::account::MemoryExceeded;

/// The code of a process that was killed: 128 and SIGKILL.
pub(crate) const CODE_KILLED: i32 = 137;
/// The code of a process that aborted: 128 and SIGABRT. A trap is the nearest that a component has.
const CODE_ABORTED: i32 = 134;
/// The code of a program that couldn't be started, as runc has it.
const CODE_NOT_STARTED: i32 = 128;
/// As much of a trap's description is kept; it holds a backtrace.
const MESSAGE_BYTES_MAX: usize = 4096;

/// Why it ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ExitReason {
    /// With code 0.
    Completed,
    Error,
    /// It exceeded its memory limit.
    OomKilled,
    /// It couldn't be started.
    StartError,
    /// The runtime ended under it.
    Unknown,
}

impl ExitReason {
    /// The word that containerd, CRI-O and the kubelet use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::Error => "Error",
            Self::OomKilled => "OOMKilled",
            Self::StartError => "StartError",
            Self::Unknown => "ContainerStatusUnknown",
        }
    }
}

/// The end of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exit {
    /// As a shell would see it.
    pub(crate) code: i32,
    pub(crate) reason: ExitReason,
    /// For people; often empty.
    pub(crate) message: String,
}

impl Exit {
    /// The program left with a code.
    pub(crate) fn left(code: i32) -> Self {
        let reason = if code == 0 { ExitReason::Completed } else { ExitReason::Error };
        Self { code, reason, message: String::new() }
    }

    /// It was killed.
    pub(crate) fn killed() -> Self {
        Self { code: CODE_KILLED, reason: ExitReason::Error, message: String::new() }
    }

    /// The runtime was killed while it ran.
    pub(crate) fn lost() -> Self {
        let message = "the runtime ended while the container ran".to_owned();
        Self { code: CODE_KILLED, reason: ExitReason::Unknown, message }
    }

    /// Returns the exit of a workload that failed to start.
    pub(crate) fn not_started(message: &str) -> Self {
        Self { code: CODE_NOT_STARTED, reason: ExitReason::StartError, message: shorten(message) }
    }

    /// What the call of the program's `run` came to.
    pub(crate) fn of(outcome: wasmtime::Result<Result<(), ()>>) -> Self {
        let error = match outcome {
            Ok(Ok(())) => return Self::left(0),
            Ok(Err(())) => return Self::left(1),
            Err(error) => error,
        };
        if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
            return Self::left(*code);
        }
        if let Some(exceeded) = error.downcast_ref::<MemoryExceeded>() {
            return Self { code: CODE_KILLED, reason: ExitReason::OomKilled, message: exceeded.to_string() };
        }
        Self { code: CODE_ABORTED, reason: ExitReason::Error, message: shorten(&format!("{error:#}")) }
    }
}

fn shorten(message: &str) -> String {
    message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests;
