//! The role of admission.

use serde_json::{Value, json};
use witlet_plugin_sdk::log::{self, Level};
use witlet_plugin_sdk::{
    Container, ContainerKind, Deferral, Error, HostPort, Node, Operation, Pod, QosClass, Quantity, Request,
    Shortage, Verdict,
};

use crate::{attack, pointers, value_of};

/// A line of each level, and then the verdict that the configuration asks for, or all that the request has.
pub(crate) fn admit(request: &Request<'_>, config: &Value) -> Result<Verdict, Error> {
    for (level, name) in [
        (Level::Trace, "trace"),
        (Level::Debug, "debug"),
        (Level::Info, "info"),
        (Level::Warn, "warn"),
        (Level::Error, "error"),
    ] {
        log::write(level, &format!("logged at {name}"), &[("language", "rust")]);
    }
    let answer = &config["answer"];
    if answer == "admit" {
        Ok(Verdict::Admit)
    } else if let Some(name) = answer["attack"].as_str() {
        attack::run(name)
    } else if let Some(words) = answer["error"].as_str() {
        Err(Error::nothing_found(words))
    } else if let Some(defer) = answer.get("defer") {
        Ok(Verdict::Defer(Deferral {
            reason: text(&defer["reason"]),
            message: text(&defer["message"]),
            retry_after_milliseconds: defer["retryAfterMilliseconds"].as_u64().unwrap_or_default(),
        }))
    } else if let Some(shortages) = answer["shortage"].as_array() {
        Ok(Verdict::Shortage(shortages.iter().map(shortage).collect()))
    } else {
        Ok(Verdict::reject("Reported", tell(request, config).to_string()))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn shortage(value: &Value) -> Shortage {
    let amount = |key: &str| value[key].as_i64().unwrap_or_default();
    Shortage {
        resource: text(&value["resource"]),
        requested: amount("requested"),
        used: amount("used"),
        capacity: amount("capacity"),
    }
}

fn tell(request: &Request<'_>, config: &Value) -> Value {
    let now = request.now();
    json!({
        "operation": match request.operation() {
            Operation::Add => "add",
            Operation::Resize => "resize",
        },
        "now": {"seconds": now.seconds, "nanoseconds": now.nanoseconds},
        "pod": pod(&request.pod(), config),
        "node": node(&request.node(), config),
        "other-pods": request.other_pods().iter().map(|other| pod(other, config)).collect::<Vec<_>>(),
        "config": config,
    })
}

fn pod(pod: &Pod, config: &Value) -> Value {
    let identity = pod.identity();
    json!({
        "identity": {"namespace": identity.namespace, "name": identity.name, "uid": identity.uid},
        "source": pod.source(),
        "labels": pod.labels(),
        "annotations": pod.annotations(),
        "priority": pod.priority(),
        "containers": pod.containers().iter().map(container).collect::<Vec<_>>(),
        "requests": quantities(&pod.requests()),
        "host-ports": host_ports(&pod.host_ports()),
        "qos": match pod.qos() {
            QosClass::Guaranteed => "guaranteed",
            QosClass::Burstable => "burstable",
            QosClass::BestEffort => "best-effort",
        },
        "json-bytes": pod.json().len(),
        "pointer": pointers(config, |path| pod.pointer(path)),
    })
}

fn container(container: &Container) -> Value {
    let kind = match container.kind {
        ContainerKind::Init => "init",
        ContainerKind::Sidecar => "sidecar",
        ContainerKind::App => "app",
        ContainerKind::Ephemeral => "ephemeral",
    };
    json!({"name": container.name, "kind": kind, "image": container.image})
}

fn quantities(quantities: &[Quantity]) -> Vec<Value> {
    quantities.iter().map(|it| json!({"resource": it.resource, "amount": it.amount})).collect()
}

fn host_ports(ports: &[HostPort]) -> Vec<Value> {
    ports.iter().map(|it| json!({"ip": it.ip, "protocol": it.protocol, "port": it.port})).collect()
}

fn node(node: &Node, config: &Value) -> Value {
    let taints =
        node.taints().into_iter().map(|it| json!({"key": it.key, "value": it.value, "effect": it.effect}));
    let conditions = node
        .conditions()
        .into_iter()
        .map(|it| json!({"kind": it.kind, "status": it.status, "reason": it.reason, "message": it.message}));
    json!({
        "name": node.name(),
        "labels": node.labels(),
        "taints": taints.collect::<Vec<_>>(),
        "capacity": quantities(&node.capacity()),
        "allocatable": quantities(&node.allocatable()),
        "requested": quantities(&node.requested()),
        "used-host-ports": host_ports(&node.used_host_ports()),
        "conditions": conditions.collect::<Vec<_>>(),
        "facts": node.facts(),
        "devices": value_of(node.devices()),
        "json-bytes": node.json().len(),
        "pointer": pointers(config, |path| node.pointer(path)),
    })
}
