//! Conversions between Kubernetes' units and the kernel's (`cm/helpers_linux.go`, `cm/cgroup_manager_linux.go`).

use std::collections::BTreeMap;

use crate::pod::quantity;
use crate::pod::resources::{Amounts, HUGE_PAGES};

/// Length of a CPU period in microseconds, unless the operator chose another.
pub const CPU_PERIOD_US: i64 = 100_000;
/// The kernel takes no quota below, in microseconds.
const CPU_QUOTA_US_MIN: i64 = 1_000;
/// The kernel's bounds of `cpu.shares`, and what one CPU has.
const CPU_SHARES_MIN: i64 = 2;
const CPU_SHARES_MAX: i64 = 262_144;
const CPU_SHARES_PER_CPU: i64 = 1_024;
const MILLI_PER_CPU: i64 = 1_000;
/// The kernel's upper bound of `cpu.weight`.
const CPU_WEIGHT_MAX: i64 = 10_000;

/// `cpu.shares` for a request in milli-CPU: 1024 for each CPU, between 2 and 262144.
pub fn cpu_shares(milli_cpu: i64) -> i64 {
    if milli_cpu <= 0 {
        return CPU_SHARES_MIN;
    }
    let shares = i128::from(milli_cpu) * i128::from(CPU_SHARES_PER_CPU) / i128::from(MILLI_PER_CPU);
    i64::try_from(shares).unwrap_or(CPU_SHARES_MAX).clamp(CPU_SHARES_MIN, CPU_SHARES_MAX)
}

/// Microseconds of CPU in each period of `period_us` for a limit in milli-CPU, at least 1000; 0 if there is no limit.
pub fn cpu_quota(milli_cpu: i64, period_us: i64) -> i64 {
    if milli_cpu <= 0 {
        return 0;
    }
    let quota = i128::from(milli_cpu) * i128::from(period_us) / i128::from(MILLI_PER_CPU);
    i64::try_from(quota).unwrap_or(i64::MAX).max(CPU_QUOTA_US_MIN)
}

/// `cpu.weight` of cgroup v2 for `cpu.shares` of v1, by the linear rule of KEP-2254 that the kubelet keeps for its own cgroups.
pub fn cpu_weight(shares: i64) -> i64 {
    let shares = shares.max(CPU_SHARES_MIN);
    if shares >= CPU_SHARES_MAX {
        return CPU_WEIGHT_MAX;
    }
    1 + (shares - 2) * 9_999 / 262_142
}

/// `cpu.shares` for a `cpu.weight` that was read back. The way there and back rounds twice.
pub fn shares_of_weight(weight: i64) -> i64 {
    (weight.clamp(1, CPU_WEIGHT_MAX) - 1) * 262_142 / 9_999 + 2
}

/// The request in milli-CPU that shares stand for, rounded up; 0 for shares that the kernel doesn't have.
pub fn shares_to_milli(shares: i64) -> i64 {
    if shares < CPU_SHARES_MIN {
        return 0;
    }
    let milli = (i128::from(shares) * i128::from(MILLI_PER_CPU)).div_euclid(i128::from(CPU_SHARES_PER_CPU));
    let rest = (i128::from(shares) * i128::from(MILLI_PER_CPU)) % i128::from(CPU_SHARES_PER_CPU);
    i64::try_from(milli + i128::from(rest > 0)).unwrap_or(i64::MAX)
}

/// The limit in milli-CPU that a quota stands for; 0 for none.
pub fn quota_to_milli(quota_us: i64, period_us: i64) -> i64 {
    if quota_us <= 0 || period_us <= 0 {
        return 0;
    }
    let milli = i128::from(quota_us) * i128::from(MILLI_PER_CPU) / i128::from(period_us);
    i64::try_from(milli).unwrap_or(i64::MAX)
}

/// Bytes of huge pages by the size of a page in bytes. Two spellings of one size are added up.
pub fn hugepage_limits(amounts: &Amounts) -> BTreeMap<u64, u64> {
    let mut limits = BTreeMap::new();
    for (resource, amount) in amounts {
        let Some(size) = resource.strip_prefix(HUGE_PAGES) else { continue };
        let size = quantity::parse(size).ok().and_then(|size| u64::try_from(size.value()).ok());
        let (Some(size), Ok(amount)) = (size, u64::try_from(*amount)) else { continue };
        let limit: &mut u64 = limits.entry(size).or_default();
        *limit = limit.saturating_add(amount);
    }
    limits
}

/// The kernel's name of a page size: `2MB`. None for 0.
pub fn hugepage_unit_size(bytes: u64) -> Option<String> {
    const UNITS: [&str; 6] = ["B", "KB", "MB", "GB", "TB", "PB"];
    if bytes == 0 {
        return None;
    }
    let (mut size, mut unit) = (bytes, 0);
    while size % 1024 == 0 && unit + 1 < UNITS.len() {
        size /= 1024;
        unit += 1;
    }
    Some(format!("{size}{}", UNITS[unit]))
}
