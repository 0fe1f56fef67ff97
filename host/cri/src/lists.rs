//! Lists of all that the runtime has, read only when something in them changed.
//!
//! A list of everything is asked for each second, and nearly always says what the one before said. Runtimes give neither
//! lists nor maps an order, so that equal answers are reported by a sum over their parts.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use prost::encoding::{DecodeContext, decode_key, skip_field};
use prost::{DecodeError, Message};
use tokio::time::Instant;
use witlet_core::runtime::RuntimePod;
use witlet_ports::RuntimeError;

use crate::convert;

#[cfg(test)]
mod tests;

/// The one field of `ListPodSandboxResponse` and of `ListContainersResponse`, whose entries are left as they came: on the wire
/// a message is its bytes.
#[derive(Clone, PartialEq, Message)]
pub struct Entries {
    /// `items` of the one, `containers` of the other.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    entries: Vec<Bytes>,
}

impl Entries {
    /// Reads all entries. `call` is for the error.
    pub(crate) fn read<T: Message + Default>(&self, call: &'static str) -> Result<Vec<T>, RuntimeError> {
        let malformed = |error: DecodeError| RuntimeError::Malformed { call, message: error.to_string() };
        self.entries.iter().map(|entry| T::decode(entry.clone()).map_err(malformed)).collect()
    }

    /// A number that is the same for all orders of the entries, and of each entry's fields; none if they make no sense.
    fn sum(&self, keys: &RandomState) -> Result<u64, DecodeError> {
        let mut sum = 0_u64;
        for entry in &self.entries {
            sum = sum.wrapping_add(keys.hash_one(fields_sum(entry, keys)?));
        }
        Ok(sum)
    }
}

/// The same for all orders of a message's fields, among them the entries of its maps.
fn fields_sum(message: &[u8], keys: &RandomState) -> Result<u64, DecodeError> {
    let (mut sum, mut rest) = (0_u64, message);
    while !rest.is_empty() {
        let field = rest;
        let (tag, wire_type) = decode_key(&mut rest)?;
        skip_field(wire_type, tag, &mut rest, DecodeContext::default())?;
        sum = sum.wrapping_add(keys.hash_one(&field[..field.len() - rest.len()]));
    }
    Ok(sum)
}

/// What was listed last.
#[derive(Debug, Default)]
pub struct LastList {
    /// No one outside knows which sums collide.
    keys: RandomState,
    last: Mutex<Option<Last>>,
}

#[derive(Debug)]
struct Last {
    sums: (u64, u64),
    pods: Arc<Vec<RuntimePod>>,
}

impl LastList {
    /// The pods of these lists: those of the last ones if nothing changed.
    ///
    /// # Errors
    ///
    /// When an entry can't be read.
    pub fn pods(
        &self,
        sandboxes: &Entries,
        containers: &Entries,
    ) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        let sums = sandboxes.sum(&self.keys).and_then(|sum| Ok((sum, containers.sum(&self.keys)?))).ok();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| Some(last.sums) == sums) {
            return Ok(last.pods.clone());
        }
        let (sandboxes, containers) = (sandboxes.read("ListPodSandbox")?, containers.read("ListContainers")?);
        let pods = Arc::new(convert::group_by_pod(sandboxes, containers));
        *last = sums.map(|sums| Last { sums, pods: pods.clone() });
        Ok(pods)
    }
}

/// The newest pods that a list found, with when it began.
#[derive(Debug, Default)]
pub(crate) struct RecentPods(Mutex<Option<(Instant, Arc<Vec<RuntimePod>>)>>);

impl RecentPods {
    /// Keeps what a list found, unless one that began later has been kept.
    pub(crate) fn keep(&self, begun: Instant, pods: Arc<Vec<RuntimePod>>) {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.as_ref().is_none_or(|(known, _)| *known <= begun) {
            *newest = Some((begun, pods));
        }
    }

    /// Returns what a list found that began within this time.
    pub(crate) fn within(&self, age: Duration) -> Option<Arc<Vec<RuntimePod>>> {
        let newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        newest.as_ref().filter(|(begun, _)| begun.elapsed() < age).map(|(_, pods)| pods.clone())
    }
}
