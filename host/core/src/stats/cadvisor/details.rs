//! What the kernel counts of a cgroup, in full, of the files of either version.

use jiff::Timestamp;

use super::disks::{DiskUsage, disks_v1, disks_v2};
use crate::stats::cgroup_usage::{CgroupUsage, field, meminfo_bytes, number};

/// A tick of `cpuacct.stat`, in nanoseconds: Linux shows hundredths of a second to programs.
const TICK: u64 = 10_000_000;

/// What a cgroup uses and what it may use. What the kernel doesn't say is 0, as upstream has it.
#[derive(Clone, Debug, PartialEq)]
pub struct CgroupDetails {
    /// What the summary shows of it, too.
    pub usage: CgroupUsage,
    pub cpu: CpuDetails,
    pub memory: MemoryDetails,
    /// Traffic of block devices.
    pub disks: Vec<DiskUsage>,
    /// Threads in it and below it.
    pub threads: u64,
    /// How many there may be; 0 for no limit.
    pub threads_max: u64,
    /// Processes that the kernel killed for want of memory.
    pub oom_kills: u64,
    pub spec: CgroupSpec,
    /// Processes in it, not below it.
    pub processes: Processes,
    /// When it was made, as far as its files show it.
    pub created_at: Option<Timestamp>,
}

/// Processor time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuDetails {
    pub user: u64,
    pub system: u64,
    /// Periods of the quota that ended.
    pub periods: u64,
    /// Those in which the quota was used up.
    pub throttled_periods: u64,
    /// How long threads couldn't run then.
    pub throttled: u64,
    /// Periods in which more than the quota was used.
    pub burst_periods: u64,
    pub burst: u64,
}

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryDetails {
    pub cache: u64,
    /// The kernel's own, on behalf of the cgroup; version 1 only.
    pub kernel: u64,
    /// Pages of files that are mapped.
    pub mapped_file: u64,
    /// The most that was ever used.
    pub max_usage: u64,
    /// How often the limit was met; version 1 only.
    pub failures: u64,
    /// Pages of files that were used of late.
    pub active_file: u64,
    /// Pages of files that weren't.
    pub inactive_file: u64,
}

/// What a cgroup may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupSpec {
    /// Whether processor time is shared out to it; in version 2 to each cgroup, also where nothing is set.
    pub has_cpu: bool,
    /// `cpu.shares`, or what the weight of version 2 comes to.
    pub cpu_shares: u64,
    /// Length of the quota's period, in microseconds.
    pub cpu_period: u64,
    /// Quota in a period, in microseconds; 0 for none.
    pub cpu_quota: u64,
    /// Whether it has limits of memory.
    pub has_memory: bool,
    /// Bytes; none for no limit.
    pub memory: Option<u64>,
    /// Bytes, in version 1 with memory; none for no limit.
    pub swap: Option<u64>,
    /// Bytes that aren't reclaimed; none for no bound.
    pub reservation: Option<u64>,
}

impl CgroupSpec {
    /// Of the root, whose limits are the machine's memory and swap; `meminfo` is the text of `/proc/meminfo`.
    pub fn of_root(self, meminfo: &str) -> Self {
        let memory = meminfo_bytes(meminfo, "MemTotal:");
        Self { has_memory: memory.is_some(), memory, swap: meminfo_bytes(meminfo, "SwapTotal:"), ..self }
    }
}

/// What is set for a cgroup: it changes by the hand of who made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupLimits {
    /// What it may use.
    pub spec: CgroupSpec,
    /// How many threads there may be; 0 for no limit.
    pub threads_max: u64,
}

/// Processes of a cgroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processes {
    pub count: u64,
    /// Files that they have open.
    pub file_descriptors: u64,
    /// Those that are sockets.
    pub sockets: u64,
    /// How many files the first of them may have open; -1 for no limit, none if that isn't known.
    pub open_files_max: Option<i64>,
}

impl CgroupDetails {
    /// Returns what is set for it.
    pub fn limits(&self) -> CgroupLimits {
        CgroupLimits { spec: self.spec, threads_max: self.threads_max }
    }

    /// Whether a file changes only when a process of the cgroup does something, as far as its figures are shown; `controller` is empty in
    /// version 2. Files that show whether one did aren't among them.
    pub fn is_of_processes(controller: &str, file: &str) -> bool {
        match file {
            "cpu.stat" => !controller.is_empty(),
            "cpuacct.stat" | "memory.oom_control" | "memory.failcnt" => true,
            "memory.kmem.usage_in_bytes" | "memory.max_usage_in_bytes" => true,
            "memory.peak" | "memory.events" => true,
            _ => file.ends_with(".pressure"),
        }
    }

    /// The same with what [such files](Self::is_of_processes) showed `before`, when they aren't read.
    pub fn with_processes_of(self, before: &Self) -> Self {
        let MemoryDetails { kernel, max_usage, failures, .. } = before.memory;
        Self {
            usage: CgroupUsage { pressure: before.usage.pressure, ..self.usage },
            cpu: before.cpu,
            memory: MemoryDetails { kernel, max_usage, failures, ..self.memory },
            oom_kills: before.oom_kills,
            ..self
        }
    }

    /// Reads a cgroup of version 2; `read` gives the text of a file in its folder. Limits that are known aren't read.
    pub fn of_v2(
        at: Timestamp,
        with_pressure: bool,
        limits: Option<CgroupLimits>,
        read: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let (cpu, memory) = (read("cpu.stat"), read("memory.stat"));
        let CgroupLimits { spec, threads_max } = limits.unwrap_or_else(|| CgroupLimits {
            spec: spec_v2(&read),
            threads_max: number(read("pids.max")).unwrap_or(0),
        });
        let usage = CgroupUsage::of_v2(at, with_pressure, |file| match file {
            "cpu.stat" => cpu.clone(),
            "memory.stat" => memory.clone(),
            "memory.max" => spec.memory.map(|limit| limit.to_string()),
            "memory.swap.max" => spec.swap.map(|limit| limit.to_string()),
            other => read(other),
        });
        let (cpu, memory) = (cpu.unwrap_or_default(), memory.unwrap_or_default());
        let micros = |name: &str| field(&cpu, name).unwrap_or(0).saturating_mul(1000);
        let bytes = |name: &str| field(&memory, name).unwrap_or(0);
        let count = |file: &str| number(read(file)).unwrap_or(0);
        let oom_kills = read("memory.events").and_then(|events| field(&events, "oom_kill"));
        Self {
            usage,
            cpu: CpuDetails {
                user: micros("user_usec"),
                system: micros("system_usec"),
                periods: field(&cpu, "nr_periods").unwrap_or(0),
                throttled_periods: field(&cpu, "nr_throttled").unwrap_or(0),
                throttled: micros("throttled_usec"),
                burst_periods: field(&cpu, "nr_bursts").unwrap_or(0),
                burst: micros("burst_usec"),
            },
            memory: MemoryDetails {
                cache: bytes("file"),
                kernel: 0,
                mapped_file: bytes("file_mapped"),
                max_usage: count("memory.peak"),
                failures: 0,
                active_file: bytes("active_file"),
                inactive_file: bytes("inactive_file"),
            },
            disks: disks_v2(&read("io.stat").unwrap_or_default()),
            threads: count("pids.current"),
            threads_max,
            oom_kills: oom_kills.unwrap_or(0),
            spec,
            processes: Processes::default(),
            created_at: None,
        }
    }

    /// Of a cgroup of version 1; `read` gives the text of a file in the cgroup's folder of that controller. Limits that are known aren't
    /// read.
    pub fn of_v1(
        at: Timestamp,
        limits: Option<CgroupLimits>,
        read: impl Fn(&str, &str) -> Option<String>,
    ) -> Self {
        let stat = read("memory", "memory.stat");
        let CgroupLimits { spec, threads_max } = limits.unwrap_or_else(|| CgroupLimits {
            spec: spec_v1(&read),
            threads_max: number(read("pids", "pids.max")).unwrap_or(0),
        });
        let usage = CgroupUsage::of_v1(at, |controller, file| match file {
            "memory.stat" => stat.clone(),
            "memory.limit_in_bytes" => spec.memory.map(|limit| limit.to_string()),
            "memory.memsw.limit_in_bytes" => spec.swap.map(|limit| limit.to_string()),
            other => read(controller, other),
        });
        let stat = stat.unwrap_or_default();
        let cpu = read("cpu", "cpu.stat").unwrap_or_default();
        let ticks = read("cpuacct", "cpuacct.stat").unwrap_or_default();
        let ticks = |name: &str| field(&ticks, name).unwrap_or(0).saturating_mul(TICK);
        let bytes = |name: &str| field(&stat, name).unwrap_or(0);
        let cpu = |name: &str| field(&cpu, name).unwrap_or(0);
        let count = |controller: &str, file: &str| number(read(controller, file)).unwrap_or(0);
        let oom_kills = read("memory", "memory.oom_control").and_then(|control| field(&control, "oom_kill"));
        Self {
            usage,
            cpu: CpuDetails {
                user: ticks("user"),
                system: ticks("system"),
                periods: cpu("nr_periods"),
                throttled_periods: cpu("nr_throttled"),
                throttled: cpu("throttled_time"),
                burst_periods: cpu("nr_bursts"),
                burst: cpu("burst_time"),
            },
            memory: MemoryDetails {
                cache: bytes("total_cache"),
                kernel: count("memory", "memory.kmem.usage_in_bytes"),
                mapped_file: bytes("total_mapped_file"),
                max_usage: count("memory", "memory.max_usage_in_bytes"),
                failures: count("memory", "memory.failcnt"),
                active_file: bytes("total_active_file"),
                inactive_file: bytes("total_inactive_file"),
            },
            disks: disks_v1(|file| read("blkio", file)),
            threads: count("pids", "pids.current"),
            threads_max,
            oom_kills: oom_kills.unwrap_or(0),
            spec,
            processes: Processes::default(),
            created_at: None,
        }
    }
}

fn spec_v2(read: &impl Fn(&str) -> Option<String>) -> CgroupSpec {
    let weight = number(read("cpu.weight"));
    let max = read("cpu.max").unwrap_or_default();
    let mut max = max.split_whitespace();
    let (quota, period) = (max.next().and_then(parsed), max.next().and_then(parsed));
    let memory = read("memory.max");
    CgroupSpec {
        has_cpu: true,
        // What upstream makes of a weight (`convertCPUWeightToCPULimit`).
        cpu_shares: weight.map_or(0, |weight| 2 + weight.saturating_sub(1).saturating_mul(262_142) / 9999),
        cpu_period: period.unwrap_or(0),
        cpu_quota: quota.unwrap_or(0),
        has_memory: memory.is_some(),
        memory: number(memory),
        swap: number(read("memory.swap.max")),
        reservation: number(read("memory.min")),
    }
}

fn spec_v1(read: &impl Fn(&str, &str) -> Option<String>) -> CgroupSpec {
    let (shares, memory) =
        (number(read("cpu", "cpu.shares")), number(read("memory", "memory.limit_in_bytes")));
    CgroupSpec {
        has_cpu: shares.is_some(),
        cpu_shares: shares.unwrap_or(0),
        cpu_period: number(read("cpu", "cpu.cfs_period_us")).unwrap_or(0),
        // No quota is -1, which isn't a number of microseconds.
        cpu_quota: number(read("cpu", "cpu.cfs_quota_us")).unwrap_or(0),
        has_memory: memory.is_some(),
        memory,
        swap: number(read("memory", "memory.memsw.limit_in_bytes")),
        reservation: number(read("memory", "memory.soft_limit_in_bytes")),
    }
}

fn parsed(word: &str) -> Option<u64> {
    word.parse().ok()
}
