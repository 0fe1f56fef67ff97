//! Labels and annotations that upstream's kubelet puts on sandboxes and containers
//! (`pkg/kubelet/types/labels.go`, `kuberuntime/labels.go`). They are what a restarted agent knows its pods by.

use super::CgroupParent;

/// Label: `metadata.name` of the pod.
pub const POD_NAME: &str = "io.kubernetes.pod.name";
/// Label: `metadata.namespace` of the pod.
pub const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
/// Label: `metadata.uid` of the pod.
pub const POD_UID: &str = "io.kubernetes.pod.uid";
/// Label: name of the container in the pod's spec.
pub const CONTAINER_NAME: &str = "io.kubernetes.container.name";

/// Annotation: the kubelet's hash of the container's spec, lower-case hexadecimal, so that a kubelet that takes this agent's place
/// finds what it would have written (`container::hash::kubelet_hash`).
pub const CONTAINER_HASH: &str = "io.kubernetes.container.hash";
/// Annotation of this agent's own: its hash of the container's spec (`container::hash::container_hash`), which covers more.
pub const OWN_CONTAINER_HASH: &str = "witlet.dev/container-hash";
/// Annotation: how often the container was restarted, decimal.
pub const CONTAINER_RESTART_COUNT: &str = "io.kubernetes.container.restartCount";
/// Annotation: path of the termination message in the container.
pub const TERMINATION_MESSAGE_PATH: &str = "io.kubernetes.container.terminationMessagePath";
/// Annotation: `File` or `FallbackToLogsOnError`.
pub const TERMINATION_MESSAGE_POLICY: &str = "io.kubernetes.container.terminationMessagePolicy";
/// Annotation: the container's `ports`, as JSON.
pub const CONTAINER_PORTS: &str = "io.kubernetes.container.ports";
/// Annotation: the container's `lifecycle.preStop`, as JSON, for pods that no one knows any more when they end.
pub const PRE_STOP_HANDLER: &str = "io.kubernetes.container.preStopHandler";
/// Annotation: the pod's `terminationGracePeriodSeconds`, so that orphans end with the grace they were promised.
pub const POD_TERMINATION_GRACE_PERIOD: &str = "io.kubernetes.pod.terminationGracePeriod";

/// Annotation of this agent's own: the cgroup that the container was put below; empty where that was left to the runtime.
pub const OWN_CGROUP_PARENT: &str = "witlet.dev/cgroup-parent";
/// A kubelet's hash is a number of 32 bits, in hexadecimal.
const KUBELET_HASH_DIGITS_MAX: usize = 8;

/// Which cgroup a container was put below. `annotation` gives an annotation of the container.
pub fn cgroup_parent(annotation: impl Fn(&str) -> Option<String>) -> CgroupParent {
    if let Some(path) = annotation(OWN_CGROUP_PARENT) {
        return CgroupParent::Recorded(path);
    }
    // Releases of this agent that wrote no hash of its own kind wrote a longer one under the kubelet's key.
    let is_kubelets = |hash: String| !hash.is_empty() && hash.len() <= KUBELET_HASH_DIGITS_MAX;
    match annotation(OWN_CONTAINER_HASH) {
        None if annotation(CONTAINER_HASH).is_some_and(is_kubelets) => CgroupParent::OfKubelet,
        Some(_) | None => CgroupParent::Unrecorded,
    }
}

/// The hash that a running container is compared by: the agent's own; else what stands under the kubelet's key, which is a kubelet's, or
/// of a release of this agent that wrote its own there. `annotation` gives an annotation of the container.
pub fn spec_hash(annotation: impl Fn(&str) -> Option<String>) -> Option<String> {
    annotation(OWN_CONTAINER_HASH).or_else(|| annotation(CONTAINER_HASH))
}

#[cfg(test)]
mod tests {
    //! Which hash counts.

    use super::*;

    #[test]
    fn only_containers_of_kubelets_and_of_agents_with_cgroups_have_a_known_parent() {
        let parent = |pairs: &[(&str, &str)]| {
            cgroup_parent(|key| {
                pairs.iter().find(|(name, _)| *name == key).map(|(_, hash)| (*hash).to_owned())
            })
        };
        let recorded = |path: &str| CgroupParent::Recorded(path.to_owned());
        let own = [(CONTAINER_HASH, "1a2b"), (OWN_CONTAINER_HASH, "0123")];
        assert_eq!(
            parent(&[own[0], own[1], (OWN_CGROUP_PARENT, "/kubepods/pod1")]),
            recorded("/kubepods/pod1")
        );
        assert_eq!(parent(&[(OWN_CGROUP_PARENT, "")]), recorded(""));
        assert_eq!(parent(&own), CgroupParent::Unrecorded, "of an earlier release");
        assert_eq!(
            parent(&[(CONTAINER_HASH, "0123456789abcdef")]),
            CgroupParent::Unrecorded,
            "of the first ones"
        );
        assert_eq!(parent(&[(CONTAINER_HASH, "1a2b3c4d")]), CgroupParent::OfKubelet);
        assert_eq!(parent(&[]), CgroupParent::Unrecorded);
    }

    #[test]
    fn the_agents_own_hash_counts_before_the_kubelets() {
        let hash = |pairs: &[(&str, &str)]| {
            spec_hash(|key| pairs.iter().find(|(name, _)| *name == key).map(|(_, hash)| (*hash).to_owned()))
        };
        assert_eq!(hash(&[(CONTAINER_HASH, "1a2b"), (OWN_CONTAINER_HASH, "0123")]).as_deref(), Some("0123"));
        assert_eq!(hash(&[(CONTAINER_HASH, "1a2b")]).as_deref(), Some("1a2b"));
        assert_eq!(hash(&[]), None);
    }
}
