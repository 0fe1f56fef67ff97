//! Data that the operator gives a plugin next to its configuration. They stay as they are for the life of a loaded plugin.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use witlet_core::refresh;

/// How large data may be.
pub(crate) const DATA_BYTES_MAX: usize = 16 << 20;
/// How many bytes a guest gets by one call.
pub(crate) const READ_BYTES_MAX: usize = 1 << 20;

/// Bytes with their digest.
#[derive(PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// SHA-256 in hexadecimal.
    digest: String,
    bytes: Vec<u8>,
}

impl Snapshot {
    /// Creates a snapshot of these bytes and computes their digest.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { digest: hex::encode(Sha256::digest(&bytes)), bytes }
    }

    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes from `offset` on, as many as there are up to `length` and [`READ_BYTES_MAX`].
    pub(crate) fn read(&self, offset: u64, length: u64) -> &[u8] {
        let size = self.bytes.len();
        let begin = usize::try_from(offset).unwrap_or(size).min(size);
        let length = usize::try_from(length).unwrap_or(READ_BYTES_MAX).min(READ_BYTES_MAX);
        let end = begin.saturating_add(length).min(size);
        self.bytes.get(begin..end).unwrap_or_default()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Snapshot").field(&self.digest).finish()
    }
}

/// Where data come from, why the newest can't be had, and how old what serves is.
#[derive(Debug)]
pub(crate) struct DataOrigin {
    /// As people read it.
    pub(crate) location: String,
    health: Mutex<DataHealth>,
}

#[derive(Debug, Default)]
struct DataHealth {
    problem: Option<String>,
    confirmed: Option<Confirmation>,
}

/// When data were last known to be the newest.
#[derive(Clone, Copy, Debug)]
struct Confirmation {
    at: Instant,
    /// How old they were by then: an earlier process knew it.
    age: Duration,
}

impl DataOrigin {
    pub(crate) fn new(location: String) -> Self {
        Self { location, health: Mutex::default() }
    }

    /// Why the newest can't be had, in one sentence; none if they can.
    pub(crate) fn problem(&self) -> Option<String> {
        self.health().problem.clone()
    }

    /// Returns whether it is another than before.
    pub(crate) fn set_problem(&self, problem: Option<String>) -> bool {
        let mut health = self.health();
        let is_other = health.problem != problem;
        health.problem = problem;
        is_other
    }

    /// Notes how old they are now. None is for what is always the newest.
    pub(crate) fn set_age(&self, age: Option<Duration>, at: Instant) {
        self.health().confirmed = age.map(|age| Confirmation { at, age });
    }

    /// How long ago they were last known to be the newest; none for what always is.
    pub(crate) fn age(&self, now: Instant) -> Option<Duration> {
        let Confirmation { at, age } = self.health().confirmed?;
        Some(age.saturating_add(now.saturating_duration_since(at)))
    }

    fn health(&self) -> MutexGuard<'_, DataHealth> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Data of a plugin, under the name that it asks for.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) name: Arc<str>,
    pub(crate) origin: Arc<DataOrigin>,
    pub(crate) snapshot: Arc<Snapshot>,
    /// How old they may be before the node counts as not ready; none is for ever.
    pub(crate) max_age: Option<Duration>,
}

impl Data {
    /// Creates data from bytes that no source has.
    pub(crate) fn given(name: &str, snapshot: Snapshot) -> Self {
        let origin = Arc::new(DataOrigin::new(name.to_owned()));
        Self { name: name.into(), origin, snapshot: Arc::new(snapshot), max_age: None }
    }

    /// Returns its name, and the digest of its bytes.
    pub(crate) fn named_digest(&self) -> (String, String) {
        (self.name.to_string(), self.snapshot.digest.clone())
    }

    /// Whether they are older than their entry lets them be.
    pub(crate) fn is_too_old(&self, now: Instant) -> bool {
        self.origin.age(now).is_some_and(|age| refresh::is_too_old(age, self.max_age))
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.origin.location == other.origin.location
            && self.snapshot.digest == other.snapshot.digest
            && self.max_age == other.max_age
    }
}

/// What a guest holds of data that it opened.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OpenSnapshot(pub(crate) Arc<Snapshot>);

#[cfg(test)]
mod tests;
