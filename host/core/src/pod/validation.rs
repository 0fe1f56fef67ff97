//! What the API server would refuse (upstream's `pkg/apis/core/validation`), for pods that no API server has seen.
//!
//! All problems are found, not only the first, and each names its field.

mod container;
mod env;
mod handler;
mod names;
mod network;
mod security;
mod volume;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodSpec, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::resources;

pub use names::{is_dns_label, is_dns_subdomain, is_label};
pub(crate) use names::{is_environment_name, is_qualified_name};

#[cfg(test)]
mod tests;

/// Labels that one pod may have. Upstream has no such bound; the runtime keeps them all, and many times fewer are in use.
pub const LABELS_MAX: usize = 1000;
/// Bytes of all annotations together, keys and values: upstream's bound.
pub const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
/// Bytes of the whole pod as JSON: what an API server's store takes.
pub const POD_BYTES_MAX: usize = 1536 * 1024;
/// Problems that are reported of one pod; the rest is counted.
pub const PROBLEMS_MAX: usize = 50;

/// One thing wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FieldError {
    /// Path from the object's root, such as `spec.containers[0].name`.
    pub path: String,
    /// What is wrong, without the path.
    pub message: String,
}

/// Collects problems up to a bound.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<FieldError>,
    beyond: usize,
}

impl Problems {
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if self.found.len() < PROBLEMS_MAX {
            self.found.push(FieldError { path: path.into(), message: message.into() });
        } else {
            self.beyond += 1;
        }
    }

    /// The problems; a last one counts those beyond the bound.
    pub(crate) fn finish(mut self, root: &str) -> Vec<FieldError> {
        if self.beyond > 0 {
            let message = format!("and {} more errors", self.beyond);
            self.found.push(FieldError { path: root.to_owned(), message });
        }
        self.found
    }

    fn one_of(&mut self, path: &str, value: Option<&str>, allowed: &[&str]) {
        if let Some(value) = value.filter(|value| !allowed.contains(value)) {
            self.add(
                path,
                format!("Unsupported value: {}: supported values: {}", quoted(value), allowed.join(", ")),
            );
        }
    }
}

/// A foreign text for a message: quoted, and cut where it gets long.
fn quoted(text: &str) -> String {
    const SHOWN_MAX: usize = 80;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Everything wrong with a pod whose defaults are filled in; empty if it may run. Takes time linear in its size.
pub fn validate(pod: &Pod) -> Vec<FieldError> {
    let mut problems = Problems::default();
    metadata(&pod.metadata, &mut problems);
    match &pod.spec {
        Some(spec) => spec_fields(spec, &mut problems),
        None => problems.add("spec", "Required value"),
    }
    // Whatever made it large has usually been named by now.
    if problems.found.is_empty() {
        size(pod, &mut problems);
    }
    problems.finish("metadata")
}

fn size(pod: &Pod, problems: &mut Problems) {
    match serde_json::to_vec(pod) {
        Ok(json) if json.len() > POD_BYTES_MAX => {
            let message =
                format!("Too long: the pod has {} bytes, must have at most {POD_BYTES_MAX}", json.len());
            problems.add("metadata", message);
        }
        Ok(_) => {}
        Err(error) => {
            problems.add("metadata", format!("Invalid value: the pod cannot be encoded as JSON: {error}"))
        }
    }
}

fn metadata(metadata: &ObjectMeta, problems: &mut Problems) {
    match metadata.name.as_deref().unwrap_or_default() {
        "" => problems.add("metadata.name", "Required value"),
        name => names::dns_subdomain("metadata.name", name, problems),
    }
    if let Some(namespace) = metadata.namespace.as_deref() {
        names::dns_label("metadata.namespace", namespace, problems);
    }
    // The UID becomes the name of folders.
    if let Some(uid) = metadata.uid.as_deref().filter(|uid| !names::is_uid(uid)) {
        let message = format!("Invalid value: {}: must be 1 to 64 letters, digits and `-`", quoted(uid));
        problems.add("metadata.uid", message);
    }
    match metadata.labels.as_ref() {
        Some(labels) if labels.len() > LABELS_MAX => {
            let message = format!("Too many: {}: must have at most {LABELS_MAX} items", labels.len());
            problems.add("metadata.labels", message);
        }
        Some(labels) => label_map("metadata.labels", labels, problems),
        None => {}
    }
    let annotations = metadata.annotations.iter().flatten();
    let bytes: usize = annotations.clone().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > ANNOTATIONS_BYTES_MAX {
        let message = format!("Too long: {bytes} bytes: must have at most {ANNOTATIONS_BYTES_MAX} bytes");
        problems.add("metadata.annotations", message);
        return;
    }
    for (key, _) in annotations {
        names::qualified_name("metadata.annotations", key, problems);
    }
}

fn label_map(path: &str, labels: &BTreeMap<String, String>, problems: &mut Problems) {
    for (key, value) in labels {
        names::qualified_name(path, key, problems);
        if !names::is_label_value(value) {
            let message = format!(
                "Invalid value: {}: the label {} must have at most 63 letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit",
                quoted(value),
                quoted(key)
            );
            problems.add(path, message);
        }
    }
}

fn spec_fields(spec: &PodSpec, problems: &mut Problems) {
    problems.one_of("spec.restartPolicy", spec.restart_policy.as_deref(), &["Always", "OnFailure", "Never"]);
    problems.one_of(
        "spec.dnsPolicy",
        spec.dns_policy.as_deref(),
        &["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"],
    );
    if spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
        problems
            .add("spec.terminationGracePeriodSeconds", "Invalid value: must be greater than or equal to 0");
    }
    if spec.active_deadline_seconds.is_some_and(|seconds| !(1..=i64::from(i32::MAX)).contains(&seconds)) {
        problems.add(
            "spec.activeDeadlineSeconds",
            format!("Invalid value: must be between 1 and {}, inclusive", i32::MAX),
        );
    }
    network::all(spec, problems);
    namespaces(spec, problems);
    if let Some(selector) = &spec.node_selector {
        label_map("spec.nodeSelector", selector, problems);
    }
    for (index, toleration) in spec.tolerations.iter().flatten().enumerate() {
        tolerates(&format!("spec.tolerations[{index}]"), toleration, problems);
    }
    container::resource_list("spec.overhead", spec.overhead.as_ref(), problems);
    pod_resources(spec, problems);
    security::of_pod(spec, problems);
    volume::all(spec, problems);
    container::all(spec, problems);
}

fn namespaces(spec: &PodSpec, problems: &mut Problems) {
    if spec.share_process_namespace == Some(true) && spec.host_pid == Some(true) {
        problems.add("spec.shareProcessNamespace", "Forbidden: may not be true together with spec.hostPID");
    }
    if spec.host_users == Some(false) {
        let of_host = [
            ("spec.hostNetwork", spec.host_network),
            ("spec.hostPID", spec.host_pid),
            ("spec.hostIPC", spec.host_ipc),
        ];
        for (field, _) in of_host.into_iter().filter(|(_, set)| *set == Some(true)) {
            problems.add(field, "Forbidden: may not be true when spec.hostUsers is false");
        }
    }
    if let Some(class) = spec.runtime_class_name.as_deref().filter(|class| !class.is_empty()) {
        names::dns_subdomain("spec.runtimeClassName", class, problems);
    }
    for (index, gate) in spec.readiness_gates.iter().flatten().enumerate() {
        names::qualified_name(
            &format!("spec.readinessGates[{index}].conditionType"),
            &gate.condition_type,
            problems,
        );
    }
}

/// What the pod as a whole asks for must hold what its containers ask for, and each container's limit.
fn pod_resources(spec: &PodSpec, problems: &mut Problems) {
    let Some(own) = &spec.resources else { return };
    let path = "spec.resources";
    container::resources(path, own, problems);
    let lists = [("requests", &own.requests), ("limits", &own.limits)];
    for (list, name) in
        lists.iter().flat_map(|(list, of)| of.iter().flat_map(|of| of.keys()).map(move |name| (list, name)))
    {
        if name != resources::CPU && name != resources::MEMORY && !name.starts_with(resources::HUGE_PAGES) {
            problems.add(
                format!("{path}.{list}.{name}"),
                "Unsupported value: supported resources of a pod: cpu, memory, hugepages-<size>",
            );
        }
    }
    let of_containers = resources::container_requests(spec);
    let amount = |name: &str, quantity| resources::amount(name, quantity).unwrap_or_default();
    for (name, quantity) in own.requests.iter().flatten() {
        if of_containers.get(name).is_some_and(|asked| *asked > amount(name, quantity)) {
            let message =
                "Invalid value: must be greater than or equal to the requests of all containers together";
            problems.add(format!("{path}.requests.{name}"), message);
        }
    }
    for (name, quantity) in own.limits.iter().flatten() {
        let most = amount(name, quantity);
        let mut limits = spec
            .containers
            .iter()
            .chain(spec.init_containers.iter().flatten())
            .filter_map(|container| container.resources.as_ref()?.limits.as_ref()?.get(name));
        if limits.any(|limit| amount(name, limit) > most) {
            problems.add(
                format!("{path}.limits.{name}"),
                "Invalid value: must be greater than or equal to each container's limit",
            );
        }
    }
}

fn tolerates(path: &str, toleration: &Toleration, problems: &mut Problems) {
    let operator = toleration.operator.as_deref().filter(|operator| !operator.is_empty());
    let key = toleration.key.as_deref().unwrap_or_default();
    problems.one_of(&format!("{path}.operator"), operator, &["Exists", "Equal", "Lt", "Gt"]);
    problems.one_of(
        &format!("{path}.effect"),
        toleration.effect.as_deref().filter(|effect| !effect.is_empty()),
        &["NoSchedule", "PreferNoSchedule", "NoExecute"],
    );
    if !key.is_empty() {
        names::qualified_name(&format!("{path}.key"), key, problems);
    } else if operator != Some("Exists") {
        problems.add(format!("{path}.operator"), "Invalid value: must be Exists when the key is empty");
    }
    if operator == Some("Exists") && toleration.value.as_deref().is_some_and(|value| !value.is_empty()) {
        problems.add(format!("{path}.value"), "Invalid value: must be empty when the operator is Exists");
    }
    if toleration.toleration_seconds.is_some() && toleration.effect.as_deref() != Some("NoExecute") {
        problems
            .add(format!("{path}.effect"), "Invalid value: must be NoExecute when tolerationSeconds is set");
    }
}
