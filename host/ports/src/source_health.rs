//! Which sources of pods can't be read: written by the sources, shown with the node.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use witlet_core::node::conditions::UnreadSource;

/// Sources that can't be read now. A source that was never heard of counts as readable.
#[derive(Debug, Default)]
pub struct SourceHealth(Mutex<BTreeMap<String, UnreadSource>>);

impl SourceHealth {
    /// Notes that a source can't be read.
    pub fn unread(&self, unread: UnreadSource) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(unread.source.clone(), unread);
    }

    /// Notes that a source can be read. Gives whether it couldn't before.
    pub fn read(&self, source: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(source).is_some()
    }

    /// Those that can't be read, by name.
    pub fn all_unread(&self) -> Vec<UnreadSource> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
