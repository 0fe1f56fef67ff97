//! Containers of a pod: what they run, how they are, and what they get.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerPort, ContainerState, ContainerStatus, EnvVar, EphemeralContainer, PodSpec,
    PodStatus, Probe, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::sections::time;
use super::text::{NONE, Text};

#[cfg(test)]
mod tests;

/// Writes all containers, in sections as kubectl has them.
pub(super) fn containers(text: &mut Text, spec: &PodSpec, status: &PodStatus) {
    let init = spec.init_containers.as_deref().unwrap_or_default();
    let section = |text: &mut Text, key: &str, all: &[Container], statuses: Option<&Vec<ContainerStatus>>| {
        if all.is_empty() {
            return;
        }
        text.heading(0, key);
        for container in all {
            let status = statuses.into_iter().flatten().find(|status| status.name == container.name);
            one(text, container, status);
        }
    };
    section(text, "Init Containers", init, status.init_container_statuses.as_ref());
    section(text, "Containers", &spec.containers, status.container_statuses.as_ref());
    let ephemeral: Vec<Container> = spec.ephemeral_containers.iter().flatten().map(as_container).collect();
    section(text, "Ephemeral Containers", &ephemeral, status.ephemeral_container_statuses.as_ref());
}

fn as_container(ephemeral: &EphemeralContainer) -> Container {
    let EphemeralContainer { name, image, command, args, env, volume_mounts, .. } = ephemeral.clone();
    Container { name, image, command, args, env, volume_mounts, ..Container::default() }
}

fn one(text: &mut Text, container: &Container, status: Option<&ContainerStatus>) {
    text.heading(1, &container.name);
    let empty = ContainerStatus::default();
    let seen = status.unwrap_or(&empty);
    text.field(2, "Container ID", seen.container_id.as_deref().unwrap_or_default());
    text.field(2, "Image", container.image.as_deref().unwrap_or_default());
    text.field(2, "Image ID", &seen.image_id);
    let ports = container.ports.as_deref().unwrap_or_default();
    text.list(2, "Ports", ports.iter().map(port));
    text.some(2, "Restart Policy", container.restart_policy.as_ref());
    words(text, "Command", container.command.as_deref().unwrap_or_default());
    words(text, "Args", container.args.as_deref().unwrap_or_default());
    if status.is_some() {
        state(text, "State", seen.state.as_ref());
        if seen.last_state.as_ref().is_some_and(|last| last.terminated.is_some()) {
            state(text, "Last State", seen.last_state.as_ref());
        }
        text.field(2, "Ready", if seen.ready { "True" } else { "False" });
        text.field(2, "Restart Count", seen.restart_count.to_string());
    }
    let resources = container.resources.clone().unwrap_or_default();
    amounts(text, "Limits", resources.limits.as_ref());
    amounts(text, "Requests", resources.requests.as_ref());
    text.some(2, "Liveness", container.liveness_probe.as_ref().map(probe));
    text.some(2, "Readiness", container.readiness_probe.as_ref().map(probe));
    text.some(2, "Startup", container.startup_probe.as_ref().map(probe));
    text.list(2, "Environment", container.env.iter().flatten().map(variable));
    text.list(2, "Mounts", container.volume_mounts.iter().flatten().map(mount));
}

fn port(port: &ContainerPort) -> String {
    let protocol = port.protocol.as_deref().unwrap_or("TCP");
    let name = port.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let host = port.host_port.filter(|port| *port != 0).map(|host| format!(", host port {host}"));
    format!("{}/{protocol}{name}{}", port.container_port, host.unwrap_or_default())
}

/// Each word on a line, so that it is seen where one begins.
fn words(text: &mut Text, key: &str, words: &[String]) {
    if words.is_empty() {
        return;
    }
    text.heading(2, key);
    for word in words {
        text.line(3, word);
    }
}

fn state(text: &mut Text, key: &str, state: Option<&ContainerState>) {
    let state = state.cloned().unwrap_or_default();
    let at =
        |time_of: Option<&k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| time_of.map(|at| time(at.0));
    if let Some(running) = &state.running {
        text.field(2, key, "Running");
        text.some(3, "Started", at(running.started_at.as_ref()));
    } else if let Some(ended) = &state.terminated {
        text.field(2, key, "Terminated");
        text.some(3, "Reason", ended.reason.as_ref());
        text.some(3, "Message", ended.message.as_ref());
        text.field(3, "Exit Code", ended.exit_code.to_string());
        text.some(3, "Signal", ended.signal.filter(|signal| *signal != 0).map(|signal| signal.to_string()));
        text.some(3, "Started", at(ended.started_at.as_ref()));
        text.some(3, "Finished", at(ended.finished_at.as_ref()));
    } else {
        text.field(2, key, "Waiting");
        let waiting = state.waiting.unwrap_or_default();
        text.some(3, "Reason", waiting.reason);
        text.some(3, "Message", waiting.message);
    }
}

fn amounts(text: &mut Text, key: &str, amounts: Option<&BTreeMap<String, Quantity>>) {
    let Some(amounts) = amounts.filter(|amounts| !amounts.is_empty()) else { return };
    text.heading(2, key);
    for (resource, amount) in amounts {
        text.field(3, resource, &amount.0);
    }
}

/// Returns the text as kubectl describes it: `http-get http://:8080/ delay=0s timeout=1s period=10s #success=1 #failure=3`.
fn probe(probe: &Probe) -> String {
    let shown = |port: &IntOrString| match port {
        IntOrString::Int(port) => port.to_string(),
        IntOrString::String(name) => name.clone(),
    };
    let check = if let Some(exec) = &probe.exec {
        format!("exec [{}]", exec.command.as_deref().unwrap_or_default().join(" "))
    } else if let Some(get) = &probe.http_get {
        let scheme = get.scheme.as_deref().unwrap_or("HTTP").to_lowercase();
        let host = get.host.as_deref().unwrap_or_default();
        format!("http-get {scheme}://{host}:{}{}", shown(&get.port), get.path.as_deref().unwrap_or("/"))
    } else if let Some(tcp) = &probe.tcp_socket {
        format!("tcp-socket {}:{}", tcp.host.as_deref().unwrap_or_default(), shown(&tcp.port))
    } else if let Some(grpc) = &probe.grpc {
        format!("grpc <pod>:{} {}", grpc.port, grpc.service.as_deref().unwrap_or_default())
            .trim_end()
            .to_owned()
    } else {
        "unknown".to_owned()
    };
    format!(
        "{check} delay={}s timeout={}s period={}s #success={} #failure={}",
        probe.initial_delay_seconds.unwrap_or(0),
        probe.timeout_seconds.unwrap_or(1),
        probe.period_seconds.unwrap_or(10),
        probe.success_threshold.unwrap_or(1),
        probe.failure_threshold.unwrap_or(3),
    )
}

/// A value that comes from elsewhere is named, not shown.
fn variable(variable: &EnvVar) -> String {
    let Some(from) = &variable.value_from else {
        return format!("{}={}", variable.name, variable.value.as_deref().unwrap_or_default());
    };
    let from = if let Some(field) = &from.field_ref {
        format!("(v1:{})", field.field_path)
    } else if let Some(resource) = &from.resource_field_ref {
        format!(
            "({} of {})",
            resource.resource,
            resource.container_name.as_deref().unwrap_or("this container")
        )
    } else if let Some(map) = &from.config_map_key_ref {
        format!("<set to the key '{}' of config map '{}'>", map.key, map.name)
    } else if let Some(secret) = &from.secret_key_ref {
        format!("<set to the key '{}' in secret '{}'>", secret.key, secret.name)
    } else {
        NONE.to_owned()
    };
    format!("{}={from}", variable.name)
}

fn mount(mount: &VolumeMount) -> String {
    let mode = if mount.read_only == Some(true) { "ro" } else { "rw" };
    let path = mount.sub_path.as_ref().filter(|path| !path.is_empty());
    let path = path.map(|path| format!(",path={path:?}")).unwrap_or_default();
    format!("{} from {} ({mode}{path})", mount.mount_path, mount.name)
}
