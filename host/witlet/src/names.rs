//! Finding the pod and the container that a command names, as kubectl does.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, Pod};
use thiserror::Error;
use witlet_core::pod::static_pod::is_static;

#[cfg(test)]
mod tests;

/// What kubectl takes without a container's name.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// Close names that an error lists.
const SUGGESTIONS_MAX: usize = 3;
/// Letters that may be wrong in a short name for it to be close.
const DISTANCE_MIN: usize = 1;
/// One more may be wrong for each of so many letters.
const CHARS_PER_MISTAKE: usize = 4;

/// Prefixes of pods' names that kubectl takes.
const PREFIXES: [&str; 3] = ["pod/", "pods/", "po/"];

/// Why nothing is meant by a name.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum LookupError {
    /// No pod has it.
    #[error("pod {name:?} not found in namespace {namespace:?}{}", hint(.elsewhere, .close))]
    Pod {
        /// As it was given.
        name: String,
        /// Where it was looked for.
        namespace: String,
        /// Namespaces that have one of this name.
        elsewhere: Vec<String>,
        /// Names of the namespace that are close.
        close: Vec<String>,
    },
    /// The pod has no such container.
    #[error("container {name:?} not found in pod {pod:?}; it has: {}", .containers.join(", "))]
    Container {
        /// As it was given.
        name: String,
        pod: String,
        /// Those that it has.
        containers: Vec<String>,
    },
    /// The pod has no containers at all.
    #[error("pod {pod:?} has no containers")]
    NoContainers { pod: String },
}

fn hint(elsewhere: &[String], close: &[String]) -> String {
    match (elsewhere, close) {
        ([], []) => String::new(),
        ([], close) => format!("; did you mean {}?", close.join(", ")),
        ([first, ..], _) => format!("; there is one in namespace {first:?}: add -n {first}"),
    }
}

/// The pod that is meant by a name in a namespace. That of a static pod ends with the node's; without that end it is found, too.
pub(crate) fn pod<'a>(
    pods: &'a [Arc<Pod>],
    namespace: &str,
    name: &str,
) -> Result<&'a Arc<Pod>, LookupError> {
    let bare = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let in_namespace = |pod: &&Arc<Pod>| namespace_of(pod) == namespace;
    let here: Vec<&Arc<Pod>> = pods.iter().filter(in_namespace).collect();
    let exact = here.iter().filter(|pod| name_of(pod) == bare);
    // While a pod ends, its successor may have the name already.
    if let Some(found) = exact.min_by_key(|pod| pod.metadata.deletion_timestamp.is_some()) {
        return Ok(found);
    }
    let by_manifest = here.iter().filter(|pod| manifest_name(pod) == Some(bare));
    if let Some(found) = by_manifest.min_by_key(|pod| pod.metadata.deletion_timestamp.is_some()) {
        return Ok(found);
    }
    let named = |pod: &Arc<Pod>| name_of(pod) == bare || manifest_name(pod) == Some(bare);
    let mut elsewhere: Vec<String> =
        pods.iter().filter(|pod| named(pod)).map(|pod| namespace_of(pod).to_owned()).collect();
    elsewhere.sort();
    elsewhere.dedup();
    let close = close(bare, here.iter().map(|pod| manifest_name(pod).unwrap_or_else(|| name_of(pod))));
    Err(LookupError::Pod { name: bare.to_owned(), namespace: namespace.to_owned(), elsewhere, close })
}

/// Returns those of `names` that one may have meant, the closest first.
fn close<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let distance_max = DISTANCE_MIN + name.chars().count() / CHARS_PER_MISTAKE;
    let distance = |other: &str| {
        let contains = !name.is_empty() && other.contains(name);
        if contains { 0 } else { strsim::damerau_levenshtein(name, other) }
    };
    let mut rated: Vec<(usize, &str)> = names.map(|other| (distance(other), other)).collect();
    rated.retain(|(distance, _)| *distance <= distance_max);
    rated.sort_unstable();
    rated.dedup();
    rated.into_iter().take(SUGGESTIONS_MAX).map(|(_, other)| other.to_owned()).collect()
}

/// The container that is meant, and whether there was a choice: the one with this name; else the one that an annotation of
/// the pod names; else the first.
pub(crate) fn container(pod: &Pod, name: Option<&str>) -> Result<(String, bool), LookupError> {
    let all = containers(pod);
    let pod_name = || name_of(pod).to_owned();
    if let Some(name) = name {
        let is_there = all.iter().any(|(other, _)| other == name);
        let named = || LookupError::Container {
            name: name.to_owned(),
            pod: pod_name(),
            containers: all.iter().map(|(name, kind)| format!("{name}{kind}")).collect(),
        };
        return if is_there { Ok((name.to_owned(), false)) } else { Err(named()) };
    }
    let annotated = pod.metadata.annotations.as_ref().and_then(|all| all.get(DEFAULT_CONTAINER));
    let annotated = annotated.filter(|name| all.iter().any(|(other, _)| other == *name));
    let first = all.first().map(|(name, _)| name);
    let chosen = annotated.or(first).ok_or_else(|| LookupError::NoContainers { pod: pod_name() })?;
    Ok((chosen.clone(), all.len() > 1))
}

/// Names of all containers, with what isn't an ordinary one behind: `, app, setup (init)`.
pub(crate) fn shown_containers(pod: &Pod) -> String {
    let all: Vec<String> = containers(pod).iter().map(|(name, kind)| format!("{name}{kind}")).collect();
    all.join(", ")
}

fn containers(pod: &Pod) -> Vec<(String, &'static str)> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let named = |containers: &[Container], kind| -> Vec<(String, &'static str)> {
        containers.iter().map(|container| (container.name.clone(), kind)).collect()
    };
    let mut all = named(&spec.containers, "");
    all.extend(named(spec.init_containers.as_deref().unwrap_or_default(), " (init)"));
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    all.extend(ephemeral.map(|container| (container.name.clone(), " (ephem)")));
    all
}

/// The name that a static pod's manifest has: without the node's behind it.
fn manifest_name(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_ref().filter(|_| is_static(pod))?;
    name_of(pod).strip_suffix(&node.to_lowercase())?.strip_suffix('-')
}

pub(crate) fn name_of(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

pub(crate) fn namespace_of(pod: &Pod) -> &str {
    pod.metadata.namespace.as_deref().unwrap_or_default()
}
