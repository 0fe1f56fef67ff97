//! What the contract gives next to the objects, as values.

use std::rc::Rc;

use jiff::Timestamp;
use witlet_cel::{Key, Quantity, Value};
use witlet_plugin_sdk_0_2::{HostPort, Node, Operation, Pod, Request, ResolvedImage};

/// Fields of `request`.
const REQUEST: &[&str] = &[
    "operation",
    "subResource",
    "phase",
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

/// Fields of `image`.
const IMAGE: &[&str] = &["container", "id", "digest", "sizeBytes", "credentials"];

/// What `node` has next to the fields of Kubernetes' object.
const NODE: &[&str] = &["facts", "devices"];

/// The resource that counts pods.
const PODS: &str = "pods";

/// The address of a port that is taken on all addresses of the host.
const EVERY_ADDRESS: &str = "0.0.0.0";

/// `request` as a whole.
pub(crate) fn request(request: &Request<'_>) -> Value {
    Value::map(REQUEST.iter().filter_map(|field| Some((*field, request_field(request, field)?))))
}

/// One field of `request`.
pub(crate) fn request_field(request: &Request<'_>, field: &str) -> Option<Value> {
    Some(match field {
        "operation" => Value::text(of_api(&request.operation()).0),
        "subResource" => Value::text(of_api(&request.operation()).1),
        "phase" => request.operation().as_str().into(),
        "now" => {
            let now = request.now();
            Value::Timestamp(
                Timestamp::new(now.seconds, i32::try_from(now.nanoseconds).unwrap_or(0)).unwrap_or_default(),
            )
        }
        _ => return pod_field(&request.pod(), field),
    })
}

/// What an API server calls the operation, and the subresource. The node's own, which no server knows, have no name there.
fn of_api(operation: &Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::Add => ("CREATE", ""),
        Operation::Resize => ("UPDATE", "resize"),
        Operation::Update => ("UPDATE", ""),
        Operation::Ephemeral => ("UPDATE", "ephemeralcontainers"),
        _ => ("", ""),
    }
}

/// `image` as a whole.
pub(crate) fn image(image: &ResolvedImage) -> Value {
    Value::map(IMAGE.iter().filter_map(|field| Some((*field, image_field(image, field)?))))
}

/// One field of `image`.
pub(crate) fn image_field(image: &ResolvedImage, field: &str) -> Option<Value> {
    Some(match field {
        "container" => image.container().name().into(),
        "id" => image.id().into(),
        "digest" => image.digest()?.into(),
        "sizeBytes" => Value::Int(i64::try_from(image.size()?).unwrap_or(i64::MAX)),
        "credentials" => image.credentials()?.into(),
        _ => return None,
    })
}

/// `others` as a whole.
pub(crate) fn others(request: &Request<'_>) -> Value {
    Value::map(OTHERS.iter().filter_map(|field| Some((*field, others_field(request, field)?))))
}

/// One field of `others`.
pub(crate) fn others_field(request: &Request<'_>, field: &str) -> Option<Value> {
    Some(match field {
        "count" => Value::Int(request.node().requested(PODS)),
        "requested" => {
            let node = request.node();
            let resources = node.resources().into_iter().filter(|resource| resource != PODS);
            amounts(
                resources
                    .map(|resource| (node.requested(&resource), resource))
                    .filter(|(amount, _)| *amount != 0),
            )
        }
        "hostPorts" => ports(request.node().used_host_ports()),
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
            Value::list(request.other_pods().map(of).collect())
        }
        _ => return None,
    })
}

fn pod_field(pod: &Pod, field: &str) -> Option<Value> {
    Some(match field {
        "namespace" => pod.namespace().into(),
        "name" => pod.name().into(),
        "uid" => pod.uid().into(),
        "source" => pod.source().into(),
        "labels" => texts(pod.labels()),
        "priority" => Value::Int(i64::from(pod.priority())),
        "qosClass" => pod.qos().as_str().into(),
        "requests" => {
            let resources = pod.resources().into_iter();
            amounts(resources.filter_map(|resource| Some((pod.request(&resource)?, resource))))
        }
        "hostPorts" => ports(pod.host_ports()),
        _ => return None,
    })
}

/// Whether `node` has the field next to Kubernetes' own.
pub(crate) fn is_node_extra(field: &str) -> bool {
    NODE.contains(&field)
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

fn amounts(amounts: impl Iterator<Item = (i64, String)>) -> Value {
    let entries = amounts.map(|(amount, resource)| {
        let quantity = if resource == "cpu" { Quantity::of_milli(amount) } else { Quantity::of(amount) };
        (Key::String(resource.into()), Value::Quantity(Rc::new(quantity)))
    });
    Value::of_entries(entries.collect())
}

fn ports(ports: impl Iterator<Item = HostPort>) -> Value {
    let of = |port: HostPort| {
        Value::map([
            ("ip", port.address().unwrap_or_else(|| EVERY_ADDRESS.to_owned()).into()),
            ("protocol", port.protocol().into()),
            ("port", Value::Int(i64::from(port.number()))),
        ])
    };
    Value::list(ports.map(of).collect())
}
