//! CPU, memory, huge pages, swap and OOM score in the kernel's units (upstream: `cm/helpers_linux.go`, `qos/policy.go`,
//! `kuberuntime_container_linux.go`).

mod swap;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{ContainerInput, Host, SpecError};
use crate::cgroup::{
    MEMORY_LOW, MEMORY_MIN, MemoryReservation, PodCgroup, cpu_quota, cpu_shares, hugepage_unit_size,
    shares_to_milli,
};
use crate::pod::quantity;
use crate::pod::resources::{self, Amounts, CPU, HUGE_PAGES, MEMORY, QosClass, is_sidecar};
use crate::pod::static_pod::is_critical;
use crate::runtime::LinuxResources;

pub use swap::{SwapBehavior, swap_behavior};

/// A pod of class Guaranteed is killed last, after the node's daemons (−999) only.
const OOM_GUARANTEED: i64 = -997;
/// A pod of class BestEffort is killed first.
const OOM_BEST_EFFORT: i64 = 1_000;
/// Bounds between them for all others: a Guaranteed pod that uses all memory comes to 3 by the kernel's reckoning.
const OOM_BURSTABLE_MIN: i64 = OOM_BEST_EFFORT + OOM_GUARANTEED;
const OOM_BURSTABLE_MAX: i64 = OOM_BEST_EFFORT - 1;
/// Priority class of pods that the node itself can't do without.
const SYSTEM_NODE_CRITICAL: &str = "system-node-critical";

/// How soon the kernel kills a container when memory is short: −997 (late) to 1000 (first). `memory_capacity` in bytes.
///
/// What a pod asks for beyond its containers is shared among them; a sidecar goes no sooner than the app container that
/// asks for least.
pub fn oom_score_adj(pod: &Pod, container: &Container, memory_capacity: i64) -> i64 {
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
            let shared = unclaimed_memory(pod);
            let mut request = memory_request(container).saturating_add(shared);
            if is_sidecar_of(pod, container) {
                let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
                let least = containers.iter().map(memory_request).min().unwrap_or_default();
                request = request.max(least.saturating_add(shared));
            }
            let share = i128::from(request) * 1_000 / i128::from(memory_capacity);
            let score = i128::from(OOM_BEST_EFFORT) - share;
            let score = score.clamp(i128::from(OOM_BURSTABLE_MIN), i128::from(OOM_BURSTABLE_MAX));
            i64::try_from(score).unwrap_or(OOM_BURSTABLE_MAX)
        }
    }
}

fn is_sidecar_of(pod: &Pod, container: &Container) -> bool {
    let init = pod.spec.as_ref().and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
    is_sidecar(container) && init.iter().any(|init| init.name == container.name)
}

/// Bytes; 0 if it asks for none.
fn memory_request(container: &Container) -> i64 {
    let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let memory = requests.and_then(|requests| requests.get(MEMORY));
    memory.and_then(|memory| quantity::value(memory).ok()).unwrap_or_default()
}

/// Each container's part of the memory that the pod as a whole asks for and none of its containers does.
fn unclaimed_memory(pod: &Pod) -> i64 {
    let Some(spec) = &pod.spec else { return 0 };
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let of_pod = requests.and_then(|requests| requests.get(MEMORY));
    let of_pod = of_pod.and_then(|memory| quantity::value(memory).ok()).unwrap_or_default();
    if of_pod == 0 {
        return 0;
    }
    let claimed = resources::container_requests(spec).get(MEMORY).copied().unwrap_or_default();
    let containers = spec.containers.len() + spec.init_containers.as_ref().map_or(0, Vec::len);
    i64::try_from(containers).map_or(0, |containers| of_pod.saturating_sub(claimed) / containers.max(1))
}

/// The limits of one container.
pub(super) fn resources(input: ContainerInput<'_>) -> Result<LinuxResources, SpecError> {
    let ContainerInput { pod, container, host, .. } = input;
    let own = container.resources.as_ref();
    let amount = |list: Option<&BTreeMap<String, Quantity>>, kind: &str, name: &str| {
        let quantity = list.and_then(|list| list.get(name));
        let amount = quantity.map(|quantity| {
            resources::amount(name, quantity).map_err(|_| SpecError::Quantity {
                container: container.name.clone(),
                resource: format!("{kind}.{name}"),
                quantity: quantity.0.clone(),
            })
        });
        amount.transpose()
    };
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.limits.as_ref());
    // A container without a limit of its own may use what its pod may.
    let limit = |name: &str| -> Result<i64, SpecError> {
        let own = amount(own.and_then(|own| own.limits.as_ref()), "limits", name)?;
        match own.filter(|limit| *limit != 0) {
            Some(limit) => Ok(limit),
            None => Ok(amount(of_pod, "pod limits", name)?.unwrap_or_default()),
        }
    };
    let cpu_request = amount(own.and_then(|own| own.requests.as_ref()), "requests", CPU)?;
    let mut figures = figures(cpu_request, limit(CPU)?, limit(MEMORY)?, host);
    figures.oom_score_adj = oom_score_adj(pod, container, memory_capacity(host));
    figures.hugepage_limits = hugepage_limits(of_pod, own.and_then(|own| own.limits.as_ref()), host)
        .map_err(|(resource, quantity)| SpecError::Quantity {
            container: container.name.clone(),
            resource: format!("limits.{resource}"),
            quantity,
        })?;
    swap::limit_swap(&mut figures, pod, container, host);
    add_memory_qos(&mut figures, pod, container, host);
    Ok(figures)
}

/// The sum of the pod's containers without the sandbox itself. A resource that some containers don't limit has the sum of
/// the others, as upstream has it.
pub(super) fn of_sandbox(pod: &Pod, host: Host<'_>) -> LinuxResources {
    let (requests, limits) =
        (resources::requests_without_overhead(pod), resources::limits_without_overhead(pod));
    let of = |amounts: &Amounts, name: &str| amounts.get(name).copied();
    figures(
        of(&requests, CPU),
        of(&limits, CPU).unwrap_or_default(),
        of(&limits, MEMORY).unwrap_or_default(),
        host,
    )
}

/// Returns what the sandbox itself costs, asked for and limited; nothing if its class of runtime states nothing.
pub(super) fn overhead(pod: &Pod, host: Host<'_>) -> LinuxResources {
    let Some(overhead) = pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref()) else {
        return LinuxResources::default();
    };
    let of = |name: &str| overhead.get(name).and_then(|quantity| resources::amount(name, quantity).ok());
    figures(
        Some(of(CPU).unwrap_or_default()),
        of(CPU).unwrap_or_default(),
        of(MEMORY).unwrap_or_default(),
        host,
    )
}

/// Returns the resources that the runtime is sent before a pod's cgroup changes (`UpdatePodSandboxResources`): the sandbox's own
/// overhead, and the rest of these limits (upstream: `generateUpdatePodSandboxResourcesRequest`).
pub fn sandbox_resources(pod: &Pod, host: Host<'_>, cgroup: PodCgroup) -> (LinuxResources, LinuxResources) {
    let list = pod.spec.as_ref().and_then(|spec| spec.overhead.as_ref());
    let of = |name: &str| {
        let quantity = list.and_then(|list| list.get(name));
        quantity.and_then(|quantity| resources::amount(name, quantity).ok()).unwrap_or_default()
    };
    let (cpu, memory) = (of(CPU), of(MEMORY));
    let without = |limit: i64, part: i64| if limit == 0 { 0 } else { limit.saturating_sub(part).max(0) };
    let shares = match cpu {
        0 => cgroup.cpu_shares,
        cpu => cpu_shares(shares_to_milli(cgroup.cpu_shares).saturating_sub(cpu)),
    };
    let rest = LinuxResources {
        cpu_shares: shares,
        cpu_quota_us: without(cgroup.cpu_quota_us, cpu_quota(cpu, cgroup.cpu_period_us)),
        cpu_period_us: cgroup.cpu_period_us,
        memory_limit_bytes: without(cgroup.memory_limit_bytes, memory),
        ..LinuxResources::default()
    };
    (overhead(pod, host), rest)
}

/// CPU in milli-CPU, memory in bytes; a limit of 0 is none. A request that isn't stated is the limit.
fn figures(cpu_request: Option<i64>, cpu_limit: i64, memory_limit: i64, host: Host<'_>) -> LinuxResources {
    let quota = host.cpu_quota;
    let mut unified = BTreeMap::new();
    if host.has_cgroup_v2() && !host.single_process_oom_kill {
        // When memory runs out, all processes of the container end together.
        unified.insert("memory.oom.group".to_owned(), "1".to_owned());
    }
    LinuxResources {
        cpu_shares: cpu_shares(cpu_request.unwrap_or(cpu_limit)),
        cpu_quota_us: if quota.is_enforced { cpu_quota(cpu_limit, quota.period_us) } else { 0 },
        cpu_period_us: if quota.is_enforced { quota.period_us } else { 0 },
        memory_limit_bytes: memory_limit,
        unified,
        ..LinuxResources::default()
    }
}

/// Keeps memory for the container, and slows it down before it reaches its limit (gate `MemoryQoS`).
fn add_memory_qos(figures: &mut LinuxResources, pod: &Pod, container: &Container, host: Host<'_>) {
    let Some(qos) = host.memory_qos.filter(|_| host.has_cgroup_v2()) else { return };
    let limit = container.resources.as_ref().and_then(|own| own.limits.as_ref()?.get(MEMORY));
    let limit = limit.and_then(|limit| quantity::value(limit).ok()).unwrap_or_default();
    let request = memory_request(container);
    let (mut min, mut low) = (0, 0);
    if qos.reservation == MemoryReservation::Tiered && request != 0 {
        match resources::qos(pod) {
            QosClass::Guaranteed => min = request,
            QosClass::Burstable | QosClass::BestEffort => low = request,
        }
    }
    let files = &mut figures.unified;
    files.insert(MEMORY_MIN.to_owned(), min.to_string());
    files.insert(MEMORY_LOW.to_owned(), low.to_string());
    if let Some(high) = qos.throttled_from(request, limit, host.pods_memory) {
        files.insert("memory.high".to_owned(), high.to_string());
    }
}

/// Bytes of huge pages by the kernel's name of their size. Sizes that the node has and no one limits have 0; the
/// container's limit goes before the pod's. The error is the resource and the text that is no quantity.
fn hugepage_limits(
    of_pod: Option<&BTreeMap<String, Quantity>>,
    own: Option<&BTreeMap<String, Quantity>>,
    host: Host<'_>,
) -> Result<BTreeMap<String, u64>, (String, String)> {
    let capacity = host.node.node.status.as_ref().and_then(|status| status.capacity.as_ref());
    let mut limits = BTreeMap::new();
    for (resource, _) in capacity.into_iter().flatten() {
        if let Some(size) = page_size(resource) {
            limits.insert(size, 0);
        }
    }
    for (resource, quantity) in of_pod.into_iter().chain(own).flatten() {
        let Some(size) = page_size(resource) else { continue };
        let bytes = quantity::value(quantity).ok().and_then(|bytes| u64::try_from(bytes).ok());
        limits.insert(size, bytes.ok_or_else(|| (resource.clone(), quantity.0.clone()))?);
    }
    Ok(limits)
}

/// The kernel's name of the page size in `hugepages-2Mi`: `2MB`. None for other resources.
fn page_size(resource: &str) -> Option<String> {
    let size = resource.strip_prefix(HUGE_PAGES)?;
    hugepage_unit_size(u64::try_from(quantity::parse(size).ok()?.value()).ok()?)
}

/// Bytes of memory that the node has; 0 if it doesn't say.
pub(super) fn memory_capacity(host: Host<'_>) -> i64 {
    let capacity = host.node.node.status.as_ref().and_then(|status| status.capacity.as_ref());
    let memory = capacity.and_then(|capacity| capacity.get(MEMORY));
    memory.and_then(|memory| quantity::value(memory).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
