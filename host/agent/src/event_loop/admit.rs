//! Admission as the loop sees it: who is asked for, what a verdict brings, and that it is saved before a pod starts.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use tokio::time::Instant;
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Decision, Operation, preemption};
use witlet_core::pod::worker::UpdateKind;
use witlet_core::pod::{PodFullName, PodUid, deadline};
use witlet_core::status::{self, AdmissionPending, NodeEnd};
use witlet_ports::{FilesError, StateStore};

use super::ledger::{self, ADMITTED_PODS, Ledger};
use super::{EventLoop, Record, Saving, SavingState, Stage};
use crate::admission_queue::{AskId, Judged, Next};
use crate::executor::events::PodEvents;
use crate::inputs::Event;
use witlet_core::error::one_line;

/// So many reasons of refusals are counted each on their own, for plugins can make up any.
const REJECTION_REASONS_MAX: usize = 64;
/// What all others count as, as upstream has it.
const OTHER_REASON: &str = "Other";
/// From one write of the admitted pods to the next: each writes all of them, and a burst of pods shares them. A pod that
/// comes alone isn't held up.
const SAVES_APART: Duration = Duration::from_millis(50);
/// With each write that fails at most so many of the pods that wait for it are told.
const UNSAVED_EVENTS_MAX: usize = 16;
/// A pod whose judging panicked is asked for again after this.
const RETRY_AFTER_PANIC: Duration = Duration::from_secs(10);

impl Stage {
    /// What the handlers are asked about a pod that has come this far.
    pub(super) fn operation(self) -> Operation {
        match self {
            Self::Waiting | Self::GoesOn | Self::Rejected | Self::Returning => Operation::Add,
            Self::Saving | Self::Admitted => Operation::Resize,
        }
    }
}

impl EventLoop {
    /// Puts the pod into the queue, with its newest spec.
    pub(super) fn ask_for(&mut self, uid: &PodUid) {
        if let Some(record) = self.records.get(uid) {
            let created = record.pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            match self.is_in_runtime(uid) {
                true => self.queue.add_running(uid, created),
                false => self.queue.add(uid, created),
            }
        }
    }

    /// Puts pods to the handlers as far as the queue says so.
    pub(super) fn judge(&mut self) {
        self.admission_due = None;
        if !self.health.is_ready() || self.stopping.is_some() {
            return;
        }
        let sources_wait_ends = self.begun + self.config.sources_wait_max;
        if !self.all_sources_seen() && Instant::now() < sources_wait_ends {
            self.admission_due = Some(sources_wait_ends);
            return;
        }
        loop {
            match self.queue.next(Instant::now(), self.admissions, self.config.admission_patience) {
                Next::Ask(id, uid) => self.ask(id, &uid),
                Next::Wait(at) => {
                    self.admission_due = Some(at);
                    return;
                }
                Next::Idle => return,
            }
        }
    }

    fn ask(&mut self, id: AskId, uid: &PodUid) {
        let mut other_pods = self.other_pods();
        let Some(record) = self.records.get(uid) else { return };
        let operation = record.stage.operation();
        // What a pod has already, or waits for, it doesn't have to share with itself.
        if operation == Operation::Resize || record.waits_for_room || record.stage == Stage::GoesOn {
            other_pods = other_pods.iter().filter(|other| PodUid::of(&other.pod) != *uid).cloned().collect();
        }
        let request = AdmissionRequest {
            operation,
            now: self.outside.clock.now(),
            // A pod that a kubelet ran is judged with what that one had allocated; its wish for more is judged afterwards.
            pod: match operation {
                Operation::Add => self.allocated(&record.pod),
                Operation::Resize => record.pod.clone(),
            },
            source: record.source.clone(),
            node: self.outside.node.borrow().clone(),
            other_pods,
        };
        let admission = self.outside.admission.clone();
        let panicked = Decision::Defer {
            reason: "AdmissionFailed".to_owned(),
            message: "the judging of the pod failed; see the agent's log".to_owned(),
            retry_after: RETRY_AFTER_PANIC,
        };
        let judging = async move { Event::Verdict(id, admission.admit(request).await) };
        self.spawn(judging, Event::Verdict(id, panicked));
    }

    /// The admitted pods whose containers may run, and those that others were ended for. As upstream has it, a pod that its
    /// source removed counts no more, though it may still be ending.
    fn other_pods(&mut self) -> Arc<[AdmittedPod]> {
        if let Some(others) = &self.others {
            return others.clone();
        }
        let counting = self.records.iter().filter(|(uid, record)| record.waits_for_room || self.counts(uid));
        let others: Arc<[AdmittedPod]> = counting
            .map(|(_, record)| AdmittedPod { pod: record.allocated.clone(), source: record.source.clone() })
            .collect();
        self.others = Some(others.clone());
        others
    }

    pub(super) fn take_verdict(&mut self, id: AskId, decision: Decision) {
        let asked = self.queue.asked(id).and_then(|uid| self.records.get_key_value(uid));
        let operation = asked.map(|(_, record)| record.stage.operation());
        let decision = match asked {
            Some((uid, record)) if record.stage.operation() == Operation::Resize => {
                self.as_resize(uid, decision)
            }
            Some((uid, _)) => self.beside_preemption(uid, decision),
            None => decision,
        };
        let Judged::Stands(uid, decision) = self.queue.answer(id, decision, Instant::now(), self.admissions)
        else {
            return;
        };
        if operation == Some(Operation::Resize) {
            return self.take_resize(&uid, decision);
        }
        let Some(pod) = self.records.get(&uid).map(|record| record.pod.clone()) else { return };
        match decision {
            Decision::Admit => {
                self.admissions += 1;
                self.set_stage(&uid, Stage::Saving);
                self.settle_room(&uid);
                self.ledger.admit(&pod);
                self.refresh_allocated(&uid);
                self.save_soon();
                self.saving.waiting.push((self.saving.version, uid));
                self.queue.world_changed();
            }
            Decision::Reject { reason, message } => self.reject(&uid, &pod, &reason, &message),
            Decision::Preempt { victims, message } => self.preempt(&uid, &victims, &message),
            Decision::Defer { reason, message, .. } => {
                if reason != preemption::REASON {
                    self.settle_room(&uid);
                }
                self.show_blocked(&uid, &reason, &message);
            }
        }
    }

    fn reject(&mut self, uid: &PodUid, pod: &Pod, reason: &str, message: &str) {
        let full_name = PodFullName::of(pod);
        PodEvents::new(&*self.outside.events, &full_name, uid).warning(reason, message);
        self.count_rejection(reason);
        self.set_pending(uid, None);
        self.set_stage(uid, Stage::Rejected);
        let (last, now) = (self.outside.board.status(uid), self.outside.clock.now());
        if self.workers.contains_key(uid) {
            // It went on until now, and ends with a status that its end doesn't take back.
            let text = format!("Pod was rejected: {message}");
            let end = NodeEnd { reason: reason.to_owned(), message: text.clone(), condition_message: text };
            let status =
                status::ended_by_node(pod, last.as_deref().unwrap_or(&PodStatus::default()), &end, now);
            self.outside.board.put_status(uid, status);
            self.update_worker(uid, UpdateKind::Kill, None);
        } else {
            self.outside.board.put_status(uid, status::rejected(pod, reason, message, now));
        }
        self.settle_room(uid);
    }

    /// Ends what has waited for its admission for longer than it may be active (`activeDeadlineSeconds`). What runs has a
    /// worker that does.
    pub(super) fn end_overdue(&mut self) {
        let now = self.outside.clock.now();
        let is_overdue = |uid: &PodUid, record: &Record| {
            let started_at = self.outside.board.status(uid).and_then(|status| status.start_time.clone());
            matches!(record.stage, Stage::Waiting | Stage::Saving)
                && !self.workers.contains_key(uid)
                && deadline::is_over(&record.pod, started_at.map(|time| time.0), now)
        };
        let overdue: Vec<(PodUid, Arc<Pod>)> = self
            .records
            .iter()
            .filter(|(uid, record)| is_overdue(uid, record))
            .map(|(uid, record)| (uid.clone(), record.pod.clone()))
            .collect();
        for (uid, pod) in overdue {
            let full_name = PodFullName::of(&pod);
            let events = PodEvents::new(&*self.outside.events, &full_name, &uid);
            events.normal(deadline::REASON, deadline::MESSAGE);
            let last = self.outside.board.status(&uid);
            self.outside.board.put_status(&uid, status::overdue(&pod, last.as_deref(), now));
            self.queue.remove(&uid);
            self.set_stage(&uid, Stage::Rejected);
            self.settle_room(&uid);
        }
    }

    fn set_pending(&mut self, uid: &PodUid, pending: Option<AdmissionPending>) {
        if let Some(record) = self.records.get_mut(uid) {
            record.admission_pending = pending;
        }
    }

    /// A pod that ran before it was judged again isn't taken out of service because its verdict is put off: it goes on as it
    /// was made, is probed, restarted and counted.
    fn go_on(&mut self, uid: &PodUid, reason: &str, message: &str) {
        let pending = AdmissionPending { reason: reason.to_owned(), message: message.to_owned() };
        self.set_pending(uid, Some(pending));
        self.set_stage(uid, Stage::GoesOn);
        self.update_worker(uid, UpdateKind::Sync, None);
    }

    fn count_rejection(&mut self, reason: &str) {
        let counts = &mut self.stats.rejections;
        let is_kept = counts.contains_key(reason) || counts.len() < REJECTION_REASONS_MAX;
        let reason = if is_kept { reason } else { OTHER_REASON };
        *counts.entry(reason.to_owned()).or_default() += 1;
    }

    /// The pod waits, for everybody to see.
    pub(super) fn show_blocked(&mut self, uid: &PodUid, reason: &str, message: &str) {
        let Some(record) = self.records.get(uid) else { return };
        let full_name = PodFullName::of(&record.pod);
        let events = PodEvents::new(&*self.outside.events, &full_name, uid);
        if record.stage == Stage::GoesOn || self.is_in_runtime(uid) {
            events.warning("AdmissionPending", &format!("The pod goes on as it is. {reason}: {message}"));
            return self.go_on(uid, reason, message);
        }
        events.warning("Blocked", &format!("{reason}: {message}"));
        let (previous, now) = (self.outside.board.status(uid), self.outside.clock.now());
        let blocked = status::blocked(&record.pod, previous.as_deref(), reason, message, now);
        self.outside.board.put_status(uid, blocked);
    }

    /// The remembered pods changed: they are written, at most one write at a time.
    pub(super) fn save(&mut self) {
        self.saving.version += 1;
        self.saving.is_urgent = true;
        match self.saving.state {
            SavingState::Writing => {}
            // The disk said no: it is asked again when the pause is over.
            SavingState::Pausing(_) if self.saving.failure.is_some() => {}
            SavingState::Idle | SavingState::Pausing(_) => self.write(),
        }
    }

    /// The same for what may wait for other changes.
    pub(super) fn save_soon(&mut self) {
        self.saving.version += 1;
        if self.saving.state == SavingState::Idle {
            self.write();
        }
    }

    fn write(&mut self) {
        self.saving.state = SavingState::Writing;
        self.saving.is_urgent = false;
        let version = self.saving.version;
        let pages = self.ledger.take_pages();
        let state = self.outside.state.clone();
        let writing = async move { Event::Saved(version, ledger::write(&*state, pages).await) };
        let panicked = FilesError {
            action: "write",
            path: ADMITTED_PODS.into(),
            cause: std::io::Error::other("the write panicked"),
        };
        self.spawn(writing, Event::Saved(version, Err(panicked)));
    }

    pub(super) fn saved(&mut self, version: u64, result: Result<(), FilesError>) {
        if let Err(error) = result {
            self.ledger.not_written();
            let message =
                format!("admitted pods can't be saved, so that none can start: {}", one_line(&error));
            tracing::warn!("{message}");
            self.report_unsaved(&one_line(&error));
            self.saving.failure = Some(message);
            self.show_health();
            return self.pause_saving(self.config.save_retry);
        }
        self.saving.written = version;
        if self.saving.failure.take().is_some() {
            self.saving.reported.clear();
            self.show_health();
        }
        let waiting = std::mem::take(&mut self.saving.waiting);
        let (ready, waiting) = waiting.into_iter().partition(|(needs, _)| *needs <= version);
        self.saving.waiting = waiting;
        for (_, uid) in ready {
            match self.records.get(&uid).map(|record| record.stage) {
                Some(Stage::Saving) => {
                    // Until here nothing was made of what it had not been admitted with.
                    self.set_pending(&uid, None);
                    self.set_stage(&uid, Stage::Admitted);
                    let goes_on = self.workers.contains_key(&uid);
                    let kind = if goes_on { UpdateKind::Update } else { UpdateKind::Create };
                    self.update_worker(&uid, kind, None);
                    self.consider_resize(&uid);
                }
                // It was granted other resources.
                Some(Stage::Admitted) => self.update_worker(&uid, UpdateKind::Update, None),
                Some(Stage::Waiting | Stage::GoesOn | Stage::Rejected | Stage::Returning) | None => {}
            }
        }
        match self.saving.is_urgent {
            true => self.write(),
            false => self.pause_saving(SAVES_APART),
        }
    }

    /// Each pod that waits for the disk is told once while the disk fails, some with each try.
    fn report_unsaved(&mut self, error: &str) {
        let Self { saving, records, outside, .. } = self;
        let untold = saving.waiting.iter().filter(|(_, uid)| !saving.reported.contains(uid));
        let untold: Vec<PodUid> = untold.map(|(_, uid)| uid.clone()).take(UNSAVED_EVENTS_MAX).collect();
        for uid in untold {
            if let Some(record) = records.get(&uid) {
                let message = format!("The pod waits, for the agent's state can't be saved: {error}");
                let full_name = PodFullName::of(&record.pod);
                PodEvents::new(&*outside.events, &full_name, &uid).warning("FailedSaveState", &message);
            }
            saving.reported.insert(uid);
        }
    }

    fn pause_saving(&mut self, pause: Duration) {
        self.saving.pauses += 1;
        let number = self.saving.pauses;
        self.saving.state = SavingState::Pausing(number);
        let pausing = async move {
            tokio::time::sleep(pause).await;
            Event::SaveDue(number)
        };
        self.spawn(pausing, Event::SaveDue(number));
    }

    /// A pause is over: what changed since the last write is written now.
    pub(super) fn save_due(&mut self, pause: u64) {
        if self.saving.state != SavingState::Pausing(pause) {
            return;
        }
        self.saving.state = SavingState::Idle;
        if self.saving.version > self.saving.written {
            self.write();
        }
    }
}

impl Saving {
    /// Writes what the last events changed. A write that was under way is done again: nobody heard how it ended.
    pub(super) async fn finish(&self, ledger: &mut Ledger, state: &dyn StateStore, limit: Duration) {
        if self.version == self.written {
            return;
        }
        ledger.not_written();
        let error = match tokio::time::timeout(limit, ledger::write(state, ledger.take_pages())).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => one_line(&error),
            Err(_) => format!("the disk didn't take them within {limit:?}"),
        };
        tracing::warn!("the last changes of admitted pods aren't saved: {error}");
    }
}
