//! `emptyDir`: on disk, in memory with its size, or in huge pages with the size of a page.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{EmptyDirVolumeSource, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{VolumeKind, VolumeSpecError};
use crate::pod::fields::PodFields;
use crate::pod::quantity;
use crate::pod::resources::{MEMORY, limits};

#[cfg(test)]
mod tests;

const HUGE_PAGES: &str = "HugePages";
const HUGE_PAGES_OF: &str = "HugePages-";
/// How the name of a resource for huge pages begins.
const HUGE_PAGES_RESOURCE: &str = "hugepages-";

pub(super) fn kind(
    fields: PodFields<'_>,
    volume: &str,
    source: &EmptyDirVolumeSource,
) -> Result<VolumeKind, VolumeSpecError> {
    match source.medium.as_deref().unwrap_or_default() {
        "" => Ok(VolumeKind::EmptyDir),
        "Memory" => {
            let own = source.size_limit.as_ref().map(|limit| size_limit(volume, limit)).transpose()?;
            Ok(VolumeKind::Tmpfs { size_bytes: memory_bytes(fields, own) })
        }
        medium if medium == HUGE_PAGES || medium.starts_with(HUGE_PAGES_OF) => {
            Ok(VolumeKind::HugePages { page_bytes: page_bytes(fields.pod, volume, medium)? })
        }
        medium => Err(VolumeSpecError::Medium { volume: volume.to_owned(), medium: medium.to_owned() }),
    }
}

/// Size of a volume in memory: its own limit where it has one, but never more than the pod's memory limit, nor than
/// what all pods may have. None leaves it to the kernel.
pub(super) fn memory_bytes(fields: PodFields<'_>, own: Option<u64>) -> Option<u64> {
    let status = fields.node.node.status.as_ref();
    let allocatable = status.and_then(|status| status.allocatable.as_ref()?.get(MEMORY));
    let allocatable = allocatable.and_then(|bytes| u64::try_from(quantity::value(bytes).ok()?).ok());
    let of_pod = fields.pod.spec.as_ref().and_then(|spec| memory_limit(fields.pod, spec));
    [allocatable, of_pod, own].into_iter().flatten().filter(|bytes| *bytes > 0).min()
}

/// The limit of the whole pod: its own, or the sum over containers if each of them has one.
fn memory_limit(pod: &Pod, spec: &PodSpec) -> Option<u64> {
    let has_limit = |limits: Option<&BTreeMap<String, Quantity>>| {
        limits
            .and_then(|limits| limits.get(MEMORY))
            .is_some_and(|limit| quantity::value(limit).is_ok_and(|v| v > 0))
    };
    let of_pod = spec.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    let all_limited = spec.containers.iter().chain(spec.init_containers.iter().flatten()).all(|container| {
        has_limit(container.resources.as_ref().and_then(|resources| resources.limits.as_ref()))
    });
    if !has_limit(of_pod) && !all_limited {
        return None;
    }
    limits(pod).get(MEMORY).and_then(|bytes| u64::try_from(*bytes).ok())
}

fn size_limit(volume: &str, limit: &Quantity) -> Result<u64, VolumeSpecError> {
    let bytes = quantity::value(limit)
        .map_err(|_| VolumeSpecError::Quantity { volume: volume.to_owned(), quantity: limit.0.clone() })?;
    // Zero and less are no limit.
    Ok(u64::try_from(bytes).unwrap_or_default())
}

/// The size of pages that the pod's containers ask for.
fn page_bytes(pod: &Pod, volume: &str, medium: &str) -> Result<u64, VolumeSpecError> {
    let requested = requested_page_sizes(pod);
    let missing = || VolumeSpecError::NoPageSize { volume: volume.to_owned(), medium: medium.to_owned() };
    let Some(size) = medium.strip_prefix(HUGE_PAGES_OF) else {
        if requested.len() > 1 {
            return Err(VolumeSpecError::SeveralPageSizes { volume: volume.to_owned() });
        }
        return requested.first().copied().ok_or_else(missing);
    };
    let desired = bytes(size)
        .ok_or_else(|| VolumeSpecError::Medium { volume: volume.to_owned(), medium: medium.to_owned() })?;
    requested.contains(&desired).then_some(desired).ok_or_else(missing)
}

fn requested_page_sizes(pod: &Pod) -> BTreeSet<u64> {
    let Some(spec) = &pod.spec else { return BTreeSet::new() };
    let containers = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let resources = containers.filter_map(|container| container.resources.as_ref()).chain(&spec.resources);
    let names = resources.filter_map(|resources| resources.requests.as_ref()).flat_map(BTreeMap::keys);
    names.filter_map(|name| name.strip_prefix(HUGE_PAGES_RESOURCE)).filter_map(bytes).collect()
}

fn bytes(size: &str) -> Option<u64> {
    let amount = quantity::parse(size).ok()?;
    u64::try_from(amount.value()).ok().filter(|bytes| *bytes > 0)
}
