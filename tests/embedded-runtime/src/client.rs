//! A client of the runtime, as small as the tests need it.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use witlet_proto::cri::image_service_client::ImageServiceClient;
use witlet_proto::cri::runtime_service_client::RuntimeServiceClient;
use witlet_proto::cri::*;

/// The runtime, and the compiler that it starts.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_embedded-runtime");

/// An image with a content of its own, which one test alone uses.
pub(crate) const REMOVABLE: &str = "removable";

/// A component of the tests with a custom section more.
fn removable() -> Vec<u8> {
    const SECTION: &[u8] = b"\0\x0a\x09removable";
    let components = &witlet_runtime_test_guests::components::COMPONENTS;
    let (_, component) = components.iter().find(|(name, _)| *name == "worker").expect("it is built");
    [*component, SECTION].concat()
}

/// The folders of a runtime, with the components of the tests as images.
pub(crate) struct Folders {
    folder: TempDir,
    component_cache: PathBuf,
}

impl Folders {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("images")).expect("a folder");
        for (name, component) in witlet_runtime_test_guests::components::COMPONENTS {
            std::fs::write(folder.path().join(format!("images/{name}.wasm")), component).expect("a file");
        }
        std::fs::write(folder.path().join(format!("images/{REMOVABLE}.wasm")), removable()).expect("a file");
        let component_cache =
            witlet_harness::program::component_cache().expect("a test lies in a target folder");
        Self { folder, component_cache }
    }

    /// The same with a cache of compiled components that nothing else fills: `code` below the folder.
    pub(crate) fn with_own_cache() -> Self {
        let folders = Self::new();
        Self { component_cache: folders.path("code"), ..folders }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("root/runtime.sock")
    }

    /// Starts the runtime with these arguments as well, and waits until it answers.
    pub(crate) async fn start_with(&self, more: &[&str]) -> (Process, Runtime) {
        let log = std::fs::File::options().create(true).append(true).open(self.path("runtime.log"));
        let log = log.expect("a log");
        let child = Command::new(PROGRAM)
            .args(self.arguments())
            .args(more)
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("the program can start itself");
        let process = Process(child);
        let runtime = Runtime::connect(&self.socket(), self.path("")).await;
        (process, runtime)
    }

    /// The arguments that make this program the runtime of these folders.
    pub(crate) fn arguments(&self) -> [PathBuf; 4] {
        [PathBuf::from("runtime"), self.path("root"), self.path("images"), self.component_cache.clone()]
    }

    /// Starts the runtime and waits until it answers.
    pub(crate) async fn start(&self) -> (Process, Runtime) {
        self.start_with(&[]).await
    }
}

/// A runtime's process. It doesn't outlive the test that started it, however that ends.
pub(crate) struct Process(Child);

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Most tests have ended it already.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

static SHARED: Mutex<Option<(Child, Folders)>> = Mutex::new(None);
static PODS: AtomicU32 = AtomicU32::new(0);

/// The runtime that most tests use; the first one starts it.
pub(crate) async fn shared() -> Runtime {
    let (socket, folder) = {
        let mut shared = SHARED.lock().expect("no test panics while it holds this");
        let (_, folders) = shared.get_or_insert_with(|| {
            let folders = Folders::new();
            let log = std::fs::File::create(folders.path("runtime.log")).expect("a log");
            let child = Command::new(PROGRAM)
                .args(folders.arguments())
                .stdin(Stdio::null())
                .stderr(log)
                .spawn()
                .expect("the program can start itself");
            (child, folders)
        });
        (folders.socket(), folders.path(""))
    };
    Runtime::connect(&socket, folder).await
}

/// Ends the shared runtime.
pub(crate) fn end_shared() {
    if let Some((mut child, _folders)) = SHARED.lock().expect("all tests are over").take() {
        child.kill().expect("it runs");
        child.wait().expect("it can be waited for");
    }
}

/// Waits until `probe` has something.
pub(crate) async fn eventually<T>(what: &str, mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(start.elapsed() < witlet_harness::WAIT_TIMEOUT, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A connection to a runtime.
#[derive(Clone)]
pub(crate) struct Runtime {
    pub(crate) pods: RuntimeServiceClient<Channel>,
    pub(crate) images: ImageServiceClient<Channel>,
    pub(crate) folder: PathBuf,
}

/// A pod of a test.
pub(crate) struct Pod {
    pub(crate) id: String,
    pub(crate) address: String,
    pub(crate) config: PodSandboxConfig,
}

/// What a container is to run.
#[derive(Clone, Default)]
pub(crate) struct Program {
    pub(crate) image: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) annotations: Vec<(String, String)>,
    pub(crate) memory: i64,
    pub(crate) mounts: Vec<Mount>,
}

/// A component of the tests with arguments.
pub(crate) fn program(image: &str, arguments: &[&str]) -> Program {
    Program {
        image: format!("file:{image}.wasm"),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        ..Program::default()
    }
}

impl Runtime {
    pub(crate) async fn connect(socket: &Path, folder: PathBuf) -> Self {
        let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display())).expect("an address");
        let channel = eventually("the runtime answers", async || endpoint.connect().await.ok()).await;
        let (pods, images) = (RuntimeServiceClient::new(channel.clone()), ImageServiceClient::new(channel));
        Self { pods, images, folder }
    }

    pub(crate) async fn pull(&self, image: &str) -> Result<String, Status> {
        let image = ImageSpec { image: image.to_owned(), ..Default::default() };
        let request = PullImageRequest { image: Some(image), ..Default::default() };
        Ok(self.images.clone().pull_image(request).await?.into_inner().image_ref)
    }

    pub(crate) fn sandbox_config(&self) -> PodSandboxConfig {
        let name = format!("pod-{}", PODS.fetch_add(1, Ordering::Relaxed));
        PodSandboxConfig {
            metadata: Some(PodSandboxMetadata {
                uid: format!("uid-of-{name}"),
                namespace: "default".to_owned(),
                name: name.clone(),
                attempt: 0,
            }),
            hostname: name.clone(),
            log_directory: self.folder.join("logs").join(&name).to_string_lossy().into_owned(),
            labels: [("app".to_owned(), name)].into(),
            ..Default::default()
        }
    }

    pub(crate) async fn pod(&self) -> Pod {
        self.pod_of(self.sandbox_config()).await
    }

    pub(crate) async fn pod_of(&self, config: PodSandboxConfig) -> Pod {
        let request = RunPodSandboxRequest { config: Some(config.clone()), ..Default::default() };
        let id =
            self.pods.clone().run_pod_sandbox(request).await.expect("a sandbox").into_inner().pod_sandbox_id;
        let status = self.sandbox_status(&id).await.expect("its status");
        Pod { id, address: status.network.expect("a network").ip, config }
    }

    pub(crate) async fn sandbox_status(&self, id: &str) -> Result<PodSandboxStatus, Status> {
        let request = PodSandboxStatusRequest { pod_sandbox_id: id.to_owned(), ..Default::default() };
        let answer = self.pods.clone().pod_sandbox_status(request).await?.into_inner();
        Ok(answer.status.expect("a status"))
    }

    pub(crate) async fn create(&self, pod: &Pod, name: &str, program: Program) -> Result<String, Status> {
        self.create_attempt(pod, name, 0, program).await
    }

    pub(crate) async fn create_attempt(
        &self,
        pod: &Pod,
        name: &str,
        attempt: u32,
        program: Program,
    ) -> Result<String, Status> {
        let Program { image, arguments, environment, annotations, memory, mounts } = program;
        self.pull(&image).await?;
        let config = ContainerConfig {
            metadata: Some(ContainerMetadata { name: name.to_owned(), attempt }),
            annotations: annotations.into_iter().collect(),
            image: Some(ImageSpec { image, ..Default::default() }),
            args: arguments,
            envs: environment.into_iter().map(|(key, value)| KeyValue { key, value }).collect(),
            labels: [("container".to_owned(), name.to_owned())].into(),
            log_path: format!("{name}/{attempt}.log"),
            mounts,
            linux: Some(LinuxContainerConfig {
                resources: Some(LinuxContainerResources {
                    memory_limit_in_bytes: memory,
                    ..Default::default()
                }),
                ..Default::default()
            }),
            ..Default::default()
        };
        let request = CreateContainerRequest {
            pod_sandbox_id: pod.id.clone(),
            config: Some(config),
            sandbox_config: Some(pod.config.clone()),
        };
        Ok(self.pods.clone().create_container(request).await?.into_inner().container_id)
    }

    pub(crate) async fn start(&self, id: &str) -> Result<(), Status> {
        let request = StartContainerRequest { container_id: id.to_owned() };
        self.pods.clone().start_container(request).await.map(drop)
    }

    pub(crate) async fn run(&self, pod: &Pod, name: &str, program: Program) -> String {
        let id = self.create(pod, name, program).await.expect("a container");
        self.start(&id).await.expect("it starts");
        id
    }

    pub(crate) async fn status(&self, id: &str) -> Result<ContainerStatus, Status> {
        let request = ContainerStatusRequest { container_id: id.to_owned(), ..Default::default() };
        let answer = self.pods.clone().container_status(request).await?.into_inner();
        Ok(answer.status.expect("a status"))
    }

    pub(crate) async fn end(&self, id: &str) -> ContainerStatus {
        eventually("the container ends", async || {
            let status = self.status(id).await.expect("a status");
            (status.state() == ContainerState::ContainerExited).then_some(status)
        })
        .await
    }

    /// Runs a command in a container, for at most `seconds` if that isn't 0.
    pub(crate) async fn exec(
        &self,
        id: &str,
        command: &[&str],
        seconds: i64,
    ) -> Result<ExecSyncResponse, Status> {
        let cmd = command.iter().map(|word| (*word).to_owned()).collect();
        let request = ExecSyncRequest { container_id: id.to_owned(), cmd, timeout: seconds };
        let mut pods = self.pods.clone().max_decoding_message_size(16 << 20);
        Ok(pods.exec_sync(request).await?.into_inner())
    }

    /// What a container takes.
    pub(crate) async fn stats(&self, id: &str) -> Result<ContainerStats, Status> {
        let request = ContainerStatsRequest { container_id: id.to_owned() };
        let answer = self.pods.clone().container_stats(request).await?.into_inner();
        Ok(answer.stats.expect("stats"))
    }

    /// How many programs run in a pod: those of its containers, commands, requests and connections.
    pub(crate) async fn programs(&self, pod_id: &str) -> u64 {
        let request = PodSandboxStatsRequest { pod_sandbox_id: pod_id.to_owned() };
        let answer = self.pods.clone().pod_sandbox_stats(request).await.expect("stats").into_inner();
        let process = answer.stats.expect("stats").linux.expect("of Linux").process.expect("it is measured");
        process.process_count.expect("it is measured").value
    }

    /// A folder of the node, made for this, as a mount.
    pub(crate) fn folder_mount(&self, name: &str, container_path: &str, readonly: bool) -> Mount {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Mount {
            container_path: container_path.to_owned(),
            host_path: folder.to_string_lossy().into_owned(),
            readonly,
            ..Default::default()
        }
    }

    /// An empty file of the node, made for this, as a mount.
    pub(crate) fn file_mount(&self, name: &str, container_path: &str, readonly: bool) -> Mount {
        let file = self.folder.join(name);
        std::fs::write(&file, "").expect("a file");
        Mount {
            host_path: file.to_string_lossy().into_owned(),
            ..self.folder_mount("", container_path, readonly)
        }
    }

    pub(crate) async fn stop(&self, id: &str, seconds: i64) -> Result<(), Status> {
        let request = StopContainerRequest { container_id: id.to_owned(), timeout: seconds };
        self.pods.clone().stop_container(request).await.map(drop)
    }

    pub(crate) async fn remove(&self, id: &str) -> Result<(), Status> {
        let request = RemoveContainerRequest { container_id: id.to_owned() };
        self.pods.clone().remove_container(request).await.map(drop)
    }

    pub(crate) async fn stop_pod(&self, id: &str) -> Result<(), Status> {
        let request = StopPodSandboxRequest { pod_sandbox_id: id.to_owned() };
        self.pods.clone().stop_pod_sandbox(request).await.map(drop)
    }

    pub(crate) async fn remove_pod(&self, id: &str) -> Result<(), Status> {
        let request = RemovePodSandboxRequest { pod_sandbox_id: id.to_owned() };
        self.pods.clone().remove_pod_sandbox(request).await.map(drop)
    }

    /// The raw log of a container.
    pub(crate) async fn raw_log(&self, id: &str) -> String {
        let path = self.status(id).await.expect("a status").log_path;
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// What a container wrote, line by line, without times.
    pub(crate) async fn output(&self, id: &str) -> Vec<String> {
        let log = self.raw_log(id).await;
        log.lines().map(|line| line.split_once(' ').expect("a time first").1.to_owned()).collect()
    }

    /// Waits until the log of a container has a line with these words.
    pub(crate) async fn says(&self, id: &str, words: &str) {
        eventually(words, async || self.raw_log(id).await.contains(words).then_some(())).await;
    }

    /// Runs `subject` to its end in `pod`, and returns its exit code and output.
    pub(crate) async fn subject(&self, pod: &Pod, name: &str, arguments: &[&str]) -> (i32, Vec<String>) {
        let id = self.run(pod, name, program("subject", arguments)).await;
        let status = self.end(&id).await;
        (status.exit_code, self.output(&id).await)
    }
}
