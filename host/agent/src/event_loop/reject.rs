//! Rejected pods: when that is published, as `witlet_core::admission::rejections` decides, and what it brings.

use k8s_openapi::api::core::v1::Pod;
use tokio::time::Instant;
use witlet_core::admission::{Decision, rejections};
use witlet_core::pod::lifecycle::{Event as LifeEvent, Stage};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::{self, NodeEnd};

use super::EventLoop;
use super::admit::count_of;
use super::record::Publication;
use crate::admission_queue::{AskId, HeldRejection};
use crate::executor::events::PodEvents;

impl EventLoop {
    /// Has a rejection wait that isn't the first for the pod's controller. Says whether it waits. What runs ends at once: it is not
    /// to run until then.
    pub(super) fn delay_rejection(&mut self, id: AskId, uid: &PodUid, decision: &Decision) -> bool {
        let Decision::Reject { reason, message, handler } = decision else { return false };
        let (Some(handler), Some(sourced)) = (handler, self.sourced(uid)) else { return false };
        let pod = sourced.pod.clone();
        let Some(owner) = rejections::counts_for(&pod, Some(handler)) else { return false };
        let (now, is_new) = (Instant::now(), sourced.publication.is_none());
        let Publication { nth, at } = self.publication(uid, &owner.uid, now);
        let is_waiting = self.pods.get(uid).is_some_and(|record| record.life.stage() == Some(Stage::Waiting));
        if at <= now || !is_waiting || self.is_in_runtime(uid) {
            return false;
        }
        let rejection = HeldRejection { reason: reason.clone(), message: message.clone() };
        if !self.admission.queue.hold(id, rejection, now, at) {
            return false;
        }
        let delay = at - now;
        self.stats.rejections_delayed += u64::from(is_new);
        tracing::info!(
            pod = %PodFullName::of(&pod),
            pod_uid = %uid,
            owner_kind = owner.kind,
            owner = owner.name,
            plugin = handler,
            reason,
            rejections = nth,
            ?delay,
            "Delayed the rejection of a pod"
        );
        let wall = self.outside.clock.now();
        let published_at = wall.checked_add(delay).unwrap_or(wall);
        let message = rejections::message(handler, (reason, message), (owner, nth), published_at);
        self.advance(uid, LifeEvent::CapacitySettled);
        self.show_blocked(uid, rejections::REASON, &message);
        true
    }

    /// When the pod fails, counted for its controller when it is rejected for the first time.
    fn publication(&mut self, uid: &PodUid, owner_uid: &str, now: Instant) -> Publication {
        if let Some(known) = self.sourced(uid).and_then(|sourced| sourced.publication) {
            return known;
        }
        let noted = self.admission.rejections.note(owner_uid, now.saturating_duration_since(self.begun));
        let publication = Publication { nth: noted.nth, at: now + noted.delay };
        if let Some(sourced) = self.sourced_mut(uid) {
            sourced.publication = Some(publication);
        }
        publication
    }

    /// The time of a rejection that waited has come.
    pub(super) fn publish_rejection(&mut self, uid: &PodUid, rejection: &HeldRejection) {
        if let Some(pod) = self.sourced(uid).map(|sourced| sourced.pod.clone()) {
            self.reject(uid, &pod, &rejection.reason, &rejection.message);
        }
    }

    /// The pod fails now, for good.
    pub(super) fn reject(&mut self, uid: &PodUid, pod: &Pod, reason: &str, message: &str) {
        let full_name = PodFullName::of(pod);
        PodEvents::new(&*self.outside.events, &full_name, uid).warning(reason, message);
        *count_of(&mut self.stats.rejections, reason) += 1;
        self.set_pending(uid, None);
        let (last, now) = (self.outside.statuses.status(uid), self.outside.clock.now());
        if self.has_worker(uid) {
            // It went on until now, and ends with a status that its end doesn't take back.
            let text = format!("Pod was rejected: {message}");
            let end =
                NodeEnd { reason: reason.to_owned(), message: text.clone(), condition_message: Some(text) };
            let last = last.unwrap_or_default();
            self.outside.statuses.put_status(uid, status::ended_by_node(pod, &last, &end, now));
            self.advance(uid, LifeEvent::Rejected);
        } else {
            self.advance(uid, LifeEvent::Rejected);
            self.outside.statuses.put_status(uid, status::rejected(pod, reason, message, now));
        }
    }
}
