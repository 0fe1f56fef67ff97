//! What the node has for entries, next to their components: its values, and data. When they change, entries are what they weren't.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::time::Instant;

use super::super::data::FetchedData;
use super::super::files::{self, Change, Fingerprints};
use super::{ReadConfiguration, Shared, Supervisor};
use crate::plugin::Spec;
use crate::plugin::config::{DataSource, PluginConfiguration};

impl Supervisor {
    /// Reads the data of a configuration that weren't read yet, and forgets those of others.
    pub(super) async fn read_new_data(&mut self, shared: &Shared, configuration: &PluginConfiguration) {
        let new = self.sources.want_data(configuration);
        let files = new.iter().filter_map(|source| match source {
            DataSource::File(path) => Some(path.clone()),
            DataSource::Remote(_) => None,
        });
        let paths: Vec<PathBuf> = files.collect();
        // Checked before they are read: a change in between is noticed later.
        if let Ok(now) = tokio::task::spawn_blocking(move || files::fingerprints(paths)).await {
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

    /// Begins to fetch data that are due, keeps what serves, and reports data that have become too old.
    pub(super) async fn check_data(&mut self, shared: &Shared) {
        self.sources.data.fetch_due(&mut self.fetches);
        if let Some(problem) = self.sources.data.keep().await {
            let folder = self.sources.data.folder().unwrap_or(Path::new(""));
            let message = format!("{problem}; a restart without its sources uses older data, or none");
            shared.report_file("data", folder, "PluginDataNotKept", message);
        }
        let now = Instant::now();
        let mut too_old = BTreeSet::new();
        for plugin in shared.plugins().iter() {
            let name = &plugin.spec.name;
            for data in plugin.spec.data.iter().filter(|data| data.is_too_old(now)) {
                let key = (name.clone(), data.name.clone());
                if !self.too_old.contains(&key) {
                    shared.report_too_old(name, data);
                }
                too_old.insert(key);
            }
        }
        self.too_old = too_old;
    }

    /// Takes what was fetched: the entries that name it are made again if it is other than before.
    pub(super) async fn take_fetched(&mut self, shared: &Arc<Shared>, fetched: FetchedData) {
        let Some(change) = self.sources.data.fetched(fetched) else { return };
        shared.report_data(&change);
        self.take_again(shared, true).await;
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
        if has_data || self.has_other_node() {
            self.take_again(shared, has_data).await;
        }
    }

    /// Reads the configuration as it was taken once more, with what it names as that is now.
    async fn take_again(&mut self, shared: &Arc<Shared>, has_data: bool) {
        let text = self.text.clone();
        // It was taken before.
        let Ok(configuration) = self.sources.parse(&text) else { return };
        self.want(shared, ReadConfiguration { text, configuration }).await;
        tracing::info!(has_data, "Reloaded plugin configuration because a file that it names has changed");
    }

    /// Whether the node has other values of those that the configuration names.
    fn has_other_node(&self) -> bool {
        if self.values.is_empty() {
            return false;
        }
        let node = self.sources.node.newest();
        self.values.iter().any(|(variable, value)| variable.on(node.as_deref()) != *value)
    }

    /// Every file that matters.
    fn paths(&self) -> Vec<PathBuf> {
        let components = self.desired.iter().filter_map(|spec| spec.path().map(Path::to_path_buf));
        let trust: BTreeSet<&Path> = self.desired.iter().flat_map(Spec::trust_paths).collect();
        let trust = trust.into_iter().map(Path::to_path_buf);
        let secrets = self.secrets.iter().map(|secret| secret.file.clone());
        let data = self.sources.data.paths().map(Path::to_path_buf);
        let configured = components.chain(trust).chain(secrets).chain(data);
        self.sources.plugins_file.iter().cloned().chain(configured).collect()
    }

    pub(super) async fn check_files(&self) -> Option<Fingerprints> {
        let paths = self.paths();
        tokio::task::spawn_blocking(move || files::fingerprints(paths)).await.ok()
    }

    pub(super) async fn note_files(&mut self) {
        let paths = self.paths();
        if let Some(now) = self.check_files().await {
            self.files.note(now);
            self.files.retain(|path| paths.iter().any(|known| known == path));
        }
    }
}
