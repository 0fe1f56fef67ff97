//! A scripted CRI server on a socket of its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::BoxStream;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Response, Status};
use witlet_proto::cri;
use witlet_proto::cri::image_service_server::{ImageService, ImageServiceServer};
use witlet_proto::cri::runtime_service_server::{RuntimeService, RuntimeServiceServer};

mod script;

/// What the server does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    /// How long `Version` takes.
    pub(crate) version_takes: Duration,
    /// Roughly how large the answer of `ListPodSandbox` is.
    pub(crate) list_bytes: usize,
    /// What `GetContainerEvents` does.
    pub(crate) events: Events,
}

/// What `GetContainerEvents` does.
#[derive(Clone, Debug, Default)]
pub(crate) enum Events {
    #[default]
    Unimplemented,
    /// Never even begins to answer.
    Silent,
    /// Reports these containers of pod `u-1`, and then nothing more.
    ThenQuiet(Vec<&'static str>),
    /// Reports these, and ends the stream.
    ThenEnd(Vec<&'static str>),
    /// Reports these, and breaks off.
    ThenFail(Vec<&'static str>),
}

/// Runs until it is stopped or dropped.
pub(crate) struct Server {
    folder: Option<TempDir>,
    socket: PathBuf,
    scripted: Scripted,
    /// Of its own, since only a runtime's end breaks connections off as a crash does.
    runtime: Option<Runtime>,
}

#[derive(Clone)]
struct Scripted {
    answers: Answers,
    version_asked: Arc<Notify>,
    last_stop_timeout: Arc<AtomicI64>,
    events_asked: Arc<Notify>,
    exec_begun: Arc<Notify>,
    exec_cancelled: Arc<Notify>,
    last_update: Arc<Mutex<Option<cri::UpdateContainerResourcesRequest>>>,
    last_checkpoint: Arc<Mutex<Option<cri::CheckpointContainerRequest>>>,
    last_deadline: Arc<Mutex<Option<String>>>,
    last_context: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start(answers: Answers) -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), answers)
    }

    pub(crate) fn start_in(folder: TempDir, answers: Answers) -> Self {
        let socket = folder.path().join("cri.sock");
        let listener = std::os::unix::net::UnixListener::bind(&socket).expect("bind");
        listener.set_nonblocking(true).expect("any socket can");
        let scripted = Scripted {
            answers,
            version_asked: Arc::new(Notify::new()),
            last_stop_timeout: Arc::new(AtomicI64::new(-1)),
            events_asked: Arc::new(Notify::new()),
            exec_begun: Arc::new(Notify::new()),
            exec_cancelled: Arc::new(Notify::new()),
            last_update: Arc::default(),
            last_checkpoint: Arc::default(),
            last_deadline: Arc::default(),
            last_context: Arc::default(),
        };
        // The limit is the client's to hold: the server sends what it is asked to.
        let service = RuntimeServiceServer::new(scripted.clone()).max_encoding_message_size(usize::MAX);
        let images = ImageServiceServer::new(scripted.clone());
        let seen = scripted.clone();
        let record_deadlines = move |request: Request<()>| seen.record_deadline(request);
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("threads");
        runtime.spawn(async move {
            let listener = UnixListener::from_std(listener).expect("it doesn't block");
            tonic::transport::Server::builder()
                .add_service(InterceptedService::new(service, record_deadlines.clone()))
                .add_service(InterceptedService::new(images, record_deadlines))
                .serve_with_incoming(UnixListenerStream::new(listener))
                .await
                .expect("serve");
        });
        Self { folder: Some(folder), socket, scripted, runtime: Some(runtime) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.socket
    }

    pub(crate) fn version_asked(&self) -> Arc<Notify> {
        self.scripted.version_asked.clone()
    }

    pub(crate) fn last_stop_timeout(&self) -> i64 {
        self.scripted.last_stop_timeout.load(Ordering::SeqCst)
    }

    /// Notified when the runtime's events were asked for.
    pub(crate) fn events_asked(&self) -> Arc<Notify> {
        self.scripted.events_asked.clone()
    }

    /// Reported when the command `hang` was begun.
    pub(crate) fn exec_begun(&self) -> Arc<Notify> {
        self.scripted.exec_begun.clone()
    }

    /// Reported when no one waits for the command `hang` any more.
    pub(crate) fn exec_cancelled(&self) -> Arc<Notify> {
        self.scripted.exec_cancelled.clone()
    }

    pub(crate) fn last_checkpoint(&self) -> Option<cri::CheckpointContainerRequest> {
        self.scripted.last_checkpoint.lock().expect("no holder panics").clone()
    }

    pub(crate) fn last_update(&self) -> Option<cri::UpdateContainerResourcesRequest> {
        self.scripted.last_update.lock().expect("no holder panics").clone()
    }

    /// What the last call's `grpc-timeout` said.
    pub(crate) fn last_deadline(&self) -> Option<String> {
        self.scripted.last_deadline.lock().expect("no holder panics").clone()
    }

    /// The headers of the last request that pass a trace on.
    pub(crate) fn last_context(&self) -> Vec<String> {
        self.scripted.last_context.lock().expect("no holder panics").clone()
    }

    /// Breaks off everything, as a crash does, and leaves the place for the next one.
    pub(crate) fn stop(mut self) -> TempDir {
        std::fs::remove_file(&self.socket).expect("the socket was there");
        self.folder.take().expect("only taken here")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The service with some calls scripted and all others unimplemented, as a runtime of an older release has it.
macro_rules! service {
    (
        $service:ident;
        scripted: { $($name:ident($self_:ident, $request:ident: $in:ident) -> $out:ident $body:block)* }
        absent: { $($absent:ident($absent_in:ident) -> $absent_out:ident),* $(,)? }
        reported: { $($reported:ident as $reported_type:ident($reported_in:ident) -> $reported_out:ident),* $(,)? }
        streams: { $($stream:ident as $stream_type:ident($stream_in:ident) -> $stream_out:ident),* $(,)? }
    ) => {
        #[tonic::async_trait]
        impl $service for Scripted {
            $(
                async fn $name(&$self_, request: Request<cri::$in>) -> Result<Response<cri::$out>, Status> {
                    let $request = request.into_inner();
                    let answer: Result<cri::$out, Status> = $body;
                    answer.map(Response::new)
                }
            )*
            $(
                async fn $absent(&self, _: Request<cri::$absent_in>) -> Result<Response<cri::$absent_out>, Status> {
                    Err(Status::unimplemented(concat!("unknown method ", stringify!($absent))))
                }
            )*
            $(
                type $reported_type = BoxStream<'static, Result<cri::$reported_out, Status>>;
                async fn $reported(&self, _: Request<cri::$reported_in>) -> Result<Response<Self::$reported_type>, Status> {
                    self.events().await.map(Response::new)
                }
            )*
            $(
                type $stream_type = tokio_stream::Empty<Result<cri::$stream_out, Status>>;
                async fn $stream(&self, _: Request<cri::$stream_in>) -> Result<Response<Self::$stream_type>, Status> {
                    Err(Status::unimplemented(concat!("unknown method ", stringify!($stream))))
                }
            )*
        }
    };
}

service! {
    RuntimeService;
    scripted: {
        version(self, _request: VersionRequest) -> VersionResponse { Ok(self.answer_version().await) }
        status(self, _request: StatusRequest) -> StatusResponse { Ok(Self::conditions()) }
        list_pod_sandbox(self, request: ListPodSandboxRequest) -> ListPodSandboxResponse {
            Ok(cri::ListPodSandboxResponse { items: self.sandboxes(request.filter) })
        }
        list_containers(self, request: ListContainersRequest) -> ListContainersResponse {
            Ok(cri::ListContainersResponse { containers: Self::containers(request.filter) })
        }
        pod_sandbox_status(self, request: PodSandboxStatusRequest) -> PodSandboxStatusResponse {
            Self::sandbox(request.pod_sandbox_id)
        }
        container_status(self, request: ContainerStatusRequest) -> ContainerStatusResponse {
            Self::container(request.container_id)
        }
        stop_pod_sandbox(self, request: StopPodSandboxRequest) -> StopPodSandboxResponse {
            Err(Status::not_found(request.pod_sandbox_id))
        }
        remove_pod_sandbox(self, request: RemovePodSandboxRequest) -> RemovePodSandboxResponse {
            Err(Status::not_found(request.pod_sandbox_id))
        }
        start_container(self, request: StartContainerRequest) -> StartContainerResponse {
            Err(Status::not_found(request.container_id))
        }
        stop_container(self, request: StopContainerRequest) -> StopContainerResponse {
            self.last_stop_timeout.store(request.timeout, Ordering::SeqCst);
            Err(Status::not_found(request.container_id))
        }
        remove_container(self, request: RemoveContainerRequest) -> RemoveContainerResponse {
            Err(Status::not_found(request.container_id))
        }
        exec_sync(self, request: ExecSyncRequest) -> ExecSyncResponse { self.exec(request).await }
        update_container_resources(self, request: UpdateContainerResourcesRequest) -> UpdateContainerResourcesResponse {
            *self.last_update.lock().expect("no holder panics") = Some(request);
            Ok(cri::UpdateContainerResourcesResponse {})
        }
        checkpoint_container(self, request: CheckpointContainerRequest) -> CheckpointContainerResponse {
            if request.container_id != "c-stays" {
                return Err(Status::not_found(request.container_id));
            }
            *self.last_checkpoint.lock().expect("no holder panics") = Some(request);
            Ok(cri::CheckpointContainerResponse {})
        }
        reopen_container_log(self, request: ReopenContainerLogRequest) -> ReopenContainerLogResponse {
            match request.container_id.as_str() {
                "c-stays" => Ok(cri::ReopenContainerLogResponse {}),
                other => Err(Status::not_found(other)),
            }
        }
        exec(self, request: ExecRequest) -> ExecResponse {
            let streams = [request.stdin, request.stdout, request.stderr, request.tty];
            Ok(cri::ExecResponse { url: Self::url("exec", &request.container_id, &request.cmd, &streams)? })
        }
        attach(self, request: AttachRequest) -> AttachResponse {
            let streams = [request.stdin, request.stdout, request.stderr, request.tty];
            Ok(cri::AttachResponse { url: Self::url("attach", &request.container_id, &[], &streams)? })
        }
        port_forward(self, request: PortForwardRequest) -> PortForwardResponse {
            let ports: Vec<String> = request.port.iter().map(ToString::to_string).collect();
            Ok(cri::PortForwardResponse { url: Self::url("portforward", &request.pod_sandbox_id, &ports, &[])? })
        }
    }
    absent: {
        run_pod_sandbox(RunPodSandboxRequest) -> RunPodSandboxResponse,
        create_container(CreateContainerRequest) -> CreateContainerResponse,
        container_stats(ContainerStatsRequest) -> ContainerStatsResponse,
        list_container_stats(ListContainerStatsRequest) -> ListContainerStatsResponse,
        pod_sandbox_stats(PodSandboxStatsRequest) -> PodSandboxStatsResponse,
        list_pod_sandbox_stats(ListPodSandboxStatsRequest) -> ListPodSandboxStatsResponse,
        update_runtime_config(UpdateRuntimeConfigRequest) -> UpdateRuntimeConfigResponse,
        list_metric_descriptors(ListMetricDescriptorsRequest) -> ListMetricDescriptorsResponse,
        list_pod_sandbox_metrics(ListPodSandboxMetricsRequest) -> ListPodSandboxMetricsResponse,
        runtime_config(RuntimeConfigRequest) -> RuntimeConfigResponse,
        update_pod_sandbox_resources(UpdatePodSandboxResourcesRequest) -> UpdatePodSandboxResourcesResponse,
    }
    reported: {
        get_container_events as GetContainerEventsStream(GetEventsRequest) -> ContainerEventResponse,
    }
    streams: {
        stream_pod_sandboxes as StreamPodSandboxesStream(StreamPodSandboxesRequest) -> StreamPodSandboxesResponse,
        stream_containers as StreamContainersStream(StreamContainersRequest) -> StreamContainersResponse,
        stream_container_stats as StreamContainerStatsStream(StreamContainerStatsRequest) -> StreamContainerStatsResponse,
        stream_pod_sandbox_stats as StreamPodSandboxStatsStream(StreamPodSandboxStatsRequest) -> StreamPodSandboxStatsResponse,
        stream_pod_sandbox_metrics as StreamPodSandboxMetricsStream(StreamPodSandboxMetricsRequest) -> StreamPodSandboxMetricsResponse,
    }
}

service! {
    ImageService;
    scripted: {
        image_status(self, request: ImageStatusRequest) -> ImageStatusResponse { Self::image(request.image) }
        pull_image(self, request: PullImageRequest) -> PullImageResponse { Self::pulled(request) }
        list_images(self, _request: ListImagesRequest) -> ListImagesResponse {
            let image = cri::Image {
                id: "sha256:present".to_owned(),
                repo_tags: vec!["present:1".to_owned()],
                repo_digests: vec!["present@sha256:1".to_owned()],
                size: 7,
                ..cri::Image::default()
            };
            Ok(cri::ListImagesResponse { images: vec![image] })
        }
        image_fs_info(self, _request: ImageFsInfoRequest) -> ImageFsInfoResponse {
            let at = |mountpoint: &str| cri::FilesystemUsage {
                fs_id: Some(cri::FilesystemIdentifier { mountpoint: mountpoint.to_owned() }),
                used_bytes: Some(cri::UInt64Value { value: 9 }),
                ..cri::FilesystemUsage::default()
            };
            let nowhere = cri::FilesystemUsage::default();
            let image_filesystems = vec![at(""), nowhere, at("/var/lib/images")];
            let container_filesystems = vec![at("/var/lib/layers")];
            Ok(cri::ImageFsInfoResponse { image_filesystems, container_filesystems })
        }
        remove_image(self, request: RemoveImageRequest) -> RemoveImageResponse {
            match request.image.unwrap_or_default().image.as_str() {
                "sha256:present" => Ok(cri::RemoveImageResponse {}),
                "sha256:gone" => Err(Status::not_found("gone")),
                other => Err(Status::unknown(format!("{other} can't be removed"))),
            }
        }
    }
    absent: {}
    reported: {}
    streams: {
        stream_images as StreamImagesStream(StreamImagesRequest) -> StreamImagesResponse,
    }
}
