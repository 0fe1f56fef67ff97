//! Keeps the set of plugins as the files have it: loads what is new next to what runs, and swaps.
//!
//! A changed file takes effect as a whole: the new set replaces the old one when each of its plugins was loaded or
//! couldn't be. What takes longer than [`SWAP_WAIT_MAX`] follows by itself. A plugin whose newest version isn't there or
//! doesn't load goes on with the version that it has, if it has one.

mod configuration;
mod inputs;
mod keeping;
mod kept;
mod last_good;
mod trust;
mod work;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use witlet_core::error::one_line;

use super::data::FetchedData;
use super::files::{Change, Files};
use super::secrets::{self, Failure as SecretFailure};
use super::{FileError, MAINTENANCE_PERIOD, PluginFile, Shared, lock};
use crate::plugin::config::{PluginConfiguration, SecretEntry, Values};
use crate::plugin::{Code, KnownComponents, LoadError, Loading, Plugin, Spec};
use configuration::ReadConfiguration;
pub(super) use configuration::Sources;
use kept::Keeping;
pub(super) use work::Failure as LoadFailure;
use work::{Failure, FinishedLoad, Step, Work, failure_spares, next_step};

/// How long a changed set waits for its slowest plugin before it takes effect without it.
pub(super) const SWAP_WAIT_MAX: Duration = Duration::from_secs(10);

/// Manages the set.
pub(super) struct Supervisor {
    sources: Sources,
    /// What the file says, the built-ins first.
    desired: Vec<Spec>,
    secrets: Vec<SecretEntry>,
    secret_failures: BTreeMap<String, SecretFailure>,
    files: Files,
    /// Keys of reports whose files were there and are gone.
    lost_keys: BTreeSet<PathBuf>,
    /// Whether it was reported that the configuration's file is gone.
    reported_gone: bool,
    loads: JoinSet<FinishedLoad>,
    /// Data that are being fetched.
    fetches: JoinSet<FetchedData>,
    /// Data that were reported to be older than their entries let them be, by plugin and name.
    too_old: BTreeSet<(Arc<str>, Arc<str>)>,
    works: HashMap<Arc<str>, Work>,
    failures: HashMap<Arc<str>, Failure>,
    /// The text of the desired configuration.
    text: String,
    /// What the node had of the values that it names.
    values: Values,
    /// What the last good set had, for plugins whose first load fails.
    spares: PluginConfiguration,
    keeping: Keeping,
    /// Numbers loads, so that the result of one that isn't needed any more is distinguished.
    serial: u64,
    /// Until when a changed set waits for all of its plugins.
    swap_at: Option<Instant>,
    tried: watch::Sender<bool>,
}

impl Supervisor {
    /// Reads the configuration for the first time, and loads the built-ins. What the file names is loading when this
    /// returns. The receiver changes when each plugin was tried.
    pub(super) async fn start(
        shared: &Arc<Shared>,
        sources: Sources,
    ) -> Result<(Self, watch::Receiver<bool>), FileError> {
        let (tried, first_loads) = watch::channel(false);
        let mut supervisor = Self {
            desired: sources.builtin_specs(),
            sources,
            secrets: Vec::new(),
            secret_failures: BTreeMap::new(),
            files: Files::default(),
            lost_keys: BTreeSet::new(),
            reported_gone: false,
            loads: JoinSet::new(),
            fetches: JoinSet::new(),
            too_old: BTreeSet::new(),
            works: HashMap::new(),
            failures: HashMap::new(),
            text: String::new(),
            values: Values::new(),
            spares: PluginConfiguration::default(),
            keeping: Keeping::default(),
            serial: 0,
            swap_at: None,
            tried,
        };
        // Checked before it is read: a change in between is noticed later.
        supervisor.note_files().await;
        supervisor.restore_rollouts(shared).await;
        let first = supervisor.sources.read_first().await;
        let taken = supervisor.first_set(shared, first).await?;
        // With an empty cache this takes a while, in which nothing else is logged.
        tracing::info!(count = supervisor.desired.len(), "Loading shipped plugins");
        // First alone, so that no other component's compilation is in their way.
        for spec in supervisor.desired.clone() {
            supervisor.begin(shared, spec);
        }
        while let Some(joined) = supervisor.loads.join_next().await {
            supervisor.finish(joined);
        }
        supervisor.settle(shared);
        supervisor.want(shared, taken).await;
        // No one waits for them at the start.
        supervisor.swap_at = None;
        supervisor.settle(shared);
        supervisor.notify_tried();
        Ok((supervisor, first_loads))
    }

    /// Manages the plugins until the host is gone.
    pub(super) async fn run(
        mut self,
        host: Weak<Shared>,
        check: Arc<Notify>,
        mut file: watch::Receiver<PluginFile>,
    ) {
        let mut ticks = tokio::time::interval(MAINTENANCE_PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let (mut tick, mut other_file, mut fetched) = (false, false, None);
            tokio::select! {
                _ = ticks.tick() => tick = true,
                () = check.notified() => tick = true,
                Ok(()) = file.changed() => other_file = true,
                Some(joined) = self.loads.join_next() => self.finish(joined),
                Some(joined) = self.fetches.join_next() => fetched = joined.ok(),
            }
            let Some(shared) = host.upgrade() else { return };
            if let Some(fetched) = fetched {
                self.take_fetched(&shared, fetched).await;
            }
            if other_file {
                let file = file.borrow_and_update().clone();
                self.use_file(&shared, file).await;
            }
            if tick {
                self.check_inputs(&shared).await;
                self.check_data(&shared).await;
                shared.maintain();
            }
            self.settle(&shared);
            self.notify_tried();
            self.keep(&shared).await;
        }
    }

    /// Notifies waiters when nothing is being loaded for the first time.
    fn notify_tried(&mut self) {
        if self.works.is_empty() {
            self.forget_spares();
            self.tried.send_if_modified(|tried| !std::mem::replace(tried, true));
        }
    }

    /// Checks all files, and begins what follows from their changes.
    async fn check_inputs(&mut self, shared: &Arc<Shared>) {
        let Some(now) = self.check_files().await else { return };
        if let Some(path) = self.sources.plugins_file.clone() {
            match self.files.compare(&path, &now) {
                Change::None if !self.reported_gone => {}
                Change::None | Change::Written => self.reload_file(shared).await,
                Change::Gone => self.report_gone(shared, &path),
            }
        }
        self.follow(shared, &now).await;
        let secrets = self.secrets.clone();
        // All of them are compared, so that each change is noticed once.
        let changes = secrets.iter().map(|secret| self.files.compare(&secret.file, &now));
        let changed = changes.filter(|change| *change != Change::None).count() > 0;
        // What can't be read may be so for reasons that its own file doesn't show.
        if changed || !self.secret_failures.is_empty() {
            self.read_secrets(shared).await;
        }
        let trust_changed = self.trust_changed(&now);
        // Several plugins may have one component, and each change is reported once.
        let components: BTreeSet<PathBuf> =
            self.desired.iter().filter_map(|spec| spec.path().map(Path::to_path_buf)).collect();
        let written: BTreeSet<PathBuf> =
            components.into_iter().filter(|path| self.files.compare(path, &now) == Change::Written).collect();
        let instant = Instant::now();
        for spec in self.desired.clone() {
            let written = spec.path().is_some_and(|path| written.contains(path));
            let trust = trust_changed.contains(&spec.name);
            let failure = self.failures.get(&spec.name);
            let due = failure.is_some_and(|failure| failure.is_due(instant))
                && !self.works.contains_key(&spec.name);
            if written || due || trust {
                self.begin(shared, spec);
            }
        }
    }

    /// Reads this file in place of the one before.
    async fn use_file(&mut self, shared: &Arc<Shared>, file: PluginFile) {
        self.sources.plugins_file = file.path;
        self.use_last_good(shared, file.last_good_folder).await;
        self.reported_gone = false;
        // Checked before it is read: a change in between is noticed later.
        self.note_files().await;
        self.reload_file(shared).await;
    }

    async fn reload_file(&mut self, shared: &Arc<Shared>) {
        match self.sources.read() {
            Ok(taken) => {
                self.demand(&taken).await;
                self.want(shared, taken).await;
                self.reported_gone = false;
                shared.set_file_error(None);
                tracing::info!("Read plugin configuration");
            }
            Err(error) => {
                tracing::error!(
                    error = one_line(&error),
                    "Rejected plugin configuration, keeping the last one"
                );
                self.report_refused(shared, one_line(&error));
            }
        }
    }

    fn report_gone(&mut self, shared: &Shared, path: &Path) {
        if self.reported_gone {
            return;
        }
        self.reported_gone = true;
        let message = format!("plugin file {} not found, keeping the last plugins", path.display());
        tracing::error!(error = message, "Plugin configuration not found");
        shared.report_file("plugins", path, "PluginConfigurationMissing", message.clone());
        shared.set_file_error(Some(message));
    }

    fn report_refused(&self, shared: &Shared, message: String) {
        let path = self.sources.plugins_file.as_deref().unwrap_or(Path::new(""));
        shared.report_file("plugins", path, "PluginConfigurationInvalid", message.clone());
        shared.set_file_error(Some(message));
    }

    /// Begins to make the set be what the file says.
    async fn want(&mut self, shared: &Arc<Shared>, taken: ReadConfiguration) {
        let ReadConfiguration { text, mut configuration } = taken;
        self.text = text;
        shared.set_skipped(std::mem::take(&mut configuration.skipped));
        shared.set_decision_log(configuration.decision_log);
        self.keeping.want(&configuration);
        self.read_new_data(shared, &configuration).await;
        let node = self.sources.node.newest();
        self.values = configuration::values(&configuration, node.as_deref());
        let (desired, secrets) = self.sources.specs(configuration, node.as_deref());
        self.desired = desired;
        self.secrets = secrets;
        self.note_files().await;
        self.read_secrets(shared).await;
        self.check_data(shared).await;
        let names: Vec<Arc<str>> = self.desired.iter().map(|spec| spec.name.clone()).collect();
        // Dropping work ends it.
        self.works.retain(|name, _| names.contains(name));
        self.failures.retain(|name, _| names.contains(name));
        shared.rollouts.retain(|name| names.iter().any(|known| **known == *name));
        let running = shared.plugins();
        for spec in self.desired.clone() {
            let old = running.iter().find(|plugin| plugin.spec.name == spec.name);
            let work = self.works.get_mut(&spec.name);
            match next_step(&spec, old, work.as_deref(), self.failures.get(&spec.name)) {
                Step::Nothing => {}
                Step::Respecify => {
                    if let Some(work) = work {
                        work.spec = spec;
                    }
                }
                Step::Return => {
                    self.works.remove(&spec.name);
                    self.failures.remove(&spec.name);
                }
                Step::Load => self.begin(shared, spec),
            }
        }
        self.swap_at = Some(Instant::now() + SWAP_WAIT_MAX);
    }

    /// Starts to load this, in place of what was being loaded under its name.
    fn begin(&mut self, shared: &Arc<Shared>, spec: Spec) {
        self.begin_as(shared, spec, None);
    }

    fn begin_as(&mut self, shared: &Arc<Shared>, spec: Spec, spare_for: Option<Arc<LoadError>>) {
        self.serial += 1;
        let serial = self.serial;
        let known = self.known(shared, &spec);
        if let Some(old) = shared.plugins().iter().find(|plugin| plugin.spec.name == spec.name)
            && !self.failures.contains_key(&spec.name)
        {
            old.set_pending(Some("its newest version is being loaded".to_owned()));
        }
        let (shared, name) = (shared.clone(), spec.name.clone());
        let load = {
            let spec = spec.clone();
            async move {
                if spec.awaits_data {
                    // Another load takes the place of this one when they are there, or can't be had.
                    std::future::pending::<()>().await;
                }
                FinishedLoad { serial, loading: shared.load(&spec, &known).await }
            }
        };
        let task = self.loads.spawn(load);
        self.works.insert(name, Work::new(spec, serial, spare_for, task));
    }

    fn known(&self, shared: &Shared, spec: &Spec) -> KnownComponents {
        let running = shared.plugins();
        let old = running.iter().find(|plugin| plugin.spec.runs_as(spec));
        let runs = old.and_then(|plugin| plugin.code.ready());
        let runs = runs.map(|loaded| (loaded.digest.to_string(), loaded.key_ids()));
        let failure = self.failures.get(&spec.name).filter(|failure| failure.is_final_for(spec));
        KnownComponents { runs, failed: failure.and_then(|failure| failure.digest.clone()) }
    }

    /// Notes the result of a load.
    fn finish(&mut self, joined: Result<FinishedLoad, JoinError>) {
        match joined {
            Ok(done) => {
                let work = self.works.values_mut().find(|work| work.serial == done.serial);
                if let Some(work) = work {
                    work.result = Some(done.loading);
                }
            }
            Err(error) if error.is_cancelled() => {}
            Err(error) => {
                tracing::error!(%error, "Task that loads a plugin failed");
                for work in self.works.values_mut().filter(|work| work.is_dead()) {
                    work.result = Some(Loading::interrupted());
                }
            }
        }
    }

    /// Makes what is loaded run, unless a changed set still waits for the rest of it.
    fn settle(&mut self, shared: &Arc<Shared>) {
        let now = Instant::now();
        let loading = self.works.values().any(|work| work.result.is_none());
        if loading && self.swap_at.is_some_and(|at| now < at) {
            return;
        }
        self.swap_at = None;
        let running = shared.plugins();
        let desired = self.desired.clone();
        let next: Vec<Arc<Plugin>> = desired
            .into_iter()
            .map(|spec| {
                let old = running.iter().find(|plugin| plugin.spec.name == spec.name);
                self.next(shared, spec, old, now)
            })
            .collect();
        let same = next.len() == running.len()
            && next.iter().zip(running.iter()).all(|(next, old)| Arc::ptr_eq(next, old));
        if !same {
            shared.replace(next);
        }
    }

    /// The plugin that answers for this specification from now on.
    fn next(
        &mut self,
        shared: &Arc<Shared>,
        spec: Spec,
        old: Option<&Arc<Plugin>>,
        now: Instant,
    ) -> Arc<Plugin> {
        let Some(mut work) = self.works.remove(&spec.name) else { return self.unloaded(shared, spec, old) };
        let Some(loading) = work.result.take() else {
            let plugin = Self::meanwhile(shared, &spec, old);
            self.works.insert(spec.name, work);
            return plugin;
        };
        if let Some(failed) = work.spare_for.take() {
            return Self::spare_loaded(shared, spec, &work, loading, failed);
        }
        let runs = old.filter(|old| old.code.ready().is_some());
        match loading.result {
            Ok(None) => self.known_again(shared, spec, old, loading.digest),
            Ok(Some(loaded)) => {
                self.failures.remove(&spec.name);
                shared.report_loaded(&spec, &loaded, runs);
                shared.plugin(spec, Code::Ready(Arc::new(loaded)))
            }
            Err(error) => {
                let previous = self.failures.get(&spec.name);
                let (error, failed, keys) = (Arc::new(error), loading.digest.clone(), loading.keys);
                let failure = Failure::new(&spec, loading.digest, error.clone(), previous, now);
                shared.report_not_loaded(&failure, previous);
                self.failures.insert(spec.name.clone(), failure);
                let spared = |old: &&Arc<Plugin>| {
                    failure_spares(old, &spec, failed.as_deref(), keys.as_deref(), &error)
                };
                match runs.filter(spared) {
                    Some(old) => {
                        old.set_pending(Some(error.sentence()));
                        old.clone()
                    }
                    None if runs.is_none() && self.begin_spare(shared, &spec, &error) => {
                        Self::meanwhile(shared, &spec, old)
                    }
                    None => {
                        let never_ran = runs.is_none() && !self.keeping.knows(&spec.name);
                        shared.failed(spec, error, never_ran)
                    }
                }
            }
        }
    }

    /// Who answers while the newest version is being loaded.
    fn meanwhile(shared: &Shared, spec: &Spec, old: Option<&Arc<Plugin>>) -> Arc<Plugin> {
        match old {
            Some(old) if old.code.ready().is_some() => old.clone(),
            // It is being loaded already, or failed and is tried again.
            Some(old) if old.spec == *spec => old.clone(),
            // An edit of its entry doesn't prolong how long pods wait for it.
            Some(old) if matches!(old.code, Code::Loading) && old.spec.runs_as(spec) => {
                shared.respecified(old, spec.clone())
            }
            Some(_) | None => shared.plugin(spec.clone(), Code::Loading),
        }
    }

    /// Nothing was loaded: the old one goes on, under what its entry says now.
    fn unloaded(&self, shared: &Shared, spec: Spec, old: Option<&Arc<Plugin>>) -> Arc<Plugin> {
        match old {
            Some(old) if self.failures.contains_key(&spec.name) && !old.spec.runs_as(&spec) => old.clone(),
            Some(old) if old.spec == spec => {
                if !self.failures.contains_key(&spec.name) {
                    old.set_pending(None);
                }
                old.clone()
            }
            Some(old) if old.spec.runs_as(&spec) => {
                let pending = old.pending().filter(|_| self.failures.contains_key(&spec.name));
                let plugin = shared.respecified(old, spec);
                plugin.set_pending(pending);
                plugin
            }
            // A plugin never goes missing: one that no one answers for would let every pod pass.
            Some(_) | None => shared.plugin(spec, Code::Failed(Arc::new(LoadError::Interrupted))),
        }
    }

    /// The bytes are those that run, or those that failed before.
    fn known_again(
        &mut self,
        shared: &Shared,
        spec: Spec,
        old: Option<&Arc<Plugin>>,
        digest: Option<String>,
    ) -> Arc<Plugin> {
        let runs = old.and_then(|old| old.code.ready()).map(|loaded| &*loaded.digest);
        if runs.is_some() && runs == digest.as_deref() {
            self.failures.remove(&spec.name);
        }
        self.unloaded(shared, spec, old)
    }

    async fn read_secrets(&mut self, shared: &Shared) {
        let entries = self.secrets.clone();
        let Ok(read) = tokio::task::spawn_blocking(move || secrets::read(&entries)).await else { return };
        for (name, failure) in &read.failures {
            if self.secret_failures.get(name) != Some(failure) {
                tracing::error!(secret = name, error = failure.message, "Failed to read secret");
                shared.report_file("secrets", &failure.file, "SecretNotRead", failure.message.clone());
            }
        }
        *lock(&shared.secret_errors) =
            read.failures.values().map(|failure| failure.message.clone()).collect();
        self.secret_failures = read.failures;
        shared.secrets.replace(read.values);
    }
}
