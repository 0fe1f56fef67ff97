//! The pod as a kubelet has it when it hashes it: with upstream's defaults (`SetObjectDefaults_Pod`) and in its internal form
//! (`Convert_v1_Pod_To_core_Pod`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource;
use serde_json::{Map, Value};

use super::quantity::Quantity;
use crate::pod::defaults;
use crate::pod::resources::{CPU, HUGE_PAGES, MEMORY};

/// What old clients wrote, and no one reads: `dropInitContainerAnnotations`.
const DROPPED_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];
/// What a manifest has in the spec and the internal type in the security context.
const OF_SECURITY_CONTEXT: [&str; 5] =
    ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

type ResourceList = BTreeMap<String, Quantity>;

/// The pod as JSON, in the names of a manifest where the internal types have the field.
pub(super) fn internal(pod: &Pod) -> Value {
    let mut pod = pod.clone();
    pod.status = None;
    pod.metadata.uid = None;
    defaults::fill_in(&mut pod);
    if let Some(annotations) = &mut pod.metadata.annotations {
        annotations.retain(|name, _| !DROPPED_ANNOTATIONS.contains(&name.as_str()));
    }
    let resources = pod.spec.as_ref().and_then(pod_resources);
    let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string());
    let mut value = serde_json::to_value(pod).unwrap_or_default();
    if let (Some(created), Some(metadata)) =
        (created, value.get_mut("metadata").and_then(Value::as_object_mut))
    {
        // With its fraction, which the JSON form of a pod leaves out.
        metadata.insert("creationTimestamp".to_owned(), Value::from(created));
    }
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(resources) = resources {
            spec.insert("resources".to_owned(), resources);
        }
        move_host_fields(spec);
    }
    value
}

fn move_host_fields(spec: &mut Map<String, Value>) {
    let moved = OF_SECURITY_CONTEXT.map(|name| (name.to_owned(), spec.remove(name).unwrap_or_default()));
    if let Some(context) = spec.get_mut("securityContext").and_then(Value::as_object_mut) {
        context.extend(moved);
    }
}

/// The resources of the pod as a whole: `defaultHugePagePodLimits` and `defaultPodRequests`.
fn pod_resources(spec: &PodSpec) -> Option<Value> {
    let own = spec.resources.as_ref()?;
    let is_set = |list: &Option<_>| list.as_ref().is_some_and(|list: &BTreeMap<_, _>| !list.is_empty());
    let mut limits = own.limits.as_ref().map(parsed);
    let mut requests = own.requests.as_ref().map(parsed);
    if is_set(&own.limits) || is_set(&own.requests) {
        let found = aggregated(spec, |resources| resources.limits.as_ref());
        let asked = |name: &String| requests.as_ref().is_some_and(|requests| requests.contains_key(name));
        let huge = found.into_iter().filter(|(name, _)| name.starts_with(HUGE_PAGES) && !asked(name));
        complete(&mut limits, huge);
    }
    if let Some(limits) = limits.as_ref().filter(|limits| !limits.is_empty()) {
        let found = aggregated(spec, |resources| resources.requests.as_ref());
        complete(&mut requests, found.into_iter().filter(|(name, _)| [CPU, MEMORY].contains(&name.as_str())));
        let is_supported = |name: &str| [CPU, MEMORY].contains(&name) || name.starts_with(HUGE_PAGES);
        complete(&mut requests, limits.clone().into_iter().filter(|(name, _)| is_supported(name)));
    }
    let json = |list: Option<ResourceList>| match list {
        Some(list) => list.into_iter().map(|(name, quantity)| (name, quantity.to_json())).collect(),
        None => Value::Null,
    };
    let fields = [("limits", json(limits)), ("requests", json(requests))];
    let mut value = serde_json::to_value(own).unwrap_or_default();
    value.as_object_mut()?.extend(fields.map(|(name, list)| (name.to_owned(), list)));
    Some(value)
}

/// Adds what the list doesn't have. One that was missing stays so while there is nothing to add.
fn complete(list: &mut Option<ResourceList>, found: impl Iterator<Item = (String, Quantity)>) {
    for (name, quantity) in found {
        list.get_or_insert_default().entry(name).or_insert(quantity);
    }
}

fn parsed(list: &BTreeMap<String, resource::Quantity>) -> ResourceList {
    let parse = |quantity: &resource::Quantity| Quantity::of_json(&Value::from(quantity.0.as_str()));
    list.iter().map(|(name, quantity)| (name.clone(), parse(quantity))).collect()
}

/// Returns what all containers take at most at the same time: `AggregateContainerRequests`, `AggregateContainerLimits`.
fn aggregated(
    spec: &PodSpec,
    list: impl Fn(&ResourceRequirements) -> Option<&BTreeMap<String, resource::Quantity>>,
) -> ResourceList {
    let of =
        |container: &Container| container.resources.as_ref().and_then(&list).map(parsed).unwrap_or_default();
    let mut sum = ResourceList::new();
    for container in &spec.containers {
        add(&mut sum, of(container));
    }
    let mut sidecars = ResourceList::new();
    let mut init = ResourceList::new();
    for container in spec.init_containers.iter().flatten() {
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut sum, of(container));
            add(&mut sidecars, of(container));
            raise(&mut init, sidecars.clone());
        } else {
            let mut running = of(container);
            add(&mut running, sidecars.clone());
            raise(&mut init, running);
        }
    }
    raise(&mut sum, init);
    sum
}

fn add(list: &mut ResourceList, other: ResourceList) {
    for (name, quantity) in other {
        match list.get_mut(&name) {
            Some(sum) => sum.add(&quantity),
            None => drop(list.insert(name, quantity)),
        }
    }
}

fn raise(list: &mut ResourceList, other: ResourceList) {
    for (name, quantity) in other {
        let more = match list.get(&name) {
            Some(known) => quantity.if_more_than(known),
            None => Some(quantity),
        };
        if let Some(more) = more {
            list.insert(name, more);
        }
    }
}
