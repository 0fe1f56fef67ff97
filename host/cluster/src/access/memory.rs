//! Answers that are remembered for a while, and asked for once at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use witlet_ports::AccessError;

#[cfg(test)]
mod tests;

/// What a question is known by.
pub(crate) type Key = [u8; 32];

#[derive(Clone, Debug)]
struct CachedDecision<V> {
    answer: Result<V, AccessError>,
    came: Instant,
    known: Duration,
}

type CacheSlot<V> = Arc<tokio::sync::Mutex<Option<CachedDecision<V>>>>;

/// A bounded memory. Who asks what someone else is asking already waits for that answer.
#[derive(Debug)]
pub(crate) struct Memory<V> {
    slots: Mutex<HashMap<Key, CacheSlot<V>>>,
    most: usize,
}

impl<V: Clone> Memory<V> {
    pub(crate) fn new(most: usize) -> Self {
        Self { slots: Mutex::default(), most }
    }

    /// The answer that is known, or else the one that `ask` gives, which is known for as long as `known` says. Failures are
    /// known to no one but those who waited for them.
    pub(crate) async fn ask(
        &self,
        key: Key,
        ask: impl Future<Output = Result<V, AccessError>>,
        known: impl FnOnce(&V) -> Duration,
    ) -> Result<V, AccessError> {
        let begun = Instant::now();
        let slot = self.slot(key)?;
        let mut held = slot.lock().await;
        if let Some(last) = &*held
            && (last.came.elapsed() < last.known || last.came > begun)
        {
            return last.answer.clone();
        }
        let answer = ask.await;
        let known = answer.as_ref().map_or(Duration::ZERO, known);
        *held = Some(CachedDecision { answer: answer.clone(), came: Instant::now(), known });
        answer
    }

    fn slot(&self, key: Key) -> Result<CacheSlot<V>, AccessError> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(&key) {
            return Ok(slot.clone());
        }
        if slots.len() >= self.most {
            forget(&mut slots);
        }
        if slots.len() >= self.most {
            return Err(AccessError { message: "too many requests at once".to_owned() });
        }
        Ok(slots.entry(key).or_default().clone())
    }
}

/// Forgets what is known no longer; and if nothing is, what will be forgotten first. Places where someone waits stay.
fn forget<V>(slots: &mut HashMap<Key, CacheSlot<V>>) {
    let now = Instant::now();
    let mut first: Option<(Instant, Key)> = None;
    slots.retain(|key, slot| {
        if Arc::strong_count(slot) > 1 {
            return true;
        }
        // No one else has the place, so that no one holds its lock.
        let Ok(held) = slot.try_lock() else { return true };
        let until = held.as_ref().and_then(|answer| answer.came.checked_add(answer.known));
        let Some(until) = until.filter(|until| *until > now) else { return false };
        if first.is_none_or(|(earliest, _)| until < earliest) {
            first = Some((until, *key));
        }
        true
    });
    if let Some((_, key)) = first {
        slots.remove(&key);
    }
}
