//! What a cgroup is to be set to: a pod's own, all pods', and those of the system (`ResourceConfigForPod` in
//! `cm/helpers_linux.go`, `getCgroupConfig` in `cm/node_container_manager_linux.go`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;

use super::convert::{CPU_PERIOD_US, cpu_quota, cpu_shares, hugepage_limits};
use crate::node::allocatable::PIDS;
use crate::pod::resources::{self, Amounts, CPU, MEMORY, QosClass};

/// What is written into a cgroup. What is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceConfig {
    /// Bytes of memory; -1 is no limit, 0 leaves it alone.
    pub memory_bytes: Option<i64>,
    /// `cpu.shares` of cgroup v1, 2 to 262144.
    pub cpu_shares: Option<i64>,
    /// Microseconds of CPU in each period; -1 is no limit, 0 leaves it alone.
    pub cpu_quota_us: Option<i64>,
    /// Length of a period in microseconds.
    pub cpu_period_us: Option<i64>,
    /// How many processes and threads there may be; below 0 is no limit.
    pub pids_max: Option<i64>,
    /// CPUs that its processes run on, in the kernel's list form (`0-3,8`).
    pub cpus: Option<String>,
    /// Bytes of huge pages by the size of a page in bytes. Sizes that aren't here get 0.
    pub hugepages: BTreeMap<u64, u64>,
    /// Files of cgroup v2 and their content.
    pub unified: BTreeMap<String, String>,
}

/// Whether and how CPU limits become quotas (`cpuCFSQuota`, `cpuCFSQuotaPeriod`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuQuotaPolicy {
    /// Whether limits of CPU hold.
    pub is_enforced: bool,
    /// Length of a period in microseconds, 1000 to 1000000.
    pub period_us: i64,
}

impl Default for CpuQuotaPolicy {
    fn default() -> Self {
        Self { is_enforced: true, period_us: CPU_PERIOD_US }
    }
}

/// Returns what a pod's own cgroup is set to when it is made. Limits of CPU and memory hold for the pod as a whole where all its
/// containers have one, or the pod itself does; huge pages are limited to what is asked for.
pub fn pod_resources(pod: &Pod, quota: CpuQuotaPolicy) -> ResourceConfig {
    let requests = resources::requests(pod);
    let limits = resources::limits(pod);
    let of = |amounts: &Amounts, name: &str| amounts.get(name).copied().unwrap_or_default();
    let shares = cpu_shares(of(&requests, CPU));
    let quota_us = match quota.is_enforced {
        true => cpu_quota(of(&limits, CPU), quota.period_us),
        false => -1,
    };
    let (has_cpu, has_memory) = match resources::qos(pod) {
        QosClass::Guaranteed => (true, true),
        QosClass::Burstable => (is_limited(pod, CPU), is_limited(pod, MEMORY)),
        QosClass::BestEffort => (false, false),
    };
    ResourceConfig {
        cpu_shares: Some(if resources::qos(pod) == QosClass::BestEffort { cpu_shares(0) } else { shares }),
        cpu_quota_us: has_cpu.then_some(quota_us),
        cpu_period_us: has_cpu.then_some(quota.period_us),
        memory_bytes: has_memory.then_some(of(&limits, MEMORY)),
        hugepages: hugepage_limits(&requests),
        ..ResourceConfig::default()
    }
}

/// Whether the pod as a whole is limited: by its own word, or because each container is, init containers included.
fn is_limited(pod: &Pod, resource: &str) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let limits = |requirements: Option<&k8s_openapi::api::core::v1::ResourceRequirements>| {
        let limit = requirements.and_then(|requirements| requirements.limits.as_ref()?.get(resource));
        limit.is_some_and(|limit| resources::amount(resource, limit).is_ok_and(|amount| amount != 0))
    };
    let mut containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    limits(spec.resources.as_ref()) || containers.all(|container| limits(container.resources.as_ref()))
}

/// Returns what the cgroup of all pods is set to, by the amounts that they may use together: `cpu` in thousandths, `memory`,
/// `pid` and huge pages. `cpus` are all CPUs of the node.
pub fn node_resources(amounts: &Amounts, cpus: &str) -> ResourceConfig {
    ResourceConfig {
        memory_bytes: amounts.get(MEMORY).copied(),
        pids_max: amounts.get(PIDS).copied(),
        hugepages: hugepage_limits(amounts),
        ..existing_resources(amounts, cpus)
    }
}

/// The part of [`node_resources`] that can be shared at any time: the weight of its CPU.
pub fn existing_resources(amounts: &Amounts, cpus: &str) -> ResourceConfig {
    ResourceConfig {
        cpu_shares: amounts.get(CPU).map(|milli| cpu_shares(*milli)),
        cpus: (!cpus.is_empty()).then(|| cpus.to_owned()),
        ..ResourceConfig::default()
    }
}
