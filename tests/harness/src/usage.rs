//! What a process takes, as the kernel counts it.

use std::fmt;
use std::fs;
use std::io;

/// What a process takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Open file descriptors.
    pub files: u64,
    pub threads: u64,
    /// Resident memory, in KiB.
    pub memory_kib: u64,
}

/// User and system time of a process so far, in seconds.
pub fn cpu_seconds(process_id: u32) -> io::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process_id}/stat"))?;
    // Fields 14 and 15; the second field may hold spaces, but ends in the last parenthesis.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    Ok((ticks(11) + ticks(12)) / rustix::param::clock_ticks_per_second() as f64)
}

impl Usage {
    /// Of a process that runs.
    pub fn of(process_id: u32) -> io::Result<Self> {
        let status = fs::read_to_string(format!("/proc/{process_id}/status"))?;
        let number = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let missing = || io::Error::other("the kernel's account of the process has a field less");
        Ok(Self {
            files: fs::read_dir(format!("/proc/{process_id}/fd"))?.count().try_into().unwrap_or(u64::MAX),
            threads: number("Threads:").ok_or_else(missing)?,
            // Pages of files come and go as the kernel likes: where it takes idle ones back, the same code counts as growth later.
            memory_kib: number("RssAnon:").ok_or_else(missing)? + number("RssShmem:").ok_or_else(missing)?,
        })
    }

    /// What is more than it was.
    pub fn growth_since(self, before: Self) -> Self {
        Self {
            files: self.files.saturating_sub(before.files),
            threads: self.threads.saturating_sub(before.threads),
            memory_kib: self.memory_kib.saturating_sub(before.memory_kib),
        }
    }

    /// The larger of each.
    pub fn max(self, other: Self) -> Self {
        Self {
            files: self.files.max(other.files),
            threads: self.threads.max(other.threads),
            memory_kib: self.memory_kib.max(other.memory_kib),
        }
    }

    /// Whether each is at most the other's.
    pub fn is_within(self, bound: Self) -> bool {
        self.max(bound) == bound
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, threads, memory_kib } = self;
        write!(f, "{files} files, {threads} threads, {} MiB", memory_kib / 1024)
    }
}
