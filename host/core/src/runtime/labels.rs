//! Labels and annotations that upstream's kubelet puts on sandboxes and containers
//! (`pkg/kubelet/types/labels.go`, `kuberuntime/labels.go`). They are what a restarted agent knows its pods by.

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
/// Annotation: the container's `lifecycle.preStop`, as JSON, for pods that nobody knows any more when they end.
pub const PRE_STOP_HANDLER: &str = "io.kubernetes.container.preStopHandler";
/// Annotation: the pod's `terminationGracePeriodSeconds`, so that orphans end with the grace they were promised.
pub const POD_TERMINATION_GRACE_PERIOD: &str = "io.kubernetes.pod.terminationGracePeriod";

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
    fn the_agents_own_hash_counts_before_the_kubelets() {
        let hash = |pairs: &[(&str, &str)]| {
            spec_hash(|key| pairs.iter().find(|(name, _)| *name == key).map(|(_, hash)| (*hash).to_owned()))
        };
        assert_eq!(hash(&[(CONTAINER_HASH, "1a2b"), (OWN_CONTAINER_HASH, "0123")]).as_deref(), Some("0123"));
        assert_eq!(hash(&[(CONTAINER_HASH, "1a2b")]).as_deref(), Some("1a2b"));
        assert_eq!(hash(&[]), None);
    }
}
