//! What a runtime under test offers to the suite.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use witlet_core::runtime::ImageAuth;

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

/// Commands that can be run in a container in addition to its own process.
#[derive(Clone, Debug)]
pub struct Commands {
    /// What the container runs meanwhile, for at least a minute.
    pub commands_in: Workload,
    /// Writes the line `to stdout` to its standard output and the line `to stderr` to its standard error, and ends with
    /// exit code 0.
    pub writes: Vec<String>,
    /// Ends with this exit code, which isn't 0.
    pub fails: (Vec<String>, i32),
    /// Doesn't end for at least a minute.
    pub never_ends: Vec<String>,
}

/// A registry that wants a password for some of its images.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Only for those who have [`Registry::auth`]; the runtime hasn't got it yet.
    pub private_image: String,
    /// The credentials.
    pub auth: ImageAuth,
    /// In the same registry, not there even for those who have them.
    pub absent_image: String,
}

/// Makes a workload for an absolute path in its container.
pub type WorkloadOnPath = Arc<dyn Fn(&str) -> Workload + Send + Sync>;

/// What goes beyond sandboxes that run containers. What a runtime hasn't got, it doesn't offer.
#[derive(Clone, Default)]
pub struct Offers {
    /// Commands in running containers.
    pub commands: Option<Commands>,
    /// Adds something to the file at this absolute path, which it makes if it has to, and ends: with exit code 0 if it
    /// could, otherwise with another one. None for a runtime without mounts.
    pub writes_to: Option<WorkloadOnPath>,
    /// Writes a line to its standard output at least each second, for at least a minute.
    pub writes_on: Option<Workload>,
    /// Whether the limits of running containers can be changed.
    pub changes_limits: bool,
    /// A command that prints the memory limit of the container it runs in, in bytes; none if the runtime tells limits in
    /// its statuses.
    pub prints_memory_limit: Option<Vec<String>>,
    /// Whether the runtime tells by itself what happens. One that doesn't has to say so.
    pub tells_events: bool,
    /// A registry with passwords.
    pub registry: Option<Registry>,
    /// An image that can be pulled and removed at any time: no other image has its content, and no other case uses it.
    pub removable_image: Option<String>,
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
    /// What goes beyond that.
    pub offers: Offers,
    /// Whether sandboxes get addresses of their own.
    pub addresses: bool,
    /// How long something may take that happens by itself, such as a process's end. Generous: it is only waited for
    /// in full by what fails.
    pub timeout: Duration,
}
