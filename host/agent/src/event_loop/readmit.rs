//! Pods that ran before the agent's start and are put to the handlers that want it, as `witlet_core::admission::readmit` decides.

use std::collections::BTreeSet;

use witlet_core::admission::Operation;
use witlet_core::admission::readmit::ASK_AGAIN_AFTER;
use witlet_core::admission::recheck::ASKED_MAX;
use witlet_core::pod::PodUid;

use super::EventLoop;
use super::recheck::is_rechecked;

impl EventLoop {
    /// Asks about the pods that handlers have yet to be asked about, a few at a time.
    pub(super) fn readmit_due(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        let now = self.begun.elapsed();
        self.admission.readmissions.set_handlers(self.outside.admission.readmit_handlers(), now);
        let capacity = ASKED_MAX.saturating_sub(self.admission.queue.asked_of(Operation::Readmit));
        let running = self.pods.iter().filter(|(_, record)| is_rechecked(record));
        let running: BTreeSet<&PodUid> = running.map(|(uid, _)| uid).collect();
        for uid in self.admission.readmissions.take_due(&running, capacity, now) {
            self.admission.queue.add_readmit(&uid);
        }
    }

    /// The handlers' answer doesn't count, because others took their places: these are asked.
    pub(super) fn readmit_again(&mut self, uid: &PodUid) {
        self.admission.readmissions.ask_again(uid, self.begun.elapsed());
    }

    /// Whether a pod that the handlers reject is ended. If not now, they are asked about it again.
    pub(super) fn may_end_readmitted(&mut self, uid: &PodUid, running: usize) -> bool {
        let now = self.begun.elapsed();
        let may = self.admission.rechecks.may_end_readmitted(running, now);
        if !may {
            self.admission.readmissions.ask_again(uid, now.saturating_add(ASK_AGAIN_AFTER));
        }
        may
    }
}
