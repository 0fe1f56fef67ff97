//! Whether a pod's sandbox can stay: the kubelet's `PodSandboxChanged`.

use k8s_openapi::api::core::v1::Pod;

use crate::runtime::{NamespaceMode, ObservedPod, SandboxId, SandboxState};

/// What a pod needs for a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxNeed {
    /// The newest one will do.
    Keep(SandboxId),
    /// A new one.
    Create {
        /// One more than the newest one's; 0 if the pod has none.
        attempt: u32,
    },
}

/// Whether the newest sandbox can stay. It can't if there is none, if it isn't ready, if another is ready as well, if
/// its network isn't the one that the spec asks for, or if it has no address although it should.
pub fn need(pod: &Pod, observed: &ObservedPod) -> SandboxNeed {
    let Some(newest) = observed.sandboxes.first() else {
        return SandboxNeed::Create { attempt: 0 };
    };
    let ready = observed.sandboxes.iter().filter(|sandbox| sandbox.state == SandboxState::Ready).count();
    let network = network_of(pod);
    let addressed = network == NamespaceMode::Node || !newest.ips.is_empty();
    if newest.state == SandboxState::Ready && ready == 1 && newest.network == network && addressed {
        SandboxNeed::Keep(newest.id.clone())
    } else {
        SandboxNeed::Create { attempt: newest.attempt.saturating_add(1) }
    }
}

/// The network that a pod asks for: its own, or the host's.
pub fn network_of(pod: &Pod) -> NamespaceMode {
    let host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or_default();
    if host { NamespaceMode::Node } else { NamespaceMode::Pod }
}
