//! The runtime ports over the CRI.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, StreamExt, TryStreamExt};
use prost::Message;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::Instant;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    CgroupDriver, ContainerId, ContainerSpec, ExecOutput, ImageAuth, ImageInfo, LinuxResources,
    ObservedContainer, ObservedPod, ObservedSandbox, RuntimeEvent, RuntimePod, RuntimeStatus, RuntimeVersion,
    SandboxId, SandboxSpec,
};
use witlet_ports::{
    Clock, CommandRunner, Containers, Images, PodView, Runtime, RuntimeError, RuntimeInfo, Sandboxes, Tracer,
};
use witlet_proto::cri;

use crate::connection::{Connection, request};
use crate::convert;
use crate::deadlines::Deadlines;
use crate::endpoint::{Endpoint, EndpointError};
use crate::lists::{Entries, LastList, RecentPods};
use crate::operations::RuntimeOperations;

mod checkpoints;
mod image_store;
mod stats;
mod streams;

/// How much longer than a command's own time the runtime may take to tell how it ended.
const EXEC_SLACK: Duration = Duration::from_secs(10);

/// How many status calls one check of a pod has under way.
const STATUS_CALLS_AT_ONCE: usize = 8;

/// The kubelet's own version of the runtime API, which runtimes ignore (`remote_runtime.go`).
const KUBELET_API_VERSION: &str = "0.1.0";

/// Why a client couldn't be made. Whether the runtime answers is seen by the first call.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The address is wrong.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// There is no one to drive the connection.
    #[error("a runtime client needs a tokio runtime to live in")]
    NoTokioRuntime,
}

/// Where the runtime is, and the timeouts of its calls.
#[derive(Clone, Debug)]
pub struct CriOptions {
    pub endpoint: Endpoint,
    /// The image service, if it is elsewhere.
    pub image_endpoint: Option<Endpoint>,
    /// How long calls may take.
    pub deadlines: Deadlines,
}

impl CriOptions {
    /// Both services at one endpoint (`unix:///path` or `/path`), with upstream's deadlines.
    ///
    /// # Errors
    /// The text isn't an endpoint.
    pub fn at(endpoint: &str) -> Result<Self, EndpointError> {
        Ok(Self { endpoint: endpoint.parse()?, image_endpoint: None, deadlines: Deadlines::default() })
    }
}

/// A client of one runtime. Cheap to clone; clones share the connection.
#[derive(Clone)]
pub struct CriClient {
    runtime: Connection,
    images: Connection,
    deadlines: Deadlines,
    clock: Arc<dyn Clock>,
    listed: Arc<LastList>,
    recent: Arc<RecentPods>,
    operations: Arc<RuntimeOperations>,
}

/// The runtime at this endpoint (`unix:///path` or `/path`), with upstream's deadlines. Doesn't wait for it: a
/// runtime that isn't there is reported by each call until it is. Must be called inside a tokio runtime.
///
/// # Errors
/// The text isn't an endpoint, or there is no tokio runtime.
pub fn connect(endpoint: &str, clock: Arc<dyn Clock>) -> Result<Runtime, ConnectError> {
    Ok(CriClient::new(CriOptions::at(endpoint)?, clock)?.into_runtime())
}

impl CriClient {
    /// A client that connects with its first call. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// There is no tokio runtime.
    pub fn new(options: CriOptions, clock: Arc<dyn Clock>) -> Result<Self, ConnectError> {
        Handle::try_current().map_err(|_| ConnectError::NoTokioRuntime)?;
        let CriOptions { endpoint, image_endpoint, deadlines } = options;
        let operations = Arc::<RuntimeOperations>::default();
        let runtime = Connection::lazy(endpoint, operations.clone());
        let images = image_endpoint
            .map_or_else(|| runtime.clone(), |endpoint| Connection::lazy(endpoint, operations.clone()));
        let (listed, recent) = (Arc::default(), Arc::default());
        Ok(Self { runtime, images, deadlines, clock, listed, recent, operations })
    }

    /// Its calls are spans of this tracer.
    #[must_use]
    pub fn with_tracer(mut self, tracer: Tracer) -> Self {
        self.images.tracer = tracer.clone();
        self.runtime.tracer = tracer;
        self
    }

    /// Returns what is counted of its calls and its clones'.
    pub fn metrics(&self) -> Arc<RuntimeOperations> {
        self.operations.clone()
    }

    /// The ports, all of this client.
    pub fn into_runtime(self) -> Runtime {
        let client = Arc::new(self);
        Runtime {
            info: client.clone(),
            view: client.clone(),
            sandboxes: client.clone(),
            containers: client.clone(),
            images: client.clone(),
            image_store: client,
        }
    }

    /// The entries of one of the two lists, by the name of its call.
    async fn list(&self, call: &'static str, list: impl Message + 'static) -> Result<Entries, RuntimeError> {
        let limit = self.deadlines.request;
        self.runtime.answer(call, limit, self.runtime.list(call, request(list, limit))).await
    }

    async fn list_sandboxes(
        &self,
        filter: cri::PodSandboxFilter,
    ) -> Result<Vec<cri::PodSandbox>, RuntimeError> {
        const CALL: &str = "ListPodSandbox";
        let list = cri::ListPodSandboxRequest { filter: Some(filter) };
        self.list(CALL, list).await?.read(CALL)
    }

    async fn list_containers(
        &self,
        filter: cri::ContainerFilter,
    ) -> Result<Vec<cri::Container>, RuntimeError> {
        const CALL: &str = "ListContainers";
        let list = cri::ListContainersRequest { filter: Some(filter) };
        self.list(CALL, list).await?.read(CALL)
    }

    /// Returns `None` if it went away since it was listed.
    async fn sandbox_status(&self, id: String) -> Result<Option<ObservedSandbox>, RuntimeError> {
        let limit = self.deadlines.request;
        let inspection = request(cri::PodSandboxStatusRequest { pod_sandbox_id: id, verbose: false }, limit);
        let mut client = self.runtime.runtime_service();
        let answer =
            self.runtime.answer("PodSandboxStatus", limit, client.pod_sandbox_status(inspection)).await;
        present(answer)?.map(convert::observed_sandbox).transpose()
    }

    /// Returns `None` if it went away since it was listed.
    async fn container_status(
        &self,
        id: String,
        sandbox_id: String,
    ) -> Result<Option<ObservedContainer>, RuntimeError> {
        let limit = self.deadlines.request;
        let inspection = request(cri::ContainerStatusRequest { container_id: id, verbose: false }, limit);
        let mut client = self.runtime.runtime_service();
        let answer = self.runtime.answer("ContainerStatus", limit, client.container_status(inspection)).await;
        present(answer)?.map(|status| convert::observed_container(status, &sandbox_id)).transpose()
    }
}

/// Checks many at once and keeps, in order, what is there.
async fn present_of<T>(
    inspections: impl Iterator<Item = impl Future<Output = Result<Option<T>, RuntimeError>>>,
) -> Result<Vec<T>, RuntimeError> {
    let found: Vec<Option<T>> =
        stream::iter(inspections).buffered(STATUS_CALLS_AT_ONCE).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// Turns a not-found error into `None`.
fn present<T>(answer: Result<T, RuntimeError>) -> Result<Option<T>, RuntimeError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Stopping or removing what isn't there has succeeded.
fn gone<T>(answer: Result<T, RuntimeError>) -> Result<(), RuntimeError> {
    present(answer).map(|_| ())
}

#[async_trait]
impl RuntimeInfo for CriClient {
    async fn version(&self) -> Result<RuntimeVersion, RuntimeError> {
        let limit = self.deadlines.health;
        let ask = request(cri::VersionRequest { version: KUBELET_API_VERSION.to_owned() }, limit);
        let mut client = self.runtime.runtime_service();
        let answer = self.runtime.answer("Version", limit, client.version(ask)).await?;
        Ok(convert::runtime_version(answer))
    }

    async fn status(&self) -> Result<RuntimeStatus, RuntimeError> {
        let limit = self.deadlines.health;
        let ask = request(cri::StatusRequest { verbose: false }, limit);
        let mut client = self.runtime.runtime_service();
        let answer = self.runtime.answer("Status", limit, client.status(ask)).await?;
        convert::runtime_status(answer)
    }

    async fn cgroup_driver(&self) -> Result<Option<CgroupDriver>, RuntimeError> {
        let limit = self.deadlines.health;
        let mut client = self.runtime.runtime_service();
        let ask = client.runtime_config(request(cri::RuntimeConfigRequest {}, limit));
        match self.runtime.answer("RuntimeConfig", limit, ask).await {
            Ok(answer) => Ok(convert::cgroup_driver(answer)),
            Err(RuntimeError::Unimplemented { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl PodView for CriClient {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        let begun = Instant::now();
        let all_sandboxes = cri::ListPodSandboxRequest { filter: None };
        let all_containers = cri::ListContainersRequest { filter: None };
        let (sandboxes, containers) = tokio::try_join!(
            self.list("ListPodSandbox", all_sandboxes),
            self.list("ListContainers", all_containers),
        )?;
        let pods = self.listed.pods(&sandboxes, &containers)?;
        self.recent.keep(begun, pods.clone());
        Ok(pods)
    }

    async fn list_pods_within(&self, age: Duration) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        match self.recent.within(age) {
            Some(pods) => Ok(pods),
            None => self.list_pods().await,
        }
    }

    async fn pod_status(&self, uid: &PodUid) -> Result<ObservedPod, RuntimeError> {
        let observed_at = self.clock.now();
        let (sandboxes, containers) = tokio::try_join!(
            self.list_sandboxes(convert::sandboxes_of(uid)),
            self.list_containers(convert::containers_of(uid)),
        )?;
        let (name, namespace) = convert::pod_names(&sandboxes, &containers);
        let sandboxes = present_of(sandboxes.into_iter().map(|listed| self.sandbox_status(listed.id)));
        let containers = present_of(
            containers.into_iter().map(|listed| self.container_status(listed.id, listed.pod_sandbox_id)),
        );
        let (sandboxes, containers) = tokio::try_join!(sandboxes, containers)?;
        Ok(convert::observed_pod(ObservedPod {
            name,
            namespace,
            sandboxes,
            containers,
            ..ObservedPod::absent(uid.clone(), observed_at)
        }))
    }

    async fn events(&self, events: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        tokio::select! {
            // A quiet runtime sends nothing, and maybe not even the beginning of its answer, so nothing else would
            // show that no one listens any more.
            () = events.closed() => Ok(()),
            reported = self.tell_events(&events) => reported,
        }
    }
}

impl CriClient {
    /// Without a deadline: it lasts as long as the runtime, which may have nothing to tell for hours.
    async fn tell_events(&self, events: &mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        let refused = |status| self.runtime.refused("GetContainerEvents", self.deadlines.request, &status);
        let mut client = self.runtime.runtime_service();
        let begun = client.get_container_events(cri::GetEventsRequest {}).await;
        let mut stream = begun.map_err(refused)?.into_inner();
        while let Some(reported) = stream.message().await.map_err(refused)? {
            if events.send(convert::runtime_event(reported)).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Sandboxes for CriClient {
    async fn run(&self, config: &SandboxSpec) -> Result<SandboxId, RuntimeError> {
        let limit = self.deadlines.run_sandbox;
        let runtime_handler = config.runtime_handler.clone();
        let config = Some(convert::sandbox_config(config));
        let run = request(cri::RunPodSandboxRequest { config, runtime_handler }, limit);
        let mut client = self.runtime.runtime_service();
        let answer = self.runtime.answer("RunPodSandbox", limit, client.run_pod_sandbox(run)).await?;
        convert::id("RunPodSandbox", answer.pod_sandbox_id)
    }

    async fn stop(&self, id: &SandboxId) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request;
        let stop = request(cri::StopPodSandboxRequest { pod_sandbox_id: id.to_string() }, limit);
        let mut client = self.runtime.runtime_service();
        gone(self.runtime.answer("StopPodSandbox", limit, client.stop_pod_sandbox(stop)).await)
    }

    async fn remove(&self, id: &SandboxId) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request;
        let remove = request(cri::RemovePodSandboxRequest { pod_sandbox_id: id.to_string() }, limit);
        let mut client = self.runtime.runtime_service();
        gone(self.runtime.answer("RemovePodSandbox", limit, client.remove_pod_sandbox(remove)).await)
    }

    async fn update_resources(
        &self,
        id: &SandboxId,
        overhead: &LinuxResources,
        resources: &LinuxResources,
    ) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request;
        let update = request(convert::update_sandbox(id, overhead, resources), limit);
        let mut client = self.runtime.runtime_service();
        let answer = client.update_pod_sandbox_resources(update);
        self.runtime.answer("UpdatePodSandboxResources", limit, answer).await.map(|_| ())
    }
}

#[async_trait]
impl Containers for CriClient {
    async fn create(
        &self,
        sandbox: &SandboxId,
        config: &ContainerSpec,
        sandbox_config: &SandboxSpec,
    ) -> Result<ContainerId, RuntimeError> {
        let limit = self.deadlines.request;
        let create = cri::CreateContainerRequest {
            pod_sandbox_id: sandbox.to_string(),
            config: Some(convert::container_config(config, sandbox_config)?),
            sandbox_config: Some(convert::sandbox_config(sandbox_config)),
        };
        let mut client = self.runtime.runtime_service();
        let answer = client.create_container(request(create, limit));
        let answer = self.runtime.answer("CreateContainer", limit, answer).await?;
        convert::id("CreateContainer", answer.container_id)
    }

    async fn start(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request;
        let start = request(cri::StartContainerRequest { container_id: id.to_string() }, limit);
        let mut client = self.runtime.runtime_service();
        self.runtime.answer("StartContainer", limit, client.start_container(start)).await.map(|_| ())
    }

    async fn stop(&self, id: &ContainerId, grace: Duration) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request.saturating_add(grace);
        let stop = cri::StopContainerRequest {
            container_id: id.to_string(),
            timeout: convert::whole_seconds(grace),
        };
        let mut client = self.runtime.runtime_service();
        let answer = client.stop_container(request(stop, limit));
        gone(self.runtime.answer("StopContainer", limit, answer).await)
    }

    async fn remove(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request;
        let remove = request(cri::RemoveContainerRequest { container_id: id.to_string() }, limit);
        let mut client = self.runtime.runtime_service();
        gone(self.runtime.answer("RemoveContainer", limit, client.remove_container(remove)).await)
    }

    async fn update_resources(
        &self,
        id: &ContainerId,
        resources: &LinuxResources,
    ) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request;
        let update = request(convert::update_resources(id, resources), limit);
        let mut client = self.runtime.runtime_service();
        let answer = client.update_container_resources(update);
        self.runtime.answer("UpdateContainerResources", limit, answer).await.map(|_| ())
    }

    async fn reopen_log(&self, id: &ContainerId) -> Result<(), RuntimeError> {
        let limit = self.deadlines.request;
        let reopen = request(cri::ReopenContainerLogRequest { container_id: id.to_string() }, limit);
        let mut client = self.runtime.runtime_service();
        let answer = client.reopen_container_log(reopen);
        self.runtime.answer("ReopenContainerLog", limit, answer).await.map(|_| ())
    }
}

#[async_trait]
impl CommandRunner for CriClient {
    async fn exec_sync(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        const CALL: &str = "ExecSync";
        // The runtime kills the command when its time is over, and needs some time to say so.
        let limit = timeout.map_or(self.deadlines.request, |timeout| timeout.saturating_add(EXEC_SLACK));
        let exec = cri::ExecSyncRequest {
            container_id: id.to_string(),
            cmd: command.to_vec(),
            timeout: timeout.map_or(0, convert::whole_seconds),
        };
        let mut client = self.runtime.runtime_service();
        match self.runtime.answer(CALL, limit, client.exec_sync(request(exec, limit))).await {
            Ok(answer) => Ok(convert::exec_output(answer)),
            // It had its own time, not ours with the slack.
            Err(RuntimeError::DeadlineExceeded { .. }) => {
                Err(RuntimeError::DeadlineExceeded { call: CALL, limit: timeout.unwrap_or(limit) })
            }
            Err(error) => Err(error),
        }
    }

    async fn process(&self, id: &ContainerId) -> Result<Option<u32>, RuntimeError> {
        let limit = self.deadlines.request;
        let inspection =
            request(cri::ContainerStatusRequest { container_id: id.to_string(), verbose: true }, limit);
        let mut client = self.runtime.runtime_service();
        let answer = self.runtime.answer("ContainerStatus", limit, client.container_status(inspection)).await;
        Ok(present(answer)?.and_then(|status| convert::process(&status)))
    }
}

#[async_trait]
impl Images for CriClient {
    async fn status(&self, image: &str) -> Result<Option<ImageInfo>, RuntimeError> {
        let limit = self.deadlines.request;
        let inspection = cri::ImageStatusRequest { image: Some(convert::image_spec(image)), verbose: false };
        let mut client = self.images.image_service();
        let answer =
            self.images.answer("ImageStatus", limit, client.image_status(request(inspection, limit))).await;
        // The CRI wants an empty answer for an image that isn't there; some runtimes say "not found".
        present(answer)?.and_then(|status| status.image).map(convert::image_info).transpose()
    }

    async fn pull(
        &self,
        image: &str,
        auth: Option<&ImageAuth>,
        sandbox: &SandboxSpec,
    ) -> Result<String, RuntimeError> {
        let limit = self.deadlines.pull;
        let pull = convert::pull_image(image, auth, sandbox);
        let mut client = self.images.image_service();
        let answer = self.images.answer("PullImage", limit, client.pull_image(request(pull, limit))).await?;
        convert::id("PullImage", answer.image_ref)
    }
}
