//! The task that keeps the times of all probes, runs them and takes in what they find.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use tokio::sync::mpsc;
use tokio::task::{self, AbortHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::event::{Event, EventObject, container_path};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::probe::custom::ANNOTATION_PREFIX;
use witlet_core::probe::desired::{INVALID_PROBE, NoHandler};
use witlet_core::probe::facts::{probed_instance, probed_pod};
use witlet_core::probe::worker::{Next, start_delay};
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest, ProbeResult};
use witlet_core::runtime::ContainerId;
use witlet_ports::ProbeError;

use super::attempt::attempt;
use super::latest::latest;
use super::shared::{PROBES_AT_ONCE_MAX, PROBES_OF_POD_AT_ONCE_MAX, ProbeUpdate, ProberPorts, Shared};
use super::slots::{Problem, Slot, SlotId, Stage, Wake};

/// No wait is longer, so that no sum of times overflows.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A probe that ended; none if it panicked.
struct FinishedProbe {
    id: SlotId,
    took: Duration,
    outcome: Option<Result<ProbeOutcome, ProbeError>>,
}

/// When the agent began.
#[derive(Clone, Copy, Debug)]
struct Begun {
    at: Timestamp,
    instant: Instant,
}

/// What is to be done for a probe whose turn it is.
enum Ask {
    /// It can be run.
    Run(Ready),
    /// The outcome is unknown: it has found out what a probe finds that could not be carried out.
    Found(ProbeError),
}

/// A probe that can be run.
struct Ready {
    id: SlotId,
    uid: PodUid,
    request: ProbeRequest,
}

/// Carries out all probes of all pods.
pub(crate) struct Manager {
    ports: ProberPorts,
    shared: Arc<Shared>,
    updates: mpsc::Sender<ProbeUpdate>,
    begun: Begun,
    running: JoinSet<FinishedProbe>,
    /// Whose the running probes are.
    pods: HashMap<task::Id, PodUid>,
    /// How many each pod has running; at least one.
    of_pods: HashMap<PodUid, usize>,
    /// Probes that didn't fit; each slot at most once.
    queue: VecDeque<Ready>,
    /// Changes that weren't read yet; the newest of each probe.
    changes: BTreeMap<(PodUid, ContainerId, ProbeKind), ProbeResult>,
}

/// What woke the task.
enum Wakeup {
    Stop,
    Delivered(bool),
    Wakes,
    Ended(task::Id, Option<FinishedProbe>),
    Due,
}

impl Manager {
    pub(super) fn new(ports: ProberPorts, shared: Arc<Shared>, updates: mpsc::Sender<ProbeUpdate>) -> Self {
        let begun = Begun { at: ports.clock.now(), instant: Instant::now() };
        Self {
            ports,
            shared,
            updates,
            begun,
            running: JoinSet::new(),
            pods: HashMap::new(),
            of_pods: HashMap::new(),
            queue: VecDeque::new(),
            changes: BTreeMap::new(),
        }
    }

    /// Probes until it is stopped; probes that run are then dropped.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        loop {
            match self.next_wakeup(&stop).await {
                Wakeup::Stop => break,
                Wakeup::Delivered(true) => {}
                // The receiver is gone for good.
                Wakeup::Delivered(false) => self.changes.clear(),
                Wakeup::Wakes => self.wake(),
                Wakeup::Ended(task, ended) => {
                    self.release_permit(task);
                    if let Some(ended) = ended {
                        self.ended(task, ended);
                    }
                    self.fill();
                }
                Wakeup::Due => self.tick_due(),
            }
        }
        self.running.shutdown().await;
    }

    async fn next_wakeup(&mut self, stop: &CancellationToken) -> Wakeup {
        let first_due = self.shared.lock().first_due();
        tokio::select! {
            biased;
            () = stop.cancelled() => Wakeup::Stop,
            permit = self.updates.reserve(), if !self.changes.is_empty() => match permit {
                Ok(permit) => {
                    if let Some(((uid, container, kind), result)) = self.changes.pop_first() {
                        permit.send(ProbeUpdate { uid, container, kind, result });
                    }
                    Wakeup::Delivered(true)
                }
                Err(_) => Wakeup::Delivered(false),
            },
            () = self.shared.wake.notified() => Wakeup::Wakes,
            // A probe whose pod is gone was aborted, and has nothing to say.
            Some(ended) = self.running.join_next_with_id() => match ended {
                Ok((task, ended)) => Wakeup::Ended(task, Some(ended)),
                Err(error) => Wakeup::Ended(error.id(), None),
            },
            () = tokio::time::sleep_until(first_due.unwrap_or_else(Instant::now)), if first_due.is_some() => Wakeup::Due,
        }
    }

    fn wake(&mut self) {
        let (wakes, problems) = {
            let mut slots = self.shared.lock();
            (slots.take_wakes(), slots.take_problems())
        };
        for Problem { pod, message } in problems {
            self.tell(&pod, &PodUid::of(&pod), None, INVALID_PROBE, message);
        }
        let now = Instant::now();
        for wake in wakes {
            match wake {
                Wake::Begin(id) => self.begin(id, now),
                Wake::Revive(id) => {
                    if self.has_other_instance(id) {
                        self.tick(id, now);
                    }
                }
                Wake::Restart(id) => self.restart(id, now),
                Wake::Trigger(id) => self.trigger(id, now),
            }
        }
    }

    /// A new probe: its first tick comes at once, or after a part of its period if the agent is new, too.
    fn begin(&mut self, id: SlotId, now: Instant) {
        let mut slots = self.shared.lock();
        let Some(slot) = slots.slot(id) else { return };
        let uptime = now.duration_since(self.begun.instant);
        let delay = start_delay(slot.settings.period, uptime, self.ports.jitter.unit());
        slots.wait(id, Stage::Delayed(now + delay.min(WAIT_MAX)));
    }

    /// Whether a probe that has stopped would see another instance of its container now.
    fn has_other_instance(&self, id: SlotId) -> bool {
        let Some((pod, uid)) = self.pod_of(id) else { return false };
        let status = self.ports.statuses.status(&uid);
        let mut slots = self.shared.lock();
        let Some(slot) = slots.slot(id).filter(|slot| slot.stage == Stage::Stopped) else { return false };
        let seen = status.zip(slot.spec()).map(|(status, container)| probed_pod(&pod, container, &status));
        let instance = seen.filter(|seen| !seen.is_terminal).and_then(|seen| seen.container);
        instance.is_some_and(|instance| slot.worker.container() != Some(&instance.id))
    }

    /// A probe's ticks begin again. One that runs goes on.
    fn restart(&mut self, id: SlotId, now: Instant) {
        let mut slots = self.shared.lock();
        let Some(slot) = slots.slot(id) else { return };
        match slot.stage {
            Stage::New | Stage::Stopped => {}
            Stage::Delayed(_) => {
                slots.stop_waiting(id);
                drop(slots);
                self.begin(id, now);
            }
            Stage::Probing if slot.running.is_some() => {
                slot.first_tick = Some(now);
                slot.next_tick = Some(tick_after(now, slot.settings.period, now));
            }
            Stage::Waiting(_) | Stage::Probing => {
                slot.first_tick = None;
                slots.stop_waiting(id);
                drop(slots);
                self.queue.retain(|ready| ready.id != id);
                self.tick(id, now);
            }
        }
    }

    fn trigger(&mut self, id: SlotId, now: Instant) {
        let mut slots = self.shared.lock();
        if slots.slot(id).is_some_and(|slot| matches!(slot.stage, Stage::Waiting(_))) {
            slots.stop_waiting(id);
            drop(slots);
            self.tick(id, now);
        }
    }

    fn tick_due(&mut self) {
        let now = Instant::now();
        loop {
            let id = self.shared.lock().take_due(now);
            let Some(id) = id else { return };
            self.tick(id, now);
        }
    }

    /// Asks the worker what to do now, and does it.
    fn tick(&mut self, id: SlotId, now: Instant) {
        let Some((pod, uid)) = self.pod_of(id) else { return };
        let status = self.ports.statuses.status(&uid);
        let time = self.ports.clock.now();
        let shared = self.shared.clone();
        let mut slots = shared.lock();
        let Some(slot) = slots.slot(id) else { return };
        let seen = status
            .as_ref()
            .and_then(|status| slot.spec().map(|container| probed_pod(&pod, container, status)));
        let tick = slot.worker.tick(&slot.settings, seen.as_ref(), self.begun.at, time);
        let kind = slot.kind;
        let period = slot.settings.period;
        let first = *slot.first_tick.get_or_insert(now);
        slot.next_tick = Some(tick_after(first, period, now));
        slot.is_triggered = slot.is_triggered && matches!(slot.stage, Stage::Delayed(_));
        slot.stage = match tick.next {
            Next::Stop => Stage::Stopped,
            Next::Wait | Next::Probe => Stage::Probing,
        };
        let ask = (tick.next == Next::Probe).then(|| ask(id, slot, status.as_deref()));
        let instance = slot.worker.container().cloned();
        if let Some(old) = tick.forget {
            slots.forget_result(&uid, &old, kind);
            self.changes.remove(&(uid.clone(), old, kind));
        }
        if let Some((instance, result)) = instance.zip(tick.set)
            && slots.set_result(&uid, &instance, kind, result)
        {
            self.changes.insert((uid.clone(), instance, kind), result);
        }
        drop(slots);
        match (tick.next, ask) {
            (_, Some(Ask::Run(ready))) => self.start(ready),
            (_, Some(Ask::Found(error))) => self.found(id, Duration::ZERO, Some(Err(error))),
            (Next::Wait | Next::Probe, None) => self.rest(id, now),
            (Next::Stop, None) => {}
        }
    }

    /// Runs a probe, or puts it in the queue.
    fn start(&mut self, ready: Ready) {
        if self.running.len() >= PROBES_AT_ONCE_MAX || !self.has_capacity(&ready.uid) {
            self.queue.push_back(ready);
            return;
        }
        let Ready { id, uid, request } = ready;
        let shared = self.shared.clone();
        let mut slots = shared.lock();
        // A pod that is gone by now isn't probed.
        let Some(slot) = slots.slot(id) else { return };
        let types = self.ports.types.clone();
        let running = self.running.spawn(async move {
            let begun = Instant::now();
            let outcome = AssertUnwindSafe(attempt(&*types, &request)).catch_unwind().await.ok();
            FinishedProbe { id, took: begun.elapsed(), outcome }
        });
        *self.of_pods.entry(uid.clone()).or_default() += 1;
        self.pods.insert(running.id(), uid);
        slot.running = Some(running);
    }

    fn has_capacity(&self, uid: &PodUid) -> bool {
        self.of_pods.get(uid).is_none_or(|running| *running < PROBES_OF_POD_AT_ONCE_MAX)
    }

    /// A probe runs no more, be it because its pod is gone.
    fn release_permit(&mut self, task: task::Id) {
        let Some(uid) = self.pods.remove(&task) else { return };
        match self.of_pods.get_mut(&uid) {
            Some(running) if *running > 1 => *running -= 1,
            Some(_) | None => drop(self.of_pods.remove(&uid)),
        }
    }

    /// Runs probes from the queue while there is capacity.
    fn fill(&mut self) {
        while self.running.len() < PROBES_AT_ONCE_MAX {
            let next = self.queue.iter().position(|ready| self.has_capacity(&ready.uid));
            let Some(ready) = next.and_then(|next| self.queue.remove(next)) else { return };
            self.start(ready);
        }
    }

    /// A probe ended. One that was dropped meanwhile, because it checks something else now, has nothing to say.
    fn ended(&mut self, task: task::Id, ended: FinishedProbe) {
        let mut slots = self.shared.lock();
        let Some(slot) = slots.slot(ended.id) else { return };
        if slot.running.as_ref().map(AbortHandle::id) != Some(task) {
            return;
        }
        slot.running = None;
        drop(slots);
        self.found(ended.id, ended.took, ended.outcome);
    }

    /// Takes in what a probe found. One that could not be carried out, or panicked (none), changes nothing; one that no one
    /// can make as it should be has failed.
    fn found(&mut self, id: SlotId, took: Duration, outcome: Option<Result<ProbeOutcome, ProbeError>>) {
        let last = latest(outcome.as_ref(), self.ports.clock.now(), took);
        let shared = self.shared.clone();
        let mut slots = shared.lock();
        let Some(slot) = slots.slot(id) else { return };
        slot.last = Some(last);
        let (pod, uid, kind) = (slot.pod.clone(), slot.uid.clone(), slot.kind);
        let container = slot.container.clone();
        let passed = match &outcome {
            Some(Ok(ProbeOutcome::Success(_) | ProbeOutcome::Warning(_))) => Some(true),
            Some(
                Ok(ProbeOutcome::Failure(_))
                | Err(ProbeError::UnknownType { .. } | ProbeError::Parameters { .. }),
            ) => Some(false),
            Some(Err(ProbeError::NotCarriedOut { .. } | ProbeError::NotNow { .. })) | None => None,
        };
        let settings = slot.settings;
        let result = passed.and_then(|passed| slot.worker.found(&settings, passed));
        let instance = slot.worker.container().cloned();
        let refusal = match &outcome {
            Some(Err(error @ (ProbeError::UnknownType { .. } | ProbeError::Parameters { .. })))
                if slot.handler.is_ok() && !slot.is_refusal_reported =>
            {
                slot.is_refusal_reported = true;
                Some(format!("{} probe of container {}: {error}", kind.as_str(), slot.container))
            }
            Some(_) | None => None,
        };
        slots.count(id, passed, took);
        if let Some((instance, result)) = instance.zip(result)
            && slots.set_result(&uid, &instance, kind, result)
        {
            self.changes.insert((uid.clone(), instance, kind), result);
        }
        drop(slots);
        if let Some(refusal) = refusal {
            self.tell(&pod, &uid, Some(&container), INVALID_PROBE, refusal);
        }
        self.tell_outcome(&pod, &uid, &container, kind, outcome);
        self.rest(id, Instant::now());
    }

    /// Records the event of an outcome with upstream's reasons and messages.
    fn tell_outcome(
        &self,
        pod: &Pod,
        uid: &PodUid,
        container: &str,
        kind: ProbeKind,
        outcome: Option<Result<ProbeOutcome, ProbeError>>,
    ) {
        let probe = kind.as_str();
        let failed = |why: &dyn Display| format!("{probe} probe failed: {why}");
        let (reason, message) = match outcome {
            Some(Ok(ProbeOutcome::Success(_))) => return,
            Some(Ok(ProbeOutcome::Warning(text))) => {
                ("ProbeWarning", format!("{probe} probe warning: {text}"))
            }
            Some(Ok(ProbeOutcome::Failure(text))) => ("Unhealthy", failed(&text)),
            Some(Err(error @ (ProbeError::UnknownType { .. } | ProbeError::Parameters { .. }))) => {
                ("Unhealthy", failed(&error))
            }
            Some(Err(error @ (ProbeError::NotCarriedOut { .. } | ProbeError::NotNow { .. }))) => {
                ("Unhealthy", format!("{probe} probe errored and resulted in unknown state: {error}"))
            }
            None => {
                let full_name = PodFullName::of(pod);
                tracing::error!(pod = %full_name, pod_uid = %uid, container_name = container, probe, "Probe panicked");
                return;
            }
        };
        self.tell(pod, uid, Some(container), reason, message);
    }

    /// Has the probe wait for its next tick; if one passed meanwhile, or a probe is requested out of turn, not at all.
    fn rest(&mut self, id: SlotId, now: Instant) {
        let mut slots = self.shared.lock();
        let Some(slot) = slots.slot(id) else { return };
        let next = slot.next_tick.unwrap_or(now).max(now);
        let at = if std::mem::take(&mut slot.is_triggered) { now } else { next };
        slots.wait(id, Stage::Waiting(at));
    }

    fn pod_of(&self, id: SlotId) -> Option<(Arc<Pod>, PodUid)> {
        let mut slots = self.shared.lock();
        slots.slot(id).map(|slot| (slot.pod.clone(), slot.uid.clone()))
    }

    fn tell(&self, pod: &Pod, uid: &PodUid, container: Option<&str>, reason: &str, message: String) {
        let field_path = container.and_then(|container| container_path(pod, container));
        let object = EventObject::Pod { full_name: PodFullName::of(pod), uid: uid.clone(), field_path };
        self.ports.events.record(Event::warning(object, reason, message));
    }
}

/// The first tick after `now` of those that are whole periods after `first`.
fn tick_after(first: Instant, period: Duration, now: Instant) -> Instant {
    let period = period.min(WAIT_MAX);
    let passed = now.saturating_duration_since(first).as_nanos();
    let into = passed.checked_rem(period.as_nanos()).unwrap_or_default();
    // A rest of a period is shorter than a day.
    now + period.saturating_sub(Duration::from_nanos(u64::try_from(into).unwrap_or_default()))
}

/// Returns what is to be run; or what is found without.
fn ask(id: SlotId, slot: &Slot, status: Option<&PodStatus>) -> Ask {
    let handler = match &slot.handler {
        Ok(handler) => handler.clone(),
        Err(NoHandler::Spec(error)) => {
            return Ask::Found(ProbeError::NotCarriedOut { message: error.to_string() });
        }
        Err(NoHandler::Annotation(error)) => {
            let words = format!("the annotation {ANNOTATION_PREFIX}{} is wrong: {error}", slot.container);
            return Ask::Found(ProbeError::Parameters { words });
        }
    };
    let Some(instance) = slot.worker.container() else {
        return Ask::Found(ProbeError::NotCarriedOut { message: "there is no container".to_owned() });
    };
    let seen = status.map(|status| probed_instance(status, &slot.container)).unwrap_or_default();
    let request = ProbeRequest {
        probe_type: handler.probe_type,
        parameters: handler.parameters,
        pod: slot.pod.clone(),
        container: slot.container.clone(),
        container_id: instance.clone(),
        restarts: seen.restarts,
        pod_ips: seen.pod_ips,
        host_ips: seen.host_ips,
        kind: slot.kind,
        timeout: slot.settings.timeout,
    };
    Ask::Run(Ready { id, uid: slot.uid.clone(), request })
}
