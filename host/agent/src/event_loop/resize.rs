//! Resizes of running pods, as `witlet_core::pod::resize` decides.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::admission::{Decision, Operation};
use witlet_core::container::spec::SwapBehavior;
use witlet_core::pod::allocation::{Allocation, NodePolicy};
use witlet_core::pod::lifecycle::Event as LifeEvent;
use witlet_core::pod::resize::{Effect, ResizeFacts};
use witlet_core::pod::{PodFullName, PodUid};

use super::EventLoop;
use super::record::{PodRecord, Sourced};
use crate::admission_queue::AdmissionQuestion;
use crate::executor::events::PodEvents;

impl EventLoop {
    /// The pod as its worker gets it and as it counts against the node: with the resources that it was allocated.
    pub(super) fn allocated(&self, pod: &Arc<Pod>) -> Arc<Pod> {
        match self.outside.allocated.get(&PodUid::of(pod)) {
            Some(allocation) if allocation.differs_from(pod) => Arc::new(allocation.apply(pod)),
            Some(_) | None => pod.clone(),
        }
    }

    /// Considers whether an admitted pod wishes for other resources than it has.
    pub(super) fn consider_resize(&mut self, uid: &PodUid) {
        let Some(allocation) = self.outside.allocated.get(uid) else { return };
        let node = self.node_policy();
        let Some(record) = self.pods.get_mut(uid) else { return };
        let (is_ending, now) = (record.life.is_ending(), self.outside.clock.now());
        let Some(Sourced { pod, resize, .. }) = &mut record.sourced else { return };
        let effects = resize.consider(ResizeFacts { pod, allocation: &allocation, node, is_ending, now });
        self.apply_resize(uid, effects);
    }

    /// The node changed: what could never be may be now.
    pub(super) fn reconsider_resizes(&mut self) {
        let is_infeasible = |sourced: &Sourced| sourced.resize.is_infeasible();
        let infeasible =
            self.pods.iter().filter(|(_, record)| record.sourced.as_ref().is_some_and(is_infeasible));
        let infeasible: Vec<PodUid> = infeasible.map(|(uid, _)| uid.clone()).collect();
        for uid in infeasible {
            self.consider_resize(&uid);
        }
    }

    /// The handlers' decision about a wish stands.
    pub(super) fn resize_decided(&mut self, uid: &PodUid, decision: Decision) {
        let Some(Sourced { pod, resize, .. }) = self.sourced_mut(uid) else { return };
        let was_deferred = resize.is_deferred();
        let effects = resize.decided(pod, decision);
        if was_deferred && effects.iter().any(|effect| matches!(effect, Effect::Allocate(_))) {
            self.outside.resizes.is_accepted();
        }
        self.apply_resize(uid, effects);
    }

    fn apply_resize(&mut self, uid: &PodUid, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Ask(precedence) => self.admission.queue.add_resize(uid, precedence),
                Effect::StopAsking => {
                    self.admission.queue.withdraw(&AdmissionQuestion::new(uid, Operation::Resize))
                }
                Effect::Allocate(allocation) => self.allocate(uid, allocation),
                Effect::Warn { reason, message } => {
                    if let Some(sourced) = self.sourced(uid) {
                        if let Some(detail) = sourced.resize.infeasible_detail() {
                            self.outside.resizes.is_infeasible(detail);
                        }
                        let full_name = PodFullName::of(&sourced.pod);
                        PodEvents::new(&*self.outside.events, &full_name, uid).warning(&reason, &message);
                    }
                }
                Effect::Sync => self.advance(uid, LifeEvent::SyncRequested),
            }
        }
    }

    fn allocate(&mut self, uid: &PodUid, allocation: Allocation) {
        self.admission.note_admitted();
        let unsaved = self.outside.allocated.update(|pods| pods.set(uid, allocation));
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.must_save = true;
            sourced.allocation_unsaved = unsaved.or(sourced.allocation_unsaved);
        }
        self.refresh_allocated(uid);
        self.advance(uid, LifeEvent::Granted);
        self.admission.queue.world_changed();
    }

    /// What an admitted pod was allocated stays, but for containers that it has only now.
    pub(super) fn revise_allocation(&mut self, uid: &PodUid, pod: &Pod) {
        let unsaved = self.outside.allocated.update(|pods| pods.revise(pod));
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.allocation_unsaved = unsaved.or(sourced.allocation_unsaved);
        }
        self.refresh_allocated(uid);
    }

    /// The pod or its allocation changed.
    pub(super) fn refresh_allocated(&mut self, uid: &PodUid) {
        let Some(pod) = self.pods.get(uid).and_then(PodRecord::accepted) else { return };
        let allocated = self.allocated(&pod);
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.allocated = allocated;
        }
        self.admission.others_changed();
    }

    fn node_policy(&self) -> NodePolicy {
        NodePolicy {
            limited_swap: self.settings.cgroups.swap == SwapBehavior::Limited,
            ..NodePolicy::of(&self.outside.node.borrow().node)
        }
    }
}
