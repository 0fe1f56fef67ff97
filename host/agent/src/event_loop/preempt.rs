//! Pods end so that a critical one fits. Which ones is `witlet_core::admission::preemption`'s decision, and what others hear
//! meanwhile `witlet_core::admission::room`'s. The critical pod counts against the node as if it were there, so that nobody
//! else takes the room.

use std::collections::BTreeMap;

use witlet_core::admission::Decision;
use witlet_core::admission::preemption::{CONDITION_MESSAGE, MESSAGE, REASON};
use witlet_core::admission::room::{self, Room};
use witlet_core::pod::lifecycle::Event as LifeEvent;
use witlet_core::pod::PodUid;
use witlet_core::status::{self, NodeEnd};

use super::EventLoop;
use super::record::PodRecord;

impl EventLoop {
    /// What a decision about a new pod comes to beside those that end, or wait, to make room. That pods end for it is known
    /// from what is saved, so that a restarted agent goes on with it.
    pub(super) fn beside_preemption(&self, uid: &PodUid, decision: Decision) -> Decision {
        let victims = match &decision {
            Decision::Preempt { victims, .. } => victims.as_slice(),
            Decision::Reject { .. } => &[],
            // Nothing beside them changes these, and most are such.
            Decision::Admit | Decision::Defer { .. } => return decision,
        };
        let left = || victims.iter().filter(|victim| self.counts(victim));
        let room = Room {
            another_waits: self
                .pods
                .iter()
                .any(|(other, record)| record.life.waits_for_room() && other != uid),
            pods_end: self.pods.values().any(|other| other.life.counts() && is_preempted(other)),
            victims_left: left().count(),
            victims_ending: left().filter(|victim| self.ends(victim)).count(),
        };
        room::beside(decision, room)
    }

    /// Ends the victims. The pod waits, and nobody takes the room that it waits for.
    pub(super) fn preempt(&mut self, uid: &PodUid, victims: &[PodUid], message: &str) {
        let ending: Vec<&PodUid> =
            victims.iter().filter(|victim| self.counts(victim) && !self.ends(victim)).collect();
        let end = NodeEnd {
            reason: REASON.to_owned(),
            message: MESSAGE.to_owned(),
            condition_message: Some(CONDITION_MESSAGE.to_owned()),
        };
        for victim in &ending {
            self.stats.preempted += u64::from(self.end_by_node(victim, &end, &BTreeMap::new(), None));
        }
        let waited = self.pods.get(uid).is_some_and(|record| record.life.waits_for_room());
        self.advance(uid, LifeEvent::WaitsForRoom);
        if !waited || !ending.is_empty() {
            // Who was asked for before this doesn't know of it.
            self.admissions += 1;
            self.others = None;
        }
        self.show_blocked(uid, REASON, message);
    }

    /// Whether the pod ends, or is to, for whatever reason.
    fn ends(&self, uid: &PodUid) -> bool {
        self.pods.get(uid).is_some_and(|record| is_preempted(record) || record.life.is_ending())
    }

    fn counts(&self, uid: &PodUid) -> bool {
        self.pods.get(uid).is_some_and(|record| record.life.counts())
    }
}

fn is_preempted(record: &PodRecord) -> bool {
    let ended = record.checkpoint.ended();
    ended.is_some_and(|status| status.reason.as_deref() == Some(REASON) && status::is_ended_by_node(status))
}
