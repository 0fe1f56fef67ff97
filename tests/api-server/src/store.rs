//! The objects, one global version, and what watches need of the past.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use crate::resources::{RESOURCES, Resource};
use crate::value::metadata;

/// Namespace and name; the namespace is empty for objects of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    /// A key.
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// One write, as watches receive it.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Version that the write made.
    pub(crate) revision: u64,
    /// Whose object.
    pub(crate) key: Key,
    /// The object after it; none after a deletion.
    pub(crate) after: Option<Arc<Value>>,
    /// The object before it; none before a creation.
    pub(crate) before: Option<Arc<Value>>,
}

/// The objects of one resource.
pub(crate) struct Table {
    /// The objects, in the order of lists.
    pub(crate) objects: BTreeMap<Key, Arc<Value>>,
    history: VecDeque<Change>,
    /// Versions below can't be resumed from.
    oldest: u64,
    changed: watch::Sender<u64>,
}

impl Table {
    fn new() -> Self {
        Self { objects: BTreeMap::new(), history: VecDeque::new(), oldest: 0, changed: watch::Sender::new(0) }
    }

    /// The changes after this version; none if they are forgotten.
    pub(crate) fn since(&self, revision: u64) -> Option<impl Iterator<Item = &Change>> {
        if revision < self.oldest {
            return None;
        }
        let start = self.history.partition_point(|change| change.revision <= revision);
        Some(self.history.range(start..))
    }

    /// The objects as they were at this version; none if that is forgotten.
    pub(crate) fn at(&self, revision: u64) -> Option<BTreeMap<Key, Arc<Value>>> {
        let later: Vec<&Change> = self.since(revision)?.collect();
        let mut objects = self.objects.clone();
        for change in later.into_iter().rev() {
            match &change.before {
                Some(before) => objects.insert(change.key.clone(), before.clone()),
                None => objects.remove(&change.key),
            };
        }
        Some(objects)
    }

    /// Notified of each change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Which version a resumed watch must at least name.
    pub(crate) fn oldest(&self) -> u64 {
        self.oldest
    }
}

/// What is behind the lock.
pub(crate) struct State {
    /// Version of the last write.
    pub(crate) revision: u64,
    tables: BTreeMap<&'static str, Table>,
    history_max: usize,
    /// Where UIDs and suffixes come from.
    seed: u64,
}

impl State {
    /// The objects of a resource.
    pub(crate) fn table(&self, resource: &Resource) -> &Table {
        self.tables.get(resource.table).expect("every resource's table is made at the start")
    }

    /// The object of this name.
    pub(crate) fn get(&self, resource: &Resource, key: &Key) -> Option<&Arc<Value>> {
        self.table(resource).objects.get(key)
    }

    /// Writes an object under the next version, and tells the watches.
    pub(crate) fn put(&mut self, resource: &Resource, key: Key, object: Value) -> Arc<Value> {
        self.revision += 1;
        let object = Arc::new(at_version(&object, self.revision));
        let revision = self.revision;
        let table = self.table_mut(resource);
        let before = table.objects.insert(key.clone(), object.clone());
        self.record(resource, Change { revision, key, after: Some(object.clone()), before });
        object
    }

    /// Removes an object under the next version, and tells the watches. The object as it was, with the deletion's version.
    pub(crate) fn remove(&mut self, resource: &Resource, key: &Key) -> Option<Value> {
        let removed = self.table_mut(resource).objects.remove(key)?;
        self.revision += 1;
        let last = at_version(&removed, self.revision);
        let change = Change { revision: self.revision, key: key.clone(), after: None, before: Some(removed) };
        self.record(resource, change);
        Some(last)
    }

    fn record(&mut self, resource: &Resource, change: Change) {
        let history_max = self.history_max;
        let table = self.table_mut(resource);
        let revision = change.revision;
        table.history.push_back(change);
        while table.history.len() > history_max {
            if let Some(forgotten) = table.history.pop_front() {
                table.oldest = forgotten.revision;
            }
        }
        table.changed.send_replace(revision);
    }

    /// Forgets the past of every resource: what is resumed from it answers 410.
    pub(crate) fn forget_history(&mut self) {
        self.revision += 1;
        let revision = self.revision;
        for table in self.tables.values_mut() {
            table.history.clear();
            table.oldest = revision;
        }
    }

    fn table_mut(&mut self, resource: &Resource) -> &mut Table {
        self.tables.get_mut(resource.table).expect("every resource's table is made at the start")
    }

    /// The next number of a sequence without visible order (splitmix64).
    pub(crate) fn next_number(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A new UID.
    pub(crate) fn next_uid(&mut self) -> String {
        let (a, b) = (self.next_number(), self.next_number());
        format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            b >> 52,
            b & 0xffff_ffff_ffff
        )
    }

    /// What `generateName` is completed with.
    pub(crate) fn next_suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut rest = self.next_number();
        let mut suffix = String::new();
        for _ in 0..5 {
            suffix.push(char::from(LETTERS[(rest % LETTERS.len() as u64) as usize]));
            rest /= LETTERS.len() as u64;
        }
        suffix
    }
}

/// The object as of this version.
pub(crate) fn at_version(object: &Value, revision: u64) -> Value {
    let mut object = object.clone();
    metadata(&mut object).insert("resourceVersion".to_owned(), revision.to_string().into());
    object
}

/// The objects, shared.
pub(crate) struct Store {
    state: Mutex<State>,
}

impl Store {
    /// An empty one, with so many changes remembered for each resource.
    pub(crate) fn new(history_max: usize, seed: u64) -> Self {
        let tables = RESOURCES.iter().map(|r| (r.table, Table::new())).collect();
        // A fresh cluster has written something already: version 0 means "any" to clients.
        Self { state: Mutex::new(State { revision: 1, tables, history_max, seed }) }
    }

    /// The lock. Nothing waits inside it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
