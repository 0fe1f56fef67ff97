//! What the processes of a cgroup use, of the kernel's files of either version (upstream: cAdvisor's `container/libcontainer`).

use jiff::Timestamp;

#[cfg(test)]
mod tests;

/// A limit above this is none (upstream: `maxMemorySize`).
pub(super) const LIMIT_MAX: u64 = 1 << 62;

/// What is used. What the kernel doesn't say is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgroupUsage {
    /// When it was read.
    pub at: Timestamp,
    /// Processor time since the cgroup was made, in nanoseconds.
    pub cpu_nanoseconds: Option<u64>,
    pub memory: Option<MemoryUsage>,
    pub swap: Option<SwapUsage>,
    /// How long processes waited.
    pub pressure: PressureUsage,
}

/// What changes whenever a process of a cgroup does something: two files in either version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Processor time since the cgroup was made, in nanoseconds.
    pub cpu_nanoseconds: Option<u64>,
    /// Memory, in bytes.
    pub memory: Option<u64>,
}

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUsage {
    pub usage: Option<u64>,
    /// All of it less the inactive pages of files.
    pub working_set: u64,
    /// Anonymous pages, which no file holds.
    pub rss: Option<u64>,
    /// Faults since the cgroup was made.
    pub page_faults: Option<u64>,
    /// Those that had to wait for the disk.
    pub major_page_faults: Option<u64>,
    /// How much it may use; none if nothing limits it.
    pub limit: Option<u64>,
}

/// Swap, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapUsage {
    pub usage: u64,
    /// How much it may use; none if nothing limits it.
    pub limit: Option<u64>,
}

/// Pressure stall information of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PressureUsage {
    /// `cpu.pressure`
    pub cpu: Option<Stalls>,
    /// `memory.pressure`
    pub memory: Option<Stalls>,
    /// `io.pressure`
    pub io: Option<Stalls>,
}

/// How long some process waited, and how long all did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stalls {
    pub full: Stall,
    /// At least one of them.
    pub some: Stall,
}

/// One line of the kernel's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// Nanoseconds since the cgroup was made.
    pub total_nanoseconds: u64,
    /// Percent of the last 10 s.
    pub avg10: f64,
    /// Percent of the last minute.
    pub avg60: f64,
    /// Percent of the last 5 min.
    pub avg300: f64,
}

impl PressureUsage {
    /// Whether no process waited for the last five minutes: averages that aren't zero change while nothing happens.
    pub fn is_zero_on_average(&self) -> bool {
        let is_zero = |stall: &Stall| stall.avg10 == 0.0 && stall.avg60 == 0.0 && stall.avg300 == 0.0;
        let all = [self.cpu, self.memory, self.io];
        all.iter().flatten().all(|stalls| is_zero(&stalls.full) && is_zero(&stalls.some))
    }
}

impl Activity {
    /// Reads a cgroup of version 2; `read` gives the text of a file in its folder.
    pub fn of_v2(read: impl Fn(&str) -> Option<String>) -> Self {
        Self { cpu_nanoseconds: cpu_v2(&read), memory: number(read("memory.current")) }
    }

    /// Reads a cgroup of version 1; `read` gives the text of a file in the cgroup's folder of that controller.
    pub fn of_v1(read: impl Fn(&str, &str) -> Option<String>) -> Self {
        Self {
            cpu_nanoseconds: number(read("cpuacct", "cpuacct.usage")),
            memory: number(read("memory", "memory.usage_in_bytes")),
        }
    }
}

impl CgroupUsage {
    /// Reads a cgroup of version 2; `read` gives the text of a file in its folder.
    pub fn of_v2(at: Timestamp, with_pressure: bool, read: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            at,
            cpu_nanoseconds: cpu_v2(&read),
            memory: MemoryUsage::of_v2(&read),
            swap: number(read("memory.swap.current"))
                .map(|usage| SwapUsage { usage, limit: memory_limit(read("memory.swap.max")) }),
            pressure: if with_pressure { pressure(&read) } else { PressureUsage::default() },
        }
    }

    /// Reads a cgroup of version 1; `read` gives the text of a file in the cgroup's folder of that controller.
    pub fn of_v1(at: Timestamp, read: impl Fn(&str, &str) -> Option<String>) -> Self {
        let stat = read("memory", "memory.stat").unwrap_or_default();
        Self {
            at,
            cpu_nanoseconds: number(read("cpuacct", "cpuacct.usage")),
            memory: memory_v1(&stat, |file| read("memory", file)),
            // Only a kernel that accounts for swap says it.
            swap: field(&stat, "total_swap").map(|usage| SwapUsage {
                usage,
                limit: memory_limit(read("memory", "memory.memsw.limit_in_bytes")),
            }),
            pressure: PressureUsage::default(),
        }
    }

    /// Returns what its activity was when it was read.
    pub fn activity(&self) -> Activity {
        let memory = self.memory.and_then(|memory| memory.usage);
        Activity { cpu_nanoseconds: self.cpu_nanoseconds, memory }
    }

    /// Of the root, which has no limits and, in version 2, no usage of its own; `meminfo` is the text of `/proc/meminfo`.
    pub fn of_root(self, meminfo: &str, stat_v2: Option<&str>) -> Self {
        let bytes = |name: &str| meminfo_bytes(meminfo, name);
        let memory = self.memory.or_else(|| MemoryUsage::of_root_v2(stat_v2?));
        let swap = bytes("SwapTotal:").zip(bytes("SwapFree:"));
        Self {
            memory: memory.map(|memory| MemoryUsage { limit: bytes("MemTotal:"), ..memory }),
            swap: swap
                .map(|(total, free)| SwapUsage { usage: total.saturating_sub(free), limit: Some(total) }),
            ..self
        }
    }
}

impl MemoryUsage {
    /// Reads a cgroup of version 1; `read` gives the text of a file in its folder of the controller `memory`.
    pub fn of_v1(read: impl Fn(&str) -> Option<String>) -> Option<Self> {
        memory_v1(&read("memory.stat").unwrap_or_default(), read)
    }

    /// Of a cgroup of version 2 that isn't the root; `read` gives the text of a file in its folder.
    pub fn of_v2(read: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let usage = number(read("memory.current"))?;
        let memory = memory_of_stat(usage, &read("memory.stat").unwrap_or_default());
        Some(Self { limit: memory_limit(read("memory.max")), ..memory })
    }

    /// Of the root of version 2, which has no usage and no limit of its own, by its `memory.stat`.
    pub fn of_root_v2(stat: &str) -> Option<Self> {
        let usage = field(stat, "anon")?.saturating_add(field(stat, "file")?);
        Some(memory_of_stat(usage, stat))
    }
}

/// A line of `/proc/meminfo` by its name with the colon, in bytes.
pub fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn cpu_v2(read: &impl Fn(&str) -> Option<String>) -> Option<u64> {
    field(&read("cpu.stat")?, "usage_usec")?.checked_mul(1000)
}

fn memory_v1(stat: &str, read: impl Fn(&str) -> Option<String>) -> Option<MemoryUsage> {
    let usage = number(read("memory.usage_in_bytes"))?;
    Some(MemoryUsage {
        usage: Some(usage),
        working_set: usage.saturating_sub(field(stat, "total_inactive_file").unwrap_or(0)),
        rss: field(stat, "total_rss"),
        page_faults: field(stat, "total_pgfault"),
        major_page_faults: field(stat, "total_pgmajfault"),
        limit: memory_limit(read("memory.limit_in_bytes")),
    })
}

/// Without the limit, which isn't there.
fn memory_of_stat(usage: u64, stat: &str) -> MemoryUsage {
    MemoryUsage {
        usage: Some(usage),
        working_set: usage.saturating_sub(field(stat, "inactive_file").unwrap_or(0)),
        rss: field(stat, "anon"),
        page_faults: field(stat, "pgfault"),
        major_page_faults: field(stat, "pgmajfault"),
        limit: None,
    }
}

fn pressure(read: &impl Fn(&str) -> Option<String>) -> PressureUsage {
    let stalls = |file: &str| read(file).map(|text| stalls(&text));
    PressureUsage {
        cpu: stalls("cpu.pressure"),
        memory: stalls("memory.pressure"),
        io: stalls("io.pressure"),
    }
}

/// Lines such as `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`, whose total is in microseconds.
fn stalls(text: &str) -> Stalls {
    let line = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind)).unwrap_or_default();
        let value = |name: &str| {
            let found = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            found.unwrap_or_default()
        };
        let percent = |name: &str| value(name).parse().unwrap_or(0.0);
        Stall {
            total_nanoseconds: value("total").parse::<u64>().unwrap_or(0).saturating_mul(1000),
            avg10: percent("avg10"),
            avg60: percent("avg60"),
            avg300: percent("avg300"),
        }
    };
    Stalls { full: line("full "), some: line("some ") }
}

pub(super) fn number(text: Option<String>) -> Option<u64> {
    text?.trim().parse().ok()
}

/// The limit in a cgroup's file, in bytes; none of `max`, and of what no machine has.
pub fn memory_limit(text: Option<String>) -> Option<u64> {
    number(text).filter(|limit| *limit <= LIMIT_MAX)
}

pub(super) fn field(stat: &str, name: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}
