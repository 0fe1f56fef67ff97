//! What a container was given, as its status says it: limits in force, user, mounts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerUser as ApiUser, LinuxContainerUser, PodStatus, ResourceRequirements, VolumeMount,
    VolumeMountStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::StatusInput;
use super::containers::{Context, is_running};
use crate::pod::resources::{Amounts, CPU, MEMORY, amount, limits, requests};
use crate::runtime::{ContainerRunState, ContainerUser, LinuxResources, ObservedContainer};

/// CPU shares below which the kernel doesn't tell amounts apart (upstream: `MinShares`). Compared with thousandths of a
/// CPU, as upstream does.
const CPU_REQUEST_MIN: i64 = 2;
/// The least CPU limit that can be enforced, in thousandths (upstream: `MinMilliCPULimit`).
const CPU_LIMIT_MIN: i64 = 10;

/// Requests and limits that are in force. They differ from the allocated ones while a resize is under way; resources that
/// can't be resized are as allocated. What the runtime doesn't say stays as it was said before of the same instance.
pub(super) fn in_force(context: Context<'_>, observed: &ObservedContainer, id: &str) -> ResourceRequirements {
    let mut resources = context.container.resources.clone().unwrap_or_default();
    if observed.state != ContainerRunState::Running {
        return resources;
    }
    let same =
        context.before.filter(|before| is_running(before) && before.container_id.as_deref() == Some(id));
    let before = same.and_then(|before| before.resources.as_ref());
    let seen = observed.resources.as_ref();
    if let Some(limits) = &mut resources.limits {
        let before = before.and_then(|before| before.limits.as_ref());
        let cpu =
            seen.and_then(cpu_limit_milli).map(|milli| EnforcedAmount { amount: milli, min: CPU_LIMIT_MIN });
        put(limits, CPU, cpu, before);
        let memory = seen.map(|seen| seen.memory_limit_bytes).filter(|bytes| *bytes > 0);
        put(limits, MEMORY, memory.map(|amount| EnforcedAmount { amount, min: 0 }), before);
    }
    if let Some(requests) = &mut resources.requests {
        let before = before.and_then(|before| before.requests.as_ref());
        let cpu = seen
            .and_then(cpu_request_milli)
            .map(|milli| EnforcedAmount { amount: milli, min: CPU_REQUEST_MIN });
        put(requests, CPU, cpu, before);
        // No runtime enforces a request for memory, so none reports it. It is in force with the other resources (upstream
        // takes the one that was last actuated).
        if context.input.resize.in_progress.is_some() {
            put(requests, MEMORY, None, before);
        }
    }
    resources
}

/// What the pod as a whole was allocated, and what of it is in force: the same, unless a resize is under way; then it is what
/// it was before (KEP-5419).
pub(super) fn set_of_pod(status: &mut PodStatus, input: StatusInput<'_>) {
    let quantities = |amounts: Amounts| -> Option<BTreeMap<String, Quantity>> {
        let quantities = amounts.into_iter().map(|(name, amount)| {
            let quantity = quantity(&name, amount);
            (name, quantity)
        });
        Some(quantities.collect()).filter(|quantities: &BTreeMap<_, _>| !quantities.is_empty())
    };
    status.allocated_resources = quantities(requests(input.pod));
    let before = input.previous.and_then(|previous| previous.resources.clone());
    let allocated = ResourceRequirements {
        requests: status.allocated_resources.clone(),
        limits: quantities(limits(input.pod)),
        claims: None,
    };
    status.resources = match input.resize.in_progress {
        Some(_) if before.is_some() => before,
        Some(_) | None => Some(allocated),
    };
}

/// Who the container's first process runs as.
pub(super) fn user(user: &ContainerUser) -> ApiUser {
    let groups = Some(user.supplemental_groups.clone()).filter(|groups| !groups.is_empty());
    let linux = LinuxContainerUser { uid: user.uid, gid: user.gid, supplemental_groups: groups };
    ApiUser { linux: Some(linux) }
}

/// The spec's mounts, and for read-only ones whether that holds for what is mounted below (KEP-3857). None for a container
/// without any.
pub(super) fn volume_mounts(container: &Container, recursive: bool) -> Option<Vec<VolumeMountStatus>> {
    let mounts = container.volume_mounts.as_ref().filter(|mounts| !mounts.is_empty())?;
    let status = |mount: &VolumeMount| {
        let read_only = mount.read_only.filter(|read_only| *read_only);
        VolumeMountStatus {
            name: mount.name.clone(),
            mount_path: mount.mount_path.clone(),
            read_only,
            recursive_read_only: read_only.map(|_| recursive_read_only(mount, recursive).to_owned()),
            ..VolumeMountStatus::default()
        }
    };
    Some(mounts.iter().map(status).collect())
}

fn recursive_read_only(mount: &VolumeMount, supported: bool) -> &'static str {
    let alone = mount.mount_propagation.as_deref().is_none_or(|propagation| propagation == "None");
    match mount.recursive_read_only.as_deref() {
        Some("IfPossible" | "Enabled") if supported && alone => "Enabled",
        Some(_) | None => "Disabled",
    }
}

struct EnforcedAmount {
    amount: i64,
    /// Amounts up to this one are all the same to the kernel.
    min: i64,
}

/// Takes over what was seen, unless it only differs from the allocated amount because both are too small to be reported apart.
fn put(
    into: &mut BTreeMap<String, Quantity>,
    resource: &str,
    seen: Option<EnforcedAmount>,
    before: Option<&BTreeMap<String, Quantity>>,
) {
    let quantity = match seen {
        Some(seen) => {
            let allocated = into.get(resource).and_then(|quantity| amount(resource, quantity).ok());
            if seen.amount <= seen.min && allocated.unwrap_or_default() <= seen.min {
                return;
            }
            // The same amount stays written as it was.
            if allocated == Some(seen.amount) {
                return;
            }
            quantity(resource, seen.amount)
        }
        None => match before.and_then(|before| before.get(resource)) {
            Some(before) => before.clone(),
            None => return,
        },
    };
    into.insert(resource.to_owned(), quantity);
}

/// An amount as the API writes it: thousandths of a CPU, all else in the largest power of 1024 that leaves no rest.
fn quantity(resource: &str, amount: i64) -> Quantity {
    if resource == CPU {
        return Quantity(match amount % 1000 {
            0 => (amount / 1000).to_string(),
            _ => format!("{amount}m"),
        });
    }
    let units = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let (mut left, mut unit) = (amount, 0);
    while left != 0 && left % 1024 == 0 && unit + 1 < units.len() {
        left /= 1024;
        unit += 1;
    }
    Quantity(format!("{left}{}", units[unit]))
}

fn cpu_limit_milli(seen: &LinuxResources) -> Option<i64> {
    let limited = seen.cpu_period_us > 0 && seen.cpu_quota_us > 0;
    limited.then(|| seen.cpu_quota_us.saturating_mul(1000) / seen.cpu_period_us).filter(|milli| *milli > 0)
}

/// Rounded up, as upstream does, because shares were rounded down.
fn cpu_request_milli(seen: &LinuxResources) -> Option<i64> {
    (seen.cpu_shares >= CPU_REQUEST_MIN)
        .then(|| seen.cpu_shares.saturating_mul(1000).saturating_add(1023) / 1024)
}

#[cfg(test)]
mod tests;
