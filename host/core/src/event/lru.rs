//! A bounded table that forgets what wasn't used for longest.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

#[cfg(test)]
mod tests;

/// A table of at most `max` entries.
#[derive(Clone, Debug)]
pub(super) struct Lru<K, V> {
    max: usize,
    next: u64,
    entries: HashMap<K, (u64, V)>,
    /// By the order of their last use.
    uses: BTreeMap<u64, K>,
}

impl<K: Clone + Eq + Hash, V> Lru<K, V> {
    pub(super) fn new(max: usize) -> Self {
        Self { max, next: 0, entries: HashMap::new(), uses: BTreeMap::new() }
    }

    /// The entry, made by `fresh` if it isn't there. It was used last now.
    pub(super) fn get_or_insert_with(&mut self, key: &K, fresh: impl FnOnce() -> V) -> &mut V {
        let place = self.next;
        self.next += 1;
        if !self.entries.contains_key(key)
            && self.entries.len() >= self.max
            && let Some((_, oldest)) = self.uses.pop_first()
        {
            self.entries.remove(&oldest);
        }
        let entry = self.entries.entry(key.clone()).or_insert_with(|| (place, fresh()));
        self.uses.remove(&entry.0);
        entry.0 = place;
        self.uses.insert(place, key.clone());
        &mut entry.1
    }
}
