//! When a container's log is rotated, what becomes of those that were rotated before, and what is shown of a log.
//!
//! Rules of the kubelet's `container_log_manager` and of its `containerLogs` endpoint.

use std::time::Duration;

use jiff::Timestamp;

use crate::runtime::ContainerRunState;

mod entry;
mod lines;
pub mod node_query;
mod reading;
mod request;
mod which;

pub use entry::{LogEntry, LogStream};
pub use lines::{LINE_BYTES_MAX, LogLines};
pub use reading::{FilterProgress, LogFilter};
pub use request::{LogRequest, LogRequestError};
pub use which::container_with_log;

#[cfg(test)]
mod tests;

/// Size at which a log is rotated, in bytes (`containerLogMaxSize`).
pub const LOG_BYTES_MAX_DEFAULT: u64 = 10 * 1024 * 1024;
/// Files that a log has at most, the live one among them (`containerLogMaxFiles`).
pub const LOG_FILES_MAX_DEFAULT: usize = 5;
/// The least that this number may be: the live one and the one that it was before.
pub const LOG_FILES_MIN: usize = 2;
/// How often sizes are checked (`containerLogMonitorInterval`).
pub const LOG_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// How the name of a packed log ends.
pub const PACKED: &str = ".gz";
/// How the name of a log ends that is just being packed.
pub const PACKING: &str = ".tmp";

/// What is done to a log at a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStep {
    Leave,
    /// It is gone: the runtime begins a new one. Its size is checked next time.
    Reopen,
    Rotate,
}

/// Returns what to do to a log of this size (none: there is none). Only containers that run write more, so that the log of
/// others stays as it is.
pub fn log_step(state: ContainerRunState, size_bytes: Option<u64>, bytes_max: u64) -> LogStep {
    match (state, size_bytes) {
        (ContainerRunState::Running, None) => LogStep::Reopen,
        (ContainerRunState::Running, Some(size)) if size >= bytes_max => LogStep::Rotate,
        (ContainerRunState::Running, Some(_))
        | (ContainerRunState::Created | ContainerRunState::Exited | ContainerRunState::Unknown, _) => {
            LogStep::Leave
        }
    }
}

/// What is done to older logs before the live one is moved away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Names to remove: what an interrupted rotation left, and then the oldest.
    pub remove: Vec<String>,
    /// Names to pack, the oldest first.
    pub pack: Vec<String>,
}

/// Sorts what lies in the folder of the log with this name. Names that don't belong to the log are left alone.
pub fn rotation<'a>(log: &str, names: impl IntoIterator<Item = &'a str>, files_max: usize) -> Rotation {
    let own = names.into_iter().filter(|name| is_rotated(log, name));
    let mut own: Vec<&str> = own.collect();
    own.sort_unstable();
    let is_packed = |name: &str| own.binary_search(&format!("{name}{PACKED}").as_str()).is_ok();
    // What is packed already, or never was in full, no one needs.
    let (unused, mut used): (Vec<&str>, Vec<&str>) =
        own.iter().partition(|name| name.ends_with(PACKING) || (!name.ends_with(PACKED) && is_packed(name)));
    // The live log and the one that it becomes count, too.
    let kept = used.len().min(files_max.saturating_sub(LOG_FILES_MIN));
    let rest = used.split_off(used.len() - kept);
    Rotation {
        remove: unused.into_iter().chain(used).map(str::to_owned).collect(),
        pack: rest.into_iter().filter(|name| !name.ends_with(PACKED)).map(str::to_owned).collect(),
    }
}

/// Whether the name is that of a log which was rotated away from this one.
pub fn is_rotated(log: &str, name: &str) -> bool {
    name.strip_prefix(log).is_some_and(|rest| rest.starts_with('.'))
}

/// The restart count that a log was written under; none for a name that is no log's. Rotated and packed ones count, for the
/// live one may be gone (upstream: `calcRestartCountByLogDir`).
pub fn restart_count(name: &str) -> Option<u32> {
    let (count, rest) = name.split_once(".log")?;
    let is_log = rest.is_empty() || rest.starts_with('.');
    // `+1` is a number as well.
    let digits = count.bytes().all(|byte| byte.is_ascii_digit());
    count.parse().ok().filter(|_| is_log && digits)
}

/// The name that a log is moved away to: sorted by name, these are sorted by time.
pub fn rotated_name(log: &str, now: Timestamp) -> String {
    format!("{log}.{}", now.strftime("%Y%m%d-%H%M%S"))
}
