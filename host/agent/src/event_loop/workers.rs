//! The pods' workers: what they hear, and what has to be done for them.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use tokio::time::Instant;
use witlet_core::pod::static_pod::{is_static, takes_remains_over};
use witlet_core::pod::worker::{
    Effect, KillOptions, Origin, Outcome, RequeueCause, Task, Update, UpdateKind, Work, Worker, WorkerEvent,
    requeue_after,
};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::probe::{ProbeKind, ProbeResult};
use witlet_core::runtime::RuntimePod;
use witlet_core::status::{self, Phase};

use super::{EventLoop, Managed, Stage};
use crate::board::Standing;
use crate::executor::events::PodEvents;
use crate::executor::{End, Job, PodMemory, Saved, ToSave};
use crate::housekeeping::is_alive;
use crate::inputs::{Event, WorkEnd};
use crate::prober::ProbeUpdate;

impl EventLoop {
    /// Turns to a pod's worker, which is made if the pod is admitted and has none. `grace_seconds` is heard with a
    /// kill.
    pub(super) fn update_worker(&mut self, uid: &PodUid, kind: UpdateKind, grace_seconds: Option<i64>) {
        let record = self.records.get(uid);
        let pod = record.map(|record| record.allocated.clone());
        let kill = KillOptions { evict: false, grace_seconds };
        let update = Update {
            kind,
            pod: pod.clone(),
            started_at: self.outside.clock.now(),
            kill: (kind == UpdateKind::Kill).then_some(kill),
        };
        if let Some(managed) = self.workers.get_mut(uid) {
            let effects = managed.worker.transition(WorkerEvent::Update(update));
            self.carry_out(uid, effects);
        } else if record.is_some_and(|record| matches!(record.stage, Stage::Admitted | Stage::GoesOn))
            && self.stopping.is_none()
            && let Some(pod) = pod
        {
            let ended = self.has_ended(uid);
            let Some((worker, effects)) = Worker::begin(update, ended) else { return };
            let (full_name, is_static) = (PodFullName::of(&pod), is_static(&pod));
            self.manage(uid, worker, full_name, is_static);
            self.carry_out(uid, effects);
        }
    }

    /// The pod is due. What only the runtime has hears nothing but that it has to end.
    pub(super) fn wake(&mut self, uid: &PodUid) {
        let kind = match self.workers.get(uid).map(|managed| managed.worker.origin()) {
            Some(Origin::RuntimeOnly) => UpdateKind::Kill,
            Some(Origin::Source) | None => UpdateKind::Sync,
        };
        self.update_worker(uid, kind, None);
    }

    /// The result of a probe changed. What a status tells of it is shown at once, for the pod's work may take long, be it a
    /// pull or its end; what is done about it is the work's (upstream: `syncLoopIteration`).
    pub(super) fn take_probe(&mut self, update: &ProbeUpdate) {
        let ProbeUpdate { uid, container, kind, result } = update;
        tracing::info!(%uid, %container, probe = ?kind, status = ?result, "SyncLoop (probe)");
        let now = self.outside.clock.now();
        self.outside
            .board
            .revise_status(uid, |pod, last| status::probed(pod, last, container, *kind, *result, now));
        let concerns_the_pod = match kind {
            ProbeKind::Startup | ProbeKind::Readiness => true,
            // That it lives on changes nothing.
            ProbeKind::Liveness => *result == ProbeResult::Failure,
        };
        if concerns_the_pod && self.workers.contains_key(uid) {
            self.update_worker(uid, UpdateKind::Sync, None);
        }
    }

    /// Something that these pods draw from the cluster is other than it was. A burst comes to one more sync of each.
    pub(super) fn take_objects(&mut self, uids: &[PodUid]) {
        for uid in uids {
            if self.workers.contains_key(uid) {
                self.update_worker(uid, UpdateKind::Sync, None);
            }
        }
    }

    /// Ends a pod that only the runtime has.
    pub(super) fn kill_orphan(&mut self, uid: &PodUid, full_name: PodFullName, grace_seconds: i64) {
        let update = Update {
            kind: UpdateKind::Kill,
            pod: None,
            started_at: self.outside.clock.now(),
            kill: Some(KillOptions { evict: false, grace_seconds: Some(grace_seconds) }),
        };
        if let Some((worker, effects)) = Worker::begin(update, false) {
            self.manage(uid, worker, full_name, false);
            self.carry_out(uid, effects);
        }
    }

    fn manage(&mut self, uid: &PodUid, worker: Worker, full_name: PodFullName, is_static: bool) {
        let managed = Managed {
            worker,
            full_name,
            is_static,
            memory: Some(PodMemory::new()),
            cancel: self.cancel_work.child_token(),
            cause: RequeueCause::Resync,
        };
        self.workers.insert(uid.clone(), managed);
    }

    /// Its status was terminal already, and nothing of it runs. Before the runtime was asked for the first time nobody knows.
    fn has_ended(&self, uid: &PodUid) -> bool {
        let phase = self.outside.board.status(uid).and_then(|status| Phase::of(&status));
        let was_asked = self.outside.relisted.borrow().at.is_some();
        let running = self.outside.cache.peek(uid).is_some_and(|seen| seen.any_running());
        phase.is_some_and(Phase::is_terminal) && was_asked && !running
    }

    /// Shows how far the pod has come. What its work tells from here on is told of a pod that stands so.
    pub(super) fn show_standing(&self, uid: &PodUid) {
        self.outside.board.put_standing(uid, self.pod_standing(uid));
    }

    /// What the runtime has of a pod that was refused ends beside any worker.
    pub(super) fn show_rejected(&self) {
        for (uid, _) in self.records.iter().filter(|(_, record)| record.stage == Stage::Rejected) {
            self.show_standing(uid);
        }
    }

    fn pod_standing(&self, uid: &PodUid) -> Standing {
        let stage = self.records.get(uid).map(|record| record.stage);
        match (self.workers.get(uid).map(|managed| &managed.worker), stage) {
            (Some(worker), stage) => Standing {
                may_run: !worker.is_terminated(),
                // Once it has, the pod that comes back with its UID is as new.
                is_finished: worker.is_finished() && stage != Some(Stage::Returning),
                is_ending: worker.is_terminating(),
            },
            (None, Some(Stage::Rejected)) => {
                let may_run = self.is_in_runtime(uid);
                Standing { may_run, is_finished: !may_run, is_ending: false }
            }
            (None, Some(Stage::Waiting | Stage::GoesOn | Stage::Admitted | Stage::Returning) | None) => {
                Standing::NEW
            }
        }
    }

    /// Whether the runtime has anything of the pod that lives. The list may be a second old; what was seen of the pod alone is
    /// newer.
    pub(super) fn is_in_runtime(&self, uid: &PodUid) -> bool {
        match self.outside.cache.peek(uid) {
            Some(seen) => seen.is_alive(),
            None => self.outside.relisted.borrow().pods.iter().any(|pod| pod.uid == *uid && is_alive(pod)),
        }
    }

    pub(super) fn carry_out(&mut self, uid: &PodUid, effects: Vec<Effect>) {
        self.show_standing(uid);
        for effect in effects {
            match effect {
                Effect::Run(work) => self.run_work(uid, work),
                Effect::CancelRunning => {
                    if let Some(managed) = self.workers.get(uid) {
                        managed.cancel.cancel();
                    }
                }
                Effect::Requeue => {
                    if let Some(managed) = self.workers.get(uid) {
                        let jitter = self.outside.jitter.unit();
                        let after = requeue_after(managed.cause, &self.config.requeue, jitter);
                        self.due.set(uid, Instant::now() + after);
                    }
                }
                Effect::Finished => {
                    self.finished(uid);
                    self.show_standing(uid);
                }
            }
        }
    }

    fn run_work(&mut self, uid: &PodUid, work: Work) {
        if let Some(pod) = work.pod.as_ref().filter(|_| work.task == Task::Sync) {
            self.checkpoints.give_ids(pod);
        }
        let Some(managed) = self.workers.get(uid) else { return };
        let (is_static, full_name) = (managed.is_static, managed.full_name.clone());
        let denied = work.task == Task::Sync && is_static && !self.may_start(uid, &full_name);
        let Some(managed) = self.workers.get_mut(uid) else { return };
        if denied {
            managed.cause = RequeueCause::Error;
            let effects = managed.worker.transition(WorkerEvent::StartDenied);
            return self.carry_out(uid, effects);
        }
        managed.cancel = self.cancel_work.child_token();
        let to_save = self.to_save(uid);
        let Some(managed) = self.workers.get_mut(uid) else { return };
        let record = self.records.get(uid);
        let resize_pending = record.and_then(|record| record.resize_pending.clone());
        let admission_pending = record.and_then(|record| record.admission_pending.clone());
        let task = work.task;
        let job = Job {
            uid: uid.clone(),
            full_name,
            work,
            memory: managed.memory.take().unwrap_or_else(PodMemory::new),
            resize_pending,
            admission_pending,
            user_namespace: self.checkpoints.user_namespaces().of(uid),
            to_save,
            saved: Saved::default(),
            is_restored: self.records.get(uid).is_some_and(|record| !self.merged.is_seen(&record.source)),
            cancel: managed.cancel.clone(),
        };
        self.due.remove(uid);
        let executor = self.outside.executor.clone();
        let (name, panicked) = (uid.clone(), uid.clone());
        let working = async move {
            let (memory, saved, end) = executor.run(job).await;
            Event::WorkEnded(Box::new(WorkEnd { uid: name, task, memory, saved, end }))
        };
        let end = End { outcome: Outcome::Failed, cause: RequeueCause::Error };
        let lost = WorkEnd { uid: panicked, task, memory: PodMemory::new(), saved: Saved::default(), end };
        self.spawn(working, Event::WorkEnded(Box::new(lost)));
    }

    /// One static pod at a time runs under a full name, be it one that only the runtime still has.
    fn may_start(&mut self, uid: &PodUid, full_name: &PodFullName) -> bool {
        if self.statics.started(full_name) == Some(uid) {
            return true;
        }
        self.statics.enqueue(full_name, uid);
        let holders = self.running_under(full_name, uid);
        for holder in &holders {
            self.end_replaced(holder, full_name, uid);
        }
        holders.is_empty() && self.statics.allow_start(full_name, uid)
    }

    /// Static pods of this name that still run, and pods that no source has brought. Pods of the API server hold no name.
    fn running_under(&self, full_name: &PodFullName, uid: &PodUid) -> Vec<PodUid> {
        let relisted = self.outside.relisted.borrow();
        let holds = |pod: &&RuntimePod| {
            let same_name = pod.name == *full_name.name && pod.namespace == *full_name.namespace;
            let over = self.workers.get(&pod.uid).is_some_and(|managed| managed.worker.is_finished());
            // The list may be a second old; what the pod's end saw is newer.
            let seen = self.outside.cache.peek(&pod.uid);
            let gone = seen.is_some_and(|seen| !seen.is_alive());
            let counts = self.records.get(&pod.uid).is_none_or(|record| is_static(&record.pod));
            same_name && pod.uid != *uid && counts && !over && !gone && is_alive(pod)
        };
        relisted.pods.iter().filter(holds).map(|pod| pod.uid.clone()).collect()
    }

    /// A pod of an earlier life of the agent that a static pod has taken the name of has no manifest any more, whatever
    /// sources have yet to be seen: a name is one pod's. The clean-up would wait for them, and be it the API server that the
    /// edited manifest is to bring back.
    fn end_replaced(&mut self, holder: &PodUid, full_name: &PodFullName, by: &PodUid) {
        let is_orphan = !self.records.contains_key(holder) && !self.workers.contains_key(holder);
        if !is_orphan || (self.all_sources_seen() && !self.may_be_unread(holder)) {
            return;
        }
        let message = format!("Pod {holder} of the same name still runs and is ended first");
        PodEvents::new(&*self.outside.events, full_name, by).normal("Replacing", &message);
        let grace = self.stored_grace(holder);
        self.kill_orphan(holder, full_name.clone(), grace);
    }

    pub(super) fn work_ended(&mut self, end: WorkEnd) {
        let WorkEnd { uid, task, memory, saved, end: End { outcome, cause } } = end;
        self.note_saved(&uid, saved);
        let Some(managed) = self.workers.get_mut(&uid) else { return };
        managed.memory = Some(memory);
        managed.cause = cause;
        if task == Task::Sync && outcome != Outcome::Failed && self.stats.first_sync.is_none() {
            self.stats.first_sync = Some(self.outside.clock.now());
        }
        let has_ended = outcome == Outcome::PodEnded || (task == Task::Settle && outcome == Outcome::Done);
        if has_ended {
            self.remember_end(&uid);
        }
        let Some(managed) = self.workers.get_mut(&uid) else { return };
        let was_terminated = managed.worker.is_terminated();
        let effects = managed.worker.transition(WorkerEvent::WorkEnded(outcome));
        if managed.worker.is_terminated() && !was_terminated {
            // What it held is free.
            self.others = None;
            self.queue.world_changed();
        }
        self.carry_out(&uid, effects);
    }

    /// What a pod ended with isn't to be seen from its containers alone after a restart.
    fn remember_end(&mut self, uid: &PodUid) {
        let status = self.outside.board.status(uid);
        let status = status.filter(|status| Phase::of(status).is_some_and(Phase::is_terminal));
        if let Some(status) = status.filter(|_| self.records.contains_key(uid)) {
            self.checkpoints.end(uid, &status);
        }
    }

    /// What of the pod has to be on disk before, or after, its next piece of work.
    fn to_save(&self, uid: &PodUid) -> ToSave {
        let Some(record) = self.records.get(uid) else { return ToSave::default() };
        ToSave {
            checkpoint: self.checkpoints.content(uid),
            is_unsaved: self.checkpoints.is_unsaved(uid),
            allocation: record.allocation_unsaved,
            blocks: record.must_save,
        }
    }

    fn note_saved(&mut self, uid: &PodUid, saved: Saved) {
        let Saved { checkpoint, allocation, failure } = saved;
        if let Some(content) = checkpoint {
            self.checkpoints.saved(uid, content);
        }
        // What changed meanwhile is saved before the next piece of work.
        let is_unsaved = failure.is_some() || self.checkpoints.is_unsaved(uid);
        if let Some(record) = self.records.get_mut(uid) {
            record.allocation_unsaved =
                record.allocation_unsaved.filter(|version| Some(*version) != allocation);
            record.must_save &= is_unsaved || record.allocation_unsaved.is_some();
        }
        let before = match failure {
            Some(error) => self.unsaved.insert(uid.clone(), error).is_some(),
            None => self.unsaved.remove(uid).is_none(),
        };
        if !before {
            self.show_health();
        }
    }

    fn finished(&mut self, uid: &PodUid) {
        self.due.remove(uid);
        let Some(managed) = self.workers.get(uid) else { return };
        let (origin, returns) = (managed.worker.origin(), managed.worker.is_restart_requested());
        let full_name = managed.full_name.clone();
        let next = self.statics.forget(&full_name, uid);
        if let Some(next) = next {
            self.update_worker(&next, UpdateKind::Sync, None);
        }
        if !self.records.contains_key(uid) {
            self.workers.remove(uid);
            self.forget(uid);
        } else if origin == Origin::RuntimeOnly {
            self.workers.remove(uid);
        } else if returns {
            self.workers.remove(uid);
            self.set_stage(uid, Stage::Returning);
        }
        self.go_on_with_remains(uid);
    }

    /// A pod that came back while the one before with its UID was ending begins at once if it takes over what is left of
    /// that; else the clean-up has to remove it first.
    fn go_on_with_remains(&mut self, uid: &PodUid) {
        let returning = self.records.get(uid).filter(|record| record.stage == Stage::Returning);
        let returning = returning.filter(|record| takes_remains_over(&record.pod));
        if let Some(pod) = returning.map(|record| record.pod.clone())
            && !self.workers.contains_key(uid)
        {
            self.readmit(uid, pod);
        }
    }

    /// A pod with a UID that was used before is judged anew, and nothing is remembered of the one before.
    pub(super) fn readmit(&mut self, uid: &PodUid, pod: Arc<Pod>) {
        self.forget(uid);
        self.outside.board.put_pod(uid, pod);
        self.set_stage(uid, Stage::Waiting);
        self.ask_for(uid);
    }

    /// The agent ends, and its pods with it.
    pub(super) fn kill_everything(&mut self) {
        let uids: Vec<PodUid> = self.workers.keys().cloned().collect();
        for uid in uids {
            self.update_worker(&uid, UpdateKind::Kill, None);
        }
        let listed = self.outside.relisted.borrow().pods.clone();
        for pod in listed.iter().filter(|pod| is_alive(pod)) {
            if !self.workers.contains_key(&pod.uid) {
                let grace = self.stored_grace(&pod.uid);
                self.kill_orphan(&pod.uid, PodFullName::new(&pod.namespace, &pod.name), grace);
            }
        }
    }
}
