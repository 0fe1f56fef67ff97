//! The node's status as the API server is to have it (upstream: the setters in `nodestatus/setters.go`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerImage, DaemonEndpoint, Node, NodeCondition, NodeDaemonEndpoints, NodeStatus,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::conditions::{self, Pressures};
use super::plugin_set::SetReport;
use super::readings::NodeImage;
use crate::pod::quantity;

#[cfg(test)]
mod tests;

/// Images that a status reports unless the operator says otherwise (upstream: `nodeStatusMaxImages`).
pub const STATUS_IMAGES_MAX: usize = 50;
/// Names of each that it says (upstream: `MaxNamesPerImageInNodeStatus`).
pub const IMAGE_NAMES_MAX: usize = 5;

/// What is known of the node now, next to what the API server has.
#[derive(Clone, Debug)]
pub struct NodeSnapshot<'a> {
    /// The machine's own node: its capacity, addresses, node info, features.
    pub machine: &'a Node,
    /// The Ready condition as the agent sees it; none before it checked.
    pub ready: Option<&'a NodeCondition>,
    /// The condition of a source that can't be read, as the agent shows it; none while all can be.
    pub source: Option<&'a NodeCondition>,
    /// The condition of the plugins, as the agent shows it; none where none are configured.
    pub plugins: Option<&'a NodeCondition>,
    /// What is written into annotations of the set of plugins.
    pub set: SetReport,
    /// What the runtime's handlers can do, as the agent shows it.
    pub agent: Option<&'a NodeStatus>,
    /// Whether anything is short.
    pub pressures: Pressures,
    /// Images in the order of [`images`]; none if the runtime couldn't be asked, which leaves those that are reported.
    pub images: Option<&'a [ContainerImage]>,
    /// Port of the node's endpoints; none if there are none.
    pub port: Option<u16>,
    /// Whether a cloud's controller sets the addresses: those that are there stay then.
    pub external_addresses: bool,
    /// Now, in whole seconds.
    pub now: Timestamp,
}

/// Something about the node that is to be reported as an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeNews {
    /// The machine was started again since the last status.
    Rebooted {
        /// Which start this is.
        boot_id: String,
    },
    /// A condition changed; the reason of the event.
    Condition(&'static str),
}

/// The images that a status reports: the largest first, each by its first names.
pub fn images(mut found: Vec<NodeImage>, max: usize) -> Vec<ContainerImage> {
    // By name where sizes are equal, so that the same images are the same list.
    found.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.names.cmp(&b.names)));
    let reported = found.into_iter().take(max).map(|image| ContainerImage {
        names: Some(image.names.into_iter().take(IMAGE_NAMES_MAX).collect()),
        size_bytes: Some(i64::try_from(image.size).unwrap_or(i64::MAX)),
    });
    reported.collect()
}

/// The node that the API server has, with its status as it is now, and what is to be reported of that.
pub fn with_status(existing: &Node, seen: &NodeSnapshot) -> (Node, Vec<NodeNews>) {
    let mut node = existing.clone();
    let mut news = Vec::new();
    let machine = seen.machine.status.clone().unwrap_or_default();
    let status = node.status.get_or_insert_default();
    let external = seen.external_addresses && status.addresses.as_ref().is_some_and(|all| !all.is_empty());
    if !external {
        status.addresses = machine.addresses;
    }
    set_resources(status, &machine.capacity, &machine.allocatable);
    let booted = |status: &NodeStatus| status.node_info.as_ref().map(|info| info.boot_id.clone());
    let before = booted(status).filter(|id| !id.is_empty());
    status.node_info = machine.node_info;
    if let (Some(before), Some(boot_id)) = (before, booted(status).filter(|id| !id.is_empty()))
        && before != boot_id
    {
        news.push(NodeNews::Rebooted { boot_id });
    }
    status.daemon_endpoints = seen
        .port
        .map(|port| NodeDaemonEndpoints { kubelet_endpoint: Some(DaemonEndpoint { port: i32::from(port) }) });
    if let Some(images) = seen.images {
        status.images = Some(images.to_vec());
    }
    if let Some(agent) = seen.agent {
        status.runtime_handlers = agent.runtime_handlers.clone();
    }
    status.features = machine.features;
    status.declared_features = machine.declared_features;
    // No volume here is attached by a controller.
    status.volumes_in_use = None;
    let all = status.conditions.get_or_insert_default();
    news.extend(
        conditions::set_pressures(all, seen.pressures, seen.now).into_iter().map(NodeNews::Condition),
    );
    if let Some(ready) = seen.ready {
        conditions::set_shown(all, ready, seen.now);
    }
    conditions::set_source(all, seen.source, seen.now);
    conditions::set_plugins(all, seen.plugins, seen.now);
    seen.set.write(&mut node);
    (node, news)
}

type Resources = BTreeMap<String, Quantity>;

/// Capacity and allocatable: what others brought (extended resources) stays and may be used whole, save what went from the
/// capacity. An amount that is the same keeps its spelling, for the API server writes them in its own.
fn set_resources(status: &mut NodeStatus, capacity: &Option<Resources>, allocatable: &Option<Resources>) {
    let reported_capacity = status.capacity.take().unwrap_or_default();
    let reported_allocatable = status.allocatable.take().unwrap_or_default();
    let (own, own_allocatable) =
        (capacity.clone().unwrap_or_default(), allocatable.clone().unwrap_or_default());
    let others = reported_capacity.iter().filter(|(name, _)| !own.contains_key(*name) && !is_huge_page(name));
    let others: Resources = others.map(|(name, amount)| (name.clone(), amount.clone())).collect();
    let mut allocatable = others.clone();
    allocatable.extend(own_allocatable);
    let mut capacity = others;
    capacity.extend(own);
    keep_spelling(&mut capacity, &reported_capacity);
    keep_spelling(&mut allocatable, &reported_allocatable);
    status.capacity = Some(capacity);
    status.allocatable = Some(allocatable);
}

fn keep_spelling(desired: &mut Resources, reported: &Resources) {
    for (name, amount) in desired {
        if let Some(known) = reported.get(name)
            && is_same(amount, known)
        {
            *amount = known.clone();
        }
    }
}

/// Whether two quantities are the same amount.
pub(super) fn is_same(a: &Quantity, b: &Quantity) -> bool {
    match (quantity::parse(&a.0), quantity::parse(&b.0)) {
        (Ok(a), Ok(b)) => a.compare(&b).is_eq(),
        _ => a == b,
    }
}

/// Returns what pods may use of what there is: less what is reserved, and less the memory that is set aside as huge pages (upstream:
/// `MachineInfo`). What can't be read as a quantity is left as it is.
pub fn allocatable(capacity: &Resources, reserved: &Resources) -> Resources {
    let mut left = capacity.clone();
    for (name, amount) in reserved {
        if let Some(place) = left.get_mut(name) {
            subtract(name, place, amount);
        }
    }
    for (name, amount) in capacity.iter().filter(|(name, _)| is_huge_page(name)) {
        if let Some(memory) = left.get_mut("memory") {
            subtract(name, memory, amount);
        }
    }
    left
}

fn subtract(name: &str, from: &mut Quantity, amount: &Quantity) {
    let zero = |number: i64| number.max(0);
    if name == "cpu" {
        if let (Ok(all), Ok(part)) = (quantity::milli(from), quantity::milli(amount)) {
            let left = zero(all.saturating_sub(part));
            *from = Quantity(if left % 1000 == 0 { (left / 1000).to_string() } else { format!("{left}m") });
        }
        return;
    }
    if let (Ok(all), Ok(part)) = (quantity::value(from), quantity::value(amount)) {
        let left = zero(all.saturating_sub(part));
        let in_kib = from.0.ends_with("Ki") && left % 1024 == 0;
        *from = Quantity(if in_kib { format!("{}Ki", left / 1024) } else { left.to_string() });
    }
}

/// Whether the resource is memory in huge pages of one size.
pub fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}
