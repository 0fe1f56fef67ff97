//! What stands behind the endpoints: pods, a runtime, rights, a clock.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Node, Pod, PodSpec, PodStatus,
};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::runtime::{
    ContainerId, ContainerRunState, ExecOutput, ListedContainer, ListedSandbox, ObservedContainer,
    ObservedPod, ObservedSandbox, RuntimeEvent, RuntimePod, SandboxId, SandboxState,
};
use witlet_ports::{
    AccessError, AgentStats, AgentView, Checkpoints, Clock, CommandRunner, FilesError, Identity,
    JournalOutput, Links, LogFiles, LogVerbosity, NodeAccess, NodeAction, PodView, RecordedEvent,
    RuntimeError, StreamOptions, Streaming, SystemLog, SystemLogEntry, SystemLogs, VerbosityError,
};

/// What all of them share.
#[derive(Default)]
pub(super) struct Cluster {
    pub(super) pods: Mutex<Vec<Arc<Pod>>>,
    pub(super) mirrors: watch::Sender<Arc<BTreeMap<PodFullName, Arc<Pod>>>>,
    pub(super) log_paths: Mutex<HashMap<String, PathBuf>>,
    pub(super) streaming_url: Mutex<String>,
    /// What the runtime was asked for streams.
    pub(super) asked: Mutex<Vec<String>>,
    /// How much is logged, once that was set.
    pub(super) verbosity: Mutex<Option<u32>>,
    /// Where the machine's logs are.
    pub(super) log_folder: Mutex<PathBuf>,
    /// A message when the output of a `journalctl` is dropped that goes on for ever.
    pub(super) journal_ended: Mutex<Option<oneshot::Sender<()>>>,
    /// Checkpoints that are held, and may go on.
    pub(super) checkpoints: Held,
}

/// What goes on once a test adds a permit.
pub(super) struct Held(pub(super) Semaphore);

impl Default for Held {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

/// When everything happens.
pub(super) fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().expect("a time")
}

/// A state of a container.
pub(super) fn running() -> ContainerState {
    ContainerState { running: Some(ContainerStateRunning::default()), ..ContainerState::default() }
}

pub(super) fn waiting(reason: &str) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message: None };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

pub(super) fn ended(id: &str) -> ContainerState {
    let terminated =
        ContainerStateTerminated { container_id: Some(format!("fake://{id}")), ..Default::default() };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

/// Pod `default/web` with a container `app` that is in this state, and has this id.
pub(super) fn web(id: &str, state: ContainerState, last: Option<ContainerState>) -> Arc<Pod> {
    let mut pod = Pod::default();
    pod.metadata.name = Some("web".to_owned());
    pod.metadata.namespace = Some("default".to_owned());
    pod.metadata.uid = Some("u-1".to_owned());
    let app = Container { name: "app".to_owned(), ..Container::default() };
    pod.spec = Some(PodSpec { containers: vec![app], ..PodSpec::default() });
    let status = ContainerStatus {
        name: "app".to_owned(),
        container_id: Some(format!("fake://{id}")),
        state: Some(state),
        last_state: last,
        ..ContainerStatus::default()
    };
    pod.status = Some(PodStatus { container_statuses: Some(vec![status]), ..PodStatus::default() });
    Arc::new(pod)
}

impl Cluster {
    pub(super) fn show(&self, pod: Arc<Pod>) {
        *self.pods.lock().unwrap() = vec![pod];
    }

    fn ask(&self, what: String) -> String {
        self.asked.lock().unwrap().push(what);
        self.streaming_url.lock().unwrap().clone()
    }
}

impl Clock for Cluster {
    fn now(&self) -> Timestamp {
        now()
    }
}

/// Takes any verbosity but 99.
impl LogVerbosity for Cluster {
    fn set(&self, verbosity: u32) -> Result<(), VerbosityError> {
        if verbosity == 99 {
            return Err(VerbosityError { message: "the log is gone".to_owned() });
        }
        *self.verbosity.lock().unwrap() = Some(verbosity);
        Ok(())
    }
}

/// A checkpoint that may take so long waits until the test lets one go on.
pub(super) const HELD_CHECKPOINT: Duration = Duration::from_secs(77);

/// Saves everything but within 13 seconds.
#[async_trait]
impl Checkpoints for Cluster {
    async fn checkpoint(
        &self,
        id: &ContainerId,
        archive: &Path,
        timeout: Option<Duration>,
    ) -> Result<(), RuntimeError> {
        if timeout == Some(Duration::from_secs(13)) {
            let message = "no criu".to_owned();
            return Err(RuntimeError::NotFound { call: "CheckpointContainer", message });
        }
        let has_folder = archive.parent().is_some_and(Path::is_dir);
        self.ask(format!("checkpoint {id} {timeout:?}, the folder is there: {has_folder}"));
        if timeout == Some(HELD_CHECKPOINT) {
            let held = self.checkpoints.0.acquire().await;
            held.expect("it is never closed").forget();
        }
        File::create(archive).expect("written");
        Ok(())
    }
}

/// A journal that shows its arguments, and has an endless log of the service `endless`.
#[async_trait]
impl SystemLogs for Cluster {
    async fn open(&self, path: &Path, _: Links) -> Result<SystemLog, FilesError> {
        let path = self.log_folder.lock().unwrap().join(path);
        let failed = |cause| FilesError { action: "open", path: path.clone(), cause };
        if !path.is_dir() {
            return File::open(&path).map(SystemLog::File).map_err(failed);
        }
        let entries = std::fs::read_dir(&path).map_err(failed)?.map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            SystemLogEntry { name, is_folder: entry.path().is_dir() }
        });
        Ok(SystemLog::Folder { entries: entries.collect(), is_cut: false })
    }

    fn journal(&self, arguments: &[String]) -> Result<JournalOutput, FilesError> {
        if arguments == ["--field", "_SYSTEMD_UNIT"] {
            return Ok(Box::pin(&b"kubelet.service\nendless.service\n"[..]));
        }
        if arguments.iter().any(|argument| argument == "--unit=endless") {
            return Ok(Box::pin(Endless { _ended: self.journal_ended.lock().unwrap().take() }));
        }
        Ok(Box::pin(std::io::Cursor::new(format!("{}\n", arguments.join(",")).into_bytes())))
    }
}

/// Output without an end. Its sender is dropped with it.
struct Endless {
    _ended: Option<oneshot::Sender<()>>,
}

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        buffer.put_slice(b"a line\n");
        Poll::Ready(Ok(()))
    }
}

impl AgentView for Cluster {
    fn pods(&self) -> Vec<Arc<Pod>> {
        self.pods.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<RecordedEvent> {
        Vec::new()
    }

    fn node(&self) -> Arc<Node> {
        Arc::default()
    }

    fn unhealthy(&self) -> Vec<String> {
        vec!["there is no network".to_owned()]
    }

    fn stats(&self) -> AgentStats {
        AgentStats { events_handled: 7, ..AgentStats::default() }
    }
}

/// The running instance of `app` is `c-2`, and `c-1` was before it.
fn observed(id: &str, state: ContainerRunState, created: i64, log_path: &Path) -> ObservedContainer {
    let created = Timestamp::from_second(created).expect("a time");
    let mut observed = ObservedContainer::new(id.into(), "app", state, created);
    observed.image_id = format!("sha256:{id}");
    observed.log_path = log_path.display().to_string();
    observed
}

#[async_trait]
impl PodView for Cluster {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        let listed = |id: &str, state| ListedContainer {
            id: id.into(),
            name: "app".to_owned(),
            sandbox_id: "s-1".into(),
            state,
            created_at: Timestamp::UNIX_EPOCH,
        };
        let pod = |uid: &str, containers| RuntimePod {
            uid: uid.into(),
            name: "web".to_owned(),
            namespace: "default".to_owned(),
            sandboxes: vec![ListedSandbox {
                id: "s-1".into(),
                attempt: 0,
                state: SandboxState::Ready,
                created_at: Timestamp::UNIX_EPOCH,
            }],
            containers,
        };
        let runs = pod("u-1", vec![listed("c-2", ContainerRunState::Running)]);
        Ok(Arc::new(vec![runs, pod("u-0", vec![listed("c-0", ContainerRunState::Exited)])]))
    }

    async fn pod_status(&self, uid: &PodUid) -> Result<ObservedPod, RuntimeError> {
        let paths = self.log_paths.lock().unwrap().clone();
        let containers = [("c-1", ContainerRunState::Exited, 1), ("c-2", ContainerRunState::Running, 2)];
        let containers = containers.map(|(id, state, created)| {
            observed(id, state, created, paths.get(id).map_or(Path::new(""), |path| path))
        });
        let sandbox = ObservedSandbox {
            id: "s-1".into(),
            attempt: 0,
            state: SandboxState::Ready,
            created_at: Timestamp::UNIX_EPOCH,
            network: witlet_core::runtime::NamespaceMode::Pod,
            ips: Vec::new(),
        };
        Ok(ObservedPod {
            containers: containers.into(),
            sandboxes: vec![sandbox],
            ..ObservedPod::absent(uid.clone(), now())
        })
    }

    async fn events(&self, _: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        Ok(())
    }
}

#[async_trait]
impl Streaming for Cluster {
    async fn exec(
        &self,
        id: &ContainerId,
        command: &[String],
        options: StreamOptions,
    ) -> Result<String, RuntimeError> {
        Ok(self.ask(format!("exec {id} {command:?} {options:?}")))
    }

    async fn attach(&self, id: &ContainerId, options: StreamOptions) -> Result<String, RuntimeError> {
        Ok(self.ask(format!("attach {id} {options:?}")))
    }

    async fn port_forward(&self, id: &SandboxId, ports: &[u16]) -> Result<String, RuntimeError> {
        match ports {
            [404] => {
                Err(RuntimeError::NotFound { call: "PortForward", message: "no such sandbox".to_owned() })
            }
            ports => Ok(self.ask(format!("port-forward {id} {ports:?}"))),
        }
    }
}

#[async_trait]
impl CommandRunner for Cluster {
    async fn exec_sync(
        &self,
        id: &ContainerId,
        command: &[String],
        _: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        let exit_code = if command == ["false"] { 3 } else { 0 };
        let stdout = format!("{id}: {}\n", command.join(","));
        Ok(ExecOutput { stdout: stdout.into(), stderr: b"said\n".to_vec(), exit_code })
    }
}

#[async_trait]
impl LogFiles for Cluster {
    async fn open(&self, log: &Path) -> Result<Option<File>, FilesError> {
        match File::open(log) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(FilesError { action: "open", path: log.to_owned(), cause }),
        }
    }
}

/// `admin` may do everything, `reader` may `get` what has a name of its own, `no one` nothing; about `riddle` no one knows.
#[async_trait]
impl NodeAccess for Cluster {
    async fn review_token(&self, token: &str) -> Result<Option<Identity>, AccessError> {
        match token {
            "admin" | "reader" | "no-one" | "riddle" => {
                Ok(Some(Identity { user: token.to_owned(), ..Identity::default() }))
            }
            "unreviewed" => Err(AccessError { message: "the API server is down".to_owned() }),
            _ => Ok(None),
        }
    }

    async fn may(&self, who: &Identity, action: &NodeAction) -> Result<Result<(), String>, AccessError> {
        let known = who.groups.iter().any(|group| group == "system:authenticated");
        match who.user.as_str() {
            "admin" if known => Ok(Ok(())),
            "reader" if known && action.verb == "get" && action.subresources != ["proxy"] => Ok(Ok(())),
            "riddle" => Err(AccessError { message: "the API server is down".to_owned() }),
            _ => Ok(Err("no rule".to_owned())),
        }
    }
}
