//! Makes sandboxes and starts containers in them.

use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod};
use witlet_core::container::config::{
    ContainerInput, Host, ImageFacts, Objects, SandboxInput, container_config, sandbox_config,
};
use witlet_core::container::hash::container_hash;
use witlet_core::container::plan::StartContainer;
use witlet_core::container::plan::sandbox::network_of;
use witlet_core::runtime::{NamespaceMode, ObservedPod, SandboxId};
use witlet_core::status::{Waiting, WaitingReason};

use super::images::ImageError;
use super::{Executor, Job};
use witlet_core::error::one_line;

/// The sandbox that containers are started in.
#[derive(Debug)]
pub(super) struct Place {
    id: SandboxId,
    attempt: u32,
    ips: Vec<IpAddr>,
}

impl Place {
    /// A sandbox that the pod has.
    pub(super) fn existing(id: &SandboxId, observed: &ObservedPod) -> Option<Self> {
        let sandbox = observed.sandboxes.iter().find(|sandbox| sandbox.id == *id)?;
        Some(Self { id: id.clone(), attempt: sandbox.attempt, ips: sandbox.ips.clone() })
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
struct Refusal {
    reason: WaitingReason,
    message: String,
}

impl Executor {
    /// Makes the pod's sandbox. A failure is told as an event; so is not knowing its addresses, without which no
    /// container can be told them.
    pub(super) async fn create_sandbox(&self, job: &Job, pod: &Pod, attempt: u32) -> Result<Place, ()> {
        let failed = |error: &dyn std::error::Error| {
            let message = format!("Failed to create pod sandbox: {}", one_line(error));
            self.events(job).warning("FailedCreatePodSandBox", &message);
        };
        let log_directory = self.files.log_directory(&job.full_name, &job.uid);
        let node = self.node.borrow().clone();
        let config = sandbox_config(SandboxInput {
            pod,
            attempt,
            log_directory: &log_directory,
            user_namespace: None,
            host: Host::new(&node, &self.seccomp_root),
        })
        .map_err(|error| failed(&error))?;
        let id = self.runtime.sandboxes.run(&config).await.map_err(|error| failed(&error))?;
        if network_of(pod) == NamespaceMode::Node {
            return Ok(Place { id, attempt, ips: Vec::new() });
        }
        let seen = self.runtime.view.pod_status(&job.uid).await.map_err(|error| {
            let message = format!("Unable to get pod sandbox status: {}", one_line(&error));
            self.events(job).warning("FailedPodSandBoxStatus", &message);
        })?;
        let sandbox = seen.sandboxes.into_iter().find(|sandbox| sandbox.id == id);
        Ok(Place { id, attempt, ips: sandbox.map(|sandbox| sandbox.ips).unwrap_or_default() })
    }

    /// Fetches the image, makes the container and starts it. What fails is told as events and becomes the container's
    /// waiting reason.
    pub(super) async fn start_container(
        &self,
        job: &mut Job,
        pod: &Pod,
        start: &StartContainer,
        place: Option<&Place>,
    ) -> StartEnd {
        let container = pod.spec.as_ref().and_then(|spec| spec.containers.get(start.index));
        let (Some(container), Some(place)) = (container, place) else {
            tracing::error!(pod = %job.full_name, container = %start.name, "planned without a sandbox or a spec");
            return StartEnd::Failed;
        };
        let hash = container_hash(container);
        let now = self.clock.now();
        if let Some(until) = job.memory.left_alone_until(&start.name, &hash, now, self.start_retry) {
            return StartEnd::BackOff(until);
        }
        if let Some(crash) = &start.crash {
            job.memory.restarts.record(crash.key.clone(), crash.finished_at, now);
        }
        let events = self.events(job);
        let (uid, cancel) = (job.uid.clone(), job.cancel.clone());
        let image = self.images.ensure(&uid, container, &mut job.memory, &events, &cancel).await;
        let image = match image {
            Ok(image) => image,
            Err(error) => return self.image_missing(job, &start.name, &error),
        };
        match self.create_and_start(job, pod, container, start, place, &image).await {
            Ok(()) => {
                job.memory.started(&start.name);
                StartEnd::Started
            }
            Err(Refusal { reason, message }) => {
                self.events(job).warning("Failed", &format!("Error: {message}"));
                job.memory.start_failed(&start.name, hash, self.clock.now(), self.start_retry);
                job.memory.waiting.insert(start.name.clone(), Waiting { reason, message });
                StartEnd::Failed
            }
        }
    }

    fn image_missing(&self, job: &mut Job, container: &str, error: &ImageError) -> StartEnd {
        let Some(reason) = error.waiting_reason() else { return StartEnd::Cut };
        let waiting = Waiting { reason, message: one_line(error) };
        job.memory.waiting.insert(container.to_owned(), waiting);
        match error {
            ImageError::BackOff { wait, .. } => StartEnd::BackOff(wait.until),
            ImageError::InvalidName { .. }
            | ImageError::Inspect { .. }
            | ImageError::NeverPull { .. }
            | ImageError::Pull { .. }
            | ImageError::Cut { .. } => StartEnd::Failed,
        }
    }

    async fn create_and_start(
        &self,
        job: &Job,
        pod: &Pod,
        container: &Container,
        start: &StartContainer,
        place: &Place,
        image: &str,
    ) -> Result<(), Refusal> {
        let refuse =
            |reason| move |error: &dyn std::error::Error| Refusal { reason, message: one_line(error) };
        let no_config = refuse(WaitingReason::CreateContainerConfigError);
        let log_directory = self.files.log_directory(&job.full_name, &job.uid);
        let node = self.node.borrow().clone();
        let host = Host::new(&node, &self.seccomp_root);
        let sandbox = sandbox_config(SandboxInput {
            pod,
            attempt: place.attempt,
            log_directory: &log_directory,
            user_namespace: None,
            host,
        })
        .map_err(|e| no_config(&e))?;
        let config = container_config(ContainerInput {
            pod,
            container,
            restart_count: start.restart_count,
            image: ImageFacts { reference: image, ..ImageFacts::default() },
            pod_ips: &place.ips,
            mounts: &[],
            devices: &[],
            pid_target: None,
            objects: Objects::default(),
            host,
        })
        .map_err(|e| no_config(&e))?;
        let containers = &self.runtime.containers;
        let id = containers
            .create(&place.id, &config, &sandbox)
            .await
            .map_err(|e| refuse(WaitingReason::CreateContainerError)(&e))?;
        self.events(job).normal("Created", &format!("Created container {}", start.name));
        containers.start(&id).await.map_err(|e| refuse(WaitingReason::RunContainerError)(&e))?;
        self.events(job).normal("Started", &format!("Started container {}", start.name));
        Ok(())
    }
}
