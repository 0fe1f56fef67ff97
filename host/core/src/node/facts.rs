//! Keys of the facts that plugins see of the node, and how coarse its figures are.
//!
//! Keys are added, never renamed: plugins of others read them. A key that is missing is unknown. What other parts of the
//! agent know comes in below a prefix of its own.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;

#[cfg(test)]
mod tests;

/// The operating system, as Go names it: `linux`.
pub const OS: &str = "os";
/// The distribution's name for people.
pub const OS_IMAGE: &str = "os.image";
/// The processor's architecture, as Go names it: `amd64`, `arm64`, …
pub const ARCH: &str = "arch";
/// The kernel's release, as `uname -r` prints it.
pub const KERNEL_VERSION: &str = "kernel.version";
/// `2`, `1` or `none`.
pub const CGROUP_VERSION: &str = "cgroup.version";
/// `true` if the kernel enforces AppArmor profiles, or `false`.
pub const APPARMOR_ENABLED: &str = "apparmor.enabled";
/// Bytes of swap space; `0` is none.
pub const SWAP: &str = "swap";
/// Bytes of the file system that the agent's folder is on.
pub const NODEFS_CAPACITY: &str = "fs.nodefs.capacity";
/// Free bytes of it, as [`steady`] has them.
pub const NODEFS_AVAILABLE: &str = "fs.nodefs.available";
/// Its inodes; missing where it has no fixed number of them.
pub const NODEFS_INODES: &str = "fs.nodefs.inodes";
/// Its free inodes, as [`steady`] has them.
pub const NODEFS_INODES_FREE: &str = "fs.nodefs.inodesFree";

/// Prefix of what the container runtime says: [`RUNTIME_NAME`] and so on.
pub const RUNTIME: &str = "runtime";
/// The runtime's name, such as `containerd`.
pub const RUNTIME_NAME: &str = "runtime.name";
/// Its version.
pub const RUNTIME_VERSION: &str = "runtime.version";
/// Who makes the cgroups of containers: `systemd` or `cgroupfs`.
pub const RUNTIME_CGROUP_DRIVER: &str = "runtime.cgroupDriver";
/// `true` if it keeps to `supplementalGroupsPolicy: Strict`; becomes the node's `status.features`.
pub const RUNTIME_SUPPLEMENTAL_GROUPS_POLICY: &str = "runtime.features.supplementalGroupsPolicy";
/// `true` if it makes user namespaces.
pub const RUNTIME_USER_NAMESPACES: &str = "runtime.features.userNamespaces";
/// `true` if it makes them for pods on the host's network, too; the node declares that feature then.
pub const RUNTIME_USER_NAMESPACES_HOST_NETWORK: &str = "runtime.features.userNamespacesHostNetwork";
/// Prefix of Kubernetes' feature gates (`feature-gates.PodLevelResources`): `true` or `false`. A gate that is missing is as
/// Kubernetes has it by default.
pub const FEATURE_GATES: &str = "feature-gates";

/// A figure is published again when it has moved by this part of the whole.
pub const STEPS: u64 = 64;

/// Returns what is published of a figure that moves all the time: the known value until the true one is a 64th of the whole away
/// from it, then the true one. Anyone who waits for the node to change isn't woken by every file that someone writes.
pub fn steady(known: Option<u64>, now: u64, whole: u64) -> u64 {
    let step = (whole / STEPS).max(1);
    match known {
        Some(known) if known.abs_diff(now) < step => known,
        Some(_) | None => now,
    }
}

/// Returns what a node's object says of its machine and its runtime; the other keys are unknown.
pub(super) fn of_node(node: &Node) -> BTreeMap<String, String> {
    let Some(info) = node.status.as_ref().and_then(|status| status.node_info.as_ref()) else {
        return BTreeMap::new();
    };
    let (runtime, version) =
        info.container_runtime_version.split_once("://").unwrap_or((&info.container_runtime_version, ""));
    let swap = info.swap.as_ref().and_then(|swap| swap.capacity).map(|bytes| bytes.to_string());
    let said = [
        (OS, info.operating_system.as_str()),
        (OS_IMAGE, info.os_image.as_str()),
        (ARCH, info.architecture.as_str()),
        (KERNEL_VERSION, info.kernel_version.as_str()),
        (RUNTIME_NAME, runtime),
        (RUNTIME_VERSION, version),
        (SWAP, swap.as_deref().unwrap_or_default()),
    ];
    let said = said.into_iter().filter(|(_, value)| !value.is_empty());
    said.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}
