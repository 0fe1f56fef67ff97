//! Why a call gave no answer that counts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use witlet_core::admission::chain::FailureKind;
use witlet_core::error::one_line;

use crate::plugin::health::Outcome;
use crate::plugin::{LoadError, StateExcess};
use crate::wasi::WouldBlock;

/// Why a plugin gave no verdict.
#[derive(Clone, Debug, Error)]
pub enum CallError {
    /// The guest did what WebAssembly forbids, or gave up.
    #[error("it trapped: {message}")]
    Trap { message: String },
    /// The guest called itself too deeply.
    #[error("it ran out of stack")]
    StackOverflow,
    /// It took longer than it may.
    #[error("no answer within {}ms", limit.as_millis())]
    Timeout {
        /// What it was given.
        limit: Duration,
    },
    /// It exceeded its memory limit.
    #[error("it exceeded its memory limit of {limit} bytes")]
    OutOfMemory {
        /// What it was given.
        limit: usize,
    },
    /// It exceeded its limit of table elements.
    #[error("it exceeded its limit of {limit} table elements")]
    OutOfTable {
        /// What it was given.
        limit: usize,
    },
    /// It waited for something.
    #[error("{0}")]
    WouldBlock(WaitedIn),
    /// Its answer, or what it handed to the host, is larger than it may be.
    #[error("it passed more than {limit} bytes in one call")]
    TooMuchData {
        /// What it may hand over.
        limit: usize,
    },
    /// It keeps more in its folder than it may.
    #[error("{0}")]
    State(StateExcess),
    /// What it exports has the right names and the wrong types.
    #[error("the component doesn't fit the contract: {message}")]
    Mismatch { message: String },
    /// It ended itself through WASI.
    #[error("it exited with code {code}")]
    Exited { code: i32 },
    /// It gave an answer that the contract doesn't allow.
    #[error("{fault}")]
    BadAnswer {
        /// What is wrong with it.
        fault: String,
    },
    /// It answered with an error of its own.
    #[error("{words}")]
    Refused {
        /// In its own words.
        words: String,
    },
    /// It couldn't be loaded.
    #[error(transparent)]
    NotLoaded { cause: Arc<LoadError> },
    /// It is fetched, compiled or asked about its configuration.
    #[error("still loading")]
    Loading,
    /// It failed too often.
    #[error("no calls for another {}s after repeated failures", remaining.as_secs_f64().ceil())]
    Quarantined {
        /// Until it is asked again.
        remaining: Duration,
    },
    /// The host had no free instance, or no thread.
    #[error("all instances are in use")]
    Busy,
    /// The host failed while it asked.
    #[error("internal error of the plugin host, see the agent's log")]
    Host,
}

/// The call of WASI that a guest waited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitedIn(WouldBlock);

impl WaitedIn {
    pub(super) fn new(waited: WouldBlock) -> Self {
        Self(waited)
    }
}

impl fmt::Display for WaitedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CallError {
    /// Returns the message with its causes.
    pub fn sentence(&self) -> String {
        one_line(self)
    }

    /// The kind that the failure policy and the pod's status know it by.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Trap { .. }
            | Self::StackOverflow
            | Self::WouldBlock(_)
            | Self::TooMuchData { .. }
            | Self::State(_)
            | Self::Exited { .. } => FailureKind::Trapped,
            Self::Timeout { .. } => FailureKind::TimedOut,
            Self::OutOfMemory { .. } | Self::OutOfTable { .. } => FailureKind::OutOfMemory,
            Self::BadAnswer { .. } | Self::Mismatch { .. } => FailureKind::BadAnswer,
            Self::Refused { .. } => FailureKind::Failed,
            Self::NotLoaded { .. } | Self::Loading => FailureKind::NotLoaded,
            Self::Quarantined { .. } => FailureKind::Quarantined,
            Self::Busy | Self::Host => FailureKind::Host,
        }
    }

    /// Returns what it says about the plugin's health. An error in the plugin's own words is the work of a healthy one.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Trap { .. }
            | Self::StackOverflow
            | Self::OutOfMemory { .. }
            | Self::OutOfTable { .. }
            | Self::WouldBlock(_)
            | Self::TooMuchData { .. }
            | Self::State(_)
            | Self::Exited { .. }
            | Self::Mismatch { .. }
            | Self::BadAnswer { .. } => Outcome::Failed,
            Self::Timeout { .. } => Outcome::TimedOut,
            Self::Refused { .. } => Outcome::Answered,
            Self::NotLoaded { .. } | Self::Loading | Self::Quarantined { .. } | Self::Busy | Self::Host => {
                Outcome::NotAsked
            }
        }
    }
}
