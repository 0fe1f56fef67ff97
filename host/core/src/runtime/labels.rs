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

/// Annotation: hash of the container's spec, lower-case hexadecimal.
pub const CONTAINER_HASH: &str = "io.kubernetes.container.hash";
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
