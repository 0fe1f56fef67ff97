//! What is measured of plugins: calls by outcome, how long they took, memory, CPU, instances, quarantines, loads, and how
//! often shadows agreed.
//!
//! Recording takes no lock: a caller of a plugin keeps its [`PluginMetrics`], made once, and adds to atomic numbers.
//! [`Metrics`] writes them when a client asks.

pub(crate) mod custom;
mod encode;
mod histogram;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use witlet_core::admission::Verdict;
use witlet_core::admission::chain::FailureKind;
use witlet_core::probe::ProbeOutcome;

use custom::CustomMetrics;
pub use histogram::{BUCKETS, Histogram};

use crate::guest::data::Data;
use crate::role::Role;

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallOutcome {
    /// Admission: nothing against the pod.
    Admit,
    /// Admission: the pod may never run here.
    Reject,
    Defer,
    /// Admission: the node lacks resources.
    Shortage,
    Success,
    /// Probe: it passes, with a warning.
    Warning,
    Failure,
    /// Source: the same pods as before.
    Unchanged,
    /// Source: a set of pods.
    Pods,
    Empty,
    /// Source: it took the news about its pods.
    Notified,
    /// An error in the plugin's own words.
    Error,
    Trapped,
    /// It took longer than it may.
    TimedOut,
    /// It exceeded its memory limit.
    OutOfMemory,
    /// Its answer isn't one that the contract allows.
    BadAnswer,
    /// It couldn't be loaded, so that its failure policy answered.
    NotLoaded,
    /// It is in quarantine, so that its failure policy answered.
    Quarantined,
    /// The host couldn't ask it.
    NotAsked,
}

impl CallOutcome {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Admit,
        Self::Reject,
        Self::Defer,
        Self::Shortage,
        Self::Success,
        Self::Warning,
        Self::Failure,
        Self::Unchanged,
        Self::Pods,
        Self::Empty,
        Self::Notified,
        Self::Error,
        Self::Trapped,
        Self::TimedOut,
        Self::OutOfMemory,
        Self::BadAnswer,
        Self::NotLoaded,
        Self::Quarantined,
        Self::NotAsked,
    ];

    /// The value of the label `outcome`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Reject => "reject",
            Self::Defer => "defer",
            Self::Shortage => "shortage",
            Self::Success => "success",
            Self::Warning => "warning",
            Self::Failure => "failure",
            Self::Unchanged => "unchanged",
            Self::Pods => "pods",
            Self::Empty => "empty",
            Self::Notified => "notified",
            Self::Error => "error",
            Self::Trapped => "trapped",
            Self::TimedOut => "timed_out",
            Self::OutOfMemory => "out_of_memory",
            Self::BadAnswer => "bad_answer",
            Self::NotLoaded => "not_loaded",
            Self::Quarantined => "quarantined",
            Self::NotAsked => "not_asked",
        }
    }

    /// Whether no usable answer came back.
    pub fn is_error(self) -> bool {
        match self {
            Self::Admit
            | Self::Reject
            | Self::Defer
            | Self::Shortage
            | Self::Success
            | Self::Warning
            | Self::Failure
            | Self::Unchanged
            | Self::Pods
            | Self::Empty
            | Self::Notified => false,
            Self::Error
            | Self::Trapped
            | Self::TimedOut
            | Self::OutOfMemory
            | Self::BadAnswer
            | Self::NotLoaded
            | Self::Quarantined
            | Self::NotAsked => true,
        }
    }

    /// Whether the plugin's code ran at all, so that the time it took says something.
    pub fn was_called(self) -> bool {
        !matches!(self, Self::NotLoaded | Self::Quarantined | Self::NotAsked)
    }
}

impl From<&Verdict> for CallOutcome {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Admit => Self::Admit,
            Verdict::Reject { .. } => Self::Reject,
            Verdict::Defer { .. } => Self::Defer,
            Verdict::Shortage(_) => Self::Shortage,
        }
    }
}

impl From<&ProbeOutcome> for CallOutcome {
    fn from(outcome: &ProbeOutcome) -> Self {
        match outcome {
            ProbeOutcome::Success(_) => Self::Success,
            ProbeOutcome::Warning(_) => Self::Warning,
            ProbeOutcome::Failure(_) => Self::Failure,
        }
    }
}

impl From<FailureKind> for CallOutcome {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Trapped => Self::Trapped,
            FailureKind::TimedOut => Self::TimedOut,
            FailureKind::OutOfMemory => Self::OutOfMemory,
            FailureKind::BadAnswer => Self::BadAnswer,
            FailureKind::Failed => Self::Error,
            FailureKind::NotLoaded => Self::NotLoaded,
            FailureKind::Quarantined => Self::Quarantined,
            FailureKind::Host => Self::NotAsked,
        }
    }
}

/// One call, as it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub outcome: CallOutcome,
    /// From the question to the answer.
    pub took: Duration,
    /// The most memory that its instance had; 0 where that isn't known.
    pub memory_bytes_peak: u64,
    /// CPU time that it used; zero where that isn't known.
    pub cpu: Duration,
}

/// What a plugin's load came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOutcome {
    /// It can be called.
    Loaded,
    Failed,
}

/// Numbers about one plugin in one role.
#[derive(Debug, Default)]
pub struct RoleMetrics {
    outcomes: [AtomicU64; CallOutcome::ALL.len()],
    duration: Histogram,
    memory_bytes_peak: AtomicU64,
    cpu_nanoseconds: AtomicU64,
    busy: AtomicU64,
    warm: AtomicU64,
    quarantined: AtomicBool,
    quarantines: AtomicU64,
}

/// A call that isn't over. Counts as a busy instance until it is dropped.
#[derive(Debug)]
pub struct Busy<'a>(&'a AtomicU64);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RoleMetrics {
    /// Notes a call that is over.
    pub fn record(&self, call: Call) {
        let Call { outcome, took, memory_bytes_peak, cpu } = call;
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
        if outcome.was_called() {
            self.duration.observe(took);
        }
        self.memory_bytes_peak.fetch_max(memory_bytes_peak, Ordering::Relaxed);
        self.cpu_nanoseconds.fetch_add(nanoseconds(cpu), Ordering::Relaxed);
    }

    /// Counts a call as running until the guard is dropped.
    pub fn begin(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(&self.busy)
    }

    /// Notes how many instances wait for their next call.
    pub fn set_warm(&self, instances: usize) {
        self.warm.store(instances as u64, Ordering::Relaxed);
    }

    /// Notes whether it is in quarantine; counts each one that begins.
    pub fn set_quarantined(&self, quarantined: bool) {
        if quarantined {
            self.quarantines.fetch_add(1, Ordering::Relaxed);
        }
        self.quarantined.store(quarantined, Ordering::Relaxed);
    }

    /// Calls with this outcome.
    pub fn calls_with(&self, outcome: CallOutcome) -> u64 {
        self.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// Calls that were asked for, also those that the plugin never saw.
    pub fn calls(&self) -> u64 {
        CallOutcome::ALL.into_iter().map(|outcome| self.calls_with(outcome)).sum()
    }

    /// Calls without a usable answer.
    pub fn errors(&self) -> u64 {
        CallOutcome::ALL
            .into_iter()
            .filter(|outcome| outcome.is_error())
            .map(|outcome| self.calls_with(outcome))
            .sum()
    }

    /// How long calls took.
    pub fn duration(&self) -> &Histogram {
        &self.duration
    }

    /// The most memory that one instance had.
    pub fn memory_bytes_peak(&self) -> u64 {
        self.memory_bytes_peak.load(Ordering::Relaxed)
    }

    /// CPU time of all calls together.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu_nanoseconds.load(Ordering::Relaxed))
    }

    /// Calls that run now.
    pub fn busy(&self) -> u64 {
        self.busy.load(Ordering::Relaxed)
    }

    /// Instances that wait for their next call.
    pub fn warm(&self) -> u64 {
        self.warm.load(Ordering::Relaxed)
    }
}

/// Numbers about one plugin. They go on over reloads, as long as some entry has its name.
#[derive(Debug, Default)]
pub struct PluginMetrics {
    roles: [OnceLock<Box<RoleMetrics>>; Role::ALL.len()],
    loaded: AtomicU64,
    failed: AtomicU64,
    agreed: AtomicU64,
    differed: AtomicU64,
    without_verdict: [AtomicU64; NoVerdict::ALL.len()],
    running: RwLock<Option<RunningCode>>,
    data: RwLock<Arc<[Data]>>,
    rollout: RwLock<Option<RolloutNumbers>>,
    custom: Arc<CustomMetrics>,
}

/// Why a shadow has no verdict on a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoVerdict {
    /// It failed, or is in quarantine.
    Failed,
    Skipped,
}

impl NoVerdict {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Failed, Self::Skipped];

    /// The word in the metric.
    fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// The code that a plugin runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningCode {
    /// SHA-256 of its component, in hexadecimal.
    pub digest: String,
    /// The roles that it is used in.
    pub roles: Vec<Role>,
}

/// Where a plugin stands that takes another's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RolloutNumbers {
    /// The plugin that it replaces.
    pub(crate) of: Arc<str>,
    /// The share of pods that it judges.
    pub(crate) percent: u8,
    pub(crate) is_reverted: bool,
}

impl PluginMetrics {
    /// Returns its numbers in one role, which exist from the first time that someone asks for them.
    pub fn role(&self, role: Role) -> &RoleMetrics {
        self.roles[role as usize].get_or_init(Box::default)
    }

    /// Returns its numbers in one role, if it has any.
    pub fn role_if_used(&self, role: Role) -> Option<&RoleMetrics> {
        self.roles[role as usize].get().map(|metrics| &**metrics)
    }

    /// Notes that it was loaded, or wasn't.
    pub fn record_load(&self, outcome: LoadOutcome) {
        let count = match outcome {
            LoadOutcome::Loaded => &self.loaded,
            LoadOutcome::Failed => &self.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How often it was loaded.
    pub fn loads(&self) -> u64 {
        self.loaded.load(Ordering::Relaxed)
    }

    /// Notes which code it runs; none while it has none.
    pub fn set_running(&self, running: Option<RunningCode>) {
        *self.running.write().unwrap_or_else(PoisonError::into_inner) = running;
    }

    /// The code that it runs.
    pub fn running(&self) -> Option<RunningCode> {
        self.running.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes which data it has.
    pub(crate) fn set_data(&self, data: Arc<[Data]>) {
        *self.data.write().unwrap_or_else(PoisonError::into_inner) = data;
    }

    /// Returns its own numbers.
    pub(crate) fn custom(&self) -> &Arc<CustomMetrics> {
        &self.custom
    }

    /// Notes where its rollout stands; none if it takes no one's place, or isn't loaded.
    pub(crate) fn set_rollout(&self, numbers: Option<RolloutNumbers>) {
        *self.rollout.write().unwrap_or_else(PoisonError::into_inner) = numbers;
    }

    fn rollout(&self) -> Option<RolloutNumbers> {
        self.rollout.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn data(&self) -> Arc<[Data]> {
        self.data.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes whether a shadow's verdict was the one that counted.
    pub fn record_shadow(&self, agrees: bool) {
        let count = if agrees { &self.agreed } else { &self.differed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a shadow had no verdict.
    pub fn record_shadow_without_verdict(&self, why: NoVerdict) {
        self.without_verdict[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Questions on which a shadow had no verdict for this reason.
    pub fn shadow_without_verdict(&self, why: NoVerdict) -> u64 {
        self.without_verdict[why as usize].load(Ordering::Relaxed)
    }

    /// Verdicts of a shadow: how many agreed, and how many differed.
    pub fn shadow_verdicts(&self) -> (u64, u64) {
        (self.agreed.load(Ordering::Relaxed), self.differed.load(Ordering::Relaxed))
    }
}

/// Numbers about all plugins of a host. Cheap to clone; all clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    plugins: Arc<RwLock<BTreeMap<Arc<str>, Arc<PluginMetrics>>>>,
    configuration_refused: Arc<AtomicBool>,
}

impl Metrics {
    /// The numbers of the plugin with this name, made if there are none.
    pub fn plugin(&self, name: &str) -> Arc<PluginMetrics> {
        let known = self.plugins.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        known.unwrap_or_else(|| {
            let mut plugins = self.plugins.write().unwrap_or_else(PoisonError::into_inner);
            plugins.entry(name.into()).or_default().clone()
        })
    }

    /// Forgets all plugins but these, so that names which no entry has any more leave no series behind.
    pub fn retain<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let names: BTreeSet<&str> = names.into_iter().collect();
        let mut plugins = self.plugins.write().unwrap_or_else(PoisonError::into_inner);
        plugins.retain(|name, _| names.contains(&**name));
    }

    /// Notes whether the newest content of the configuration is what runs.
    pub fn set_configuration_refused(&self, refused: bool) {
        self.configuration_refused.store(refused, Ordering::Relaxed);
    }

    fn all(&self) -> Vec<(Arc<str>, Arc<PluginMetrics>)> {
        let plugins = self.plugins.read().unwrap_or_else(PoisonError::into_inner);
        plugins.iter().map(|(name, metrics)| (name.clone(), metrics.clone())).collect()
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
