//! What a container may take, as the CRI words it.

use serde::{Deserialize, Serialize};

/// A container without a limit may have this much memory.
pub(crate) const MEMORY_DEFAULT_BYTES: u64 = 256 << 20;

/// A container's resources in the CRI's terms, where 0 is nothing said. Memory is kept to; the processor isn't, and is
/// only reported back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Resources {
    /// The limit of memory; below 0 for none.
    pub(crate) memory_limit_bytes: i64,
    pub(crate) cpu_shares: i64,
    /// Microseconds of processor time per period; below 0 for no limit.
    pub(crate) cpu_quota: i64,
    /// Microseconds.
    pub(crate) cpu_period: i64,
    /// What the kernel would use to choose which process to kill first.
    pub(crate) oom_score_adj: i64,
}

impl Resources {
    /// Bytes of memory that all instances of the container may have together.
    pub(crate) fn memory_limit(&self) -> u64 {
        u64::try_from(self.memory_limit_bytes).ok().filter(|bytes| *bytes > 0).unwrap_or(MEMORY_DEFAULT_BYTES)
    }

    /// After an update, in which 0 leaves things as they are.
    pub(crate) fn updated(&self, update: &Self) -> Self {
        let newer = |old: i64, new: i64| if new == 0 { old } else { new };
        Self {
            memory_limit_bytes: newer(self.memory_limit_bytes, update.memory_limit_bytes),
            cpu_shares: newer(self.cpu_shares, update.cpu_shares),
            cpu_quota: newer(self.cpu_quota, update.cpu_quota),
            cpu_period: newer(self.cpu_period, update.cpu_period),
            oom_score_adj: newer(self.oom_score_adj, update.oom_score_adj),
        }
    }
}

#[cfg(test)]
mod tests;
