//! The clean-up, in upstream's order (`HandlePodCleanups`): workers, unknown pods, statuses, pods that come back, dead containers,
//! folders. It is decided by `witlet_core::pod::clean_up`; what takes time runs as a task of its own.

use std::collections::BTreeMap;

use tokio::time::Instant;
use witlet_core::container::gc::{FAILED, Garbage};
use witlet_core::error::one_line;
use witlet_core::event::EventType;
use witlet_core::pod::PodUid;
use witlet_core::pod::clean_up::{CleanUp, CleanUpInput, Effect, PodFacts, Retained, clean_up, logs_of};
use witlet_core::pod::lifecycle::Event as LifeEvent;
use witlet_core::pod::static_pod::is_static;
use witlet_core::pod::worker::GRACE_SECONDS_MIN;
use witlet_core::pod::working::WorkingPod;
use witlet_core::runtime::{ContainerId, ContainerRunState};
use witlet_ports::ActivePods;

use super::EventLoop;
use super::record::PodRecord;
use crate::housekeeping::Leftovers;
use crate::inputs::Event;
use crate::pleg::Relisted;
use crate::settings::{CLEAN_UP_MAX, CLEAN_UP_WARNING};

impl EventLoop {
    pub(super) fn housekeep(&mut self) {
        tracing::debug!("SyncLoop (housekeeping)");
        self.clean_up();
        self.report_failed_collection();
        self.show_rejected();
        self.count_active_pods();
    }

    /// Counts the pods that sources want, those of them that handlers see as the node's (upstream: `splitPodsByStatic` of both), and those
    /// that have workers.
    fn count_active_pods(&mut self) {
        let (mut active, mut desired) = (ActivePods::default(), ActivePods::default());
        for record in self.pods.values() {
            let Some(sourced) = &record.sourced else { continue };
            let is_static = is_static(&sourced.pod);
            desired.add(is_static);
            if record.life.counts() {
                active.add(is_static);
            }
        }
        (self.stats.active_pods, self.stats.desired_pods) = (active, desired);
        self.stats.working_pods.clear();
        for record in self.pods.values() {
            let (Some(worker), Some(handle)) = (record.life.worker(), &record.worker_handle) else {
                continue;
            };
            let working = WorkingPod::of(worker, record.sourced.is_some(), handle.is_static);
            *self.stats.working_pods.entry(working).or_default() += 1;
        }
    }

    pub(super) fn cleaned_up(&mut self, failure: Option<String>) {
        self.clean_ups.end(failure);
    }

    /// Reports that what is left of pods can't be listed (upstream: `StartGarbageCollection`). What can't be removed is only logged, as
    /// upstream does.
    fn report_failed_collection(&mut self) {
        let unlisted = self.outside.relisted.borrow().failure.clone();
        let errors = unlisted.into_iter().chain(self.clean_ups.failure.clone()).collect();
        if let Some(message) = self.clean_ups.gc_failures.next(errors, self.outside.clock.now()) {
            self.record_node_event(EventType::Warning, FAILED, message);
        }
    }

    pub(super) fn clean_up(&mut self) {
        let listed = self.outside.relisted.borrow().clone();
        if listed.at.is_none() {
            return;
        }
        let facts = self.pods.iter().map(|(uid, record)| (uid.clone(), self.clean_up_facts(uid, record)));
        let CleanUp { effects, garbage, retained } = clean_up(CleanUpInput {
            pods: &facts.collect(),
            runtime: &listed.pods,
            sources: self.sources.read(),
            evict_ended: self.clean_ups.removes_ended(),
            policy: self.settings.container_gc,
            now: self.outside.clock.now(),
        });
        for effect in effects {
            self.apply_clean_up(effect);
        }
        self.retain(&retained);
        self.remove_leftovers(garbage, &listed, retained);
    }

    fn clean_up_facts(&self, uid: &PodUid, record: &PodRecord) -> PodFacts {
        PodFacts {
            need: record.life.need(),
            has_source: record.sourced.is_some(),
            has_worker: record.life.worker().is_some(),
            was_added: record.was_added,
            is_absent: self.outside.cache.peek(uid).is_none_or(|seen| seen.is_absent()),
        }
    }

    fn apply_clean_up(&mut self, effect: Effect) {
        match effect {
            Effect::End(uid) => self.advance(&uid, LifeEvent::Undesired),
            Effect::KillOrphan(uid, full_name) => {
                if !self.has_worker(&uid) {
                    self.outside.metrics.is_orphaned();
                }
                self.kill_orphan(&uid, full_name);
            }
            Effect::BringBack(uid) => self.advance(&uid, LifeEvent::RemainsGone),
            Effect::ForgetAdded(uid) => {
                if let Some(record) = self.pods.get_mut(&uid) {
                    record.was_added = false;
                }
            }
            Effect::Forget(uid) => drop(self.pods.remove(&uid)),
        }
    }

    /// Forgets what is kept of pods elsewhere.
    fn retain(&mut self, retained: &Retained) {
        for uid in self.outside.statuses.uids() {
            if !retained.is_known(&uid) {
                self.outside.statuses.remove(&uid);
            }
        }
        self.outside.prober.clean_up(|uid| retained.is_known(uid));
        for table in [&self.outside.allocated, &self.outside.actuated] {
            table.update(|pods| pods.retain(|uid| retained.keeps_allocation(uid)));
        }
        self.user_namespaces.retain(|uid| retained.keeps_folders(uid));
    }

    /// Removes what is left of pods in the runtime and on the disk, one round at a time.
    fn remove_leftovers(&mut self, garbage: Garbage, listed: &Relisted, retained: Retained) {
        if !self.clean_ups.begin() {
            return;
        }
        let inspected = listed.pods.iter().filter_map(|pod| self.outside.cache.peek(&pod.uid));
        let logs: BTreeMap<_, _> = inspected.flat_map(|pod| logs_of(&garbage, &pod)).collect();
        let containers = listed.pods.iter().flat_map(|pod| &pod.containers);
        let running = containers.filter(|container| container.state == ContainerRunState::Running);
        let running: Vec<ContainerId> = running.map(|container| container.id.clone()).collect();
        let (housekeeper, statuses) = (self.outside.housekeeper.clone(), self.outside.statuses.clone());
        let removing = async move {
            let begun = Instant::now();
            // Pods may have come since the clean-up was decided.
            let is_known = move |uid: &PodUid| retained.keeps_folders(uid) || statuses.shows(uid);
            let round = housekeeper.remove(Leftovers { garbage, logs, running }, is_known);
            let Ok(listed) = tokio::time::timeout(CLEAN_UP_MAX, round).await else {
                tracing::warn!(timeout = ?CLEAN_UP_MAX, "Housekeeping timed out, starting again");
                return Event::CleanedUp(None);
            };
            if begun.elapsed() > CLEAN_UP_WARNING {
                let (took, expected) = (begun.elapsed(), CLEAN_UP_WARNING);
                tracing::error!(?expected, actual = ?took, "Housekeeping took longer than expected");
            }
            Event::CleanedUp(listed.err().map(|error| one_line(&error)))
        };
        self.spawn(removing, Event::CleanedUp(None));
    }

    /// The grace that the containers of a pod which only the runtime has were made with.
    pub(super) fn stored_grace(&self, uid: &PodUid) -> i64 {
        let seen = self.outside.cache.peek(uid);
        let graces =
            seen.iter().flat_map(|seen| &seen.containers).filter_map(|c| c.termination_grace_seconds);
        graces.max().unwrap_or(GRACE_SECONDS_MIN)
    }
}
