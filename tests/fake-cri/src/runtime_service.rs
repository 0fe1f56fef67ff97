//! The runtime service over the state.

use std::pin::Pin;

use tonic::{Request, Response, Status};
use witlet_proto::cri::runtime_service_server::RuntimeService;
use witlet_proto::cri::*;

use crate::FakeCri;
use crate::state::State;

impl FakeCri {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.lock())
    }

    fn known_container(&self, id: &str) -> Result<(), Status> {
        let known = self.with(|state| state.has_container(id));
        if known { Ok(()) } else { Err(not_found(id)) }
    }
}

fn condition(kind: &str) -> RuntimeCondition {
    RuntimeCondition { r#type: kind.into(), status: true, ..RuntimeCondition::default() }
}

fn not_found(id: &str) -> Status {
    Status::not_found(format!("nothing has the id {id}"))
}

/// Calls that this server doesn't offer.
macro_rules! unimplemented_calls {
    ($($name:ident($request:ty) -> $response:ty;)*) => {
        $(fn $name<'this, 'call>(&'this self, _: Request<$request>) -> BoxedResponse<'call, $response>
        where
            'this: 'call,
            Self: 'call,
        {
            Box::pin(std::future::ready(Err(Status::unimplemented(stringify!($name)))))
        })*
    };
}

/// What `async_trait` makes of an async method; it can't inspect the macro above.
type BoxedResponse<'call, T> = Pin<Box<dyn Future<Output = Result<Response<T>, Status>> + Send + 'call>>;

type Never<T> = tokio_stream::Empty<Result<T, Status>>;

#[tonic::async_trait]
impl RuntimeService for FakeCri {
    async fn version(&self, _: Request<VersionRequest>) -> Result<Response<VersionResponse>, Status> {
        Ok(Response::new(VersionResponse {
            version: "0.1.0".into(),
            runtime_name: "fake".into(),
            runtime_version: "0.1.0".into(),
            runtime_api_version: "v1".into(),
        }))
    }

    async fn status(&self, _: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let conditions = vec![condition("RuntimeReady"), condition("NetworkReady")];
        Ok(Response::new(StatusResponse {
            status: Some(RuntimeStatus { conditions }),
            ..StatusResponse::default()
        }))
    }

    async fn run_pod_sandbox(
        &self,
        request: Request<RunPodSandboxRequest>,
    ) -> Result<Response<RunPodSandboxResponse>, Status> {
        let config = request.into_inner().config.unwrap_or_default();
        let pod_sandbox_id = self.with(|state| state.run_sandbox(config));
        Ok(Response::new(RunPodSandboxResponse { pod_sandbox_id }))
    }

    async fn stop_pod_sandbox(
        &self,
        request: Request<StopPodSandboxRequest>,
    ) -> Result<Response<StopPodSandboxResponse>, Status> {
        self.with(|state| state.stop_sandbox(&request.into_inner().pod_sandbox_id));
        Ok(Response::new(StopPodSandboxResponse {}))
    }

    async fn remove_pod_sandbox(
        &self,
        request: Request<RemovePodSandboxRequest>,
    ) -> Result<Response<RemovePodSandboxResponse>, Status> {
        self.with(|state| state.remove_sandbox(&request.into_inner().pod_sandbox_id));
        Ok(Response::new(RemovePodSandboxResponse {}))
    }

    async fn pod_sandbox_status(
        &self,
        request: Request<PodSandboxStatusRequest>,
    ) -> Result<Response<PodSandboxStatusResponse>, Status> {
        let id = request.into_inner().pod_sandbox_id;
        let status = self.with(|state| state.sandbox_status(&id)).ok_or_else(|| not_found(&id))?;
        Ok(Response::new(PodSandboxStatusResponse {
            status: Some(status),
            ..PodSandboxStatusResponse::default()
        }))
    }

    async fn list_pod_sandbox(
        &self,
        request: Request<ListPodSandboxRequest>,
    ) -> Result<Response<ListPodSandboxResponse>, Status> {
        let filter = request.into_inner().filter.unwrap_or_default();
        let items = self.with(|state| state.list_sandboxes(&filter.id, &filter.label_selector));
        Ok(Response::new(ListPodSandboxResponse { items }))
    }

    async fn create_container(
        &self,
        request: Request<CreateContainerRequest>,
    ) -> Result<Response<CreateContainerResponse>, Status> {
        let request = request.into_inner();
        let logs = request.sandbox_config.unwrap_or_default().log_directory;
        let config = request.config.unwrap_or_default();
        let created = self.with(|state| state.create_container(&request.pod_sandbox_id, config, &logs));
        let container_id = created.ok_or_else(|| not_found(&request.pod_sandbox_id))?;
        Ok(Response::new(CreateContainerResponse { container_id }))
    }

    async fn start_container(
        &self,
        request: Request<StartContainerRequest>,
    ) -> Result<Response<StartContainerResponse>, Status> {
        let id = request.into_inner().container_id;
        self.with(|state| state.start_container(&id)).ok_or_else(|| not_found(&id))?;
        Ok(Response::new(StartContainerResponse {}))
    }

    async fn stop_container(
        &self,
        request: Request<StopContainerRequest>,
    ) -> Result<Response<StopContainerResponse>, Status> {
        self.with(|state| state.stop_container(&request.into_inner().container_id, 0));
        Ok(Response::new(StopContainerResponse {}))
    }

    async fn remove_container(
        &self,
        request: Request<RemoveContainerRequest>,
    ) -> Result<Response<RemoveContainerResponse>, Status> {
        self.with(|state| state.remove_container(&request.into_inner().container_id));
        Ok(Response::new(RemoveContainerResponse {}))
    }

    async fn list_containers(
        &self,
        request: Request<ListContainersRequest>,
    ) -> Result<Response<ListContainersResponse>, Status> {
        let filter = request.into_inner().filter.unwrap_or_default();
        let containers = self
            .with(|state| state.list_containers(&filter.id, &filter.pod_sandbox_id, &filter.label_selector));
        Ok(Response::new(ListContainersResponse { containers }))
    }

    async fn container_status(
        &self,
        request: Request<ContainerStatusRequest>,
    ) -> Result<Response<ContainerStatusResponse>, Status> {
        let id = request.into_inner().container_id;
        let status = self.with(|state| state.container_status(&id)).ok_or_else(|| not_found(&id))?;
        Ok(Response::new(ContainerStatusResponse {
            status: Some(status),
            ..ContainerStatusResponse::default()
        }))
    }

    async fn runtime_config(
        &self,
        _: Request<RuntimeConfigRequest>,
    ) -> Result<Response<RuntimeConfigResponse>, Status> {
        let linux = LinuxRuntimeConfiguration { cgroup_driver: CgroupDriver::Cgroupfs.into() };
        Ok(Response::new(RuntimeConfigResponse { linux: Some(linux) }))
    }

    async fn update_runtime_config(
        &self,
        _: Request<UpdateRuntimeConfigRequest>,
    ) -> Result<Response<UpdateRuntimeConfigResponse>, Status> {
        Ok(Response::new(UpdateRuntimeConfigResponse {}))
    }

    async fn update_container_resources(
        &self,
        request: Request<UpdateContainerResourcesRequest>,
    ) -> Result<Response<UpdateContainerResourcesResponse>, Status> {
        let UpdateContainerResourcesRequest { container_id, linux, .. } = request.into_inner();
        let updated = self.with(|state| state.update_resources(&container_id, &linux.unwrap_or_default()));
        updated.ok_or_else(|| not_found(&container_id))?;
        Ok(Response::new(UpdateContainerResourcesResponse {}))
    }

    async fn update_pod_sandbox_resources(
        &self,
        _: Request<UpdatePodSandboxResourcesRequest>,
    ) -> Result<Response<UpdatePodSandboxResourcesResponse>, Status> {
        Ok(Response::new(UpdatePodSandboxResourcesResponse {}))
    }

    async fn reopen_container_log(
        &self,
        request: Request<ReopenContainerLogRequest>,
    ) -> Result<Response<ReopenContainerLogResponse>, Status> {
        self.known_container(&request.into_inner().container_id)?;
        Ok(Response::new(ReopenContainerLogResponse {}))
    }

    /// Every command ends well at once, and says nothing.
    async fn exec_sync(
        &self,
        request: Request<ExecSyncRequest>,
    ) -> Result<Response<ExecSyncResponse>, Status> {
        self.known_container(&request.into_inner().container_id)?;
        Ok(Response::new(ExecSyncResponse::default()))
    }

    async fn container_stats(
        &self,
        request: Request<ContainerStatsRequest>,
    ) -> Result<Response<ContainerStatsResponse>, Status> {
        let id = request.into_inner().container_id;
        self.known_container(&id)?;
        let attributes = Some(ContainerAttributes { id, ..ContainerAttributes::default() });
        let stats = Some(ContainerStats { attributes, ..ContainerStats::default() });
        Ok(Response::new(ContainerStatsResponse { stats }))
    }

    async fn list_container_stats(
        &self,
        _: Request<ListContainerStatsRequest>,
    ) -> Result<Response<ListContainerStatsResponse>, Status> {
        Ok(Response::new(ListContainerStatsResponse::default()))
    }

    async fn pod_sandbox_stats(
        &self,
        request: Request<PodSandboxStatsRequest>,
    ) -> Result<Response<PodSandboxStatsResponse>, Status> {
        let id = request.into_inner().pod_sandbox_id;
        self.with(|state| state.sandbox_status(&id)).ok_or_else(|| not_found(&id))?;
        let attributes = Some(PodSandboxAttributes { id, ..PodSandboxAttributes::default() });
        let stats = Some(PodSandboxStats { attributes, ..PodSandboxStats::default() });
        Ok(Response::new(PodSandboxStatsResponse { stats }))
    }

    async fn list_pod_sandbox_stats(
        &self,
        _: Request<ListPodSandboxStatsRequest>,
    ) -> Result<Response<ListPodSandboxStatsResponse>, Status> {
        Ok(Response::new(ListPodSandboxStatsResponse::default()))
    }

    type StreamPodSandboxesStream = Never<StreamPodSandboxesResponse>;
    type StreamContainersStream = Never<StreamContainersResponse>;
    type GetContainerEventsStream = Never<ContainerEventResponse>;
    type StreamContainerStatsStream = Never<StreamContainerStatsResponse>;
    type StreamPodSandboxStatsStream = Never<StreamPodSandboxStatsResponse>;
    type StreamPodSandboxMetricsStream = Never<StreamPodSandboxMetricsResponse>;

    unimplemented_calls! {
        stream_pod_sandboxes(StreamPodSandboxesRequest) -> Self::StreamPodSandboxesStream;
        stream_containers(StreamContainersRequest) -> Self::StreamContainersStream;
        checkpoint_container(CheckpointContainerRequest) -> CheckpointContainerResponse;
        exec(ExecRequest) -> ExecResponse;
        attach(AttachRequest) -> AttachResponse;
        port_forward(PortForwardRequest) -> PortForwardResponse;
        get_container_events(GetEventsRequest) -> Self::GetContainerEventsStream;
        stream_container_stats(StreamContainerStatsRequest) -> Self::StreamContainerStatsStream;
        stream_pod_sandbox_stats(StreamPodSandboxStatsRequest) -> Self::StreamPodSandboxStatsStream;
        list_metric_descriptors(ListMetricDescriptorsRequest) -> ListMetricDescriptorsResponse;
        list_pod_sandbox_metrics(ListPodSandboxMetricsRequest) -> ListPodSandboxMetricsResponse;
        stream_pod_sandbox_metrics(StreamPodSandboxMetricsRequest) -> Self::StreamPodSandboxMetricsStream;
    }
}
