//! The UID that a kubelet gives a static pod: 1.36's own, so that a kubelet that takes the node over, or gives it away, knows its
//! static pods again.
//!
//! Rule: upstream's `applyDefaults` (`pkg/kubelet/config/common.go`). It hashes how Go prints the pod, of upstream's internal types and
//! with all defaults, and after it where the pod was found. The tables in `uid/tests` have UIDs of kubelet 1.36.2.
//!
//! Not as upstream: a status that someone wrote into a manifest, and what its `managedFields` say, are left out. A creation time
//! is hashed as on a machine whose clock shows UTC; a kubelet hashes the machine's time zone with it.

use k8s_openapi::api::core::v1::Pod;

use crate::go::Fnv128a;

mod internal;
mod print;
mod quantity;
#[cfg(test)]
mod tests;
mod types;

/// Where a kubelet finds static pods.
#[derive(Clone, Copy, Debug)]
pub(super) enum ManifestLocation<'a> {
    /// A file: the node's name counts, too.
    File { path: &'a str, node_name: &'a str },
    /// A URL: the same pod on each node.
    Url(&'a str),
}

/// The UID of a pod as it was written, before anything was filled in or dropped: 32 hexadecimal digits. Total: a quantity or a
/// field that upstream refuses is hashed somehow.
pub(super) fn kubelet_uid(pod: &Pod, location: ManifestLocation<'_>) -> String {
    let mut hash = Fnv128a::new();
    hash.update(&print::pod(&internal::internal(pod)));
    match location {
        ManifestLocation::File { path, node_name } => hash.update(&format!("host:{node_name}file:{path}")),
        ManifestLocation::Url(url) => hash.update(&format!("url:{url}")),
    }
    hash.finish()
}
