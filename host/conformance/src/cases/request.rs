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
use thiserror::Error;
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Operation};
use witlet_core::image::{CredentialOrigin, ResolvedImage};
use witlet_core::node::NodeFacts;
use witlet_core::node::observed::ObservedNode;
use witlet_core::pod::SourceName;
use witlet_core::pod::resources::Amounts;
use witlet_core::probe::{ProbeKind, ProbeRequest};
use witlet_core::sources::manifest::remove_unknown;

use super::expect::{Problem, WHOLE, read};
use crate::plugin_request::{
    NODE_NAME, PluginRequest, SOURCE, admission_request, node_default, now_default, probe_request,
};

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
    #[serde(default)]
    old: Option<Value>,
    image: Option<ImageDocument>,
    node: Option<NodeDocument>,
    #[serde(default)]
    other_pods: Vec<OtherDocument>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OperationDocument {
    #[default]
    Add,
    Resize,
    Update,
    Ephemeral,
    ImageResolved,
    Readmit,
    Recheck,
}

impl From<OperationDocument> for Operation {
    fn from(operation: OperationDocument) -> Self {
        match operation {
            OperationDocument::Add => Self::Add,
            OperationDocument::Resize => Self::Resize,
            OperationDocument::Update => Self::Update,
            OperationDocument::Ephemeral => Self::Ephemeral,
            OperationDocument::ImageResolved => Self::ImageResolved,
            OperationDocument::Readmit => Self::Readmit,
            OperationDocument::Recheck => Self::Recheck,
        }
    }
}

/// `request.image:` What isn't said is as of the pod's first container, or unknown.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ImageDocument {
    container: Option<String>,
    id: Option<String>,
    digest: Option<String>,
    size_bytes: Option<u64>,
    credentials: Option<CredentialOrigin>,
}

impl ImageDocument {
    fn resolved(self, pod: &Pod) -> Result<ResolvedImage, Problem> {
        let spec = pod.spec.as_ref();
        let init = spec.into_iter().flat_map(|spec| spec.init_containers.iter().flatten());
        let apps = spec.into_iter().flat_map(|spec| &spec.containers);
        let mut usual = apps.chain(init).map(|container| (&container.name, &container.image));
        let ephemeral = spec.into_iter().flat_map(|spec| spec.ephemeral_containers.iter().flatten());
        let mut ephemeral = ephemeral.map(|container| (&container.name, &container.image));
        let found = match &self.container {
            None => usual.next(),
            Some(name) => usual.chain(&mut ephemeral).find(|(found, _)| *found == name),
        };
        let Some((container, written)) = found else {
            let expected = self.container.map_or_else(|| "one".to_owned(), |name| format!("{name:?}"));
            return Problem::new("image.container", format!("the pod has no container {expected}"));
        };
        let id = self.id.or_else(|| self.digest.clone()).or_else(|| written.clone());
        Ok(ResolvedImage {
            container: container.clone(),
            id: id.unwrap_or_default(),
            digest: self.digest,
            size_bytes: self.size_bytes,
            credentials: self.credentials,
        })
    }
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
    used: Option<Amounts>,
    runtime_classes: Option<BTreeMap<String, String>>,
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
    pod_ips: Option<Vec<IpAddr>>,
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

impl RequestDocument {
    pub(super) fn question(self) -> Result<PluginRequest, Problem> {
        let Self { operation, now, source: brought_by, pod: asking, old, image, node, other_pods } = self;
        let operation = Operation::from(operation);
        let source = |source: Option<String>| SourceName::from(source.as_deref().unwrap_or(SOURCE));
        let mut others = Vec::with_capacity(other_pods.len());
        for (index, other) in other_pods.into_iter().enumerate() {
            let within = format!("otherPods[{index}]");
            let other_pod =
                pod(other.pod, &format!("other-{index}")).map_err(|problem| problem.within(&within))?;
            others.push(AdmittedPod { pod: Arc::new(other_pod), source: source(other.source) });
        }
        let plain = admission_request(operation, pod(asking, "web")?);
        let old_pod = match old {
            Some(old) => Some(Arc::new(old_pod(operation, old, &plain.pod)?)),
            None => plain.old_pod.clone(),
        };
        let image = match (operation, image) {
            (Operation::ImageResolved, image) => Some(image.unwrap_or_default().resolved(&plain.pod)?),
            (_, Some(_)) => return Problem::new("image", "only for operation image-resolved"),
            (_, None) => None,
        };
        Ok(PluginRequest::admit(AdmissionRequest {
            now: now.unwrap_or_else(now_default),
            source: source(brought_by),
            node: node.map_or_else(|| Ok(node_default()), |node| node.facts().map(Arc::new))?,
            other_pods: others.into(),
            old_pod,
            image: image.map(Arc::new),
            ..plain
        }))
    }
}

/// The pod as it runs: with the name, the namespace and the UID of the one that is asked about unless it says otherwise.
fn old_pod(operation: Operation, value: Value, asking: &Pod) -> Result<Pod, Problem> {
    if matches!(operation, Operation::Add | Operation::ImageResolved) {
        let problem = format!(
            "only for operations about a pod that runs: resize, update, ephemeral, readmit and recheck, not {}",
            operation.as_str()
        );
        return Problem::new("old", problem);
    }
    let mut old: Pod = object(value, "old")?;
    let (metadata, own) = (&mut old.metadata, &asking.metadata);
    metadata.name = metadata.name.take().or_else(|| own.name.clone());
    metadata.namespace = metadata.namespace.take().or_else(|| own.namespace.clone());
    metadata.uid = metadata.uid.take().or_else(|| own.uid.clone());
    Ok(old)
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
            observed: ObservedNode {
                used: Arc::new(self.used.unwrap_or_default()),
                runtime_classes: Arc::new(self.runtime_classes.unwrap_or_default()),
            },
        })
    }
}

/// A node as a case has it, or a Node of Kubernetes by itself. What isn't said is as of the node that has everything; what a Node
/// says of its machine becomes facts. None is that node itself.
///
/// # Errors
/// When a field is unknown or of another type.
pub fn node(value: Option<Value>) -> Result<NodeFacts, NodeFieldError> {
    let Some(value) = value else { return Ok(NodeFacts::clone(&node_default())) };
    let field_error = |Problem { field, problem }: Problem| {
        let field = if field == WHOLE { "node".to_owned() } else { field };
        NodeFieldError { field, problem }
    };
    if value.get("kind").is_none() {
        return read(value).and_then(NodeDocument::facts).map_err(field_error);
    }
    if value["kind"] != "Node" {
        let problem = format!(
            "expected a Node, or name, node, addresses, facts, devices, used and runtimeClasses, found {}",
            value["kind"]
        );
        return Err(NodeFieldError { field: "kind".to_owned(), problem });
    }
    let of_object = NodeFacts::of(object(value, "node").map_err(field_error)?);
    let default = node_default();
    let mut facts = default.facts.clone();
    facts.extend(of_object.facts);
    Ok(NodeFacts {
        name: if of_object.name.is_empty() { NODE_NAME.to_owned() } else { of_object.name },
        addresses: if of_object.addresses.is_empty() {
            default.addresses.clone()
        } else {
            of_object.addresses
        },
        facts,
        devices: default.devices.clone(),
        observed: ObservedNode::default(),
        node: of_object.node,
    })
}

/// What is wrong with a node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: {problem}")]
pub struct NodeFieldError {
    pub field: String,
    /// What is wrong, and what is expected.
    pub problem: String,
}

impl TargetDocument {
    pub(super) fn question(self, parameters: &Value) -> Result<PluginRequest, Problem> {
        let plain = probe_request(pod(self.pod, "web")?);
        let request = ProbeRequest {
            parameters: parameters.to_string().into(),
            container: self.container.unwrap_or_else(|| plain.container.clone()),
            container_id: self.container_id.map_or_else(|| plain.container_id.clone(), |id| (&*id).into()),
            restarts: self.restarts,
            pod_ips: self.pod_ips.clone().unwrap_or_default(),
            host_ips: self.host_ips.unwrap_or_else(|| plain.host_ips.clone()),
            kind: match self.kind {
                Some(KindDocument::Startup) => ProbeKind::Startup,
                Some(KindDocument::Readiness) | None => ProbeKind::Readiness,
                Some(KindDocument::Liveness) => ProbeKind::Liveness,
            },
            timeout: self.timeout_milliseconds.map_or(plain.timeout, Duration::from_millis),
            ..plain
        };
        Ok(PluginRequest::Probe { request: Box::new(request), own_address: self.pod_ips.is_none() })
    }
}

/// A pod, with a name, a namespace and a UID where it has none. Without a spec it has one container.
fn pod(value: Value, name: &str) -> Result<Pod, Problem> {
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
fn object<T: DeserializeOwned + serde::Serialize>(mut value: Value, field: &str) -> Result<T, Problem> {
    let read: Result<T, _> = serde_path_to_error::deserialize(&value);
    let object = match read {
        Ok(object) => object,
        Err(error) => {
            return Problem::new(format!("{field}.{}", error.path()), error.inner().to_string());
        }
    };
    // What was read holds no maps with keys that aren't texts.
    let kept = serde_json::to_value(&object).unwrap_or_default();
    let mut unknown = None;
    remove_unknown(&mut value, &kept, field, &mut |path| _ = unknown.get_or_insert(path));
    match unknown {
        Some(field) => Problem::new(field, "there is no such field in Kubernetes 1.36"),
        None => Ok(object),
    }
}
