//! Pods end so that a critical one fits. Which ones is `witlet_core::admission::preemption`'s decision.
//!
//! The critical pod waits until they are gone, and counts against the node as if it were there, so that nobody else takes
//! the room. What others lack meanwhile they may have later: no pod is refused while room is being made, and only one pod at a
//! time has others ended.

use std::time::Duration;

use k8s_openapi::api::core::v1::PodStatus;
use witlet_core::admission::Decision;
use witlet_core::admission::preemption::{CONDITION_MESSAGE, MESSAGE, REASON};
use witlet_core::pod::worker::{KillOptions, Update, UpdateKind, WorkerEvent};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::{self, NodeEnd};

use super::{EventLoop, Stage};
use crate::executor::events::PodEvents;

/// A pod that waits for room to be made is asked for again after this, if nothing changes sooner.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(10);

impl EventLoop {
    /// What a decision about a new pod comes to beside those that end, or wait, to make room.
    pub(super) fn beside_preemption(&self, uid: &PodUid, decision: Decision) -> Decision {
        let message = match &decision {
            Decision::Admit | Decision::Defer { .. } => return decision,
            Decision::Reject { message, .. } if self.is_making_room(uid) => message.clone(),
            Decision::Reject { .. } => return decision,
            Decision::Preempt { victims, message } => {
                let all_gone = !victims.iter().any(|victim| self.counts(victim));
                if !all_gone && !self.is_making_room(uid) {
                    return decision;
                }
                message.clone()
            }
        };
        Decision::Defer { reason: REASON.to_owned(), message, retry_after: ASK_AGAIN_AFTER }
    }

    /// Ends the victims. The pod waits, and nobody takes the room that it waits for.
    pub(super) fn preempt(&mut self, uid: &PodUid, victims: &[PodUid], message: &str) {
        for victim in victims {
            self.end_for_room(victim);
        }
        if let Some(record) = self.records.get_mut(uid) {
            record.waits_for_room = true;
        }
        // Who was asked for before this doesn't know of it.
        self.admissions += 1;
        self.others = None;
        self.save();
        self.show_blocked(uid, REASON, message);
    }

    /// The pod doesn't wait for room any longer: it has it, or isn't to have it.
    pub(super) fn settle_room(&mut self, uid: &PodUid) {
        let waited =
            self.records.get_mut(uid).is_some_and(|record| std::mem::take(&mut record.waits_for_room));
        if waited {
            self.others = None;
            self.queue.world_changed();
        }
    }

    /// Whether pods end, or one other than this waits, to make room. That pods end for it is known from what is saved, so
    /// that a restarted agent goes on with it.
    fn is_making_room(&self, uid: &PodUid) -> bool {
        self.records.iter().any(|(other, record)| {
            (record.waits_for_room && other != uid)
                || (self.counts(other) && self.ledger.ended(other).is_some_and(is_preempted))
        })
    }

    /// Whether the pod was admitted, and may have containers that run.
    pub(super) fn counts(&self, uid: &PodUid) -> bool {
        let stage = self.records.get(uid).map(|record| record.stage);
        match stage {
            None | Some(Stage::Waiting | Stage::Rejected | Stage::Returning) => false,
            Some(Stage::Saving | Stage::Admitted) => {
                self.workers.get(uid).is_none_or(|managed| !managed.worker.is_terminated())
            }
        }
    }

    /// Ends a pod within its own grace, with a status that says why. One that ends anyway is left alone.
    fn end_for_room(&mut self, uid: &PodUid) {
        let ends = self.workers.get(uid).is_some_and(|managed| managed.worker.is_terminating());
        let Some(record) = self.records.get(uid).filter(|_| self.counts(uid) && !ends) else { return };
        let (pod, full_name) = (record.pod.clone(), PodFullName::of(&record.pod));
        PodEvents::new(&*self.outside.events, &full_name, uid).warning(REASON, MESSAGE);
        let last = self.outside.board.status(uid);
        let end = NodeEnd {
            reason: REASON.to_owned(),
            message: MESSAGE.to_owned(),
            condition_message: CONDITION_MESSAGE.to_owned(),
        };
        let now = self.outside.clock.now();
        let status = status::ended_by_node(&pod, last.as_deref().unwrap_or(&PodStatus::default()), &end, now);
        self.ledger.end(uid, &status);
        self.outside.board.put_status(uid, status);
        self.stats.preempted += 1;
        let update = Update {
            kind: UpdateKind::Kill,
            pod: Some(record.allocated.clone()),
            started_at: now,
            kill: Some(KillOptions { evict: true, grace_seconds: None }),
        };
        // A pod without a worker waits for its admission to be saved; it finds itself ended then.
        if let Some(managed) = self.workers.get_mut(uid) {
            let effects = managed.worker.transition(WorkerEvent::Update(update));
            self.carry_out(uid, effects);
        }
    }
}

fn is_preempted(status: &PodStatus) -> bool {
    status.reason.as_deref() == Some(REASON) && status::is_ended_by_node(status)
}
