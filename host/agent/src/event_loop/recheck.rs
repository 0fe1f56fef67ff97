//! Running pods that are put to the admission handlers again, as `witlet_core::admission::recheck` decides.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use witlet_core::admission::recheck::{self, ASKED_MAX};
use witlet_core::admission::{Decision, Operation, rejections};
use witlet_core::pod::lifecycle::Stage;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::NodeEnd;

use super::EventLoop;
use super::record::{EndCount, PodRecord};
use crate::executor::events::PodEvents;

impl EventLoop {
    /// Asks about the pods whose time has come, as far as handlers want that.
    pub(super) fn recheck_due(&mut self) {
        let was_on = self.admission.rechecks.is_on();
        self.admission.rechecks.set_handlers(self.outside.admission.recheck_intervals());
        if !self.admission.rechecks.is_on() || self.stopping.is_some() {
            return;
        }
        if !was_on {
            self.note_node_for_rechecks();
        }
        let (now, capacity) = (
            self.rechecks_clock(),
            ASKED_MAX.saturating_sub(self.admission.queue.asked_of(Operation::Recheck)),
        );
        let running = self.pods.iter().filter(|(_, record)| is_rechecked(record));
        let running: BTreeSet<&PodUid> = running.map(|(uid, _)| uid).collect();
        let jitter = &self.outside.jitter;
        for uid in self.admission.rechecks.take_due(&running, capacity, now, || jitter.unit()) {
            self.admission.queue.add_recheck(&uid);
        }
    }

    /// The handlers changed: what they think of running pods may have, too.
    pub(super) fn recheck_soon(&mut self) {
        let (now, jitter) = (self.rechecks_clock(), &self.outside.jitter);
        self.admission.rechecks.ask_soon(now, || jitter.unit());
    }

    /// The node may be another one to handlers.
    pub(super) fn note_node_for_rechecks(&mut self) {
        if !self.admission.rechecks.is_on() {
            return;
        }
        let node = self.outside.handlers_node.now(&self.node.object);
        let (now, jitter) = (self.rechecks_clock(), &self.outside.jitter);
        self.admission.rechecks.node_changed(&node, now, || jitter.unit());
    }

    fn rechecks_clock(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The handlers' decision about a running pod stands: one that they reject ends within its grace, unless too many did already.
    /// That it ends is on disk before it does, so that a restarted agent goes on with it.
    pub(super) fn running_decided(&mut self, uid: &PodUid, operation: Operation, decision: &Decision) {
        let Some((reason, message)) = recheck::rejection(decision) else { return };
        let Some(record) = self.pods.get(uid).filter(|record| is_rechecked(record)) else { return };
        let Some(sourced) = &record.sourced else { return };
        let full_name = PodFullName::of(&sourced.pod);
        let running = self.pods.values().filter(|record| is_rechecked(record)).count();
        let Decision::Reject { handler, .. } = decision else { return };
        let owner = rejections::counts_for(&sourced.pod, handler.as_deref()).map(|owner| owner.uid.clone());
        let may_end = match operation {
            Operation::Readmit => self.may_end_readmitted(uid, running),
            _ => self.admission.rechecks.may_end(handler.as_deref(), running, self.rechecks_clock()),
        };
        if !may_end {
            let message = format!(
                "Rejected, but the pod keeps running: the limit of ended pods is reached, admission will be \
                 repeated: {message}"
            );
            return PodEvents::new(&*self.outside.events, &full_name, uid).warning(reason, &message);
        }
        self.outside.recheck_ends.add(self.outside.clock.now());
        let text = format!("Pod was rejected: {message}");
        let end = NodeEnd { reason: reason.to_owned(), message: text.clone(), condition_message: Some(text) };
        let count = EndCount::Rejection(reason.to_owned());
        self.end_by_node(uid, &end, BTreeMap::new(), None, count);
        if let Some(owner) = owner {
            // What runs ends at once. But its controller makes another one, whose rejection is no first one then.
            self.admission.rejections.note(&owner, self.rechecks_clock());
        }
    }
}

/// Whether handlers may be asked about this pod again: it was admitted, and neither ends nor waits for another verdict.
pub(super) fn is_rechecked(record: &PodRecord) -> bool {
    record.life.stage() == Some(Stage::Admitted) && record.life.counts() && !record.life.is_ending()
}
