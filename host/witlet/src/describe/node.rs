//! The node: conditions, resources, thresholds, and the pods on it.

use jiff::Timestamp;
use k8s_openapi::List;
use k8s_openapi::api::core::v1::{Node, NodeStatus, Pod};
use serde::Serialize;
use serde_json::{Value, json};
use witlet_core::pod::resources::requests;
use witlet_core::text::readable_bytes;
use witlet_server::{ClientError, LocalClient};

use super::answer::{events_about, show};
use super::sections::{conditions_table, events, map, time};
use super::text::{NONE, Text};
use crate::cli::DescribeArgs;
use crate::get::error::GetError;
use crate::get::node::{RESOURCES, THRESHOLDS, resource_row, threshold_row};
use crate::get::table::{age, render};
use crate::names;

#[cfg(test)]
mod tests;

/// All that is known of the node.
#[derive(Debug, Serialize)]
pub(crate) struct DescribedNode {
    /// As the agent publishes it.
    pub(crate) node: Node,
    /// What there is, who it is for, and what is used; empty if the agent can't tell.
    pub(crate) resources: Value,
    /// Thresholds of evictions, and how far away each is.
    pub(crate) thresholds: Value,
    /// Namespace, name, phase and requests of each pod.
    pub(crate) pods: Vec<Value>,
    /// The oldest first.
    pub(crate) events: Vec<Value>,
}

/// Prints it.
pub(super) async fn run(args: &DescribeArgs, now: Timestamp) -> Result<(), GetError> {
    let described = describe(&LocalClient::new(&args.api_socket)).await?;
    Ok(show(&described, args.output, |described| text(described, now))?)
}

/// Returns what the agent knows of its node.
pub(crate) async fn describe(client: &LocalClient) -> Result<DescribedNode, GetError> {
    let list: List<Pod> = client.get("/pods").await?;
    Ok(DescribedNode {
        node: client.get("/node").await?,
        resources: items(client, "/node/resources").await?,
        thresholds: items(client, "/thresholds").await?,
        pods: list.items.iter().map(on_node).collect(),
        events: events_about(client, |object| object["kind"] == "Node").await?,
    })
}

/// The items of an answer; none where the agent has none.
async fn items(client: &LocalClient, request: &str) -> Result<Value, ClientError> {
    match client.get::<Value>(request).await {
        Ok(mut answer) => Ok(answer["items"].take()),
        Err(ClientError::Refused { status: 404 | 503, .. }) => Ok(json!([])),
        Err(error) => Err(error),
    }
}

/// Returns what is shown of a pod on the node: requests of CPU in thousandths of a core, of memory in bytes.
fn on_node(pod: &Pod) -> Value {
    let requests = requests(pod);
    let status = pod.status.clone().unwrap_or_default();
    json!({
        "namespace": names::namespace_of(pod),
        "name": names::name_of(pod),
        "phase": status.phase,
        "qosClass": status.qos_class,
        "cpuRequestMilli": requests.get("cpu").copied().unwrap_or_default(),
        "memoryRequestBytes": requests.get("memory").copied().unwrap_or_default(),
        "startTime": status.start_time.map(|at| at.0.to_string()),
    })
}

/// The description for people.
fn text(described: &DescribedNode, now: Timestamp) -> String {
    let DescribedNode { node, resources, thresholds, pods, events: recorded } = described;
    let mut text = Text::default();
    text.field(0, "Name", node.metadata.name.as_deref().unwrap_or_default());
    map(&mut text, 0, "Labels", node.metadata.labels.as_ref(), "=");
    map(&mut text, 0, "Annotations", node.metadata.annotations.as_ref(), ": ");
    text.some(0, "Created", node.metadata.creation_timestamp.as_ref().map(|at| time(at.0)));
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    text.list(
        0,
        "Taints",
        taints.map(|taint| match taint.value.as_deref() {
            Some(value) if !value.is_empty() => format!("{}={value}:{}", taint.key, taint.effect),
            Some(_) | None => format!("{}:{}", taint.key, taint.effect),
        }),
    );
    let status = node.status.clone().unwrap_or_default();
    conditions(&mut text, &status, now);
    let addresses = status.addresses.iter().flatten();
    text.list(0, "Addresses", addresses.map(|address| format!("{}: {}", address.type_, address.address)));
    if let Some(info) = &status.node_info {
        text.heading(0, "System Info");
        text.field(1, "Kernel Version", &info.kernel_version);
        text.field(1, "OS Image", &info.os_image);
        text.field(1, "Architecture", format!("{}/{}", info.operating_system, info.architecture));
        text.field(1, "Container Runtime", &info.container_runtime_version);
        text.field(1, "Version", &info.kubelet_version);
    }
    section(&mut text, "Resources", &RESOURCES, resources, resource_row);
    section(&mut text, "Thresholds", &THRESHOLDS, thresholds, threshold_row);
    pods_table(&mut text, pods, now);
    events(&mut text, recorded, now);
    text.render()
}

fn section(text: &mut Text, key: &str, header: &[&str], items: &Value, row: fn(&Value) -> Vec<String>) {
    let rows: Vec<Vec<String>> = items.as_array().into_iter().flatten().map(row).collect();
    text.table(key, rows.len(), &render(header, &rows), NONE);
}

fn conditions(text: &mut Text, status: &NodeStatus, now: Timestamp) {
    let rows = status.conditions.iter().flatten().map(|condition| {
        let since = condition.last_transition_time.as_ref().map(|at| age(now, at.0));
        let (name, status) = (condition.type_.clone(), condition.status.clone());
        [Some(name), Some(status), since, condition.reason.clone(), condition.message.clone()]
    });
    conditions_table(text, rows);
}

fn pods_table(text: &mut Text, pods: &[Value], now: Timestamp) {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |pod: &Value| {
        let started = pod["startTime"].as_str().and_then(|at| at.parse().ok()).map(|at| age(now, at));
        vec![
            string(&pod["namespace"]),
            string(&pod["name"]),
            string(&pod["phase"]),
            string(&pod["qosClass"]),
            format!("{}m", pod["cpuRequestMilli"]),
            readable_bytes(pod["memoryRequestBytes"].as_i64().unwrap_or_default()),
            started.unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = pods.iter().map(row).collect();
    let header = ["NAMESPACE", "NAME", "PHASE", "QOS", "CPU REQUESTS", "MEMORY REQUESTS", "AGE"];
    text.table("Pods", rows.len(), &render(&header, &rows), NONE);
}
