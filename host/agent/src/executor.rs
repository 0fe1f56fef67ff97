//! Carries out one piece of work for one pod: a sync, its end, its last status.
//!
//! What is to be done is decided by `witlet_core`; here it is done, step by step, and told as events and statuses.

pub(crate) mod events;
pub(crate) mod images;
mod memory;
mod start;
mod sync;
mod terminate;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use witlet_core::container::plan::{KillContainer, KillPod, ProbeFailure};
use witlet_core::node::NodeFacts;
use witlet_core::pod::worker::{Outcome, RequeueCause, Task, Work};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::{ContainerId, ObservedPod};
use witlet_core::status::{self, StatusInput};
use witlet_ports::{Clock, EventSink, PodFiles, Runtime, RuntimeError};

use crate::board::Board;
use crate::cache::PodCache;
use crate::health::Health;
use crate::pleg::RelistRequests;
use events::PodEvents;
use images::Images;

pub(crate) use memory::PodMemory;

/// A piece of work with all that it needs.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) uid: PodUid,
    pub(crate) full_name: PodFullName,
    pub(crate) work: Work,
    pub(crate) memory: PodMemory,
    /// Running containers that failed their liveness or startup probe.
    pub(crate) probe_failures: BTreeMap<ContainerId, ProbeFailure>,
    /// Cuts the work short where it waits.
    pub(crate) cancel: CancellationToken,
}

/// How a piece of work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) outcome: Outcome,
    /// What decides when the pod is looked at again.
    pub(crate) cause: RequeueCause,
}

impl End {
    const DONE: Self = Self { outcome: Outcome::Done, cause: RequeueCause::Resync };
    const FAILED: Self = Self { outcome: Outcome::Failed, cause: RequeueCause::Error };
    /// Cut short for something more urgent, which waits already.
    const CUT: Self = Self { outcome: Outcome::Failed, cause: RequeueCause::Resync };
}

/// Carries work out. One for all pods.
pub(crate) struct Executor {
    pub(crate) runtime: Runtime,
    pub(crate) files: Arc<dyn PodFiles>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cache: Arc<PodCache>,
    pub(crate) board: Arc<Board>,
    pub(crate) relists: RelistRequests,
    pub(crate) images: Images,
    pub(crate) node: watch::Receiver<Arc<NodeFacts>>,
    /// How the runtime is.
    pub(crate) health: watch::Receiver<Health>,
    /// Folder that seccomp profiles are relative to.
    pub(crate) seccomp_root: PathBuf,
    /// How long a container that could not be made or started is left alone.
    pub(crate) start_retry: SignedDuration,
}

impl Executor {
    /// Does the work and gives the pod's memory back.
    pub(crate) async fn run(&self, mut job: Job) -> (PodMemory, End) {
        let pod = job.work.pod.clone();
        let end = match (job.work.task, pod) {
            (Task::Sync, Some(pod)) => self.sync(&mut job, &pod).await,
            // Only the runtime has it: there is nothing that it should be like.
            (Task::Sync, None) => End::DONE,
            (Task::Terminate { grace_seconds, .. }, pod) => {
                self.terminate(&mut job, pod.as_deref(), grace_seconds).await
            }
            (Task::Settle, Some(pod)) => self.settle(&mut job, &pod).await,
            (Task::Settle, None) => End::DONE,
        };
        (job.memory, end)
    }

    fn events<'a>(&'a self, job: &Job) -> PodEvents<'a> {
        PodEvents::new(&*self.events, &job.full_name, &job.uid)
    }

    /// Stops all containers at once, then the sandboxes. Tries all, and gives the first error back.
    async fn kill_pod(&self, job: &Job, kill: &KillPod) -> Result<(), RuntimeError> {
        let stops = kill.containers.iter().map(|container| self.kill_container(job, container));
        let stopped = futures::future::join_all(stops).await;
        let mut result: Result<(), RuntimeError> = stopped.into_iter().collect();
        for sandbox in &kill.sandboxes {
            result = result.and(self.runtime.sandboxes.stop(sandbox).await);
        }
        result
    }

    async fn kill_container(&self, job: &Job, kill: &KillContainer) -> Result<(), RuntimeError> {
        self.events(job).normal("Killing", &kill.message);
        let grace = Duration::from_secs(u64::try_from(kill.grace_seconds).unwrap_or_default());
        self.runtime.containers.stop(&kill.id, grace).await
    }

    /// Waits for a look at the pod that shows all that was done to it. None if the work was cut short.
    async fn look(&self, job: &Job) -> Option<Result<Arc<ObservedPod>, RuntimeError>> {
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => None,
            look = self.cache.newer_than(&job.uid, job.memory.acted) => Some(look),
        }
    }

    /// Something was done to the pod: only a look from now on counts, and one is asked for.
    fn acted(&self, job: &mut Job) {
        job.memory.acted = self.cache.stamp();
        self.relists.request(&job.uid);
    }

    /// Generates the pod's status from what was seen and shows it. A status that would bring containers back which
    /// had ended for good isn't shown.
    fn publish(&self, job: &Job, pod: &Pod, observed: &ObservedPod, ends: bool) -> PodStatus {
        let previous = self.board.status(&job.uid);
        let (node, health) = (self.node.borrow().clone(), self.health.borrow().clone());
        let status = status::generate(StatusInput {
            pod,
            observed,
            previous: previous.as_deref(),
            host_ips: &node.addresses,
            runtime_name: &health.runtime_name,
            waiting: &job.memory.waiting,
            probes: &BTreeMap::new(),
            ends,
            now: self.clock.now(),
        });
        self.show(job, pod, previous.as_deref(), status.clone());
        status
    }

    fn show(&self, job: &Job, pod: &Pod, previous: Option<&PodStatus>, status: PodStatus) {
        let legal = previous.map_or(Ok(()), |old| status::check_container_transition(pod, old, &status));
        match legal {
            Ok(()) => {
                self.board.put_status(&job.uid, status);
            }
            Err(error) => tracing::error!(pod = %job.full_name, %error, "status not taken over"),
        }
    }
}
