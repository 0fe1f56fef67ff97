//! How long to wait before something that failed is tried again.
//!
//! Rules of client-go's `flowcontrol.Backoff` as the kubelet uses it for crashed containers (10 s to 300 s) and
//! failed image pulls (the same), and of the kubelet's main loop (100 ms to 5 s).

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};

use crate::container::hash::digest_json;
use crate::pod::PodUid;

/// First and longest delay of a kind of failure. The delay doubles in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffPolicy {
    /// Delay after the first failure.
    pub initial: Duration,
    /// No delay is longer.
    pub max: Duration,
}

/// Crashed containers (upstream: `backOffPeriod`, `MaxContainerBackOff`).
pub const CRASH: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_secs(10), max: Duration::from_secs(300) };

/// Failed image pulls (upstream: the same figures).
pub const IMAGE_PULL: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_secs(10), max: Duration::from_secs(300) };

/// The agent's loop while the runtime is not well (upstream: `syncLoop`).
pub const LOOP: BackoffPolicy =
    BackoffPolicy { initial: Duration::from_millis(100), max: Duration::from_secs(5) };

/// Failures are forgotten when there was none for this many times the longest delay.
const RESET_AFTER_MAX_DELAYS: u32 = 2;

impl BackoffPolicy {
    /// How long there must be no failure until the next one counts as the first again.
    pub fn reset_after(self) -> Duration {
        self.max.saturating_mul(RESET_AFTER_MAX_DELAYS)
    }

    /// The delay after this one.
    pub fn next(self, delay: Duration) -> Duration {
        delay.saturating_mul(2).min(self.max)
    }

    /// The delay after so many failures in a row, of which there is one at least.
    pub fn after(self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1);
        self.initial.saturating_mul(2_u32.saturating_pow(doublings)).min(self.max)
    }
}

/// A delay that doubles at each failure and starts over at a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExponentialBackoff {
    policy: BackoffPolicy,
    next: Duration,
}

impl ExponentialBackoff {
    /// Starts at the policy's first delay.
    pub fn new(policy: BackoffPolicy) -> Self {
        Self { policy, next: policy.initial }
    }

    /// Counts a failure; returns how long to wait now.
    pub fn fail(&mut self) -> Duration {
        let delay = self.next;
        self.next = self.policy.next(delay);
        delay
    }

    /// Counts a success: the next failure waits the first delay again.
    pub fn succeed(&mut self) {
        self.next = self.policy.initial;
    }
}

/// What a delay belongs to. A pod with another UID, or a container with another image or other resources, starts
/// afresh (upstream: `GetBackoffKey`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackoffKey {
    uid: PodUid,
    subject: String,
    definition: String,
}

impl BackoffKey {
    /// Restarts of a container of a pod.
    pub fn of(pod: &Pod, container: &Container) -> Self {
        Self {
            uid: PodUid::of(pod),
            subject: container.name.clone(),
            definition: digest_json(&(&container.image, &container.resources)),
        }
    }

    /// Pulls of an image for a pod.
    pub fn pull(uid: &PodUid, image: &str) -> Self {
        Self { uid: uid.clone(), subject: image.to_owned(), definition: String::new() }
    }
}

/// One thing's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    delay: Duration,
    updated_at: Timestamp,
}

/// The delays of many things. A value: the time comes in from outside.
#[derive(Clone, Debug)]
pub struct BackoffTable {
    policy: BackoffPolicy,
    entries: HashMap<BackoffKey, Entry>,
}

impl BackoffTable {
    /// Creates back-offs without any failure.
    pub fn new(policy: BackoffPolicy) -> Self {
        Self { policy, entries: HashMap::new() }
    }

    /// Until when the thing that failed at `failed_at` has to wait; none if it may be tried at `now`. What was
    /// never tried again (`record`), or long ago, needn't wait.
    pub fn wait(&self, key: &BackoffKey, failed_at: Timestamp, now: Timestamp) -> Option<Wait> {
        let entry = self.entries.get(key)?;
        if self.is_old(entry, now) {
            return None;
        }
        // A failure that lies ahead by more than that is of before the clock was set back: no one waits for it.
        if failed_at > after(now, entry.delay) {
            return None;
        }
        let until = after(failed_at, entry.delay);
        (now < until).then_some(Wait { until, delay: entry.delay })
    }

    /// The thing that failed at `failed_at` is tried again at `now`: the next failure will wait the first delay,
    /// or twice the last.
    pub fn record(&mut self, key: BackoffKey, failed_at: Timestamp, now: Timestamp) {
        let delay = match self.entries.get(&key) {
            Some(entry) if !self.is_old(entry, failed_at) => self.policy.next(entry.delay),
            Some(_) | None => self.policy.initial,
        };
        self.entries.insert(key, Entry { delay, updated_at: now });
    }

    /// Forgets the delays that nothing changed for so long that they would start over anyway.
    pub fn collect_garbage(&mut self, now: Timestamp) {
        let reset_after = self.policy.reset_after();
        self.entries.retain(|_, entry| elapsed(entry.updated_at, now) <= reset_after);
    }

    /// How many delays are remembered.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn is_old(&self, entry: &Entry, at: Timestamp) -> bool {
        elapsed(entry.updated_at, at) > self.policy.reset_after()
    }
}

/// A delay that isn't over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When it is over.
    pub until: Timestamp,
    /// How long it is in all, for people.
    pub delay: Duration,
}

/// Returns the time from `from` to `to`, zero if `to` is earlier.
fn elapsed(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}

/// `from` and `delay` later; the end of time if that lies beyond it.
fn after(from: Timestamp, delay: Duration) -> Timestamp {
    SignedDuration::try_from(delay).ok().and_then(|d| from.checked_add(d).ok()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
