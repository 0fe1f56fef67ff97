//! Processor time between two measurements, as cores.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use jiff::Timestamp;

#[cfg(test)]
mod tests;

/// The time between two measurements is at least this long: in less, few ticks of the kernel's would be many cores.
const WINDOW_MIN: Duration = Duration::from_secs(5);
/// And at most this long (upstream: the cache of `usageNanoCores`): what was used before says nothing of now.
const WINDOW_MAX: Duration = Duration::from_secs(600);

/// Processor time at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    nanoseconds: u64,
    at: Timestamp,
}

/// The measurements that new ones are compared with.
#[derive(Clone, Debug)]
pub struct Rates<K>(HashMap<K, (Sample, Option<Sample>)>);

impl<K> Default for Rates<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash> Rates<K> {
    /// Takes in a measurement, and gives billionths of a core since an earlier one, 5 s to 10 min before. None without such a
    /// one, and after a counter that began again.
    pub fn measured(&mut self, key: K, nanoseconds: u64, at: Timestamp) -> Option<u64> {
        let now = Sample { nanoseconds, at };
        let Some((first, second)) = self.0.get_mut(&key) else {
            self.0.insert(key, (now, None));
            return None;
        };
        // Two are kept, so that one of them is old enough however often it is measured.
        match second {
            Some(known) if is_old_enough(*known, now) => (*first, *second) = (*known, Some(now)),
            None if is_old_enough(*first, now) => *second = Some(now),
            Some(_) | None => {}
        }
        let rate = rate(*first, now);
        if rate.is_none() && !is_within(*first, now) {
            self.0.insert(key, (now, None));
        }
        rate
    }

    /// Forgets all that aren't measured any more.
    pub fn retain(&mut self, is_kept: impl Fn(&K) -> bool) {
        self.0.retain(|key, _| is_kept(key));
    }
}

fn is_old_enough(before: Sample, now: Sample) -> bool {
    now.at.duration_since(before.at).unsigned_abs() >= WINDOW_MIN && now.at > before.at
}

/// Neither too long ago, nor later, nor of a counter that began again.
fn is_within(before: Sample, now: Sample) -> bool {
    now.at >= before.at
        && now.at.duration_since(before.at).unsigned_abs() <= WINDOW_MAX
        && now.nanoseconds >= before.nanoseconds
}

fn rate(before: Sample, now: Sample) -> Option<u64> {
    if !is_old_enough(before, now) || !is_within(before, now) {
        return None;
    }
    let used = u128::from(now.nanoseconds - before.nanoseconds);
    let elapsed = now.at.duration_since(before.at).unsigned_abs().as_nanos();
    u64::try_from(used * 1_000_000_000 / elapsed).ok()
}
