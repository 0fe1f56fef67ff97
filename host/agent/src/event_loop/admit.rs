//! Admission as the loop sees it: who is asked for, and what a verdict brings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use tokio::time::Instant;
use witlet_core::admission::{
    AdmissionRequest, AdmittedPod, Decision, Operation, capacity, preemption, recheck,
};
use witlet_core::pod::lifecycle::{Event as LifeEvent, Stage};
use witlet_core::pod::{PodFullName, PodUid, deadline, resize};
use witlet_core::status::{self, AdmissionPending, EditKind};

use super::EventLoop;
use super::record::{PodRecord, Sourced};
use crate::admission_call;
use crate::admission_queue::{AdmissionQuestion, AskId, Judged, Next};
use crate::checkpoints::give_ids;
use crate::executor::events::PodEvents;
use crate::executor::image_handlers::ImageAdmission;
use crate::inputs::Event;

/// So many words of handlers are counted each on their own (reasons of refusals, resources), because plugins can make up any.
const COUNTED_WORDS_MAX: usize = 64;
/// What all others count as, as upstream has it.
const OTHER: &str = "Other";
/// A pod whose judging panicked is asked for again after this.
const RETRY_AFTER_PANIC: Duration = Duration::from_secs(10);

impl EventLoop {
    /// Puts the pod into the queue, with its newest spec.
    pub(super) fn ask_for(&mut self, uid: &PodUid) {
        if let Some(sourced) = self.sourced(uid) {
            let created = sourced.pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
            match self.is_in_runtime(uid) {
                true => self.admission.queue.add_running(uid, created),
                false => self.admission.queue.add(uid, created),
            }
        }
    }

    /// Puts pods to the handlers as far as the queue says so.
    pub(super) fn judge(&mut self) {
        self.admission.due = None;
        if !self.node.health.is_ready() || self.stopping.is_some() {
            return;
        }
        let sources_wait_ends = self.begun + self.settings.sources_wait_max;
        if !self.sources.own_are_seen() && Instant::now() < sources_wait_ends {
            self.admission.due = Some(sources_wait_ends);
            return;
        }
        loop {
            match self.admission.queue.next(
                Instant::now(),
                self.admission.admitted,
                self.settings.admission_timeout,
            ) {
                Next::Ask(id, question) => self.ask(id, &question),
                Next::Publish(uid, rejection) => self.publish_rejection(&uid, &rejection),
                Next::Wait(at) => {
                    self.admission.due = Some(at);
                    return;
                }
                Next::Idle => return,
            }
        }
    }

    fn ask(&mut self, id: AskId, AdmissionQuestion { uid, operation }: &AdmissionQuestion) {
        let operation = *operation;
        let mut other_pods = self.other_pods();
        let Some(record) = self.pods.get(uid) else { return };
        let (Some(sourced), Some(stage)) = (&record.sourced, record.life.stage()) else { return };
        // What a pod has already, or waits for, it doesn't have to share with itself.
        if operation != Operation::Add || record.life.waits_for_capacity() || stage == Stage::GoesOn {
            other_pods = other_pods.iter().filter(|other| PodUid::of(&other.pod) != *uid).cloned().collect();
        }
        let pod = match operation {
            // A pod that a kubelet ran is judged with what that one had allocated; its wish for more is judged afterwards.
            Operation::Add => Some(self.allocated(&sourced.pod)),
            Operation::Resize => record.accepted(),
            // Its other wishes are judged on their own.
            Operation::Update => record.accepted_with(Some(EditKind::Images)).map(|pod| self.allocated(&pod)),
            Operation::Ephemeral => {
                record.accepted_with(Some(EditKind::EphemeralContainers)).map(|pod| self.allocated(&pod))
            }
            // The work on a pod asks about its images.
            Operation::ImageResolved => None,
            Operation::Readmit | Operation::Recheck => Some(sourced.allocated.clone()),
        };
        let Some(pod) = pod else { return };
        let request = AdmissionRequest {
            operation,
            now: self.outside.clock.now(),
            pod,
            old_pod: (operation != Operation::Add).then(|| sourced.allocated.clone()),
            image: None,
            source: sourced.source.clone(),
            node: self.outside.handlers_node.now(&self.node.object),
            other_pods,
        };
        let only_for = match operation {
            Operation::Readmit => Some(self.admission.readmissions.take_waiting(uid)),
            Operation::Recheck => Some(self.admission.rechecks.take_waiting(uid)),
            Operation::Add
            | Operation::Resize
            | Operation::Update
            | Operation::Ephemeral
            | Operation::ImageResolved => None,
        };
        let admission = self.outside.admission.clone();
        let panicked = Decision::Defer {
            reason: "AdmissionFailed".to_owned(),
            message: "admission failed, see the agent's log".to_owned(),
            retry_after: RETRY_AFTER_PANIC,
        };
        let (tracer, statuses) = (self.outside.tracer.clone(), self.outside.statuses.clone());
        let uid = uid.clone();
        let judging = async move {
            let asked = admission_call::ask(&*admission, &tracer, &statuses, &uid, request, only_for);
            Event::Verdict(id, asked.await)
        };
        self.spawn(judging, Event::Verdict(id, panicked));
    }

    /// The admitted pods whose containers may run, and those that others were ended for. As upstream has it, a pod that its
    /// source removed counts no more, though it may still be ending.
    fn other_pods(&mut self) -> Arc<[AdmittedPod]> {
        if let Some(others) = &self.admission.others {
            return others.clone();
        }
        let counting =
            self.pods.values().filter(|record| record.life.waits_for_capacity() || record.life.counts());
        let counting = counting.filter_map(|record| record.sourced.as_ref());
        let others: Arc<[AdmittedPod]> = counting.map(Sourced::as_admitted).collect();
        self.admission.others = Some(others.clone());
        others
    }

    /// What a pod's work asks handlers about images with; none where no handler answers that.
    pub(super) fn image_admission(&mut self, uid: &PodUid) -> Option<ImageAdmission> {
        if !self.outside.admission.answers(Operation::ImageResolved) {
            return None;
        }
        let source = self.sourced(uid)?.source.clone();
        Some(ImageAdmission { source, pods: self.other_pods(), node: self.node.object.clone() })
    }

    /// The handlers changed: pods check again whose images they refused, or may be judging.
    pub(super) fn reconsider_images(&mut self) {
        let may_wait = |record: &PodRecord| {
            record.worker_handle.as_ref().is_some_and(|handle| match &handle.memory {
                Some(memory) => !memory.image_holds.is_empty(),
                None => handle.asks_about_images,
            })
        };
        let waiting = self.pods.iter().filter(|(_, record)| may_wait(record));
        let waiting: Vec<PodUid> = waiting.map(|(uid, _)| uid.clone()).collect();
        self.sync_pods(&waiting);
    }

    pub(super) fn judged(&mut self, id: AskId, decision: Decision) {
        let Some(AdmissionQuestion { uid, operation }) = self.admission.queue.asked(id).cloned() else {
            return;
        };
        let decision = match operation {
            Operation::Resize => match self.sourced(&uid) {
                Some(sourced) => resize::queued(&sourced.pod, decision),
                None => decision,
            },
            Operation::Add => {
                let decision = capacity::settle(&uid, decision, self.capacity_facts());
                if self.delay_rejection(id, &uid, &decision) {
                    return;
                }
                decision
            }
            Operation::Readmit | Operation::Recheck if recheck::rejection(&decision).is_none() => {
                Decision::Admit
            }
            Operation::Update
            | Operation::Ephemeral
            | Operation::ImageResolved
            | Operation::Readmit
            | Operation::Recheck => decision,
        };
        let judged = self.admission.queue.answer(id, decision, Instant::now(), self.admission.admitted);
        let Judged::Stands(AdmissionQuestion { uid, operation }, decision) = judged else {
            if operation == Operation::Readmit {
                self.readmit_again(&uid);
            }
            return;
        };
        match operation {
            Operation::Add => self.pod_decided(&uid, decision),
            Operation::Resize => self.resize_decided(&uid, decision),
            Operation::Update => self.edit_decided(&uid, EditKind::Images, &decision),
            Operation::Ephemeral => self.edit_decided(&uid, EditKind::EphemeralContainers, &decision),
            Operation::ImageResolved => {}
            Operation::Readmit | Operation::Recheck => self.running_decided(&uid, operation, &decision),
        }
    }

    /// The handlers' decision about a new pod stands.
    fn pod_decided(&mut self, uid: &PodUid, decision: Decision) {
        let Some(pod) = self.sourced(uid).map(|sourced| sourced.pod.clone()) else { return };
        match decision {
            Decision::Admit => self.admit(uid, &pod),
            Decision::Reject { reason, message, .. } => self.reject(uid, &pod, &reason, &message),
            Decision::Preempt { victims, resource, message } => {
                self.preempt(uid, &victims, &resource, &message);
            }
            Decision::Defer { reason, message, .. } => {
                if reason != preemption::REASON {
                    self.advance(uid, LifeEvent::CapacitySettled);
                }
                self.show_blocked(uid, &reason, &message);
            }
        }
    }

    /// The pod starts; that it was admitted is on disk before anything of it is made.
    fn admit(&mut self, uid: &PodUid, pod: &Pod) {
        self.admission.note_admitted();
        let Some(record) = self.pods.get_mut(uid) else { return };
        record.checkpoint.content_mut().admit(pod);
        if let Some(sourced) = &mut record.sourced {
            (sourced.admission_pending, sourced.must_save) = (None, true);
        }
        give_ids(&mut self.user_namespaces, pod);
        self.revise_allocation(uid, pod);
        self.admission.queue.world_changed();
        self.advance(uid, LifeEvent::Admitted);
    }

    /// Ends what has waited for its admission for longer than it may be active (`activeDeadlineSeconds`). What runs has a
    /// worker that does.
    pub(super) fn end_overdue(&mut self) {
        let now = self.outside.clock.now();
        let is_overdue = |uid: &PodUid, record: &PodRecord, sourced: &Sourced| {
            let started_at = self.outside.statuses.status(uid).and_then(|status| status.start_time.clone());
            record.life.stage() == Some(Stage::Waiting)
                && deadline::is_over(&sourced.pod, started_at.map(|time| time.0), now)
        };
        let waiting = self.pods.iter().filter_map(|(uid, record)| {
            let sourced = record.sourced.as_ref()?;
            is_overdue(uid, record, sourced).then(|| (uid.clone(), sourced.pod.clone()))
        });
        let overdue: Vec<(PodUid, Arc<Pod>)> = waiting.collect();
        for (uid, pod) in overdue {
            let full_name = PodFullName::of(&pod);
            let events = PodEvents::new(&*self.outside.events, &full_name, &uid);
            events.normal(deadline::REASON, deadline::MESSAGE);
            let last = self.outside.statuses.status(&uid);
            self.outside.statuses.put_status(&uid, status::overdue(&pod, last.as_deref(), now));
            self.advance(&uid, LifeEvent::Rejected);
        }
    }

    pub(super) fn set_pending(&mut self, uid: &PodUid, pending: Option<AdmissionPending>) {
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.admission_pending = pending;
        }
    }

    /// Shows that the pod waits.
    pub(super) fn show_blocked(&mut self, uid: &PodUid, reason: &str, message: &str) {
        let is_alive = self.is_in_runtime(uid);
        let Some(record) = self.pods.get(uid) else { return };
        let Some(sourced) = &record.sourced else { return };
        let pod = sourced.pod.clone();
        let full_name = PodFullName::of(&pod);
        let events = PodEvents::new(&*self.outside.events, &full_name, uid);
        if record.life.stage() == Some(Stage::GoesOn) || is_alive {
            events.warning(
                "AdmissionPending",
                &format!("The pod keeps running unchanged: {reason}: {message}"),
            );
            let pending = AdmissionPending { reason: reason.to_owned(), message: message.to_owned() };
            self.set_pending(uid, Some(pending));
        } else {
            events.warning("Blocked", &format!("{reason}: {message}"));
            let (previous, now) = (self.outside.statuses.status(uid), self.outside.clock.now());
            let blocked = status::blocked(&pod, previous.as_deref(), reason, message, now);
            self.outside.statuses.put_status(uid, blocked);
        }
        self.advance(uid, LifeEvent::Deferred { is_alive });
    }
}

/// The count of a handler's word, of which a bounded number is kept.
pub(super) fn count_of<'a>(counts: &'a mut BTreeMap<String, u64>, word: &str) -> &'a mut u64 {
    let is_kept = counts.contains_key(word) || counts.len() < COUNTED_WORDS_MAX;
    counts.entry(if is_kept { word } else { OTHER }.to_owned()).or_default()
}
