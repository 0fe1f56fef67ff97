//! When the figures of a cgroup are read again: not twice in a second, and of a cgroup in which nothing happens once a minute, as limits
//! are. Most cgroups of a node are sandboxes and services that wait (upstream: cAdvisor checks such ones less and less often).

use jiff::{SignedDuration, Timestamp};

use super::cgroup_usage::{Activity, CgroupUsage};

#[cfg(test)]
mod tests;

/// Figures of this age are those of now.
pub const FRESH: SignedDuration = SignedDuration::from_secs(1);
/// So long figures are taken for those of now as long as nothing happens. What changes without a process, such as pages that the kernel takes
/// back and limits that are set from outside, is seen after it at the latest.
pub const UNCHANGED_MAX: SignedDuration = SignedDuration::from_secs(60);

/// So long what only a cgroup's processes change isn't read again, as long as they do nothing. What is reset from outside, such as the most
/// memory that was ever used, is seen after it at the latest.
pub const QUIET_MAX: SignedDuration = SignedDuration::from_mins(10);

/// How much of a cgroup is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Nothing: what is known is fresh.
    Nothing,
    /// Its activity; if that is as it was, nothing else.
    Activity,
    All,
}

/// How much is to be read of a cgroup that had this usage, all of which was read at `read_at`. After a step of the clock it is all.
pub fn reading(known: &CgroupUsage, read_at: Timestamp, now: Timestamp) -> Reading {
    if within(known.at, FRESH, now) {
        return Reading::Nothing;
    }
    let is_known = is_settled(known) && within(read_at, UNCHANGED_MAX, now);
    if is_known { Reading::Activity } else { Reading::All }
}

/// Averages of stalls fall while nothing happens.
fn is_settled(known: &CgroupUsage) -> bool {
    known.cpu_nanoseconds.is_some() && known.pressure.is_zero_on_average()
}

/// Whether the processes of a cgroup have done nothing since it had this usage, if its activity is this one now.
pub fn is_quiet(known: &CgroupUsage, now: Activity) -> bool {
    is_settled(known) && known.activity() == now
}

/// Whether figures are those of now that were read then, of which all had been read at `all_read_at`, while nothing has happened since.
pub fn quiet_figures_are_known(all_read_at: Timestamp, now: Timestamp) -> bool {
    within(all_read_at, QUIET_MAX, now)
}

/// Whether what is set for a cgroup, and when it was made, is that of now, if it was read then. A program that is busy changes neither.
pub fn limits_are_known(read_at: Timestamp, now: Timestamp) -> bool {
    within(read_at, UNCHANGED_MAX, now)
}

/// How many of a process's open files were sockets when they were listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedFiles {
    /// When they were listed.
    pub at: Timestamp,
    pub files: u64,
    pub sockets: u64,
}

/// Whether a process that has `files` open files now, as far as the kernel says so without listing them, has as many sockets as when they
/// were listed. A socket that was closed and a file of another kind that was opened since are seen when they are listed again.
pub fn sockets_are_known(listed: ListedFiles, files: u64, now: Timestamp) -> bool {
    files > 0 && listed.files == files && within(listed.at, UNCHANGED_MAX, now)
}

/// Until when a cgroup is known to be as it was when it was seen last, by the one above it, which had this usage, all of which was read at
/// `above_read_at`: what a process below does counts there, too. None if that isn't known, and the cgroup itself has to be read.
pub fn unchanged_until(
    above: &CgroupUsage,
    above_read_at: Timestamp,
    seen_at: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let is_known = above.cpu_nanoseconds.is_some() && within(above.at, FRESH, now);
    // What happened before the one above was read is in its figures, whenever the one below was seen.
    let was_seen_within = above_read_at <= seen_at && seen_at <= above.at;
    (is_known && was_seen_within).then_some(above.at)
}

fn within(since: Timestamp, span: SignedDuration, now: Timestamp) -> bool {
    let age = now.duration_since(since);
    !age.is_negative() && age < span
}
