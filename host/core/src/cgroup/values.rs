//! What a pod's cgroup has now, read from its files (`GetCgroupConfig` in `cm/cgroup_v1_manager_linux.go` and
//! `cm/cgroup_v2_manager_linux.go`).

use thiserror::Error;

/// The limits that a pod's own cgroup has; zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PodCgroup {
    /// `cpu.shares` of cgroup v1; on version 2 what `cpu.weight` stands for, rounded.
    pub cpu_shares: i64,
    /// `cpu.weight` of cgroup v2; none on version 1.
    pub cpu_weight: Option<i64>,
    /// Microseconds of CPU in each period.
    pub cpu_quota_us: i64,
    /// Length of a period in microseconds.
    pub cpu_period_us: i64,
    pub memory_limit_bytes: i64,
    /// Bytes that are used now; none if it isn't known.
    pub memory_usage_bytes: Option<i64>,
}

/// A file that says something unexpected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a value of this file")]
pub struct ValueError(pub String);

/// Limits from here on are the kernel's way to say "none" on version 1: the largest multiple of a page.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// A file with one number. `max`, -1 and what is beyond all memory are 0: no limit.
///
/// # Errors
/// When it is something else.
pub fn number(text: &str) -> Result<i64, ValueError> {
    let text = text.trim();
    if text == "max" || text == "-1" {
        return Ok(0);
    }
    let value: u64 = text.parse().map_err(|_| ValueError(text.to_owned()))?;
    if value >= UNLIMITED_BYTES {
        Ok(0)
    } else {
        i64::try_from(value).map_err(|_| ValueError(text.to_owned()))
    }
}

/// Quota and period in `cpu.max` of version 2; a quota of 0 is none.
///
/// # Errors
/// When it isn't two values.
pub fn cpu_max(text: &str) -> Result<(i64, i64), ValueError> {
    let mut parts = text.split_whitespace();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(quota), Some(period), None) => Ok((number(quota)?, number(period)?)),
        _ => Err(ValueError(text.trim().to_owned())),
    }
}
