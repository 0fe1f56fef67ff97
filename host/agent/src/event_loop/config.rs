//! What sources bring: pods are added, changed and removed.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::config::{Duplicate, PodOperation, PodUpdate, SourceChange, SourceUpdate};
use witlet_core::error::one_line;
use witlet_core::event::{Event as NodeEvent, EventObject, EventType};
use witlet_core::pod::static_pod::{is_mirror, takes_remains_over};
use witlet_core::pod::worker::UpdateKind;
use witlet_core::pod::{PodFullName, PodUid, SourceName};
use witlet_core::status::{Phase, is_ended_by_node, is_readiness_outdated};
use witlet_ports::SourceEvent;

use super::{EventLoop, Record, Stage};
use crate::inputs::Event;

impl EventLoop {
    pub(super) fn take_source(&mut self, event: SourceEvent) {
        let SourceEvent { source, update } = event;
        let of_plugin = self.plugin_sources.contains(&source);
        if !of_plugin && !self.sources.contains(&source) {
            // On its way when its plugin was removed: its pods have ended already.
            tracing::debug!(source = source.as_str(), "Ignoring an event of a source that is gone");
            return;
        }
        if let SourceUpdate::Replaced { incomplete, .. } | SourceUpdate::Incomplete(incomplete) = &update {
            match incomplete {
                Some(why) => {
                    if self.partial.insert(source.clone()) {
                        tracing::warn!(source = source.as_str(), why, "Source is incomplete");
                    }
                }
                None => _ = self.partial.remove(&source),
            }
        }
        let now = self.outside.clock.now();
        let changes = match of_plugin {
            true => self.merged.take_of_plugin(&source, update, now),
            false => self.merged.take(&source, update, now),
        };
        self.apply(changes);
    }

    /// Sources of plugins that are new have yet to be seen; pods of those that are gone end.
    pub(super) fn take_sources(&mut self, names: &BTreeSet<SourceName>) {
        let gone: Vec<SourceName> = self.plugin_sources.difference(names).cloned().collect();
        self.plugin_sources.clone_from(names);
        for source in gone {
            self.partial.remove(&source);
            let changes = self.merged.remove_source(&source, self.outside.clock.now());
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
        let has_worker = self.workers.contains_key(&uid);
        let returns = self.has_remains(&uid) && !takes_remains_over(&pod);
        if !has_worker {
            self.outside.board.remove(&uid);
        }
        self.outside.board.put_pod(&uid, pod.clone());
        let stage = if has_worker { Stage::Returning } else { Stage::Waiting };
        let record = Record {
            allocated: self.allocated(&pod),
            pod: pod.clone(),
            source: source.clone(),
            stage,
            waits_for_room: false,
            resize_pending: None,
            resize_since: None,
            admission_pending: None,
            allocation_unsaved: None,
            must_save: false,
        };
        self.records.insert(uid.clone(), record);
        self.met.insert(uid.clone());
        // One that ended before it had a sandbox has ended all the same.
        let was_here = self.has_sandbox(&uid) || self.checkpoints.ended(&uid).is_some();
        if has_worker {
            self.update_worker(&uid, UpdateKind::Create, None);
            let still_syncs = self.workers.get(&uid).is_some_and(|managed| !managed.worker.is_terminating());
            if still_syncs {
                self.set_stage(&uid, Stage::Admitted);
            }
        } else if is_ending(&pod)
            || self.checkpoints.is_remembered(&pod, was_here)
            || self.checkpoints.ended(&uid).is_some_and(is_ended_by_node)
        {
            if let Some(status) = self.checkpoints.ended(&uid) {
                self.outside.board.put_status(&uid, status.clone());
            }
            self.set_stage(&uid, Stage::Admitted);
            self.update_worker(&uid, UpdateKind::Create, None);
            self.consider_resize(&uid);
        } else if returns {
            self.set_stage(&uid, Stage::Returning);
        } else {
            self.ask_for(&uid);
        }
    }

    /// Whether there is still something dead of a pod with this UID that this agent has ended: a new one that isn't to be
    /// taken for it waits until that is gone.
    fn has_remains(&self, uid: &PodUid) -> bool {
        let seen = self.outside.cache.peek(uid);
        self.met.contains(uid) && seen.is_some_and(|seen| !seen.is_absent() && !seen.is_alive())
    }

    fn change(&mut self, pod: Arc<Pod>) {
        let uid = PodUid::of(&pod);
        let Some(record) = self.records.get_mut(&uid) else { return };
        record.pod = pod.clone();
        let stage = record.stage;
        self.others = None;
        self.outside.board.put_pod(&uid, pod.clone());
        match stage {
            Stage::Waiting if is_ending(&pod) => {
                self.queue.remove(&uid);
                self.refresh_allocated(&uid);
                self.set_stage(&uid, Stage::Admitted);
                self.update_worker(&uid, UpdateKind::Update, None);
            }
            Stage::Waiting => self.ask_for(&uid),
            // Nothing is made of what changed before the verdict on it.
            Stage::GoesOn => {
                self.refresh_allocated(&uid);
                self.update_worker(&uid, UpdateKind::Update, None);
                match is_ending(&pod) {
                    true => self.queue.remove(&uid),
                    false => self.ask_for(&uid),
                }
            }
            // The verdict on a pod that runs stands, also after a restart of the agent.
            Stage::Admitted => {
                self.checkpoints.revise(&pod);
                self.revise_allocation(&uid, &pod);
                self.update_worker(&uid, UpdateKind::Update, None);
                self.consider_resize(&uid);
            }
            Stage::Rejected | Stage::Returning => {}
        }
    }

    fn reconcile(&mut self, pod: Arc<Pod>) {
        let uid = PodUid::of(&pod);
        if let Some(record) = self.records.get_mut(&uid) {
            record.pod = pod.clone();
            self.refresh_allocated(&uid);
            if let (Some(record), Some(managed)) = (self.records.get(&uid), self.workers.get_mut(&uid)) {
                managed.worker.renew(&record.allocated);
            }
            let outdated = is_readiness_outdated(&pod);
            self.outside.board.put_pod(&uid, pod);
            // Somebody has opened or closed a readiness gate.
            if outdated && self.workers.contains_key(&uid) {
                self.update_worker(&uid, UpdateKind::Sync, None);
            }
        }
    }

    fn remove(&mut self, pod: &Pod) {
        let uid = PodUid::of(pod);
        self.records.remove(&uid);
        self.queue.remove(&uid);
        self.queue.world_changed();
        self.others = None;
        let Some(managed) = self.workers.get(&uid) else {
            self.forget(&uid);
            return;
        };
        if managed.worker.is_finished() {
            self.workers.remove(&uid);
            self.forget(&uid);
        } else if self.all_sources_seen() {
            // Before that, a source that wasn't seen yet might want it: the clean-up ends it later.
            self.update_worker(&uid, UpdateKind::Kill, None);
        }
    }

    /// Nothing is left of the pod that anybody needs to be shown or to remember.
    pub(super) fn forget(&mut self, uid: &PodUid) {
        self.outside.board.remove(uid);
        self.outside.executor.allocated.update(|pods| pods.retain(|known| known != uid));
        if self.unsaved.remove(uid).is_some() {
            self.show_health();
        }
        if !self.checkpoints.forget(uid) {
            return;
        }
        // Whoever comes back with this UID begins anew, and waits for the end of the removal.
        let Some(removal) = self.outside.executor.removals.begin(uid) else { return };
        let (files, uid) = (self.outside.executor.files.clone(), uid.clone());
        let removing = async move {
            if let Err(error) = files.remove_checkpoint(&uid).await {
                tracing::warn!(%uid, error = one_line(&error), "Failed to remove a pod's checkpoint");
            }
            drop(removal);
            Event::Forgotten
        };
        self.spawn(removing, Event::Forgotten);
    }

    pub(super) fn set_stage(&mut self, uid: &PodUid, stage: Stage) {
        if let Some(record) = self.records.get_mut(uid) {
            record.stage = stage;
        }
        self.others = None;
        self.show_standing(uid);
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
        self.outside.events.record(NodeEvent {
            object: EventObject::Pod { full_name, uid: PodUid::of(pod), field_path: None },
            kind: EventType::Warning,
            reason: "FailedValidation".to_owned(),
            message,
        });
    }
}

/// What upstream's loop says of a set that a source sent, at its levels (V(2) and V(4)).
fn log_update(update: &PodUpdate) {
    let source = update.source.as_str();
    let pods = || {
        let names = update.pods.iter().map(|pod| {
            let PodFullName { name, namespace } = PodFullName::of(pod);
            format!("{namespace}/{name}")
        });
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

/// A pod that nothing is to be started of needs no verdict.
fn is_ending(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(Phase::of);
    pod.metadata.deletion_timestamp.is_some() || phase.is_some_and(Phase::is_terminal)
}
