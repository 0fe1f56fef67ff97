//! What is saved of a pod before anything is done to it, and once it has ended.

use std::sync::Arc;
use std::time::Duration;

use witlet_core::error::one_line;
use witlet_core::pod::checkpoint::PodCheckpoint;
use witlet_core::pod::worker::{Outcome, RequeueCause, Task};
use witlet_core::status::Phase;
use witlet_ports::FilesError;

use super::{End, Executor, Job};

/// A pod that waits for the disk tries again after this.
const SAVE_RETRY: Duration = Duration::from_secs(1);

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
    /// The checkpoint.
    pub(crate) checkpoint: Option<Arc<PodCheckpoint>>,
    /// The version of the allocated resources.
    pub(crate) allocation: Option<u64>,
    /// Why something couldn't be.
    pub(crate) failure: Option<String>,
}

impl Executor {
    /// Saves what has to be. Gives the end of work that must not begin without it.
    pub(super) async fn save_first(&self, job: &mut Job) -> Option<End> {
        let error = match self.save(job).await {
            Ok(()) => {
                job.memory.is_unsaved = false;
                return None;
            }
            Err(error) => one_line(&error),
        };
        let waits = job.to_save.blocks && job.work.task == Task::Sync;
        tracing::warn!(pod = %job.full_name, error, waits, "Failed to save the pod's state");
        if waits && !std::mem::replace(&mut job.memory.is_unsaved, true) {
            let message = format!("The pod waits, for the agent's state can't be saved: {error}");
            self.events(job).warning("FailedSaveState", &message);
        }
        job.saved.failure = Some(error);
        waits.then_some(End { outcome: Outcome::Failed, cause: RequeueCause::BackOff(SAVE_RETRY) })
    }

    async fn save(&self, job: &mut Job) -> Result<(), FilesError> {
        if let Some(version) = job.to_save.allocation {
            self.allocated.save(version).await?;
            job.saved.allocation = Some(version);
        }
        match job.to_save.checkpoint.clone().filter(|_| job.to_save.is_unsaved) {
            Some(checkpoint) => self.write(job, checkpoint).await,
            None => Ok(()),
        }
    }

    async fn write(&self, job: &mut Job, checkpoint: Arc<PodCheckpoint>) -> Result<(), FilesError> {
        // A pod with this UID may have been here before.
        self.removals.none_of(&job.uid).await;
        self.files.write_checkpoint(&job.uid, &checkpoint.encode()).await?;
        job.saved.checkpoint = Some(checkpoint);
        Ok(())
    }

    /// What a pod ended with isn't to be seen from its containers alone after a restart. One that is to be deleted goes without
    /// that, should the disk be full.
    pub(super) async fn save_end(&self, job: &mut Job) -> End {
        let status = self.statuses.status(&job.uid);
        let status = status.filter(|status| Phase::of(status).is_some_and(Phase::is_terminal));
        let (Some(before), Some(status)) = (job.to_save.checkpoint.clone(), status) else {
            return End::DONE;
        };
        let mut checkpoint = before.clone();
        Arc::make_mut(&mut checkpoint).end(&status);
        if checkpoint == before && (!job.to_save.is_unsaved || job.saved.checkpoint.is_some()) {
            return End::DONE;
        }
        let Err(error) = self.write(job, checkpoint).await else { return End::DONE };
        tracing::warn!(pod = %job.full_name, error = one_line(&error), "Failed to save how the pod ended");
        let is_deleted = job.work.pod.as_ref().is_some_and(|pod| pod.metadata.deletion_timestamp.is_some());
        if is_deleted { End::DONE } else { End::FAILED }
    }
}
