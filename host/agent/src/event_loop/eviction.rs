//! Pods end because the node is short of something, or because they exceed a limit of theirs: which, is the eviction manager's
//! decision (`crate::eviction`). How a pod was evicted is saved before it ends, so that a restarted agent goes on with it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::oneshot;
use witlet_core::admission::preemption::is_own;
use witlet_core::eviction::{Candidate, Eviction, REASON};
use witlet_core::node::conditions::{PRESSURES, Pressures};
use witlet_core::pod::checkpoint::EndReport;
use witlet_core::pod::lifecycle::Event as LifeEvent;
use witlet_core::pod::static_pod::is_critical;
use witlet_core::pod::worker::KillOptions;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::{self, NodeEnd};

use super::EventLoop;
use super::admit::count_of;
use super::record::{EndCount, PodRecord};
use crate::eviction::{EndingPod, EvictionRequest};
use crate::executor::show_node_end;

impl EventLoop {
    pub(super) fn eviction_requested(&mut self, request: EvictionRequest) {
        match request {
            // Who asked may be gone by now: the agent ends.
            EvictionRequest::Candidates(answer) => drop(answer.send(self.candidates())),
            EvictionRequest::Ending(answer) => drop(answer.send(self.ending())),
            EvictionRequest::Evict(eviction) => self.evict(*eviction),
            EvictionRequest::RemoveEnded(done) => self.remove_ended(done),
            EvictionRequest::Pressures(pressures) => {
                let before = self.node.pressures.replace(pressures).unwrap_or_default();
                let is_short = |of: Pressures| PRESSURES.map(|pressure| of.of(pressure) == Some(true));
                if is_short(before) != is_short(pressures) {
                    self.admission.queue.world_changed();
                }
                self.publish_node();
                self.note_node_for_rechecks();
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
                // The eviction manager's task counts them.
                waits: 0,
            })
        };
        counting.filter_map(candidate).collect()
    }

    /// What evicted pods hold is the node's again once their work is done, not when their containers have ended (upstream:
    /// `PodIsFinished`).
    fn ending(&self) -> Vec<EndingPod> {
        let ending = |(uid, record): (&PodUid, &PodRecord)| {
            let may_run = record.life.counts();
            let is_evicted = record.checkpoint.ended().is_some_and(status::is_evicted);
            if !is_evicted || !(may_run || record.life.is_at_work()) {
                return None;
            }
            let of_source = record.sourced.as_ref().map(|sourced| PodFullName::of(&sourced.pod));
            let of_worker = || record.worker_handle.as_ref().map(|worker| worker.full_name.clone());
            Some(EndingPod { uid: uid.clone(), full_name: of_source.or_else(of_worker)?, may_run })
        };
        self.pods.iter().filter_map(ending).collect()
    }

    fn evict(&mut self, eviction: Eviction) {
        let Eviction { uid, grace_seconds, message, annotations, signal, is_disrupted, measured, .. } =
            eviction;
        let condition_message = is_disrupted.then(|| message.clone());
        let end = NodeEnd { reason: REASON.to_owned(), message, condition_message };
        let count = EndCount::Eviction(signal);
        if self.end_by_node(&uid, &end, annotations, Some(grace_seconds), count) {
            let now = self.outside.clock.now();
            for (signal, at) in measured {
                // A clock that was set back makes nothing older.
                let age = Duration::try_from(now.duration_since(at)).unwrap_or_default();
                self.stats.eviction_stats_ages.entry(signal).or_default().observe(age.as_secs_f64());
            }
        }
    }

    /// Ends an admitted pod for a reason of the node's, within `grace_seconds` or else its own grace. The work that ends it saves that
    /// first, so that a restarted agent goes on with it, and then reports it: an event, and a status that stays. Says whether the
    /// pod could be ended.
    pub(super) fn end_by_node(
        &mut self,
        uid: &PodUid,
        end: &NodeEnd,
        annotations: BTreeMap<String, String>,
        grace_seconds: Option<i64>,
        count: EndCount,
    ) -> bool {
        let Some(record) = self.pods.get_mut(uid).filter(|record| record.life.counts()) else { return false };
        let Some(sourced) = &record.sourced else { return false };
        let (pod, last) = (&*sourced.pod, self.outside.statuses.status(uid).unwrap_or_default());
        let report = EndReport { at: self.outside.clock.now(), annotations };
        let status = status::ended_by_node(pod, &last, end, report.at);
        record.checkpoint.content_mut().end_by_node(&status, grace_seconds, report);
        if let Some(earlier) = record.end_count.replace(count) {
            self.count_end(earlier);
        }
        self.advance(uid, LifeEvent::Kill(KillOptions { evict: true, grace_seconds }));
        true
    }

    /// Reports the end of a pod that ended without any work, because nothing of it was ever started.
    pub(super) fn report_end_without_work(&mut self, uid: &PodUid) {
        let Some(record) = self.pods.get_mut(uid) else { return };
        let (Some(sourced), Some(checkpoint)) = (&record.sourced, record.checkpoint.content()) else {
            return;
        };
        let (events, statuses) = (&*self.outside.events, &*self.outside.statuses);
        let full_name = PodFullName::of(&sourced.pod);
        let reported = show_node_end(events, statuses, &full_name, uid, &sourced.pod, &checkpoint);
        let Some(report) = reported else { return };
        record.checkpoint.reported(&report);
        if let Some(count) = record.end_count.take() {
            self.count_end(count);
        }
    }

    /// Counts an end by the node that was reported.
    pub(super) fn count_end(&mut self, count: EndCount) {
        let count = match count {
            EndCount::Eviction(signal) => self.stats.evictions.entry(signal).or_default(),
            EndCount::Preemption(resource) => count_of(&mut self.stats.preemptions, &resource),
            EndCount::Rejection(reason) => count_of(&mut self.stats.rejections, &reason),
        };
        *count += 1;
    }

    /// The next clean-up takes all that ended pods have left; one that runs is waited for.
    fn remove_ended(&mut self, done: oneshot::Sender<()>) {
        self.clean_ups.removals_requested.push(done);
        if !self.clean_ups.is_running {
            self.clean_up();
        }
    }
}
