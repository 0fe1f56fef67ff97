//! What is asked, as a case file writes it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_core::probe::{ProbeKind, ProbeRequest};
use witlet_core::runtime::ContainerId;

use super::PROBE_TIMEOUT_DEFAULT;
use super::defaults::{NODE_NAME, node_default, now_default};
use super::document::Problem;

/// `request:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RequestDocument {
    #[serde(default)]
    operation: OperationDocument,
    now: Option<Timestamp>,
    source: Option<String>,
    #[serde(default)]
    pod: Value,
    node: Option<NodeDocument>,
    #[serde(default)]
    other_pods: Vec<OtherDocument>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OperationDocument {
    #[default]
    Add,
    Resize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct OtherDocument {
    source: Option<String>,
    pod: Value,
}

/// `request.node:` What isn't said is as of the node that has everything.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NodeDocument {
    name: Option<String>,
    node: Option<Value>,
    addresses: Option<Vec<IpAddr>>,
    facts: Option<BTreeMap<String, String>>,
    devices: Option<Value>,
}

/// `target:`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TargetDocument {
    #[serde(default)]
    pod: Value,
    container: Option<String>,
    container_id: Option<String>,
    #[serde(default)]
    restarts: u32,
    #[serde(rename = "podIPs")]
    pub(super) pod_ips: Option<Vec<IpAddr>>,
    #[serde(rename = "hostIPs")]
    host_ips: Option<Vec<IpAddr>>,
    kind: Option<KindDocument>,
    timeout_milliseconds: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KindDocument {
    Startup,
    Readiness,
    Liveness,
}

/// The source that brought a pod whose case doesn't say.
const SOURCE_DEFAULT: &str = "file";

impl RequestDocument {
    pub(super) fn request(self) -> Result<AdmissionRequest, Problem> {
        let Self { operation, now, source: brought_by, pod: asking, node, other_pods } = self;
        let source = |source: Option<String>| SourceName::from(source.as_deref().unwrap_or(SOURCE_DEFAULT));
        let mut others = Vec::with_capacity(other_pods.len());
        for (index, other) in other_pods.into_iter().enumerate() {
            let within = format!("otherPods[{index}]");
            let other_pod =
                pod(other.pod, &format!("other-{index}")).map_err(|problem| problem.within(&within))?;
            others.push(AdmittedPod { pod: Arc::new(other_pod), source: source(other.source) });
        }
        Ok(AdmissionRequest {
            operation: match operation {
                OperationDocument::Add => Operation::Add,
                OperationDocument::Resize => Operation::Resize,
            },
            now: now.unwrap_or_else(now_default),
            pod: Arc::new(pod(asking, "web")?),
            source: source(brought_by),
            node: node.map_or_else(|| Ok(node_default()), |node| node.facts().map(Arc::new))?,
            other_pods: others.into(),
        })
    }
}

impl NodeDocument {
    fn facts(self) -> Result<NodeFacts, Problem> {
        let default = node_default();
        let node: Node = match self.node {
            Some(node) => object(node, "node.node")?,
            None => default.node.clone(),
        };
        let devices = match self.devices {
            // As the guest gets it.
            Some(Value::String(text)) => text,
            Some(devices) => devices.to_string(),
            None => default.devices.clone(),
        };
        let named = self.name.or_else(|| node.metadata.name.clone());
        Ok(NodeFacts {
            name: named.unwrap_or_else(|| NODE_NAME.to_owned()),
            node,
            addresses: self.addresses.unwrap_or_else(|| default.addresses.clone()),
            facts: self.facts.unwrap_or_else(|| default.facts.clone()),
            devices,
        })
    }
}

impl TargetDocument {
    /// Without parameters.
    pub(super) fn request(self) -> Result<ProbeRequest, Problem> {
        let target = pod(self.pod, "web")?;
        let first = target.spec.as_ref().and_then(|spec| spec.containers.first());
        let container = self.container.or_else(|| first.map(|first| first.name.clone()));
        let kind = match self.kind {
            Some(KindDocument::Startup) => ProbeKind::Startup,
            Some(KindDocument::Readiness) | None => ProbeKind::Readiness,
            Some(KindDocument::Liveness) => ProbeKind::Liveness,
        };
        Ok(ProbeRequest {
            container: container.unwrap_or_else(|| "main".to_owned()),
            container_id: ContainerId::from(self.container_id.as_deref().unwrap_or("c0ffee")),
            restarts: self.restarts,
            pod_ips: self.pod_ips.unwrap_or_default(),
            host_ips: self.host_ips.unwrap_or_else(|| node_default().addresses.clone()),
            timeout: self.timeout_milliseconds.map_or(PROBE_TIMEOUT_DEFAULT, Duration::from_millis),
            ..probe_request(target, kind)
        })
    }
}

/// A probe of a pod's first container, without parameters, addresses and much time.
pub(crate) fn probe_request(pod: Pod, kind: ProbeKind) -> ProbeRequest {
    let first = pod.spec.as_ref().and_then(|spec| spec.containers.first());
    ProbeRequest {
        probe_type: "tested".into(),
        parameters: "null".into(),
        container: first.map_or_else(|| "main".to_owned(), |first| first.name.clone()),
        pod: Arc::new(pod),
        container_id: ContainerId::from("c0ffee"),
        restarts: 0,
        pod_ips: Vec::new(),
        host_ips: node_default().addresses.clone(),
        kind,
        timeout: PROBE_TIMEOUT_DEFAULT,
    }
}

/// A pod, with a name, a namespace and a UID where it has none. Without a spec it has one container.
pub(crate) fn pod(value: Value, name: &str) -> Result<Pod, Problem> {
    let value = if value.is_null() {
        json!({"spec": {"containers": [{"name": "main", "image": "docker.io/library/nginx:1.29"}]}})
    } else {
        value
    };
    let mut pod: Pod = object(value, "pod")?;
    let metadata = &mut pod.metadata;
    let name = metadata.name.get_or_insert_with(|| name.to_owned()).clone();
    let namespace = metadata.namespace.get_or_insert_with(|| "default".to_owned()).clone();
    metadata.uid.get_or_insert_with(|| format!("uid-of-{namespace}-{name}"));
    Ok(pod)
}

/// Reads a Kubernetes object strictly: a field that it doesn't have is a slip of the pen.
pub(super) fn object<T: DeserializeOwned + serde::Serialize>(
    value: Value,
    field: &str,
) -> Result<T, Problem> {
    let read: Result<T, _> = serde_path_to_error::deserialize(&value);
    let object = match read {
        Ok(object) => object,
        Err(error) => {
            return Problem::new(format!("{field}.{}", error.path()), error.inner().to_string());
        }
    };
    // What was read holds no maps with keys that aren't texts.
    let kept = serde_json::to_value(&object).unwrap_or_default();
    match dropped(&value, &kept, field) {
        Some(field) => Problem::new(field, "there is no such field in Kubernetes 1.36"),
        None => Ok(object),
    }
}

/// The first field of `given` that isn't in `kept`; empty ones may be missing.
fn dropped(given: &Value, kept: &Value, path: &str) -> Option<String> {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => given.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            match kept.get(name) {
                Some(kept) => dropped(value, kept, &path),
                None => (!is_empty(value)).then_some(path),
            }
        }),
        (Value::Array(given), Value::Array(kept)) => given
            .iter()
            .zip(kept)
            .enumerate()
            .find_map(|(index, (given, kept))| dropped(given, kept, &format!("{path}[{index}]"))),
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
