//! What sources bring: pods are added, changed and removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::error::one_line;
use witlet_core::pod::lifecycle::{Arrival, Event as LifeEvent, Stage};
use witlet_core::pod::static_pod::is_mirror;
use witlet_core::pod::worker::{KillOptions, is_ending};
use witlet_core::pod::{PodFullName, PodUid, SourceName};
use witlet_core::sources::{Duplicate, PodOperation, PodUpdate, SourceChange, SourceUpdate};
use witlet_core::status::{is_ended_by_node, is_readiness_outdated};
use witlet_ports::SourceEvent;

use super::EventLoop;
use super::record::Sourced;
use crate::executor::events::PodEvents;
use crate::inputs::Event;

impl EventLoop {
    pub(super) fn source_changed(&mut self, event: SourceEvent) {
        let SourceEvent { source, update } = event;
        let sources = &mut self.sources;
        let of_plugin = sources.of_plugins.contains(&source);
        if !of_plugin && !sources.own.contains(&source) {
            // On its way when its plugin was removed: its pods have ended already.
            tracing::debug!(source = source.as_str(), "Ignoring an event of a source that is gone");
            return;
        }
        if let SourceUpdate::Replaced { incomplete, .. } | SourceUpdate::Incomplete(incomplete) = &update {
            match incomplete {
                Some(why) => {
                    if sources.partial.insert(source.clone()) {
                        tracing::warn!(source = source.as_str(), why, "Source is incomplete");
                    }
                }
                None => _ = sources.partial.remove(&source),
            }
        }
        let now = self.outside.clock.now();
        let changes = match of_plugin {
            true => sources.merged.take_of_plugin(&source, update, now),
            false => sources.merged.take(&source, update, now),
        };
        self.apply(changes);
    }

    /// Sources of plugins that are new have yet to be seen; pods of those that are gone end.
    pub(super) fn plugin_sources_changed(&mut self, names: &BTreeSet<SourceName>) {
        let gone: Vec<SourceName> = self.sources.of_plugins.difference(names).cloned().collect();
        self.sources.of_plugins.clone_from(names);
        for source in gone {
            self.sources.partial.remove(&source);
            let changes = self.sources.merged.remove_source(&source, self.outside.clock.now());
            self.apply(changes);
        }
    }

    fn apply(&mut self, changes: Vec<(SourceName, SourceChange)>) {
        for (source, mut change) in changes {
            for duplicate in std::mem::take(&mut change.duplicates) {
                self.report_duplicate(&duplicate);
            }
            for update in change.into_updates(&source) {
                log_update(&update);
                for pod in update.pods.into_iter().filter(|pod| !is_mirror(pod)) {
                    match update.op {
                        PodOperation::Remove => self.remove(&pod),
                        PodOperation::Add => self.add(pod, &source),
                        PodOperation::Update | PodOperation::Delete => self.change(pod),
                        PodOperation::Reconcile => self.reconcile(pod),
                    }
                }
            }
        }
    }

    fn add(&mut self, pod: Arc<Pod>, source: &SourceName) {
        let uid = PodUid::of(&pod);
        let allocated = self.allocated(&pod);
        let has_remains = self.has_remains(&uid);
        let has_sandbox = self.has_sandbox(&uid);
        let record = self.pods.entry(uid.clone()).or_default();
        record.sourced = Some(Sourced::new(pod.clone(), allocated, source.clone()));
        let is_first = !std::mem::replace(&mut record.was_added, true);
        let has_worker = record.life.worker().is_some();
        let ended = record.checkpoint.ended().cloned();
        let grace = record.checkpoint.grace_seconds();
        // One that ended before it had a sandbox has ended all the same.
        let was_here = has_sandbox || ended.is_some();
        let is_same = record.checkpoint.is_remembered(&pod, was_here);
        if is_same && record.checkpoint.is_of_earlier_build() {
            record.checkpoint.content_mut().revise(&pod);
        }
        let goes_on = has_worker && !record.life.is_ending() && record.checkpoint.accepted().is_some();
        let is_edited = !is_same && self.is_edited_unseen(&uid, &pod, was_here);
        let is_remembered = is_same || is_edited || ended.as_ref().is_some_and(is_ended_by_node);
        if is_edited || goes_on {
            self.take_edit(&uid);
        }
        if !has_worker {
            self.outside.statuses.remove(&uid);
        }
        self.outside.statuses.put_pod(&uid, pod.clone());
        if let Some(status) = ended.filter(|_| !has_worker && (is_remembered || is_ending(&pod))) {
            self.outside.statuses.put_status(&uid, status);
        }
        self.admission.others_changed();
        if is_first && (is_same || is_edited) {
            self.admission.readmissions.add(&uid);
        }
        self.advance(&uid, LifeEvent::Added(Arrival { is_remembered, has_remains }));
        // An evicted pod goes on ending in the time that it was given.
        if let Some(grace) = grace.filter(|_| !has_worker && is_remembered) {
            let kill = KillOptions { evict: true, grace_seconds: Some(grace) };
            self.advance(&uid, LifeEvent::Kill(kill));
        }
    }

    /// Whether there is still something dead of a pod with this UID that this agent has ended.
    fn has_remains(&self, uid: &PodUid) -> bool {
        let was_added = self.pods.get(uid).is_some_and(|record| record.was_added);
        let seen = self.outside.cache.peek(uid);
        was_added && seen.is_some_and(|seen| !seen.is_absent() && !seen.is_alive())
    }

    fn change(&mut self, pod: Arc<Pod>) {
        let uid = PodUid::of(&pod);
        let Some(record) = self.pods.get_mut(&uid) else { return };
        let Some(sourced) = &mut record.sourced else { return };
        self.outside.resizes.edited(&sourced.pod, &pod);
        sourced.pod = pod.clone();
        self.outside.statuses.put_pod(&uid, pod.clone());
        if record.life.stage() == Some(Stage::Admitted) {
            self.take_edit(&uid);
        } else {
            self.refresh_allocated(&uid);
        }
        self.advance(&uid, LifeEvent::Changed);
    }

    fn reconcile(&mut self, pod: Arc<Pod>) {
        let uid = PodUid::of(&pod);
        let Some(sourced) = self.sourced_mut(&uid) else { return };
        sourced.pod = pod.clone();
        self.refresh_allocated(&uid);
        if let Some(record) = self.pods.get_mut(&uid)
            && let Some(sourced) = &record.sourced
        {
            record.life.renew(&sourced.allocated);
        }
        let is_outdated = is_readiness_outdated(&pod);
        self.outside.statuses.put_pod(&uid, pod);
        // Another controller has opened or closed a readiness gate.
        if is_outdated && self.has_worker(&uid) {
            self.advance(&uid, LifeEvent::SyncRequested);
        }
    }

    fn remove(&mut self, pod: &Pod) {
        let uid = PodUid::of(pod);
        let Some(record) = self.pods.get_mut(&uid) else { return };
        record.sourced = None;
        self.admission.others_changed();
        self.admission.queue.world_changed();
        // Before that, a source that wasn't seen yet might want it: the clean-up ends it later.
        let may_end = self.sources.own_are_seen();
        self.advance(&uid, LifeEvent::Removed { may_end });
    }

    /// Nothing is left of the pod that has to be shown or remembered. That it was brought is known as long as anything of it is
    /// there.
    pub(super) fn forget(&mut self, uid: &PodUid) {
        self.due.remove(uid);
        self.forget_history(uid);
    }

    /// Nothing is known any more of what became of the pod.
    pub(super) fn forget_history(&mut self, uid: &PodUid) {
        self.outside.statuses.remove(uid);
        self.outside.allocated.update(|pods| pods.retain(|known| known != uid));
        let Some(record) = self.pods.get_mut(uid) else { return };
        let was_unsaved = record.unsaved.take().is_some();
        let may_be_on_disk = record.checkpoint.forget();
        if was_unsaved {
            self.publish_health();
        }
        if !may_be_on_disk {
            return;
        }
        // A pod that comes back with this UID begins again, and waits for the end of the removal.
        let Some(removal) = self.outside.removals.begin(uid) else { return };
        let (files, uid) = (self.outside.files.clone(), uid.clone());
        let removing = async move {
            if let Err(error) = files.remove_checkpoint(&uid).await {
                tracing::warn!(pod_uid = %uid, error = one_line(&error), "Failed to remove a pod's checkpoint");
            }
            drop(removal);
            Event::Forgotten
        };
        self.spawn(removing, Event::Forgotten);
    }

    /// The pod as its source has it, with what belongs to that.
    pub(super) fn sourced(&self, uid: &PodUid) -> Option<&Sourced> {
        self.pods.get(uid)?.sourced.as_ref()
    }

    pub(super) fn sourced_mut(&mut self, uid: &PodUid) -> Option<&mut Sourced> {
        self.pods.get_mut(uid)?.sourced.as_mut()
    }

    pub(super) fn has_sandbox(&self, uid: &PodUid) -> bool {
        let relisted = self.outside.relisted.borrow();
        relisted.pods.iter().any(|pod| pod.uid == *uid && !pod.sandboxes.is_empty())
    }

    fn report_duplicate(&self, duplicate: &Duplicate) {
        let (pod, why) = match duplicate {
            Duplicate::Name { pod } => (pod, "another pod of the same source has its name".to_owned()),
            Duplicate::Uid { pod } => (pod, "another pod of the same source has its UID".to_owned()),
            Duplicate::OwnedBySource { pod, owner } => {
                (pod, format!("source {owner} has a pod with its UID"))
            }
            Duplicate::NameOfSource { pod, owner } => {
                (pod, format!("source {owner} has a pod with its name"))
            }
        };
        let full_name = PodFullName::of(pod);
        let message = format!("Error validating pod {full_name}: {why}, ignoring");
        PodEvents::new(&*self.outside.events, &full_name, &PodUid::of(pod))
            .warning("FailedValidation", &message);
    }
}

/// What upstream's loop says of a set that a source sent, at its levels (V(2) and V(4)).
fn log_update(update: &PodUpdate) {
    let source = update.source.as_str();
    let pods = || {
        let names = update.pods.iter().map(|pod| PodFullName::of(pod).to_string());
        names.collect::<Vec<_>>()
    };
    match update.op {
        _ if update.pods.is_empty() => {}
        PodOperation::Add => tracing::info!(source, pods = ?pods(), "SyncLoop ADD"),
        PodOperation::Update => tracing::info!(source, pods = ?pods(), "SyncLoop UPDATE"),
        PodOperation::Delete => tracing::info!(source, pods = ?pods(), "SyncLoop DELETE"),
        PodOperation::Remove => tracing::info!(source, pods = ?pods(), "SyncLoop REMOVE"),
        PodOperation::Reconcile => tracing::debug!(source, pods = ?pods(), "SyncLoop RECONCILE"),
    }
}
