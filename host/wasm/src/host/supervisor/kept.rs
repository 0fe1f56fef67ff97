//! What is on the disk for the next start, and what is to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::super::last_good::{Earlier, LastGoodSet};
use crate::plugin::config::{PluginConfiguration, PluginEntry};

/// Entries of a configuration by the plugin's name.
type Entries = BTreeMap<String, Arc<PluginEntry>>;

/// What is kept on the disk, and what is to be.
#[derive(Default)]
pub(super) struct Keeping {
    /// The last good set.
    pub(super) set: Option<LastGoodSet>,
    /// No copy of it is damaged.
    pub(super) is_whole: bool,
    /// Its plugins that were good.
    good: Entries,
    /// Those of the configuration that is desired now.
    pub(super) desired: Entries,
    /// Of the configuration that demands something of components, or none to forget the one before.
    pub(super) unsaved_demands: Option<Option<String>>,
    pub(super) failures: u32,
    /// When it is tried again.
    pub(super) due: Option<Instant>,
}

impl Keeping {
    pub(super) fn set(&self) -> Option<&LastGoodSet> {
        self.set.as_ref()
    }

    /// Begins with the set that was found.
    pub(super) fn restore(&mut self, set: LastGoodSet, good: &PluginConfiguration, is_whole: bool) {
        (self.set, self.good, self.is_whole) = (Some(set), entries(good), is_whole);
    }

    /// From now on this is what a good set has to have.
    pub(super) fn want(&mut self, configuration: &PluginConfiguration) {
        self.desired = entries(configuration);
    }

    /// Whether a version of this plugin is known to have been good.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.good.contains_key(name)
    }

    /// What the set has of a plugin that doesn't load.
    pub(super) fn earlier(&self, name: &str) -> Earlier {
        match self.good.get(name) {
            None => Earlier::Never,
            Some(entry) if self.desired.get(name) == Some(entry) => Earlier::SameEntry,
            Some(_) => Earlier::OtherEntry,
        }
    }

    /// A set was saved.
    pub(super) fn saved(&mut self, set: LastGoodSet) {
        let entries = self.desired.iter().filter(|(name, _)| !set.failed.contains(*name));
        self.good = entries.map(|(name, entry)| (name.clone(), entry.clone())).collect();
        (self.set, self.is_whole) = (Some(set), true);
    }
}

fn entries(configuration: &PluginConfiguration) -> Entries {
    configuration.plugins.iter().map(|entry| (entry.name.clone(), Arc::new(entry.clone()))).collect()
}
