//! What the node has for entries, next to their components: its values, and data. When they change, entries are what they weren't.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::files::{self, Change, Fingerprints};
use super::{ReadConfiguration, Shared, Supervisor};
use crate::plugin::config::{DataSource, PluginConfiguration};

impl Supervisor {
    /// Reads the data of a configuration that weren't read yet, and forgets those of others.
    pub(super) async fn read_new_data(&mut self, shared: &Shared, configuration: &PluginConfiguration) {
        let new = self.sources.data.want(self.sources.data_sources(configuration));
        let paths: Vec<PathBuf> = new.iter().map(|DataSource::File(path)| path.clone()).collect();
        // Looked at before they are read: a change in between is noticed later.
        if let Ok(now) = tokio::task::spawn_blocking(move || files::look(paths)).await {
            self.files.note(now);
        }
        self.read_data(shared, new).await;
    }

    /// Reads these. Whether something is other than before.
    async fn read_data(&mut self, shared: &Shared, sources: Vec<DataSource>) -> bool {
        let changes = self.sources.data.read(sources).await;
        for change in &changes {
            shared.report_data(change);
        }
        !changes.is_empty()
    }

    /// Makes the entries again whose data or values of the node have changed.
    pub(super) async fn follow(&mut self, shared: &Arc<Shared>, now: &Fingerprints) {
        let files = &mut self.files;
        // What can't be read may be so for reasons that its own file doesn't show.
        let mut due: Vec<DataSource> = self.sources.data.failing().cloned().collect();
        for path in self.sources.data.paths() {
            if files.compare(path, now) != Change::None {
                due.push(DataSource::File(path.to_path_buf()));
            }
        }
        due.sort();
        due.dedup();
        let has_data = self.read_data(shared, due).await;
        if !has_data && !self.has_other_node() {
            return;
        }
        let text = self.text.clone();
        // It was taken before.
        let Ok(configuration) = self.sources.parse(&text) else { return };
        self.want(shared, ReadConfiguration { text, configuration }).await;
        tracing::info!(has_data, "Read plugin configuration again, what it names has changed");
    }

    /// Whether the node has other values of those that the configuration names.
    fn has_other_node(&self) -> bool {
        if self.values.is_empty() {
            return false;
        }
        let node = self.sources.node.newest();
        self.values.iter().any(|(variable, value)| variable.on(node.as_deref()) != *value)
    }
}
