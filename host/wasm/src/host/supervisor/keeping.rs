//! What is kept for the next start: the last good set, what the configuration demands of components, and where rollouts stand.
//!
//! What can't be written is tried again, and reported once: a start would go on with what was kept before.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use witlet_core::container::backoff::BackoffPolicy;

use super::super::last_good::{LastGood, LastGoodSet};
use super::kept::Keeping;
use super::{ReadConfiguration, Shared, Supervisor, lock, one_line};
use crate::plugin::config::PluginConfiguration;
use crate::plugin::{Origin, Plugin};

/// How long after a failure it is tried again.
const RETRY: BackoffPolicy = BackoffPolicy { initial: Duration::from_secs(1), max: Duration::from_secs(300) };
/// Failures in a row after which they are reported. The first may be of a component that was just replaced.
const REPORTED_AFTER: u32 = 3;

impl Supervisor {
    /// Keeps what a configuration that was taken demands of components: what it keeps out doesn't come back because a later
    /// one can't be taken.
    pub(super) async fn demand(&mut self, taken: &ReadConfiguration) {
        let PluginConfiguration { require_conformance, require_signature, .. } = &taken.configuration;
        let demands = require_conformance.is_some() || require_signature.is_some();
        self.keeping.unsaved_demands = Some(demands.then(|| taken.text.clone()));
        let Some(last_good) = self.sources.last_good.clone() else { return };
        // Until it is saved, the last good set has its own demands.
        if let Err(error) = self.keep_demands(last_good).await {
            tracing::warn!(error, "Failed to save the requirements of components");
        }
    }

    /// From now on the last good set is kept in this folder, with where its rollouts stand. What is in the folder before stays: it is
    /// another file's.
    pub(super) async fn use_last_good(&mut self, shared: &Shared, folder: Option<PathBuf>) {
        let last_good = folder.map(LastGood::new);
        if last_good != self.sources.last_good {
            self.sources.last_good = last_good;
            self.keeping = Keeping::default();
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

    /// Keeps what isn't kept yet, unless that was tried in vain a moment ago.
    pub(super) async fn keep(&mut self, shared: &Shared) {
        let Some(last_good) = self.sources.last_good.clone() else { return };
        if self.keeping.due.is_some_and(|due| Instant::now() < due) {
            return;
        }
        let demands = self.keep_demands(last_good.clone()).await;
        let set = self.keep_good(shared, last_good.clone()).await;
        let rollouts = keep_rollouts(shared, last_good.clone()).await;
        let Err(error) = demands.and(set).and(rollouts) else {
            (self.keeping.failures, self.keeping.due) = (0, None);
            return;
        };
        let failures = self.keeping.failures.saturating_add(1);
        let wait = RETRY.after(failures);
        (self.keeping.failures, self.keeping.due) = (failures, Some(Instant::now() + wait));
        tracing::warn!(error, retry_in_ms = wait.as_millis(), "Failed to save the last good plugins");
        if failures == REPORTED_AFTER {
            let message =
                format!("{error}; a restart with an error in the plugin file uses older plugins, or none");
            shared.report_file("plugins", last_good.folder(), "PluginsNotKept", message);
        }
    }

    async fn keep_demands(&mut self, last_good: LastGood) -> Result<(), String> {
        let Some(text) = self.keeping.unsaved_demands.take() else { return Ok(()) };
        let saved = blocking({
            let text = text.clone();
            move || last_good.save_demanding(text.as_deref())
        });
        let saved = saved.await;
        if saved.is_err() {
            self.keeping.unsaved_demands = Some(text);
        }
        saved
    }

    /// Keeps what runs as the last good set, if it is what the configuration has. Of a plugin that doesn't load the version is kept that was
    /// good before.
    async fn keep_good(&mut self, shared: &Shared, last_good: LastGood) -> Result<(), String> {
        let is_settled = self.works.is_empty() && lock(&shared.file_error).is_none();
        if !is_settled || self.sources.plugins_file.is_none() {
            return Ok(());
        }
        let is_failing = |name: &str| self.failures.contains_key(name);
        let (loaded, sources) = components_from_files(&shared.plugins(), is_failing);
        let before = self.keeping.set.as_ref();
        if self.keeping.is_whole && before.is_some_and(|set| set.is_of(&self.text, &loaded, is_failing)) {
            return Ok(());
        }
        let failing = self.failures.keys().map(|name| (&**name, self.keeping.earlier(name)));
        let plugins = self.keeping.desired.len();
        let Some(set) = LastGoodSet::after(before, &self.text, &loaded, plugins, failing) else {
            return Ok(());
        };
        let save = set.clone();
        blocking(move || last_good.save(&save, &sources)).await?;
        match set.failed.is_empty() {
            true => tracing::debug!("Saved the plugins as the last good ones"),
            false => {
                tracing::info!(failed = ?set.failed, "Saved the plugins that were loaded as the last good ones")
            }
        }
        self.keeping.saved(set);
        Ok(())
    }
}

/// Keeps where rollouts stand if that has changed.
async fn keep_rollouts(shared: &Shared, last_good: LastGood) -> Result<(), String> {
    let Some(rollouts) = shared.rollouts.take_changed() else { return Ok(()) };
    let saved = blocking(move || last_good.save_rollouts(&rollouts)).await;
    if saved.is_err() {
        shared.rollouts.set_changed();
    }
    saved
}

/// Runs what waits for the disk.
async fn blocking(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Result<(), String> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(one_line(&error)),
        Err(error) => Err(one_line(&error)),
    }
}

/// Digests of the components that come from files, by the plugin's name, and these files by digest; not of those that fail: their
/// files hold something else.
fn components_from_files(
    plugins: &[Arc<Plugin>],
    is_failing: impl Fn(&str) -> bool,
) -> (BTreeMap<String, String>, BTreeMap<String, PathBuf>) {
    let (mut components, mut sources) = (BTreeMap::new(), BTreeMap::new());
    for plugin in plugins.iter().filter(|plugin| !is_failing(&plugin.spec.name)) {
        if let (Origin::File(path), Some(loaded)) = (&plugin.spec.origin, plugin.code.ready()) {
            components.insert(plugin.spec.name.to_string(), loaded.digest.to_string());
            sources.insert(loaded.digest.to_string(), path.clone());
        }
    }
    (components, sources)
}
