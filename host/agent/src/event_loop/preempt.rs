//! Pods end so that a critical one fits. Which ones, and what that means to other pods meanwhile, is decided by
//! `witlet_core::admission::preemption` and `witlet_core::admission::capacity`.

use std::collections::BTreeMap;

use witlet_core::admission::capacity::{self, PodFacts, Preemption};
use witlet_core::admission::preemption::{CONDITION_MESSAGE, MESSAGE, REASON};
use witlet_core::pod::PodUid;
use witlet_core::pod::lifecycle::Event as LifeEvent;
use witlet_core::status::{self, NodeEnd};

use super::EventLoop;
use super::record::EndCount;

impl EventLoop {
    /// All pods as they stand to a decision about capacity. That a pod was preempted is known from its checkpoint, so that a restarted agent
    /// goes on with it.
    pub(super) fn capacity_facts(&self) -> impl Iterator<Item = (&PodUid, PodFacts)> {
        self.pods.iter().map(|(uid, record)| {
            let facts = PodFacts {
                counts: record.life.counts(),
                waits_for_capacity: record.life.waits_for_capacity(),
                is_preempted: record.checkpoint.ended().is_some_and(status::is_preempted),
                is_ending: record.life.is_ending(),
            };
            (uid, facts)
        })
    }

    /// Ends the victims, each within its own grace. The pod waits.
    pub(super) fn preempt(&mut self, uid: &PodUid, victims: &[PodUid], resource: &str, message: &str) {
        let Preemption { ends, outdates_verdicts } = capacity::preempt(uid, victims, self.capacity_facts());
        let end = NodeEnd {
            reason: REASON.to_owned(),
            message: MESSAGE.to_owned(),
            condition_message: Some(CONDITION_MESSAGE.to_owned()),
        };
        for victim in &ends {
            let count = EndCount::Preemption(resource.to_owned());
            self.end_by_node(victim, &end, BTreeMap::new(), None, count);
        }
        self.advance(uid, LifeEvent::WaitsForCapacity);
        if outdates_verdicts {
            self.admission.note_admitted();
            self.admission.others_changed();
        }
        self.show_blocked(uid, REASON, message);
    }
}
