//! The facts that a plan is made from.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use super::resize_step::ResizeFacts;
use crate::container::backoff::BackoffTable;
use crate::probe::{ContainerProbes, ProbeResults};
use crate::runtime::{ContainerId, ObservedPod};

/// The facts that a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// The pod as its source wants it, with the resources that it was allocated
    /// ([`crate::pod::allocation::Allocation::apply`]).
    pub pod: &'a Pod,
    /// What the runtime has of it.
    pub observed: &'a ObservedPod,
    /// Delays of crashed containers.
    pub backoff: &'a BackoffTable,
    /// What probes found out about running containers. A failed liveness or startup probe stops its container for as long
    /// as the result stands.
    pub probes: &'a ProbeResults,
    /// Restart counts of the last instances that are known of, by container name, where the runtime may have forgotten
    /// them ([`super::known_restart_counts`], log folders): counts never start over while the pod lives.
    pub restart_counts: &'a BTreeMap<String, u32>,
    /// What in-place changes of resources need; none leaves resources of running containers alone.
    pub resize: Option<ResizeFacts<'a>>,
    pub now: Timestamp,
}

impl PlanInput<'_> {
    pub(super) fn probes_of(&self, id: &ContainerId) -> ContainerProbes {
        self.probes.get(id).copied().unwrap_or_default()
    }

    /// Whether the pod is deleted: nothing of it is started any more.
    pub(super) fn is_deleted(&self) -> bool {
        self.pod.metadata.deletion_timestamp.is_some()
    }
}
