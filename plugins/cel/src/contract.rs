//! What the contract gives next to the objects, as values.

use std::rc::Rc;

use jiff::Timestamp;
use witlet_cel::{Key, Quantity, Value};
use witlet_plugin_sdk::admission::Quantity as Amount;
use witlet_plugin_sdk::{HostPort, Node, Operation, Pod, QosClass, Request};

/// Fields of `request`.
const REQUEST: &[&str] = &[
    "operation",
    "subResource",
    "name",
    "namespace",
    "uid",
    "source",
    "now",
    "qosClass",
    "priority",
    "requests",
    "hostPorts",
];

/// Fields of `others`.
const OTHERS: &[&str] = &["count", "requested", "hostPorts", "pods"];

/// What `node` has next to the fields of Kubernetes' object.
const NODE: &[&str] = &["facts", "devices"];

/// The resource that counts pods.
const PODS: &str = "pods";

/// `request` as a whole.
pub(crate) fn request(request: &Request<'_>) -> Value {
    Value::map(REQUEST.iter().filter_map(|field| Some((*field, request_field(request, field)?))))
}

/// One field of `request`.
pub(crate) fn request_field(request: &Request<'_>, field: &str) -> Option<Value> {
    let is_resize = request.operation() == Operation::Resize;
    Some(match field {
        "operation" => Value::text(if is_resize { "UPDATE" } else { "CREATE" }),
        "subResource" => Value::text(if is_resize { "resize" } else { "" }),
        "now" => {
            let now = request.now();
            Value::Timestamp(
                Timestamp::new(now.seconds, i32::try_from(now.nanoseconds).unwrap_or(0)).unwrap_or_default(),
            )
        }
        "name" => request.pod().identity().name.into(),
        _ => return pod_field(&request.pod(), field),
    })
}

/// `others` as a whole.
pub(crate) fn others(request: &Request<'_>) -> Value {
    Value::map(OTHERS.iter().filter_map(|field| Some((*field, others_field(request, field)?))))
}

/// One field of `others`.
pub(crate) fn others_field(request: &Request<'_>, field: &str) -> Option<Value> {
    Some(match field {
        "count" => {
            let requested = request.node().requested();
            let pods = requested.iter().find(|amount| amount.resource == PODS);
            Value::Int(pods.map_or_else(|| request.other_pods().len() as i64, |pods| pods.amount))
        }
        "requested" => {
            let mut requested = request.node().requested();
            requested.retain(|amount| amount.resource != PODS);
            amounts(&requested)
        }
        "hostPorts" => ports(&request.node().used_host_ports()),
        "pods" => {
            let fields = [
                "namespace",
                "name",
                "uid",
                "source",
                "labels",
                "priority",
                "qosClass",
                "requests",
                "hostPorts",
            ];
            let of = |pod: Pod| {
                Value::map(fields.iter().filter_map(|field| Some((*field, pod_field(&pod, field)?))))
            };
            Value::list(request.other_pods().into_iter().map(of).collect())
        }
        _ => return None,
    })
}

fn pod_field(pod: &Pod, field: &str) -> Option<Value> {
    Some(match field {
        "namespace" => pod.identity().namespace.into(),
        "name" => pod.identity().name.into(),
        "uid" => pod.identity().uid.into(),
        "source" => pod.source().into(),
        "labels" => texts(pod.labels()),
        "priority" => Value::Int(i64::from(pod.priority())),
        "qosClass" => Value::text(match pod.qos() {
            QosClass::Guaranteed => "Guaranteed",
            QosClass::Burstable => "Burstable",
            QosClass::BestEffort => "BestEffort",
        }),
        "requests" => amounts(&pod.requests()),
        "hostPorts" => ports(&pod.host_ports()),
        _ => return None,
    })
}

/// One of the fields that `node` has next to Kubernetes' own.
pub(crate) fn node_extra(node: &Node, field: &str) -> Option<Value> {
    match field {
        "facts" => Some(texts(node.facts())),
        // What the host writes is JSON; were it none, there would be no devices.
        "devices" => Some(serde_json::from_str(&node.devices()).unwrap_or_else(|_| Value::list(Vec::new()))),
        _ => None,
    }
}

/// All of those.
pub(crate) fn node_extras(node: &Node) -> Vec<(&'static str, Value)> {
    NODE.iter().filter_map(|field| Some((*field, node_extra(node, field)?))).collect()
}

/// An object with more fields, or with others instead of its own.
pub(crate) fn with_fields(object: &Value, fields: Vec<(&str, Value)>) -> Value {
    let Value::Map(map) = object else { return object.clone() };
    let mut entries = map.entries().to_vec();
    entries.extend(fields.into_iter().map(|(field, value)| (Key::String(field.into()), value)));
    Value::of_entries(entries)
}

fn texts(pairs: Vec<(String, String)>) -> Value {
    Value::of_entries(pairs.into_iter().map(|(key, value)| (Key::String(key.into()), value.into())).collect())
}

fn amounts(amounts: &[Amount]) -> Value {
    let entries = amounts.iter().map(|Amount { resource, amount }| {
        let quantity = if resource == "cpu" { Quantity::of_milli(*amount) } else { Quantity::of(*amount) };
        (Key::String(resource.as_str().into()), Value::Quantity(Rc::new(quantity)))
    });
    Value::of_entries(entries.collect())
}

fn ports(ports: &[HostPort]) -> Value {
    let of = |port: &HostPort| {
        Value::map([
            ("ip", port.ip.as_str().into()),
            ("protocol", port.protocol.as_str().into()),
            ("port", Value::Int(i64::from(port.port))),
        ])
    };
    Value::list(ports.iter().map(of).collect())
}
