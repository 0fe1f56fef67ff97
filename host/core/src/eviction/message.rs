//! What a pod's end says of why (`evictionMessage`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod};

use super::observation::{self, Observations};
use super::signal::StarvedResource;
use super::threshold::Threshold;
use crate::container::plan::{app_containers, init_containers};
use crate::pod::quantity;
use crate::pod::resources::MEMORY;
use crate::stats::{ContainerUsage, PodUsage};

#[cfg(test)]
mod tests;

/// Annotations of the event: the containers that used more than they requested, and how much, with commas between them.
pub const OFFENDING_CONTAINERS: &str = "offending_containers";
/// Of each of these, what it used.
pub const OFFENDING_CONTAINERS_USAGE: &str = "offending_containers_usage";
/// The pod, if it states memory as a whole.
pub const OFFENDING_POD: &str = "offending_pod";
/// What that used.
pub const OFFENDING_POD_USAGE: &str = "offending_pod_usage";
/// What was short.
pub const STARVED_RESOURCE: &str = "starved_resource";

/// The message of the pod's status, condition and event, and the event's annotations. `thresholds` are those that are met.
pub(super) fn message(
    resource: StarvedResource,
    pod: &Pod,
    usage: Option<&PodUsage>,
    thresholds: &[Threshold],
    observations: &Observations,
) -> (String, BTreeMap<String, String>) {
    let mut text = format!("The node was low on resource: {resource}. ");
    text.extend(met(resource, thresholds, observations));
    let mut annotations = BTreeMap::new();
    let Some(usage) = usage else { return (text, annotations) };
    if let Some((name, used, asked)) = whole_pod(resource, pod, usage) {
        text += &larger("Pod", name, &used, &asked, resource);
        annotations.insert(OFFENDING_POD.to_owned(), name.to_owned());
        annotations.insert(OFFENDING_POD_USAGE.to_owned(), used);
    }
    let (mut names, mut amounts) = (Vec::new(), Vec::new());
    for container in &usage.containers {
        if let Some((used, asked)) = over_request(resource, pod, container) {
            text += &larger("Container", &container.name, &used, &asked, resource);
            names.push(container.name.clone());
            amounts.push(used);
        }
    }
    annotations.insert(OFFENDING_CONTAINERS.to_owned(), names.join(","));
    annotations.insert(OFFENDING_CONTAINERS_USAGE.to_owned(), amounts.join(","));
    annotations.insert(STARVED_RESOURCE.to_owned(), resource.to_string());
    (text, annotations)
}

fn larger(what: &str, name: &str, used: &str, asked: &str, resource: StarvedResource) -> String {
    format!("{what} {name} was using {used}, request is {asked}, has larger consumption of {resource}. ")
}

/// The first threshold of that resource, and what is left.
fn met(resource: StarvedResource, thresholds: &[Threshold], observations: &Observations) -> Option<String> {
    thresholds.iter().filter(|threshold| threshold.signal.resource() == resource).find_map(|threshold| {
        let observed = observations.get(&threshold.signal)?;
        let quantity = threshold.value.print(observed.capacity);
        let available = observation::print(threshold.signal, observed.available);
        Some(format!("Threshold quantity: {quantity}, available: {available}. "))
    })
}

/// Name, usage and request of a pod that states memory as a whole.
fn whole_pod<'a>(
    resource: StarvedResource,
    pod: &'a Pod,
    usage: &PodUsage,
) -> Option<(&'a str, String, String)> {
    if resource != StarvedResource::Memory {
        return None;
    }
    let asked = pod.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get(MEMORY)?;
    let used = i64::try_from(usage.memory?).unwrap_or(i64::MAX);
    Some((pod.metadata.name.as_deref()?, quantity::binary(used), quantity::canonical(&asked.0)))
}

/// Usage and request of a container that uses more than it requested. Ephemeral containers can't request anything, and aren't blamed.
fn over_request(resource: StarvedResource, pod: &Pod, usage: &ContainerUsage) -> Option<(String, String)> {
    let used = match resource {
        StarvedResource::Memory => usage.memory?,
        StarvedResource::EphemeralStorage => usage.rootfs.bytes?.saturating_add(usage.logs.bytes?),
        StarvedResource::Inodes | StarvedResource::Pids => return None,
    };
    let of_spec = |container: &&Container| container.name == usage.name;
    let container = app_containers(pod).iter().chain(init_containers(pod)).find(of_spec)?;
    let requests = container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let asked = requests.and_then(|requests| requests.get(resource.as_str()));
    let amount = asked.and_then(|asked| quantity::value(asked).ok()).unwrap_or(0);
    let used = i64::try_from(used).unwrap_or(i64::MAX);
    let asked = asked.map_or_else(|| "0".to_owned(), |asked| quantity::canonical(&asked.0));
    (used > amount).then(|| (quantity::binary(used), asked))
}
