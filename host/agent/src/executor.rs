//! Carries out one piece of work for one pod: a sync, its end, its last status.
//!
//! What is to be done is decided by `witlet_core`; here it is done, step by step, and reported as events and statuses.

mod cgroup;
mod cut;
pub(crate) mod events;
pub(crate) mod hooks;
mod host;
mod image_admission;
pub(crate) mod image_handlers;
pub(crate) mod images;
mod job;
pub(crate) mod kill;
mod memory;
mod mounts;
mod objects;
mod resize;
mod save;
mod start;
mod sync;
mod terminate;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use tokio::sync::watch;
use tracing::Instrument as _;
use witlet_core::container::plan::resize::{ResizeFacts, in_progress};
use witlet_core::node::NodeFacts;
use witlet_core::pod::worker::{Task, Work};
use witlet_core::runtime::{ContainerId, ObservedPod, RuntimeHandler};
use witlet_core::status::{self, ResizeInProgress, ResizeStatus, StartedContainers, StatusInput};
use witlet_core::trace;
use witlet_ports::{
    Clock, ClusterObjects, ContainerFiles, EventSink, HostFiles, PodFiles, Runtime, RuntimeError, Tracer,
    Volumes,
};

use crate::cache::PodCache;
use crate::cgroups::CgroupManager;
use crate::handlers_node::HandlersNode;
use crate::health::Health;
use crate::metrics::{PodMetrics, ResizeMetrics};
use crate::pleg::{Inspector, RelistRequests};
use crate::pod_status_store::PodStatusStore;
use crate::prober::ProberHandle;
use crate::removals::Removals;
use crate::resource_table::ResourceTable;
use crate::settings::HostSettings;
use events::PodEvents;
use image_handlers::ImageHandlers;
use images::Images;
use kill::Killer;

pub(crate) use job::{End, Job, Saved, ToSave};
pub(crate) use memory::PodMemory;
pub(crate) use save::show_node_end;

/// Carries work out. One for all pods.
pub(crate) struct Executor {
    pub(crate) runtime: Runtime,
    pub(crate) files: Arc<dyn PodFiles>,
    pub(crate) volumes: Arc<dyn Volumes>,
    /// What the clean-up removes of pods that were here before.
    pub(crate) removals: Arc<Removals>,
    pub(crate) container_files: Arc<dyn ContainerFiles>,
    pub(crate) killer: Killer,
    pub(crate) objects: Arc<dyn ClusterObjects>,
    pub(crate) events: Arc<dyn EventSink>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cache: Arc<PodCache>,
    pub(crate) inspector: Inspector,
    pub(crate) statuses: Arc<PodStatusStore>,
    pub(crate) prober: ProberHandle,
    pub(crate) metrics: Arc<PodMetrics>,
    pub(crate) tracer: Tracer,
    pub(crate) resizes: Arc<ResizeMetrics>,
    pub(crate) relists: RelistRequests,
    pub(crate) images: Images,
    pub(crate) image_handlers: ImageHandlers,
    pub(crate) node: watch::Receiver<Arc<NodeFacts>>,
    pub(crate) handlers_node: HandlersNode,
    /// How the runtime is.
    pub(crate) health: watch::Receiver<Health>,
    /// What configurations draw from in addition to the pod and the node.
    pub(crate) host: HostSettings,
    pub(crate) host_files: Arc<dyn HostFiles>,
    /// Cgroups of pods and of those above.
    pub(crate) cgroups: Arc<CgroupManager>,
    /// How long a container that could not be made or started is left alone.
    pub(crate) start_retry: SignedDuration,
    /// What running containers were last given.
    pub(crate) actuated: Arc<ResourceTable>,
    /// What pods were allocated.
    pub(crate) allocated: Arc<ResourceTable>,
}

impl Executor {
    /// Does the work, which is a span, and gives the pod's memory back, with what was saved. All that is logged meanwhile has the pod's
    /// name and UID, at any level: a span of a lower level is gone where only errors are asked for, and its keys with it.
    pub(crate) async fn run(&self, job: Box<Job>) -> (PodMemory, Saved, End) {
        let Work { task, kind, .. } = job.work;
        let logged = tracing::error_span!("pod", pod = %job.full_name, pod_uid = %job.uid);
        let mut span = self.tracer.span(|| trace::pod::work(task, kind, &job.full_name, &job.uid));
        let (memory, saved, end) = span.scope(Box::pin(self.work(job)).instrument(logged)).await;
        if end.has_failed() {
            span.fail_as_noted("not done yet");
        }
        (memory, saved, end)
    }

    /// Each stage is an allocation of its own: a burst of pods holds only the stages that they are in.
    async fn work(&self, mut job: Box<Job>) -> (PodMemory, Saved, End) {
        if let Some(end) = Box::pin(self.save_first(&mut job)).await {
            return (job.memory, job.saved, end);
        }
        let pod = job.work.pod.clone();
        let end = match (job.work.task, pod) {
            (Task::Sync, Some(pod)) => Box::pin(self.sync(&mut job, &pod)).await,
            // Only the runtime has it: there is nothing that it should be like.
            (Task::Sync, None) => End::DONE,
            (Task::Terminate { grace_seconds, .. }, pod) => {
                Box::pin(self.terminate(&mut job, pod.as_deref(), grace_seconds)).await
            }
            (Task::Settle, Some(pod)) => Box::pin(self.settle(&mut job, &pod)).await,
            (Task::Settle, None) => End::DONE,
        };
        let end = match job.work.task {
            Task::Settle if end == End::DONE => Box::pin(self.save_end(&mut job)).await,
            Task::Settle | Task::Sync | Task::Terminate { .. } => end,
        };
        if job.work.task == Task::Settle && end == End::DONE {
            self.objects.unregister(&job.uid);
        }
        (job.memory, job.saved, end)
    }

    fn events<'a>(&'a self, job: &Job) -> PodEvents<'a> {
        job.events(&*self.events)
    }

    /// Returns what the runtime can do for this pod.
    fn handler_of(&self, pod: &Pod) -> RuntimeHandler {
        let class = pod.spec.as_ref().and_then(|spec| spec.runtime_class_name.as_deref()).unwrap_or_default();
        let of_cluster = self.objects.runtime_classes();
        let name = of_cluster.as_ref().and_then(|classes| classes.get(class));
        let name =
            name.or_else(|| self.host.runtime_classes.get(class)).map(String::as_str).unwrap_or_default();
        let health = self.health.borrow();
        health.handlers.iter().find(|handler| handler.name == name).cloned().unwrap_or_default()
    }

    /// Waits for a check of the pod that shows all that was done to it. None if the work was cut short.
    async fn inspect(&self, job: &Job) -> Option<Result<Arc<ObservedPod>, RuntimeError>> {
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => None,
            inspection = self.cache.newer_than(&job.uid, job.memory.acted) => Some(inspection),
        }
    }

    /// Something was done to the pod: only a check from now on counts, and one is asked for.
    fn acted(&self, job: &mut Job) {
        job.memory.acted = self.cache.stamp();
        self.relists.request(&job.uid);
    }

    /// Generates the pod's status from what was seen and shows it. A status that would bring containers back which
    /// had ended for good isn't shown.
    fn publish(&self, job: &Job, pod: &Pod, observed: &ObservedPod, ends: bool) -> PodStatus {
        let previous = self.statuses.status(&job.uid);
        let (node, health) = (self.node.borrow().clone(), self.health.borrow().clone());
        let probes = self.prober.results(&job.uid);
        let none_started = StartedContainers::new();
        let started_before = job.to_save.checkpoint.as_ref().map(|checkpoint| checkpoint.started());
        let resize = self.resize_status(job, pod, observed);
        let status = status::generate(StatusInput {
            pod,
            observed,
            previous: previous.as_deref(),
            host_ips: &node.addresses,
            runtime_name: &health.runtime_name,
            recursive_read_only: self.handler_of(pod).recursive_read_only_mounts,
            waiting: &job.memory.waiting,
            probes: &probes,
            started_before: started_before.unwrap_or(&none_started),
            resize: &resize,
            ends,
            now: self.clock.now(),
        });
        let mut status = status;
        if let Some(pending) = &job.admission_pending {
            let now = self.clock.now();
            status::put_admission_pending(&mut status, pod, pending, previous.as_deref(), now);
        }
        status::put_pending_edits(&mut status, &job.pending_edits, previous.as_deref(), self.clock.now());
        self.show(job, pod, previous.as_deref(), status.clone());
        self.probe_what_may_be_ready(job, &status);
        status
    }

    /// A container that has started and isn't ready is probed out of turn (upstream: `UpdatePodStatus` of the probe
    /// manager). The probe manager leaves alone what has no readiness probe.
    fn probe_what_may_be_ready(&self, job: &Job, status: &PodStatus) {
        let init = status.init_container_statuses.iter().flatten();
        for container in init.chain(status.container_statuses.iter().flatten()) {
            let runs = container.state.as_ref().is_some_and(|state| state.running.is_some());
            if runs && container.started == Some(true) && !container.ready {
                self.prober.probe_readiness_now(&job.uid, &container.name);
            }
        }
    }

    fn resize_status(&self, job: &Job, pod: &Pod, observed: &ObservedPod) -> ResizeStatus {
        let in_progress = in_progress(pod, observed, self.resize_facts(&job.memory));
        ResizeStatus {
            pending: job.resize_pending.clone(),
            in_progress: in_progress.then(|| ResizeInProgress {
                error: job.memory.resize_error.clone(),
                generation: pod.metadata.generation,
            }),
        }
    }

    /// What containers use isn't measured, so that a limit below that is the runtime's to refuse.
    fn resize_facts<'a>(&self, memory: &'a PodMemory) -> ResizeFacts<'a> {
        const UNKNOWN: &BTreeMap<ContainerId, i64> = &BTreeMap::new();
        ResizeFacts {
            actuated: &memory.actuated,
            memory_usage: UNKNOWN,
            pod_cgroup: memory.pod_cgroup,
            cpu_quota: self.cgroups.settings.cpu_quota,
            cgroup_driver: self.cgroups.state().driver(),
        }
    }

    fn show(&self, job: &Job, pod: &Pod, previous: Option<&PodStatus>, status: PodStatus) {
        let legal = previous.map_or(Ok(()), |old| status::check_container_transition(pod, old, &status));
        match legal {
            Ok(()) => {
                self.statuses.put_status(&job.uid, status);
            }
            Err(error) => {
                tracing::error!(pod = %job.full_name, %error, "Failed to take over the status of a pod")
            }
        }
    }
}
