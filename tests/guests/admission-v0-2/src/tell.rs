//! All that a request has, as JSON. A rejection's message holds one part of it.

use serde_json::{Value, json};

use crate::bindings::witlet::admission::admission_types::{
    Condition, Container, ContainerPort, HostPort, Image, Mount, Node, Owner, Pod, Request, ResolvedImage,
    Volume,
};
use crate::bindings::witlet::host::errors::Error;
use crate::bindings::witlet::host::log::Level;
use crate::bindings::witlet::host::{data, features, log, node, secret};

/// One part of it.
pub(crate) fn tell(what: &str, request: &Request) -> Value {
    let asking = request.pod();
    match what {
        "tell-request" => self::request(request),
        "tell-pod" => pod(&asking),
        "tell-old-pod" => request.old_pod().as_ref().map_or(Value::Null, pod),
        "tell-containers" => asking.containers().iter().map(container).collect(),
        "tell-security" => asking.containers().iter().map(security).collect(),
        "tell-images" => asking.images().iter().map(image).collect(),
        "tell-resolved-image" => request.image().as_ref().map_or(Value::Null, resolved_image),
        "tell-volumes" => asking.volumes().iter().map(volume).collect(),
        "tell-node" => node(&request.node()),
        "tell-host" => host(),
        "tell-data" => {
            json!({ "names": data::names(), "list": opened("list"), "empty": opened("empty"), "other": opened("other") })
        }
        other => json!({ "unknown": other }),
    }
}

fn resolved_image(image: &ResolvedImage) -> Value {
    json!({
        "container": image.container().place(),
        "id": image.id(),
        "digest": image.digest(),
        "size": image.size(),
        "credentials": image.credentials(),
    })
}

fn request(request: &Request) -> Value {
    let now = request.now();
    json!({
        "operation": request.operation(),
        "now": [now.seconds, i64::from(now.nanoseconds)],
        "pod": request.pod().name(),
        "oldPod": request.old_pod().map(|old| old.name()),
        "node": request.node().name(),
        "otherPods": request.other_pods().iter().map(Pod::name).collect::<Vec<_>>(),
    })
}

fn pod(pod: &Pod) -> Value {
    let mut reported = json!({
        "namespace": pod.namespace(),
        "name": pod.name(),
        "uid": pod.uid(),
        "source": pod.source(),
        "label": [pod.label("app"), pod.label("none")],
        "labels": pod.labels(),
        "annotation": [pod.annotation("note"), pod.annotation("none")],
        "annotations": pod.annotations(),
        "owners": pod.owners().iter().map(owner).collect::<Vec<_>>(),
        "serviceAccount": pod.service_account(),
        "hasServiceAccountToken": pod.has_service_account_token(),
        "priority": pod.priority(),
        "priorityClass": pod.priority_class(),
        "runtimeClass": pod.runtime_class(),
        "runtimeHandler": pod.runtime_handler(),
        "qos": pod.qos(),
    });
    let more = json!({
        "host": [pod.host_network(), pod.host_pid(), pod.host_ipc(), pod.host_users()],
        "resources": pod.resources(),
        "request": [pod.request("cpu"), pod.request("none")],
        "limit": [pod.limit("memory"), pod.limit("none")],
        "hostPorts": pod.host_ports().iter().map(host_port).collect::<Vec<_>>(),
        "hasJson": pod.json().contains("\"containers\""),
        "pointer": [pod.pointer("/metadata/name"), pod.pointer("/none")],
    });
    if let (Value::Object(reported), Value::Object(more)) = (&mut reported, more) {
        reported.extend(more);
    }
    reported
}

fn owner(owner: &Owner) -> Value {
    json!([owner.api_version(), owner.kind(), owner.name(), owner.uid(), owner.is_controller()])
}

fn container(container: &Container) -> Value {
    json!({
        "name": container.name(),
        "kind": container.kind(),
        "place": container.place(),
        "image": container.image().name(),
        "pullPolicy": container.pull_policy(),
        "resources": container.resources(),
        "request": [container.request("cpu"), container.request("none")],
        "limit": [container.limit("memory"), container.limit("none")],
        "env": container.env_names(),
        "ports": container.ports().iter().map(port).collect::<Vec<_>>(),
        "mounts": container.mounts().iter().map(mount).collect::<Vec<_>>(),
        "pointer": [container.pointer("/name"), container.pointer("/none"), container.pointer("0")],
    })
}

fn security(container: &Container) -> Value {
    json!({
        "privileged": container.privileged(),
        "runAsNonRoot": container.run_as_non_root(),
        "runAs": [container.run_as_user(), container.run_as_group()],
        "allowPrivilegeEscalation": container.allow_privilege_escalation(),
        "readOnly": container.read_only_root_filesystem(),
        "profiles": [container.seccomp_profile(), container.apparmor_profile()],
        "capabilities": [container.added_capabilities(), container.dropped_capabilities()],
    })
}

fn port(port: &ContainerPort) -> Value {
    json!([port.name(), port.number(), port.protocol(), port.host_port()])
}

fn host_port(port: &HostPort) -> Value {
    json!([port.address(), port.protocol(), port.number()])
}

fn mount(mount: &Mount) -> Value {
    json!([mount.volume(), mount.path(), mount.sub_path(), mount.read_only(), mount.is_device()])
}

fn image(image: &Image) -> Value {
    json!({
        "reference": image.reference(),
        "place": image.place(),
        "name": image.name(),
        "parts": [image.registry(), image.repository(), image.tag(), image.digest()],
    })
}

fn volume(volume: &Volume) -> Value {
    json!({
        "name": volume.name(),
        "kind": volume.kind(),
        "hostPath": volume.host_path(),
        "image": volume.image().map(|image| image.place()),
        "pointer": volume.pointer("/name"),
    })
}

fn node(node: &Node) -> Value {
    let taints = node.taints().into_iter().map(|taint| json!([taint.key(), taint.value(), taint.effect()]));
    json!({
        "name": node.name(),
        "label": [node.label("disk"), node.label("none")],
        "labels": node.labels(),
        "taints": taints.collect::<Vec<_>>(),
        "condition": [node.condition("Ready").as_ref().map(condition), node.condition("None").as_ref().map(condition)],
        "conditions": node.conditions().len(),
        "resources": node.resources(),
        "cpu": [node.capacity("cpu"), node.allocatable("cpu"), Some(node.requested("cpu")), node.available("cpu")],
        "used": [node.used("memory"), node.used("none")],
        "none": [node.capacity("none"), node.allocatable("none"), Some(node.requested("none")), node.available("none")],
        "usedHostPorts": node.used_host_ports().iter().map(host_port).collect::<Vec<_>>(),
        "fact": [node.fact("cgroup.version"), node.fact("none")],
        "facts": node.facts(),
        "devices": node.devices(),
        "hasJson": node.json().contains("\"labels\""),
        "pointer": node.pointer("/metadata/labels/disk"),
    })
}

fn condition(condition: &Condition) -> Value {
    json!([condition.kind(), condition.status(), condition.reason(), condition.message()])
}

fn host() -> Value {
    let mut enabled = 0;
    for level in [Level::Trace, Level::Debug, Level::Info, Level::Warn, Level::Error] {
        if log::enabled(level) {
            log::write(level, "reported", &[("language".to_owned(), "rust".to_owned())]);
            enabled += 1;
        }
    }
    json!({
        "enabled": enabled,
        "node": [node::name(), node::label("disk"), node::label("none"), node::zone()],
        "labels": node::labels(),
        "addresses": node::addresses(),
        "allocatable": [node::allocatable("cpu"), node::allocatable("none")],
        "features": [features::has("shadow"), features::has("teleport")],
        "secrets": [secret("granted"), secret("missing"), secret("other")],
    })
}

/// Digest, size, all bytes, those from the second on, and those beyond the end.
fn opened(name: &str) -> Value {
    let snapshot = match data::open(name) {
        Ok(snapshot) => snapshot,
        Err(error) => return self::error(&error),
    };
    let read = |offset, length| String::from_utf8_lossy(&snapshot.read(offset, length)).into_owned();
    let size = snapshot.size();
    json!([snapshot.digest(), size, read(0, size), read(1, u64::MAX), read(size, 1)])
}

fn secret(name: &str) -> Value {
    match secret::get(name) {
        Ok(bytes) => json!(String::from_utf8_lossy(&bytes)),
        Err(error) => self::error(&error),
    }
}

fn error(error: &Error) -> Value {
    json!([error.code(), error.message(), error.retry_after_milliseconds(), error.detail("none")])
}
