//! Measurements of a machine that is made of figures.

use std::path::Path;
use std::sync::Mutex as SyncMutex;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::{Node, PodSpec, Volume};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::sleep;
use witlet_core::runtime::{
    ContainerRunState, ListedContainer, ListedSandbox, ObservedPod, RuntimeEvent, SandboxState,
};
use witlet_core::stats::ContainerUsage;
use witlet_core::stats::cgroup_usage::MemoryUsage;
use witlet_ports::{
    AgentStats, ContainerCounts, ContainerImage, ContainerStats, ImageFilesystems, KernelDetails, NodeImage,
    RecordedEvent,
};

use super::background::FIRST_WAIT;
use super::*;

/// A machine with the pods `u-1` and `u-2`; `u-1` has a cgroup, `u-2` runs where the kernel counts nothing.
pub(crate) struct Machine {
    figures: SyncMutex<Figures>,
    storage_is_slow: bool,
}

#[derive(Default)]
struct Figures {
    /// How often the kernel was asked.
    counts: u64,
    /// How often the runtime was asked for stats.
    runtime: u64,
    storage: u64,
    is_down: bool,
    /// Whether the kernel doesn't answer in time.
    hangs: bool,
    second: i64,
    /// What the kernel was asked about.
    asked: Vec<RunningPod>,
}

const STORAGE_TAKES: Duration = Duration::from_secs(30);

impl Default for Machine {
    fn default() -> Self {
        Self {
            figures: SyncMutex::new(Figures { second: 1_790_000_000, ..Figures::default() }),
            storage_is_slow: false,
        }
    }
}

impl Machine {
    pub(crate) fn ports(self) -> StatsPorts {
        Arc::new(self).shared_ports()
    }

    pub(crate) fn shared_ports(self: &Arc<Self>) -> StatsPorts {
        StatsPorts {
            view: self.clone(),
            pods: self.clone(),
            runtime: self.clone(),
            images: self.clone(),
            kernel: self.clone(),
            storage: self.clone(),
            clock: self.clone(),
            node_name: "node-1".to_owned(),
            root: "/var/lib/kubelet".into(),
        }
    }

    /// What the kernel was asked about last.
    pub(crate) fn asked(&self) -> Vec<RunningPod> {
        self.lock().asked.clone()
    }

    /// Has the runtime answer nothing any more.
    pub(crate) fn go_down(&self) {
        self.lock().is_down = true;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Figures> {
        self.figures.lock().unwrap()
    }

    fn usage(&self, cpu: u64) -> CgroupUsage {
        CgroupUsage {
            at: self.now(),
            cpu_nanoseconds: Some(cpu),
            memory: Some(MemoryUsage { working_set: 5, ..MemoryUsage::default() }),
            swap: None,
            pressure: Default::default(),
        }
    }
}

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.lock().second).unwrap()
    }
}

impl AgentView for Machine {
    fn pods(&self) -> Vec<Arc<Pod>> {
        let pod = |uid: &str, host_network| {
            let mut pod = Pod::default();
            pod.metadata.uid = Some(uid.to_owned());
            let volumes = vec![Volume { name: "data".to_owned(), ..Volume::default() }];
            pod.spec = Some(PodSpec {
                host_network: Some(host_network),
                volumes: Some(volumes),
                ..PodSpec::default()
            });
            Arc::new(pod)
        };
        vec![pod("u-1", false), pod("u-2", true)]
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
        if self.lock().is_down {
            return Err(RuntimeError::failed("ListContainers", "down"));
        }
        let container = |id: &str, sandbox: &str, state| ListedContainer {
            id: id.into(),
            name: "app".to_owned(),
            sandbox_id: sandbox.into(),
            state,
            created_at: Timestamp::from_second(100).unwrap(),
        };
        let sandbox = |id: &str, state| ListedSandbox {
            id: id.into(),
            attempt: 0,
            state,
            created_at: Timestamp::from_second(90).unwrap(),
        };
        let pod = |uid: &str, sandboxes, containers| RuntimePod {
            uid: uid.into(),
            name: format!("pod-{uid}"),
            namespace: "ns".to_owned(),
            sandboxes,
            containers,
        };
        let (ready, ended) = (SandboxState::Ready, SandboxState::NotReady);
        let (runs, exited) = (ContainerRunState::Running, ContainerRunState::Exited);
        Ok(Arc::new(vec![
            pod(
                "u-1",
                vec![sandbox("s-2", ended), sandbox("s-1", ready)],
                vec![
                    container("c-1", "s-1", runs),
                    container("c-0", "s-1", exited),
                    container("c-x", "s-2", runs),
                ],
            ),
            pod("u-2", vec![sandbox("s-3", ready)], vec![container("c-3", "s-3", runs)]),
            pod("u-3", vec![sandbox("s-4", ended)], vec![container("c-4", "s-4", exited)]),
        ]))
    }

    async fn pod_status(&self, uid: &PodUid) -> Result<ObservedPod, RuntimeError> {
        Ok(ObservedPod::absent(uid.clone(), self.now()))
    }

    async fn events(&self, _: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        Ok(())
    }
}

#[async_trait]
impl RuntimeStats for Machine {
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError> {
        self.lock().runtime += 1;
        let stats = |uid: &str, attempt, memory| {
            let (name, memory) = ("app".to_owned(), Some(memory));
            let usage =
                ContainerUsage { name, memory, rootfs: FsUsage::new(7, 1), ..ContainerUsage::default() };
            ContainerStats { uid: uid.into(), attempt, usage }
        };
        Ok(vec![stats("u-2", 1, 20), stats("u-2", 0, 10), stats("u-1", 0, 30)])
    }

    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError> {
        Ok(BTreeMap::new())
    }
}

#[async_trait]
impl KernelMeter for Machine {
    async fn counts(&self, pods: Vec<RunningPod>, scope: Scope) -> KernelCounts {
        let cpu = {
            let mut figures = self.lock();
            if figures.hangs {
                return KernelCounts { has_timed_out: true, ..KernelCounts::default() };
            }
            figures.counts += 1;
            figures.asked = pods.clone();
            figures.counts * 1_000_000_000
        };
        let usage = self.usage(cpu);
        let container = ContainerCounts { usage, processes: (scope == Scope::All).then_some(3) };
        let counted = pods.into_iter().filter(|pod| pod.uid.as_str() == "u-1");
        let counted = counted.map(|pod| {
            let containers = pod.containers.into_iter().map(|id| (id, container)).collect();
            (pod.uid, PodCounts { usage: Some(usage), containers, network: None })
        });
        KernelCounts { node: Some(usage), pods: counted.collect(), ..KernelCounts::default() }
    }

    async fn details(&self, pods: Vec<RunningPod>) -> Option<KernelDetails> {
        self.lock().asked = pods;
        Some(KernelDetails::default())
    }

    async fn filesystem(&self, _: &Path) -> Option<FsMeasurement> {
        Some(FsMeasurement { capacity: 100, ..FsMeasurement::default() })
    }
}

#[async_trait]
impl StorageMeter for Machine {
    async fn measure(&self, pod: &Pod) -> LocalStorage {
        if self.storage_is_slow {
            sleep(STORAGE_TAKES).await;
        }
        self.lock().storage += 1;
        let logs = BTreeMap::from([("app".to_owned(), FsUsage::new(9, 1))]);
        let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let volumes = volumes.map(|volume| (volume.name.clone(), FsUsage::new(5, 1))).collect();
        LocalStorage { logs, own: FsUsage::new(1, 1), volumes, ..LocalStorage::default() }
    }
}

#[async_trait]
impl ImageStore for Machine {
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError> {
        Ok(Vec::new())
    }

    async fn filesystems(&self) -> Result<ImageFilesystems, RuntimeError> {
        let images =
            ImageFilesystem { mountpoint: "/images".into(), used_bytes: Some(50), inodes_used: None };
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

#[tokio::test(start_paused = true)]
async fn requests_at_the_same_time_share_what_was_measured() {
    let machine = Arc::new(Machine::default());
    let provider = Arc::new(StatsProvider::new(machine.shared_ports(), Some(VOLUME_STATS_PERIOD)));
    let mut scrapers = JoinSet::new();
    for _ in 0..200 {
        let provider = provider.clone();
        scrapers.spawn(async move { provider.measurements(Scope::CpuAndMemory).await.unwrap() });
    }
    scrapers.join_all().await;
    assert_eq!(machine.lock().counts, 1);
    // Everything isn't there yet; afterwards CPU and memory are, too.
    provider.measurements(Scope::All).await.unwrap();
    provider.measurements(Scope::CpuAndMemory).await.unwrap();
    assert_eq!(machine.lock().counts, 2);
    sleep(FRESH).await;
    provider.measurements(Scope::CpuAndMemory).await.unwrap();
    assert_eq!(machine.lock().counts, 3);
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_written_once_for_all_requests_of_a_second() {
    let machine = Arc::new(Machine::default());
    let provider = Arc::new(StatsProvider::new(machine.shared_ports(), Some(VOLUME_STATS_PERIOD)));
    let mut scrapers = JoinSet::new();
    for _ in 0..200 {
        let provider = provider.clone();
        scrapers.spawn(async move { provider.summary(Scope::CpuAndMemory).await.unwrap().1 });
    }
    let written = scrapers.join_all().await;
    assert_eq!(machine.lock().counts, 1);
    assert!(written.iter().all(|bytes| bytes.as_ptr() == written[0].as_ptr()), "all have the same bytes");
    let summary: serde_json::Value = serde_json::from_slice(&written[0]).unwrap();
    assert_eq!(summary["node"]["nodeName"], "node-1");
    // What has more is another one.
    let all: serde_json::Value =
        serde_json::from_slice(&provider.summary(Scope::All).await.unwrap().1).unwrap();
    assert!(summary["node"]["fs"].is_null() && all["node"]["fs"].is_object(), "{all}");
    sleep(FRESH).await;
    let later = provider.summary(Scope::CpuAndMemory).await.unwrap().1;
    assert_ne!(later.as_ptr(), written[0].as_ptr());
}

#[tokio::test(start_paused = true)]
async fn while_the_kernel_does_not_answer_its_last_figures_are_shown_for_a_minute() {
    let machine = Arc::new(Machine::default());
    let provider = StatsProvider::new(machine.shared_ports(), Some(VOLUME_STATS_PERIOD));
    let memory = |measured: &Measurements| {
        measured.pods[0].containers[0].usage.memory.map(|memory| memory.working_set)
    };
    let first = provider.measurements(Scope::CpuAndMemory).await.unwrap();
    assert_eq!(memory(&first), Some(5), "the kernel's");
    machine.lock().hangs = true;
    for (seconds, expected) in [(1, 5), (58, 5), (2, 30)] {
        sleep(Duration::from_secs(seconds)).await;
        let measured = provider.measurements(Scope::CpuAndMemory).await.unwrap();
        assert_eq!(memory(&measured), Some(expected), "{seconds}: the runtime has 30");
    }
}

#[tokio::test(start_paused = true)]
async fn what_runs_in_the_sandbox_that_is_ready_is_measured() {
    let machine = Arc::new(Machine::default());
    let provider = StatsProvider::new(machine.shared_ports(), Some(VOLUME_STATS_PERIOD));
    provider.measurements(Scope::CpuAndMemory).await.unwrap();
    let pod = |uid: &str, container: &str, host_network| RunningPod {
        uid: uid.into(),
        containers: vec![container.into()],
        sandbox: Some(if uid == "u-1" { "s-1".into() } else { "s-3".into() }),
        host_network,
    };
    assert_eq!(machine.lock().asked, [pod("u-1", "c-1", false), pod("u-2", "c-3", true)]);
}

#[tokio::test(start_paused = true)]
async fn what_has_no_cgroup_is_measured_by_the_runtime() {
    let provider = StatsProvider::new(Machine::default().ports(), Some(VOLUME_STATS_PERIOD));
    let measured = provider.measurements(Scope::CpuAndMemory).await.unwrap();
    let memory =
        |place: usize| measured.pods[place].containers[0].usage.memory.map(|memory| memory.working_set);
    assert_eq!((memory(0), memory(1)), (Some(5), Some(20)), "the newest instance");
    assert_eq!(measured.summary(Scope::CpuAndMemory).pods.len(), 2, "nothing of u-3 runs");
}

#[tokio::test(start_paused = true)]
async fn processor_time_becomes_cores_at_the_second_check() {
    let machine = Arc::new(Machine::default());
    let provider = StatsProvider::new(machine.shared_ports(), Some(VOLUME_STATS_PERIOD));
    let first = provider.measurements(Scope::CpuAndMemory).await.unwrap();
    assert_eq!((first.node_nanocores, first.pods[0].nanocores), (None, None));
    machine.lock().second += 10;
    sleep(Duration::from_secs(10)).await;
    let second = provider.measurements(Scope::CpuAndMemory).await.unwrap();
    let tenth = Some(100_000_000);
    assert_eq!((second.node_nanocores, second.pods[0].nanocores), (tenth, tenth));
    assert_eq!(second.pods[0].containers[0].nanocores, tenth);
}

#[tokio::test(start_paused = true)]
async fn folders_are_added_up_once_a_minute() {
    let machine = Arc::new(Machine::default());
    let provider = StatsProvider::new(machine.shared_ports(), Some(VOLUME_STATS_PERIOD));
    let first = provider.measurements(Scope::All).await.unwrap();
    assert_eq!(first.pods[0].containers[0].logs, FsUsage::new(9, 1));
    assert_eq!(first.pods[0].containers[0].rootfs, FsUsage::new(7, 1));
    assert_eq!(first.imagefs.map(|(_, used)| used.bytes), Some(Some(50)));
    for _ in 0..50 {
        sleep(FRESH).await;
        provider.measurements(Scope::All).await.unwrap();
    }
    assert_eq!(machine.lock().storage, 2, "each pod once");
    sleep(VOLUME_STATS_PERIOD).await;
    provider.measurements(Scope::All).await.unwrap();
    sleep(FRESH).await;
    assert_eq!(machine.lock().storage, 4);
}

#[tokio::test(start_paused = true)]
async fn volumes_are_measured_as_often_as_the_operator_says() {
    let ten = Duration::from_secs(10);
    for (period, passes, volumes) in [(Some(ten), 7, 1), (None, 2, 0)] {
        let machine = Arc::new(Machine::default());
        let provider = StatsProvider::new(machine.shared_ports(), period);
        for _ in 0..7 {
            let shown = provider.measurements(Scope::All).await.unwrap();
            assert_eq!(shown.pods[0].volumes.len(), volumes, "{period:?}");
            assert_eq!(shown.pods[0].containers[0].logs, FsUsage::new(9, 1), "{period:?}");
            sleep(ten).await;
        }
        assert_eq!(machine.lock().storage, passes * 2, "{period:?}: each pod once in a pass");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_disk_delays_the_first_summary_only_for_a_while() {
    let machine = Arc::new(Machine { storage_is_slow: true, ..Machine::default() });
    let provider = StatsProvider::new(machine.shared_ports(), Some(VOLUME_STATS_PERIOD));
    let begun = Instant::now();
    let first = provider.measurements(Scope::All).await.unwrap();
    assert_eq!(begun.elapsed(), FIRST_WAIT);
    assert!(provider.measurements(Scope::CpuAndMemory).await.is_ok());
    assert_eq!(begun.elapsed(), FIRST_WAIT, "who doesn't ask for disk doesn't wait");
    assert_eq!(first.pods[0].containers[0].logs, FsUsage::default(), "not known yet");
    // Both pods at the same time.
    sleep(STORAGE_TAKES).await;
    let later = provider.measurements(Scope::All).await.unwrap();
    assert_eq!(later.pods[0].containers[0].logs, FsUsage::new(9, 1));
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_down_is_an_error() {
    let machine = Arc::new(Machine::default());
    let provider = StatsProvider::new(machine.shared_ports(), Some(VOLUME_STATS_PERIOD));
    machine.lock().is_down = true;
    assert!(provider.measurements(Scope::All).await.is_err());
    machine.lock().is_down = false;
    assert!(provider.measurements(Scope::All).await.is_ok());
}
