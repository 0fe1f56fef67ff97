//! The probes of all pods and their results: what the manager's task and its callers share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::probe::desired::{DesiredProbe, DesiredProbes, NoHandler};
use witlet_core::probe::facts::probed_containers;
use witlet_core::probe::handler::ProbeHandler;
use witlet_core::probe::worker::{ProbeSettings, ProbeWorker};
use witlet_core::probe::{ProbeKind, ProbeResult, ProbeResults};
use witlet_core::runtime::ContainerId;
use witlet_ports::{LastProbe, ProbeCounts, ProbeReport, ProbeTotals};

use super::series::{DurationLabels, ProbeDurations, ProbeSeries};

/// A slot; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SlotId(u64);

/// Something that the task is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    Begin(SlotId),
    /// A probe that had stopped may have something to do again.
    Revive(SlotId),
    /// A probe has another check or another period.
    Restart(SlotId),
    /// A probe is requested out of turn.
    Trigger(SlotId),
}

/// Where a probe is in its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The task hasn't seen it yet.
    New,
    /// It waits for its first tick.
    Delayed(Instant),
    /// It waits for a tick.
    Waiting(Instant),
    /// It waits for capacity, or runs.
    Probing,
    /// It has nothing to do until there is another instance of the container.
    Stopped,
}

/// One probe of one container.
pub(super) struct Slot {
    pub(super) uid: PodUid,
    pub(super) pod: Arc<Pod>,
    pub(super) container: String,
    pub(super) kind: ProbeKind,
    pub(super) settings: ProbeSettings,
    /// What is asked of which type.
    pub(super) handler: Result<ProbeHandler, NoHandler>,
    /// It was reported that its type doesn't take this probe.
    pub(super) is_refusal_reported: bool,
    pub(super) worker: ProbeWorker,
    pub(super) stage: Stage,
    /// Its ticks are whole periods after this.
    pub(super) first_tick: Option<Instant>,
    /// The first tick after the one that is being worked on.
    pub(super) next_tick: Option<Instant>,
    /// It is to be probed once more, without waiting for a tick.
    pub(super) is_triggered: bool,
    /// Of the probe that runs.
    pub(super) running: Option<AbortHandle>,
    /// What was found since its begin.
    counts: ProbeCounts,
    /// Of how long it took.
    labels: DurationLabels,
    /// What it found last.
    pub(super) last: Option<LastProbe>,
}

impl Slot {
    fn series(&self) -> ProbeSeries {
        let Self { uid, pod, container, kind, counts, .. } = self;
        let (uid, pod, container) = (uid.clone(), pod.clone(), container.clone());
        ProbeSeries { uid, pod, container, kind: *kind, counts: *counts }
    }

    fn report(&self, results: &ProbeResults) -> ProbeReport {
        let instance = self.worker.container().and_then(|instance| results.get(instance));
        ProbeReport {
            container: self.container.clone(),
            kind: self.kind,
            probe_type: self.handler.as_ref().ok().map(|handler| handler.probe_type.clone()),
            settings: self.settings,
            result: instance.and_then(|probes| probes.get(self.kind)),
            last: self.last.clone(),
            counts: self.counts,
        }
    }

    /// The container's spec, as the pod has it now.
    pub(super) fn spec(&self) -> Option<&Container> {
        let mut containers = probed_containers(&self.pod);
        containers.find(|(container, _)| container.name == self.container).map(|(container, _)| container)
    }

    /// Takes what the pod has now. A probe with another check or another period begins its ticks again, at once. With another
    /// check its counts start over, too, and a probe that runs is dropped; but its result stands until the new check has
    /// reached a threshold: an edit that changes nothing for the worse makes no pod unready.
    fn change(
        &mut self,
        id: SlotId,
        pod: &Arc<Pod>,
        settings: ProbeSettings,
        handler: Result<ProbeHandler, NoHandler>,
    ) -> Option<Wake> {
        self.pod = pod.clone();
        let other_period = self.settings.period != settings.period;
        self.settings = settings;
        let other_check = self.handler != handler;
        if other_check {
            self.handler = handler;
            self.last = None;
            self.is_refusal_reported = false;
            self.worker.begin_again();
            if let Some(running) = self.running.take() {
                running.abort();
            }
        }
        match self.stage {
            Stage::Stopped => Some(Wake::Revive(id)),
            Stage::New => None,
            Stage::Delayed(_) | Stage::Waiting(_) | Stage::Probing => {
                (other_check || other_period).then_some(Wake::Restart(id))
            }
        }
    }
}

/// Something that is wrong with a pod's annotations, to be reported.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) pod: Arc<Pod>,
    pub(super) message: String,
}

/// A pod that has probes, or something wrong with what it says of them.
struct Probed {
    pod: Arc<Pod>,
    /// What is wrong with its annotations. Reported when it changes.
    problems: Vec<String>,
    slots: BTreeMap<(String, ProbeKind), SlotId>,
    results: Arc<ProbeResults>,
    /// It ends: no liveness or startup probes any more.
    is_ending: bool,
}

/// All probes.
#[derive(Default)]
pub(super) struct Slots {
    pods: HashMap<PodUid, Probed>,
    slots: HashMap<SlotId, Slot>,
    given: u64,
    /// Bounded by the slots: each is in it at most once for each kind of wake.
    wakes: Vec<Wake>,
    /// What the task is to tell; each pod brings a bounded number of problems with each change.
    problems: Vec<Problem>,
    /// Slots that wait, by their time.
    due: BTreeSet<(Instant, SlotId)>,
    /// What was found since the agent began.
    totals: ProbeTotals,
    /// How long probes took that passed or could not be carried out (as upstream has it).
    durations: ProbeDurations,
}

impl Slots {
    /// What had stopped of a pod may go on with another instance. Says whether the task has something to do; none if the pod
    /// isn't as it was taken last.
    pub(super) fn revive_pod(&mut self, pod: &Arc<Pod>) -> Option<bool> {
        let probed = self.pods.get(&PodUid::of(pod)).filter(|probed| Arc::ptr_eq(&probed.pod, pod))?;
        let before = self.wakes.len();
        for id in probed.slots.values() {
            let stopped = self.slots.get(id).is_some_and(|slot| slot.stage == Stage::Stopped);
            if stopped && !self.wakes.contains(&Wake::Revive(*id)) {
                self.wakes.push(Wake::Revive(*id));
            }
        }
        Some(self.wakes.len() > before)
    }

    /// Takes the pod's probes as its spec and its annotations have them now. Says whether the task has something to do.
    pub(super) fn take_pod(&mut self, pod: &Arc<Pod>, desired: DesiredProbes) -> bool {
        let DesiredProbes { mut probes, problems } = desired;
        let uid = PodUid::of(pod);
        if probes.is_empty() && problems.is_empty() && !self.pods.contains_key(&uid) {
            return false;
        }
        let before = (self.wakes.len(), self.problems.len());
        let probed = self.pods.entry(uid.clone()).or_insert_with(|| Probed {
            pod: pod.clone(),
            problems: Vec::new(),
            slots: BTreeMap::new(),
            results: Arc::default(),
            is_ending: false,
        });
        probed.pod = pod.clone();
        let news = problems.iter().filter(|problem| !probed.problems.contains(problem));
        self.problems.extend(news.map(|message| Problem { pod: pod.clone(), message: message.clone() }));
        probed.problems = problems;
        if probed.is_ending {
            probes.retain(|probe| probe.kind == ProbeKind::Readiness);
        }
        let keys: BTreeSet<_> = probes.iter().map(|probe| (probe.container.clone(), probe.kind)).collect();
        self.drop_slots(&uid, |key| !keys.contains(key));
        for probe in probes {
            self.put(&uid, pod, probe);
        }
        (self.wakes.len(), self.problems.len()) != before
    }

    fn put(&mut self, uid: &PodUid, pod: &Arc<Pod>, desired: DesiredProbe) {
        let Some(probed) = self.pods.get_mut(uid) else { return };
        let DesiredProbe { container, is_sidecar, kind, settings, handler } = desired;
        let key = (container, kind);
        if let Some(id) = probed.slots.get(&key) {
            let wake = self.slots.get_mut(id).and_then(|slot| slot.change(*id, pod, settings, handler));
            self.wakes.extend(wake.filter(|wake| !self.wakes.contains(wake)));
            return;
        }
        let id = SlotId(self.given);
        self.given += 1;
        let labels = DurationLabels { pod: PodFullName::of(pod), container: key.0.clone(), kind };
        self.durations.begin(labels.clone());
        let slot = Slot {
            uid: uid.clone(),
            pod: pod.clone(),
            container: key.0.clone(),
            kind,
            settings,
            handler,
            is_refusal_reported: false,
            worker: ProbeWorker::new(kind, is_sidecar),
            stage: Stage::New,
            first_tick: None,
            next_tick: None,
            is_triggered: false,
            running: None,
            counts: ProbeCounts::default(),
            labels,
            last: None,
        };
        self.slots.insert(id, slot);
        probed.slots.insert(key, id);
        self.wakes.push(Wake::Begin(id));
    }

    /// Liveness and startup of the pod count as passed, for an end without restarts, and aren't probed any more.
    pub(super) fn stop_liveness_and_startup(&mut self, uid: &PodUid) {
        let Some(probed) = self.pods.get_mut(uid) else { return };
        probed.is_ending = true;
        for ((_, kind), id) in &probed.slots {
            let container = self.slots.get(id).and_then(|slot| slot.worker.container().cloned());
            if let Some(container) = container.filter(|_| *kind != ProbeKind::Readiness) {
                let results = Arc::make_mut(&mut probed.results);
                results.entry(container).or_default().set(*kind, Some(ProbeResult::Success));
            }
        }
        self.drop_slots(uid, |(_, kind)| *kind != ProbeKind::Readiness);
    }

    /// Forgets the pod.
    pub(super) fn remove_pod(&mut self, uid: &PodUid) {
        self.drop_slots(uid, |_| true);
        self.pods.remove(uid);
    }

    /// Forgets all other pods.
    pub(super) fn retain_pods(&mut self, is_known: impl Fn(&PodUid) -> bool) {
        let unknown: Vec<PodUid> = self.pods.keys().filter(|uid| !is_known(uid)).cloned().collect();
        for uid in unknown {
            self.remove_pod(&uid);
        }
    }

    /// Has a probe run out of turn. Says whether the task has something to do.
    pub(super) fn trigger(&mut self, uid: &PodUid, container: &str, kind: ProbeKind) -> bool {
        let Some(probed) = self.pods.get(uid) else { return false };
        let mut slots = probed.slots.iter();
        let id = slots.find(|((name, of), _)| name == container && *of == kind).map(|(_, id)| *id);
        let slot = id.and_then(|id| self.slots.get_mut(&id).map(|slot| (id, slot)));
        let Some((id, slot)) = slot.filter(|(_, slot)| !slot.is_triggered && slot.stage != Stage::Stopped)
        else {
            return false;
        };
        slot.is_triggered = true;
        self.wakes.push(Wake::Trigger(id));
        true
    }

    pub(super) fn results(&self, uid: &PodUid) -> Arc<ProbeResults> {
        self.pods.get(uid).map(|probed| probed.results.clone()).unwrap_or_default()
    }

    pub(super) fn slot(&mut self, id: SlotId) -> Option<&mut Slot> {
        self.slots.get_mut(&id)
    }

    pub(super) fn take_wakes(&mut self) -> Vec<Wake> {
        std::mem::take(&mut self.wakes)
    }

    pub(super) fn take_problems(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.problems)
    }

    /// Counts a probe; `passed` is none for one that could not be carried out.
    pub(super) fn count(&mut self, id: SlotId, passed: Option<bool>, took: Duration) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        let total = match slot.kind {
            ProbeKind::Startup => &mut self.totals.startup,
            ProbeKind::Readiness => &mut self.totals.readiness,
            ProbeKind::Liveness => &mut self.totals.liveness,
        };
        for counts in [&mut slot.counts, total] {
            match passed {
                Some(true) => counts.successful += 1,
                Some(false) => counts.failed += 1,
                None => counts.unknown += 1,
            }
        }
        if passed != Some(false) {
            self.durations.observe(&slot.labels, took);
        }
    }

    /// Returns what was found of each probe, in the order of pods' UIDs.
    pub(super) fn series(&self) -> Vec<ProbeSeries> {
        let mut pods: Vec<(&PodUid, &Probed)> = self.pods.iter().collect();
        pods.sort_by_key(|(uid, _)| *uid);
        let slots = pods.into_iter().flat_map(|(_, probed)| probed.slots.values());
        slots.filter_map(|id| self.slots.get(id)).map(Slot::series).collect()
    }

    pub(super) fn durations(&self) -> ProbeDurations {
        self.durations.clone()
    }

    /// Returns what is known of the pod's probes, by container and kind.
    pub(super) fn reports(&self, uid: &PodUid) -> Vec<ProbeReport> {
        let Some(probed) = self.pods.get(uid) else { return Vec::new() };
        let slots = probed.slots.values().filter_map(|id| self.slots.get(id));
        slots.map(|slot| slot.report(&probed.results)).collect()
    }

    pub(super) fn totals(&self) -> ProbeTotals {
        self.totals
    }

    /// Writes a result. Says whether it is another than before.
    pub(super) fn set_result(
        &mut self,
        uid: &PodUid,
        container: &ContainerId,
        kind: ProbeKind,
        result: ProbeResult,
    ) -> bool {
        let Some(probed) = self.pods.get_mut(uid) else { return false };
        let old = probed.results.get(container).and_then(|probes| probes.get(kind));
        if old == Some(result) {
            return false;
        }
        Arc::make_mut(&mut probed.results).entry(container.clone()).or_default().set(kind, Some(result));
        true
    }

    /// Forgets a result; and the instance, once nothing is known of it.
    pub(super) fn forget_result(&mut self, uid: &PodUid, container: &ContainerId, kind: ProbeKind) {
        let Some(probed) = self.pods.get_mut(uid) else { return };
        let results = Arc::make_mut(&mut probed.results);
        if let Some(probes) = results.get_mut(container) {
            probes.set(kind, None);
            if ProbeKind::ALL.iter().all(|kind| probes.get(*kind).is_none()) {
                results.remove(container);
            }
        }
    }

    /// Has a slot wait for its first tick, or for another one, until then.
    pub(super) fn wait(&mut self, id: SlotId, stage: Stage) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        slot.stage = stage;
        self.due.extend(due_at(stage).map(|at| (at, id)));
    }

    /// The slot doesn't wait any longer.
    pub(super) fn stop_waiting(&mut self, id: SlotId) {
        if let Some(at) = self.slots.get(&id).and_then(|slot| due_at(slot.stage)) {
            self.due.remove(&(at, id));
        }
    }

    /// When the first of the waiting slots is due.
    pub(super) fn first_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A slot that is due, the longest due first.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<SlotId> {
        let (at, id) = self.due.pop_first()?;
        if at > now {
            self.due.insert((at, id));
            return None;
        }
        Some(id)
    }

    /// How many probes there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    fn drop_slots(&mut self, uid: &PodUid, which: impl Fn(&(String, ProbeKind)) -> bool) {
        let Some(probed) = self.pods.get_mut(uid) else { return };
        probed.slots.retain(|key, id| {
            if !which(key) {
                return true;
            }
            if let Some(slot) = self.slots.remove(id) {
                self.durations.end(&slot.labels);
                if let Some(at) = due_at(slot.stage) {
                    self.due.remove(&(at, *id));
                }
                if let Some(running) = slot.running {
                    running.abort();
                }
            }
            false
        });
    }
}

/// When a slot in this stage is due.
fn due_at(stage: Stage) -> Option<Instant> {
    match stage {
        Stage::Delayed(at) | Stage::Waiting(at) => Some(at),
        Stage::New | Stage::Probing | Stage::Stopped => None,
    }
}
