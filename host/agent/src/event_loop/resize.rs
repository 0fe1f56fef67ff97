//! A running pod's wish for other resources: it is put to the admission handlers, and allocated if they grant it.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::admission::Decision;
use witlet_core::pod::allocation::{
    Allocation, Grant, NodePolicy, PendingResize, Wish, after_admission, judge, precedence, resize_message,
};
use witlet_core::pod::lifecycle::{Event as LifeEvent, Stage};
use witlet_core::pod::resources::{CPU, MEMORY, amount};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::{ResizePending, ResizePendingReason};

use super::EventLoop;
use crate::executor::events::PodEvents;

/// A wish that wasn't granted is put to the handlers again after this, if nothing changes sooner (upstream:
/// `allocation.Manager` retries every 3 minutes).
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(180);

impl EventLoop {
    /// The pod as its worker gets it and as it counts against the node: with the resources that it was allocated.
    pub(super) fn allocated(&self, pod: &Arc<Pod>) -> Arc<Pod> {
        match self.outside.executor.allocated.get(&PodUid::of(pod)) {
            Some(allocation) if allocation.differs_from(pod) => Arc::new(allocation.apply(pod)),
            Some(_) | None => pod.clone(),
        }
    }

    /// Looks whether an admitted pod wishes for other resources than it has, and has them judged.
    pub(super) fn consider_resize(&mut self, uid: &PodUid) {
        let Some(record) = self.pods.get(uid) else { return };
        let Some(sourced) = &record.sourced else { return };
        let Some(allocation) = self.outside.executor.allocated.get(uid) else { return };
        let pod = sourced.pod.clone();
        match judge(&pod, &allocation, self.node_policy()) {
            _ if record.life.is_ending() => self.clear_resize(uid),
            Wish::None => self.clear_resize(uid),
            Wish::Infeasible(infeasible) => {
                let (reason, message) = (ResizePendingReason::Infeasible, infeasible.to_string());
                self.show_resize(uid, pending(&pod, reason, message), reason.as_str());
            }
            Wish::Ask => {
                let since = sourced.resize_since.unwrap_or_else(|| self.outside.clock.now());
                let wish = PendingResize { pod: &pod, allocation: &allocation, since };
                self.queue.add_resize(uid, precedence(&wish));
                if let Some(sourced) = self.sourced_mut(uid) {
                    sourced.resize_since = Some(since);
                }
            }
        }
    }

    /// The node changed: what could never be may be now.
    pub(super) fn reconsider_resizes(&mut self) {
        let infeasible = self.pods.iter().filter(|(_, record)| {
            let pending = record.sourced.as_ref().and_then(|sourced| sourced.resize_pending.as_ref());
            pending.is_some_and(|pending| pending.reason == ResizePendingReason::Infeasible)
        });
        let infeasible: Vec<PodUid> = infeasible.map(|(uid, _)| uid.clone()).collect();
        for uid in infeasible {
            self.consider_resize(&uid);
        }
    }

    /// What a decision means to the queue: a wish that isn't infeasible is asked for again, whatever the handlers'
    /// words were.
    pub(super) fn as_resize(&self, uid: &PodUid, decision: Decision) -> Decision {
        let Some(sourced) = self.sourced(uid) else { return decision };
        match after_admission(&sourced.pod, decision.clone()) {
            Grant::Granted(_) | Grant::Infeasible(_) => decision,
            Grant::Deferred { why, message, retry_after } => {
                Decision::Defer { reason: why, message, retry_after: retry_after.unwrap_or(ASK_AGAIN_AFTER) }
            }
        }
    }

    /// The handlers' decision about a wish stands.
    pub(super) fn take_resize(&mut self, uid: &PodUid, decision: Decision) {
        let Some(pod) = self.sourced(uid).map(|sourced| sourced.pod.clone()) else { return };
        match after_admission(&pod, decision) {
            Grant::Granted(allocation) => self.grant(uid, allocation),
            Grant::Deferred { why, message, retry_after: _ } => {
                self.show_resize(uid, pending(&pod, ResizePendingReason::Deferred, message), &why);
            }
            Grant::Infeasible(infeasible) => {
                let (reason, message) = (ResizePendingReason::Infeasible, infeasible.to_string());
                self.show_resize(uid, pending(&pod, reason, message), reason.as_str());
            }
        }
    }

    /// The pod has other resources from now on; they are on disk before they are put into force.
    fn grant(&mut self, uid: &PodUid, allocation: Allocation) {
        self.admissions += 1;
        let unsaved = self.outside.executor.allocated.update(|pods| pods.set(uid, allocation));
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.resize_pending = None;
            sourced.resize_since = None;
            sourced.must_save = true;
            sourced.allocation_unsaved = unsaved.or(sourced.allocation_unsaved);
        }
        self.refresh_allocated(uid);
        self.advance(uid, LifeEvent::Resized);
        self.queue.world_changed();
    }

    /// What an admitted pod was allocated stays, but for containers that it has only now.
    pub(super) fn revise_allocation(&mut self, uid: &PodUid, pod: &Pod) {
        let unsaved = self.outside.executor.allocated.update(|pods| pods.revise(pod));
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.allocation_unsaved = unsaved.or(sourced.allocation_unsaved);
        }
        self.refresh_allocated(uid);
    }

    /// The pod or its allocation changed.
    pub(super) fn refresh_allocated(&mut self, uid: &PodUid) {
        let Some(pod) = self.sourced(uid).map(|sourced| sourced.pod.clone()) else { return };
        let allocated = self.allocated(&pod);
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.allocated = allocated;
        }
        self.others = None;
    }

    /// No wish waits any more.
    fn clear_resize(&mut self, uid: &PodUid) {
        self.settle_resize(uid);
        let Some(sourced) = self.sourced_mut(uid) else { return };
        if sourced.resize_pending.take().is_some() {
            self.advance(uid, LifeEvent::Look);
        }
    }

    /// A wish waits, or can't be: the pod's condition says so, and an event that names why. As upstream has it, another message
    /// alone is no event.
    fn show_resize(&mut self, uid: &PodUid, pending: ResizePending, why: &str) {
        if pending.reason == ResizePendingReason::Infeasible {
            self.settle_resize(uid);
        }
        let Some(sourced) = self.sourced_mut(uid) else { return };
        let is_news = sourced
            .resize_pending
            .as_ref()
            .is_none_or(|old| (old.reason, old.generation) != (pending.reason, pending.generation));
        if sourced.resize_pending.as_ref() == Some(&pending) {
            return;
        }
        if is_news {
            let pod = sourced.pod.clone();
            let full_name = PodFullName::of(&pod);
            let events = PodEvents::new(&*self.outside.events, &full_name, uid);
            let message = resize_message(&format!("Pod resize {why}"), &pod, &pending.message);
            events.warning(&format!("Resize{}", pending.reason.as_str()), &message);
        }
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.resize_pending = Some(pending);
        }
        self.advance(uid, LifeEvent::Look);
    }

    /// The wish isn't put to the handlers any more.
    fn settle_resize(&mut self, uid: &PodUid) {
        let Some(record) = self.pods.get_mut(uid) else { return };
        if let Some(sourced) = &mut record.sourced {
            sourced.resize_since = None;
        }
        if !matches!(record.life.stage(), Some(Stage::Waiting | Stage::GoesOn)) {
            self.queue.remove(uid);
        }
    }

    fn node_policy(&self) -> NodePolicy {
        let node = self.outside.node.borrow();
        let allocatable = node.node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        let of = |name: &str| allocatable?.get(name).and_then(|quantity| amount(name, quantity).ok());
        NodePolicy { cpu_milli: of(CPU), memory_bytes: of(MEMORY), ..NodePolicy::default() }
    }
}

fn pending(pod: &Pod, reason: ResizePendingReason, message: String) -> ResizePending {
    ResizePending { reason, message, generation: pod.metadata.generation }
}
