//! The ports to what pods use now, and to what the node can give back: for evictions, and for those that show usage.

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ContainerId, RuntimePod, SandboxId};
use witlet_core::stats::cadvisor::{BlockDevice, CgroupDetails, FilesystemUsage, Topology};
use witlet_core::stats::cgroup_usage::CgroupUsage;
use witlet_core::stats::network::InterfaceUsage;
use witlet_core::stats::summary::{FsMeasurement, Scope};
use witlet_core::stats::system_containers::{SystemContainer, SystemUsage};
use witlet_core::stats::{ContainerUsage, CountedContainer, CountedPod, LocalStorage};

use crate::RuntimeError;

/// What the runtime measured of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerStats {
    /// UID of its pod.
    pub uid: PodUid,
    /// Which instance it is; of several the highest counts.
    pub attempt: u32,
    /// What it uses; its logs aren't measured by the runtime.
    pub usage: ContainerUsage,
}

/// What the runtime measures of pods.
#[async_trait]
pub trait RuntimeStats: Send + Sync {
    /// Memory, processor time and writable layers of all containers that have Kubernetes' labels, in one call.
    async fn containers(&self) -> Result<Vec<ContainerStats>, RuntimeError>;

    /// How many processes each pod has. `Unimplemented` by runtimes that don't count them.
    async fn processes(&self) -> Result<BTreeMap<PodUid, u64>, RuntimeError>;
}

/// What pods' folders take of the node's disk.
#[async_trait]
pub trait StorageMeter: Send + Sync {
    /// Adds up the pod's volumes on disk, logs and own files. May take as long as its files are many, up to a bound of the
    /// implementation; what couldn't be read by then is unknown.
    async fn measure(&self, pod: &Pod) -> LocalStorage;
}

/// A pod of which something runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningPod {
    pub uid: PodUid,
    /// Its containers that run.
    pub containers: Vec<ContainerId>,
    pub sandbox: Option<SandboxId>,
    /// Whether it is in the node's network, which isn't counted for it.
    pub host_network: bool,
}

impl RunningPod {
    /// Returns `None` for a pod of which nothing runs.
    pub fn of(pod: &RuntimePod, host_network: bool) -> Option<Self> {
        let containers: Vec<ContainerId> =
            pod.running_containers().map(|container| container.id.clone()).collect();
        let sandbox = pod.sandbox().map(|sandbox| sandbox.id.clone());
        (!containers.is_empty()).then(|| Self { uid: pod.uid.clone(), containers, sandbox, host_network })
    }
}

/// What the kernel counts of a container.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContainerCounts {
    pub usage: CgroupUsage,
    /// Its processes, for [`Scope::All`] only.
    pub processes: Option<u64>,
}

/// What the kernel counts of a pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodCounts {
    /// What its cgroup uses; none where it has none.
    pub usage: Option<CgroupUsage>,
    /// Its containers. One is missing where the runtime has no cgroup for it.
    pub containers: BTreeMap<ContainerId, ContainerCounts>,
    /// Traffic of its network, for [`Scope::All`] only.
    pub network: Option<Vec<InterfaceUsage>>,
}

/// What the kernel counts of the node and its pods. What it doesn't say is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelCounts {
    /// Whether nothing is known, because the kernel didn't answer in time.
    pub has_timed_out: bool,
    /// The root of all cgroups.
    pub node: Option<CgroupUsage>,
    /// The cgroup of all pods, the agent's own unless that is the root, and those that the configuration names.
    pub system: BTreeMap<SystemContainer, SystemUsage>,
    /// Pods that were asked about.
    pub pods: BTreeMap<PodUid, PodCounts>,
    /// Traffic of the node, for [`Scope::All`] only.
    pub network: Vec<InterfaceUsage>,
    /// Process ids that there may be, and that there are, for [`Scope::All`] only.
    pub pids: Option<(u64, u64)>,
    /// When the machine was started.
    pub booted_at: Option<Timestamp>,
}

impl KernelCounts {
    /// Memory and processes of a pod, with each container that runs; none if none does.
    pub fn counted(&self, pod: &RuntimePod) -> Option<CountedPod> {
        let counts = self.pods.get(&pod.uid);
        let container = |name: &str, id: &ContainerId| {
            let counts = counts.and_then(|counts| counts.containers.get(id));
            CountedContainer {
                name: name.to_owned(),
                memory: counts.and_then(|counts| Some(counts.usage.memory?.working_set)),
                processes: counts.and_then(|counts| counts.processes),
            }
        };
        let containers: Vec<CountedContainer> =
            pod.running_containers().map(|listed| container(&listed.name, &listed.id)).collect();
        let memory = counts.and_then(|counts| Some(counts.usage?.memory?.working_set));
        (!containers.is_empty()).then_some(CountedPod { memory, containers })
    }
}

/// A cgroup in full.
#[derive(Clone, Debug, PartialEq)]
pub struct DetailedCgroup {
    /// Its path, from `/`.
    pub path: String,
    /// What the kernel counts of it.
    pub details: CgroupDetails,
}

/// What the kernel counts of a pod, in full. What has no cgroup is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodDetails {
    /// The pod's own cgroup.
    pub cgroup: Option<DetailedCgroup>,
    pub sandbox: Option<DetailedCgroup>,
    pub containers: BTreeMap<ContainerId, DetailedCgroup>,
    /// Traffic of its network; empty on the host's.
    pub network: Vec<InterfaceUsage>,
}

/// What the kernel counts of the node and its pods, in full. What it doesn't say is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelDetails {
    /// The root of all cgroups, that of all pods and those of their classes, and the agent's own.
    pub node: Vec<DetailedCgroup>,
    /// Pods that were asked about.
    pub pods: BTreeMap<PodUid, PodDetails>,
    /// Traffic of the node.
    pub network: Vec<InterfaceUsage>,
    /// The node's file systems.
    pub filesystems: Vec<FilesystemUsage>,
    /// Names of block devices below `/dev`.
    pub devices: BTreeMap<BlockDevice, String>,
    pub topology: Option<Topology>,
}

/// What the kernel counts.
#[async_trait]
pub trait KernelMeter: Send + Sync {
    /// Counts of the node and of these pods. Takes a few seconds at most; what wasn't read by then is unknown.
    async fn counts(&self, pods: Vec<RunningPod>, scope: Scope) -> KernelCounts;

    /// Returns all that the kernel counts of the node and of these pods: an order of magnitude more files than for [`Self::counts`]. None if
    /// they couldn't be read within ten seconds.
    async fn details(&self, pods: Vec<RunningPod>) -> Option<KernelDetails>;

    /// The file system that a path is on; none if it doesn't answer in time.
    async fn filesystem(&self, path: &Path) -> Option<FsMeasurement>;
}
