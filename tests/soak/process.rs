//! What a process takes, as the kernel counts it.
#![allow(dead_code, reason = "each suite uses a part of this file")]

use std::fmt;
use std::fs;
use std::io;

/// What a process takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Open file descriptors.
    pub(crate) files: u64,
    /// Threads.
    pub(crate) threads: u64,
    /// Resident memory, in KiB.
    pub(crate) memory_kib: u64,
}

impl Usage {
    /// Of a process that runs.
    pub(crate) fn of(process_id: u32) -> io::Result<Self> {
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
    pub(crate) fn growth_since(self, before: Self) -> Self {
        Self {
            files: self.files.saturating_sub(before.files),
            threads: self.threads.saturating_sub(before.threads),
            memory_kib: self.memory_kib.saturating_sub(before.memory_kib),
        }
    }

    /// The larger of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            files: self.files.max(other.files),
            threads: self.threads.max(other.threads),
            memory_kib: self.memory_kib.max(other.memory_kib),
        }
    }

    /// Whether each is at most the other's.
    pub(crate) fn is_within(self, bound: Self) -> bool {
        self.max(bound) == bound
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, threads, memory_kib } = self;
        write!(f, "{files} files, {threads} threads, {} MiB", memory_kib / 1024)
    }
}

/// What a process' threads had of the processors, as far as they live.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    had_nanoseconds: u64,
    waited_nanoseconds: u64,
}

impl Turns {
    /// Since it runs.
    pub(crate) fn of(process_id: u32) -> Self {
        let mut turns = Self::default();
        for thread in fs::read_dir(format!("/proc/{process_id}/task")).into_iter().flatten().flatten() {
            let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let mut numbers = text.split_whitespace().map_while(|number| number.parse::<u64>().ok());
            turns.had_nanoseconds += numbers.next().unwrap_or_default();
            turns.waited_nanoseconds += numbers.next().unwrap_or_default();
        }
        turns
    }

    /// Since an earlier look.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            had_nanoseconds: self.had_nanoseconds.saturating_sub(before.had_nanoseconds),
            waited_nanoseconds: self.waited_nanoseconds.saturating_sub(before.waited_nanoseconds),
        }
    }

    /// How many times longer everything has taken than on a machine of its own: the time for which threads had a processor or
    /// waited for one, by the time for which they had it. 1 where the kernel doesn't tell.
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds of a test fit")]
    pub(crate) fn slowdown(self) -> f64 {
        let Self { had_nanoseconds: had, waited_nanoseconds: waited } = self;
        if had == 0 { 1.0 } else { (had + waited) as f64 / had as f64 }
    }
}

/// How many times longer everything has taken a process since it runs, see [`Turns::slowdown`].
pub(crate) fn slowdown(process_id: u32) -> f64 {
    Turns::of(process_id).slowdown()
}
