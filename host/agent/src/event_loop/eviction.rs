//! Pods end because the node is short of something, or because they exceed a limit of theirs: which, is the eviction manager's
//! decision (`crate::eviction`). How a pod was evicted is saved before it ends, so that a restarted agent goes on with it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::oneshot;
use witlet_core::admission::preemption::is_own;
use witlet_core::eviction::{Candidate, Eviction, REASON};
use witlet_core::node::conditions::{PRESSURES, Pressures};
use witlet_core::pod::lifecycle::Event as LifeEvent;
use witlet_core::pod::static_pod::is_critical;
use witlet_core::pod::worker::KillOptions;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::{self, NodeEnd};

use super::EventLoop;
use super::record::PodRecord;
use crate::eviction::EvictionRequest;
use crate::executor::events::PodEvents;

impl EventLoop {
    pub(super) fn eviction_requested(&mut self, request: EvictionRequest) {
        match request {
            // Who asked may be gone by now: the agent ends.
            EvictionRequest::Candidates(answer) => drop(answer.send(self.candidates())),
            EvictionRequest::Evict(eviction) => self.evict(*eviction),
            EvictionRequest::RemoveEnded(done) => self.remove_ended(done),
            EvictionRequest::Pressures(pressures) => {
                let before = self.pressures.replace(pressures).unwrap_or_default();
                let is_short = |of: Pressures| PRESSURES.map(|pressure| of.of(pressure) == Some(true));
                if is_short(before) != is_short(pressures) {
                    self.queue.world_changed();
                }
                self.publish_node();
            }
        }
    }

    /// The admitted pods whose containers may run. What a plugin's source brings is never critical, as with preemption.
    fn candidates(&self) -> Vec<Candidate> {
        let counting = self.pods.iter().filter(|(_, record)| record.life.counts());
        let candidate = |(uid, record): (&PodUid, &PodRecord)| {
            let sourced = record.sourced.as_ref()?;
            Some(Candidate {
                uid: uid.clone(),
                pod: sourced.allocated.clone(),
                is_critical: is_critical(&sourced.pod) && is_own(&sourced.source),
                is_evicted: record.checkpoint.ended().is_some_and(status::is_evicted),
            })
        };
        counting.filter_map(candidate).collect()
    }

    fn evict(&mut self, eviction: Eviction) {
        let Eviction { uid, grace_seconds, message, annotations, signal, is_disrupted, measured, .. } =
            eviction;
        let condition_message = is_disrupted.then(|| message.clone());
        let end = NodeEnd { reason: REASON.to_owned(), message, condition_message };
        if self.end_by_node(&uid, &end, &annotations, Some(grace_seconds)) {
            *self.stats.evictions.entry(signal).or_default() += 1;
            let now = self.outside.clock.now();
            for (signal, at) in measured {
                // A clock that was set back makes nothing older.
                let age = Duration::try_from(now.duration_since(at)).unwrap_or_default();
                self.stats.eviction_stats_ages.entry(signal).or_default().observe(age);
            }
        }
    }

    /// Ends an admitted pod for a reason of the node's, within `grace_seconds` or else its own grace: an event, a status that stays,
    /// and a checkpoint with which a restarted agent goes on. Says whether the pod could be ended.
    pub(super) fn end_by_node(
        &mut self,
        uid: &PodUid,
        end: &NodeEnd,
        annotations: &BTreeMap<String, String>,
        grace_seconds: Option<i64>,
    ) -> bool {
        let Some(record) = self.pods.get_mut(uid).filter(|record| record.life.counts()) else { return false };
        let Some(sourced) = &record.sourced else { return false };
        let (pod, last) = (&*sourced.pod, self.outside.statuses.status(uid).unwrap_or_default());
        PodEvents::new(&*self.outside.events, &PodFullName::of(pod), uid).warning_with(
            &end.reason,
            &end.message,
            annotations,
        );
        let status = status::ended_by_node(pod, &last, end, self.outside.clock.now());
        record.checkpoint.content_mut().end_within(&status, grace_seconds);
        self.outside.statuses.put_status(uid, status);
        // A pod without a worker waits for its admission to be saved; it finds itself ended then.
        self.advance(uid, LifeEvent::Kill(KillOptions { evict: true, grace_seconds }));
        true
    }

    /// The next clean-up takes all that ended pods have left; one that runs is waited for.
    fn remove_ended(&mut self, done: oneshot::Sender<()>) {
        self.removals.image_requested.push(done);
        if !self.cleaning {
            self.clean_up();
        }
    }

    /// Whether the clean-up that is decided now takes what ended pods have left.
    pub(super) fn removes_ended(&self) -> bool {
        !self.removals.image_requested.is_empty()
    }

    /// A clean-up begins.
    pub(super) fn begin_removal(&mut self) {
        self.removals.running.append(&mut self.removals.image_requested);
    }

    /// A clean-up has ended.
    pub(super) fn end_removal(&mut self) {
        for done in self.removals.running.drain(..) {
            // Who asked may have stopped waiting.
            let _gone = done.send(());
        }
    }
}
