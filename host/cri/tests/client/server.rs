//! A scripted CRI server on a socket of its own.
//!
//! Longer than 500 lines because it scripts each call of both services in one place.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt};
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Response, Status};
use witlet_core::runtime::labels;
use witlet_proto::cri;
use witlet_proto::cri::image_service_server::{ImageService, ImageServiceServer};
use witlet_proto::cri::runtime_service_server::{RuntimeService, RuntimeServiceServer};

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
    /// As older runtimes.
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

/// Reported when it is dropped.
struct Guard(Arc<Notify>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.notify_one();
    }
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

fn labels_of_pod() -> std::collections::BTreeMap<String, String> {
    [(labels::POD_UID, "u-1"), (labels::POD_NAME, "name"), (labels::POD_NAMESPACE, "namespace")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

fn asks_for_no_one(selector: &std::collections::BTreeMap<String, String>) -> bool {
    selector.get(labels::POD_UID).is_some_and(|uid| uid != "u-1")
}

impl Scripted {
    fn record_deadline(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let reported = request.metadata().get("grpc-timeout").and_then(|reported| reported.to_str().ok());
        *self.last_deadline.lock().expect("no holder panics") = reported.map(str::to_owned);
        let of_context = |name: &&str| request.metadata().contains_key(*name);
        let value = |name| request.metadata().get(name).and_then(|value| value.to_str().ok()).unwrap_or("?");
        let names = ["traceparent", "tracestate", "baggage"].into_iter().filter(of_context);
        let context = names.map(|name| format!("{name}: {}", value(name))).collect();
        *self.last_context.lock().expect("no holder panics") = context;
        Ok(request)
    }

    async fn answer_version(&self) -> cri::VersionResponse {
        self.version_asked.notify_one();
        tokio::time::sleep(self.answers.version_takes).await;
        cri::VersionResponse {
            runtime_name: "scripted".to_owned(),
            runtime_api_version: "v1".to_owned(),
            ..cri::VersionResponse::default()
        }
    }

    fn conditions() -> cri::StatusResponse {
        let condition = |kind: &str, status, reason: &str, message: &str| cri::RuntimeCondition {
            r#type: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let conditions = vec![
            condition("RuntimeReady", true, "", ""),
            condition("NetworkReady", false, "NoCni", "cni plugin not initialized"),
        ];
        cri::StatusResponse {
            status: Some(cri::RuntimeStatus { conditions }),
            ..cri::StatusResponse::default()
        }
    }

    fn sandboxes(&self, filter: Option<cri::PodSandboxFilter>) -> Vec<cri::PodSandbox> {
        if filter.is_some_and(|f| asks_for_no_one(&f.label_selector)) {
            return Vec::new();
        }
        let padding = "x".repeat(self.answers.list_bytes);
        ["s-stays", "s-vanishes"]
            .map(|id| cri::PodSandbox {
                id: id.to_owned(),
                metadata: Some(cri::PodSandboxMetadata::default()),
                labels: labels_of_pod(),
                annotations: [("padding".to_owned(), padding[..padding.len() / 2].to_owned())].into(),
                ..cri::PodSandbox::default()
            })
            .to_vec()
    }

    fn containers(filter: Option<cri::ContainerFilter>) -> Vec<cri::Container> {
        if filter.is_some_and(|f| asks_for_no_one(&f.label_selector)) {
            return Vec::new();
        }
        ["c-vanishes", "c-stays"]
            .map(|id| cri::Container {
                id: id.to_owned(),
                pod_sandbox_id: "s-stays".to_owned(),
                labels: labels_of_pod(),
                image_ref: "by reference".to_owned(),
                // Runtimes before 1.30 don't have it.
                image_id: if id == "c-stays" { "sha256:present".to_owned() } else { String::new() },
                ..cri::Container::default()
            })
            .to_vec()
    }

    fn sandbox(id: String) -> Result<cri::PodSandboxStatusResponse, Status> {
        if id != "s-stays" {
            return Err(Status::not_found(id));
        }
        let status = cri::PodSandboxStatus {
            id,
            metadata: Some(cri::PodSandboxMetadata::default()),
            network: Some(cri::PodSandboxNetworkStatus {
                ip: "10.1.2.3".to_owned(),
                additional_ips: Vec::new(),
            }),
            ..cri::PodSandboxStatus::default()
        };
        Ok(cri::PodSandboxStatusResponse { status: Some(status), ..cri::PodSandboxStatusResponse::default() })
    }

    fn container(id: String) -> Result<cri::ContainerStatusResponse, Status> {
        if id != "c-stays" {
            return Err(Status::not_found(id));
        }
        let image = |image: &str| cri::Mount {
            image: Some(cri::ImageSpec { image: image.to_owned(), ..cri::ImageSpec::default() }),
            ..cri::Mount::default()
        };
        let mounts = vec![cri::Mount::default(), image("sha256:mounted"), image("")];
        let status = Some(cri::ContainerStatus { id, mounts, ..cri::ContainerStatus::default() });
        Ok(cri::ContainerStatusResponse { status, info: Default::default() })
    }

    async fn exec(&self, request: cri::ExecSyncRequest) -> Result<cri::ExecSyncResponse, Status> {
        match request.cmd.first().map_or("", String::as_str) {
            _ if request.container_id != "c-stays" => Err(Status::not_found(request.container_id)),
            "hang" => {
                let _guard = Guard(self.exec_cancelled.clone());
                self.exec_begun.notify_one();
                std::future::pending().await
            }
            "slow" => Err(Status::deadline_exceeded("timeout 1s exceeded: context deadline exceeded")),
            "broken" => Err(Status::unknown("runc ".repeat(10_000))),
            "flood" => Ok(cri::ExecSyncResponse { stdout: vec![b'x'; 17 << 20], ..Default::default() }),
            _ => Ok(cri::ExecSyncResponse {
                stdout: request.cmd.join(" ").into_bytes(),
                stderr: vec![0xff],
                exit_code: i32::try_from(request.timeout).expect("small"),
            }),
        }
    }

    /// Only for `u` with `p`.
    fn pulled(request: cri::PullImageRequest) -> Result<cri::PullImageResponse, Status> {
        let auth = request.auth.unwrap_or_default();
        let image = request.image.unwrap_or_default().image;
        match (image.as_str(), auth.username.as_str(), auth.password.as_str()) {
            ("private:1", "u", "p") => Ok(cri::PullImageResponse { image_ref: "sha256:private".to_owned() }),
            ("private:1", ..) => Err(Status::unknown("401 Unauthorized")),
            ("nameless:1", ..) => Ok(cri::PullImageResponse::default()),
            _ => Err(Status::not_found(image)),
        }
    }

    async fn events(
        &self,
    ) -> Result<BoxStream<'static, Result<cri::ContainerEventResponse, Status>>, Status> {
        let reported = |ids: &[&str]| {
            let event = |id: &&str| {
                let metadata = cri::PodSandboxMetadata { uid: "u-1".to_owned(), ..Default::default() };
                let status = cri::PodSandboxStatus { metadata: Some(metadata), ..Default::default() };
                Ok(cri::ContainerEventResponse {
                    container_id: (*id).to_owned(),
                    pod_sandbox_status: Some(status),
                    ..Default::default()
                })
            };
            stream::iter(ids.iter().map(event).collect::<Vec<_>>())
        };
        self.events_asked.notify_one();
        match &self.answers.events {
            Events::Unimplemented => Err(Status::unimplemented("unknown method GetContainerEvents")),
            Events::Silent => std::future::pending().await,
            Events::ThenQuiet(ids) => Ok(reported(ids).chain(stream::pending()).boxed()),
            Events::ThenEnd(ids) => Ok(reported(ids).boxed()),
            Events::ThenFail(ids) => {
                let broken = stream::iter([Err(Status::aborted("the stream broke"))]);
                Ok(reported(ids).chain(broken).boxed())
            }
        }
    }

    fn image(spec: Option<cri::ImageSpec>) -> Result<cri::ImageStatusResponse, Status> {
        let image = match spec.unwrap_or_default().image.as_str() {
            "present:1" => Some(cri::Image { id: "sha256:present".to_owned(), ..cri::Image::default() }),
            "empty-answer:1" => None,
            other => return Err(Status::not_found(other)),
        };
        Ok(cri::ImageStatusResponse { image, info: Default::default() })
    }

    /// One that says what was asked; none for `u-empty`.
    fn url(call: &str, id: &str, words: &[String], streams: &[bool]) -> Result<String, Status> {
        match id {
            "gone" => Err(Status::not_found(id)),
            "u-empty" => Ok(String::new()),
            id => Ok(format!("http://127.0.0.1:1/{call}/{id}/{words:?}/{streams:?}")),
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
