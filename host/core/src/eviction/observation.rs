//! What was measured, and which thresholds that meets (`thresholdsMet` and what follows it in `helpers.go`).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::signal::Signal;
use super::threshold::Threshold;
use crate::node::readings::{Left, NodeReadings};
use crate::pod::quantity;

#[cfg(test)]
mod tests;

/// One figure of the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// What is left. Negative where more is used than there is.
    pub available: i64,
    pub capacity: i64,
    /// When it was measured; none is always new.
    pub at: Option<Timestamp>,
}

/// Figures of the node, by signal. What couldn't be measured is missing.
pub type Observations = BTreeMap<Signal, Observation>;

/// The figures of one check of the machine.
pub fn observations(readings: &NodeReadings, at: Timestamp) -> Observations {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let observation = |left: Left| Observation {
        available: signed(left.available),
        capacity: signed(left.capacity),
        at: Some(at),
    };
    let all = [
        (Signal::MemoryAvailable, readings.memory),
        (Signal::AllocatableMemoryAvailable, readings.allocatable_memory),
        (Signal::NodeFsAvailable, readings.nodefs_bytes),
        (Signal::NodeFsInodesFree, readings.nodefs_inodes),
        (Signal::ImageFsAvailable, readings.imagefs_bytes),
        (Signal::ImageFsInodesFree, readings.imagefs_inodes),
        (Signal::ContainerFsAvailable, readings.containerfs_bytes),
        (Signal::ContainerFsInodesFree, readings.containerfs_inodes),
        (Signal::PidAvailable, readings.pids),
    ];
    all.into_iter().filter_map(|(signal, left)| Some((signal, observation(left?)))).collect()
}

/// Returns what is left, as Go prints it.
pub(super) fn print(signal: Signal, amount: i64) -> String {
    if signal.is_in_bytes() { quantity::binary(amount) } else { quantity::decimal(amount) }
}

/// The thresholds that are met, whatever their grace. `with_reclaim` asks for the minimum reclaim on top.
pub(super) fn met(
    thresholds: &[Threshold],
    observations: &Observations,
    with_reclaim: bool,
) -> Vec<Threshold> {
    let is_met = |threshold: &&Threshold| {
        let Some(observed) = observations.get(&threshold.signal) else { return false };
        missing(threshold, observed, with_reclaim) > 0
    };
    thresholds.iter().filter(is_met).copied().collect()
}

/// How much less is left than the threshold asks for; negative is how far it is away.
pub fn missing(threshold: &Threshold, observed: &Observation, with_reclaim: bool) -> i64 {
    let reclaim = threshold.min_reclaim.filter(|_| with_reclaim);
    let reclaim = reclaim.map_or(0, |value| value.amount(observed.capacity));
    let target = threshold.value.amount(observed.capacity).saturating_add(reclaim);
    target.saturating_sub(observed.available)
}

/// Returns those of which there is something new since the last time.
pub(super) fn updated(
    thresholds: &[Threshold],
    observations: &Observations,
    last: &Observations,
) -> Vec<Threshold> {
    let is_new = |threshold: &&Threshold| {
        let Some(observed) = observations.get(&threshold.signal) else { return false };
        match (observed.at, last.get(&threshold.signal)) {
            (None, _) | (_, None) => true,
            (Some(at), Some(last)) => last.at.is_none_or(|last| at > last),
        }
    };
    thresholds.iter().filter(is_new).copied().collect()
}

/// Adds those that aren't there yet.
pub(super) fn merge(mut thresholds: Vec<Threshold>, more: Vec<Threshold>) -> Vec<Threshold> {
    for threshold in more {
        if !thresholds.iter().any(|known| known.is_same(&threshold)) {
            thresholds.push(threshold);
        }
    }
    thresholds
}

/// Thresholds with the time since when they have been met.
pub(super) type Since = Vec<(Threshold, Timestamp)>;

/// Since when each has been met: a new one since now.
pub(super) fn first_observed(thresholds: &[Threshold], before: &Since, now: Timestamp) -> Since {
    let since = |threshold: &Threshold| {
        let known = before.iter().find(|(known, _)| known.is_same(threshold));
        // A moment that lies ahead is of before the clock was set back.
        (*threshold, known.map_or(now, |(_, at)| (*at).min(now)))
    };
    thresholds.iter().map(since).collect()
}

/// Returns the thresholds met for at least their grace period.
pub(super) fn past_grace(since: &Since, now: Timestamp) -> Vec<Threshold> {
    let is_past = |(threshold, at): &&(Threshold, Timestamp)| now.duration_since(*at) >= threshold.grace;
    since.iter().filter(is_past).map(|(threshold, _)| *threshold).collect()
}
