//! Pods that use more local disk than they may: `emptyDir.sizeLimit` and limits of `ephemeral-storage` (`localStorageEviction`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::filesystems::Filesystems;
use crate::container::plan::{app_containers, init_containers};
use crate::pod::quantity;
use crate::pod::resources::{self, EPHEMERAL_STORAGE};
use crate::stats::{PodUsage, volumes};

#[cfg(test)]
mod tests;

/// Which limit, as upstream's metric of evictions names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageLimit {
    /// The size of an `emptyDir`.
    EmptyDir,
    /// All containers' limits together.
    Pod,
    Container,
}

impl StorageLimit {
    /// The metric's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmptyDir => "emptydirfs.limit",
            Self::Pod => "ephemeralpodfs.limit",
            Self::Container => "ephemeralcontainerfs.limit",
        }
    }
}

/// Whether the pod has any such limit, so that its disk has to be measured.
pub fn has_limits(pod: &Pod) -> bool {
    size_limits(pod).next().is_some() || pod_limit(pod).is_some()
}

/// Whether writable layers and logs count against a limit of the pod, and not only volumes.
pub(super) fn counts_containers(pod: &Pod) -> bool {
    pod_limit(pod).is_some()
}

/// The first limit that the pod exceeds, with the message of its end: sizes of volumes, then the whole pod's limit, then containers'.
pub(super) fn exceeded(
    pod: &Pod,
    usage: &PodUsage,
    filesystems: Filesystems,
) -> Option<(StorageLimit, String)> {
    let too_large = |(name, bytes, _): &(&str, i64, &Quantity)| {
        usage.volumes.get(*name).and_then(|usage| usage.bytes).is_some_and(|used| is_more(used, *bytes))
    };
    if let Some((name, _, limit)) = size_limits(pod).find(too_large) {
        let limit = quantity::canonical(&limit.0);
        let message = format!("Usage of EmptyDir volume \"{name}\" exceeds the limit \"{limit}\". ");
        return Some((StorageLimit::EmptyDir, message));
    }
    if let Some((bytes, limit)) = pod_limit(pod)
        && is_more(usage.ephemeral_storage(pod), bytes)
    {
        let message =
            format!("Pod ephemeral local storage usage exceeds the total limit of containers {limit}. ");
        return Some((StorageLimit::Pod, message));
    }
    let limits: BTreeMap<&str, &Quantity> = app_containers(pod)
        .iter()
        .filter_map(|container| Some((container.name.as_str(), container_limit(container)?)))
        .collect();
    usage.containers.iter().find_map(|container| {
        let limit = limits.get(container.name.as_str())?;
        let bytes = quantity::value(limit).ok().filter(|bytes| *bytes != 0)?;
        // Writable layers on a file system of their own are no ephemeral storage of the node's.
        let rootfs = container.rootfs.bytes.filter(|_| filesystems == Filesystems::Single).unwrap_or(0);
        let used = container.logs.bytes.unwrap_or(0).saturating_add(rootfs);
        let limit = quantity::canonical(&limit.0);
        let message = || {
            format!("Container {} exceeded its local ephemeral storage limit \"{limit}\". ", container.name)
        };
        is_more(used, bytes).then(|| (StorageLimit::Container, message()))
    })
}

fn is_more(used: u64, limit: i64) -> bool {
    i128::from(used) > i128::from(limit)
}

/// `emptyDir` volumes with a size of more than nothing: name, bytes, and how the limit is written.
fn size_limits(pod: &Pod) -> impl Iterator<Item = (&str, i64, &Quantity)> {
    volumes(pod).filter_map(|volume| {
        let limit = volume.empty_dir.as_ref()?.size_limit.as_ref()?;
        let bytes = quantity::value(limit).ok().filter(|bytes| *bytes > 0)?;
        Some((volume.name.as_str(), bytes, limit))
    })
}

fn container_limit(container: &Container) -> Option<&Quantity> {
    container.resources.as_ref()?.limits.as_ref()?.get(EPHEMERAL_STORAGE)
}

/// The pod's limit in bytes and as Go prints it; none where no container has one.
fn pod_limit(pod: &Pod) -> Option<(i64, String)> {
    let mut texts = app_containers(pod).iter().chain(init_containers(pod)).filter_map(container_limit);
    // Most pods have none, and are checked all the time.
    let first = texts.next()?;
    let bytes = *resources::limits(pod).get(EPHEMERAL_STORAGE)?;
    // A sum is printed in the form of its first part.
    let text = if quantity::value(first).is_ok_and(|value| value == bytes) {
        quantity::canonical(&first.0)
    } else if first.0.ends_with('i') {
        quantity::binary(bytes)
    } else {
        quantity::decimal(bytes)
    };
    Some((bytes, text))
}
