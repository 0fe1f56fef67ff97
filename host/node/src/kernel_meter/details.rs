//! All that the kernel counts of each cgroup, for `/metrics/cadvisor`.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::SystemTime;

use jiff::Timestamp;
use witlet_core::runtime::ContainerId;
use witlet_core::stats::cadvisor::{
    BlockDevice, CgroupDetails, FilesystemUsage, Partition, Processes, Topology, partitions,
};
use witlet_core::stats::network::interfaces;
use witlet_core::stats::system_containers::NamedCgroups;
use witlet_ports::{DetailedCgroup, KernelDetails, PodDetails, RunningPod};

use super::cache::{KnownLimits, ListedProcesses};
use super::files::CgroupFiles;
use super::open_files::OpenFiles;
use super::{CgroupPaths, MeterReading, PROCESSES, SystemMeter, booted_at, read, relative};
use crate::file_systems::measure_nearest;
use crate::mounts::MountedFilesystem;

/// Cgroups of the runtime and the system that are shown at most.
const NAMED_MAX: usize = 256;
/// What systemd's cgroups of mounts end with.
const MOUNT: &str = ".mount";
/// File systems that are shown at most.
const FILESYSTEMS_MAX: usize = 64;
/// Processors that are counted at most: the kernel's own bound.
const PROCESSORS_MAX: usize = 8192;
/// Of a processor in no book or drawer.
const NO_PLACE: i64 = -1;

/// Where the open files of processes are known from.
#[derive(Clone, Copy)]
enum FilesOf<'a> {
    /// They have done nothing since.
    Known(Processes),
    Counted(&'a OpenFiles),
}

impl SystemMeter {
    /// The node's own file systems; none while one of them doesn't answer, which holds up nothing else.
    pub(super) async fn measured_filesystems(&self) -> Vec<FilesystemUsage> {
        let (mounted, proc) = (self.mounted.clone(), self.kernel.proc.clone());
        let measure = move || {
            let mut mounted = mounted.lock().unwrap_or_else(PoisonError::into_inner);
            filesystems(mounted.current(), &partitions(&read(&proc.join("diskstats")).unwrap_or_default()))
        };
        self.measured.ask(measure).await.unwrap_or_default()
    }
}

pub(super) fn filesystems(
    mounted: &[MountedFilesystem],
    diskstats: &BTreeMap<BlockDevice, Partition>,
) -> Vec<FilesystemUsage> {
    let usage = |mounted: &MountedFilesystem| {
        let measured = measure_nearest(&mounted.point)?;
        let traffic = diskstats.get(&mounted.device).cloned();
        Some(FilesystemUsage {
            device: mounted.name(),
            capacity: measured.capacity,
            used: measured.used,
            inodes: measured.inodes,
            inodes_free: measured.inodes_free,
            traffic: traffic.filter(|_| !mounted.is_in_memory),
        })
    };
    mounted.iter().take(FILESYSTEMS_MAX).filter_map(usage).collect()
}

impl MeterReading<'_> {
    /// Without file systems, which may hang.
    pub(super) fn details(
        &self,
        found: &mut CgroupPaths,
        pods: &[RunningPod],
        named: &NamedCgroups,
    ) -> KernelDetails {
        let proc = &self.kernel.proc;
        let open_files = OpenFiles::new(std::mem::take(&mut found.open_files), self.clock.now());
        let booted_at = read(&proc.join("stat")).as_deref().and_then(booted_at);
        let cgroup = |path: &Path| self.detailed(path, &open_files, booted_at);
        // Before the pods in them, of which nothing is read while nothing happens in any.
        self.tiers.iter().for_each(|tier| drop(cgroup(tier)));
        let of_pods = |pod: &RunningPod| (pod.uid.clone(), self.pod_details(found, pod, &cgroup));
        let all: BTreeMap<_, _> = pods.iter().map(of_pods).collect();
        found.forget_others(pods);
        self.forget_gone();
        let diskstats = partitions(&read(&proc.join("diskstats")).unwrap_or_default());
        let node = self.of_node(named, &cgroup);
        found.open_files = open_files.into_known();
        KernelDetails {
            node,
            pods: all,
            network: read(&proc.join("net/dev")).as_deref().map(interfaces).unwrap_or_default(),
            filesystems: Vec::new(),
            devices: diskstats.into_iter().map(|(device, partition)| (device, partition.name)).collect(),
            topology: None,
        }
    }

    /// The root, the cgroups of all pods and of their classes, the agent's own, and those that are named.
    fn of_node(
        &self,
        named: &NamedCgroups,
        cgroup: &impl Fn(&Path) -> Option<DetailedCgroup>,
    ) -> Vec<DetailedCgroup> {
        let mut paths = self.tiers.clone();
        paths.extend(self.own_cgroup());
        paths.extend(self.named(named));
        // What is named may be one of the others.
        let mut shown: Vec<DetailedCgroup> = self.root(cgroup).into_iter().collect();
        for path in paths {
            let is_shown = shown.iter().any(|known| relative(&known.path) == path);
            if !is_shown && self.is_there(&path) {
                // Upstream has it of containers and the root only, whose first process it knows.
                shown.extend(cgroup(&path).map(|mut other| {
                    other.details.processes.open_files_max = None;
                    other
                }));
            }
        }
        shown
    }

    /// The runtime's and the system's cgroups with all below them, as far as the bound goes; those of mounts have no processes.
    fn named(&self, named: &NamedCgroups) -> Vec<PathBuf> {
        let paths = named.named().map(|(_, path)| relative(path));
        let mut waiting: VecDeque<PathBuf> = paths.filter(|path| !path.as_os_str().is_empty()).collect();
        let mut found = Vec::new();
        while found.len() < NAMED_MAX
            && let Some(path) = waiting.pop_front()
        {
            let below = fs::read_dir(self.file(&path, "memory", "")).into_iter().flatten().flatten();
            let below = below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let names = below.map(|entry| entry.file_name());
            let mut names: Vec<_> =
                names.filter(|name| !name.as_encoded_bytes().ends_with(MOUNT.as_bytes())).collect();
            names.sort();
            waiting.extend(names.into_iter().take(NAMED_MAX).map(|name| path.join(name)));
            found.push(path);
        }
        found
    }

    fn root(&self, cgroup: &impl Fn(&Path) -> Option<DetailedCgroup>) -> Option<DetailedCgroup> {
        let meminfo = read(&self.kernel.proc.join("meminfo"))?;
        let stat = self.is_v2.then(|| read(&self.kernel.cgroups.join("memory.stat"))).flatten();
        let mut root = cgroup(Path::new(""))?;
        let CgroupDetails { usage, spec, processes, .. } = &mut root.details;
        *usage = usage.of_root(&meminfo, stat.as_deref());
        *spec = spec.of_root(&meminfo);
        processes.open_files_max =
            read(&self.kernel.proc.join("1/limits")).and_then(|text| open_files_max(&text));
        Some(root)
    }

    fn pod_details(
        &self,
        found: &mut CgroupPaths,
        pod: &RunningPod,
        cgroup: &impl Fn(&Path) -> Option<DetailedCgroup>,
    ) -> PodDetails {
        let Some((folder, _)) = self.pod_usage(found, &pod.uid) else { return PodDetails::default() };
        let sandbox = pod.sandbox.as_ref().map(|id| ContainerId::from(id.as_str()));
        let ids: Vec<ContainerId> = pod.containers.iter().cloned().chain(sandbox.clone()).collect();
        if ids.iter().any(|id| !found.containers.contains_key(id)) {
            self.find_containers(found, &folder, &ids);
        }
        let of = |id: &ContainerId| cgroup(found.containers.get(id)?);
        let own = cgroup(&folder);
        let of_sandbox = sandbox.as_ref().and_then(of);
        let containers = pod.containers.iter().filter_map(|id| Some((id.clone(), of(id)?))).collect();
        // Their processes were listed with all else.
        let network = ids.iter().rev().filter(|_| !pod.host_network).find_map(|id| {
            let listed = self.listed(found.containers.get(id)?);
            self.network_of(&folder, &listed)
        });
        PodDetails { cgroup: own, sandbox: of_sandbox, containers, network: network.unwrap_or_default() }
    }

    /// Returns `None` for a cgroup that isn't there any more.
    fn detailed(
        &self,
        cgroup: &Path,
        open_files: &OpenFiles,
        booted_at: Option<Timestamp>,
    ) -> Option<DetailedCgroup> {
        let files = CgroupFiles::new(&self.folders, cgroup);
        let details = match self.known_details(cgroup, &files) {
            Some(known) => known,
            None => self.read_details(cgroup, &files, open_files, booted_at)?,
        };
        Some(DetailedCgroup { path: format!("/{}", cgroup.display()), details })
    }

    fn read_details(
        &self,
        cgroup: &Path,
        files: &CgroupFiles<'_>,
        open_files: &OpenFiles,
        booted_at: Option<Timestamp>,
    ) -> Option<CgroupDetails> {
        let at = self.clock.now();
        let known = self.known_limits(cgroup, at);
        let limits = known.map(|known| known.limits);
        let quiet = self.quiet_details(cgroup, files);
        let read = |controller: &str, file: &str| {
            let is_known = quiet.is_some() && CgroupDetails::is_of_processes(controller, file);
            if is_known { None } else { files.read(controller, file) }
        };
        let details = if self.is_v2 {
            CgroupDetails::of_v2(at, self.has_pressure, limits, |file| read("", file))
        } else {
            CgroupDetails::of_v1(at, limits, read)
        };
        let details = match &quiet {
            Some((before, _)) => details.with_processes_of(&before.details),
            None => details,
        };
        let is_root = cgroup.as_os_str().is_empty();
        let has_figures = details.usage.cpu_nanoseconds.is_some() || details.usage.memory.is_some();
        if !is_root && !has_figures {
            return None;
        }
        let controller = if self.is_v2 { "" } else { "memory" };
        let listed = files.read(controller, PROCESSES).unwrap_or_default();
        let mut known = known.unwrap_or_else(|| {
            let created_at = self.created_at(cgroup).max(booted_at);
            KnownLimits { at, limits: details.limits(), created_at, open_files: None }
        });
        let all = ListedProcesses::of(&listed);
        let same = quiet.as_ref().map(|(before, first)| (before.details.processes, *first));
        let same = same.filter(|(before, first)| before.count == all.count && *first == all.first);
        let open_files = match same {
            Some((before, _)) => FilesOf::Known(before),
            None => FilesOf::Counted(open_files),
        };
        let processes = self.processes(&listed, open_files, known.open_files);
        known.open_files = all.first.map(|first| (first, processes.open_files_max));
        let details = CgroupDetails { processes, created_at: known.created_at, ..details };
        let all_at = quiet.map(|(before, _)| before.all_at);
        self.keep_details(cgroup, &details, all_at, known, all);
        Some(details)
    }

    /// Files of a cgroup are as old as the cgroup, unless it was changed; the oldest one counts.
    pub(super) fn created_at(&self, cgroup: &Path) -> Option<Timestamp> {
        let unchanged = if self.is_v2 { "cgroup.events" } else { "cgroup.clone_children" };
        let modified = |file: &str| fs::metadata(self.file(cgroup, "memory", file)).ok()?.modified().ok();
        let oldest: SystemTime = ["", unchanged].into_iter().filter_map(modified).min()?;
        Timestamp::try_from(oldest).ok()
    }

    /// `known` is the process that was the first one, and how many files it may have open.
    fn processes(
        &self,
        listed: &str,
        open_files: FilesOf<'_>,
        known: Option<(u32, Option<i64>)>,
    ) -> Processes {
        let mut processes = match open_files {
            FilesOf::Known(before) => Processes { count: 0, open_files_max: None, ..before },
            FilesOf::Counted(_) => Processes::default(),
        };
        for pid in listed.lines().filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit())) {
            let folder = self.kernel.proc.join(pid);
            if processes.count == 0 {
                processes.open_files_max = match known {
                    Some((first, open_files_max)) if pid.parse::<u32>() == Ok(first) => open_files_max,
                    _ => read(&folder.join("limits")).and_then(|limits| open_files_max(&limits)),
                };
            }
            processes.count += 1;
            if let FilesOf::Counted(open_files) = open_files {
                open_files.count(pid, &folder.join("fd"), &mut processes);
            }
        }
        processes
    }

    /// Returns `None` where the kernel describes no processor.
    pub(super) fn topology(&self) -> Option<Topology> {
        let place = |folder: PathBuf| {
            let number = |file: &str| read(&folder.join("topology").join(file))?.trim().parse::<i64>().ok();
            let (core, socket) = (number("core_id")?, number("physical_package_id")?);
            let of_mainframe = |file| number(file).unwrap_or(NO_PLACE);
            Some([core, socket, of_mainframe("book_id"), of_mainframe("drawer_id")])
        };
        let is_processor =
            |name: &str| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
        let entries = fs::read_dir(&self.kernel.processors).into_iter().flatten().flatten();
        let processors = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_processor));
        let places: Vec<_> =
            processors.take(PROCESSORS_MAX).filter_map(|entry| place(entry.path())).collect();
        (!places.is_empty()).then(|| Topology::of(&places))
    }
}

/// The soft limit of the line `Max open files`; -1 for none.
fn open_files_max(limits: &str) -> Option<i64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(-1),
        number => number.parse().ok(),
    }
}
