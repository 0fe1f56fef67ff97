//! CPU, memory and OOM score in the kernel's units (upstream: `cm/helpers_linux.go`, `qos/policy.go`).

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::ConfigError;
use crate::pod::resources::{self, CPU, MEMORY, QosClass};
use crate::pod::static_pod::is_critical;
use crate::runtime::LinuxResources;

/// Length of a CPU period in microseconds.
pub(crate) const CPU_PERIOD_US: i64 = 100_000;
/// The kernel takes no quota below, in microseconds.
const CPU_QUOTA_US_MIN: i64 = 1_000;
/// The kernel's bounds of `cpu.shares`, and what one CPU has.
const CPU_SHARES_MIN: i64 = 2;
const CPU_SHARES_MAX: i64 = 262_144;
const CPU_SHARES_PER_CPU: i64 = 1_024;
const MILLI_PER_CPU: i64 = 1_000;

/// A pod of class Guaranteed is killed last, after the node's daemons (−999) only.
const OOM_GUARANTEED: i64 = -997;
/// A pod of class BestEffort is killed first.
const OOM_BEST_EFFORT: i64 = 1_000;
/// Bounds between them for all others: a Guaranteed pod that uses all memory comes to 3 by the kernel's reckoning.
const OOM_BURSTABLE_MIN: i64 = OOM_BEST_EFFORT + OOM_GUARANTEED;
const OOM_BURSTABLE_MAX: i64 = OOM_BEST_EFFORT - 1;
/// Priority class of pods that the node itself can't do without.
const SYSTEM_NODE_CRITICAL: &str = "system-node-critical";

/// `cpu.shares` for a request in milli-CPU: 1024 for each CPU, between 2 and 262144.
pub fn cpu_shares(milli_cpu: i64) -> i64 {
    if milli_cpu <= 0 {
        return CPU_SHARES_MIN;
    }
    let shares = i128::from(milli_cpu) * i128::from(CPU_SHARES_PER_CPU) / i128::from(MILLI_PER_CPU);
    i64::try_from(shares).unwrap_or(CPU_SHARES_MAX).clamp(CPU_SHARES_MIN, CPU_SHARES_MAX)
}

/// Microseconds of CPU in each period of 100 ms for a limit in milli-CPU, at least 1000; 0 if there is no limit.
pub fn cpu_quota(milli_cpu: i64) -> i64 {
    if milli_cpu <= 0 {
        return 0;
    }
    let quota = i128::from(milli_cpu) * i128::from(CPU_PERIOD_US) / i128::from(MILLI_PER_CPU);
    i64::try_from(quota).unwrap_or(i64::MAX).max(CPU_QUOTA_US_MIN)
}

/// How soon the kernel kills a container when memory is short: −997 (late) to 1000 (first). `memory_request` and
/// `memory_capacity` in bytes.
pub fn oom_score_adj(pod: &Pod, memory_request: i64, memory_capacity: i64) -> i64 {
    let class = pod.spec.as_ref().and_then(|spec| spec.priority_class_name.as_deref());
    if class == Some(SYSTEM_NODE_CRITICAL) && is_critical(pod) {
        return OOM_GUARANTEED;
    }
    match resources::qos(pod) {
        QosClass::Guaranteed => OOM_GUARANTEED,
        QosClass::BestEffort => OOM_BEST_EFFORT,
        // A node that doesn't know its memory can't tell how much of it is asked for.
        QosClass::Burstable if memory_capacity <= 0 => OOM_BURSTABLE_MAX,
        QosClass::Burstable => {
            let share = i128::from(memory_request) * 1_000 / i128::from(memory_capacity);
            let score = i128::from(OOM_BEST_EFFORT) - share;
            let score = score.clamp(i128::from(OOM_BURSTABLE_MIN), i128::from(OOM_BURSTABLE_MAX));
            i64::try_from(score).unwrap_or(OOM_BURSTABLE_MAX)
        }
    }
}

pub(super) fn resources(
    pod: &Pod,
    container: &Container,
    memory_capacity: i64,
) -> Result<LinuxResources, ConfigError> {
    let asked = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let limited = container.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    let amount = |list: Option<&std::collections::BTreeMap<String, Quantity>>, kind: &str, name: &str| {
        let quantity = list.and_then(|list| list.get(name));
        let amount = quantity.map(|quantity| {
            resources::amount(name, quantity).map_err(|_| ConfigError::Quantity {
                container: container.name.clone(),
                resource: format!("{kind}.{name}"),
                quantity: quantity.0.clone(),
            })
        });
        amount.transpose()
    };
    let cpu_limit = amount(limited, "limits", CPU)?;
    // A container that states only a limit asks for as much.
    let cpu_request = amount(asked, "requests", CPU)?.or(cpu_limit);
    let memory_limit = amount(limited, "limits", MEMORY)?;
    let memory_request = amount(asked, "requests", MEMORY)?.or(memory_limit);
    Ok(LinuxResources {
        cpu_shares: cpu_shares(cpu_request.unwrap_or_default()),
        cpu_quota_us: cpu_quota(cpu_limit.unwrap_or_default()),
        cpu_period_us: CPU_PERIOD_US,
        memory_limit_bytes: memory_limit.unwrap_or_default(),
        oom_score_adj: oom_score_adj(pod, memory_request.unwrap_or_default(), memory_capacity),
        ..LinuxResources::default()
    })
}

#[cfg(test)]
mod tests;
