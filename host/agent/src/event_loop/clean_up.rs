//! The clean-up, in upstream's order (`HandlePodCleanups`): workers, unknown pods, statuses, folders, pods that come
//! back, dead containers. The loop decides; what takes time runs beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use tokio::time::Instant;
use witlet_core::pod::PodUid;
use witlet_core::pod::lifecycle::{Event as LifeEvent, Need};
use witlet_core::pod::worker::GRACE_SECONDS_MIN;
use witlet_core::runtime::{ContainerId, ContainerRunState, ObservedContainer};

use super::EventLoop;
use crate::checkpoints::Checkpoint;
use crate::config::{CLEAN_UP_MAX, CLEAN_UP_WARNING};
use crate::housekeeping::{self, CleanUp, Machine};
use crate::inputs::Event;
use crate::pleg::Relisted;

/// Pods that are remembered as brought while a source can't be read. Beyond that, folders of pods that ended meanwhile stay
/// until it can be.
const ADDED_MAX: usize = 10_000;

impl EventLoop {
    /// Pods end and are forgotten only once every source was seen: before, one that seems unwanted may just not have been
    /// told of. Until then nothing but superseded dead containers and sandboxes goes.
    pub(super) fn clean_up(&mut self) {
        let listed = self.outside.relisted.borrow().clone();
        if listed.at.is_none() {
            return;
        }
        let (policy, now) = (self.config.container_gc, self.outside.clock.now());
        if !self.all_sources_seen() {
            let plan = housekeeping::plan(&listed.pods, |_| Need::Kept, policy, false, now);
            return self.remove_leftovers(plan, &listed, |_| true);
        }
        self.end_unwanted();
        let plan = housekeeping::plan(&listed.pods, |uid| self.need(uid), policy, self.removes_ended(), now);
        for (uid, full_name) in &plan.kill {
            let grace = self.stored_grace(uid);
            self.kill_orphan(uid, full_name.clone(), grace);
        }
        for uid in self.outside.board.uids() {
            if !self.is_known(&uid) {
                self.outside.board.remove(&uid);
            }
        }
        self.outside.prober.clean_up(|uid| self.is_known(uid));
        let in_runtime: BTreeSet<&PodUid> = listed.pods.iter().map(|pod| &pod.uid).collect();
        self.bring_back(&in_runtime);
        self.forget_what_is_gone(&in_runtime);
        let unread = self.something_is_unread();
        let kept: BTreeSet<PodUid> = self
            .pods
            .iter()
            .filter(|(_, record)| !record.is_gone())
            .map(|(uid, _)| uid)
            .chain(in_runtime.iter().copied())
            .cloned()
            .collect();
        let board = self.outside.board.clone();
        let met: BTreeSet<PodUid> = match unread {
            true => {
                self.pods.iter().filter(|(_, record)| record.was_added).map(|(uid, _)| uid.clone()).collect()
            }
            false => BTreeSet::new(),
        };
        let is_known =
            move |uid: &PodUid| kept.contains(uid) || board.shows(uid) || (unread && !met.contains(uid));
        self.remove_leftovers(plan, &listed, is_known);
    }

    /// Carries a plan out beside the loop, one at a time, and removes folders of pods that aren't known.
    fn remove_leftovers(
        &mut self,
        plan: CleanUp,
        listed: &Relisted,
        is_known: impl Fn(&PodUid) -> bool + Send + Sync + 'static,
    ) {
        if std::mem::replace(&mut self.cleaning, true) {
            return;
        }
        let in_runtime: BTreeSet<&PodUid> = listed.pods.iter().map(|pod| &pod.uid).collect();
        let logs = self.logs_of(&plan, &in_runtime);
        self.begin_removal();
        let executor = &self.outside.executor;
        let runtime = executor.runtime.clone();
        let machine = Machine {
            files: executor.files.clone(),
            volumes: executor.volumes.clone(),
            container_files: executor.container_files.clone(),
            removals: executor.removals.clone(),
            cgroups: executor.cgroups.clone(),
        };
        let containers = listed.pods.iter().flat_map(|pod| &pod.containers);
        let running = containers.filter(|container| container.state == ContainerRunState::Running);
        let running: Vec<ContainerId> = running.map(|container| container.id.clone()).collect();
        let cleaning = async move {
            let begun = Instant::now();
            let round = housekeeping::carry_out(plan, logs, is_known, &running, runtime, machine);
            if tokio::time::timeout(CLEAN_UP_MAX, round).await.is_err() {
                tracing::warn!("the clean-up took longer than {}s and begins anew", CLEAN_UP_MAX.as_secs());
            } else if begun.elapsed() > CLEAN_UP_WARNING {
                let (took, expected) = (begun.elapsed(), CLEAN_UP_WARNING);
                tracing::error!(?expected, actual = ?took, "Housekeeping took longer than expected");
            }
            Event::CleanedUp
        };
        self.spawn(cleaning, Event::CleanedUp);
    }

    /// Workers of pods that no source has any more.
    fn end_unwanted(&mut self) {
        let unwanted: Vec<PodUid> = self
            .pods
            .iter()
            .filter(|(_, record)| record.sourced.is_none() && record.life.worker().is_some())
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in unwanted {
            self.advance(&uid, LifeEvent::Unwanted);
        }
    }

    /// Forgets pods that neither a source nor the runtime has, unless a source that can't be read may have them.
    fn forget_what_is_gone(&mut self, in_runtime: &BTreeSet<&PodUid>) {
        let unread = self.something_is_unread();
        let added = self.pods.values().filter(|record| record.was_added).count();
        let too_many = added > ADDED_MAX;
        for (uid, record) in &mut self.pods {
            record.was_added &= !record.is_gone() || in_runtime.contains(uid) || (unread && !too_many);
        }
        let pods = &self.pods;
        let needed = |uid: &PodUid| match pods.get(uid) {
            Some(record) if !record.is_gone() => true,
            // Brought by no source yet: it may be in a part that can't be read.
            Some(record) => unread && !record.was_added,
            None => unread,
        };
        for table in [&self.outside.executor.allocated, &self.outside.executor.actuated] {
            table.update(|pods| pods.retain(needed));
        }
        self.user_namespaces.retain(|uid| needed(uid) || in_runtime.contains(uid));
        self.pods.retain(|_, record| !record.is_gone() || record.was_added || unread);
        for record in self.pods.values_mut().filter(|record| record.is_gone() && record.was_added) {
            record.checkpoint = Checkpoint::default();
        }
    }

    /// Where the runtime said that the logs of the containers are that go, be it with their sandbox: a pod may come back
    /// with its UID, and keeps its folders then.
    fn logs_of(&self, plan: &CleanUp, in_runtime: &BTreeSet<&PodUid>) -> BTreeMap<ContainerId, PathBuf> {
        let seen = in_runtime.iter().filter_map(|uid| self.outside.cache.peek(uid));
        let logs = seen.flat_map(|seen| {
            let goes = |container: &&ObservedContainer| {
                let sandbox = container.sandbox_id.as_ref();
                plan.containers.iter().any(|dead| dead.id == container.id)
                    || sandbox.is_some_and(|id| plan.sandboxes.contains(id))
            };
            let dead = seen.containers.iter().filter(goes);
            let dead = dead.filter(|container| !container.log_path.is_empty());
            dead.map(|container| (container.id.clone(), container.log_path.clone().into()))
                .collect::<Vec<_>>()
        });
        logs.collect()
    }

    fn is_known(&self, uid: &PodUid) -> bool {
        self.pods.get(uid).is_some_and(|record| !record.is_gone())
    }

    /// Whether the pod, which ran before this agent and which no source has brought since, may be in a part of a
    /// source that can't be read.
    pub(super) fn may_be_unread(&self, uid: &PodUid) -> bool {
        self.something_is_unread() && !self.pods.get(uid).is_some_and(|record| record.was_added)
    }

    /// Whether a source has a part that can't be read, or a plugin's wasn't seen yet.
    fn something_is_unread(&self) -> bool {
        !self.partial.is_empty() || !self.plugin_sources_seen()
    }

    fn need(&self, uid: &PodUid) -> Need {
        match self.pods.get(uid).map_or(Need::Unwanted, |record| record.life.need()) {
            Need::Unwanted if !self.is_known(uid) && self.may_be_unread(uid) => Need::Kept,
            need => need,
        }
    }

    /// Pods that were created anew while the old one with their UID was ending.
    fn bring_back(&mut self, in_runtime: &BTreeSet<&PodUid>) {
        let back: Vec<PodUid> = self
            .pods
            .iter()
            .filter(|(_, record)| record.life.need() == Need::Returning)
            // A pod that came and went between two lists is only in the cache.
            .filter(|(uid, _)| !in_runtime.contains(uid))
            .filter(|(uid, _)| self.outside.cache.peek(uid).is_none_or(|seen| seen.is_absent()))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in back {
            self.advance(&uid, LifeEvent::RemainsGone);
        }
    }

    /// The grace that a pod which only the runtime has was promised when its containers were made.
    pub(super) fn stored_grace(&self, uid: &PodUid) -> i64 {
        let seen = self.outside.cache.peek(uid);
        let graces =
            seen.iter().flat_map(|seen| &seen.containers).filter_map(|c| c.termination_grace_seconds);
        graces.max().unwrap_or(GRACE_SECONDS_MIN)
    }
}
