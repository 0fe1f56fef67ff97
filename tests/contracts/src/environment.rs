//! What a runtime under test offers to the suite.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Something to run in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// An image that the runtime has, or can pull.
    pub image: String,
    /// Entry point; empty takes the image's.
    pub command: Vec<String>,
    /// Arguments.
    pub args: Vec<String>,
}

/// Workloads of a runtime that runs real processes.
#[derive(Clone)]
pub struct Processes {
    /// Ends at once with this exit code.
    pub exits_with: Arc<dyn Fn(i32) -> Workload + Send + Sync>,
    /// Ignores being asked to stop, and otherwise runs for at least a minute.
    pub ignores_stop: Workload,
    /// Writes the line `to stdout` to its standard output, the line `to stderr` to its standard error, then `no end`
    /// without a line end to its standard output, and ends. None for a runtime that keeps no logs.
    pub writes: Option<Workload>,
}

/// Where and with what the suite runs.
#[derive(Clone)]
pub struct Environment {
    /// An existing folder for the logs of pods, by absolute path.
    pub log_root: PathBuf,
    /// Runs for at least a minute, or until it is asked to stop.
    pub sleeper: Workload,
    /// None for a runtime without processes: its containers don't end by themselves.
    pub processes: Option<Processes>,
    /// An image that can be pulled; none if there is no registry to pull from.
    pub pullable_image: Option<String>,
    /// An image that doesn't exist, and whose pull fails without leaving this machine.
    pub absent_image: String,
    /// Whether sandboxes get addresses of their own.
    pub addresses: bool,
    /// How long something may take that happens by itself, such as a process's end. Generous: it is only waited for
    /// in full by what fails.
    pub patience: Duration,
}
