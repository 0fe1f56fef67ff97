//! What the kernel counts of the node and its pods, for the summary and the metrics of resources.
//!
//! Cgroups are read directly: the runtime would read the same few files for each container, and a call would come on top.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as SyncMutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rustix::fs::{Mode, OFlags, openat};
use tokio::sync::Mutex;
use tokio::time::timeout;
use witlet_core::cgroup::{CgroupLayout, Tier};
use witlet_core::pod::PodUid;
use witlet_core::runtime::{CgroupDriver, ContainerId, SandboxId};
use witlet_core::stats::cadvisor::Topology;
use witlet_core::stats::cgroup_usage::CgroupUsage;
use witlet_core::stats::network::interfaces;
use witlet_core::stats::summary::{FsMeasurement, Scope};
use witlet_core::stats::system_containers::{NamedCgroups, SystemContainer, SystemUsage};
use witlet_ports::{Clock, ContainerCounts, KernelCounts, KernelDetails, KernelMeter, PodCounts, RunningPod};

use crate::file_systems::{NodeFileSystems, measure_nearest};
use crate::mounts::KnownFilesystems;
use crate::node_readings::kernel::{read, text};
use crate::node_readings::pids;
use crate::process::boot_second;

mod cache;
mod current;
mod details;
mod files;
mod open_files;
#[cfg(test)]
mod tests;

use cache::KnownCgroups;
use files::{CgroupFiles, OpenFolders};
use open_files::KnownFiles;

/// All counts take at most this long; what wasn't read by then is unknown.
const COUNT_TIMEOUT: Duration = Duration::from_secs(10);
/// Where a cgroup's processes are listed.
const PROCESSES: &str = "cgroup.procs";

/// Reads the kernel's files.
pub struct SystemMeter {
    kernel: Kernel,
    layouts: Arc<[CgroupLayout; 2]>,
    named: Arc<NamedCgroups>,
    clock: Arc<dyn Clock>,
    /// One check at a time, and where cgroups were found at the last one.
    found: Arc<Mutex<CgroupPaths>>,
    /// The same of checks of all that there is: they take longer, and hold up no others.
    detailed: Arc<Mutex<CgroupPaths>>,
    /// What both know of each cgroup.
    known: Arc<SyncMutex<KnownCgroups>>,
    /// Which processors there are, once it was read: it doesn't change.
    topology: Arc<OnceLock<Option<Topology>>>,
    filesystems: NodeFileSystems,
    /// The node's file systems, and where they are measured: apart from the rest, for one of them may hang.
    mounted: Arc<SyncMutex<KnownFilesystems>>,
    measured: NodeFileSystems,
}

/// Where the kernel's files are.
#[derive(Clone, Debug)]
struct Kernel {
    proc: PathBuf,
    cgroups: PathBuf,
    /// Where processors are described.
    processors: PathBuf,
}

/// Paths of cgroups below the mount points of controllers, and what is mounted.
#[derive(Debug, Default)]
struct CgroupPaths {
    pods: HashMap<PodUid, PathBuf>,
    containers: HashMap<ContainerId, PathBuf>,
    open_files: KnownFiles,
}

impl CgroupPaths {
    /// Forgets what isn't of these pods.
    fn forget_others(&mut self, pods: &[RunningPod]) {
        let uids: HashSet<&PodUid> = pods.iter().map(|pod| &pod.uid).collect();
        let containers = pods.iter().flat_map(|pod| pod.containers.iter().map(ContainerId::as_str));
        let sandboxes = pods.iter().filter_map(|pod| pod.sandbox.as_ref().map(SandboxId::as_str));
        let ids: HashSet<&str> = containers.chain(sandboxes).collect();
        self.pods.retain(|uid, _| uids.contains(uid));
        self.containers.retain(|id, _| ids.contains(id.as_str()));
    }
}

impl SystemMeter {
    /// `root` is the cgroup that the one of all pods is in (`cgroupRoot`); those that are `named` are counted, too.
    pub fn new(root: &str, named: NamedCgroups, clock: Arc<dyn Clock>) -> Self {
        let kernel = Kernel {
            proc: "/proc".into(),
            cgroups: "/sys/fs/cgroup".into(),
            processors: "/sys/devices/system/cpu".into(),
        };
        Self::with_kernel(kernel, root, named, clock)
    }

    fn with_kernel(kernel: Kernel, root: &str, named: NamedCgroups, clock: Arc<dyn Clock>) -> Self {
        // Which driver makes cgroups is the runtime's word, which may not be known yet.
        let drivers = [CgroupDriver::Systemd, CgroupDriver::Cgroupfs];
        let layouts = Arc::new(drivers.map(|driver| CgroupLayout::new(driver, root)));
        Self {
            kernel,
            layouts,
            named: Arc::new(named),
            clock,
            found: Arc::default(),
            detailed: Arc::default(),
            known: Arc::default(),
            topology: Arc::default(),
            filesystems: NodeFileSystems::default(),
            mounted: Arc::default(),
            measured: NodeFileSystems::default(),
        }
    }
}

#[async_trait]
impl KernelMeter for SystemMeter {
    async fn counts(&self, pods: Vec<RunningPod>, scope: Scope) -> KernelCounts {
        let (kernel, layouts, clock) = (self.kernel.clone(), self.layouts.clone(), self.clock.clone());
        let (named, known) = (self.named.clone(), self.known.clone());
        let counting = async {
            let mut found = self.found.clone().lock_owned().await;
            let reading = move || {
                MeterReading::new(&kernel, &layouts, &*clock, &known, scope).counts(&mut found, &pods, &named)
            };
            tokio::task::spawn_blocking(reading).await
        };
        match timeout(COUNT_TIMEOUT, counting).await {
            Ok(Ok(counts)) => counts,
            // Only a runtime that is shutting down doesn't finish the work.
            Ok(Err(_)) => KernelCounts::default(),
            Err(_) => {
                tracing::warn!(timeout = ?COUNT_TIMEOUT, "Timed out reading cgroups");
                KernelCounts { has_timed_out: true, ..KernelCounts::default() }
            }
        }
    }

    async fn details(&self, pods: Vec<RunningPod>) -> Option<KernelDetails> {
        let (kernel, layouts, clock) = (self.kernel.clone(), self.layouts.clone(), self.clock.clone());
        let topology = self.topology.clone();
        let (named, known) = (self.named.clone(), self.known.clone());
        let reading = async {
            let mut found = self.detailed.clone().lock_owned().await;
            let reading = move || {
                let reading = MeterReading::new(&kernel, &layouts, &*clock, &known, Scope::All);
                let topology = *topology.get_or_init(|| reading.topology());
                KernelDetails { topology, ..reading.details(&mut found, &pods, &named) }
            };
            tokio::task::spawn_blocking(reading).await
        };
        let (details, filesystems) =
            tokio::join!(timeout(COUNT_TIMEOUT, reading), self.measured_filesystems());
        match details {
            Ok(details) => details.ok().map(|details| KernelDetails { filesystems, ..details }),
            Err(_) => {
                tracing::warn!(timeout = ?COUNT_TIMEOUT, "Timed out reading cgroups in full");
                None
            }
        }
    }

    async fn filesystem(&self, path: &Path) -> Option<FsMeasurement> {
        let path = path.to_owned();
        self.filesystems.ask(move || measure_nearest(&path)).await.ok().flatten()
    }
}

/// One check of the machine.
struct MeterReading<'a> {
    kernel: &'a Kernel,
    layouts: &'a [CgroupLayout; 2],
    clock: &'a dyn Clock,
    known: &'a SyncMutex<KnownCgroups>,
    scope: Scope,
    is_v2: bool,
    has_pressure: bool,
    /// The cgroups that pods are in, of both drivers.
    tiers: Vec<PathBuf>,
    folders: OpenFolders,
    /// The folder of all processes, once it was opened.
    processes: OnceCell<Option<OwnedFd>>,
}

impl<'a> MeterReading<'a> {
    fn new(
        kernel: &'a Kernel,
        layouts: &'a [CgroupLayout; 2],
        clock: &'a dyn Clock,
        known: &'a SyncMutex<KnownCgroups>,
        scope: Scope,
    ) -> Self {
        let is_v2 = kernel.cgroups.join("cgroup.controllers").exists();
        // Counting may be switched off in a kernel that has it.
        let has_pressure = is_v2 && read(&kernel.proc.join("pressure/cpu")).is_some();
        let path = |layout: &CgroupLayout, tier: Tier| relative(&layout.path(&layout.tier(tier)));
        let mut tiers: Vec<PathBuf> =
            layouts.iter().flat_map(|layout| Tier::ALL.map(|tier| path(layout, tier))).collect();
        // With `/` as root both drivers may name the same one.
        tiers.sort();
        tiers.dedup();
        let cgroups = kernel.cgroups.clone();
        let root = move |controller: &str| if is_v2 { cgroups.clone() } else { cgroups.join(controller) };
        let folders = OpenFolders::new(root, tiers.clone());
        let processes = OnceCell::new();
        Self { kernel, layouts, clock, known, scope, is_v2, has_pressure, tiers, folders, processes }
    }

    fn counts(&self, found: &mut CgroupPaths, pods: &[RunningPod], named: &NamedCgroups) -> KernelCounts {
        let proc = &self.kernel.proc;
        let booted_at = read(&proc.join("stat")).as_deref().and_then(booted_at);
        self.see_tiers();
        let counts = KernelCounts {
            node: self.node(),
            system: self.system(named, booted_at),
            pods: pods.iter().map(|pod| (pod.uid.clone(), self.pod(found, pod))).collect(),
            booted_at,
            ..KernelCounts::default()
        };
        found.forget_others(pods);
        self.forget_gone();
        if self.scope == Scope::CpuAndMemory {
            return counts;
        }
        let text = |path: &str| read(&proc.join(path));
        let left = pids(
            text("sys/kernel/pid_max").as_deref(),
            text("sys/kernel/threads-max").as_deref(),
            text("loadavg").as_deref(),
        );
        KernelCounts {
            network: text("net/dev").as_deref().map(interfaces).unwrap_or_default(),
            pids: left.map(|left| (left.capacity, left.capacity.saturating_sub(left.available))),
            ..counts
        }
    }

    fn node(&self) -> Option<CgroupUsage> {
        let meminfo = read(&self.kernel.proc.join("meminfo"))?;
        let stat = self.is_v2.then(|| read(&self.kernel.cgroups.join("memory.stat"))).flatten();
        Some(self.read_usage(Path::new("")).of_root(&meminfo, stat.as_deref()))
    }

    /// What system containers use. A cgroup that doesn't exist has no entry, also when the configuration names it.
    fn system(
        &self,
        named: &NamedCgroups,
        booted_at: Option<Timestamp>,
    ) -> BTreeMap<SystemContainer, SystemUsage> {
        let own = self.own_cgroup().map(|path| (SystemContainer::Kubelet, path));
        let pods = self.kubepods().map(|path| (SystemContainer::Pods, path));
        let named = named.named().map(|(container, path)| (container, relative(path)));
        let usage = |path: &Path| if path.as_os_str().is_empty() { self.node() } else { self.usage(path) };
        let counted = own.into_iter().chain(named).chain(pods).filter_map(|(container, path)| {
            let created_at = self.created_at(&path).max(booted_at);
            Some((container, SystemUsage { usage: usage(&path)?, created_at }))
        });
        counted.collect()
    }

    fn kubepods(&self) -> Option<PathBuf> {
        let path = |layout: &CgroupLayout| relative(&layout.path(layout.kubepods()));
        self.layouts.iter().map(path).find(|path| self.is_there(path))
    }

    /// Returns `None` for the root, whose figures are the node's.
    fn own_cgroup(&self) -> Option<PathBuf> {
        let text = read(&self.kernel.proc.join("self/cgroup"))?;
        let line = |line: &str| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let is_it = if self.is_v2 { controllers.is_empty() } else { controllers == "memory" };
            is_it.then(|| relative(path))
        };
        text.lines().find_map(line).filter(|path| !path.as_os_str().is_empty())
    }

    /// Reads what is above pods, so that nothing is read of pods while nothing happens in any.
    fn see_tiers(&self) {
        for tier in &self.tiers {
            self.usage(tier);
        }
    }

    fn pod(&self, found: &mut CgroupPaths, pod: &RunningPod) -> PodCounts {
        let mut counts = PodCounts::default();
        let Some((folder, usage)) = self.pod_usage(found, &pod.uid) else { return counts };
        counts.usage = usage;
        if pod.containers.iter().any(|id| !found.containers.contains_key(id)) {
            self.find_containers(found, &folder, &pod.containers);
        }
        for id in &pod.containers {
            let Some(cgroup) = found.containers.get(id) else { continue };
            let Some(usage) = self.usage(cgroup) else { continue };
            let mut container = ContainerCounts { usage, processes: None };
            if self.scope == Scope::All {
                let listed = self.listed(cgroup);
                container.processes = Some(listed.count);
                if !pod.host_network && counts.network.is_none() {
                    counts.network = self.network_of(&folder, &listed);
                }
            }
            counts.containers.insert(id.clone(), container);
        }
        counts
    }

    /// Where the pod's cgroup was at the last check, or is now, and what it uses.
    fn pod_usage(&self, found: &mut CgroupPaths, uid: &PodUid) -> Option<(PathBuf, Option<CgroupUsage>)> {
        if let Some(folder) = found.pods.get(uid).cloned() {
            // A cgroup of which something can be read is there.
            if let Some(usage) = self.usage(&folder) {
                return Some((folder, Some(usage)));
            }
            found.containers.retain(|_, cgroup| !cgroup.starts_with(&folder));
        }
        let folder = self.pod_folder(uid)?;
        found.pods.insert(uid.clone(), folder.clone());
        let usage = self.usage(&folder);
        Some((folder, usage))
    }

    fn pod_folder(&self, uid: &PodUid) -> Option<PathBuf> {
        let tiers = self.layouts.iter().flat_map(|layout| Tier::ALL.map(|tier| (layout, tier)));
        let mut paths = tiers.filter_map(|(layout, tier)| {
            let name = layout.pod_in(tier, uid.as_str()).ok()?;
            Some(relative(&layout.path(&name)))
        });
        paths.find(|path| self.is_there(path))
    }

    /// A container's cgroup is named after it: `ID`, or `RUNTIME-ID.scope` where systemd makes cgroups.
    fn find_containers(&self, found: &mut CgroupPaths, pod: &Path, ids: &[ContainerId]) {
        let Ok(entries) = fs::read_dir(self.file(pod, "memory", "")) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let id = name.strip_suffix(".scope").unwrap_or(name);
            let id = id.rsplit_once('-').map_or(id, |(_, id)| id);
            if let Some(id) = ids.iter().find(|known| known.as_str() == id) {
                found.containers.insert(id.clone(), pod.join(name));
            }
        }
    }

    /// Returns `None` for a cgroup that isn't there any more.
    fn usage(&self, cgroup: &Path) -> Option<CgroupUsage> {
        let usage = self.read_usage(cgroup);
        (usage.cpu_nanoseconds.is_some() || usage.memory.is_some()).then_some(usage)
    }

    fn read_usage(&self, cgroup: &Path) -> CgroupUsage {
        let files = CgroupFiles::new(&self.folders, cgroup);
        if let Some(usage) = self.known_usage(cgroup, &files) {
            return usage;
        }
        let at = self.clock.now();
        let usage = if self.is_v2 {
            CgroupUsage::of_v2(at, self.has_pressure, |file| files.read("", file))
        } else {
            CgroupUsage::of_v1(at, |controller, file| files.read(controller, file))
        };
        self.keep(cgroup, usage);
        usage
    }

    /// A file of a process; none if it can't be read.
    fn read_of_process(&self, pid: u32, file: &str) -> Option<String> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = || rustix::fs::open(&self.kernel.proc, flags, Mode::empty()).ok();
        let folder = self.processes.get_or_init(folder).as_ref()?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        text(openat(folder, format!("{pid}/{file}"), flags, Mode::empty()).ok()?.into())
    }

    fn is_there(&self, cgroup: &Path) -> bool {
        self.file(cgroup, "memory", "").exists()
    }

    /// A file of a cgroup; in version 1 of the tree of that controller.
    fn file(&self, cgroup: &Path, controller: &str, file: &str) -> PathBuf {
        let tree =
            if self.is_v2 { self.kernel.cgroups.clone() } else { self.kernel.cgroups.join(controller) };
        tree.join(cgroup).join(file)
    }
}

fn relative(path: &str) -> PathBuf {
    path.trim_start_matches('/').into()
}

fn booted_at(stat: &str) -> Option<Timestamp> {
    Timestamp::from_second(boot_second(stat)?).ok()
}
