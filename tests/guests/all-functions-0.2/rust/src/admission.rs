//! The role admission: what a request has, a part at a time, or the answer that the configuration names.

use serde_json::{Value, json};

use crate::bindings::exports::witlet::admission::handler::Guest;
use crate::bindings::witlet::admission::admission_types::{
    Answer, Condition, Container, ContainerPort, HostPort, Image, Mount, Node, Owner, Pod, Request,
    ResolvedImage, Setup, Taint, Volume,
};
use crate::bindings::witlet::host::errors::Error;
use crate::bindings::witlet::host::log::Level;
use crate::{AllFunctions, NONE, attack, each, host, text};

impl Guest for AllFunctions {
    fn validate(setup: &Setup, config: String) -> Result<(), Error> {
        for operation in ["add", "resize", "update", "image-resolved"] {
            setup.subscribe(operation);
        }
        setup.warn(&json!({"setup.knows": [setup.knows("add"), setup.knows("fly")]}).to_string());
        host::refuse(&config)
    }

    fn admit(request: &Request, answer: &Answer) -> Result<(), Error> {
        log_each_level();
        let config = host::configuration();
        match text(&config["do"]) {
            "admit" => answer.admit(),
            "attack" => attack::run(text(&config["attack"]), answer),
            "defer" => answer.defer("NotNow", "not now", 5000),
            "shortage" => {
                answer.shortage("cpu", 500, 800, 1000);
                answer.shortage("memory", 5, 8, 10);
            }
            "error" => return Err(host::own_error()),
            "remark" => {
                answer.warn("it is old");
                answer.annotate("image", "first");
                answer.reject("Reported", &json!({"answer.warn": true, "answer.annotate": true}).to_string());
            }
            part => answer.reject("Reported", &tell(part, request).to_string()),
        }
        Ok(())
    }
}

fn log_each_level() {
    let levels = [
        (Level::Trace, "trace"),
        (Level::Debug, "debug"),
        (Level::Info, "info"),
        (Level::Warn, "warn"),
        (Level::Error, "error"),
    ];
    for (level, name) in levels {
        host::log(level, &format!("logged at {name}"));
    }
}

fn tell(part: &str, request: &Request) -> Value {
    let asking = request.pod();
    match part {
        "request" => self::request(request),
        "pod" => pod(&asking),
        "containers" => asking.containers().iter().map(container).collect(),
        "security" => asking.containers().iter().map(security).collect(),
        "images" => asking.images().iter().map(image).collect(),
        "resolved-image" => request.image().as_ref().map_or(Value::Null, resolved_image),
        "volumes" => asking.volumes().iter().map(volume).collect(),
        "node" => node(&request.node()),
        "host" => host::tell(),
        "data" => host::tell_data(),
        "own-error" => host::tell_error(&host::own_error()),
        other => json!({ "unknown": other }),
    }
}

fn request(request: &Request) -> Value {
    let now = request.now();
    json!({
        "request.operation": request.operation(),
        "request.now": {"seconds": now.seconds, "nanoseconds": now.nanoseconds},
        "request.pod": request.pod().name(),
        "request.old-pod": request.old_pod().map(|pod| pod.name()),
        "request.image": request.image().map(|image| image.id()),
        "request.node": request.node().name(),
        "request.other-pods": request.other_pods().iter().map(Pod::name).collect::<Vec<_>>(),
    })
}

fn pod(it: &Pod) -> Value {
    let mut reported = getters(it);
    let things = json!({
        "pod.owners": it.owners().iter().map(owner).collect::<Vec<_>>(),
        "pod.containers": it.containers().iter().map(Container::name).collect::<Vec<_>>(),
        "pod.images": it.images().iter().map(Image::place).collect::<Vec<_>>(),
        "pod.volumes": it.volumes().iter().map(Volume::name).collect::<Vec<_>>(),
        "pod.host-ports": it.host_ports().iter().map(host_port).collect::<Vec<_>>(),
        "pod.json": it.json().contains("\"containers\""),
    });
    // One macro of so many members would be beyond the compiler's depth.
    if let (Value::Object(reported), Value::Object(things)) = (&mut reported, things) {
        reported.extend(things);
    }
    reported
}

fn getters(it: &Pod) -> Value {
    json!({
        "pod.namespace": it.namespace(),
        "pod.name": it.name(),
        "pod.uid": it.uid(),
        "pod.source": it.source(),
        "pod.label": each(["a", NONE], |key| it.label(key)),
        "pod.labels": it.labels(),
        "pod.annotation": each(["note", NONE], |key| it.annotation(key)),
        "pod.annotations": it.annotations(),
        "pod.service-account": it.service_account(),
        "pod.has-service-account-token": it.has_service_account_token(),
        "pod.priority": it.priority(),
        "pod.priority-class": it.priority_class(),
        "pod.runtime-class": it.runtime_class(),
        "pod.runtime-handler": it.runtime_handler(),
        "pod.qos": it.qos(),
        "pod.host-network": it.host_network(),
        "pod.host-pid": it.host_pid(),
        "pod.host-ipc": it.host_ipc(),
        "pod.host-users": it.host_users(),
        "pod.resources": it.resources(),
        "pod.request": each(["cpu", NONE], |key| it.request(key)),
        "pod.limit": each(["memory", NONE], |key| it.limit(key)),
        "pod.pointer": each(["/metadata/name", "/none"], |key| it.pointer(key)),
    })
}

fn owner(it: &Owner) -> Value {
    json!({
        "owner.api-version": it.api_version(),
        "owner.kind": it.kind(),
        "owner.name": it.name(),
        "owner.uid": it.uid(),
        "owner.is-controller": it.is_controller(),
    })
}

fn host_port(it: &HostPort) -> Value {
    json!({
        "host-port.address": it.address(),
        "host-port.protocol": it.protocol(),
        "host-port.number": it.number(),
    })
}

fn container(it: &Container) -> Value {
    json!({
        "container.name": it.name(),
        "container.kind": it.kind(),
        "container.place": it.place(),
        "container.pull-policy": it.pull_policy(),
        "container.resources": it.resources(),
        "container.request": each(["cpu", NONE], |key| it.request(key)),
        "container.limit": each(["memory", NONE], |key| it.limit(key)),
        "container.env-names": it.env_names(),
        "container.pointer": each(["/name", "/none"], |key| it.pointer(key)),
        "container.image": it.image().place(),
        "container.ports": it.ports().iter().map(container_port).collect::<Vec<_>>(),
        "container.mounts": it.mounts().iter().map(mount).collect::<Vec<_>>(),
    })
}

fn security(it: &Container) -> Value {
    json!({
        "container.privileged": it.privileged(),
        "container.run-as-non-root": it.run_as_non_root(),
        "container.run-as-user": it.run_as_user(),
        "container.run-as-group": it.run_as_group(),
        "container.allow-privilege-escalation": it.allow_privilege_escalation(),
        "container.read-only-root-filesystem": it.read_only_root_filesystem(),
        "container.seccomp-profile": it.seccomp_profile(),
        "container.apparmor-profile": it.apparmor_profile(),
        "container.added-capabilities": it.added_capabilities(),
        "container.dropped-capabilities": it.dropped_capabilities(),
    })
}

fn container_port(it: &ContainerPort) -> Value {
    json!({
        "container-port.name": it.name(),
        "container-port.number": it.number(),
        "container-port.protocol": it.protocol(),
        "container-port.host-port": it.host_port(),
    })
}

fn mount(it: &Mount) -> Value {
    json!({
        "mount.volume": it.volume(),
        "mount.path": it.path(),
        "mount.sub-path": it.sub_path(),
        "mount.read-only": it.read_only(),
        "mount.is-device": it.is_device(),
    })
}

fn image(it: &Image) -> Value {
    json!({
        "image.reference": it.reference(),
        "image.place": it.place(),
        "image.name": it.name(),
        "image.registry": it.registry(),
        "image.repository": it.repository(),
        "image.tag": it.tag(),
        "image.digest": it.digest(),
    })
}

fn resolved_image(it: &ResolvedImage) -> Value {
    json!({
        "resolved-image.id": it.id(),
        "resolved-image.digest": it.digest(),
        "resolved-image.size": it.size(),
        "resolved-image.credentials": it.credentials(),
        "resolved-image.container": it.container().place(),
    })
}

fn volume(it: &Volume) -> Value {
    json!({
        "volume.name": it.name(),
        "volume.kind": it.kind(),
        "volume.host-path": it.host_path(),
        "volume.pointer": each(["/name", "/none"], |key| it.pointer(key)),
        "volume.image": it.image().map(|image| image.place()),
    })
}

fn node(it: &Node) -> Value {
    json!({
        "node.name": it.name(),
        "node.label": each(["disk", NONE], |key| it.label(key)),
        "node.labels": it.labels(),
        "node.resources": it.resources(),
        "node.capacity": each(["cpu", NONE], |key| it.capacity(key)),
        "node.allocatable": each(["cpu", NONE], |key| it.allocatable(key)),
        "node.available": each(["cpu", NONE], |key| it.available(key)),
        "node.used": each(["memory", NONE], |key| it.used(key)),
        "node.fact": each(["cgroup.version", NONE], |key| it.fact(key)),
        "node.facts": it.facts(),
        "node.devices": it.devices(),
        "node.pointer": each(["/metadata/name", "/none"], |key| it.pointer(key)),
        "node.taints": it.taints().iter().map(taint).collect::<Vec<_>>(),
        "node.conditions": it.conditions().iter().map(condition).collect::<Vec<_>>(),
        "node.used-host-ports": it.used_host_ports().iter().map(host_port).collect::<Vec<_>>(),
        "node.condition": each(["Ready", NONE], |kind| it.condition(kind).map(|condition| condition.kind())),
        "node.requested": [it.requested("cpu"), it.requested(NONE)],
        "node.json": it.json().contains("\"labels\""),
    })
}

fn taint(it: &Taint) -> Value {
    json!({
        "taint.key": it.key(),
        "taint.value": it.value(),
        "taint.effect": it.effect(),
    })
}

fn condition(it: &Condition) -> Value {
    json!({
        "condition.kind": it.kind(),
        "condition.status": it.status(),
        "condition.reason": it.reason(),
        "condition.message": it.message(),
    })
}
