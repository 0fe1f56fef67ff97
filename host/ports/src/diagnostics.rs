//! The port to the settings of the agent's own process that an operator may change while it runs.

use thiserror::Error;

/// The verbosity can't be changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct VerbosityError {
    pub message: String,
}

/// How much the process logs.
pub trait LogVerbosity: Send + Sync {
    /// Logs this much from now on, by klog's numbers.
    fn set(&self, verbosity: u32) -> Result<(), VerbosityError>;
}
