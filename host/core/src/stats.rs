//! What pods use of memory, processes and local disk (the summary's words: `k8s.io/kubelet/pkg/apis/stats/v1alpha1`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Volume};

use crate::pod::PodUid;
use cgroup_usage::{CgroupUsage, MemoryUsage, SwapUsage};

pub mod cadvisor;
pub mod cgroup_usage;
pub mod exposition;
pub mod freshness;
mod metrics;
pub mod network;
pub mod rates;
pub mod resource_metrics;
pub mod summary;
pub mod system_containers;
#[cfg(test)]
mod tests;
pub mod volume_metrics;

pub use metrics::{ContainerMetrics, metrics};

/// What is used of a file system. None is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsUsage {
    pub bytes: Option<u64>,
    pub inodes: Option<u64>,
}

impl FsUsage {
    /// Both figures known.
    pub fn new(bytes: u64, inodes: u64) -> Self {
        Self { bytes: Some(bytes), inodes: Some(inodes) }
    }
}

/// A file system, as the kernel shows it, and what is used of it by what is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FsMeasurement {
    /// Bytes in all.
    pub capacity: u64,
    /// Bytes that are free for everyone.
    pub available: u64,
    pub used: u64,
    pub inodes: u64,
    /// Inodes that are free.
    pub inodes_free: u64,
}

/// Processor time that a container has used since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    pub nanoseconds: u64,
    /// When it was measured; none if the runtime doesn't say.
    pub at: Option<Timestamp>,
}

/// What a running container uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerUsage {
    /// Its name in the pod.
    pub name: String,
    /// Working set, in bytes.
    pub memory: Option<u64>,
    /// Memory with all that the runtime says of it.
    pub memory_details: Option<MemoryUsage>,
    pub swap: Option<SwapUsage>,
    pub cpu: Option<CpuTime>,
    pub rootfs: FsUsage,
    pub logs: FsUsage,
}

impl ContainerUsage {
    /// The runtime's figures in place of the kernel's; none if it has none.
    pub fn as_cgroup(&self, at: Timestamp) -> Option<CgroupUsage> {
        let working_set = |working_set| MemoryUsage { working_set, ..MemoryUsage::default() };
        let usage = CgroupUsage {
            at: self.cpu.and_then(|cpu| cpu.at).unwrap_or(at),
            cpu_nanoseconds: self.cpu.map(|cpu| cpu.nanoseconds),
            memory: self.memory_details.or(self.memory.map(working_set)),
            swap: self.swap,
            pressure: Default::default(),
        };
        (usage.cpu_nanoseconds.is_some() || usage.memory.is_some()).then_some(usage)
    }
}

/// What was measured of a container: its pod, which instance it is, and its usage.
pub type Measured = (PodUid, u32, ContainerUsage);

/// What a pod uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodUsage {
    pub containers: Vec<ContainerUsage>,
    /// Working set, in bytes.
    pub memory: Option<u64>,
    pub processes: Option<u64>,
    /// Volumes that were measured, by name.
    pub volumes: BTreeMap<String, FsUsage>,
    /// Files of the pod itself: `/etc/hosts`, logs outside of its containers'.
    pub own: FsUsage,
}

impl PodUsage {
    /// Returns all local disk that counts for the pod, in bytes.
    pub fn ephemeral_storage(&self, pod: &Pod) -> u64 {
        let containers = self.containers.iter().flat_map(|container| [container.rootfs, container.logs]);
        let volume = |name: &str| self.volumes.get(name).copied();
        ephemeral_storage(Some(pod), volume, containers.chain([self.own])).bytes.unwrap_or(0)
    }
}

/// Returns all local disk that counts for a pod (upstream: `calcEphemeralStorage`): its [local volumes](is_local_ephemeral), of which `volume`
/// gives what was measured by name, and the `others`, which are writable layers, logs and its own files. What is unknown counts nothing.
pub fn ephemeral_storage(
    pod: Option<&Pod>,
    volume: impl Fn(&str) -> Option<FsUsage>,
    others: impl IntoIterator<Item = FsUsage>,
) -> FsUsage {
    let local = pod.into_iter().flat_map(volumes).filter(|volume| is_local_ephemeral(volume));
    let all = local.filter_map(|local| volume(&local.name)).chain(others);
    let add = |sum: u64, more: Option<u64>| sum.saturating_add(more.unwrap_or(0));
    let (bytes, inodes) =
        all.fold((0, 0), |(bytes, inodes), one| (add(bytes, one.bytes), add(inodes, one.inodes)));
    FsUsage::new(bytes, inodes)
}

/// What pods use, by UID. A pod that is missing wasn't measured.
pub type PodUsages = BTreeMap<PodUid, PodUsage>;

/// The disk that a pod's folders take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalStorage {
    /// Volumes that were measured, by name.
    pub volumes: BTreeMap<String, FsUsage>,
    /// The file systems that they are on, by the volume's name, as far as they are known.
    pub systems: BTreeMap<String, FsMeasurement>,
    pub logs: BTreeMap<String, FsUsage>,
    /// Files of the pod itself.
    pub own: FsUsage,
}

impl LocalStorage {
    /// The volumes by name, with the file system that each is on.
    pub fn measured_volumes(&self) -> impl Iterator<Item = (&str, FsUsage, Option<FsMeasurement>)> {
        self.volumes.iter().map(|(name, usage)| (name.as_str(), *usage, self.systems.get(name).copied()))
    }
}

/// Containers by pod and name: which instance it is, and what it uses.
pub type NewestUsages = BTreeMap<(PodUid, String), (u32, ContainerUsage)>;

/// The newest instance of each container, which is the one that counts.
pub fn newest(containers: impl IntoIterator<Item = Measured>) -> NewestUsages {
    let mut newest = NewestUsages::new();
    for (uid, attempt, usage) in containers {
        let key = (uid, usage.name.clone());
        if newest.get(&key).is_none_or(|(known, _)| *known <= attempt) {
            newest.insert(key, (attempt, usage));
        }
    }
    newest
}

/// What the kernel counts of a pod of which something runs. What it doesn't say is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedPod {
    /// Working set of the pod's own cgroup, in bytes.
    pub memory: Option<u64>,
    /// Its containers that run.
    pub containers: Vec<CountedContainer>,
}

/// What the kernel counts of a container that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedContainer {
    /// Its name in the pod.
    pub name: String,
    /// Working set of its cgroup, in bytes.
    pub memory: Option<u64>,
    /// Processes in its cgroup.
    pub processes: Option<u64>,
}

impl CountedPod {
    /// Returns those of all containers; none if they aren't known of each.
    fn processes(&self) -> Option<u64> {
        self.containers
            .iter()
            .try_fold(0, |sum: u64, container| Some(sum.saturating_add(container.processes?)))
    }
}

/// Whether the kernel counts this of every container that runs, so that the runtime needn't be asked. Of nothing it doesn't.
pub fn is_counted(
    pods: &BTreeMap<PodUid, CountedPod>,
    figure: impl Fn(&CountedContainer) -> Option<u64>,
) -> bool {
    let mut containers = pods.values().flat_map(|pod| &pod.containers);
    !pods.is_empty() && containers.all(|container| figure(container).is_some())
}

/// Returns what was measured of pods, put together: memory and processes by the kernel, and by the runtime where that has none; writable layers
/// by the runtime, other disk by the node. A pod is there if it has a container or a sandbox. Its memory is that of its cgroup, or else
/// its containers' together, and nothing where it has none (upstream: `listPodStatsPartiallyFromCRI`).
pub fn combine(
    sandboxes: impl IntoIterator<Item = PodUid>,
    containers: impl IntoIterator<Item = Measured>,
    counted: &BTreeMap<PodUid, CountedPod>,
    processes: &BTreeMap<PodUid, u64>,
    storage: &BTreeMap<PodUid, LocalStorage>,
) -> PodUsages {
    let without_containers = || PodUsage { memory: Some(0), ..PodUsage::default() };
    let mut usages: PodUsages = sandboxes.into_iter().map(|uid| (uid, without_containers())).collect();
    for ((uid, _), (_, container)) in with_counts(newest(containers), counted) {
        let usage = usages.entry(uid).or_insert_with(without_containers);
        let memory = container.memory.unwrap_or(0);
        usage.memory = usage.memory.map(|others| others.saturating_add(memory));
        usage.containers.push(container);
    }
    for (uid, usage) in &mut usages {
        let counted = counted.get(uid);
        usage.memory = counted.and_then(|pod| pod.memory).or(usage.memory);
        usage.processes = counted.and_then(CountedPod::processes).or_else(|| processes.get(uid).copied());
        let Some(disk) = storage.get(uid) else { continue };
        usage.volumes = disk.volumes.clone();
        usage.own = disk.own;
        for container in &mut usage.containers {
            container.logs = disk.logs.get(&container.name).copied().unwrap_or_default();
        }
    }
    usages
}

/// The kernel's figures count, whatever the runtime says, which may know nothing of the container.
fn with_counts(mut containers: NewestUsages, counted: &BTreeMap<PodUid, CountedPod>) -> NewestUsages {
    for (uid, pod) in counted {
        for CountedContainer { name, memory, .. } in &pod.containers {
            let Some(memory) = memory else { continue };
            let unknown = || (0, ContainerUsage { name: name.clone(), ..ContainerUsage::default() });
            let (_, usage) = containers.entry((uid.clone(), name.clone())).or_insert_with(unknown);
            usage.memory = Some(*memory);
        }
    }
    containers
}

/// Whether a volume's content is the node's disk and goes with the pod (upstream: `IsLocalEphemeralVolume`): `emptyDir` on disk,
/// `configMap`, `gitRepo`.
pub fn is_local_ephemeral(volume: &Volume) -> bool {
    let on_disk = |medium: &Option<String>| medium.as_deref().is_none_or(str::is_empty);
    volume.git_repo.is_some()
        || volume.config_map.is_some()
        || volume.empty_dir.as_ref().is_some_and(|source| on_disk(&source.medium))
}

/// The pod's volumes.
pub fn volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten())
}
