//! Questions to admission handlers in plain data.
//!
//! What the host would derive from a pod (effective requests, host ports, QoS) is stated here as the test wants it.

use serde_json::Value;

use crate::{
    Condition, Container, ContainerKind, Datetime, HostPort, Operation, PodRef, QosClass, Quantity, Request,
    Taint,
};

/// A question in plain data. The default is the addition of an empty pod to an empty node in 1970.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestFacts {
    /// Add or resize.
    pub operation: Operation,
    /// The time of the decision.
    pub now: Datetime,
    /// The pod that asks.
    pub pod: PodFacts,
    /// The node.
    pub node: NodeFacts,
    /// The other admitted pods.
    pub other_pods: Vec<PodFacts>,
}

impl Default for RequestFacts {
    fn default() -> Self {
        Self {
            operation: Operation::Add,
            now: Datetime { seconds: 0, nanoseconds: 0 },
            pod: PodFacts::default(),
            node: NodeFacts::default(),
            other_pods: Vec::new(),
        }
    }
}

impl RequestFacts {
    /// The question as a handler takes it.
    pub fn request(&self) -> Request<'_> {
        Request::__from_host(self)
    }

    pub(crate) fn operation(&self) -> Operation {
        self.operation
    }

    pub(crate) fn now(&self) -> Datetime {
        self.now
    }

    pub(crate) fn pod(&self) -> PodFacts {
        self.pod.clone()
    }

    pub(crate) fn node(&self) -> NodeFacts {
        self.node.clone()
    }

    pub(crate) fn other_pods(&self) -> Vec<PodFacts> {
        self.other_pods.clone()
    }
}

/// A pod in plain data. The default has no containers, comes from the source `file` and is best-effort.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    /// Namespace, name and UID.
    pub identity: PodRef,
    /// The source that brought it.
    pub source: String,
    /// `metadata.labels`
    pub labels: Vec<(String, String)>,
    /// `metadata.annotations`
    pub annotations: Vec<(String, String)>,
    /// `spec.priority`, or 0.
    pub priority: i32,
    /// All containers.
    pub containers: Vec<Container>,
    /// What the pod counts for.
    pub requests: Vec<Quantity>,
    /// Ports that it takes on the host.
    pub host_ports: Vec<HostPort>,
    /// Quality of service class.
    pub qos: QosClass,
    /// What `json` and `pointer` read.
    pub manifest: Value,
}

impl Default for PodFacts {
    fn default() -> Self {
        Self {
            identity: PodRef { namespace: "default".into(), name: "pod".into(), uid: "uid".into() },
            source: "file".to_owned(),
            labels: Vec::new(),
            annotations: Vec::new(),
            priority: 0,
            containers: Vec::new(),
            requests: Vec::new(),
            host_ports: Vec::new(),
            qos: QosClass::BestEffort,
            manifest: Value::Null,
        }
    }
}

impl PodFacts {
    /// The pod of a manifest: identity, labels, annotations, priority and containers are read from it, as the host does, and
    /// what it lacks is as in the default. Requests, host ports and QoS class, which the host derives by rules of the
    /// scheduler, are left as in the default: state them where a test is about them.
    ///
    /// ```
    /// # use serde_json::json;
    /// # use witlet_plugin_sdk::ContainerKind;
    /// # use witlet_plugin_sdk::facts::PodFacts;
    /// let pod = PodFacts::of(&json!({"metadata": {"name": "web"}, "spec": {
    ///     "initContainers": [{"name": "proxy", "image": "envoy", "restartPolicy": "Always"}],
    ///     "containers": [{"name": "app", "image": "nginx"}],
    /// }}));
    /// assert_eq!((pod.identity.name.as_str(), pod.identity.namespace.as_str()), ("web", "default"));
    /// assert_eq!(pod.containers[0].kind, ContainerKind::Sidecar);
    /// assert_eq!((pod.containers[1].kind, pod.containers[1].image.as_str()), (ContainerKind::App, "nginx"));
    /// ```
    pub fn of(manifest: &Value) -> Self {
        let (metadata, spec) = (&manifest["metadata"], &manifest["spec"]);
        let default = Self::default();
        let word = |key: &str, default: String| metadata[key].as_str().map_or(default, str::to_owned);
        let kinds = [
            ("initContainers", ContainerKind::Init),
            ("containers", ContainerKind::App),
            ("ephemeralContainers", ContainerKind::Ephemeral),
        ];
        let containers = kinds.into_iter().flat_map(|(list, kind)| {
            spec[list].as_array().into_iter().flatten().map(move |container| container_of(container, kind))
        });
        Self {
            identity: PodRef {
                namespace: word("namespace", default.identity.namespace),
                name: word("name", default.identity.name),
                uid: word("uid", default.identity.uid),
            },
            labels: pairs(&metadata["labels"]),
            annotations: pairs(&metadata["annotations"]),
            priority: spec["priority"].as_i64().and_then(|it| i32::try_from(it).ok()).unwrap_or_default(),
            containers: containers.collect(),
            manifest: manifest.clone(),
            source: default.source,
            requests: default.requests,
            host_ports: default.host_ports,
            qos: default.qos,
        }
    }

    pub(crate) fn identity(&self) -> PodRef {
        self.identity.clone()
    }

    pub(crate) fn source(&self) -> String {
        self.source.clone()
    }

    pub(crate) fn labels(&self) -> Vec<(String, String)> {
        self.labels.clone()
    }

    pub(crate) fn annotations(&self) -> Vec<(String, String)> {
        self.annotations.clone()
    }

    pub(crate) fn priority(&self) -> i32 {
        self.priority
    }

    pub(crate) fn containers(&self) -> Vec<Container> {
        self.containers.clone()
    }

    pub(crate) fn requests(&self) -> Vec<Quantity> {
        self.requests.clone()
    }

    pub(crate) fn host_ports(&self) -> Vec<HostPort> {
        self.host_ports.clone()
    }

    pub(crate) fn qos(&self) -> QosClass {
        self.qos
    }

    pub(crate) fn json(&self) -> String {
        self.manifest.to_string()
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        self.manifest.pointer(path).map(Value::to_string)
    }
}

/// A container of one of a spec's lists; an init container that is always restarted is a sidecar.
fn container_of(container: &Value, kind: ContainerKind) -> Container {
    let word = |key: &str| container[key].as_str().unwrap_or_default().to_owned();
    let is_sidecar = kind == ContainerKind::Init && container["restartPolicy"] == "Always";
    let kind = if is_sidecar { ContainerKind::Sidecar } else { kind };
    Container { name: word("name"), kind, image: word("image") }
}

/// The texts of an object, sorted by key.
fn pairs(object: &Value) -> Vec<(String, String)> {
    let entries = object.as_object().into_iter().flatten();
    let mut pairs: Vec<(String, String)> =
        entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect();
    pairs.sort();
    pairs
}

/// A node in plain data. The default has nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFacts {
    /// `metadata.name`
    pub name: String,
    /// `metadata.labels`
    pub labels: Vec<(String, String)>,
    /// `spec.taints`
    pub taints: Vec<Taint>,
    /// `status.capacity`
    pub capacity: Vec<Quantity>,
    /// `status.allocatable`
    pub allocatable: Vec<Quantity>,
    /// What the other pods count for.
    pub requested: Vec<Quantity>,
    /// Ports that the other pods take.
    pub used_host_ports: Vec<HostPort>,
    /// `status.conditions`
    pub conditions: Vec<Condition>,
    /// Facts about the machine and the runtime.
    pub facts: Vec<(String, String)>,
    /// Devices, as the JSON array that [`Node::devices`](crate::Node::devices) gives; `null` for none.
    pub devices: Value,
    /// What `json` and `pointer` read.
    pub manifest: Value,
}

impl NodeFacts {
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    pub(crate) fn labels(&self) -> Vec<(String, String)> {
        self.labels.clone()
    }

    pub(crate) fn taints(&self) -> Vec<Taint> {
        self.taints.clone()
    }

    pub(crate) fn capacity(&self) -> Vec<Quantity> {
        self.capacity.clone()
    }

    pub(crate) fn allocatable(&self) -> Vec<Quantity> {
        self.allocatable.clone()
    }

    pub(crate) fn requested(&self) -> Vec<Quantity> {
        self.requested.clone()
    }

    pub(crate) fn used_host_ports(&self) -> Vec<HostPort> {
        self.used_host_ports.clone()
    }

    pub(crate) fn conditions(&self) -> Vec<Condition> {
        self.conditions.clone()
    }

    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        self.facts.clone()
    }

    pub(crate) fn devices(&self) -> String {
        match &self.devices {
            Value::Null => "[]".to_owned(),
            devices => devices.to_string(),
        }
    }

    pub(crate) fn json(&self) -> String {
        self.manifest.to_string()
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        self.manifest.pointer(path).map(Value::to_string)
    }
}

#[cfg(test)]
mod tests;
