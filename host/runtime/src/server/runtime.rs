//! The CRI's RuntimeService.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tonic::{Request, Response, Status};
use witlet_proto::cri::runtime_service_server::RuntimeService;
use witlet_proto::cri::*;

use super::convert::{self, pods_status};
use super::{Pages, pages};
use crate::clock::Now;
use crate::pods::{Event, Output, Pods};

/// The version of the kubelet's side of the CRI, which has been this for ever.
const KUBELET_API_VERSION: &str = "0.1.0";
/// The version of the CRI.
const CRI_VERSION: &str = "v1";
/// What the runtime calls itself.
const RUNTIME_NAME: &str = "witlet";

/// Answers for sandboxes and containers.
pub(crate) struct RuntimeServer {
    /// The sandboxes and containers.
    pub(crate) pods: Arc<Pods>,
    pub(crate) now: Now,
}

impl RuntimeServer {
    fn sandboxes(&self, filter: Option<&PodSandboxFilter>) -> Vec<PodSandbox> {
        let all = self.pods.sandboxes();
        let chosen = all.iter().filter(|record| convert::selects_sandbox(filter, record));
        chosen.map(convert::sandbox).collect()
    }

    fn containers(&self, filter: Option<&ContainerFilter>) -> Vec<Container> {
        let all = self.pods.containers();
        let chosen = all.iter().filter(|record| convert::selects_container(filter, record));
        chosen.map(convert::container).collect()
    }

    fn container_stats(&self, filter: Option<&ContainerStatsFilter>) -> Vec<ContainerStats> {
        let stats = self.pods.running_stats(|record| convert::selects_container_stats(filter, record));
        stats.iter().map(convert::container_stats).collect()
    }

    fn sandbox_stats(&self, filter: Option<&PodSandboxStatsFilter>) -> Vec<PodSandboxStats> {
        let stats = self.pods.ready_stats(|record| convert::selects_sandbox_stats(filter, record));
        stats.iter().map(convert::sandbox_stats).collect()
    }
}

/// Events as messages. A client that doesn't keep up is sent away.
type EventStream = Pin<Box<dyn Stream<Item = Result<ContainerEventResponse, Status>> + Send>>;

fn event_stream(events: Receiver<Arc<Event>>) -> EventStream {
    Box::pin(futures::stream::unfold(Some(events), async |events| {
        let mut events = events?;
        match events.recv().await {
            Ok(event) => Some((Ok(convert::event(&event)), Some(events))),
            Err(RecvError::Lagged(missed)) => {
                let words = format!("{missed} events were missed, because they weren't read in time");
                Some((Err(Status::data_loss(words)), None))
            }
            Err(RecvError::Closed) => None,
        }
    }))
}

fn answer<T>(message: T) -> Result<Response<T>, Status> {
    Ok(Response::new(message))
}

/// Returns what this runtime doesn't do, and why.
fn not_here(call: &str, why: &str) -> Status {
    Status::unimplemented(format!("the embedded runtime has no {call}: {why}"))
}

fn ready(kind: &str) -> RuntimeCondition {
    RuntimeCondition { r#type: kind.to_owned(), status: true, ..Default::default() }
}

#[tonic::async_trait]
impl RuntimeService for RuntimeServer {
    async fn version(&self, _: Request<VersionRequest>) -> Result<Response<VersionResponse>, Status> {
        answer(VersionResponse {
            version: KUBELET_API_VERSION.to_owned(),
            runtime_name: RUNTIME_NAME.to_owned(),
            runtime_version: env!("CARGO_PKG_VERSION").to_owned(),
            runtime_api_version: CRI_VERSION.to_owned(),
        })
    }

    async fn status(&self, _: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let handler = |name: &str| RuntimeHandler {
            name: name.to_owned(),
            features: Some(RuntimeHandlerFeatures {
                // Permissions are those of whole trees.
                recursive_read_only_mounts: true,
                ..Default::default()
            }),
        };
        answer(StatusResponse {
            status: Some(RuntimeStatus { conditions: vec![ready("RuntimeReady"), ready("NetworkReady")] }),
            runtime_handlers: vec![handler(""), handler(convert::HANDLER)],
            features: Some(RuntimeFeatures::default()),
            ..Default::default()
        })
    }

    /// There are no cgroups here; the answer keeps the node from asking systemd for some.
    async fn runtime_config(
        &self,
        _: Request<RuntimeConfigRequest>,
    ) -> Result<Response<RuntimeConfigResponse>, Status> {
        let linux = LinuxRuntimeConfiguration { cgroup_driver: CgroupDriver::Cgroupfs.into() };
        answer(RuntimeConfigResponse { linux: Some(linux) })
    }

    /// The node's range of addresses for pods, which a range on the loopback doesn't depend on.
    async fn update_runtime_config(
        &self,
        _: Request<UpdateRuntimeConfigRequest>,
    ) -> Result<Response<UpdateRuntimeConfigResponse>, Status> {
        answer(UpdateRuntimeConfigResponse {})
    }

    async fn run_pod_sandbox(
        &self,
        request: Request<RunPodSandboxRequest>,
    ) -> Result<Response<RunPodSandboxResponse>, Status> {
        let config = convert::sandbox_spec(request.into_inner())?;
        let pod_sandbox_id = self.pods.run_sandbox(config).map_err(|error| pods_status(&error))?;
        answer(RunPodSandboxResponse { pod_sandbox_id })
    }

    async fn stop_pod_sandbox(
        &self,
        request: Request<StopPodSandboxRequest>,
    ) -> Result<Response<StopPodSandboxResponse>, Status> {
        let id = request.into_inner().pod_sandbox_id;
        self.pods.stop_sandbox(&id).await.map_err(|error| pods_status(&error))?;
        answer(StopPodSandboxResponse {})
    }

    async fn remove_pod_sandbox(
        &self,
        request: Request<RemovePodSandboxRequest>,
    ) -> Result<Response<RemovePodSandboxResponse>, Status> {
        let id = request.into_inner().pod_sandbox_id;
        self.pods.remove_sandbox(&id).await.map_err(|error| pods_status(&error))?;
        answer(RemovePodSandboxResponse {})
    }

    async fn pod_sandbox_status(
        &self,
        request: Request<PodSandboxStatusRequest>,
    ) -> Result<Response<PodSandboxStatusResponse>, Status> {
        let id = request.into_inner().pod_sandbox_id;
        let (sandbox, containers) = self.pods.sandbox(&id).map_err(|error| pods_status(&error))?;
        answer(PodSandboxStatusResponse {
            status: Some(convert::sandbox_status(&sandbox)),
            containers_statuses: containers.iter().map(convert::container_status).collect(),
            timestamp: convert::nanoseconds((self.now)()),
            ..Default::default()
        })
    }

    async fn list_pod_sandbox(
        &self,
        request: Request<ListPodSandboxRequest>,
    ) -> Result<Response<ListPodSandboxResponse>, Status> {
        answer(ListPodSandboxResponse { items: self.sandboxes(request.into_inner().filter.as_ref()) })
    }

    type StreamPodSandboxesStream = Pages<StreamPodSandboxesResponse>;

    async fn stream_pod_sandboxes(
        &self,
        request: Request<StreamPodSandboxesRequest>,
    ) -> Result<Response<Self::StreamPodSandboxesStream>, Status> {
        let all = self.sandboxes(request.into_inner().filter.as_ref());
        answer(pages(&all, |pod_sandboxes| StreamPodSandboxesResponse { pod_sandboxes }))
    }

    async fn create_container(
        &self,
        request: Request<CreateContainerRequest>,
    ) -> Result<Response<CreateContainerResponse>, Status> {
        let CreateContainerRequest { pod_sandbox_id, config, .. } = request.into_inner();
        let config = convert::container_spec(config)?;
        let created = self.pods.create_container(&pod_sandbox_id, config);
        answer(CreateContainerResponse { container_id: created.map_err(|error| pods_status(&error))? })
    }

    async fn start_container(
        &self,
        request: Request<StartContainerRequest>,
    ) -> Result<Response<StartContainerResponse>, Status> {
        let id = request.into_inner().container_id;
        self.pods.start_container(&id).await.map_err(|error| pods_status(&error))?;
        answer(StartContainerResponse {})
    }

    async fn stop_container(
        &self,
        request: Request<StopContainerRequest>,
    ) -> Result<Response<StopContainerResponse>, Status> {
        let StopContainerRequest { container_id, timeout } = request.into_inner();
        let grace = Duration::from_secs(u64::try_from(timeout).unwrap_or_default());
        self.pods.stop_container(&container_id, grace).await.map_err(|error| pods_status(&error))?;
        answer(StopContainerResponse {})
    }

    async fn remove_container(
        &self,
        request: Request<RemoveContainerRequest>,
    ) -> Result<Response<RemoveContainerResponse>, Status> {
        let id = request.into_inner().container_id;
        self.pods.remove_container(&id).await.map_err(|error| pods_status(&error))?;
        answer(RemoveContainerResponse {})
    }

    async fn container_status(
        &self,
        request: Request<ContainerStatusRequest>,
    ) -> Result<Response<ContainerStatusResponse>, Status> {
        let id = request.into_inner().container_id;
        let record = self.pods.container(&id).map_err(|error| pods_status(&error))?;
        let status = Some(convert::container_status(&record));
        answer(ContainerStatusResponse { status, ..Default::default() })
    }

    async fn list_containers(
        &self,
        request: Request<ListContainersRequest>,
    ) -> Result<Response<ListContainersResponse>, Status> {
        answer(ListContainersResponse { containers: self.containers(request.into_inner().filter.as_ref()) })
    }

    type StreamContainersStream = Pages<StreamContainersResponse>;

    async fn stream_containers(
        &self,
        request: Request<StreamContainersRequest>,
    ) -> Result<Response<Self::StreamContainersStream>, Status> {
        let all = self.containers(request.into_inner().filter.as_ref());
        answer(pages(&all, |containers| StreamContainersResponse { containers }))
    }

    async fn reopen_container_log(
        &self,
        request: Request<ReopenContainerLogRequest>,
    ) -> Result<Response<ReopenContainerLogResponse>, Status> {
        let id = request.into_inner().container_id;
        self.pods.reopen_log(&id).map_err(|error| pods_status(&error))?;
        answer(ReopenContainerLogResponse {})
    }

    /// Passes what a pod has together to the runtime, after its containers were passed. Pods have no limits of their own
    /// here, as in containerd.
    async fn update_pod_sandbox_resources(
        &self,
        request: Request<UpdatePodSandboxResourcesRequest>,
    ) -> Result<Response<UpdatePodSandboxResourcesResponse>, Status> {
        self.pods.sandbox(&request.into_inner().pod_sandbox_id).map_err(|error| pods_status(&error))?;
        answer(UpdatePodSandboxResourcesResponse {})
    }

    async fn update_container_resources(
        &self,
        request: Request<UpdateContainerResourcesRequest>,
    ) -> Result<Response<UpdateContainerResourcesResponse>, Status> {
        let UpdateContainerResourcesRequest { container_id, linux, .. } = request.into_inner();
        let update = convert::resources(&linux.unwrap_or_default());
        self.pods.update_resources(&container_id, &update).map_err(|error| pods_status(&error))?;
        answer(UpdateContainerResourcesResponse {})
    }

    async fn checkpoint_container(
        &self,
        _: Request<CheckpointContainerRequest>,
    ) -> Result<Response<CheckpointContainerResponse>, Status> {
        Err(not_here("CheckpointContainer", "checkpoints are not supported"))
    }

    async fn exec_sync(
        &self,
        request: Request<ExecSyncRequest>,
    ) -> Result<Response<ExecSyncResponse>, Status> {
        let ExecSyncRequest { container_id, cmd, timeout } = request.into_inner();
        if cmd.is_empty() {
            return Err(Status::invalid_argument("cmd is empty"));
        }
        let limit = u64::try_from(timeout).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let ran = self.pods.exec(&container_id, cmd, limit).await;
        let Output { code, stdout, stderr } = ran.map_err(|error| pods_status(&error))?;
        answer(ExecSyncResponse { stdout, stderr, exit_code: code })
    }

    async fn exec(&self, _: Request<ExecRequest>) -> Result<Response<ExecResponse>, Status> {
        Err(not_here("Exec", "commands have no streams here, and run only as probes and hooks"))
    }

    async fn attach(&self, _: Request<AttachRequest>) -> Result<Response<AttachResponse>, Status> {
        Err(not_here("Attach", "standard input of a workload stays silent, and its output is in its log"))
    }

    async fn port_forward(
        &self,
        _: Request<PortForwardRequest>,
    ) -> Result<Response<PortForwardResponse>, Status> {
        Err(not_here("PortForward", "a pod's address can be reached directly on the node"))
    }

    async fn container_stats(
        &self,
        request: Request<ContainerStatsRequest>,
    ) -> Result<Response<ContainerStatsResponse>, Status> {
        let stats = self.pods.container_stats(&request.into_inner().container_id);
        let stats = stats.map_err(|error| pods_status(&error))?;
        answer(ContainerStatsResponse { stats: Some(convert::container_stats(&stats)) })
    }

    async fn list_container_stats(
        &self,
        request: Request<ListContainerStatsRequest>,
    ) -> Result<Response<ListContainerStatsResponse>, Status> {
        let stats = self.container_stats(request.into_inner().filter.as_ref());
        answer(ListContainerStatsResponse { stats })
    }

    async fn pod_sandbox_stats(
        &self,
        request: Request<PodSandboxStatsRequest>,
    ) -> Result<Response<PodSandboxStatsResponse>, Status> {
        let stats = self.pods.sandbox_stats(&request.into_inner().pod_sandbox_id);
        let stats = stats.map_err(|error| pods_status(&error))?;
        answer(PodSandboxStatsResponse { stats: Some(convert::sandbox_stats(&stats)) })
    }

    async fn list_pod_sandbox_stats(
        &self,
        request: Request<ListPodSandboxStatsRequest>,
    ) -> Result<Response<ListPodSandboxStatsResponse>, Status> {
        let stats = self.sandbox_stats(request.into_inner().filter.as_ref());
        answer(ListPodSandboxStatsResponse { stats })
    }

    async fn list_metric_descriptors(
        &self,
        _: Request<ListMetricDescriptorsRequest>,
    ) -> Result<Response<ListMetricDescriptorsResponse>, Status> {
        Err(not_here("ListMetricDescriptors", "what is measured is in the stats"))
    }

    async fn list_pod_sandbox_metrics(
        &self,
        _: Request<ListPodSandboxMetricsRequest>,
    ) -> Result<Response<ListPodSandboxMetricsResponse>, Status> {
        Err(not_here("ListPodSandboxMetrics", "what is measured is in the stats"))
    }

    type GetContainerEventsStream = EventStream;

    async fn get_container_events(
        &self,
        _: Request<GetEventsRequest>,
    ) -> Result<Response<Self::GetContainerEventsStream>, Status> {
        answer(event_stream(self.pods.events().map_err(|error| pods_status(&error))?))
    }

    type StreamContainerStatsStream = Pages<StreamContainerStatsResponse>;

    async fn stream_container_stats(
        &self,
        request: Request<StreamContainerStatsRequest>,
    ) -> Result<Response<Self::StreamContainerStatsStream>, Status> {
        let all = self.container_stats(request.into_inner().filter.as_ref());
        answer(pages(&all, |container_stats| StreamContainerStatsResponse { container_stats }))
    }

    type StreamPodSandboxStatsStream = Pages<StreamPodSandboxStatsResponse>;

    async fn stream_pod_sandbox_stats(
        &self,
        request: Request<StreamPodSandboxStatsRequest>,
    ) -> Result<Response<Self::StreamPodSandboxStatsStream>, Status> {
        let all = self.sandbox_stats(request.into_inner().filter.as_ref());
        answer(pages(&all, |pod_sandbox_stats| StreamPodSandboxStatsResponse { pod_sandbox_stats }))
    }

    type StreamPodSandboxMetricsStream = Pages<StreamPodSandboxMetricsResponse>;

    async fn stream_pod_sandbox_metrics(
        &self,
        _: Request<StreamPodSandboxMetricsRequest>,
    ) -> Result<Response<Self::StreamPodSandboxMetricsStream>, Status> {
        Err(not_here("StreamPodSandboxMetrics", "what is measured is in the stats"))
    }
}
