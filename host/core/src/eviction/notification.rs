//! What the kernel is asked to report between two rounds (upstream: `threshold_notifier_linux.go`).

use super::signal::Signal;
use super::threshold::{Threshold, ThresholdValue};

#[cfg(test)]
mod tests;

/// Whose memory is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryScope {
    /// All of the node: the root cgroup.
    Node,
    /// That of all pods together: the cgroup `kubepods`.
    Pods,
}

/// A shortage of memory that the kernel is to report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryWatch {
    pub scope: MemoryScope,
    /// Less than this is short.
    pub threshold: ThresholdValue,
}

impl MemoryWatch {
    /// The usage of the cgroup, in bytes, from which on the threshold is met. The usage counts inactive pages of files, which the
    /// working set, and so the signal, leaves out. Zero where the threshold exceeds the capacity.
    pub fn usage_level(self, capacity: u64, inactive_file: u64) -> u64 {
        let threshold = self.threshold.amount(i64::try_from(capacity).unwrap_or(i64::MAX));
        let working_set = capacity.saturating_sub(u64::try_from(threshold).unwrap_or(0));
        working_set.saturating_add(inactive_file)
    }
}

/// The watches of these thresholds: one for each of memory, whatever its grace.
pub(super) fn watches(thresholds: &[Threshold]) -> Vec<MemoryWatch> {
    let watch = |threshold: &Threshold| {
        let scope = match threshold.signal {
            Signal::MemoryAvailable => MemoryScope::Node,
            Signal::AllocatableMemoryAvailable => MemoryScope::Pods,
            _ => return None,
        };
        Some(MemoryWatch { scope, threshold: threshold.value })
    };
    thresholds.iter().filter_map(watch).collect()
}
