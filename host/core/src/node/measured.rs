//! What the machine uses, as the checks of it say.

use std::sync::Arc;
use std::time::Duration;

use super::allocatable::PIDS;
use super::readings::{Left, NodeReadings};
use crate::pod::resources::{Amounts, CPU, EPHEMERAL_STORAGE, MEMORY};

#[cfg(test)]
mod tests;

/// Older figures count as unknown: the node is checked every ten seconds, and a check that hangs must not stand for the node.
pub const USAGE_AGE_MAX: Duration = Duration::from_secs(60);

/// What one check of the machine says of its use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeUsage {
    used: Arc<Amounts>,
    /// Processor time since the start of the machine.
    cpu: Option<Duration>,
}

impl NodeUsage {
    /// Combines a check and the one before it, which was so long ago: `cpu` is the mean between the two. What can't be read is unknown.
    pub fn of(readings: &NodeReadings, before: Option<(&Self, Duration)>) -> Self {
        let in_use = |left: Left| clamped(u128::from(left.capacity.saturating_sub(left.available)));
        let figures = [
            (CPU, before.and_then(|(before, elapsed)| milli_cpu(before.cpu?, readings.cpu?, elapsed))),
            (MEMORY, readings.memory.map(in_use)),
            (EPHEMERAL_STORAGE, readings.nodefs_bytes.map(in_use)),
            (PIDS, readings.pids.map(in_use)),
        ];
        let known = figures.into_iter().filter_map(|(name, figure)| Some((name.to_owned(), figure?)));
        Self { used: Arc::new(known.collect()), cpu: readings.cpu }
    }

    /// Returns what is used, as known so long after the check.
    pub fn after(&self, age: Duration) -> Arc<Amounts> {
        if age <= USAGE_AGE_MAX { self.used.clone() } else { Arc::default() }
    }
}

/// Returns `None` where a counter began again, and between checks without a time.
fn milli_cpu(before: Duration, after: Duration, elapsed: Duration) -> Option<i64> {
    let used = after.checked_sub(before)?;
    let milli = (used.as_nanos() * 1000).checked_div(elapsed.as_nanos())?;
    Some(clamped(milli))
}

fn clamped(number: u128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
