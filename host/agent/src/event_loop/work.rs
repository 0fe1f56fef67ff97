//! The one place where a pod's life goes on: an event is fed to its record, and what follows is carried out.

use tokio::time::Instant;
use witlet_core::pleg::PlegEvent;
use witlet_core::pod::clean_up::SourcesRead;
use witlet_core::pod::lifecycle::{Effect, Event as LifeEvent, Facts, Stage};
use witlet_core::pod::static_pod::{first_seen, is_static};
use witlet_core::pod::worker::{KillOptions, Outcome, RequeueCause, Task, Work, Worker, requeue_after};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::RuntimePod;
use witlet_core::status::{self, Phase};

use super::EventLoop;
use super::record::{PodRecord, WorkerHandle};
use crate::checkpoints::give_ids;
use crate::executor::events::PodEvents;
use crate::executor::{End, Job, PodMemory, Saved};
use crate::inputs::{Event, WorkEnd};
use crate::pleg::logged;
use crate::pod_status_store::PodStatusStore;
use crate::prober::ProbeUpdate;

/// How many pods a line of the log names.
const NAMED_MAX: usize = 20;

impl EventLoop {
    /// Feeds an event to the pod's life. What is seen of it elsewhere (the status store, the admitted pods, the admission queue) follows
    /// here and nowhere else.
    pub(super) fn advance(&mut self, uid: &PodUid, event: LifeEvent) {
        let facts = self.facts(uid);
        let Some(record) = self.pods.get_mut(uid) else { return };
        let before = (record.life.counts(), record.life.waits_for_capacity());
        let effects = record.life.transition(event, &facts);
        let after = (record.life.counts(), record.life.waits_for_capacity());
        if record.life.worker().is_none() {
            record.worker_handle = None;
        } else if record.worker_handle.is_none()
            && let Some(pod) = &facts.pod
        {
            record.worker_handle = Some(WorkerHandle::of(pod, self.cancel_work.child_token()));
        }
        if before != after {
            self.admission.others_changed();
        }
        if (before.0 && !after.0) || (before.1 && !after.1) {
            self.admission.queue.world_changed();
        }
        if !record.life.is_gone() {
            self.show_state(uid);
        }
        for effect in effects {
            self.carry_out(uid, effect);
        }
    }

    fn facts(&self, uid: &PodUid) -> Facts {
        let record = self.pods.get(uid);
        let sourced = record.and_then(|record| record.sourced.as_ref());
        let has_worker = record.is_some_and(|record| record.life.worker().is_some());
        Facts {
            pod: sourced.map(|sourced| sourced.allocated.clone()),
            now: self.outside.clock.now(),
            has_ended: !has_worker && self.has_ended(uid),
            may_begin: self.stopping.is_none(),
        }
    }

    fn carry_out(&mut self, uid: &PodUid, effect: Effect) {
        match effect {
            Effect::Ask => self.ask_for(uid),
            Effect::StopAsking => self.admission.queue.remove(uid),
            Effect::ConsiderResize => self.consider_resize(uid),
            Effect::Run(work) => self.run_work(uid, work),
            Effect::CancelRunning => {
                if let Some(handle) = self.worker_handle(uid) {
                    handle.cancel.cancel();
                }
            }
            Effect::Requeue => {
                if let Some(handle) = self.worker_handle(uid) {
                    let jitter = self.outside.jitter.unit();
                    let after = requeue_after(handle.cause, &self.settings.requeue, jitter);
                    self.due.set(uid, Instant::now() + after);
                }
            }
            Effect::Finished => self.finished(uid),
            Effect::StartOver => self.start_over(uid),
            Effect::Forget => self.forget(uid),
        }
    }

    fn worker_handle(&self, uid: &PodUid) -> Option<&WorkerHandle> {
        self.pods.get(uid)?.worker_handle.as_ref()
    }

    pub(super) fn has_worker(&self, uid: &PodUid) -> bool {
        self.pods.get(uid).is_some_and(|record| record.life.worker().is_some())
    }

    /// The result of a probe changed. What a status says of it is published at once, because the pod's work may take long, be it a
    /// pull or its end; what is done about it is the work's (upstream: `syncLoopIteration`).
    pub(super) fn probe_changed(&mut self, update: &ProbeUpdate) {
        let ProbeUpdate { uid, container, kind, result } = update;
        let pod = self.worker_handle(uid).map(|handle| tracing::field::display(&handle.full_name));
        tracing::info!(
            pod,
            pod_uid = %uid,
            container_id = %container,
            probe = ?kind,
            status = ?result,
            "SyncLoop (probe)"
        );
        let now = self.outside.clock.now();
        self.outside
            .statuses
            .revise_status(uid, |pod, last| status::probed(pod, last, container, *kind, *result, now));
        if kind.needs_sync(*result) {
            self.keep_started(uid);
            self.sync_pods(std::slice::from_ref(uid));
        }
    }

    /// Has the pod's next work save what probes have found. Sources have that of their pods, but for static ones.
    fn keep_started(&mut self, uid: &PodUid) {
        let status = self.outside.statuses.status(uid);
        let Some((record, status)) = self.pods.get_mut(uid).zip(status) else { return };
        let PodRecord { sourced, checkpoint, .. } = record;
        if let Some(sourced) = sourced.as_ref().filter(|sourced| is_static(&sourced.pod)) {
            checkpoint.set_started(status::started_containers(&sourced.pod, &status));
        }
    }

    pub(super) fn runtime_changed(&mut self, event: &PlegEvent) {
        if event.is_worth_a_sync() {
            if let Some(handle) = self.worker_handle(&event.uid) {
                tracing::info!(pod = %handle.full_name, pod_uid = %event.uid, event = logged(event), "SyncLoop (PLEG): event for pod");
            }
            self.advance(&event.uid, LifeEvent::SyncRequested);
        }
    }

    /// Syncs these pods, as far as they have workers. A burst comes to one more sync of each.
    pub(super) fn sync_pods(&mut self, uids: &[PodUid]) {
        for uid in uids {
            if self.has_worker(uid) {
                self.advance(uid, LifeEvent::SyncRequested);
            }
        }
    }

    /// Syncs the pods that are due, and ends those that have waited too long.
    pub(super) fn sync_due(&mut self) {
        for uid in self.due.take_due(Instant::now()) {
            self.advance(&uid, LifeEvent::SyncRequested);
        }
        self.end_overdue();
    }

    /// Ends a pod that only the runtime has.
    pub(super) fn kill_orphan(&mut self, uid: &PodUid, full_name: PodFullName) {
        let grace_seconds = self.stored_grace(uid);
        let cancel = self.cancel_work.child_token();
        let record = self.pods.entry(uid.clone()).or_default();
        record.worker_handle.get_or_insert_with(|| WorkerHandle::new(full_name, false, cancel));
        self.advance(uid, LifeEvent::Orphaned { grace_seconds });
    }

    /// Its status was terminal already, and nothing of it runs. Before the runtime was asked for the first time that is unknown.
    fn has_ended(&self, uid: &PodUid) -> bool {
        let phase = self.outside.statuses.status(uid).and_then(|status| Phase::of(&status));
        let was_asked = self.outside.relisted.borrow().at.is_some();
        let running = self.outside.cache.peek(uid).is_some_and(|seen| seen.any_running());
        phase.is_some_and(Phase::is_terminal) && was_asked && !running
    }

    /// Shows how far the pod has come. What its work shows from here on is of a pod that stands so.
    pub(super) fn show_state(&self, uid: &PodUid) {
        if let Some(record) = self.pods.get(uid) {
            self.outside.statuses.put_state(uid, record.life.pod_state(|| self.is_in_runtime(uid)));
        }
    }

    /// What the runtime has of a pod that was rejected ends without a worker.
    pub(super) fn show_rejected(&self) {
        for (uid, _) in self.pods.iter().filter(|(_, record)| record.life.stage() == Some(Stage::Rejected)) {
            self.show_state(uid);
        }
    }

    /// Whether the runtime has anything of the pod that lives. The list may be a second old; what was seen of the pod alone is
    /// newer.
    pub(super) fn is_in_runtime(&self, uid: &PodUid) -> bool {
        match self.outside.cache.peek(uid) {
            Some(seen) => seen.is_alive(),
            None => self.outside.relisted.borrow().pods.iter().any(|pod| pod.uid == *uid && pod.is_alive()),
        }
    }

    fn run_work(&mut self, uid: &PodUid, work: Work) {
        if let Some(pod) = work.pod.as_ref().filter(|_| work.task == Task::Sync) {
            give_ids(&mut self.user_namespaces, pod);
        }
        let Some(handle) = self.worker_handle(uid) else { return };
        let (is_static, full_name) = (handle.is_static, handle.full_name.clone());
        let is_denied = work.task == Task::Sync && is_static && !self.may_start(uid, &full_name);
        let is_sync = work.task == Task::Sync && !is_denied;
        let image_admission = is_sync.then(|| self.image_admission(uid)).flatten();
        let Some(record) = self.pods.get_mut(uid) else { return };
        let Some(handle) = &mut record.worker_handle else { return };
        if is_denied {
            handle.cause = RequeueCause::Error;
            return self.advance(uid, LifeEvent::StartDenied);
        }
        let is_first = std::mem::take(&mut handle.is_new);
        if let Some(pod) = work.pod.as_ref().filter(|_| is_first && work.task == Task::Sync) {
            let seen = first_seen(pod).and_then(|time| time.parse().ok());
            self.outside.metrics.work_begins(pod, seen, self.outside.clock.now());
        }
        if is_first && !is_pending(&self.outside.statuses, uid) {
            // It ran before the agent did.
            handle.starting_since = None;
        }
        handle.asks_about_images = image_admission.is_some();
        handle.cancel = self.cancel_work.child_token();
        let (memory, cancel) = (handle.memory.take().unwrap_or_else(PodMemory::new), handle.cancel.clone());
        let sourced = record.sourced.as_ref();
        let (task, kind) = (work.task, work.kind);
        let job = Box::new(Job {
            uid: uid.clone(),
            full_name,
            work,
            memory,
            resize_pending: sourced.and_then(|sourced| sourced.resize.pending().cloned()),
            admission_pending: sourced.and_then(|sourced| sourced.admission_pending.clone()),
            pending_edits: sourced
                .map(|sourced| sourced.edits.pending().cloned().collect())
                .unwrap_or_default(),
            image_admission,
            user_namespace: self.user_namespaces.of(uid),
            to_save: record.to_save(),
            saved: Saved::default(),
            is_restored: sourced.is_some_and(|sourced| !self.sources.merged.is_seen(&sourced.source)),
            cancel,
        });
        self.due.remove(uid);
        let (executor, metrics) = (self.outside.executor.clone(), self.outside.metrics.clone());
        let (name, panicked) = (uid.clone(), uid.clone());
        let working = async move {
            let begun = Instant::now();
            let (memory, saved, end) = executor.run(job).await;
            metrics.worked(task, kind, begun.elapsed());
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
            let record = self.pods.get(&pod.uid);
            let worker = record.and_then(|record| record.life.worker());
            let over = worker.is_some_and(Worker::is_finished);
            // The list may be a second old; what the pod's end saw is newer.
            let seen = self.outside.cache.peek(&pod.uid);
            let gone = seen.is_some_and(|seen| !seen.is_alive());
            let sourced = record.and_then(|record| record.sourced.as_ref());
            let counts = sourced.is_none_or(|sourced| is_static(&sourced.pod));
            same_name && pod.uid != *uid && counts && !over && !gone && pod.is_alive()
        };
        relisted.pods.iter().filter(holds).map(|pod| pod.uid.clone()).collect()
    }

    /// A pod of an earlier life of the agent that a static pod has taken the name of has no manifest any more, whatever
    /// sources have yet to be seen: a name is one pod's. The clean-up would wait for them, and be it the API server that the
    /// edited manifest is to bring back.
    fn end_replaced(&mut self, holder: &PodUid, full_name: &PodFullName, by: &PodUid) {
        let record = self.pods.get(holder);
        let was_added = record.is_some_and(|record| record.was_added);
        let ends_anyway = match self.sources.read() {
            SourcesRead::None => false,
            SourcesRead::Partly => was_added,
            SourcesRead::All => true,
        };
        if !record.is_none_or(PodRecord::is_gone) || ends_anyway {
            return;
        }
        let message = format!("Waiting for pod {holder} of the same name to terminate");
        PodEvents::new(&*self.outside.events, full_name, by).normal("Replacing", &message);
        self.kill_orphan(holder, full_name.clone());
    }

    pub(super) fn work_ended(&mut self, end: WorkEnd) {
        let WorkEnd { uid, task, memory, saved, end: End { outcome, cause } } = end;
        let Some(record) = self.pods.get_mut(&uid) else { return };
        let reported = saved.reported.is_some().then(|| record.end_count.take()).flatten();
        if record.note_saved(saved) {
            self.publish_health();
        }
        if let Some(count) = reported {
            self.count_end(count);
        }
        let Some(handle) = self.pods.get_mut(&uid).and_then(|record| record.worker_handle.as_mut()) else {
            return;
        };
        (handle.memory, handle.cause) = (Some(memory), cause);
        if handle.starting_since.is_some() && !is_pending(&self.outside.statuses, &uid) {
            self.note_start(&uid);
        }
        if task == Task::Sync && outcome != Outcome::Failed && self.stats.first_sync.is_none() {
            self.stats.first_sync = Some(self.outside.clock.now());
        }
        let has_ended = outcome == Outcome::PodEnded || (task == Task::Settle && outcome == Outcome::Done);
        if has_ended {
            self.remember_end(&uid);
        }
        let is_terminated = |record: &PodRecord| record.life.worker().is_some_and(Worker::is_terminated);
        let was_terminated = self.pods.get(&uid).is_some_and(is_terminated);
        self.advance(&uid, LifeEvent::WorkEnded(outcome));
        if !was_terminated && self.pods.get(&uid).is_none_or(is_terminated) {
            // What it held is free, be it a removed pod's, which counted no more.
            self.admission.others_changed();
            self.admission.queue.world_changed();
        }
    }

    /// The pod is no longer pending. One that never ran has no start.
    fn note_start(&mut self, uid: &PodUid) {
        let runs = phase(&self.outside.statuses, uid) == Some(Phase::Running);
        let handle = self.pods.get_mut(uid).and_then(|record| record.worker_handle.as_mut());
        if let Some(since) = handle.and_then(|handle| handle.starting_since.take()).filter(|_| runs) {
            self.outside.metrics.runs(since.elapsed());
        }
    }

    /// What a pod ended with isn't to be seen from its containers alone after a restart.
    fn remember_end(&mut self, uid: &PodUid) {
        let status = self.outside.statuses.status(uid);
        let status = status.filter(|status| Phase::of(status).is_some_and(Phase::is_terminal));
        let record = self.pods.get_mut(uid).filter(|record| record.sourced.is_some());
        if let (Some(status), Some(record)) = (status, record) {
            record.checkpoint.content_mut().end(&status);
        }
    }

    fn finished(&mut self, uid: &PodUid) {
        self.due.remove(uid);
        self.report_end_without_work(uid);
        if let Some(full_name) = self.worker_handle(uid).map(|handle| handle.full_name.clone())
            && let Some(next) = self.statics.forget(&full_name, uid)
        {
            self.advance(&next, LifeEvent::SyncRequested);
        }
        self.advance(uid, LifeEvent::Cleared);
    }

    /// Nothing is remembered of the pod before this one under its UID.
    fn start_over(&mut self, uid: &PodUid) {
        self.forget_history(uid);
        if let Some(pod) = self.sourced(uid).map(|sourced| sourced.pod.clone()) {
            self.outside.metrics.restarts(is_static(&pod));
            self.outside.statuses.put_pod(uid, pod);
        }
    }

    /// The agent ends once its pods have.
    pub(super) fn stop_pods(&mut self) {
        self.stopping = Some(Instant::now() + self.settings.stop_pods_wait_max);
        let uids: Vec<PodUid> = self.pods.keys().cloned().collect();
        for uid in uids {
            self.advance(&uid, LifeEvent::Kill(KillOptions::default()));
        }
        let listed = self.outside.relisted.borrow().pods.clone();
        for pod in listed.iter().filter(|pod| pod.is_alive()) {
            if !self.has_worker(&pod.uid) {
                self.kill_orphan(&pod.uid, PodFullName::new(&pod.namespace, &pod.name));
            }
        }
    }

    /// Logs which pods are left when the time to stop them is over; some of them, where they are many.
    pub(super) fn warn_of_pods_left(&self) {
        let at_work = self.pods.iter().filter(|(_, record)| record.life.is_at_work());
        let name = |(uid, record): (&PodUid, &PodRecord)| match &record.worker_handle {
            Some(handle) => handle.full_name.to_string(),
            None => uid.to_string(),
        };
        let named: Vec<String> = at_work.clone().take(NAMED_MAX).map(name).collect();
        let waited = self.settings.stop_pods_wait_max;
        tracing::warn!(count = at_work.count(), pods = ?named, ?waited, "Pods did not terminate in time");
    }
}

fn phase(statuses: &PodStatusStore, uid: &PodUid) -> Option<Phase> {
    statuses.status(uid).and_then(|status| Phase::of(&status))
}

/// Whether the pod is Pending; one without a published status counts as Pending.
fn is_pending(statuses: &PodStatusStore, uid: &PodUid) -> bool {
    phase(statuses, uid).is_none_or(|phase| phase == Phase::Pending)
}
