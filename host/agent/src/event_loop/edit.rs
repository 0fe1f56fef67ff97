//! Edits of running pods that admission is asked about, as `witlet_core::pod::edit` decides.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::admission::Decision;
use witlet_core::pod::edit::{self, EditFacts, Effect};
use witlet_core::pod::lifecycle::Event as LifeEvent;
use witlet_core::pod::worker::is_ending;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::EditKind;

use super::EventLoop;
use super::record::PodRecord;
use crate::admission_queue::AdmissionQuestion;
use crate::executor::events::PodEvents;

impl EventLoop {
    /// Takes in what an admitted pod is now: what was accepted of it is to be known after a restart, and edits that have to be asked
    /// about are.
    pub(super) fn take_edit(&mut self, uid: &PodUid) {
        self.consider_edits(uid, false);
        let Some(record) = self.pods.get_mut(uid) else { return };
        let Some(accepted) = record.accepted() else { return };
        record.checkpoint.content_mut().revise(&accepted);
        self.revise_allocation(uid, &accepted);
    }

    /// Whether this pod is the admitted one but for an edit that handlers are asked about, which was made while no agent saw it.
    pub(super) fn is_edited_unseen(&self, uid: &PodUid, pod: &Arc<Pod>, was_here: bool) -> bool {
        let Some(record) = self.pods.get(uid) else { return false };
        let is_answered = |kind: &EditKind| self.outside.admission.answers(edit::operation(*kind));
        record.checkpoint.is_edited(pod, was_here)
            && record.checkpoint.accepted().is_some_and(|accepted| {
                EditKind::ALL.iter().any(|kind| accepted.is_edited(*kind, pod) && is_answered(kind))
            })
    }

    /// The handlers changed: what they refused may be admitted now.
    pub(super) fn reconsider_edits(&mut self) {
        let is_held =
            |record: &PodRecord| record.sourced.as_ref().is_some_and(|it| it.edits.held().next().is_some());
        let held = self.pods.iter().filter(|(_, record)| is_held(record));
        let held: Vec<PodUid> = held.map(|(uid, _)| uid.clone()).collect();
        for uid in held {
            self.consider_edits(&uid, true);
        }
    }

    fn consider_edits(&mut self, uid: &PodUid, handlers_changed: bool) {
        let Some(record) = self.pods.get_mut(uid) else { return };
        let is_over = record.life.is_ending() || record.checkpoint.ended().is_some();
        let (Some(accepted), Some(sourced)) = (record.checkpoint.accepted(), &mut record.sourced) else {
            return;
        };
        let effects = sourced.edits.consider(EditFacts {
            pod: &sourced.pod,
            accepted,
            is_answered: &|operation| self.outside.admission.answers(operation),
            is_ending: is_over || is_ending(&sourced.pod),
            handlers_changed,
        });
        self.apply_edits(uid, effects);
    }

    /// The handlers' decision about an edit stands. A pod that is to end meanwhile isn't changed any more.
    pub(super) fn edit_decided(&mut self, uid: &PodUid, kind: EditKind, decision: &Decision) {
        let Some(record) = self.pods.get_mut(uid) else { return };
        if record.life.is_ending() {
            return self.admission.queue.withdraw(&AdmissionQuestion::new(uid, edit::operation(kind)));
        }
        let Some(sourced) = &mut record.sourced else { return };
        let effects = sourced.edits.decided(kind, &sourced.pod, decision);
        self.apply_edits(uid, effects);
    }

    fn apply_edits(&mut self, uid: &PodUid, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Ask(kind) => self.admission.queue.add_edit(uid, edit::operation(kind)),
                Effect::StopAsking(kind) => {
                    self.admission.queue.withdraw(&AdmissionQuestion::new(uid, edit::operation(kind)))
                }
                Effect::Accept => self.accept_edit(uid),
                Effect::Warn { reason, message } => {
                    if let Some(sourced) = self.sourced(uid) {
                        let full_name = PodFullName::of(&sourced.pod);
                        PodEvents::new(&*self.outside.events, &full_name, uid).warning(&reason, &message);
                    }
                }
                Effect::Sync => self.advance(uid, LifeEvent::SyncRequested),
            }
        }
    }

    /// The pod is made as its edit says once that it was accepted is on disk.
    fn accept_edit(&mut self, uid: &PodUid) {
        self.admission.note_admitted();
        let Some(record) = self.pods.get_mut(uid) else { return };
        let Some(accepted) = record.accepted() else { return };
        record.checkpoint.content_mut().revise(&accepted);
        if let Some(sourced) = &mut record.sourced {
            sourced.must_save = true;
        }
        self.revise_allocation(uid, &accepted);
        self.advance(uid, LifeEvent::Granted);
    }
}
