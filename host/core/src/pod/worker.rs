//! The life of a pod on this node as a state machine: syncing, terminating, terminated, finished.
//!
//! A worker manages one pod UID. The agent feeds it updates and the outcomes of its work, and carries out
//! the effects it answers with; at most one piece of work runs at a time. The rules are those of upstream's
//! `pod_workers.go` (release 1.36).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::status::Phase;

#[cfg(test)]
mod tests;

/// The shortest grace that a pod is ever given, in seconds.
pub const GRACE_SECONDS_MIN: i64 = 1;

/// Why the agent turns to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateKind {
    /// The pod is new to this node, or was seen again after a restart of the agent.
    Create,
    /// A source changed the pod.
    Update,
    /// Nothing changed; check again.
    Sync,
    /// The pod must end.
    Kill,
}

/// How a pod shall end. Only a pod that is to end takes this: on any other update it is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KillOptions {
    /// The node needs the capacity: the pod's status says so.
    pub evict: bool,
    /// Instead of the pod's own grace, in seconds, if it is shorter.
    pub grace_seconds: Option<i64>,
}

/// One thing that the agent wants of a worker.
#[derive(Clone, Debug)]
pub struct Update {
    pub kind: UpdateKind,
    /// The pod as its source has it now; none for one that only the runtime still knows.
    pub pod: Option<Arc<Pod>>,
    /// When the change was seen. Of merged updates the earliest counts, so that latencies are reported honestly.
    pub started_at: Timestamp,
    /// How to end it.
    pub kill: Option<KillOptions>,
}

/// Where a worker's knowledge of its pod comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A source has it or had it.
    Source,
    /// Only the runtime has it: all that can be done is to end it.
    RuntimeOnly,
}

/// What the worker is to bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerState {
    /// The pod's containers shall be as its spec says.
    Syncing,
    /// Its containers shall end, within this grace.
    Terminating {
        /// Seconds, at least [`GRACE_SECONDS_MIN`]. Only ever shrinks.
        grace_seconds: i64,
        /// Because the node needs the capacity.
        evicted: bool,
    },
    /// No container runs; its status and resources are to be settled.
    Terminated {
        /// Because the node needed the capacity.
        evicted: bool,
    },
    /// Nothing is left to do. The worker ignores everything until it is forgotten.
    Finished,
}

/// A piece of work for the executor.
#[derive(Clone, Debug)]
pub struct Work {
    pub task: Task,
    /// The pod to do it with; none if only the runtime has it.
    pub pod: Option<Arc<Pod>>,
    /// Why, as the most telling of the merged updates had it.
    pub kind: UpdateKind,
    /// The earliest of the merged updates.
    pub started_at: Timestamp,
}

/// What a piece of work does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Make the pod's containers as its spec says.
    Sync,
    /// Stop its containers and sandboxes, and see that none is left running.
    Terminate {
        grace_seconds: i64,
        /// Because the node needs the capacity.
        evicted: bool,
    },
    /// Settle the pod's last status.
    Settle,
}

/// How a piece of work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did all that there was to do.
    Done,
    /// A sync found the pod's containers to have ended for good.
    PodEnded,
    /// Something went wrong, or was cut short: to be tried again.
    Failed,
}

/// What a worker receives.
#[derive(Clone, Debug)]
pub enum WorkerEvent {
    /// The agent wants something.
    Update(Update),
    /// The running work ended.
    WorkEnded(Outcome),
    /// The work that was to run may not start yet: another pod of the same full name still runs.
    StartDenied,
}

/// What the agent has to do for a worker.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Carry this out, and tell the worker when it ended.
    Run(Work),
    /// Cut the running work short where it waits; it still has to end.
    CancelRunning,
    /// Wake the worker with a `Sync` after the time that [`requeue_after`] gives.
    Requeue,
    /// The worker has finished: its full name is free for the next static pod.
    Finished,
}

/// The worker of one pod.
#[derive(Clone, Debug)]
pub struct Worker {
    origin: Origin,
    state: WorkerState,
    /// The newest pod that a source sent.
    pod: Option<Arc<Pod>>,
    /// The work that is with the executor.
    running: Option<Running>,
    /// The one slot for what came in while work was running, or that may not start yet.
    pending: Option<Pending>,
    /// Whether any work was ever allowed to start.
    started: bool,
    restart_requested: bool,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    kind: UpdateKind,
    started_at: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    task: Task,
    from: Pending,
}

impl Worker {
    /// The worker for a pod that has none, or none if this update can't be a pod's first: a pod that only the
    /// runtime has accepts nothing but a kill.
    ///
    /// `ended` says that the pod's status was terminal already and that the runtime has none of its containers
    /// running: then there is nothing to start or stop, only the status to settle.
    pub fn begin(update: Update, ended: bool) -> Option<(Self, Vec<Effect>)> {
        let origin = match (&update.pod, update.kind) {
            (Some(_), _) => Origin::Source,
            (None, UpdateKind::Kill) => Origin::RuntimeOnly,
            (None, UpdateKind::Create | UpdateKind::Update | UpdateKind::Sync) => return None,
        };
        let mut worker = Self {
            origin,
            state: if ended { WorkerState::Terminated { evicted: false } } else { WorkerState::Syncing },
            pod: update.pod.clone(),
            running: None,
            pending: None,
            // What only the runtime has was started by someone; what had ended, or is to end at once, starts
            // nothing that could stand in another's way.
            started: ended || origin == Origin::RuntimeOnly,
            restart_requested: false,
        };
        worker.terminate_if_due(&update);
        worker.started |= worker.is_terminating();
        worker.merge(&update);
        let effects = worker.run_pending();
        Some((worker, effects))
    }

    /// Takes one event in and says what follows from it.
    pub fn transition(&mut self, event: WorkerEvent) -> Vec<Effect> {
        match event {
            WorkerEvent::Update(update) => self.updated(update),
            WorkerEvent::WorkEnded(outcome) => self.work_ended(outcome),
            WorkerEvent::StartDenied => self.start_denied(),
        }
    }

    /// Returns what the worker is to bring about.
    pub fn state(&self) -> WorkerState {
        self.state
    }

    /// Where the pod is known from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The newest pod that a source sent; none for one that only the runtime has.
    pub fn pod(&self) -> Option<&Arc<Pod>> {
        self.pod.as_ref()
    }

    /// The pod as its source has it now, which asks for no work: only its status is other than it was. Without this a worker
    /// with nothing to do would keep a pod's last version alive.
    pub fn renew(&mut self, pod: &Arc<Pod>) {
        if self.origin == Origin::Source {
            self.pod = Some(pod.clone());
        }
    }

    /// Whether work is with the executor.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the pod is to end, or has.
    pub fn is_terminating(&self) -> bool {
        match self.state {
            WorkerState::Syncing => false,
            WorkerState::Terminating { .. } | WorkerState::Terminated { .. } | WorkerState::Finished => true,
        }
    }

    /// Whether no container of the pod can be running any more.
    pub fn is_terminated(&self) -> bool {
        match self.state {
            WorkerState::Syncing | WorkerState::Terminating { .. } => false,
            WorkerState::Terminated { .. } | WorkerState::Finished => true,
        }
    }

    /// Whether nothing is left to do, so that the worker may be forgotten.
    pub fn is_finished(&self) -> bool {
        self.state == WorkerState::Finished
    }

    /// Whether a pod with this UID was created again while the old one was ending: once this worker is
    /// forgotten, the pod is to start from the beginning.
    pub fn is_restart_requested(&self) -> bool {
        self.restart_requested
    }

    fn updated(&mut self, update: Update) -> Vec<Effect> {
        match self.origin {
            Origin::RuntimeOnly if update.kind != UpdateKind::Kill => return Vec::new(),
            Origin::RuntimeOnly | Origin::Source => {}
        }
        if update.kind == UpdateKind::Create && self.is_terminating() {
            self.restart_requested = true;
            return Vec::new();
        }
        if self.is_finished() {
            return Vec::new();
        }
        if let Some(pod) = &update.pod {
            self.pod = Some(pod.clone());
        }
        let was_terminating = self.is_terminating();
        let old_grace = self.grace();
        self.terminate_if_due(&update);
        if self.is_terminating() && !self.started {
            // Nothing of it ever ran, so there is nothing to end.
            self.state = WorkerState::Finished;
            self.pending = None;
            return vec![Effect::Finished];
        }
        self.merge(&update);
        if self.running.is_none() {
            return self.run_pending();
        }
        let began_to_end = self.is_terminating() && !was_terminating;
        let shrank = matches!((old_grace, self.grace()), (Some(old), Some(new)) if new < old);
        if began_to_end || shrank { vec![Effect::CancelRunning] } else { Vec::new() }
    }

    fn grace(&self) -> Option<i64> {
        match self.state {
            WorkerState::Terminating { grace_seconds, .. } => Some(grace_seconds),
            WorkerState::Syncing | WorkerState::Terminated { .. } | WorkerState::Finished => None,
        }
    }

    /// A pod ends when its source deletes it, when its phase is terminal, or when it is killed. Once it is
    /// ending, every update can only make it end sooner.
    fn terminate_if_due(&mut self, update: &Update) {
        let options = update.kill.as_ref();
        match self.state {
            WorkerState::Syncing => {
                let pod = self.pod.as_deref();
                let killed = update.kind == UpdateKind::Kill;
                if killed || pod.is_some_and(is_ending) {
                    // Options on an update that isn't a kill are dropped.
                    let options = options.filter(|_| killed);
                    self.state = WorkerState::Terminating {
                        grace_seconds: effective_grace(None, pod, options.and_then(|o| o.grace_seconds)),
                        evicted: options.is_some_and(|o| o.evict),
                    };
                }
            }
            WorkerState::Terminating { grace_seconds, evicted } => {
                let asked = options.and_then(|o| o.grace_seconds);
                self.state = WorkerState::Terminating {
                    grace_seconds: effective_grace(Some(grace_seconds), self.pod.as_deref(), asked),
                    evicted: evicted || options.is_some_and(|o| o.evict),
                };
            }
            WorkerState::Terminated { .. } | WorkerState::Finished => {}
        }
    }

    /// Puts an update into the one slot. A kill in it stays a kill.
    fn merge(&mut self, update: &Update) {
        let kind = if self.is_terminating() { UpdateKind::Kill } else { update.kind };
        self.put(Pending { kind, started_at: update.started_at });
    }

    fn put(&mut self, new: Pending) {
        self.pending = Some(match self.pending {
            None => new,
            Some(old) => Pending {
                kind: more_telling(old.kind, new.kind),
                started_at: old.started_at.min(new.started_at),
            },
        });
    }

    fn run_pending(&mut self) -> Vec<Effect> {
        let task = match self.state {
            WorkerState::Syncing => Task::Sync,
            WorkerState::Terminating { grace_seconds, evicted } => Task::Terminate { grace_seconds, evicted },
            WorkerState::Terminated { .. } => Task::Settle,
            WorkerState::Finished => return Vec::new(),
        };
        let Some(from) = self.pending.take() else { return Vec::new() };
        self.running = Some(Running { task, from });
        self.started = true;
        vec![Effect::Run(Work { task, pod: self.pod.clone(), kind: from.kind, started_at: from.started_at })]
    }

    fn start_denied(&mut self) -> Vec<Effect> {
        let Some(running) = self.running.take() else { return Vec::new() };
        self.started = false;
        self.put(running.from);
        vec![Effect::Requeue]
    }

    fn work_ended(&mut self, outcome: Outcome) -> Vec<Effect> {
        let Some(Running { task, from }) = self.running.take() else { return Vec::new() };
        match (task, outcome) {
            (Task::Sync, Outcome::PodEnded) if !self.is_terminating() => {
                let grace_seconds = effective_grace(None, self.pod.as_deref(), None);
                self.state = WorkerState::Terminating { grace_seconds, evicted: false };
                self.put(Pending { kind: UpdateKind::Kill, ..from });
            }
            (Task::Terminate { .. }, Outcome::Done) => match (self.origin, self.state) {
                (Origin::RuntimeOnly, _) => return self.finish(),
                (Origin::Source, WorkerState::Terminating { evicted, .. }) => {
                    self.state = WorkerState::Terminated { evicted };
                    self.put(Pending { kind: UpdateKind::Kill, ..from });
                }
                (Origin::Source, _) => {}
            },
            (Task::Settle, Outcome::Done) => return self.finish(),
            (Task::Sync, Outcome::Done | Outcome::Failed | Outcome::PodEnded)
            | (Task::Terminate { .. } | Task::Settle, Outcome::Failed | Outcome::PodEnded) => {}
        }
        if self.pending.is_some() { self.run_pending() } else { vec![Effect::Requeue] }
    }

    fn finish(&mut self) -> Vec<Effect> {
        self.state = WorkerState::Finished;
        self.pending = None;
        vec![Effect::Finished]
    }
}

/// Returns the one of two merged updates that says more: a kill above all, then that the pod is new, then a change.
fn more_telling(a: UpdateKind, b: UpdateKind) -> UpdateKind {
    let rank = |kind| match kind {
        UpdateKind::Sync => 0,
        UpdateKind::Update => 1,
        UpdateKind::Create => 2,
        UpdateKind::Kill => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// Whether its source has the pod end, or ended: it is deleted, or its phase is terminal.
pub fn is_ending(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(Phase::of);
    pod.metadata.deletion_timestamp.is_some() || phase.is_some_and(Phase::is_terminal)
}

/// The grace that a pod gets: the shortest of what it has been given so far, what its deletion says and what is
/// asked now; the spec's own only while no one has said anything. At least one second.
fn effective_grace(so_far: Option<i64>, pod: Option<&Pod>, asked: Option<i64>) -> i64 {
    let by_deletion = pod.and_then(|p| p.metadata.deletion_grace_period_seconds);
    let by_spec = || pod.and_then(|p| p.spec.as_ref()).and_then(|s| s.termination_grace_period_seconds);
    let shortest = [so_far, by_deletion, asked].into_iter().flatten().min();
    shortest.or_else(by_spec).unwrap_or(GRACE_SECONDS_MIN).max(GRACE_SECONDS_MIN)
}

/// What decides when a pod is checked again (`completeWork` in `pod_workers.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequeueCause {
    /// All went well: the regular resync.
    Resync,
    /// Only the network isn't ready, which tends to pass soon.
    NetworkNotReady,
    Error,
    /// Nothing failed but containers or images that are in back-off, the first of them for this long.
    BackOff(Duration),
}

impl RequeueCause {
    /// Of the causes that one piece of work met the one that decides, as upstream's: a network that isn't ready, then the
    /// first back-off that ends, then any error.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::NetworkNotReady, _) | (_, Self::NetworkNotReady) => Self::NetworkNotReady,
            (Self::BackOff(a), Self::BackOff(b)) => Self::BackOff(a.min(b)),
            (Self::BackOff(wait), Self::Error | Self::Resync)
            | (Self::Error | Self::Resync, Self::BackOff(wait)) => Self::BackOff(wait),
            (Self::Error, Self::Error | Self::Resync) | (Self::Resync, Self::Error) => Self::Error,
            (Self::Resync, Self::Resync) => Self::Resync,
        }
    }
}

/// Intervals of [`requeue_after`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequeueIntervals {
    /// Upstream's `syncFrequency`: 1 minute.
    pub resync: Duration,
    /// After an error: 10 s.
    pub error: Duration,
    /// While the network isn't ready: 1 s.
    pub network_not_ready: Duration,
}

impl Default for RequeueIntervals {
    fn default() -> Self {
        Self {
            resync: Duration::from_secs(60),
            error: Duration::from_secs(10),
            network_not_ready: Duration::from_secs(1),
        }
    }
}

/// How much longer than its interval a requeue may take.
pub const REQUEUE_JITTER: f64 = 0.5;

/// When to check a pod again. `jitter` is in `[0, 1)`. A back-off ends when it ends, but is never waited for
/// longer than the regular resync takes.
pub fn requeue_after(cause: RequeueCause, intervals: &RequeueIntervals, jitter: f64) -> Duration {
    let jittered = |interval: Duration| interval.mul_f64(1.0 + REQUEUE_JITTER * jitter);
    match cause {
        RequeueCause::Resync => jittered(intervals.resync),
        RequeueCause::NetworkNotReady => jittered(intervals.network_not_ready),
        RequeueCause::Error => jittered(intervals.error),
        RequeueCause::BackOff(remaining) => remaining.min(intervals.resync),
    }
}
