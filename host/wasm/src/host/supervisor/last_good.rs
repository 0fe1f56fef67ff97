//! The last good set: what a start goes on with, and when a set is kept as the next one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::Instant;

use super::super::last_good::LastGood;
use super::{FileError, LastGoodSet, ReadConfiguration, Shared, Supervisor, Work, lock, one_line};
use crate::plugin::config::{ConfigError, PluginConfiguration};
use crate::plugin::{Code, LoadError, Loading, Origin, Plugin, Spec};

impl Supervisor {
    /// Returns what a start wants: the configuration as it is, else the last good one, else nothing but the built-ins.
    ///
    /// # Errors
    /// When the configuration can't be taken and there is no folder for a last good one.
    pub(super) async fn first_set(
        &mut self,
        shared: &Shared,
        first: Result<ReadConfiguration, FileError>,
    ) -> Result<ReadConfiguration, FileError> {
        let kept = self.read_last_good(shared).await;
        match first {
            Ok(taken) => {
                self.keep_demands(&taken).await;
                Ok(taken)
            }
            Err(error) if self.sources.last_good.is_none() => Err(error),
            Err(error) => {
                let goes_on = match kept {
                    Some(_) => "using the last good configuration",
                    None => "using built-in plugins only",
                };
                let message = one_line(&error);
                tracing::error!(error = message, goes_on, "Rejected plugin configuration");
                self.report_refused(shared, format!("{message}; {goes_on}"));
                Ok(kept.unwrap_or_default())
            }
        }
    }

    /// Reads the set that was kept, and remembers its plugins for those that don't load.
    async fn read_last_good(&mut self, shared: &Shared) -> Option<ReadConfiguration> {
        self.sources.plugins_file.as_ref()?;
        let last_good = self.sources.last_good.clone()?;
        let read = tokio::task::spawn_blocking({
            let last_good = last_good.clone();
            move || {
                let set = last_good.load()?;
                let is_whole = set.as_ref().is_some_and(|set| last_good.is_whole(set));
                std::io::Result::Ok((set, is_whole, last_good.load_demanding()?))
            }
        });
        let (set, is_whole, demanding) = match read.await.ok()? {
            Ok((set, is_whole, demanding)) => (set?, is_whole, demanding),
            Err(error) => {
                tracing::warn!(%error, "Failed to read the last good plugins");
                return None;
            }
        };
        let configuration = match self.last_good_configuration(&set, demanding.as_deref()) {
            Ok(configuration) => configuration,
            // Another release may take less.
            Err(error) => {
                tracing::warn!(%error, "The last good plugin configuration can't be used any more");
                return None;
            }
        };
        self.read_new_data(shared, &configuration).await;
        let node = self.sources.node.newest();
        let (specs, _) = self.sources.specs(configuration.clone(), node.as_deref());
        // What awaits data would keep the newest from being tried again.
        let specs = specs.into_iter().filter(|spec| !spec.builtin && !spec.awaits_data);
        self.spares = specs
            .map(|spec| (spec.name.clone(), spare(spec, &set, |digest| last_good.copy(digest))))
            .collect();
        let text = set.configuration.clone();
        // A copy that is damaged is written again with the next set that is good, be it the same.
        self.kept = Some(set).filter(|_| is_whole);
        Some(ReadConfiguration { text, configuration })
    }

    /// The configuration of the last good set. What was demanded of components after it was kept is demanded of it, too.
    fn last_good_configuration(
        &self,
        set: &LastGoodSet,
        demanding: Option<&str>,
    ) -> Result<PluginConfiguration, ConfigError> {
        let configuration = self.sources.parse(&set.configuration)?;
        let Some(demanding) = demanding else { return Ok(configuration) };
        let PluginConfiguration { require_conformance, require_signature, .. } =
            self.sources.parse(demanding)?;
        Ok(PluginConfiguration { require_conformance, require_signature, ..configuration })
    }

    /// Keeps what a configuration that was taken demands of components: what it keeps out doesn't come back because a later
    /// one can't be taken.
    pub(super) async fn keep_demands(&self, taken: &ReadConfiguration) {
        let Some(last_good) = self.sources.last_good.clone() else { return };
        let PluginConfiguration { require_conformance, require_signature, .. } = &taken.configuration;
        let demands = require_conformance.is_some() || require_signature.is_some();
        let text = demands.then(|| taken.text.clone());
        match tokio::task::spawn_blocking(move || last_good.save_demanding(text.as_deref())).await {
            Ok(Ok(())) => {}
            // The last good set then has its own demands.
            Ok(Err(error)) => tracing::warn!(%error, "Failed to save the requirements of components"),
            Err(error) => tracing::debug!(%error, "Task that saves the requirements of components failed"),
        }
    }

    /// Begins to load the last good version of a plugin whose newest failed before any ran. False if there is none, or none
    /// under the same demands.
    pub(super) fn begin_spare(&mut self, shared: &Arc<Shared>, spec: &Spec, failed: &Arc<LoadError>) -> bool {
        let spare = self.spares.remove(&spec.name);
        let spare = spare.filter(|spare| spare.has_demands_of(spec) && !spare.runs_as(spec));
        let Some(spare) = spare else { return false };
        self.begin_as(shared, spare, Some(failed.clone()));
        true
    }

    /// The plugin that answers after the last good version was loaded, or wasn't, in place of one that `failed`.
    pub(super) fn spare_loaded(
        shared: &Shared,
        spec: Spec,
        work: &Work,
        loading: Loading,
        failed: Arc<LoadError>,
    ) -> Arc<Plugin> {
        match loading.result {
            Ok(Some(loaded)) => {
                let sentence = failed.sentence();
                shared.report_last_good(&spec.name, &loaded.digest, &sentence);
                let plugin = shared.plugin(work.spec.clone(), Code::Ready(Arc::new(loaded)));
                plugin.set_pending(Some(sentence));
                plugin
            }
            other => {
                let error = other.err().map(|error| error.sentence());
                tracing::warn!(
                    plugin = &*spec.name,
                    error,
                    "Failed to load the last good version of the plugin"
                );
                shared.plugin(spec, Code::Failed(failed))
            }
        }
    }

    /// From now on the last good set is kept in this folder, with where its rollouts stand. What is in the folder before stays: it is
    /// another file's.
    pub(super) async fn use_last_good(&mut self, shared: &Shared, folder: Option<PathBuf>) {
        let last_good = folder.map(LastGood::new);
        if last_good != self.sources.last_good {
            self.sources.last_good = last_good;
            self.kept = None;
            self.restore_rollouts(shared).await;
        }
    }

    /// Goes on with the rollouts that were kept.
    pub(super) async fn restore_rollouts(&self, shared: &Shared) {
        let Some(last_good) = self.sources.last_good.clone() else { return };
        match tokio::task::spawn_blocking(move || last_good.load_rollouts()).await {
            Ok(Ok(kept)) => shared.rollouts.restore(kept, Instant::now()),
            // They begin again, a reverted one too.
            Ok(Err(error)) => tracing::warn!(%error, "Failed to load the rollouts of plugins"),
            Err(error) => tracing::debug!(%error, "Task that loads the rollouts of plugins failed"),
        }
    }

    /// Keeps where rollouts stand if that has changed.
    pub(super) async fn keep_rollouts(&self, shared: &Shared) {
        let Some(last_good) = self.sources.last_good.clone() else { return };
        let Some(rollouts) = shared.rollouts.take_changed() else { return };
        match tokio::task::spawn_blocking(move || last_good.save_rollouts(&rollouts)).await {
            Ok(Ok(())) => tracing::debug!("Saved the rollouts of plugins"),
            Ok(Err(error)) => tracing::warn!(%error, "Failed to save the rollouts of plugins"),
            Err(error) => tracing::debug!(%error, "Task that saves the rollouts of plugins failed"),
        }
    }

    /// Keeps what runs as the last good set, if it is what the configuration has and each plugin of it was loaded.
    pub(super) async fn keep_good(&mut self, shared: &Shared) {
        let Some(last_good) = self.sources.last_good.clone() else { return };
        let is_good = self.works.is_empty() && self.failures.is_empty() && lock(&shared.file_error).is_none();
        if !is_good || self.sources.plugins_file.is_none() {
            return;
        }
        let (components, sources) = components_from_files(&shared.plugins());
        if self.kept.as_ref().is_some_and(|kept| kept.is_of(&self.text, &components)) {
            return;
        }
        let set = LastGoodSet::new(self.text.clone(), components);
        self.kept = Some(set.clone());
        let saved = tokio::task::spawn_blocking(move || last_good.save(&set, &sources)).await;
        match saved {
            Ok(Ok(())) => tracing::debug!("Saved the plugins as the last good ones"),
            // A start without a set has the one before, or the built-ins.
            Ok(Err(error)) => tracing::warn!(%error, "Failed to save the last good plugins"),
            Err(error) => tracing::debug!(%error, "Task that saves the last good plugins failed"),
        }
    }
}

/// An entry of the last good set with the copy of its component.
fn spare(spec: Spec, set: &LastGoodSet, copy: impl Fn(&str) -> PathBuf) -> Spec {
    let origin = match (&spec.origin, set.components.get(&*spec.name)) {
        (Origin::File(path), Some(digest)) => {
            Origin::LastGood { path: path.clone(), copy: copy(digest), digest: digest.clone() }
        }
        (origin, _) => origin.clone(),
    };
    Spec { origin, ..spec }
}

/// Digests of the components that come from files, by the plugin's name, and these files by digest.
fn components_from_files(plugins: &[Arc<Plugin>]) -> (BTreeMap<String, String>, BTreeMap<String, PathBuf>) {
    let (mut components, mut sources) = (BTreeMap::new(), BTreeMap::new());
    for plugin in plugins {
        if let (Origin::File(path), Some(loaded)) = (&plugin.spec.origin, plugin.code.ready()) {
            components.insert(plugin.spec.name.to_string(), loaded.digest.to_string());
            sources.insert(loaded.digest.to_string(), path.clone());
        }
    }
    (components, sources)
}
