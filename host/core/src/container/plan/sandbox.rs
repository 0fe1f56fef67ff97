//! Whether a pod's sandbox can stay: the kubelet's `PodSandboxChanged`.

use k8s_openapi::api::core::v1::Pod;

use crate::runtime::{NamespaceMode, ObservedContainer, ObservedPod, SandboxId, SandboxState};

/// What a pod needs for a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxNeed {
    /// The newest one will do.
    Keep(SandboxId),
    Create {
        /// One more than the newest one's; 0 if the pod has none.
        attempt: u32,
    },
}

/// Why a pod's newest sandbox can't stay. The first that holds, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxFault {
    NotReady,
    /// Another one is ready as well.
    SeveralReady,
    /// Its network isn't the one that the spec asks for.
    OtherNetwork,
    /// It should have an address, and has none.
    NoAddress,
}

/// Whether the newest sandbox can stay. It can't if there is none, or if there is a fault.
pub fn need(pod: &Pod, observed: &ObservedPod) -> SandboxNeed {
    match observed.sandboxes.first() {
        None => SandboxNeed::Create { attempt: 0 },
        Some(newest) => match fault(pod, observed) {
            None => SandboxNeed::Keep(newest.id.clone()),
            Some(_) => SandboxNeed::Create { attempt: newest.attempt.saturating_add(1) },
        },
    }
}

/// Returns what is wrong with the newest sandbox; none if nothing is, or the pod has no sandbox.
pub fn fault(pod: &Pod, observed: &ObservedPod) -> Option<SandboxFault> {
    let newest = observed.sandboxes.first()?;
    let network = network_of(pod);
    if newest.state != SandboxState::Ready {
        Some(SandboxFault::NotReady)
    } else if observed.sandboxes.iter().filter(|sandbox| sandbox.state == SandboxState::Ready).count() > 1 {
        Some(SandboxFault::SeveralReady)
    } else if newest.network != network {
        Some(SandboxFault::OtherNetwork)
    } else if network != NamespaceMode::Node && newest.ips.is_empty() {
        Some(SandboxFault::NoAddress)
    } else {
        None
    }
}

/// The network that a pod asks for: its own, or the host's.
pub fn network_of(pod: &Pod) -> NamespaceMode {
    let host = pod.spec.as_ref().and_then(|spec| spec.host_network).unwrap_or_default();
    if host { NamespaceMode::Node } else { NamespaceMode::Pod }
}

/// Whether what is seen of a container counts for this sandbox: it is in it, or may be, or still runs.
pub(super) fn counts_in(container: &ObservedContainer, sandbox: &SandboxId) -> bool {
    container.state.may_run() || container.sandbox_id.as_ref().is_none_or(|id| id == sandbox)
}
