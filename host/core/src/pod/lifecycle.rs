//! The life of a pod on this node, from its source to its end, as one state machine.
//!
//! A pod is desired by a source at a [`Stage`], managed by a [`Worker`], or both; a removed pod that still ends has a worker
//! only, and one that waits for its admission a stage only. The agent feeds events and facts in and carries out the effects.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::static_pod::takes_remains_over;
use super::worker::{
    self, KillOptions, Origin, Outcome, Update, UpdateKind, Work, Worker, WorkerEvent, is_ending,
};

#[cfg(test)]
mod tests;

/// How far a pod that a source wants here has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It waits for its admission.
    Waiting,
    /// It ran before this agent, and goes on as it was made until it is admitted or rejected.
    GoesOn,
    /// It was rejected, for good.
    Rejected,
    /// It was admitted, and its worker manages it.
    Admitted,
    /// It is new, but an old pod with its UID still ends, or isn't quite gone.
    Returning,
}

/// What is known of a pod when its source brings it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Its verdict stands from before a restart, or it ended then.
    pub is_remembered: bool,
    /// Something dead of a pod with its UID, which this agent ended, is still there.
    pub has_remains: bool,
}

/// What happens to a pod.
#[derive(Clone, Debug)]
pub enum Event {
    /// A source brought it.
    Added(Arrival),
    /// Its source changed it.
    Changed,
    /// Its source has it no more. Before all sources were seen another one may want it: it may not end yet.
    Removed {
        /// All sources were seen.
        may_end: bool,
    },
    /// All sources were seen, and none has it.
    Undesired,
    /// Only the runtime has it, and it is to end within this grace.
    Orphaned {
        grace_seconds: i64,
    },
    Admitted,
    /// It was rejected, or its time was over before it was admitted.
    Rejected,
    /// Its admission is put off.
    Deferred {
        /// The runtime has something of it that lives.
        is_alive: bool,
    },
    /// Others end to free resources for it.
    WaitsForCapacity,
    /// It has the capacity that it waited for, or isn't to have it.
    CapacitySettled,
    /// It was granted other resources, or an edit.
    Granted,
    /// Nothing of its source changed; check again.
    SyncRequested,
    /// It is to end.
    Kill(KillOptions),
    WorkEnded(Outcome),
    /// Its work may not start yet: another pod of the same full name still runs.
    StartDenied,
    /// Its worker, which has finished, may be forgotten.
    Cleared,
    /// Nothing is left of the pod before it under its UID.
    RemainsGone,
}

/// What the agent knows next to the event.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The pod as its source has it now, with its allocated resources; none if no source has it.
    pub pod: Option<Arc<Pod>>,
    pub now: Timestamp,
    /// Its status is terminal, and the runtime has none of its containers running.
    pub has_ended: bool,
    /// The agent isn't ending.
    pub may_begin: bool,
}

/// What the agent has to do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Put the pod to the admission handlers.
    Ask,
    StopAsking,
    /// See whether the pod asks for other resources than it has.
    ConsiderResize,
    /// Carry this out, and feed [`Event::WorkEnded`] in when it ended.
    Run(Work),
    /// Cut the running work short where it waits; it still has to end.
    CancelRunning,
    /// Feed [`Event::SyncRequested`] in after the time that [`worker::requeue_after`] gives.
    Requeue,
    /// The pod has ended: its full name is free. Feed [`Event::Cleared`] in.
    Finished,
    /// Forget what is known of the pod before it under its UID.
    StartOver,
    /// Nothing is left of the pod: forget it.
    Forget,
}

/// How far a pod has come, as the cluster is to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodState {
    /// Containers of it may run, now or later.
    pub may_run: bool,
    /// All that it had on the node is gone.
    pub is_finished: bool,
    /// It is to end, or has ended.
    pub is_ending: bool,
}

impl PodState {
    /// Of a pod of which nothing is known but that a source has it.
    pub const NEW: Self = Self { may_run: true, is_finished: false, is_ending: false };
}

/// What the clean-up may remove of a pod that the runtime has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It is managed, or waits for its admission: what it needs stays.
    Kept,
    /// It has ended for good: what it left stays while the node has capacity.
    Ended,
    /// It ended, and comes back again once nothing of it is left.
    Returning,
    /// No source wants it.
    Undesired,
}

/// One pod's life. The default is that of a pod that neither a source nor the runtime has.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    stage: Option<Stage>,
    worker: Option<Worker>,
    waits_for_capacity: bool,
}

impl Lifecycle {
    /// Takes an event in and says what follows from it, in order. An event that can't happen at this point changes nothing.
    pub fn transition(&mut self, event: Event, facts: &Facts) -> Vec<Effect> {
        match event {
            Event::Added(arrival) => self.added(arrival, facts),
            Event::Changed => self.changed(facts),
            Event::Removed { may_end } => self.removed(may_end, facts),
            Event::Undesired => self.undesired(facts),
            Event::Orphaned { grace_seconds } => self.orphaned(grace_seconds, facts),
            Event::Admitted => self.admitted(facts),
            Event::Rejected => self.rejected(facts),
            Event::Deferred { is_alive } => self.deferred(is_alive, facts),
            Event::WaitsForCapacity => {
                self.waits_for_capacity = self.waits_for_verdict();
                Vec::new()
            }
            Event::CapacitySettled => {
                self.waits_for_capacity = false;
                Vec::new()
            }
            Event::Granted => self.turn(UpdateKind::Update, facts),
            Event::SyncRequested => self.sync_requested(facts),
            Event::Kill(options) => self.kill(options, facts),
            Event::WorkEnded(outcome) => self.tell(WorkerEvent::WorkEnded(outcome)),
            Event::StartDenied => self.tell(WorkerEvent::StartDenied),
            Event::Cleared => self.cleared(facts),
            Event::RemainsGone => match (self.stage, &self.worker) {
                (Some(Stage::Returning), None) => self.start_over(),
                _ => Vec::new(),
            },
        }
    }

    /// How far it has come; none if no source has it.
    pub fn stage(&self) -> Option<Stage> {
        self.stage
    }

    /// Returns what manages it.
    pub fn worker(&self) -> Option<&Worker> {
        self.worker.as_ref()
    }

    /// Others were ended for it, and it counts as if it were there until it is admitted or rejected.
    pub fn waits_for_capacity(&self) -> bool {
        self.waits_for_capacity
    }

    /// Neither a source nor a worker has it.
    pub fn is_gone(&self) -> bool {
        self.stage.is_none() && self.worker.is_none()
    }

    /// Whether the pod is to end, or has.
    pub fn is_ending(&self) -> bool {
        self.worker.as_ref().is_some_and(Worker::is_terminating)
    }

    /// Whether a worker manages it that has something left to do.
    pub fn is_at_work(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| !worker.is_finished())
    }

    /// Whether the pod was admitted, and may have containers that run. As upstream has it, a pod that its source removed
    /// counts no more, though it may still be ending.
    pub fn counts(&self) -> bool {
        match self.stage {
            None | Some(Stage::Waiting | Stage::Rejected | Stage::Returning) => false,
            Some(Stage::GoesOn | Stage::Admitted) => !self.worker.as_ref().is_some_and(Worker::is_terminated),
        }
    }

    /// What the cluster is to see. `is_alive`: the runtime has something of it that lives, which may end next to any worker.
    pub fn pod_state(&self, is_alive: impl FnOnce() -> bool) -> PodState {
        match (&self.worker, self.stage) {
            (Some(worker), stage) => PodState {
                may_run: !worker.is_terminated(),
                // Once it has, the pod that comes back with its UID is as new.
                is_finished: worker.is_finished() && stage != Some(Stage::Returning),
                is_ending: worker.is_terminating(),
            },
            (None, Some(Stage::Rejected)) => {
                let may_run = is_alive();
                PodState { may_run, is_finished: !may_run, is_ending: false }
            }
            (None, Some(Stage::Waiting | Stage::GoesOn | Stage::Admitted | Stage::Returning) | None) => {
                PodState::NEW
            }
        }
    }

    /// Returns what the clean-up may remove of it.
    pub fn need(&self) -> Need {
        match (&self.worker, self.stage) {
            (Some(worker), _) if worker.is_terminated() => Need::Ended,
            (Some(_), _) | (None, Some(Stage::Waiting | Stage::GoesOn | Stage::Admitted)) => Need::Kept,
            (None, Some(Stage::Returning)) => Need::Returning,
            (None, Some(Stage::Rejected) | None) => Need::Undesired,
        }
    }

    /// The pod as its source has it now, which asks for no work: only its status is other than it was.
    pub fn renew(&mut self, pod: &Arc<Pod>) {
        if let Some(worker) = &mut self.worker {
            worker.renew(pod);
        }
    }

    fn added(&mut self, arrival: Arrival, facts: &Facts) -> Vec<Effect> {
        let Some(pod) = &facts.pod else { return Vec::new() };
        self.waits_for_capacity = false;
        if self.worker.is_some() {
            self.stage = Some(Stage::Returning);
            let effects = self.turn(UpdateKind::Create, facts);
            if !self.is_ending() {
                self.stage = Some(Stage::Admitted);
            }
            effects
        } else if arrival.is_remembered || is_ending(pod) {
            self.stage = Some(Stage::Admitted);
            then(self.turn(UpdateKind::Create, facts), Effect::ConsiderResize)
        } else if arrival.has_remains && !takes_remains_over(pod) {
            self.stage = Some(Stage::Returning);
            Vec::new()
        } else {
            self.stage = Some(Stage::Waiting);
            vec![Effect::Ask]
        }
    }

    fn changed(&mut self, facts: &Facts) -> Vec<Effect> {
        // A pod that nothing is to be started of needs no verdict.
        let ends = facts.pod.as_deref().is_some_and(is_ending);
        match self.stage {
            Some(Stage::Waiting) if ends => {
                (self.stage, self.waits_for_capacity) = (Some(Stage::Admitted), false);
                let mut effects = vec![Effect::StopAsking];
                effects.extend(self.turn(UpdateKind::Update, facts));
                effects
            }
            Some(Stage::Waiting) => vec![Effect::Ask],
            // Nothing is made of what changed before the verdict on it.
            Some(Stage::GoesOn) => {
                let next = if ends { Effect::StopAsking } else { Effect::Ask };
                then(self.turn(UpdateKind::Update, facts), next)
            }
            // The verdict on a pod that runs stands, also after a restart of the agent.
            Some(Stage::Admitted) => then(self.turn(UpdateKind::Update, facts), Effect::ConsiderResize),
            Some(Stage::Rejected | Stage::Returning) | None => Vec::new(),
        }
    }

    fn removed(&mut self, may_end: bool, facts: &Facts) -> Vec<Effect> {
        if self.stage.take().is_none() {
            return Vec::new();
        }
        self.waits_for_capacity = false;
        let mut effects = vec![Effect::StopAsking];
        match &self.worker {
            Some(worker) if !worker.is_finished() && !may_end => {}
            Some(_) | None => effects.extend(self.undesired(facts)),
        }
        effects
    }

    fn undesired(&mut self, facts: &Facts) -> Vec<Effect> {
        match &self.worker {
            _ if self.stage.is_some() => Vec::new(),
            Some(worker) if !worker.is_finished() => match worker.is_terminating() {
                true => Vec::new(),
                false => self.kill(KillOptions::default(), facts),
            },
            Some(_) | None => {
                self.worker = None;
                vec![Effect::Forget]
            }
        }
    }

    fn orphaned(&mut self, grace_seconds: i64, facts: &Facts) -> Vec<Effect> {
        if self.worker.is_some() {
            return Vec::new();
        }
        let kill = KillOptions { evict: false, grace_seconds: Some(grace_seconds) };
        let update = Update { kind: UpdateKind::Kill, pod: None, started_at: facts.now, kill: Some(kill) };
        self.begin(update, false)
    }

    fn waits_for_verdict(&self) -> bool {
        matches!(self.stage, Some(Stage::Waiting | Stage::GoesOn))
    }

    fn admitted(&mut self, facts: &Facts) -> Vec<Effect> {
        if !self.waits_for_verdict() {
            return Vec::new();
        }
        (self.stage, self.waits_for_capacity) = (Some(Stage::Admitted), false);
        let kind = if self.worker.is_some() { UpdateKind::Update } else { UpdateKind::Create };
        then(self.turn(kind, facts), Effect::ConsiderResize)
    }

    fn rejected(&mut self, facts: &Facts) -> Vec<Effect> {
        if !self.waits_for_verdict() {
            return Vec::new();
        }
        (self.stage, self.waits_for_capacity) = (Some(Stage::Rejected), false);
        then(self.kill(KillOptions::default(), facts), Effect::StopAsking)
    }

    /// A pod that ran before isn't taken out of service because its verdict is put off.
    fn deferred(&mut self, is_alive: bool, facts: &Facts) -> Vec<Effect> {
        match self.stage {
            Some(Stage::Waiting) if !is_alive => Vec::new(),
            Some(Stage::Waiting | Stage::GoesOn) => {
                self.stage = Some(Stage::GoesOn);
                self.turn(UpdateKind::Sync, facts)
            }
            Some(Stage::Rejected | Stage::Admitted | Stage::Returning) | None => Vec::new(),
        }
    }

    /// What only the runtime has receives nothing but that it has to end.
    fn sync_requested(&mut self, facts: &Facts) -> Vec<Effect> {
        match self.worker.as_ref().map(Worker::origin) {
            Some(Origin::RuntimeOnly) => self.kill(KillOptions::default(), facts),
            Some(Origin::Source) | None => self.turn(UpdateKind::Sync, facts),
        }
    }

    fn kill(&mut self, options: KillOptions, facts: &Facts) -> Vec<Effect> {
        let (pod, started_at) = (facts.pod.clone(), facts.now);
        self.tell(WorkerEvent::Update(Update {
            kind: UpdateKind::Kill,
            pod,
            started_at,
            kill: Some(options),
        }))
    }

    fn cleared(&mut self, facts: &Facts) -> Vec<Effect> {
        let Some(worker) = self.worker.as_ref().filter(|worker| worker.is_finished()) else {
            return Vec::new();
        };
        match self.stage {
            None => return self.undesired(facts),
            Some(_) if worker.origin() == Origin::RuntimeOnly => self.worker = None,
            Some(_) if worker.is_restart_requested() => {
                (self.worker, self.stage) = (None, Some(Stage::Returning));
            }
            // It has ended for good, and is remembered so.
            Some(_) => {}
        }
        let takes_over = facts.pod.as_deref().is_some_and(takes_remains_over);
        match (self.stage, &self.worker) {
            // Else the clean-up has to remove first what is left.
            (Some(Stage::Returning), None) if takes_over => self.start_over(),
            _ => Vec::new(),
        }
    }

    /// A pod with a UID that was used before is judged again.
    fn start_over(&mut self) -> Vec<Effect> {
        self.stage = Some(Stage::Waiting);
        vec![Effect::StartOver, Effect::Ask]
    }

    /// Turns to the worker, which is made if the pod may run and has none.
    fn turn(&mut self, kind: UpdateKind, facts: &Facts) -> Vec<Effect> {
        let update = Update { kind, pod: facts.pod.clone(), started_at: facts.now, kill: None };
        if self.worker.is_some() {
            return self.tell(WorkerEvent::Update(update));
        }
        match self.stage {
            Some(Stage::Admitted | Stage::GoesOn) if facts.may_begin && facts.pod.is_some() => {
                self.begin(update, facts.has_ended)
            }
            _ => Vec::new(),
        }
    }

    fn begin(&mut self, update: Update, has_ended: bool) -> Vec<Effect> {
        let Some((worker, effects)) = Worker::begin(update, has_ended) else { return Vec::new() };
        self.worker = Some(worker);
        effects.into_iter().map(Effect::from).collect()
    }

    fn tell(&mut self, event: WorkerEvent) -> Vec<Effect> {
        let effects = self.worker.as_mut().map(|worker| worker.transition(event));
        effects.into_iter().flatten().map(Effect::from).collect()
    }
}

impl From<worker::Effect> for Effect {
    fn from(effect: worker::Effect) -> Self {
        match effect {
            worker::Effect::Run(work) => Self::Run(work),
            worker::Effect::CancelRunning => Self::CancelRunning,
            worker::Effect::Requeue => Self::Requeue,
            worker::Effect::Finished => Self::Finished,
        }
    }
}

fn then(mut effects: Vec<Effect>, last: Effect) -> Vec<Effect> {
    effects.push(last);
    effects
}
