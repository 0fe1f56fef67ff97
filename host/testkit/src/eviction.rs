//! What a fake node has left, and what its pods use: tests set it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::Notify;
use witlet_core::eviction::{Filesystems, MemoryWatch};
use witlet_core::pod::PodUid;
use witlet_core::stats::cgroup_usage::{CgroupUsage, MemoryUsage, PressureUsage};
use witlet_core::stats::summary::{FsMeasurement, Scope};
use witlet_core::stats::{ContainerUsage, LocalStorage};
use witlet_ports::{
    ContainerCounts, ContainerStats, KernelCounts, KernelDetails, KernelMeter, Left, MemoryNotifier,
    MemoryNotifierError, NodeImage, NodeReader, NodeReadings, PodCounts, RunningPod, RuntimeError,
    RuntimeStats, StorageMeter,
};

use crate::FakeRuntime;

/// The figures of a fake node. At first it has plenty of everything.
pub struct FakeUsage {
    figures: Mutex<Figures>,
    /// Whose removed images give their bytes back.
    runtime: Arc<FakeRuntime>,
    /// The kernel's reports of short memory.
    shortages: Notify,
}

#[derive(Debug)]
struct Figures {
    readings: NodeReadings,
    containers: Vec<ContainerStats>,
    processes: BTreeMap<PodUid, u64>,
    cgroups: BTreeMap<PodUid, FakePodFigures>,
    stats_calls: u32,
    storage: BTreeMap<PodUid, LocalStorage>,
    is_down: bool,
    measured: u32,
    reads: u32,
    watches: Vec<MemoryWatch>,
    cannot_notify: bool,
}

/// What the kernel counts of a pod: in its own cgroup, and in each one of its containers. At first pods have no cgroups.
#[derive(Clone, Copy, Debug, Default)]
pub struct FakePodFigures {
    /// Working set of the pod, in bytes.
    pub memory: u64,
    /// That of each container.
    pub container_memory: u64,
    /// Processes of each container.
    pub processes: u64,
}

/// Plenty: half of everything.
const PLENTY: Left = Left { capacity: 8 << 30, available: 4 << 30 };

impl FakeUsage {
    /// Of a node with this runtime.
    pub fn new(runtime: Arc<FakeRuntime>) -> Self {
        let readings = NodeReadings {
            memory: Some(PLENTY),
            nodefs_bytes: Some(PLENTY),
            nodefs_inodes: Some(PLENTY),
            imagefs_bytes: Some(PLENTY),
            imagefs_inodes: Some(PLENTY),
            pids: Some(PLENTY),
            filesystems: Some(Filesystems::Single),
            ..NodeReadings::default()
        };
        let figures = Mutex::new(Figures {
            readings,
            containers: Vec::new(),
            processes: BTreeMap::new(),
            cgroups: BTreeMap::new(),
            stats_calls: 0,
            storage: BTreeMap::new(),
            is_down: false,
            measured: 0,
            reads: 0,
            watches: Vec::new(),
            cannot_notify: false,
        });
        Self { figures, runtime, shortages: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what the node has left.
    pub fn set(&self, change: impl FnOnce(&mut NodeReadings)) {
        change(&mut self.lock().readings);
    }

    /// What a pod's container uses from now on.
    pub fn set_container(&self, pod: &Pod, usage: ContainerUsage) {
        let uid = PodUid::of(pod);
        let mut figures = self.lock();
        figures.containers.retain(|known| known.uid != uid || known.usage.name != usage.name);
        figures.containers.push(ContainerStats { uid, attempt: 0, usage });
    }

    /// How many processes a pod has from now on.
    pub fn set_processes(&self, pod: &Pod, count: u64) {
        self.lock().processes.insert(PodUid::of(pod), count);
    }

    /// What the kernel counts of a pod from now on.
    pub fn set_cgroups(&self, pod: &Pod, cgroups: FakePodFigures) {
        self.lock().cgroups.insert(PodUid::of(pod), cgroups);
    }

    /// How often the runtime was asked what pods use.
    pub fn stats_calls(&self) -> u32 {
        self.lock().stats_calls
    }

    /// What a pod's folders take from now on.
    pub fn set_storage(&self, pod: &Pod, storage: LocalStorage) {
        self.lock().storage.insert(PodUid::of(pod), storage);
    }

    /// While it is down nothing of pods can be measured.
    pub fn set_down(&self, is_down: bool) {
        self.lock().is_down = is_down;
    }

    /// How often a pod's folders were measured.
    pub fn measured(&self) -> u32 {
        self.lock().measured
    }

    /// How often the node was checked.
    pub fn reads(&self) -> u32 {
        self.lock().reads
    }

    /// What the kernel is to report.
    pub fn watches(&self) -> Vec<MemoryWatch> {
        self.lock().watches.clone()
    }

    /// The kernel reports that memory is short, if it is watched.
    pub fn report_shortage(&self) {
        if !self.lock().watches.is_empty() {
            self.shortages.notify_one();
        }
    }

    /// Whether the kernel refuses to report.
    pub fn set_cannot_notify(&self, cannot: bool) {
        self.lock().cannot_notify = cannot;
    }

    fn answer(&self, call: &'static str) -> Result<MutexGuard<'_, Figures>, RuntimeError> {
        let mut figures = self.lock();
        figures.stats_calls += 1;
        if figures.is_down {
            return Err(RuntimeError::failed(call, "failed as the test planned"));
        }
        Ok(figures)
    }
}

#[async_trait]
impl NodeReader for FakeUsage {
    async fn read(&self) -> NodeReadings {
        let mut figures = self.lock();
        figures.reads += 1;
        let mut readings = figures.readings;
        drop(figures);
        let freed = self.runtime.removed_image_bytes();
        for left in [&mut readings.nodefs_bytes, &mut readings.imagefs_bytes].into_iter().flatten() {
            left.available = left.available.saturating_add(freed);
        }
        readings
    }

    async fn images(&self) -> Option<Vec<NodeImage>> {
        Some(Vec::new())
    }
}

#[async_trait]
impl RuntimeStats for FakeUsage {
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError> {
        Ok(self.answer("ListContainerStats")?.containers.clone())
    }

    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError> {
        Ok(self.answer("ListPodSandboxStats")?.processes.clone())
    }
}

#[async_trait]
impl KernelMeter for FakeUsage {
    async fn counts(&self, pods: Vec<RunningPod>, scope: Scope) -> KernelCounts {
        let figures = self.lock();
        let counts = |pod: RunningPod| {
            let FakePodFigures { memory, container_memory, processes } = *figures.cgroups.get(&pod.uid)?;
            let processes = (scope == Scope::All).then_some(processes);
            let container = ContainerCounts { usage: working_set(container_memory), processes };
            let containers = pod.containers.into_iter().map(|id| (id, container)).collect();
            let usage = Some(working_set(memory));
            Some((pod.uid, PodCounts { usage, containers, network: None }))
        };
        KernelCounts { pods: pods.into_iter().filter_map(counts).collect(), ..KernelCounts::default() }
    }

    async fn details(&self, _: Vec<RunningPod>) -> Option<KernelDetails> {
        None
    }

    async fn filesystem(&self, _: &Path) -> Option<FsMeasurement> {
        None
    }
}

fn working_set(bytes: u64) -> CgroupUsage {
    CgroupUsage {
        at: Timestamp::UNIX_EPOCH,
        cpu_nanoseconds: Some(0),
        memory: Some(MemoryUsage { working_set: bytes, ..MemoryUsage::default() }),
        swap: None,
        pressure: PressureUsage::default(),
    }
}

#[async_trait]
impl StorageMeter for FakeUsage {
    async fn measure(&self, pod: &Pod) -> LocalStorage {
        let mut figures = self.lock();
        figures.measured += 1;
        figures.storage.get(&PodUid::of(pod)).cloned().unwrap_or_default()
    }
}

#[async_trait]
impl MemoryNotifier for FakeUsage {
    async fn watch(&self, watches: &[MemoryWatch]) -> Result<(), MemoryNotifierError> {
        let mut figures = self.lock();
        if figures.cannot_notify {
            figures.watches.clear();
            return Err(MemoryNotifierError {
                action: "write",
                path: "/sys/fs/cgroup/memory/cgroup.event_control".into(),
                cause: std::io::ErrorKind::Unsupported.into(),
            });
        }
        figures.watches = watches.to_vec();
        Ok(())
    }

    async fn notified(&self) {
        self.shortages.notified().await;
    }
}
