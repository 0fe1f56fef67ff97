//! What is known of cgroups, for those in which nothing happens.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use witlet_core::stats::cadvisor::CgroupDetails;
use witlet_core::stats::cgroup_usage::CgroupUsage;
use witlet_core::stats::known::UNCHANGED_MAX;

/// A cgroup that nobody asked about for so long is forgotten.
const UNASKED_MAX: SignedDuration = UNCHANGED_MAX;

/// A cgroup's figures.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// When all of it was read.
    pub(super) read_at: Timestamp,
    /// Its usage, at the last time that it was seen to be that.
    pub(super) usage: CgroupUsage,
    /// All figures, if they were read then.
    pub(super) details: Option<CgroupDetails>,
}

impl Known {
    /// When it was read, and the usage with its own time.
    pub(super) fn times(&self) -> (Timestamp, CgroupUsage) {
        (self.read_at, self.usage)
    }
}

/// By path.
#[derive(Debug, Default)]
pub(super) struct KnownCgroups(HashMap<PathBuf, Known>);

impl KnownCgroups {
    pub(super) fn get(&self, cgroup: &Path) -> Option<&Known> {
        self.0.get(cgroup)
    }

    pub(super) fn get_mut(&mut self, cgroup: &Path) -> Option<&mut Known> {
        self.0.get_mut(cgroup)
    }

    pub(super) fn insert(&mut self, cgroup: PathBuf, known: Known) {
        self.0.insert(cgroup, known);
    }

    /// Forgets what wasn't asked about of late.
    pub(super) fn forget_before(&mut self, now: Timestamp) {
        self.0.retain(|_, known| now.duration_since(known.usage.at).abs() <= UNASKED_MAX);
    }
}
