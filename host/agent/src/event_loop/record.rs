//! All that the event loop knows of one pod.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::admission::AdmittedPod;
use witlet_core::pod::edit::Edits;
use witlet_core::pod::lifecycle::Lifecycle;
use witlet_core::pod::resize::Resize;
use witlet_core::pod::static_pod::is_static;
use witlet_core::pod::worker::RequeueCause;
use witlet_core::pod::{PodFullName, SourceName};
use witlet_core::status::{AdmissionPending, EditKind};

use crate::checkpoints::Checkpoint;
use crate::executor::{PodMemory, Saved, ToSave};

/// One pod, from the first that is known of it until nothing of it is left on the node.
#[derive(Default)]
pub(super) struct PodRecord {
    /// What is to become of it.
    pub(super) life: Lifecycle,
    /// As its source has it; none once no source does.
    pub(super) sourced: Option<Sourced>,
    /// What the loop keeps for the pod's worker while it has one.
    pub(super) worker_handle: Option<WorkerHandle>,
    /// What a restarted agent has to know of it.
    pub(super) checkpoint: Checkpoint,
    /// What an end by the node counts as once it was reported.
    pub(super) end_count: Option<EndCount>,
    /// Why that can't be saved.
    pub(super) unsaved: Option<String>,
    /// A source brought it since this agent started.
    pub(super) was_added: bool,
}

/// Which number an end by the node is counted in.
pub(super) enum EndCount {
    /// Evictions, by this signal.
    Eviction(&'static str),
    /// Preemptions, for this resource.
    Preemption(String),
    /// Rejections, for this reason.
    Rejection(String),
}

/// A pod that a source wants here.
pub(super) struct Sourced {
    pub(super) pod: Arc<Pod>,
    /// As it was accepted, with the resources that it was allocated.
    pub(super) allocated: Arc<Pod>,
    pub(super) source: SourceName,
    /// Its wish for other resources.
    pub(super) resize: Resize,
    /// Edits of it that nothing is made of yet.
    pub(super) edits: Edits,
    /// When it fails if it is rejected. Once it is known, neither an edit nor other handlers change it.
    pub(super) publication: Option<Publication>,
    /// Why the verdict on a pod that runs already is put off.
    pub(super) admission_pending: Option<AdmissionPending>,
    /// The version of the allocated resources that has this pod's, until it is on disk.
    pub(super) allocation_unsaved: Option<u64>,
    /// What it was admitted with, or granted, has to be on disk before anything is made of it.
    pub(super) must_save: bool,
}

/// When a rejection is published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Publication {
    /// Which one it is for the pod's controller.
    pub(super) nth: u32,
    pub(super) at: Instant,
}

/// What goes with a pod's worker.
pub(super) struct WorkerHandle {
    pub(super) full_name: PodFullName,
    pub(super) is_static: bool,
    /// With the work while that runs.
    pub(super) memory: Option<PodMemory>,
    /// Of the work that runs.
    pub(super) cancel: CancellationToken,
    /// Of the work that ended last.
    pub(super) cause: RequeueCause,
    /// When the agent saw the pod first; none once it runs, or has run.
    pub(super) starting_since: Option<Instant>,
    /// Nothing was done for the pod yet.
    pub(super) is_new: bool,
    /// The newest work asks handlers about images.
    pub(super) asks_about_images: bool,
}

impl Sourced {
    pub(super) fn new(pod: Arc<Pod>, allocated: Arc<Pod>, source: SourceName) -> Self {
        Self {
            pod,
            allocated,
            source,
            resize: Resize::default(),
            edits: Edits::default(),
            publication: None,
            admission_pending: None,
            allocation_unsaved: None,
            must_save: false,
        }
    }

    /// As admission handlers see it when they judge another pod.
    pub(super) fn as_admitted(&self) -> AdmittedPod {
        AdmittedPod { pod: self.allocated.clone(), source: self.source.clone() }
    }
}

impl WorkerHandle {
    pub(super) fn new(full_name: PodFullName, is_static: bool, cancel: CancellationToken) -> Self {
        let (memory, cause) = (Some(PodMemory::new()), RequeueCause::Resync);
        let starting_since = Some(Instant::now());
        Self {
            full_name,
            is_static,
            memory,
            cancel,
            cause,
            starting_since,
            is_new: true,
            asks_about_images: false,
        }
    }

    pub(super) fn of(pod: &Pod, cancel: CancellationToken) -> Self {
        Self::new(PodFullName::of(pod), is_static(pod), cancel)
    }
}

impl PodRecord {
    /// Neither a source nor a worker has it.
    pub(super) fn is_gone(&self) -> bool {
        self.life.is_gone()
    }

    /// The pod as its source has it, but for edits that weren't accepted.
    pub(super) fn accepted(&self) -> Option<Arc<Pod>> {
        self.accepted_with(None)
    }

    /// The same, as if its edits of this kind were.
    pub(super) fn accepted_with(&self, asked: Option<EditKind>) -> Option<Arc<Pod>> {
        let Sourced { pod, edits, .. } = self.sourced.as_ref()?;
        let held = edits.held().filter(|kind| Some(*kind) != asked);
        Some(match self.checkpoint.accepted() {
            Some(accepted) => accepted.without_edits(pod, held),
            None => pod.clone(),
        })
    }

    /// What of the pod has to be on disk before, or after, its next piece of work.
    pub(super) fn to_save(&self) -> ToSave {
        let Some(sourced) = &self.sourced else { return ToSave::default() };
        ToSave {
            checkpoint: self.checkpoint.content(),
            is_unsaved: self.checkpoint.is_unsaved(),
            allocation: sourced.allocation_unsaved,
            blocks: sourced.must_save,
        }
    }

    /// Takes in what was saved. What changed meanwhile is saved before the next piece of work. Says whether it can be saved is
    /// news.
    pub(super) fn note_saved(&mut self, saved: Saved) -> bool {
        let Saved { checkpoint, allocation, reported, failure } = saved;
        if let Some(content) = checkpoint {
            self.checkpoint.saved(content);
        }
        if let Some(report) = reported {
            self.checkpoint.reported(&report);
        }
        let is_unsaved = failure.is_some() || self.checkpoint.is_unsaved();
        if let Some(sourced) = &mut self.sourced {
            sourced.allocation_unsaved =
                sourced.allocation_unsaved.filter(|version| Some(*version) != allocation);
            sourced.must_save &= is_unsaved || sourced.allocation_unsaved.is_some();
        }
        let is_news = self.unsaved.is_some() != failure.is_some();
        self.unsaved = failure;
        is_news
    }
}
