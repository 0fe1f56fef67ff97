//! How much a container may swap (`kuberuntime_container_linux.go`: `configureContainerSwapResources`).

use k8s_openapi::api::core::v1::{Container, Pod};

use super::super::Host;
use super::memory_capacity;
use crate::pod::quantity;
use crate::pod::resources::{self, MEMORY, QosClass};
use crate::pod::static_pod::is_critical;
use crate::runtime::LinuxResources;

/// Who may swap (`memorySwap.swapBehavior`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SwapBehavior {
    #[default]
    NoSwap,
    /// Containers of Burstable pods, in proportion to the memory that they ask for. Version 2 only.
    Limited,
}

/// Returns what the behaviour is for one container. Critical pods, other classes, and containers that ask for no memory or for as much
/// as they may have don't swap.
pub fn swap_behavior(pod: &Pod, container: &Container, host: Host<'_>) -> SwapBehavior {
    let bytes = |list: Option<&std::collections::BTreeMap<String, _>>| {
        let quantity = list.and_then(|list| list.get(MEMORY));
        quantity.and_then(|quantity| quantity::value(quantity).ok()).unwrap_or_default()
    };
    let own = container.resources.as_ref();
    let request = bytes(own.and_then(|own| own.requests.as_ref()));
    let limit = bytes(own.and_then(|own| own.limits.as_ref()));
    let may = host.swap_behavior == SwapBehavior::Limited
        && host.swap_controller
        && host.has_cgroup_v2()
        && !is_critical(pod)
        && resources::qos(pod) == QosClass::Burstable
        && request != 0
        && request != limit;
    if may { SwapBehavior::Limited } else { SwapBehavior::NoSwap }
}

/// Sets what the container may swap. Where the kernel counts none of it nothing is set; without a memory limit, cgroups of
/// version 1 can't forbid it.
pub(super) fn limit_swap(figures: &mut LinuxResources, pod: &Pod, container: &Container, host: Host<'_>) {
    if !host.swap_controller {
    } else if host.has_cgroup_v2() {
        let bytes = match swap_behavior(pod, container, host) {
            SwapBehavior::NoSwap => 0,
            SwapBehavior::Limited => share(super::memory_request(container), host),
        };
        figures.unified.insert("memory.swap.max".to_owned(), bytes.to_string());
    } else {
        figures.memory_swap_limit_bytes = figures.memory_limit_bytes;
    }
}

/// The same part of the node's swap as the request is of its memory, in bytes.
fn share(request: i64, host: Host<'_>) -> i64 {
    let info = host.node.node.status.as_ref().and_then(|status| status.node_info.as_ref());
    let swap = info.and_then(|info| info.swap.as_ref()?.capacity).unwrap_or_default();
    let memory = memory_capacity(host);
    if memory <= 0 {
        return 0;
    }
    // As upstream reckons, in floating point.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "upstream's figures")]
    let share = (request as f64 / memory as f64 * swap as f64) as i64;
    share
}
