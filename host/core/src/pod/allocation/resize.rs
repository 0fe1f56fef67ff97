//! What becomes of a running pod's wish for other resources: whether it can ever be, whether the node can grant it now, and
//! who goes first when several wait.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Node, Pod};
use thiserror::Error;

use super::{Allocation, RESIZABLE, Share};
use crate::admission::{Decision, preemption};
use crate::container::plan::{ContainerKind, containers};
use crate::pod::resources::{self, CPU, MEMORY, QosClass};
use crate::pod::static_pod::is_critical;

/// Reason of a refusal that is final; any other one is asked again.
const INFEASIBLE: &str = "Infeasible";

/// What the node's settings have to do with resizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePolicy {
    /// Allocatable CPU in thousandths; none if the node doesn't know.
    pub cpu_milli: Option<i64>,
    /// Allocatable memory in bytes; none if the node doesn't know.
    pub memory_bytes: Option<i64>,
    /// CPUs are pinned to Guaranteed pods (CPU manager policy `static`).
    pub static_cpus: bool,
    /// Memory is pinned to Guaranteed pods (memory manager policy `Static`).
    pub static_memory: bool,
    /// Burstable pods may swap (`memorySwap.swapBehavior: LimitedSwap`).
    pub limited_swap: bool,
}

impl NodePolicy {
    /// What a node's object says of it.
    pub fn of(node: &Node) -> Self {
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        let of =
            |name: &str| allocatable?.get(name).and_then(|quantity| resources::amount(name, quantity).ok());
        Self { cpu_milli: of(CPU), memory_bytes: of(MEMORY), ..Self::default() }
    }
}

/// Why a pod's wish can never come true on this node: reason `Infeasible` of the condition `PodResizePending`.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Infeasible {
    /// It would be of another class of service.
    #[error("Pod QOS Class may not change as a result of resizing (from {} to {})", from.as_str(), to.as_str())]
    QosClass {
        from: QosClass,
        /// What it would be.
        to: QosClass,
    },
    /// The container is of a kind that keeps its resources.
    #[error("resources of init container {container} are immutable: only those of sidecars may change")]
    InitContainer { container: String },
    /// What is limited or asked for once can't be taken back, only changed.
    #[error("{what} of {resource} of {of} must not be removed")]
    Removed {
        /// `limits` or `requests`.
        what: &'static str,
        /// `cpu` or `memory`.
        resource: String,
        /// The container, or the pod.
        of: String,
    },
    /// The kernel can't change what a container may swap.
    #[error("In-place resize of containers with swap is not supported (container {container})")]
    Swap { container: String },
    /// Its CPUs are pinned.
    #[error("Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy")]
    StaticCpus,
    /// Its memory is pinned.
    #[error("Resize is infeasible for Guaranteed Pods alongside Memory Manager static policy")]
    StaticMemory,
    /// The whole node has less.
    #[error("Node didn't have enough capacity: {resource}, requested: {requested}, capacity: {capacity}")]
    Capacity {
        /// `cpu` or `memory`.
        resource: &'static str,
        /// Thousandths or bytes.
        requested: i64,
        /// Thousandths or bytes.
        capacity: i64,
    },
    /// A handler says so.
    #[error("{message}")]
    Refused { message: String },
}

impl Infeasible {
    /// The word that monitoring counts it by; upstream's where upstream counts it (`kubelet_pod_infeasible_resizes_total`).
    pub fn detail(&self) -> &'static str {
        match self {
            Self::QosClass { .. } => "qos_class",
            Self::InitContainer { .. } => "init_container",
            Self::Removed { .. } => "removed_resources",
            Self::Swap { .. } => "swap_limitation",
            Self::StaticCpus => "guaranteed_pod_cpu_manager_static_policy",
            Self::StaticMemory => "guaranteed_pod_memory_manager_static_policy",
            Self::Capacity { .. } => "insufficient_node_capacity",
            Self::Refused { .. } => "refused_by_handler",
        }
    }
}

/// What a pod wishes next to what it was allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    None,
    /// What can't be on this node.
    Infeasible(Infeasible),
    /// Something that the admission handlers are to be asked about, with operation `resize`.
    Ask,
}

/// Returns what a running pod wishes, as far as that can be reported without the other pods of the node.
///
/// Static pods are no exception here, as they are upstream: one whose manifest fixes its UID is the same pod with other
/// resources; any other becomes a new pod.
pub fn judge(pod: &Pod, allocation: &Allocation, node: NodePolicy) -> Wish {
    if !allocation.differs_from(pod) {
        return Wish::None;
    }
    let allocated = allocation.apply(pod);
    let refusals = [
        immutable(pod, allocation),
        pinned(pod, &allocated, node),
        swaps(pod, allocation, node),
        beyond(pod, node),
    ];
    match refusals.into_iter().flatten().next() {
        Some(infeasible) => Wish::Infeasible(infeasible),
        None => Wish::Ask,
    }
}

/// Returns what the API server would refuse of a resize.
fn immutable(pod: &Pod, allocation: &Allocation) -> Option<Infeasible> {
    for found in containers(pod) {
        let container = &*found.container;
        let Some(before) = allocation.containers.get(&container.name) else { continue };
        let now = Share::of(container.resources.as_ref());
        if found.kind == ContainerKind::Init && !before.is_same(&now) {
            return Some(Infeasible::InitContainer { container: container.name.clone() });
        }
        if let Some((what, resource)) = removed(before, &now) {
            return Some(Infeasible::Removed { what, resource, of: format!("container {}", container.name) });
        }
    }
    let own = Share::of(pod.spec.as_ref().and_then(|spec| spec.resources.as_ref()));
    let (what, resource) = removed(&allocation.pod_share(), &own)?;
    Some(Infeasible::Removed { what, resource, of: "the pod".to_owned() })
}

fn removed(before: &Share, now: &Share) -> Option<(&'static str, String)> {
    let (before, now) = (before.resizable(), now.resizable());
    let lists = [("limits", &before.1, &now.1), ("requests", &before.0, &now.0)];
    lists.into_iter().find_map(|(what, before, now)| {
        let missing =
            RESIZABLE.into_iter().find(|name| before.contains_key(*name) && !now.contains_key(*name))?;
        Some((what, missing.to_owned()))
    })
}

fn pinned(pod: &Pod, allocated: &Pod, node: NodePolicy) -> Option<Infeasible> {
    // As the API server compares them: what the pod is, and what its wish would make of it.
    let (from, to) = (resources::qos(allocated), resources::qos_by_spec(pod));
    if from != to {
        return Some(Infeasible::QosClass { from, to });
    }
    match to {
        QosClass::Guaranteed if node.static_cpus => Some(Infeasible::StaticCpus),
        QosClass::Guaranteed if node.static_memory => Some(Infeasible::StaticMemory),
        QosClass::Guaranteed | QosClass::Burstable | QosClass::BestEffort => None,
    }
}

/// A container that may swap keeps the request of memory that its swap was reckoned from, unless it restarts.
fn swaps(pod: &Pod, allocation: &Allocation, node: NodePolicy) -> Option<Infeasible> {
    let may_swap = node.limited_swap && resources::qos(pod) == QosClass::Burstable && !is_critical(pod);
    if !may_swap {
        return None;
    }
    let resizable = containers(pod).filter(|found| found.kind.is_resizable());
    resizable.into_iter().find_map(|found| {
        let container = &*found.container;
        let before = allocation.containers.get(&container.name)?;
        let now = Share::of(container.resources.as_ref());
        let same = before.amounts().0.get(MEMORY) == now.amounts().0.get(MEMORY);
        let swappable = is_swappable(before) || is_swappable(&now);
        let stuck = !same && swappable && !restarts_for_memory(container);
        stuck.then(|| Infeasible::Swap { container: container.name.clone() })
    })
}

/// Swap is shared out by the request of memory; one that is also the limit forgoes it.
fn is_swappable(share: &Share) -> bool {
    let (requests, limits) = share.amounts();
    let request = requests.get(MEMORY).copied().unwrap_or_default();
    request > 0 && limits.get(MEMORY) != Some(&request)
}

fn restarts_for_memory(container: &Container) -> bool {
    let mut policies = container.resize_policy.iter().flatten();
    policies.any(|policy| policy.resource_name == MEMORY && policy.restart_policy == "RestartContainer")
}

/// More than the whole node has.
fn beyond(pod: &Pod, node: NodePolicy) -> Option<Infeasible> {
    let requests = resources::requests(pod);
    let exceeds = |resource: &'static str, capacity: Option<i64>| {
        let requested = requests.get(resource).copied().unwrap_or_default();
        let capacity = capacity.filter(|capacity| requested > *capacity)?;
        Some(Infeasible::Capacity { resource, requested, capacity })
    };
    exceeds(MEMORY, node.memory_bytes).or_else(|| exceeds(CPU, node.cpu_milli))
}

/// What the handlers' decision means for a wish.
#[derive(Clone, Debug, PartialEq)]
pub enum Grant {
    /// It is allocated from now on, and the pod is to be synced.
    Granted(Allocation),
    /// Not now: reason `Deferred`. What was allocated stays.
    Deferred {
        /// The refusal's reason, as `OutOfcpu`: events name it.
        why: String,
        /// One sentence for people.
        message: String,
        /// Ask again after this long, if the handler said; else when the node or its pods change.
        retry_after: Option<Duration>,
    },
    /// Never: reason `Infeasible`. What was allocated stays.
    Infeasible(Infeasible),
}

/// Returns what becomes of a wish about which the handlers were asked. A refusal is no end of the pod: its reason `Infeasible` is
/// final for this wish, any other is asked again.
pub fn after_admission(pod: &Pod, decision: Decision) -> Grant {
    match decision {
        Decision::Admit => Grant::Granted(Allocation::of(pod)),
        Decision::Reject { reason, message, .. } if reason == INFEASIBLE => {
            Grant::Infeasible(Infeasible::Refused { message })
        }
        // Nothing is preempted for a pod that runs already.
        Decision::Preempt { message, .. } => {
            Grant::Deferred { why: preemption::REASON.to_owned(), message, retry_after: None }
        }
        Decision::Reject { reason: why, message, .. } => Grant::Deferred { why, message, retry_after: None },
        Decision::Defer { reason: why, message, retry_after } => {
            Grant::Deferred { why, message, retry_after: Some(retry_after) }
        }
    }
}

/// A wish that waits to be asked about again.
#[derive(Clone, Copy, Debug)]
pub struct PendingResize<'a> {
    /// The pod as its source has it.
    pub pod: &'a Pod,
    pub allocation: &'a Allocation,
    /// Since when it waits: `lastTransitionTime` of its condition `PodResizePending`.
    pub since: Timestamp,
}

/// Where a waiting wish stands in the order in which they are asked about; the least comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Precedence {
    more: bool,
    priority: std::cmp::Reverse<i32>,
    not_guaranteed: bool,
    since: Timestamp,
}

/// The order in which waiting wishes are asked about (upstream: `sortPendingResizes`): first those that ask for no more than
/// they have; then by priority, the highest first; then Guaranteed before others; then the one that waits longest.
pub fn precedence(wish: &PendingResize<'_>) -> Precedence {
    Precedence {
        more: increases_requests(wish.pod, wish.allocation),
        priority: std::cmp::Reverse(
            wish.pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or_default(),
        ),
        not_guaranteed: resources::qos(wish.pod) != QosClass::Guaranteed,
        since: wish.since,
    }
}

/// Whether the pod asks for more CPU or memory than it was allocated.
pub fn increases_requests(pod: &Pod, allocation: &Allocation) -> bool {
    let (desired, has) = (resources::requests(pod), resources::requests(&allocation.apply(pod)));
    RESIZABLE.into_iter().any(|name| desired.get(name) > has.get(name))
}
