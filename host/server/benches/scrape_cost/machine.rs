//! A machine with pods that sleep: their cgroups and processes are real, what the agent knows of them is made here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Node, Pod, PodSpec, PodStatus};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::mpsc;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{
    ContainerId, ContainerRunState, ExecOutput, ListedContainer, ListedSandbox, ObservedPod, RuntimeEvent,
    RuntimePod, SandboxId, SandboxState,
};
use witlet_core::stats::exposition::Exposition;
use witlet_core::stats::{ContainerUsage, FsUsage, LocalStorage};
use witlet_node::{SystemClock, SystemMeter};
use witlet_ports::{
    AgentStats, AgentView, Checkpoints, Clock as _, CommandRunner, ContainerImage, ContainerStats,
    FilesError, ImageFilesystem, ImageFilesystems, ImageStore, JournalOutput, Links, LogFiles, LogVerbosity,
    MetricsSource, NodeImage, PodView, RecordedEvent, RuntimeError, RuntimeStats, StorageMeter,
    StreamOptions, Streaming, SystemLog, SystemLogs, VerbosityError,
};
use witlet_server::StatsPorts;

const CGROUPS: &str = "/sys/fs/cgroup";
/// Controllers of version 1 in which runtimes make cgroups.
const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "memory", "blkio", "pids"];
/// A sandbox's and a container's.
const PROCESSES_OF_POD: usize = 2;
const IMAGE: &str = "registry.example/library/busybox:1.36.1";

/// Cgroups with processes, until it is dropped.
pub(super) struct Pods {
    count: usize,
    /// The cgroup of all of them.
    root: String,
    /// Where controllers are mounted.
    mounts: Vec<PathBuf>,
    processes: Vec<Child>,
}

impl Pods {
    pub(super) fn make(count: usize) -> io::Result<Self> {
        let root = format!("/witlet-bench-{}", std::process::id());
        let is_v2 = Path::new(CGROUPS).join("cgroup.controllers").exists();
        let mounts = match is_v2 {
            true => vec![PathBuf::from(CGROUPS)],
            false => CONTROLLERS.iter().map(|controller| Path::new(CGROUPS).join(controller)).collect(),
        };
        let mut pods = Self { count, root, mounts, processes: Vec::new() };
        for number in 0..count {
            let pod = pods.pod_cgroup(number);
            pods.make_cgroup(&pod)?;
            for id in [sandbox_id(number), container_id(number)] {
                let cgroup = format!("{pod}/{id}");
                pods.make_cgroup(&cgroup)?;
                let sleeps = Command::new("sleep").arg("infinity").stdin(Stdio::null()).spawn()?;
                for mount in &pods.mounts {
                    fs::write(below(mount, &cgroup).join("cgroup.procs"), sleeps.id().to_string())?;
                }
                pods.processes.push(sleeps);
            }
        }
        Ok(pods)
    }

    fn make_cgroup(&self, path: &str) -> io::Result<()> {
        self.mounts.iter().try_for_each(|mount| fs::create_dir_all(below(mount, path)))?;
        // In version 2 each level says what the one below it has.
        if let [mount] = &self.mounts[..] {
            let mut above = mount.clone();
            for name in path.trim_start_matches('/').split('/') {
                fs::write(above.join("cgroup.subtree_control"), "+cpu +memory +io +pids")?;
                above.push(name);
            }
        }
        Ok(())
    }

    fn pod_cgroup(&self, number: usize) -> String {
        format!("{}/kubepods/burstable/pod{}", self.root, uid(number))
    }

    /// Has the processes of each pod do something, or of each so-and-so-many-th one.
    pub(super) fn wake(&self, one_in: usize) {
        for process in self.processes.chunks(PROCESSES_OF_POD).step_by(one_in).flatten() {
            let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
            for signal in [Signal::STOP, Signal::CONT] {
                let _ = pid.map(|pid| kill_process(pid, signal));
            }
        }
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
        for number in 0..self.count {
            let pod = self.pod_cgroup(number);
            for id in [sandbox_id(number), container_id(number)] {
                self.remove(&format!("{pod}/{id}"));
            }
            self.remove(&pod);
        }
        for above in ["/kubepods/burstable", "/kubepods", ""] {
            self.remove(&format!("{}{above}", self.root));
        }
    }
}

impl Pods {
    fn remove(&self, path: &str) {
        for mount in &self.mounts {
            if let Err(error) = fs::remove_dir(below(mount, path)) {
                eprintln!("bench: remove {path}: {error}");
            }
        }
    }
}

fn below(mount: &Path, path: &str) -> PathBuf {
    mount.join(path.trim_start_matches('/'))
}

/// So many digits, as random as those of ids are: what is compressed depends on it.
fn digits(number: usize, count: usize) -> String {
    let mut state = number as u64;
    let mut text = String::new();
    while text.len() < count {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        text += &format!("{:016x}", mixed ^ (mixed >> 31));
    }
    text.truncate(count);
    text
}

fn uid(number: usize) -> String {
    let digits = digits(number << 8, 32);
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    parts.map(|(from, to)| &digits[from..to]).join("-")
}

fn container_id(number: usize) -> String {
    digits((number << 8) | 64, 64)
}

fn sandbox_id(number: usize) -> String {
    digits((number << 8) | 128, 64)
}

/// What the agent knows.
pub(super) struct Machine {
    pods: Arc<Pods>,
    shown: Vec<Arc<Pod>>,
    listed: Arc<Vec<RuntimePod>>,
}

impl Machine {
    pub(super) fn new(pods: Arc<Pods>) -> Self {
        let now = SystemClock.now();
        let shown = (0..pods.count).map(|number| Arc::new(shown(number))).collect();
        let listed = Arc::new((0..pods.count).map(|number| listed(number, now)).collect());
        Self { pods, shown, listed }
    }

    pub(super) fn stats(self: Arc<Self>) -> StatsPorts {
        let clock = Arc::new(SystemClock);
        let kernel = SystemMeter::new(&self.pods.root, Default::default(), clock.clone());
        StatsPorts {
            view: self.clone(),
            pods: self.clone(),
            runtime: self.clone(),
            images: self.clone(),
            kernel: Arc::new(kernel),
            storage: self,
            clock,
            node_name: "node-1".to_owned(),
            root: "/".into(),
        }
    }
}

fn name(number: usize) -> String {
    format!("web-7c5ddbdf54-{}", digits(number << 8, 8))
}

fn shown(number: usize) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(name(number));
    pod.metadata.namespace = Some("default".to_owned());
    pod.metadata.uid = Some(uid(number));
    pod.spec = Some(PodSpec { host_network: Some(true), ..PodSpec::default() });
    let app =
        ContainerStatus { name: "app".to_owned(), image: IMAGE.to_owned(), ..ContainerStatus::default() };
    pod.status = Some(PodStatus { container_statuses: Some(vec![app]), ..PodStatus::default() });
    pod
}

fn listed(number: usize, created_at: Timestamp) -> RuntimePod {
    let sandbox = SandboxId::from(sandbox_id(number).as_str());
    RuntimePod {
        uid: PodUid::from(uid(number).as_str()),
        name: name(number),
        namespace: "default".to_owned(),
        sandboxes: vec![ListedSandbox {
            id: sandbox.clone(),
            attempt: 0,
            state: SandboxState::Ready,
            created_at,
        }],
        containers: vec![ListedContainer {
            id: ContainerId::from(container_id(number).as_str()),
            name: "app".to_owned(),
            sandbox_id: sandbox,
            state: ContainerRunState::Running,
            created_at,
        }],
    }
}

impl AgentView for Machine {
    fn pods(&self) -> Vec<Arc<Pod>> {
        self.shown.clone()
    }

    fn events(&self) -> Vec<RecordedEvent> {
        Vec::new()
    }

    fn node(&self) -> Arc<Node> {
        Arc::default()
    }

    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    fn stats(&self) -> AgentStats {
        AgentStats::default()
    }
}

#[async_trait]
impl PodView for Machine {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        Ok(self.listed.clone())
    }

    async fn pod_status(&self, uid: &PodUid) -> Result<ObservedPod, RuntimeError> {
        Ok(ObservedPod::absent(uid.clone(), SystemClock.now()))
    }

    async fn events(&self, _: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        Ok(())
    }
}

#[async_trait]
impl RuntimeStats for Machine {
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError> {
        let stats = |pod: &RuntimePod| {
            let usage = ContainerUsage {
                name: "app".to_owned(),
                rootfs: FsUsage::new(28672, 9),
                ..ContainerUsage::default()
            };
            ContainerStats { uid: pod.uid.clone(), attempt: 0, usage }
        };
        Ok(self.listed.iter().map(stats).collect())
    }

    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError> {
        Ok(BTreeMap::new())
    }
}

#[async_trait]
impl StorageMeter for Machine {
    async fn measure(&self, _: &Pod) -> LocalStorage {
        let logs = BTreeMap::from([("app".to_owned(), FsUsage::new(4096, 1))]);
        LocalStorage { logs, own: FsUsage::new(8192, 2), ..LocalStorage::default() }
    }
}

#[async_trait]
impl ImageStore for Machine {
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError> {
        Ok(Vec::new())
    }

    async fn filesystems(&self) -> Result<ImageFilesystems, RuntimeError> {
        let images = ImageFilesystem { mountpoint: "/".into(), used_bytes: Some(50), inodes_used: None };
        Ok(ImageFilesystems { images: vec![images], containers: Vec::new() })
    }

    async fn containers(&self) -> Result<Vec<ContainerImage>, RuntimeError> {
        Ok(Vec::new())
    }

    async fn mounted_images(&self, _: &ContainerId) -> Result<Vec<String>, RuntimeError> {
        Ok(Vec::new())
    }

    async fn remove(&self, _: &str) -> Result<(), RuntimeError> {
        Ok(())
    }
}

impl MetricsSource for Machine {
    fn write(&self, _: &mut Exposition) {}
}

// What no scrape asks for.

fn missing(call: &'static str) -> RuntimeError {
    RuntimeError::NotFound { call, message: "not on this machine".to_owned() }
}

#[async_trait]
impl CommandRunner for Machine {
    async fn exec_sync(
        &self,
        _: &ContainerId,
        _: &[String],
        _: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        Err(missing("ExecSync"))
    }
}

#[async_trait]
impl Streaming for Machine {
    async fn exec(&self, _: &ContainerId, _: &[String], _: StreamOptions) -> Result<String, RuntimeError> {
        Err(missing("Exec"))
    }

    async fn attach(&self, _: &ContainerId, _: StreamOptions) -> Result<String, RuntimeError> {
        Err(missing("Attach"))
    }

    async fn port_forward(&self, _: &SandboxId, _: &[u16]) -> Result<String, RuntimeError> {
        Err(missing("PortForward"))
    }
}

#[async_trait]
impl LogFiles for Machine {
    async fn open(&self, _: &Path) -> Result<Option<File>, FilesError> {
        Ok(None)
    }
}

impl LogVerbosity for Machine {
    fn set(&self, _: u32) -> Result<(), VerbosityError> {
        Ok(())
    }
}

#[async_trait]
impl SystemLogs for Machine {
    async fn open(&self, path: &Path, _: Links) -> Result<SystemLog, FilesError> {
        let cause = io::Error::from(io::ErrorKind::NotFound);
        Err(FilesError { action: "open", path: path.to_owned(), cause })
    }

    fn journal(&self, _: &[String]) -> Result<JournalOutput, FilesError> {
        Ok(Box::pin(io::Cursor::new(Vec::new())))
    }
}

#[async_trait]
impl Checkpoints for Machine {
    async fn checkpoint(&self, _: &ContainerId, _: &Path, _: Option<Duration>) -> Result<(), RuntimeError> {
        Err(missing("CheckpointContainer"))
    }
}
