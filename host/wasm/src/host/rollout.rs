//! Handlers that take another's place by degrees: which of the two judges a pod, and what its calls and the time do to the rollout.
//! The decisions are `witlet-core`'s.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use witlet_core::admission::rollout::{
    Rollout, RolloutChange, RolloutCheckpoint, RolloutObservation, RolloutPhase, bucket,
};
use witlet_core::event::EventType;

use super::{Shared, lock};
use crate::metrics::{CallOutcome, RolloutNumbers};
use crate::plugin::config::RolloutRole;
use crate::plugin::{HealthChange, MatchSubject, Plugin, RolloutStatus};

/// What a rollout is of: another component, or another entry, begins another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    /// SHA-256 of the component, in hexadecimal.
    digest: String,
    /// SHA-256 of the entry, in hexadecimal.
    entry: String,
}

impl Version {
    /// Of what runs; none if nothing does, or if it takes no one's place.
    fn of(plugin: &Plugin) -> Option<(Self, &RolloutRole)> {
        let role = plugin.spec.rollout()?;
        let digest = plugin.code.ready()?.digest.to_string();
        Some((Self { digest, entry: role.entry_digest.to_string() }, role))
    }
}

/// A rollout as it is kept over a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptRollout {
    version: Version,
    rollout: RolloutCheckpoint,
}

/// All rollouts that are kept, by the plugin's name.
pub(super) type KeptRollouts = BTreeMap<String, KeptRollout>;

struct RunningRollout {
    version: Version,
    rollout: Rollout,
}

/// Where the rollouts of all plugins stand.
pub(super) struct Rollouts {
    running: Mutex<BTreeMap<Arc<str>, RunningRollout>>,
    /// Since when times are counted.
    began: Instant,
    /// Whether something is to be kept that isn't yet.
    is_changed: AtomicBool,
}

/// Who judges a pod of the two handlers of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judge {
    New,
    /// And the new one is compared with it.
    Predecessor,
    /// And the new one isn't asked.
    PredecessorAlone,
}

impl Rollouts {
    pub(super) fn new() -> Self {
        Self { running: Mutex::default(), began: Instant::now(), is_changed: AtomicBool::default() }
    }

    /// Goes on with what was kept before a restart.
    pub(super) fn restore(&self, kept: KeptRollouts, now: Instant) {
        let now = self.since_start(now);
        let resumed = kept.into_iter().map(|(name, KeptRollout { version, rollout })| {
            (name.into(), RunningRollout { version, rollout: Rollout::resume(rollout, now) })
        });
        lock(&self.running).extend(resumed);
    }

    /// Returns what is to be kept if that has changed since this was last asked.
    pub(super) fn take_changed(&self) -> Option<KeptRollouts> {
        if !self.is_changed.swap(false, Ordering::Relaxed) {
            return None;
        }
        let kept = |(name, running): (&Arc<str>, &RunningRollout)| {
            let RunningRollout { version, rollout } = running;
            (name.to_string(), KeptRollout { version: version.clone(), rollout: rollout.checkpoint() })
        };
        Some(lock(&self.running).iter().map(kept).collect())
    }

    /// What was to be kept wasn't.
    pub(super) fn set_changed(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    /// Forgets those of plugins that the configuration doesn't have.
    pub(super) fn retain(&self, is_configured: impl Fn(&str) -> bool) {
        let mut running = lock(&self.running);
        let before = running.len();
        running.retain(|name, _| is_configured(name));
        if running.len() != before {
            self.set_changed();
        }
    }

    /// Begins the rollout of a version that has none yet, and ends that of a plugin whose entry has none any more.
    fn follow(&self, plugin: &Plugin, now: Instant) {
        let name = &plugin.spec.name;
        let mut running = lock(&self.running);
        let Some((version, role)) = Version::of(plugin) else {
            // One that is being loaded may be the one that is known.
            if plugin.spec.rollout().is_none() && running.remove(name).is_some() {
                self.set_changed();
            }
            return;
        };
        if running.get(name).is_some_and(|known| known.version == version) {
            return;
        }
        let rollout = Rollout::begin(&role.policy, self.since_start(now));
        running.insert(name.clone(), RunningRollout { version, rollout });
        self.set_changed();
    }

    /// Changes the rollout of the version that this plugin runs.
    fn change(
        &self,
        plugin: &Plugin,
        change: impl FnOnce(&mut Rollout, &RolloutRole) -> Option<RolloutChange>,
    ) -> Option<RolloutChange> {
        let (version, role) = Version::of(plugin)?;
        let mut running = lock(&self.running);
        let known = running.get_mut(&plugin.spec.name).filter(|known| known.version == version)?;
        let change = change(&mut known.rollout, role);
        if change.is_some() {
            self.set_changed();
        }
        change
    }

    /// Reads the rollout of the version that this plugin runs.
    fn read<T>(&self, plugin: &Plugin, read: impl FnOnce(&Rollout, &RolloutRole) -> T) -> Option<T> {
        let (version, role) = Version::of(plugin)?;
        let running = lock(&self.running);
        let known = running.get(&plugin.spec.name).filter(|known| known.version == version)?;
        Some(read(&known.rollout, role))
    }

    fn judge(&self, plugin: &Plugin, subject: &MatchSubject) -> Judge {
        let judge = self.read(plugin, |rollout, role| {
            let is_selected = role.labels.as_ref().is_some_and(|labels| subject.is_selected_by(labels));
            if rollout.judges(bucket(&plugin.spec.name, subject.pod()), is_selected) {
                Judge::New
            } else if rollout.phase() == RolloutPhase::Progressing {
                Judge::Predecessor
            } else {
                Judge::PredecessorAlone
            }
        });
        // What isn't loaded has no share yet.
        judge.unwrap_or(Judge::PredecessorAlone)
    }

    /// Returns what people see of the rollout of this plugin.
    pub(super) fn status(&self, plugin: &Plugin, now: Instant) -> Option<RolloutStatus> {
        let now = self.since_start(now);
        self.read(plugin, |rollout, role| RolloutStatus {
            of: role.of.to_string(),
            phase: rollout.phase(),
            percent: rollout.percent(),
            step_percent: role.policy.step_percent,
            soak_seconds: role.policy.soak.map(|soak| soak.as_secs_f64()),
            soaked_seconds: rollout.soaked(now).as_secs_f64(),
            calls: rollout.calls(),
            min_calls: role.policy.budget.min_calls,
            errors: rollout.errors(),
            differences: rollout.differences(),
            reason: rollout.revert().map(|revert| revert.reason),
            message: rollout.revert().map(|revert| revert.message.clone()),
        })
    }

    fn since_start(&self, now: Instant) -> std::time::Duration {
        now.saturating_duration_since(self.began)
    }
}

/// Which handlers have no say about a pod because another one has their place.
#[derive(Default)]
pub(super) struct PodHandlers {
    /// By name; and what judges in its place.
    passed_over: Vec<(Arc<str>, Arc<str>)>,
    /// New handlers that are compared, with the handler that they are compared with.
    compared: Vec<(Arc<str>, Arc<Plugin>)>,
}

impl PodHandlers {
    /// The handler that judges in the place of this one; none if it judges itself.
    pub(super) fn judged_by(&self, plugin: &Plugin) -> Option<&str> {
        let passed_over = self.passed_over.iter().find(|(name, _)| *name == plugin.spec.name);
        passed_over.map(|(_, by)| &**by)
    }

    /// The new handler that is compared with this one.
    pub(super) fn compared_with(&self, plugin: &Plugin) -> Option<&Arc<Plugin>> {
        let compared = self.compared.iter().find(|(name, _)| *name == plugin.spec.name);
        compared.map(|(_, successor)| successor)
    }
}

impl Shared {
    /// Who judges this pod where a handler takes the place of another.
    pub(super) fn places(&self, plugins: &[Arc<Plugin>], subject: &MatchSubject) -> PodHandlers {
        let mut places = PodHandlers::default();
        for plugin in plugins {
            let Some(role) = plugin.spec.rollout() else { continue };
            let (name, of) = (plugin.spec.name.clone(), role.of.clone());
            match self.rollouts.judge(plugin, subject) {
                Judge::New => places.passed_over.push((of, name)),
                Judge::Predecessor => {
                    places.compared.push((of.clone(), plugin.clone()));
                    places.passed_over.push((name, of));
                }
                Judge::PredecessorAlone => places.passed_over.push((name, of)),
            }
        }
        places
    }

    /// Starts, keeps and ends rollouts to match this set of plugins.
    pub(super) fn follow_rollouts(&self, plugins: &[Arc<Plugin>]) {
        let now = Instant::now();
        for plugin in plugins {
            self.rollouts.follow(plugin, now);
            self.measure_rollout(plugin);
        }
    }

    /// Goes on where a step is over. Returns whether other pods are judged by another handler now.
    pub(super) fn advance_rollouts(&self, now: Instant) -> bool {
        let mut any = false;
        for plugin in self.plugins().iter() {
            let at = self.rollouts.since_start(now);
            let change = self.rollouts.change(plugin, |rollout, role| rollout.advance(&role.policy, at));
            if let Some(change) = change {
                self.report_rollout(plugin, &change);
                any = true;
            }
        }
        any
    }

    /// Notes a call of a handler that takes another's place. `is_faulty` says that its answer wasn't one that the contract allows,
    /// `health` what the call made of its health.
    pub(super) fn note_rollout_call(
        &self,
        plugin: &Plugin,
        outcome: CallOutcome,
        is_faulty: bool,
        health: Option<HealthChange>,
    ) {
        if plugin.spec.rollout().is_none() || !outcome.was_called() {
            return;
        }
        let is_error = outcome.is_error() || is_faulty;
        self.note_rollout(
            plugin,
            if is_error { RolloutObservation::Failed } else { RolloutObservation::Answered },
        );
        if let Some(HealthChange::Quarantined { .. }) = health {
            self.note_rollout(plugin, RolloutObservation::Quarantined);
        }
    }

    /// Notes what happened to a handler that takes another's place.
    pub(super) fn note_rollout(&self, plugin: &Plugin, observation: RolloutObservation) {
        let change = self.rollouts.change(plugin, |rollout, role| rollout.observe(&role.policy, observation));
        if let Some(change) = change {
            self.report_rollout(plugin, &change);
            // Pods that wait because of it are asked about again.
            self.generation.send_modify(|generation| *generation += 1);
        }
    }

    fn report_rollout(&self, plugin: &Plugin, change: &RolloutChange) {
        let name = &*plugin.spec.name;
        let of = plugin.spec.rollout().map(|role| &*role.of).unwrap_or_default();
        self.measure_rollout(plugin);
        match change {
            RolloutChange::Stepped { percent } => {
                tracing::info!(plugin = name, of, percent, "Plugin judges a larger share of pods");
                let message = format!("Plugin judges {percent}% of pods instead of {of}");
                self.record_event(name, EventType::Normal, "PluginRolloutProgressed", message);
            }
            RolloutChange::Completed => {
                tracing::info!(plugin = name, of, "Plugin judges all pods");
                let message =
                    format!("Plugin judges all pods instead of {of}; remove {of} from the plugin file");
                self.record_event(name, EventType::Normal, "PluginRolloutCompleted", message);
            }
            RolloutChange::Reverted(revert) => {
                let (reason, error) = (revert.reason.as_str(), &revert.message);
                tracing::warn!(plugin = name, of, reason, error, "Reverted the rollout of the plugin");
                let message = format!("Rollout reverted to {of} ({reason}): {error}");
                self.record_event(name, EventType::Warning, "PluginRolloutReverted", message);
            }
        }
    }

    fn measure_rollout(&self, plugin: &Plugin) {
        let numbers = self.rollouts.read(plugin, |rollout, role| RolloutNumbers {
            of: role.of.clone(),
            percent: rollout.percent(),
            is_reverted: rollout.phase() == RolloutPhase::Reverted,
        });
        plugin.metrics().set_rollout(numbers);
    }
}

#[cfg(test)]
mod tests;
