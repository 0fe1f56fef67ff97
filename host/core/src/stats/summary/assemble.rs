//! The summary of measurements.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Volume};

use super::{
    ContainerStats, CpuStats, FsStats, InterfaceStats, IoStats, MemoryStats, NetworkStats, NodeStats,
    PodReference, PodStats, ProcessStats, PsiData, PsiStats, PvcReference, RlimitStats, RuntimeFilesystems,
    Summary, SwapStats, Time, VolumeStats,
};
use crate::pod::PodFullName;
use crate::stats::cgroup_usage::{CgroupUsage, MemoryUsage, Stall, Stalls, SwapUsage};
use crate::stats::network::InterfaceUsage;
use crate::stats::{FsMeasurement, FsUsage, ephemeral_storage, volumes};

/// The interface that figures without a name of one are of, the node's too (upstream: `defaultNetworkInterfaceName`).
const DEFAULT_INTERFACE: &str = "eth0";

/// How much is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Without network, file systems, volumes, limits and pressure of disks (`only_cpu_and_memory`).
    CpuAndMemory,
}

/// Processes of the node that aren't a pod's.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemMeasurement {
    /// `kubelet`, `runtime`, `misc` or `pods`.
    pub name: &'static str,
    /// Since when they are there.
    pub started_at: Option<Timestamp>,
    pub usage: CgroupUsage,
    /// Billionths of a core, now.
    pub nanocores: Option<u64>,
}

/// A container that runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerMeasurement {
    /// Its name in the pod.
    pub name: String,
    /// When it was made.
    pub started_at: Timestamp,
    pub usage: CgroupUsage,
    /// Billionths of a core, now.
    pub nanocores: Option<u64>,
    pub rootfs: FsUsage,
    pub logs: FsUsage,
    pub processes: Option<u64>,
}

/// A volume that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeMeasurement {
    /// Its name in the pod.
    pub name: String,
    pub usage: FsUsage,
    /// The file system that it is on; none if that isn't known.
    pub system: Option<FsMeasurement>,
}

/// A pod.
#[derive(Clone, Debug, PartialEq)]
pub struct PodMeasurement {
    pub name: String,
    pub namespace: String,
    pub uid: String,
    /// When its sandbox was made.
    pub started_at: Timestamp,
    /// Its containers that run; a pod without one isn't shown.
    pub containers: Vec<ContainerMeasurement>,
    /// What its cgroup uses; none where it has none.
    pub usage: Option<CgroupUsage>,
    /// Billionths of a core, now.
    pub nanocores: Option<u64>,
    /// Traffic of its network; none of a pod in the node's.
    pub network: Option<Vec<InterfaceUsage>>,
    /// The pod as its source has it; none of one that no source has any more.
    pub pod: Option<std::sync::Arc<Pod>>,
    pub volumes: Vec<VolumeMeasurement>,
    pub own: FsUsage,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    pub at: Timestamp,
    pub node_name: String,
    /// When the machine was started.
    pub booted_at: Option<Timestamp>,
    /// The root of all cgroups.
    pub node: Option<CgroupUsage>,
    /// Billionths of a core, now.
    pub node_nanocores: Option<u64>,
    /// What isn't a pod's.
    pub system: Vec<SystemMeasurement>,
    /// Traffic of the node.
    pub network: Vec<InterfaceUsage>,
    /// The file system of the agent's folder.
    pub nodefs: Option<FsMeasurement>,
    /// The file system of images, and what images take of it.
    pub imagefs: Option<(Option<FsMeasurement>, FsUsage)>,
    /// The same of writable layers; none where the runtime doesn't tell them from images.
    pub containerfs: Option<(Option<FsMeasurement>, FsUsage)>,
    /// Process ids that there may be, and that there are.
    pub pids: Option<(u64, u64)>,
    /// Pods that the runtime has.
    pub pods: Vec<PodMeasurement>,
}

impl Measurements {
    /// The summary of these.
    pub fn summary(&self, scope: Scope) -> Summary {
        Summary {
            node: self.node_stats(scope),
            pods: self.pods.iter().filter_map(|pod| self.pod_stats(pod, scope)).collect(),
        }
    }

    fn node_stats(&self, scope: Scope) -> NodeStats {
        let usage = self.node.as_ref();
        let stats = NodeStats {
            node_name: self.node_name.clone(),
            system_containers: self.system.iter().map(|system| system_stats(system, scope)).collect(),
            start_time: self.booted_at.map(Time),
            cpu: usage.and_then(|usage| cpu(usage, self.node_nanocores)),
            memory: usage.and_then(memory),
            swap: usage.and_then(swap),
            ..NodeStats::default()
        };
        if scope == Scope::CpuAndMemory {
            return stats;
        }
        let runtime_fs =
            |(system, used): &(Option<FsMeasurement>, FsUsage)| self.used_of(system.as_ref(), *used);
        let image_fs = self.imagefs.as_ref().map(runtime_fs);
        NodeStats {
            io: usage.and_then(io),
            network: self.network(&self.network),
            fs: self.nodefs.as_ref().map(|system| {
                let used = FsUsage::new(system.used, system.inodes.saturating_sub(system.inodes_free));
                self.used_of(Some(system), used)
            }),
            runtime: image_fs.map(|image_fs| RuntimeFilesystems {
                container_fs: Some(self.containerfs.as_ref().map_or_else(|| image_fs.clone(), runtime_fs)),
                image_fs: Some(image_fs),
            }),
            rlimit: self.pids.map(|(maxpid, curproc)| RlimitStats { time: Time(self.at), maxpid, curproc }),
            ..stats
        }
    }

    fn pod_stats(&self, pod: &PodMeasurement, scope: Scope) -> Option<PodStats> {
        if pod.containers.is_empty() {
            return None;
        }
        let summed = pod.usage.is_none().then(|| sum(&pod.containers));
        let usage = pod.usage.or(summed.map(|(usage, _)| usage))?;
        let nanocores = pod.nanocores.or(summed.and_then(|(_, nanocores)| nanocores));
        let containers = pod.containers.iter().map(|container| self.container_stats(container, scope));
        let stats = PodStats {
            pod_ref: PodReference {
                name: pod.name.clone(),
                namespace: pod.namespace.clone(),
                uid: pod.uid.clone(),
            },
            start_time: Some(Time(pod.started_at)),
            containers: containers.collect(),
            cpu: cpu(&usage, nanocores),
            memory: memory(&usage),
            swap: swap(&usage),
            ..PodStats::default()
        };
        if scope == Scope::CpuAndMemory {
            return Some(stats);
        }
        let processes: Option<u64> = pod.containers.iter().map(|container| container.processes).sum();
        Some(PodStats {
            io: io(&usage),
            network: pod.network.as_deref().and_then(|all| self.network(all)),
            volume: volume_stats(
                pod.pod.as_deref(),
                pod.volumes.iter().map(|volume| (volume.name.as_str(), volume.usage, volume.system)),
                self.nodefs.as_ref(),
                self.at,
            ),
            ephemeral_storage: Some(self.used_of(self.nodefs.as_ref(), local_disk(pod))),
            process_stats: processes.map(|process_count| ProcessStats { process_count }),
            ..stats
        })
    }

    fn container_stats(&self, container: &ContainerMeasurement, scope: Scope) -> ContainerStats {
        let usage = &container.usage;
        let stats = ContainerStats {
            name: container.name.clone(),
            start_time: Some(Time(container.started_at)),
            cpu: cpu(usage, container.nanocores),
            memory: memory(usage),
            swap: swap(usage),
            ..ContainerStats::default()
        };
        if scope == Scope::CpuAndMemory {
            return stats;
        }
        let layers =
            self.containerfs.as_ref().or(self.imagefs.as_ref()).and_then(|(system, _)| system.as_ref());
        ContainerStats {
            io: io(usage),
            rootfs: Some(self.used_of(layers, container.rootfs)),
            logs: Some(self.used_of(self.nodefs.as_ref(), container.logs)),
            ..stats
        }
    }

    /// Returns what is used of a file system; its own figures are left out where it isn't known.
    fn used_of(&self, system: Option<&FsMeasurement>, used: FsUsage) -> FsStats {
        fs_stats(self.at, system, used)
    }

    fn network(&self, interfaces: &[InterfaceUsage]) -> Option<NetworkStats> {
        if interfaces.is_empty() {
            return None;
        }
        let interfaces: Vec<InterfaceStats> = interfaces.iter().map(interface).collect();
        let default = interfaces.iter().find(|interface| interface.name == DEFAULT_INTERFACE);
        Some(NetworkStats { time: Time(self.at), default: default.cloned(), interfaces })
    }
}

/// Volumes that were measured, by name, each with the file system that it is on, and the claims that the pod's spec says they are of. One
/// whose file system isn't known is on `nodefs`.
pub fn volume_stats<'v>(
    pod: Option<&Pod>,
    measured: impl IntoIterator<Item = (&'v str, FsUsage, Option<FsMeasurement>)>,
    nodefs: Option<&FsMeasurement>,
    at: Timestamp,
) -> Vec<VolumeStats> {
    let spec: BTreeMap<&str, &Volume> =
        pod.into_iter().flat_map(volumes).map(|volume| (volume.name.as_str(), volume)).collect();
    let stats = |(name, used, system): (&str, FsUsage, Option<FsMeasurement>)| VolumeStats {
        fs: fs_stats(at, system.as_ref().or(nodefs), used),
        name: name.to_owned(),
        pvc_ref: pod.zip(spec.get(name)).and_then(|(pod, volume)| claim(pod, volume)),
    };
    measured.into_iter().map(stats).collect()
}

fn fs_stats(at: Timestamp, system: Option<&FsMeasurement>, used: FsUsage) -> FsStats {
    FsStats {
        time: Time(at),
        available_bytes: system.map(|system| system.available),
        capacity_bytes: system.map(|system| system.capacity),
        used_bytes: used.bytes,
        inodes_free: system.map(|system| system.inodes_free),
        inodes: system.map(|system| system.inodes),
        inodes_used: used.inodes,
    }
}

/// The claim that a volume is of; one that is made for the pod has the name of both.
fn claim(pod: &Pod, volume: &Volume) -> Option<PvcReference> {
    let PodFullName { namespace, name } = PodFullName::of(pod);
    let name = match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(source), _) => source.claim_name.clone(),
        (None, Some(_)) => format!("{name}-{}", volume.name),
        (None, None) => return None,
    };
    Some(PvcReference { name, namespace: namespace.to_string() })
}

fn system_stats(system: &SystemMeasurement, scope: Scope) -> ContainerStats {
    let usage = &system.usage;
    ContainerStats {
        name: system.name.to_owned(),
        start_time: system.started_at.map(Time),
        cpu: cpu(usage, system.nanocores),
        memory: memory(usage),
        swap: swap(usage),
        io: io(usage).filter(|_| scope == Scope::All),
        ..ContainerStats::default()
    }
}

/// Returns all local disk that counts for the pod.
fn local_disk(pod: &PodMeasurement) -> FsUsage {
    let volume = |name: &str| {
        let measured = pod.volumes.iter().find(|volume| volume.name == name);
        measured.map(|volume| volume.usage)
    };
    let of_containers = pod.containers.iter().flat_map(|container| [container.rootfs, container.logs]);
    ephemeral_storage(pod.pod.as_deref(), volume, of_containers.chain([pod.own]))
}

/// Returns what containers use together, where their pod has no cgroup. Pressures can't be added up.
fn sum(containers: &[ContainerMeasurement]) -> (CgroupUsage, Option<u64>) {
    let at = containers.iter().map(|container| container.usage.at).max().unwrap_or_default();
    let cpu = containers.iter().filter_map(|container| container.usage.cpu_nanoseconds);
    let nanocores = containers.iter().filter_map(|container| container.nanocores);
    let memory = containers.iter().filter_map(|container| container.usage.memory);
    let swap = containers.iter().filter_map(|container| container.usage.swap);
    let usage = CgroupUsage {
        at,
        cpu_nanoseconds: cpu.reduce(u64::saturating_add),
        memory: memory.reduce(|a, b| MemoryUsage {
            usage: add(a.usage, b.usage),
            working_set: a.working_set.saturating_add(b.working_set),
            rss: add(a.rss, b.rss),
            page_faults: add(a.page_faults, b.page_faults),
            major_page_faults: add(a.major_page_faults, b.major_page_faults),
            limit: add(a.limit, b.limit),
        }),
        swap: swap.reduce(|a, b| SwapUsage {
            usage: a.usage.saturating_add(b.usage),
            limit: add(a.limit, b.limit),
        }),
        pressure: Default::default(),
    };
    (usage, nanocores.reduce(u64::saturating_add))
}

/// Returns `None` where one of them isn't known, or has no limit.
fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

fn cpu(usage: &CgroupUsage, nanocores: Option<u64>) -> Option<CpuStats> {
    usage.cpu_nanoseconds.map(|used| CpuStats {
        time: Time(usage.at),
        usage_nano_cores: nanocores,
        usage_core_nano_seconds: Some(used),
        psi: usage.pressure.cpu.map(psi),
    })
}

fn memory(usage: &CgroupUsage) -> Option<MemoryStats> {
    usage.memory.map(|memory| MemoryStats {
        time: Time(usage.at),
        available_bytes: memory.limit.map(|limit| limit.saturating_sub(memory.working_set)),
        usage_bytes: memory.usage,
        working_set_bytes: memory.working_set,
        rss_bytes: memory.rss,
        page_faults: memory.page_faults,
        major_page_faults: memory.major_page_faults,
        psi: usage.pressure.memory.map(psi),
    })
}

fn swap(usage: &CgroupUsage) -> Option<SwapStats> {
    usage.swap.map(|swap| SwapStats {
        time: Time(usage.at),
        swap_available_bytes: swap.limit.map(|limit| limit.saturating_sub(swap.usage)),
        swap_usage_bytes: swap.usage,
    })
}

fn io(usage: &CgroupUsage) -> Option<IoStats> {
    usage.pressure.io.map(|stalls| IoStats { time: Time(usage.at), psi: psi(stalls) })
}

fn psi(stalls: Stalls) -> PsiStats {
    let data = |stall: Stall| PsiData {
        total: stall.total_nanoseconds,
        avg10: stall.avg10,
        avg60: stall.avg60,
        avg300: stall.avg300,
    };
    PsiStats { full: data(stalls.full), some: data(stalls.some) }
}

fn interface(usage: &InterfaceUsage) -> InterfaceStats {
    InterfaceStats {
        name: usage.name.clone(),
        rx_bytes: usage.rx_bytes,
        rx_errors: usage.rx_errors,
        tx_bytes: usage.tx_bytes,
        tx_errors: usage.tx_errors,
    }
}
