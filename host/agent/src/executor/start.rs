//! Makes sandboxes and starts containers in them.

use std::net::IpAddr;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, LifecycleHandler, Pod};
use thiserror::Error;
use tokio::time::Instant;
use witlet_core::admission::image::HeldContainer;
use witlet_core::container::hash::container_hash;
use witlet_core::container::plan::sandbox::network_of;
use witlet_core::container::plan::{
    ContainerKind, GRACE_SECONDS_MIN, KillContainer, KillReason, StartContainer, container_at,
    ephemeral_containers, grace_seconds,
};
use witlet_core::container::spec::{
    ContainerInput, ImageFacts, Objects, SandboxInput, SpecError, container_spec, sandbox_spec,
};
use witlet_core::event::{Event, EventObject};
use witlet_core::network::dns;
use witlet_core::pod::allocation::ContainerResources;
use witlet_core::pod::{user_namespace, void_limits};
use witlet_core::runtime::{ContainerId, ContainerSpec, NamespaceMode, ObservedPod, SandboxId, SandboxSpec};
use witlet_core::status::{Waiting, WaitingReason};
use witlet_ports::RuntimeError;

use super::cut::until_cut;
use super::hooks::{HOOK_MAX, HookRun};
use super::host::HostNow;
use super::image_admission::ImageEnd;
use super::images::{ImageError, ImageRequest, ReadyImage};
use super::mounts::{MountsOf, VolumePaths};
use super::objects;
use super::{Executor, Job};
use witlet_core::error::one_line;

/// The sandbox that containers are started in.
#[derive(Debug)]
pub(super) struct PodSandbox {
    id: SandboxId,
    attempt: u32,
    /// None on the host network.
    ips: Vec<IpAddr>,
    /// What was seen of the pod when the sandbox was.
    seen: Arc<ObservedPod>,
}

impl PodSandbox {
    /// A sandbox that the pod has.
    pub(super) fn existing(id: &SandboxId, observed: &Arc<ObservedPod>) -> Option<Self> {
        let sandbox = observed.sandboxes.iter().find(|sandbox| sandbox.id == *id)?;
        let (attempt, ips) = (sandbox.attempt, sandbox.ips.clone());
        Some(Self { id: id.clone(), attempt, ips, seen: observed.clone() })
    }

    /// Returns the runtime's name of it.
    pub(super) fn id(&self) -> &SandboxId {
        &self.id
    }
}

/// What became of a container that was to start.
pub(super) enum StartEnd {
    Started,
    Failed,
    /// Nothing failed now, but something failed lately: to be tried again then.
    BackOff(Timestamp),
    /// More urgent work waits.
    Cut,
}

/// Why a container doesn't run.
enum Refusal {
    /// It could not be made or started. It is left alone for a while.
    Start(Waiting),
    /// Its postStart hook failed, and it was stopped again: its end counts as a crash.
    Hook(Waiting),
    /// More urgent work waits.
    Cut,
}

/// Upstream shows the runtime's words alone.
fn refused_by_runtime(reason: WaitingReason, error: &RuntimeError) -> Refusal {
    Refusal::Start(Waiting { reason, message: error.message() })
}

fn refuse(reason: WaitingReason) -> impl Fn(&dyn std::error::Error) -> Refusal {
    move |error| Refusal::Start(Waiting { reason, message: one_line(error) })
}

/// What all sandboxes and containers of a sync are made from.
#[derive(Clone, Copy)]
pub(super) struct SyncContext<'a> {
    pub(super) pod: &'a Pod,
    pub(super) volumes: &'a VolumePaths,
    pub(super) host: &'a HostNow<'a>,
}

/// One container that is started.
#[derive(Clone, Copy)]
struct StartArgs<'a> {
    context: SyncContext<'a>,
    container: &'a Container,
    start: &'a StartContainer,
    pod_sandbox: &'a PodSandbox,
    sandbox: &'a SandboxSpec,
}

impl Executor {
    /// Makes the pod's sandbox. A failure is reported as an event, unless the pod is to end anyway; so is not knowing the
    /// sandbox's addresses, without which no container gets them.
    pub(super) async fn create_sandbox(
        &self,
        job: &Job,
        context: SyncContext<'_>,
        attempt: u32,
    ) -> Result<PodSandbox, ()> {
        let pod = context.pod;
        let failed = |error: String| {
            if !job.cancel.is_cancelled() {
                let message = format!("Failed to create pod sandbox: {error}");
                self.events(job).warning("FailedCreatePodSandBox", &message);
            }
        };
        let spec = self.sandbox_spec(job, context, attempt).map_err(|error| failed(one_line(&error)))?;
        self.tell_of_dns(job, context);
        if let Some(message) = void_limits::message(pod) {
            self.events(job).warning(void_limits::REASON, &message);
        }
        if let Some(ids) = &spec.user_namespace {
            let file = user_namespace::to_file(ids);
            let written = self.files.write_user_namespace(&job.uid, &file).await;
            written.map_err(|error| failed(one_line(&error)))?;
        }
        let begun = Instant::now();
        let run = self.runtime.sandboxes.run(&spec).await;
        self.metrics.sandbox_ran(&spec.runtime_handler, begun.elapsed(), run.is_err());
        let id = run.map_err(|error| failed(error.status_text()))?;
        let seen = self.inspector.inspect(&job.uid).await.map_err(|error| {
            let message = format!("Unable to get pod sandbox status: {}", error.status_text());
            self.events(job).warning("FailedPodSandBoxStatus", &message);
        })?;
        // The condition `PodReadyToStartContainers` doesn't wait for images.
        self.publish(job, pod, &seen, false);
        let sandbox = seen.sandboxes.iter().find(|sandbox| sandbox.id == id);
        let ips = match network_of(pod) {
            NamespaceMode::Node => Vec::new(),
            NamespaceMode::Pod | NamespaceMode::Container => {
                sandbox.map(|sandbox| sandbox.ips.clone()).unwrap_or_default()
            }
        };
        Ok(PodSandbox { id, attempt, ips, seen })
    }

    /// What could not be taken over into the pod's resolv.conf.
    fn tell_of_dns(&self, job: &Job, context: SyncContext<'_>) {
        let Ok(of_pod) = dns::of_pod(context.pod, context.host.facts()) else { return };
        for warning in of_pod.warnings {
            self.events(job).warning(warning.reason, &warning.message);
            if let Some(message) = warning.on_node {
                let (object, kind) = (EventObject::Node, dns::Warning::KIND);
                self.events.record(Event::new(object, kind, warning.reason, message));
            }
        }
    }

    fn sandbox_spec(
        &self,
        job: &Job,
        context: SyncContext<'_>,
        attempt: u32,
    ) -> Result<SandboxSpec, SpecError> {
        let log_directory = self.files.log_directory(&job.full_name, &job.uid);
        sandbox_spec(SandboxInput {
            pod: context.pod,
            attempt,
            log_directory: &log_directory,
            user_namespace: job.user_namespace.as_ref(),
            host: context.host.facts(),
        })
    }

    /// Fetches the image, makes the container and starts it. What fails is reported as events and becomes the container's
    /// waiting reason.
    pub(super) async fn start_container(
        &self,
        job: &mut Job,
        context: SyncContext<'_>,
        start: &StartContainer,
        pod_sandbox: Option<&PodSandbox>,
    ) -> StartEnd {
        let pod = context.pod;
        let found = container_at(pod, start.kind, start.index);
        let (Some(found), Some(pod_sandbox)) = (found, pod_sandbox) else {
            tracing::error!(pod = %job.full_name, container_name = %start.name, "Sync plan has no sandbox or no spec");
            return StartEnd::Failed;
        };
        let container = &*found.container;
        let hash = container_hash(container);
        let now = self.clock.now();
        if let Some(until) = job.memory.left_alone_until(&start.name, &hash, now, self.start_retry) {
            return StartEnd::BackOff(until);
        }
        if let Some(held) = self.image_hold(job, &start.name, &hash, now) {
            // Its crash may have been shown meanwhile.
            job.memory.waiting.insert(start.name.clone(), held.waiting);
            return StartEnd::BackOff(held.until);
        }
        self.metrics.container_starts(start.kind);
        if let Some(crash) = &start.crash {
            job.memory.restarts.record(crash.key.clone(), crash.finished_at, now);
        }
        let sandbox = match self.sandbox_spec(job, context, pod_sandbox.attempt) {
            Ok(sandbox) => sandbox,
            Err(error) => {
                let refusal = refuse(WaitingReason::CreateContainerConfigError)(&error);
                return self.refused(job, pod, start, hash, refusal);
            }
        };
        let events = self.events(job).of(pod, &start.name);
        let (uid, cancel) = (job.uid.clone(), job.cancel.clone());
        let image_request =
            ImageRequest { uid: &uid, pod, container, sandbox: &sandbox, events: &events, cancel: &cancel };
        let ensured = self.images.ensure(image_request, &mut job.memory).await;
        for (from, to) in job.memory.pulled.drain(..) {
            self.statuses.pulled(&uid, from, to);
        }
        let image = match ensured {
            Ok(image) => image,
            Err(error) => return self.image_missing(job, start, &error),
        };
        match self.admit_image(job, container, &hash, &image).await {
            ImageEnd::Admitted => {}
            ImageEnd::Held(held) => return self.image_held(job, pod, start, held),
            ImageEnd::Cut => return StartEnd::Cut,
        }
        let args = StartArgs { context, container, start, pod_sandbox, sandbox: &sandbox };
        match self.create_and_start(job, args, &image).await {
            Ok(()) => StartEnd::Started,
            Err(refusal) => self.refused(job, pod, start, hash, refusal),
        }
    }

    fn refused(
        &self,
        job: &mut Job,
        pod: &Pod,
        start: &StartContainer,
        hash: String,
        refusal: Refusal,
    ) -> StartEnd {
        let waiting = match refusal {
            Refusal::Start(waiting) => {
                let events = self.events(job).of(pod, &start.name);
                events.warning("Failed", &format!("Error: {}", waiting.message));
                job.memory.start_failed(&start.name, hash, self.clock.now(), self.start_retry);
                waiting
            }
            Refusal::Hook(waiting) => waiting,
            Refusal::Cut => return StartEnd::Cut,
        };
        self.metrics.container_failed(start.kind, waiting.reason);
        job.memory.waiting.insert(start.name.clone(), waiting);
        StartEnd::Failed
    }

    fn image_missing(&self, job: &mut Job, start: &StartContainer, error: &ImageError) -> StartEnd {
        let Some(reason) = error.waiting_reason() else { return StartEnd::Cut };
        self.metrics.container_failed(start.kind, reason);
        let waiting = Waiting { reason, message: error.waiting_message() };
        job.memory.waiting.insert(start.name.clone(), waiting);
        match error {
            ImageError::BackOff { wait, .. } => StartEnd::BackOff(wait.until),
            ImageError::InvalidName { .. }
            | ImageError::Inspect { .. }
            | ImageError::NeverPull { .. }
            | ImageError::Intent { .. }
            | ImageError::Pull { .. }
            | ImageError::Cut { .. } => StartEnd::Failed,
        }
    }

    fn image_held(&self, job: &mut Job, pod: &Pod, start: &StartContainer, held: HeldContainer) -> StartEnd {
        let HeldContainer { waiting, until, event } = held;
        if let Some((reason, message)) = event {
            self.events(job).of(pod, &start.name).warning(&reason, &message);
        }
        self.metrics.container_failed(start.kind, waiting.reason);
        job.memory.waiting.insert(start.name.clone(), waiting);
        StartEnd::BackOff(until)
    }

    async fn create_and_start(
        &self,
        job: &mut Job,
        args: StartArgs<'_>,
        image: &ReadyImage,
    ) -> Result<(), Refusal> {
        let StartArgs { container, start, pod_sandbox, sandbox, .. } = args;
        let spec = self.container_spec(job, args, image).await?;
        let containers = &self.runtime.containers;
        let id = containers
            .create(&pod_sandbox.id, &spec, sandbox)
            .await
            .map_err(|error| refused_by_runtime(WaitingReason::CreateContainerError, &error))?;
        let events = self.events(job).of(args.context.pod, &start.name);
        events.normal("Created", "Container created");
        let started = containers.start(&id).await;
        started.map_err(|error| refused_by_runtime(WaitingReason::RunContainerError, &error))?;
        events.normal("Started", "Container started");
        job.memory.started(&start.name);
        job.memory.actuated.insert(id.clone(), ContainerResources::of(args.context.pod, container));
        self.actuated.record(args.context.pod, container);
        let log = sandbox.log_directory.join(&spec.log_path);
        if let Err(error) = self.container_files.link_log(&job.full_name, &start.name, &id, &log).await {
            // Nothing but tools that look for logs there needs it.
            tracing::warn!(pod = %job.full_name, container_name = start.name, error = one_line(&error), "Failed to create legacy symbolic link to the container log");
        }
        let hook = container.lifecycle.as_ref().and_then(|lifecycle| lifecycle.post_start.as_ref());
        match hook {
            Some(handler) => self.run_post_start(job, args, &id, handler).await,
            None => Ok(()),
        }
    }

    async fn container_spec(
        &self,
        job: &Job,
        args: StartArgs<'_>,
        image: &ReadyImage,
    ) -> Result<ContainerSpec, Refusal> {
        let StartArgs { context: SyncContext { pod, volumes, host }, container, start, pod_sandbox, .. } =
            args;
        let refused = refuse(WaitingReason::CreateContainerConfigError);
        let info = image.info.as_ref();
        let env_files = self.read_env_files(container, volumes).await.map_err(|e| refused(&e))?;
        let referenced = objects::of_environment(&*self.objects, pod, container, job.is_restored).await;
        let referenced = referenced.map_err(|e| refused(&e))?;
        let pid_target = pid_target(pod, start, &pod_sandbox.seen).map_err(|e| refused(&e))?;
        let mut spec = container_spec(ContainerInput {
            pod,
            container,
            restart_count: start.restart_count,
            image: ImageFacts {
                reference: &image.reference,
                uid: info.and_then(|info| info.uid),
                username: info.map(|info| info.username.as_str()).unwrap_or_default(),
            },
            pod_ips: &pod_sandbox.ips,
            mounts: &[],
            devices: &[],
            pid_target: pid_target.as_ref(),
            objects: Objects {
                config_maps: Some(&referenced.config_maps),
                secrets: Some(&referenced.secrets),
                env_files: Some(&env_files),
                services: Some(&referenced.services),
            },
            host: host.facts(),
        })
        .map_err(|e| refused(&e))?;
        let mounts = MountsOf {
            pod,
            container,
            restart_count: start.restart_count,
            // Paths below volumes may draw from it.
            env: &spec.env,
            pod_ips: &pod_sandbox.ips,
            volumes,
            host,
        };
        spec.mounts = self.make_mounts(job, mounts).await.map_err(|e| refused(&e))?;
        Ok(spec)
    }

    /// Runs the hook of a container that was just started. Should it fail, the container is stopped. What the hook said may
    /// be secret, and doesn't become part of the event.
    async fn run_post_start(
        &self,
        job: &mut Job,
        args: StartArgs<'_>,
        id: &ContainerId,
        handler: &LifecycleHandler,
    ) -> Result<(), Refusal> {
        let StartArgs { context: SyncContext { pod, .. }, container, start, pod_sandbox, .. } = args;
        let host_ip = || self.node.borrow().addresses.first().copied();
        let pod_ip = match network_of(pod) {
            NamespaceMode::Node => host_ip(),
            NamespaceMode::Pod | NamespaceMode::Container => pod_sandbox.ips.first().copied(),
        };
        let pod_ip = pod_ip.map(|ip| ip.to_string());
        let run = HookRun { container, id, handler, pod_ip: pod_ip.as_deref(), limit: HOOK_MAX };
        let Some(result) = until_cut(job, self.killer.hooks.run(job, run)).await else {
            return Err(Refusal::Cut);
        };
        let Err(failure) = result else { return Ok(()) };
        tracing::warn!(pod = %job.full_name, container_name = start.name, error = one_line(&failure), "Failed to execute PostStartHook");
        self.events(job).of(pod, &start.name).warning("FailedPostStartHook", "PostStartHook failed");
        let kill = KillContainer {
            id: id.clone(),
            name: start.name.clone(),
            grace_seconds: grace_seconds(pod).max(GRACE_SECONDS_MIN),
            reason: KillReason::PodEnds,
            message: "FailedPostStartHook".to_owned(),
            stop_after: Vec::new(),
        };
        match until_cut(job, self.killer.kill_containers(job, Some(pod), &[kill])).await {
            None => return Err(Refusal::Cut),
            Some(Ok(())) => {}
            // It runs on, and the next sync finds it running.
            Some(Err(error)) => {
                let error = one_line(&error);
                tracing::warn!(pod = %job.full_name, container_name = start.name, error, "Failed to stop container");
            }
        }
        let message = run.message(job, &failure);
        Err(Refusal::Hook(Waiting { reason: WaitingReason::PostStartHookError, message }))
    }
}

/// An ephemeral container is to see the processes of a container that isn't there.
#[derive(Debug, Error)]
#[error("unable to find target container {name}")]
struct NoTarget {
    name: String,
}

/// The container whose processes an ephemeral container sees.
fn pid_target(
    pod: &Pod,
    start: &StartContainer,
    seen: &ObservedPod,
) -> Result<Option<ContainerId>, NoTarget> {
    match start.kind {
        ContainerKind::Ephemeral => {
            let ephemeral = ephemeral_containers(pod).get(start.index);
            let target = ephemeral.and_then(|ephemeral| ephemeral.target_container_name.as_deref());
            let Some(name) = target.filter(|name| !name.is_empty()) else { return Ok(None) };
            let id = seen.container(name).map(|container| container.id.clone());
            id.map(Some).ok_or_else(|| NoTarget { name: name.to_owned() })
        }
        ContainerKind::Init | ContainerKind::Sidecar | ContainerKind::App => Ok(None),
    }
}
