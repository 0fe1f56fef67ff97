//! Why a command in a container didn't end by itself.

/// A command that didn't end by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// It ran out of the probe's time, and was killed.
    #[error("the command timed out")]
    TimedOut,
    /// The runtime couldn't run it.
    #[error("{message}")]
    Failed {
        /// In the runtime's words.
        message: String,
    },
}
