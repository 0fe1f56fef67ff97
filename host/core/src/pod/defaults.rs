//! The values that the API server fills in where a pod leaves them out (upstream's `pkg/apis/core/v1/defaults.go`).
//!
//! Sources that bypass an API server do it themselves, so that everybody behind them sees whole pods.

use k8s_openapi::api::core::v1::{Container, Pod, ResourceRequirements};

#[cfg(test)]
mod tests;

/// Seconds that a pod is given to end.
pub const TERMINATION_GRACE_SECONDS: i64 = 30;
/// Where a container may leave its last words.
pub const TERMINATION_MESSAGE_PATH: &str = "/dev/termination-log";

/// Fills in what is missing and changes nothing that is there.
pub fn apply(pod: &mut Pod) {
    let spec = pod.spec.get_or_insert_default();
    default(&mut spec.dns_policy, "ClusterFirst");
    default(&mut spec.restart_policy, "Always");
    default(&mut spec.scheduler_name, "default-scheduler");
    spec.enable_service_links.get_or_insert(true);
    spec.termination_grace_period_seconds.get_or_insert(TERMINATION_GRACE_SECONDS);
    spec.security_context.get_or_insert_default();
    let on_host = spec.host_network.unwrap_or(false);
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        apply_to_container(container, on_host);
    }
}

/// An empty word counts as none, as it does for upstream.
fn default(field: &mut Option<String>, value: &str) {
    if field.as_deref().unwrap_or_default().is_empty() {
        *field = Some(value.to_owned());
    }
}

fn apply_to_container(container: &mut Container, on_host: bool) {
    let policy =
        if is_latest(container.image.as_deref().unwrap_or_default()) { "Always" } else { "IfNotPresent" };
    default(&mut container.image_pull_policy, policy);
    default(&mut container.termination_message_path, TERMINATION_MESSAGE_PATH);
    default(&mut container.termination_message_policy, "File");
    for port in container.ports.iter_mut().flatten() {
        default(&mut port.protocol, "TCP");
        if on_host && port.host_port.unwrap_or(0) == 0 {
            port.host_port = Some(port.container_port);
        }
    }
    let sources = container.env.iter_mut().flatten().filter_map(|variable| variable.value_from.as_mut());
    for field in sources.filter_map(|source| source.field_ref.as_mut()) {
        default(&mut field.api_version, "v1");
    }
    if let Some(resources) = &mut container.resources {
        requests_from_limits(resources);
    }
}

/// Who sets a limit and no request asks for as much as the limit.
fn requests_from_limits(resources: &mut ResourceRequirements) {
    let Some(limits) = resources.limits.as_ref().filter(|limits| !limits.is_empty()) else { return };
    let requests = resources.requests.get_or_insert_default();
    for (name, limit) in limits {
        requests.entry(name.clone()).or_insert_with(|| limit.clone());
    }
}

/// Whether the reference means whatever is newest: tag `latest`, or neither tag nor digest. What is no registry
/// reference, such as `file:/srv/hello.wasm`, has no tag that could move.
fn is_latest(image: &str) -> bool {
    if image.contains('@') || image.starts_with("file:") {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    !last.is_empty() && last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}
