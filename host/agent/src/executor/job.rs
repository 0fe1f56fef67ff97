//! A piece of work for one pod, and how it ended.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use witlet_core::pod::checkpoint::{EndReport, PodCheckpoint};
use witlet_core::pod::worker::{Outcome, RequeueCause, Work};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::UserNamespace;
use witlet_core::status::{AdmissionPending, PendingEdit, ResizePending};
use witlet_ports::EventSink;

use super::events::PodEvents;
use super::image_handlers::ImageAdmission;
use super::memory::PodMemory;

/// A piece of work with all that it needs.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) uid: PodUid,
    pub(crate) full_name: PodFullName,
    pub(crate) work: Work,
    pub(crate) memory: PodMemory,
    /// A resize that the node hasn't granted.
    pub(crate) resize_pending: Option<ResizePending>,
    /// The pod ran before, and nothing of its spec that is other than it was is admitted yet.
    pub(crate) admission_pending: Option<AdmissionPending>,
    /// Edits of the pod that weren't admitted.
    pub(crate) pending_edits: Vec<PendingEdit>,
    /// What handlers are asked about images with; none where no handler answers that.
    pub(crate) image_admission: Option<ImageAdmission>,
    /// The ids of a pod with a user namespace of its own.
    pub(crate) user_namespace: Option<UserNamespace>,
    /// The pod is only remembered: its source hasn't reported since the agent's start.
    pub(crate) is_restored: bool,
    /// What has to be on disk.
    pub(crate) to_save: ToSave,
    pub(crate) saved: Saved,
    /// Cuts the work short where it waits.
    pub(crate) cancel: CancellationToken,
}

impl Job {
    pub(super) fn events<'a>(&self, sink: &'a dyn EventSink) -> PodEvents<'a> {
        PodEvents::new(sink, &self.full_name, &self.uid)
    }
}

/// How a piece of work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) outcome: Outcome,
    /// What decides when the pod is checked again.
    pub(crate) cause: RequeueCause,
}

impl End {
    pub(super) const DONE: Self = Self { outcome: Outcome::Done, cause: RequeueCause::Resync };
    pub(super) const FAILED: Self = Self { outcome: Outcome::Failed, cause: RequeueCause::Error };
    /// Cut short for something more urgent, which waits already.
    pub(super) const CUT: Self = Self { outcome: Outcome::Failed, cause: RequeueCause::Resync };

    /// Something went wrong; what was only cut short didn't.
    pub(super) fn has_failed(self) -> bool {
        self.outcome == Outcome::Failed && self.cause != RequeueCause::Resync
    }
}

/// What a restarted agent has to know of a pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToSave {
    /// The pod's checkpoint; none for one that no source has.
    pub(crate) checkpoint: Option<Arc<PodCheckpoint>>,
    /// It isn't on disk so.
    pub(crate) is_unsaved: bool,
    /// The version of the allocated resources that has the pod's.
    pub(crate) allocation: Option<u64>,
    /// Nothing may be made of the pod before it is saved.
    pub(crate) blocks: bool,
}

/// What was saved in the course of a piece of work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Saved {
    pub(crate) checkpoint: Option<Arc<PodCheckpoint>>,
    /// The version of the allocated resources.
    pub(crate) allocation: Option<u64>,
    /// The report that the node ended the pod, which was made.
    pub(crate) reported: Option<EndReport>,
    /// Why something couldn't be.
    pub(crate) failure: Option<String>,
}
