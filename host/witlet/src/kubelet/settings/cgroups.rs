//! Cgroups of the node and of pods (upstream: `apis/config/validation/validation.go`).

use std::time::Duration;

use witlet_agent::{CgroupMode, CgroupSettings};
use witlet_core::cgroup::{CpuQuotaPolicy, MemoryQos, MemoryReservation, percentage};
use witlet_core::container::spec::SwapBehavior;
use witlet_core::node::allocatable::{EnforcementFacts, enforcements};
use witlet_core::node::tunables::TunablePolicy;

use super::{Machine, SettingsError};
use crate::kubelet::effective_config::EffectiveConfig;
use crate::kubelet::flags::Flags;
use crate::kubelet::gates;
use witlet_core::pod::resources::MEMORY;

/// What most machines have; this one's own is added at the start.
const PAGE_BYTES: i64 = 4096;
/// Upstream's default and bounds.
const PERIOD: Duration = Duration::from_millis(100);
const PERIOD_MIN: Duration = Duration::from_millis(1);
const PERIOD_MAX: Duration = Duration::from_secs(1);

/// Returns what the configuration says about them.
pub(super) fn cgroups(
    flags: &Flags,
    effective: &EffectiveConfig,
    machine: Machine,
) -> Result<CgroupSettings, SettingsError> {
    let per_qos = effective.cgroups_per_qos.unwrap_or(true);
    let (system_cgroup, kube_cgroup) = (&effective.system_reserved_cgroup, &effective.kube_reserved_cgroup);
    let mut problems = Vec::new();
    let default = ["pods".to_owned()];
    let names = effective.enforce_node_allocatable.as_deref().unwrap_or(&default);
    let facts = EnforcementFacts { cgroups_per_qos: per_qos, system_cgroup, kube_cgroup };
    let enforce = enforcements(names, facts).unwrap_or_else(|found| {
        problems.extend(found);
        Default::default()
    });
    let period = effective.cpu_cfs_quota_period.unwrap_or(PERIOD);
    problems.extend(wrong_period(effective, period));
    if effective.reserved_system_cpus.is_some() && !(system_cgroup.is_empty() && kube_cgroup.is_empty()) {
        problems.push(
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or \
             kubeReservedCgroup (--kube-reserved-cgroup)"
                .to_owned(),
        );
    }
    if machine.cgroup_v1 && effective.single_process_oom_kill == Some(false) {
        problems
            .push("singleProcessOOMKill must not be explicitly set to false when using cgroup v1".to_owned());
    }
    if effective.system_cgroups.is_some() && effective.cgroup_root.is_none() {
        problems.push(
            "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
                .to_owned(),
        );
    }
    let swap = swap(effective, machine, &mut problems)?;
    let memory_qos = memory_qos(effective, &mut problems);
    let qos_reserved_percent = qos_reserved(effective)?;
    if !problems.is_empty() {
        return Err(SettingsError::Invalid { problems });
    }
    if effective.system_cgroups.as_deref() == Some("/") {
        return Err(SettingsError::Together { message: "system container cannot be root (\"/\")" });
    }
    Ok(CgroupSettings {
        mode: if per_qos { CgroupMode::Kept } else { CgroupMode::Off },
        driver: Some(super::driver(effective)?),
        root: effective.cgroup_root.clone().unwrap_or_else(|| "/".to_owned()),
        cpu_quota: CpuQuotaPolicy {
            is_enforced: effective.cpu_cfs_quota.unwrap_or(true),
            period_us: i64::try_from(period.as_micros()).unwrap_or(i64::MAX),
        },
        pod_pids_max: effective.pod_pids_limit.filter(|limit| *limit > 0),
        single_process_oom_kill: effective.single_process_oom_kill.unwrap_or(machine.cgroup_v1),
        swap,
        memory_qos,
        qos_reserved_percent,
        tunables: match effective.protect_kernel_defaults {
            true => TunablePolicy::Check,
            false => TunablePolicy::Write,
        },
        own_cgroup: effective.kubelet_cgroups.clone(),
        system_processes: effective.system_cgroups.clone(),
        oom_score: Some(super::oom_score(effective)?),
        reservations: super::node::reserved(flags, effective)?,
        enforce,
        system_cgroup: system_cgroup.clone(),
        kube_cgroup: kube_cgroup.clone(),
        ..CgroupSettings::default()
    })
}

/// Returns what is wrong with the length of a period; in braces, as upstream prints it.
fn wrong_period(effective: &EffectiveConfig, period: Duration) -> Option<String> {
    let name = "cpuCFSQuotaPeriod (--cpu-cfs-quota-period)";
    match gates::is_enabled(&effective.feature_gates, "CustomCPUCFSQuotaPeriod") {
        false => (period != PERIOD)
            .then(|| format!("{name} {{{period:?}}} requires feature gate CustomCPUCFSQuotaPeriod")),
        true => (!(PERIOD_MIN..=PERIOD_MAX).contains(&period))
            .then(|| format!("{name} {{{period:?}}} must be between 1ms and 1sec, inclusive")),
    }
}

fn swap(
    effective: &EffectiveConfig,
    machine: Machine,
    problems: &mut Vec<String>,
) -> Result<SwapBehavior, SettingsError> {
    match effective.memory_swap.swap_behavior.as_deref() {
        None | Some("NoSwap") => Ok(SwapBehavior::NoSwap),
        Some("LimitedSwap") if machine.cgroup_v1 => Err(SettingsError::LimitedSwap),
        Some("LimitedSwap") => Ok(SwapBehavior::Limited),
        Some(other) => {
            problems.push(format!(
                "memorySwap.swapBehavior {other:?} must be one of: \"\", \"LimitedSwap\" or \"NoSwap\""
            ));
            Ok(SwapBehavior::NoSwap)
        }
    }
}

/// Returns `None` where the gate is off.
fn memory_qos(effective: &EffectiveConfig, problems: &mut Vec<String>) -> Option<MemoryQos> {
    const FACTOR: f64 = 0.9;
    let is_on = gates::is_enabled(&effective.feature_gates, "MemoryQoS");
    let throttling_factor = effective.memory_throttling_factor.unwrap_or(FACTOR);
    if !(throttling_factor > 0.0 && throttling_factor <= 1.0) {
        problems.push(format!(
            "memoryThrottlingFactor {throttling_factor} must be greater than 0 and less than or equal to 1.0"
        ));
    }
    let reservation = match effective.memory_reservation_policy.as_deref() {
        None | Some("None") => MemoryReservation::None,
        Some("TieredReservation") if is_on => MemoryReservation::Tiered,
        Some("TieredReservation") => {
            problems.push(
                "memoryReservationPolicy \"TieredReservation\" requires MemoryQoS feature gate to be enabled"
                    .to_owned(),
            );
            MemoryReservation::None
        }
        Some(other) => {
            problems.push(format!(
                "option {other:?} specified for memoryReservationPolicy. Valid options are \"None\" or \"TieredReservation\""
            ));
            MemoryReservation::None
        }
    };
    is_on.then_some(MemoryQos { reservation, throttling_factor, page_bytes: PAGE_BYTES })
}

/// Returns `None` where the gate is off.
fn qos_reserved(effective: &EffectiveConfig) -> Result<Option<i64>, SettingsError> {
    let mut percent = None;
    for (resource, text) in &effective.qos_reserved {
        let read = match resource.as_str() {
            MEMORY => percentage(text)
                .map_err(|problem| format!("failed to parse percentage {text:?} for \"memory\": {problem}")),
            other => Err(format!("cannot reserve {other:?} resource")),
        };
        let failed =
            |problem| SettingsError::Value { name: "--qos-reserved", value: text.clone(), why: problem };
        percent = Some(read.map_err(failed)?);
    }
    Ok(percent.filter(|_| gates::is_enabled(&effective.feature_gates, "QOSReserved")))
}
