//! Cgroups of the node and of pods (upstream: `apis/config/validation/validation.go`).

use std::time::Duration;

use witlet_agent::{CgroupMode, CgroupSettings};
use witlet_core::cgroup::CpuQuotaPolicy;
use witlet_core::node::allocatable::{EnforcementFacts, enforcements};

use super::{Machine, SettingsError};
use crate::kubelet::wanted::Wanted;

/// Upstream's default and bounds.
const PERIOD: Duration = Duration::from_millis(100);
const PERIOD_MIN: Duration = Duration::from_millis(1);
const PERIOD_MAX: Duration = Duration::from_secs(1);

/// What the configuration says about them.
pub(super) fn cgroups(wanted: &Wanted, machine: Machine) -> Result<CgroupSettings, SettingsError> {
    let per_qos = wanted.cgroups_per_qos.unwrap_or(true);
    let (system_cgroup, kube_cgroup) = (&wanted.system_reserved_cgroup, &wanted.kube_reserved_cgroup);
    let mut problems = Vec::new();
    let default = ["pods".to_owned()];
    let names = wanted.enforce_node_allocatable.as_deref().unwrap_or(&default);
    let facts = EnforcementFacts { cgroups_per_qos: per_qos, system_cgroup, kube_cgroup };
    let enforce = enforcements(names, facts).unwrap_or_else(|found| {
        problems.extend(found);
        Default::default()
    });
    let period = wanted.cpu_cfs_quota_period.unwrap_or(PERIOD);
    if !(PERIOD_MIN..=PERIOD_MAX).contains(&period) {
        problems.push(format!(
            "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {period:?} must be between 1ms and 1sec, inclusive"
        ));
    }
    if wanted.reserved_system_cpus.is_some() && !(system_cgroup.is_empty() && kube_cgroup.is_empty()) {
        problems.push(
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or \
             kubeReservedCgroup (--kube-reserved-cgroup)"
                .to_owned(),
        );
    }
    if machine.cgroup_v1 && wanted.single_process_oom_kill == Some(false) {
        problems
            .push("singleProcessOOMKill must not be explicitly set to false when using cgroup v1".to_owned());
    }
    if !problems.is_empty() {
        return Err(SettingsError::Invalid { problems });
    }
    Ok(CgroupSettings {
        mode: if per_qos { CgroupMode::Kept } else { CgroupMode::Off },
        driver: Some(super::driver(wanted)?),
        root: wanted.cgroup_root.clone().unwrap_or_else(|| "/".to_owned()),
        cpu_quota: CpuQuotaPolicy {
            is_enforced: wanted.cpu_cfs_quota.unwrap_or(true),
            period_us: i64::try_from(period.as_micros()).unwrap_or(i64::MAX),
        },
        pod_pids_max: wanted.pod_pids_limit.filter(|limit| *limit > 0),
        single_process_oom_kill: wanted.single_process_oom_kill.unwrap_or(machine.cgroup_v1),
        reservations: super::node::reserved(wanted)?,
        enforce,
        system_cgroup: system_cgroup.clone(),
        kube_cgroup: kube_cgroup.clone(),
        ..CgroupSettings::default()
    })
}
