//! The values that the API server fills in where a pod leaves them out (upstream's `pkg/apis/core/v1/defaults.go`).
//!
//! Sources that bypass an API server do it themselves, so that all code behind them sees whole pods.

use k8s_openapi::api::core::v1::{
    Container, DownwardAPIVolumeFile, EphemeralContainer, HTTPGetAction, LifecycleHandler,
    ObjectFieldSelector, Pod, PodSpec, Probe, ResourceRequirements, Volume,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::resources::{self, CPU, HUGE_PAGES, MEMORY};

#[cfg(test)]
mod tests;

/// Seconds that a pod is given to end.
pub const TERMINATION_GRACE_SECONDS: i64 = 30;
/// Where a container may leave its last words.
pub const TERMINATION_MESSAGE_PATH: &str = "/dev/termination-log";
/// Permission bits of files that the agent writes into volumes.
pub const FILE_MODE: i32 = 0o644;

/// Fills in what is missing and changes nothing that is there. A `resizePolicy` that leaves a resource out stays so, for
/// that says `NotRequired`.
pub fn apply(pod: &mut Pod) {
    fill_in(pod);
    let spec = pod.spec.get_or_insert_default();
    // Upstream leaves it out, but the hashes of containers that run have it.
    let contexts = spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten());
    let contexts = contexts.filter_map(|container| container.security_context.as_mut());
    let ephemeral = spec.ephemeral_containers.iter_mut().flatten();
    for context in contexts.chain(ephemeral.filter_map(|container| container.security_context.as_mut())) {
        default(&mut context.proc_mount, "Default");
    }
    pod_requests(spec);
}

/// The same without what is this agent's own: exactly what a kubelet fills in, but for the resources of the pod as a whole. UIDs of
/// static pods depend on it ([`super::static_pod`]).
pub(super) fn fill_in(pod: &mut Pod) {
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
    for container in spec.ephemeral_containers.iter_mut().flatten() {
        apply_to_ephemeral(container);
    }
    for volume in spec.volumes.iter_mut().flatten() {
        apply_to_volume(volume);
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
    for source in container.env.iter_mut().flatten().filter_map(|variable| variable.value_from.as_mut()) {
        source.field_ref.iter_mut().for_each(apply_to_field);
        if let Some(key) = &mut source.file_key_ref {
            key.optional.get_or_insert(false);
        }
    }
    if let Some(resources) = &mut container.resources {
        requests_from_limits(resources);
    }
    let Container { liveness_probe, readiness_probe, startup_probe, lifecycle, .. } = container;
    for probe in [liveness_probe, readiness_probe, startup_probe].into_iter().flatten() {
        apply_to_probe(probe);
    }
    if let Some(lifecycle) = lifecycle {
        for handler in [&mut lifecycle.post_start, &mut lifecycle.pre_stop].into_iter().flatten() {
            let LifecycleHandler { http_get, exec: _, sleep: _, tcp_socket: _ } = handler;
            http_get.iter_mut().for_each(apply_to_http);
        }
    }
}

/// An ephemeral container has no more than this in common with the others.
fn apply_to_ephemeral(container: &mut EphemeralContainer) {
    let mut common = Container {
        image: container.image.clone(),
        image_pull_policy: container.image_pull_policy.take(),
        termination_message_path: container.termination_message_path.take(),
        termination_message_policy: container.termination_message_policy.take(),
        env: container.env.take(),
        ..Container::default()
    };
    apply_to_container(&mut common, false);
    container.image_pull_policy = common.image_pull_policy;
    container.termination_message_path = common.termination_message_path;
    container.termination_message_policy = common.termination_message_policy;
    container.env = common.env;
}

fn apply_to_field(field: &mut ObjectFieldSelector) {
    default(&mut field.api_version, "v1");
}

/// A number of 0 counts as none, as it does for upstream.
fn apply_to_probe(probe: &mut Probe) {
    let numbers = [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ];
    for (field, value) in numbers {
        if field.unwrap_or_default() == 0 {
            *field = Some(value);
        }
    }
    probe.http_get.iter_mut().for_each(apply_to_http);
    if let Some(grpc) = &mut probe.grpc {
        grpc.service.get_or_insert_default();
    }
}

fn apply_to_http(http: &mut HTTPGetAction) {
    default(&mut http.path, "/");
    default(&mut http.scheme, "HTTP");
}

/// A volume without a source is an empty folder.
fn apply_to_volume(volume: &mut Volume) {
    let bare = Volume { name: volume.name.clone(), ..Volume::default() };
    if *volume == bare {
        volume.empty_dir = Some(Default::default());
    }
    let apply_to_items = |items: &mut Option<Vec<DownwardAPIVolumeFile>>| {
        items.iter_mut().flatten().filter_map(|item| item.field_ref.as_mut()).for_each(apply_to_field);
    };
    if let Some(host_path) = &mut volume.host_path {
        host_path.type_.get_or_insert_default();
    }
    if let Some(files) = &mut volume.downward_api {
        files.default_mode.get_or_insert(FILE_MODE);
        apply_to_items(&mut files.items);
    }
    if let Some(projected) = &mut volume.projected {
        projected.default_mode.get_or_insert(FILE_MODE);
        for source in projected.sources.iter_mut().flatten() {
            if let Some(files) = &mut source.downward_api {
                apply_to_items(&mut files.items);
            }
        }
    }
    for mode in [
        volume.config_map.as_mut().map(|source| &mut source.default_mode),
        volume.secret.as_mut().map(|source| &mut source.default_mode),
    ]
    .into_iter()
    .flatten()
    {
        mode.get_or_insert(FILE_MODE);
    }
}

/// A pod that is limited as a whole and asks for nothing as a whole asks for what its containers do, else for its limit.
fn pod_requests(spec: &mut PodSpec) {
    let of_containers = resources::container_requests(spec);
    let Some(own) = &mut spec.resources else { return };
    let Some(limits) = own.limits.as_ref().filter(|limits| !limits.is_empty()) else { return };
    let requests = own.requests.get_or_insert_default();
    for (name, limit) in limits {
        let asked = match name.as_str() {
            CPU => of_containers.get(name).map(|milli| format!("{milli}m")),
            MEMORY => of_containers.get(name).map(i64::to_string),
            name if name.starts_with(HUGE_PAGES) => None,
            _ => continue,
        };
        requests.entry(name.clone()).or_insert_with(|| asked.map_or_else(|| limit.clone(), Quantity));
    }
}

/// Who sets a limit and no request asks for as much as the limit.
fn requests_from_limits(resources: &mut ResourceRequirements) {
    let Some(limits) = &resources.limits else { return };
    let requests = resources.requests.get_or_insert_default();
    for (name, limit) in limits {
        requests.entry(name.clone()).or_insert_with(|| limit.clone());
    }
}

/// Whether the reference means whatever is newest: tag `latest`, or neither tag nor digest. What is no registry
/// reference, such as `file:/srv/hello.wasm`, has no tag that could move.
fn is_latest(image: &str) -> bool {
    if image.starts_with("file:") {
        return false;
    }
    let (name, has_digest) = image.split_once('@').map_or((image, false), |(name, _)| (name, true));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => !last.is_empty() && !has_digest,
    }
}
