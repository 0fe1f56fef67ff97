//! What handlers may check, computed when first asked for and shared by all handlers that are asked.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{NodeCondition, Pod, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use witlet_core::admission::facts::{ContainerFacts, PodImage, VolumeFacts, container_facts, volume_facts};
use witlet_core::admission::{AdmissionRequest, Operation};
use witlet_core::image::ResolvedImage;
use witlet_core::node::NodeFacts;
use witlet_core::pod::resources::{self, Amounts, HostPort};
use witlet_core::pod::{PodFullName, SourceName};

use crate::worlds::document::Document;

/// The resource that counts pods.
const PODS: &str = "pods";

/// One question with all that is derived from it.
#[derive(Debug)]
pub(crate) struct RequestFacts {
    pub(crate) operation: Operation,
    pub(crate) now: Timestamp,
    /// The pod that asks, then the others, ordered by namespace and name.
    pub(crate) pods: Vec<PodFacts>,
    /// The pod that asks as it runs; none for a new one.
    pub(crate) old_pod: Option<PodFacts>,
    /// The image that a container of the pod is to be started from.
    pub(crate) image: Option<Arc<ResolvedImage>>,
    pub(crate) node: NodeView,
}

/// One pod.
#[derive(Debug)]
pub(crate) struct PodFacts {
    pub(crate) pod: Arc<Pod>,
    pub(crate) source: SourceName,
    requests: OnceLock<Amounts>,
    limits: OnceLock<Amounts>,
    host_ports: OnceLock<Vec<Arc<HostPort>>>,
    containers: OnceLock<Vec<Arc<ContainerFacts>>>,
    volumes: OnceLock<Vec<Arc<VolumeFacts>>>,
    owners: OnceLock<Vec<Arc<OwnerReference>>>,
    document: Document,
}

/// The node, and what the other pods take of it.
#[derive(Debug)]
pub(crate) struct NodeView {
    pub(crate) facts: Arc<NodeFacts>,
    requested: OnceLock<Amounts>,
    used_host_ports: OnceLock<Vec<Arc<HostPort>>>,
    taints: OnceLock<Vec<Arc<Taint>>>,
    conditions: OnceLock<Vec<Arc<NodeCondition>>>,
    document: Document,
}

impl RequestFacts {
    pub(crate) fn new(request: AdmissionRequest) -> Self {
        let AdmissionRequest { operation, now, pod, old_pod, image, source, node, other_pods } = request;
        let old_pod = old_pod.map(|old| PodFacts::new(old, source.clone()));
        let mut pods = Vec::with_capacity(other_pods.len() + 1);
        pods.push(PodFacts::new(pod, source));
        pods.extend(other_pods.iter().map(|other| PodFacts::new(other.pod.clone(), other.source.clone())));
        pods[1..].sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        let node = NodeView {
            facts: node,
            requested: OnceLock::new(),
            used_host_ports: OnceLock::new(),
            taints: OnceLock::new(),
            conditions: OnceLock::new(),
            document: Document::default(),
        };
        Self { operation, now, pods, old_pod, image, node }
    }

    /// Makes all that a guest can ask for, so that none of it is counted as the guest's time.
    pub(crate) fn prepare(&self) {
        for pod in self.pods.iter().chain(&self.old_pod) {
            pod.prepare();
        }
        self.requested();
        self.used_host_ports();
        self.node.taints();
        self.node.conditions();
        self.node.document.prepare(&self.node.facts.node);
    }

    /// The pod that asks.
    pub(crate) fn pod(&self) -> &PodFacts {
        &self.pods[0]
    }

    /// Handlers of the runtime classes that the pods name: what a guest can learn of them.
    pub(crate) fn named_runtime_classes(&self) -> BTreeMap<String, String> {
        let known = &self.node.facts.observed.runtime_classes;
        let named = self.pods.iter().chain(&self.old_pod).filter_map(|pod| {
            let class = pod.pod.spec.as_ref()?.runtime_class_name.as_ref()?;
            Some((class.clone(), known.get(class)?.clone()))
        });
        named.collect()
    }

    fn others(&self) -> &[PodFacts] {
        &self.pods[1..]
    }

    /// Returns what the other pods count for together; `pods` is their number.
    pub(crate) fn requested(&self) -> &Amounts {
        self.node.requested.get_or_init(|| {
            let mut sum = Amounts::new();
            for (resource, amount) in self.others().iter().flat_map(PodFacts::requests) {
                let total = sum.entry(resource.clone()).or_insert(0);
                *total = total.saturating_add(*amount);
            }
            sum.insert(PODS.to_owned(), i64::try_from(self.others().len()).unwrap_or(i64::MAX));
            sum
        })
    }

    /// Ports that the other pods take on the host.
    pub(crate) fn used_host_ports(&self) -> &[Arc<HostPort>] {
        self.node
            .used_host_ports
            .get_or_init(|| self.others().iter().flat_map(PodFacts::host_ports).cloned().collect())
    }
}

impl PodFacts {
    fn new(pod: Arc<Pod>, source: SourceName) -> Self {
        Self {
            pod,
            source,
            requests: OnceLock::new(),
            limits: OnceLock::new(),
            host_ports: OnceLock::new(),
            containers: OnceLock::new(),
            volumes: OnceLock::new(),
            owners: OnceLock::new(),
            document: Document::default(),
        }
    }

    fn prepare(&self) {
        self.requests();
        self.limits();
        self.host_ports();
        self.containers();
        self.volumes();
        self.owners();
        self.document.prepare(&*self.pod);
    }

    fn sort_key(&self) -> (&str, &str) {
        let metadata = &self.pod.metadata;
        (metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
    }

    pub(crate) fn full_name(&self) -> PodFullName {
        PodFullName::of(&self.pod)
    }

    pub(crate) fn uid(&self) -> &str {
        self.pod.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(crate) fn requests(&self) -> &Amounts {
        self.requests.get_or_init(|| resources::requests(&self.pod))
    }

    pub(crate) fn limits(&self) -> &Amounts {
        self.limits.get_or_init(|| resources::limits(&self.pod))
    }

    pub(crate) fn host_ports(&self) -> &[Arc<HostPort>] {
        self.host_ports.get_or_init(|| resources::host_ports(&self.pod).into_iter().map(Arc::new).collect())
    }

    pub(crate) fn containers(&self) -> &[Arc<ContainerFacts>] {
        self.containers.get_or_init(|| container_facts(&self.pod))
    }

    pub(crate) fn volumes(&self) -> &[Arc<VolumeFacts>] {
        self.volumes.get_or_init(|| volume_facts(&self.pod))
    }

    /// Returns the images of the containers in their order, then of volumes.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Arc<PodImage>> {
        let volumes = self.volumes().iter().filter_map(|volume| volume.image.as_ref());
        self.containers().iter().map(|container| &container.image).chain(volumes)
    }

    pub(crate) fn owners(&self) -> &[Arc<OwnerReference>] {
        let owners = || self.pod.metadata.owner_references.iter().flatten().cloned().map(Arc::new).collect();
        self.owners.get_or_init(owners)
    }

    pub(crate) fn json(&self) -> &str {
        self.document.text(&*self.pod)
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        self.document.pointer(&*self.pod, path)
    }

    /// The same from a part of the pod on; none for what is no pointer.
    pub(crate) fn pointer_below(&self, base: &str, path: &str) -> Option<String> {
        let is_pointer = path.is_empty() || path.starts_with('/');
        is_pointer.then(|| self.pointer(&format!("{base}{path}"))).flatten()
    }
}

impl NodeView {
    pub(crate) fn taints(&self) -> &[Arc<Taint>] {
        let spec = self.facts.node.spec.as_ref();
        let taints = || spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
        self.taints.get_or_init(|| taints().cloned().map(Arc::new).collect())
    }

    pub(crate) fn conditions(&self) -> &[Arc<NodeCondition>] {
        let status = self.facts.node.status.as_ref();
        let conditions = || status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
        self.conditions.get_or_init(|| conditions().cloned().map(Arc::new).collect())
    }

    pub(crate) fn json(&self) -> &str {
        self.document.text(&self.facts.node)
    }

    pub(crate) fn pointer(&self, path: &str) -> Option<String> {
        self.document.pointer(&self.facts.node, path)
    }
}
