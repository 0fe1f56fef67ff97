//! The last good set at a start: what that goes on with.

use std::path::PathBuf;
use std::sync::Arc;

use super::super::last_good::LastGoodSet;
use super::{FileError, ReadConfiguration, Shared, Supervisor, Work, one_line};
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
                self.demand(&taken).await;
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
        let text = set.configuration.clone();
        self.spares = configuration.clone();
        self.keeping.restore(set, &configuration, is_whole);
        Some(ReadConfiguration { text, configuration })
    }

    /// The configuration of the last good set. What was demanded of components after it was kept is demanded of it, too.
    fn last_good_configuration(
        &self,
        set: &LastGoodSet,
        demanding: Option<&str>,
    ) -> Result<PluginConfiguration, ConfigError> {
        let configuration = self.sources.parse(&set.configuration)?.without(&set.failed);
        let Some(demanding) = demanding else { return Ok(configuration) };
        let PluginConfiguration { require_conformance, require_signature, .. } =
            self.sources.parse(demanding)?;
        Ok(PluginConfiguration { require_conformance, require_signature, ..configuration })
    }

    /// Begins to load the last good version of a plugin whose newest failed before any ran. False if there is none, or none
    /// under the same demands. What waits for the node's values or for data has it later still.
    pub(super) fn begin_spare(&mut self, shared: &Arc<Shared>, spec: &Spec, failed: &Arc<LoadError>) -> bool {
        let Some(spare) = self.spare(&spec.name).filter(|_| !is_missing(failed)) else { return false };
        self.spares.plugins.retain(|entry| *entry.name != *spec.name);
        if !spare.has_demands_of(spec) || spare.runs_as(spec) {
            return false;
        }
        self.begin_as(shared, spare, Some(failed.clone()));
        true
    }

    /// The last good version of a plugin, with what the node has for it now.
    fn spare(&self, name: &str) -> Option<Spec> {
        let (last_good, set) = (self.sources.last_good.as_ref()?, self.keeping.set()?);
        let entry = self.spares.plugins.iter().find(|entry| entry.name == name)?;
        let configuration = PluginConfiguration { plugins: vec![entry.clone()], ..self.spares.clone() };
        let node = self.sources.node.newest();
        let (specs, _) = self.sources.specs(configuration, node.as_deref());
        // What awaits data would keep the newest from being tried again.
        let spec = specs.into_iter().find(|spec| !spec.builtin && !spec.awaits_data)?;
        Some(from_copy(spec, set, |digest| last_good.copy(digest)))
    }

    /// Forgets the last good versions that no plugin can need any more. Each plugin was tried.
    pub(super) fn forget_spares(&mut self) {
        let failures = &self.failures;
        let waits = |name: &str| failures.get(name).is_some_and(|failure| is_missing(&failure.error));
        self.spares.plugins.retain(|entry| waits(&entry.name));
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
}

/// An entry of the last good set with the copy of its component.
fn from_copy(spec: Spec, set: &LastGoodSet, copy: impl Fn(&str) -> PathBuf) -> Spec {
    let origin = match (&spec.origin, set.components.get(&*spec.name)) {
        (Origin::File(path), Some(digest)) => {
            Origin::LastGood { path: path.clone(), copy: copy(digest), digest: digest.clone() }
        }
        (origin, _) => origin.clone(),
    };
    Spec { origin, ..spec }
}

/// Whether it wasn't tried because it lacks what the node or a server has for it.
fn is_missing(error: &LoadError) -> bool {
    matches!(error, LoadError::Missing { .. })
}
