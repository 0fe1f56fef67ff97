//! What is known of each cgroup since it was read.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

use jiff::Timestamp;
use witlet_core::stats::cadvisor::{CgroupDetails, CgroupLimits};
use witlet_core::stats::cgroup_usage::CgroupUsage;
use witlet_core::stats::freshness::{FRESH, unchanged_until};
use witlet_core::stats::network::InterfaceUsage;

/// A cgroup's figures.
#[derive(Clone, Debug)]
pub(super) struct KnownCgroup {
    /// When all of it had been read.
    pub(super) read_at: Timestamp,
    /// Its usage, at the last time that it was seen to be that.
    pub(super) usage: CgroupUsage,
    /// All figures, unless something has happened since they were read.
    pub(super) details: Option<KnownDetails>,
    /// What hardly changes, if all figures were read once.
    pub(super) limits: Option<KnownLimits>,
    /// Its processes, if they were listed since all of it was read.
    pub(super) processes: Option<ListedProcesses>,
    /// Traffic of the network that its processes are in, and when it was read.
    pub(super) network: Option<(Timestamp, Vec<InterfaceUsage>)>,
}

/// All figures of a cgroup.
#[derive(Clone, Debug)]
pub(super) struct KnownDetails {
    pub(super) details: CgroupDetails,
    /// When they were read.
    pub(super) at: Timestamp,
    /// When those were read that only processes change.
    pub(super) all_at: Timestamp,
}

/// What is set for a cgroup, and when it was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownLimits {
    /// When this was read.
    pub(super) at: Timestamp,
    pub(super) limits: CgroupLimits,
    pub(super) created_at: Option<Timestamp>,
    /// The first process, and how many files it may have open, if that is known.
    pub(super) open_files: Option<(u32, Option<i64>)>,
}

/// Processes in a cgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ListedProcesses {
    pub(super) count: u64,
    pub(super) first: Option<u32>,
}

impl ListedProcesses {
    pub(super) fn of(listed: &str) -> Self {
        let count = u64::try_from(listed.lines().count()).unwrap_or(u64::MAX);
        Self { count, first: listed.lines().next().and_then(|pid| pid.parse().ok()) }
    }
}

/// By the cgroup's path below the mount points of controllers, as the bytes that it is: to tell paths apart by their components takes three
/// times as long, and each check does so some thousand times.
#[derive(Debug, Default)]
pub(super) struct KnownCgroups(HashMap<OsString, KnownCgroup>);

impl KnownCgroups {
    pub(super) fn get(&self, cgroup: &Path) -> Option<&KnownCgroup> {
        self.0.get(cgroup.as_os_str())
    }

    pub(super) fn get_mut(&mut self, cgroup: &Path) -> Option<&mut KnownCgroup> {
        self.0.get_mut(cgroup.as_os_str())
    }

    /// Forgets what is known of a cgroup, and returns it.
    pub(super) fn take(&mut self, cgroup: &Path) -> Option<KnownCgroup> {
        self.0.remove(cgroup.as_os_str())
    }

    pub(super) fn put(&mut self, cgroup: &Path, known: KnownCgroup) {
        self.0.insert(cgroup.as_os_str().to_owned(), known);
    }

    pub(super) fn keep(&mut self, is_kept: impl Fn(&KnownCgroup) -> bool) {
        self.0.retain(|_, known| is_kept(known));
    }
}

/// When a cgroup was seen to be as it was by one of those above it, the nearest first, which were checked before: those of all pods, then
/// a pod's, then those of its containers. The root has other figures.
pub(super) fn seen_from_above(
    all: &KnownCgroups,
    cgroup: &Path,
    seen_at: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let above = cgroup.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above
        .filter_map(|above| all.get(above))
        .find_map(|KnownCgroup { read_at, usage, .. }| unchanged_until(usage, *read_at, seen_at, now))
}

pub(super) fn is_fresh(at: Timestamp, now: Timestamp) -> bool {
    let age = now.duration_since(at);
    !age.is_negative() && age < FRESH
}
