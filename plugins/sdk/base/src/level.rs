//! Levels of lines for the node's log.

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Each step.
    Trace,
    /// What helps to find a fault.
    Debug,
    /// What operators want to know.
    Info,
    /// What they should check.
    Warn,
    /// What doesn't work.
    Error,
}
