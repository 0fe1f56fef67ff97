//! One round of the eviction manager, step by step (`synchronize` in `eviction_manager.go`).
//!
//! A round begins with what the node has left. Each step says what is to be measured or done next; what came of it is handed in
//! with [`EvictionManager::advance`]. At most one pod is evicted for a threshold, and the next round checks the node again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::filesystems::{Filesystems, NodeReclaim};
use super::limits;
use super::message;
use super::notification::{self, MemoryWatch};
use super::observation::{self, Observation, Observations, Since};
use super::rank::{self, Candidate};
use super::signal::StarvedResource;
use super::threshold::{Threshold, with_container_fs};
use crate::node::conditions::{PRESSURES, Pressure, Pressures};
use crate::pod::PodUid;
use crate::stats::PodUsages;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

/// A pod has this long to end where nothing of it can wait (upstream: `immediateEvictionGracePeriodSeconds`).
pub const IMMEDIATE_GRACE_SECONDS: i64 = 1;
/// A round without an eviction is followed by the next after this (upstream: `evictionMonitoringPeriod`).
pub const MONITORING_PERIOD: Duration = Duration::from_secs(10);
/// The least time between two rounds of which the kernel's report begins the second, so that memory that swings about a threshold
/// doesn't keep the node busy.
pub const NOTIFIED_PERIOD: Duration = Duration::from_secs(1);
/// The next round waits this long at most for an evicted pod to be gone (upstream: `podCleanupTimeout`).
pub const POD_CLEANUP_TIMEOUT: Duration = Duration::from_secs(30);
/// A pressure is reported this long after it was seen last, unless the operator says otherwise (upstream:
/// `evictionPressureTransitionPeriod`).
pub const PRESSURE_TRANSITION_PERIOD: Duration = Duration::from_secs(5 * 60);

/// What the operator says.
#[derive(Clone, Debug, PartialEq)]
pub struct EvictionConfig {
    /// Hard and soft thresholds.
    pub thresholds: Vec<Threshold>,
    /// How long a pressure is reported after it was seen last (`evictionPressureTransitionPeriod`).
    pub pressure_transition: Duration,
    /// Grace of pods that are evicted for a soft threshold, at most (`evictionMaxPodGracePeriod`).
    pub max_pod_grace_seconds: i64,
    /// Whether limits of local storage are enforced (`localStorageCapacityIsolation`).
    pub local_storage_isolation: bool,
    /// Whether the kernel is to report shortages of memory between two rounds (`kernelMemcgNotification`).
    pub memory_notification: bool,
}

impl Default for EvictionConfig {
    /// No thresholds; all else as upstream.
    fn default() -> Self {
        Self {
            thresholds: Vec::new(),
            pressure_transition: PRESSURE_TRANSITION_PERIOD,
            max_pod_grace_seconds: 0,
            local_storage_isolation: true,
            memory_notification: false,
        }
    }
}

/// A pod that is to end now.
#[derive(Clone, Debug, PartialEq)]
pub struct Eviction {
    pub uid: PodUid,
    /// With the resources that it was allocated.
    pub pod: Arc<Pod>,
    /// How long its containers may take.
    pub grace_seconds: i64,
    /// Of its status and of the event.
    pub message: String,
    pub annotations: BTreeMap<String, String>,
    /// Whether its status gets the condition `DisruptionTarget`: not where it exceeded a limit of its own.
    pub is_disrupted: bool,
    /// What it ended for, as upstream's metric names it.
    pub signal: &'static str,
    /// When the node was measured, by the signals of the thresholds that are met; empty where the pod exceeded a limit of its own.
    pub measured: Vec<(&'static str, Timestamp)>,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Measure the pods that have limits of local storage ([`Found::Limited`]); their containers only where that is said, for the runtime
    /// has to measure all for that.
    MeasureLimited {
        /// Whether writable layers and logs count.
        containers: bool,
    },
    /// Have the node give back what it can, in this order, then check it again ([`Found::Node`]).
    Reclaim(&'static [NodeReclaim]),
    /// Measure all pods, and of each at least what it takes of this ([`Found::All`]).
    MeasureAll(StarvedResource),
    /// End these pods, wait until they are gone, for [`POD_CLEANUP_TIMEOUT`] at most, and begin the next round at once.
    Evict(Vec<Eviction>),
    /// The pod that is to go was evicted before: wait until it is gone, for [`POD_CLEANUP_TIMEOUT`] at most, and begin the next round at
    /// once.
    Wait(PodUid),
    /// Begin the next round after [`MONITORING_PERIOD`].
    Rest,
}

/// What a step brought.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// What pods with limits use.
    Limited(PodUsages),
    /// What the node has left now; none if it can't be read.
    Node(Option<Observations>),
    /// What all pods use.
    All(PodUsages),
}

/// A step, and whether it begins to reclaim something, which is an event of the node.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// `Attempting to reclaim …`
    pub attempting: Option<StarvedResource>,
    pub step: Step,
}

impl From<Step> for Outcome {
    fn from(step: Step) -> Self {
        Self { attempting: None, step }
    }
}

/// How one threshold stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdState {
    pub threshold: Threshold,
    /// The newest figure; none if there is none.
    pub observed: Option<Observation>,
    /// Since when it is met; none if it isn't.
    pub met_since: Option<Timestamp>,
}

/// Decides on evictions. A value: what is measured and the time come in from outside.
#[derive(Clone, Debug)]
pub struct EvictionManager {
    config: EvictionConfig,
    transition: SignedDuration,
    /// None until it is known.
    filesystems: Option<Filesystems>,
    /// Since when thresholds are met, whatever their grace.
    since: Since,
    /// When each pressure was seen last.
    pressed: [Option<Timestamp>; PRESSURES.len()],
    pressures: Pressures,
    /// Thresholds that were met for their grace and aren't resolved yet.
    met: Vec<Threshold>,
    last: Observations,
    round: Round,
}

/// What the running round acts on.
#[derive(Clone, Debug, Default)]
struct Round {
    /// The most urgent first.
    thresholds: Vec<Threshold>,
}

impl EvictionManager {
    /// Creates a manager without observations.
    pub fn new(config: EvictionConfig) -> Self {
        let transition = SignedDuration::try_from(config.pressure_transition).unwrap_or(SignedDuration::MAX);
        Self {
            config,
            transition,
            filesystems: None,
            since: Since::new(),
            pressed: Default::default(),
            pressures: Pressures::default(),
            met: Vec::new(),
            last: Observations::new(),
            round: Round::default(),
        }
    }

    /// Whether there is anything to watch at all.
    pub fn is_needed(&self) -> bool {
        !self.config.thresholds.is_empty() || self.config.local_storage_isolation
    }

    /// Returns what the kernel is to report between two rounds; empty unless the operator wants it.
    pub fn memory_watches(&self) -> Vec<MemoryWatch> {
        if self.config.memory_notification {
            notification::watches(&self.config.thresholds)
        } else {
            Vec::new()
        }
    }

    /// The pressures as of the last round.
    pub fn pressures(&self) -> Pressures {
        self.pressures
    }

    /// How far every threshold is away.
    pub fn states(&self) -> Vec<ThresholdState> {
        let state = |threshold: &Threshold| ThresholdState {
            threshold: *threshold,
            observed: self.last.get(&threshold.signal).copied(),
            met_since: self.since.iter().find(|(known, _)| known.is_same(threshold)).map(|(_, at)| *at),
        };
        self.config.thresholds.iter().map(state).collect()
    }

    /// Begins a round with what the node has left. Of `filesystems` the first that is known counts for good, as upstream; until then
    /// all is taken for one.
    pub fn begin(
        &mut self,
        observations: Observations,
        filesystems: Option<Filesystems>,
        pods: &[Candidate],
        now: Timestamp,
    ) -> Outcome {
        let mut thresholds = observation::met(&self.config.thresholds, &observations, false);
        if let (None, Some(filesystems)) = (self.filesystems, filesystems) {
            // What is set for writable layers counts from the next round on.
            self.filesystems = Some(filesystems);
            self.config.thresholds = with_container_fs(&self.config.thresholds, filesystems);
        }
        thresholds = observation::merge(thresholds, observation::met(&self.met, &observations, true));
        self.since = observation::first_observed(&thresholds, &self.since, now);
        self.press(&thresholds, &observations, now);
        self.met = observation::past_grace(&self.since, now);
        let mut urgent = observation::updated(&self.met, &observations, &self.last);
        urgent.sort_by_key(|threshold| (threshold.signal, !threshold.is_hard()));
        self.last = observations;
        self.round = Round { thresholds: urgent };
        let evictable = || pods.iter().filter(|candidate| candidate.is_evictable());
        if self.config.local_storage_isolation && evictable().any(|one| limits::has_limits(&one.pod)) {
            let containers = evictable().any(|one| limits::counts_containers(&one.pod));
            return Step::MeasureLimited { containers }.into();
        }
        self.reclaim(pods)
    }

    /// Goes on with what the last step brought.
    pub fn advance(&mut self, found: Found, pods: &[Candidate]) -> Outcome {
        match found {
            Found::Limited(usages) => {
                let evictions = self.over_limits(pods, &usages);
                if evictions.is_empty() { self.reclaim(pods) } else { Step::Evict(evictions).into() }
            }
            Found::Node(again) => {
                let is_resolved = again
                    .is_some_and(|again| observation::met(&self.config.thresholds, &again, true).is_empty());
                if is_resolved { Step::Rest.into() } else { self.measure(pods).into() }
            }
            Found::All(usages) => self.choose(pods, &usages).unwrap_or(Step::Rest).into(),
        }
    }

    /// A pressure is there while a threshold is met, and for the transition period after that.
    fn press(&mut self, met: &[Threshold], observations: &Observations, now: Timestamp) {
        let before = self.pressures;
        for (place, pressure) in PRESSURES.into_iter().enumerate() {
            let of = |threshold: &&Threshold| threshold.signal.pressure() == pressure;
            let mut own = self.config.thresholds.iter().filter(of).peekable();
            // Where nothing can be read it stays as it was.
            let is_blind =
                own.peek().is_some() && !own.any(|threshold| observations.contains_key(&threshold.signal));
            let is_met = met.iter().any(|threshold| threshold.signal.pressure() == pressure);
            if is_met || (is_blind && before.of(pressure) == Some(true)) {
                self.pressed[place] = Some(now);
            }
            // A moment that lies ahead is of before the clock was set back; it ends no later than a new one would.
            let recent = self.pressed[place].is_some_and(|at| now.duration_since(at).abs() < self.transition);
            let known = if is_blind && !recent { before.of(pressure) } else { Some(recent) };
            self.pressures.set(pressure, known);
        }
    }

    fn over_limits(&self, pods: &[Candidate], usages: &PodUsages) -> Vec<Eviction> {
        let evictable = pods.iter().filter(|candidate| candidate.is_evictable());
        let eviction = |candidate: &Candidate| {
            let usage = usages.get(&candidate.uid)?;
            let (limit, message) =
                limits::exceeded(&candidate.pod, usage, self.filesystems.unwrap_or_default())?;
            Some(Eviction {
                uid: candidate.uid.clone(),
                pod: candidate.pod.clone(),
                grace_seconds: IMMEDIATE_GRACE_SECONDS,
                message,
                annotations: BTreeMap::new(),
                is_disrupted: false,
                signal: limit.as_str(),
                measured: Vec::new(),
            })
        };
        evictable.filter_map(eviction).collect()
    }

    /// Turns to the most urgent threshold.
    fn reclaim(&self, pods: &[Candidate]) -> Outcome {
        let Some(target) = self.round.thresholds.first() else { return Step::Rest.into() };
        let reclaims = self.filesystems.unwrap_or_default().reclaims(target.signal);
        let step = if reclaims.is_empty() { self.measure(pods) } else { Step::Reclaim(reclaims) };
        Outcome { attempting: Some(target.signal.resource()), step }
    }

    /// The one pod that ends for the most urgent threshold, or whose end is waited for.
    fn choose(&self, pods: &[Candidate], usages: &PodUsages) -> Option<Step> {
        let target = self.round.thresholds.first()?;
        let ranked = rank::rank(target.signal, self.filesystems.unwrap_or_default(), pods, usages);
        let mut going = ranked.into_iter().filter(|one| one.is_evictable() || one.is_awaited());
        let first = going.next()?;
        if first.is_awaited() {
            return Some(Step::Wait(first.uid.clone()));
        }
        let (message, annotations) = message::message(
            target.signal.resource(),
            &first.pod,
            usages.get(&first.uid),
            &self.round.thresholds,
            &self.last,
        );
        let grace_seconds =
            if target.is_hard() { IMMEDIATE_GRACE_SECONDS } else { self.soft_grace(&first.pod) };
        Some(Step::Evict(vec![Eviction {
            uid: first.uid.clone(),
            pod: first.pod.clone(),
            grace_seconds,
            message,
            annotations,
            is_disrupted: true,
            signal: target.signal.as_str(),
            measured: self.measured(),
        }]))
    }

    fn measured(&self) -> Vec<(&'static str, Timestamp)> {
        let at =
            |threshold: &Threshold| Some((threshold.signal.as_str(), self.last.get(&threshold.signal)?.at?));
        self.round.thresholds.iter().filter_map(at).collect()
    }

    /// What pods use has to be known only where one may be evicted.
    fn measure(&self, pods: &[Candidate]) -> Step {
        let resource = self.round.thresholds.first().map(|target| target.signal.resource());
        resource.filter(|_| pods.iter().any(Candidate::is_evictable)).map_or(Step::Rest, Step::MeasureAll)
    }

    fn soft_grace(&self, pod: &Pod) -> i64 {
        let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        let most = self.config.max_pod_grace_seconds;
        own.map_or(most, |own| own.min(most))
    }
}

impl Pressures {
    fn set(&mut self, pressure: Pressure, known: Option<bool>) {
        let place = match pressure {
            Pressure::Memory => &mut self.memory,
            Pressure::Disk => &mut self.disk,
            Pressure::Pid => &mut self.pid,
        };
        *place = known;
    }
}
