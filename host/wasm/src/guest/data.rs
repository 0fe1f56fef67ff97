//! Data that the operator gives a plugin next to its configuration. They stay as they are for the life of a loaded plugin.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

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
    /// Of these bytes, whose digest it computes.
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

/// Where data come from, and why the newest can't be had.
#[derive(Debug)]
pub(crate) struct DataOrigin {
    /// As people read it.
    pub(crate) location: String,
    problem: Mutex<Option<String>>,
}

impl DataOrigin {
    pub(crate) fn new(location: String) -> Self {
        Self { location, problem: Mutex::default() }
    }

    /// Why the newest can't be had, in one sentence; none if they can.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether it is another than before.
    pub(crate) fn set_problem(&self, problem: Option<String>) -> bool {
        let mut last = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = *last != problem;
        *last = problem;
        is_other
    }
}

/// Data of a plugin, under the name that it asks for.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    pub(crate) name: Arc<str>,
    pub(crate) origin: Arc<DataOrigin>,
    pub(crate) snapshot: Arc<Snapshot>,
}

impl Data {
    /// Of bytes that no source has.
    pub(crate) fn given(name: &str, snapshot: Snapshot) -> Self {
        let origin = Arc::new(DataOrigin::new(name.to_owned()));
        Self { name: name.into(), origin, snapshot: Arc::new(snapshot) }
    }

    /// Its name, and the digest of its bytes.
    pub(crate) fn named_digest(&self) -> (String, String) {
        (self.name.to_string(), self.snapshot.digest.clone())
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.origin.location == other.origin.location
            && self.snapshot.digest == other.snapshot.digest
    }
}

/// What a guest holds of data that it opened.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OpenSnapshot(pub(crate) Arc<Snapshot>);

#[cfg(test)]
mod tests;
