//! The CRI's RuntimeService.

use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};
use witlet_proto::cri::runtime_service_server::RuntimeService;
use witlet_proto::cri::*;

use super::convert::{self, pods_status};
use super::{Pages, pages};
use crate::clock::Now;
use crate::pods::Pods;

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
    /// The clock.
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
}

fn answer<T>(message: T) -> Result<Response<T>, Status> {
    Ok(Response::new(message))
}

/// What this runtime doesn't do, and why.
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
            features: Some(RuntimeHandlerFeatures::default()),
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
        let config = convert::sandbox_config(request.into_inner())?;
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
        let config = convert::container_config(config)?;
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

    async fn update_pod_sandbox_resources(
        &self,
        _: Request<UpdatePodSandboxResourcesRequest>,
    ) -> Result<Response<UpdatePodSandboxResourcesResponse>, Status> {
        Err(not_here("UpdatePodSandboxResources", "pods have no limits of their own"))
    }

    async fn update_container_resources(
        &self,
        _: Request<UpdateContainerResourcesRequest>,
    ) -> Result<Response<UpdateContainerResourcesResponse>, Status> {
        Err(not_here("UpdateContainerResources", "a workload keeps the limits that it was started with"))
    }

    async fn checkpoint_container(
        &self,
        _: Request<CheckpointContainerRequest>,
    ) -> Result<Response<CheckpointContainerResponse>, Status> {
        Err(not_here("CheckpointContainer", "workloads can't be saved"))
    }

    async fn exec_sync(&self, _: Request<ExecSyncRequest>) -> Result<Response<ExecSyncResponse>, Status> {
        Err(not_here("ExecSync", "a component has no second program to run"))
    }

    async fn exec(&self, _: Request<ExecRequest>) -> Result<Response<ExecResponse>, Status> {
        Err(not_here("Exec", "a component has no second program to run"))
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
        _: Request<ContainerStatsRequest>,
    ) -> Result<Response<ContainerStatsResponse>, Status> {
        Err(not_here("ContainerStats", "nothing is measured"))
    }

    async fn list_container_stats(
        &self,
        _: Request<ListContainerStatsRequest>,
    ) -> Result<Response<ListContainerStatsResponse>, Status> {
        Err(not_here("ListContainerStats", "nothing is measured"))
    }

    async fn pod_sandbox_stats(
        &self,
        _: Request<PodSandboxStatsRequest>,
    ) -> Result<Response<PodSandboxStatsResponse>, Status> {
        Err(not_here("PodSandboxStats", "nothing is measured"))
    }

    async fn list_pod_sandbox_stats(
        &self,
        _: Request<ListPodSandboxStatsRequest>,
    ) -> Result<Response<ListPodSandboxStatsResponse>, Status> {
        Err(not_here("ListPodSandboxStats", "nothing is measured"))
    }

    async fn list_metric_descriptors(
        &self,
        _: Request<ListMetricDescriptorsRequest>,
    ) -> Result<Response<ListMetricDescriptorsResponse>, Status> {
        Err(not_here("ListMetricDescriptors", "nothing is measured"))
    }

    async fn list_pod_sandbox_metrics(
        &self,
        _: Request<ListPodSandboxMetricsRequest>,
    ) -> Result<Response<ListPodSandboxMetricsResponse>, Status> {
        Err(not_here("ListPodSandboxMetrics", "nothing is measured"))
    }

    type GetContainerEventsStream = Pages<ContainerEventResponse>;

    async fn get_container_events(
        &self,
        _: Request<GetEventsRequest>,
    ) -> Result<Response<Self::GetContainerEventsStream>, Status> {
        Err(not_here("GetContainerEvents", "changes are seen by listing"))
    }

    type StreamContainerStatsStream = Pages<StreamContainerStatsResponse>;

    async fn stream_container_stats(
        &self,
        _: Request<StreamContainerStatsRequest>,
    ) -> Result<Response<Self::StreamContainerStatsStream>, Status> {
        Err(not_here("StreamContainerStats", "nothing is measured"))
    }

    type StreamPodSandboxStatsStream = Pages<StreamPodSandboxStatsResponse>;

    async fn stream_pod_sandbox_stats(
        &self,
        _: Request<StreamPodSandboxStatsRequest>,
    ) -> Result<Response<Self::StreamPodSandboxStatsStream>, Status> {
        Err(not_here("StreamPodSandboxStats", "nothing is measured"))
    }

    type StreamPodSandboxMetricsStream = Pages<StreamPodSandboxMetricsResponse>;

    async fn stream_pod_sandbox_metrics(
        &self,
        _: Request<StreamPodSandboxMetricsRequest>,
    ) -> Result<Response<Self::StreamPodSandboxMetricsStream>, Status> {
        Err(not_here("StreamPodSandboxMetrics", "nothing is measured"))
    }
}
