//! What is saved of a pod before anything is done to it, and once it has ended; what is reported once it is saved.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::error::one_line;
use witlet_core::pod::checkpoint::{EndReport, PodCheckpoint};
use witlet_core::pod::worker::{Outcome, RequeueCause, Task};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::status::{self, NodeEnd, Phase};
use witlet_ports::{EventSink, FilesError};

use super::events::PodEvents;
use super::{End, Executor, Job};
use crate::pod_status_store::PodStatusStore;

/// A pod that waits for the disk tries again after this.
const SAVE_RETRY: Duration = Duration::from_secs(1);

impl Executor {
    /// Saves what has to be, and reports what was waiting for that. Gives the end of work that must not begin without it.
    pub(super) async fn save_first(&self, job: &mut Job) -> Option<End> {
        match self.save(job).await {
            Ok(()) => job.memory.is_unsaved = false,
            Err(error) => {
                if let Some(end) = self.save_failed(job, one_line(&error)) {
                    return Some(end);
                }
            }
        }
        self.report_node_end(job).await;
        None
    }

    fn save_failed(&self, job: &mut Job, error: String) -> Option<End> {
        let waits = job.to_save.blocks && job.work.task == Task::Sync;
        tracing::warn!(pod = %job.full_name, error, waits, "Failed to save the pod's state");
        if waits && !std::mem::replace(&mut job.memory.is_unsaved, true) {
            let message = format!("Failed to save the pod's state, the pod waits: {error}");
            self.events(job).warning("FailedSaveState", &message);
        }
        job.saved.failure = Some(error);
        waits.then_some(End { outcome: Outcome::Failed, cause: RequeueCause::BackOff(SAVE_RETRY) })
    }

    /// Reports that the node ends the pod. It is on disk by now, so that a restarted agent goes on with what was reported; only where
    /// the disk is full the pod ends without that. Then it is saved that it was reported: an agent that is killed in between has its
    /// successor report it again, as the same event.
    async fn report_node_end(&self, job: &mut Job) {
        let (Some(mut checkpoint), Some(pod)) = (job.to_save.checkpoint.clone(), job.work.pod.clone()) else {
            return;
        };
        let (events, statuses) = (&*self.events, &*self.statuses);
        let shown = show_node_end(events, statuses, &job.full_name, &job.uid, &pod, &checkpoint);
        let Some(report) = shown else { return };
        Arc::make_mut(&mut checkpoint).reported(&report);
        job.to_save.checkpoint = Some(checkpoint.clone());
        job.saved.reported = Some(report);
        if let Err(error) = self.write(job, checkpoint).await {
            let error = one_line(&error);
            tracing::warn!(pod = %job.full_name, error, "Failed to save that the pod's end was reported");
            (job.to_save.is_unsaved, job.saved.checkpoint) = (true, None);
        }
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

/// The event and the status of a pod that the node ends, as its checkpoint has it. Gives the report that was made, if one was to be.
pub(crate) fn show_node_end(
    events: &dyn EventSink,
    statuses: &PodStatusStore,
    full_name: &PodFullName,
    uid: &PodUid,
    pod: &Pod,
    checkpoint: &PodCheckpoint,
) -> Option<EndReport> {
    let report = checkpoint.unreported()?.clone();
    let end = NodeEnd::of(checkpoint.ended()?)?;
    PodEvents::new(events, full_name, uid).ended_by_node(&end.reason, &end.message, report.clone());
    // What was seen of the containers since it was decided stays.
    let last = statuses.status(uid).unwrap_or_default();
    statuses.put_status(uid, status::ended_by_node(pod, &last, &end, report.at));
    Some(report)
}
