//! The set of plugins: how one gets into it, and what becomes of it there.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use tokio::time::Instant;
use witlet_core::admission::Operation;
use witlet_core::event::EventType;

use super::data::DataChange;
use super::{Shared, lock, supervisor::LoadFailure};
use crate::guest::data::Data;
use crate::metrics::{LoadOutcome, RunningCode};
use crate::plugin::config::SkippedEntry;
use crate::plugin::{Code, KnownComponents, LoadError, Loaded, Loading, Plugin, Spec};
use crate::record::{About, PluginRecorder};

impl Shared {
    /// Loads a plugin, unless its component is one of `known`. Waits for its turn: what comes from registries waits among its
    /// like, so that registries that are slow or gone keep no file from being loaded.
    pub(super) async fn load(&self, spec: &Spec, known: &KnownComponents) -> Loading {
        let turns = if spec.is_pulled() { &self.pulls } else { &self.loads };
        match turns.acquire().await {
            Ok(_permit) => self.loader.load(spec, known).await,
            Err(_closed) => Loading::interrupted(),
        }
    }

    /// A plugin that starts over.
    pub(super) fn plugin(&self, spec: Spec, code: Code) -> Arc<Plugin> {
        let recorder = self.recorder(&spec, &code);
        let metrics = self.metrics.plugin(&spec.name);
        Arc::new(Plugin::new(spec, code, metrics, recorder))
    }

    /// A plugin that can't be called; `never_ran` if no version of it was ever loaded.
    pub(super) fn failed(&self, spec: Spec, error: Arc<LoadError>, never_ran: bool) -> Arc<Plugin> {
        let plugin = self.plugin(spec, Code::Failed(error));
        if never_ran {
            plugin.set_never_ran();
        }
        plugin
    }

    /// A plugin whose code goes on under another entry.
    pub(super) fn respecified(&self, old: &Plugin, spec: Spec) -> Arc<Plugin> {
        let recorder = self.recorder(&spec, &old.code);
        Arc::new(old.respecified(spec, recorder))
    }

    fn recorder(&self, spec: &Spec, code: &Code) -> Option<PluginRecorder> {
        let (recorder, record, loaded) = (self.recorder.as_ref()?, spec.record.as_ref()?, code.ready()?);
        let values = self.secrets.clone();
        let names = spec.grants.secrets.clone();
        Some(recorder.plugin(About {
            plugin: spec.name.clone(),
            max: record.max,
            on: record.on.clone(),
            component: spec.origin_reported(),
            digest: loaded.digest.to_string(),
            config: spec.config.clone(),
            data: spec.data.clone(),
            timeout: spec.timeout(),
            memory_bytes: spec.memory_bytes(),
            grants: spec.grants.names(),
            secrets: Arc::new(move || values.values(&names)),
        }))
    }

    /// Makes the set be these. Calls that run end on what they began with; what no plugin of the new set uses is drained.
    pub(super) fn replace(&self, plugins: Vec<Arc<Plugin>>) {
        let next: Arc<[Arc<Plugin>]> = plugins.into();
        let old = {
            let mut set = self.plugins.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *set, next.clone())
        };
        let code = |plugin: &Plugin| plugin.code.ready().map(Arc::as_ptr);
        for plugin in old.iter().filter(|old| !next.iter().any(|next| code(next) == code(old))) {
            plugin.retire();
        }
        self.metrics.retain(next.iter().map(|plugin| &*plugin.spec.name));
        for plugin in next.iter() {
            let running = plugin.code.ready().map(|loaded| RunningCode {
                digest: loaded.digest.to_string(),
                roles: plugin.spec.roles().collect(),
            });
            plugin.metrics().set_running(running);
            plugin.metrics().set_data(plugin.spec.data.clone());
        }
        self.shadow_calls.retain(&next);
        self.follow_rollouts(&next);
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// Goes on with rollouts, lets callers that wait for a plugin ask again when a quarantine is over or its load takes too long, and
    /// drops instances that no one needs.
    pub(super) fn maintain(&self) {
        let now = Instant::now();
        let mut released = self.advance_rollouts(now);
        for plugin in self.plugins().iter() {
            released |= plugin.take_release(now);
            if plugin.take_overdue_load(now) {
                released = true;
                let policy = plugin.spec.failure_policy().unwrap_or_default();
                tracing::warn!(
                    plugin = &*plugin.spec.name,
                    ?policy,
                    "Plugin is still being loaded, its failure policy answers for it"
                );
            }
            if let Code::Ready(loaded) = &plugin.code {
                loaded.shrink(now);
                for role in plugin.spec.roles() {
                    plugin.metrics().role(role).set_warm(loaded.warm(role));
                }
            }
        }
        if released {
            self.generation.send_modify(|generation| *generation += 1);
        }
    }

    /// Notes that a version was loaded, in place of the `old` one if that ran.
    pub(super) fn report_loaded(&self, spec: &Spec, loaded: &Loaded, old: Option<&Arc<Plugin>>) {
        let (name, digest) = (&*spec.name, &*loaded.digest);
        self.metrics.plugin(name).record_load(LoadOutcome::Loaded);
        tracing::info!(plugin = name, digest, "Loaded plugin");
        for role in loaded.unused() {
            tracing::warn!(
                plugin = name,
                %role,
                "Component has a role that its entry does not name, not using it in this role"
            );
        }
        match (spec.recheck(), loaded.setup.subscribes(Operation::Recheck)) {
            (Some(_), false) => {
                tracing::warn!(
                    plugin = name,
                    "Plugin does not subscribe to recheck, not asking it about running pods"
                );
            }
            (None, true) => {
                tracing::info!(
                    plugin = name,
                    "Plugin subscribes to recheck, its entry has no interval for it"
                );
            }
            (Some(_), true) | (None, false) => {}
        }
        for warning in loaded.warnings() {
            tracing::warn!(plugin = name, warning, "Plugin warned of its configuration");
            self.record_event(name, EventType::Warning, "PluginWarning", warning.to_owned());
        }
        let left_out = loaded.warnings_left_out();
        if left_out > 0 {
            tracing::warn!(plugin = name, left_out, "Left out warnings of the plugin");
        }
        if let Some(old) = old.and_then(|old| old.code.ready()) {
            let message = match &*old.digest == digest {
                true => format!("the plugin runs sha256:{digest} with another configuration or other data"),
                false => format!("the plugin runs sha256:{digest} in place of sha256:{}", old.digest),
            };
            self.record_event(name, EventType::Normal, "PluginReplaced", message);
        }
    }

    /// Notes that the last version that was good serves, because the newest doesn't load.
    pub(super) fn report_last_good(&self, name: &str, digest: &str, error: &str) {
        self.metrics.plugin(name).record_load(LoadOutcome::Loaded);
        tracing::warn!(plugin = name, digest, error, "Loaded the last good version of the plugin");
        let message = format!("Running the last good version sha256:{digest}, the newest failed: {error}");
        self.record_event(name, EventType::Warning, "PluginRunsLastGood", message);
    }

    /// Notes whether the newest content of the configuration is what runs, and if not, why.
    pub(super) fn set_file_error(&self, error: Option<String>) {
        self.metrics.set_configuration_refused(error.is_some());
        *lock(&self.file_error) = error;
    }

    /// Notes that data are others, or can't be had any more, or can again.
    pub(super) fn report_data(&self, change: &DataChange) {
        let DataChange { location, problem, digest } = change;
        let Some(problem) = problem else {
            tracing::info!(data = location, digest, "Read data of plugins");
            return;
        };
        tracing::error!(data = location, error = problem, "Failed to read data of plugins");
        let message = match digest {
            Some(digest) => format!("{problem}; using the last good data sha256:{digest}"),
            None => format!("{problem}; plugins that use it are not loaded"),
        };
        self.report_file("data", Path::new(location), "PluginDataNotRead", message);
    }

    /// Notes that data are older than their entry lets them be.
    pub(super) fn report_too_old(&self, plugin: &str, data: &Data) {
        let name = &*data.name;
        let message = match data.origin.problem() {
            Some(problem) => format!("its data {name:?} are older than their maxAge: {problem}"),
            None => format!("its data {name:?} are older than their maxAge"),
        };
        tracing::error!(plugin, data = name, error = message, "Data of a plugin are too old");
        self.record_event(plugin, EventType::Warning, "PluginDataTooOld", message);
    }

    /// Has decisions logged, or not.
    pub(super) fn set_decision_log(&self, is_on: bool) {
        match &self.decision_log {
            Some(log) => log.set(is_on),
            None if is_on => tracing::debug!("There is no folder for a decision log"),
            None => {}
        }
    }

    /// Notes which optional entries this host can't have; each is reported once while the file has it.
    pub(super) fn set_skipped(&self, skipped: Vec<SkippedEntry>) {
        let before = std::mem::replace(&mut *lock(&self.skipped), skipped.clone());
        for entry in skipped.iter().filter(|entry| !before.contains(entry)) {
            tracing::info!(plugin = entry.name, lacks = entry.lacks.join(", "), "Skipped optional plugin");
            self.record_event(&entry.name, EventType::Normal, "PluginSkipped", entry.to_string());
        }
    }

    /// Notes that a version doesn't load; reported once for each reason.
    pub(super) fn report_not_loaded(&self, failure: &LoadFailure, previous: Option<&LoadFailure>) {
        let name = &*failure.spec.name;
        let message = failure.error.sentence();
        self.metrics.plugin(name).record_load(LoadOutcome::Failed);
        tracing::error!(plugin = name, error = message, "Failed to load plugin");
        if previous.is_none_or(|previous| previous.error.sentence() != message) {
            self.record_event(name, EventType::Warning, "PluginNotLoaded", message);
        }
    }
}
