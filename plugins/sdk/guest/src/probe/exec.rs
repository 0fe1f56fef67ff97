//! Commands in the probed container.
//!
//! They are run by [`Target::exec`](super::Target::exec).

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its exit code.
    pub exit_code: i32,
    /// Standard output and standard error, cut at 10 KiB.
    pub output: Vec<u8>,
}

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
