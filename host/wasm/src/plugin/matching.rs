//! Which pods an admission handler is asked about: decided by the pod, its source and the operation alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use witlet_core::admission::facts::SERVICE_ACCOUNT_DEFAULT;
use witlet_core::admission::preemption::is_own;
use witlet_core::admission::{AdmissionRequest, Operation};
use witlet_core::image::reference::ImageReference;
use witlet_core::pod::SourceName;
use witlet_core::pod::static_pod::CRITICAL_PRIORITY_MIN;

use super::config::Globs;

#[cfg(test)]
mod tests;

/// The namespace of pods that a cluster needs.
pub(crate) const SYSTEM_NAMESPACE: &str = "kube-system";
/// The priority classes of pods that a node or a cluster needs (Kubernetes documentation, "Pod Priority and Preemption").
pub(crate) const SYSTEM_PRIORITY_CLASSES: [&str; 2] = ["system-node-critical", "system-cluster-critical"];
/// The source whose pods aren't static.
const API_SOURCE: &str = "api";
/// The sources of static pods that are no plugin's.
pub(crate) const STATIC_SOURCES: [&str; 2] = ["file", "http"];

/// Which pods an admission handler is asked about: `match:` of its entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodMatch {
    /// Whether system pods are among them: those of the namespace `kube-system`, of a system priority, and static ones on a node
    /// with an API server; but none that a plugin's source brings.
    pub system_pods: bool,
    /// What the pods are like.
    pub criteria: Criteria,
    /// Pods that meet one of these are left out.
    pub exclude: Vec<Criteria>,
}

/// What a pod is like: all that is named must hold, and of each list one item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criteria {
    /// `metadata.namespace`
    pub namespaces: Option<Globs>,
    /// `metadata.labels`
    pub labels: Option<LabelSelector>,
    /// Why admission is asked.
    pub operations: Option<Vec<Operation>>,
    /// `spec.priorityClassName`
    pub priority_classes: Option<Globs>,
    /// The source that brought the pod.
    pub sources: Option<Globs>,
    /// Namespace and name of the service account, with a slash between them.
    pub service_accounts: Option<Globs>,
    /// Full names of images: one of the pod's, and to leave a pod out all of them.
    pub images: Option<Globs>,
}

/// A label selector with the semantics of Kubernetes (`metav1.LabelSelector`): all requirements must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// Labels that the pod must have.
    pub match_labels: BTreeMap<String, String>,
    pub match_expressions: Vec<LabelRequirement>,
}

/// One of `matchExpressions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRequirement {
    pub key: String,
    /// What must hold of the label.
    pub operator: LabelOperator,
    /// For `In` and `NotIn`.
    pub values: Vec<String>,
}

/// What a requirement says of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelOperator {
    /// It has one of the values.
    In,
    /// It has none of the values, or isn't there.
    NotIn,
    Exists,
    DoesNotExist,
}

/// How many images of a pod must be of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageQuantifier {
    Any,
    All,
}

impl PodMatch {
    /// Matches all pods: as the shipped handlers are asked.
    pub(crate) fn all() -> Self {
        Self { system_pods: true, ..Self::default() }
    }

    /// Whether the handler is asked about this pod.
    pub(crate) fn matches(&self, subject: &MatchSubject) -> bool {
        self.mismatch(subject).is_none()
    }

    /// Why the handler isn't asked about this pod; none if it is.
    pub(crate) fn mismatch(&self, subject: &MatchSubject) -> Option<Mismatch> {
        if !self.system_pods
            && let Some(because) = subject.is_system_because()
        {
            return Some(Mismatch::SystemPod { because });
        }
        if let Some(field) = self.criteria.unmet(subject, ImageQuantifier::Any) {
            return Some(Mismatch::Field { field });
        }
        // A pod isn't left out because one image among others is of a pattern.
        let excludes = |criteria: &Criteria| criteria.unmet(subject, ImageQuantifier::All).is_none();
        self.exclude.iter().position(excludes).map(|index| Mismatch::Excluded { index })
    }
}

/// Why a handler isn't asked about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// It is a system pod, and the entry doesn't opt in.
    SystemPod {
        /// What makes it one.
        because: &'static str,
    },
    /// It doesn't meet this field.
    Field { field: MatchField },
    /// It meets this item of `exclude`.
    Excluded {
        /// From 0.
        index: usize,
    },
}

impl Mismatch {
    /// The rule's path in the entry.
    pub(crate) fn rule(&self) -> String {
        match self {
            Self::SystemPod { .. } => "match.systemPods".to_owned(),
            Self::Field { field } => format!("match.{}", field.as_str()),
            Self::Excluded { index } => format!("match.exclude[{index}]"),
        }
    }

    /// Returns a sentence about the pod.
    pub(crate) fn sentence(&self, subject: &MatchSubject) -> String {
        match self {
            Self::SystemPod { because } => format!("it is a system pod: {because}"),
            Self::Field { field } => format!("the pod has {}", subject.shown(*field)),
            Self::Excluded { .. } => "the pod meets all of its fields".to_owned(),
        }
    }
}

impl Criteria {
    /// The first field that the pod doesn't meet; none if it meets all.
    fn unmet(&self, subject: &MatchSubject, quantifier: ImageQuantifier) -> Option<MatchField> {
        let fits = |globs: &Option<Globs>, text: &str| globs.as_ref().is_none_or(|globs| globs.matches(text));
        if !fits(&self.namespaces, subject.namespace()) {
            return Some(MatchField::Namespaces);
        }
        if !fits(&self.priority_classes, subject.priority_class()) {
            return Some(MatchField::PriorityClasses);
        }
        if !fits(&self.sources, subject.source.as_str()) {
            return Some(MatchField::Sources);
        }
        if !self.operations.as_ref().is_none_or(|operations| operations.contains(&subject.operation)) {
            return Some(MatchField::Operations);
        }
        if !self.labels.as_ref().is_none_or(|selector| selector.selects(&subject.pod)) {
            return Some(MatchField::Labels);
        }
        let accounts = self.service_accounts.as_ref();
        if !accounts.is_none_or(|globs| globs.matches(&subject.service_account())) {
            return Some(MatchField::ServiceAccounts);
        }
        let images = self.images.as_ref();
        (!images.is_none_or(|globs| subject.has_images(globs, quantifier))).then_some(MatchField::Images)
    }
}

/// A field that says what a pod is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchField {
    Namespaces,
    PriorityClasses,
    Sources,
    Operations,
    Labels,
    ServiceAccounts,
    Images,
}

impl MatchField {
    /// Returns its name in an entry.
    fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::PriorityClasses => "priorityClasses",
            Self::Sources => "sources",
            Self::Operations => "operations",
            Self::Labels => "labels",
            Self::ServiceAccounts => "serviceAccounts",
            Self::Images => "images",
        }
    }
}

impl LabelSelector {
    fn selects(&self, pod: &Pod) -> bool {
        let label = |key: &str| pod.metadata.labels.as_ref().and_then(|labels| labels.get(key));
        self.match_labels.iter().all(|(key, value)| label(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.holds(label(&requirement.key)))
    }
}

impl LabelRequirement {
    fn holds(&self, label: Option<&String>) -> bool {
        match self.operator {
            LabelOperator::In => label.is_some_and(|label| self.values.contains(label)),
            LabelOperator::NotIn => label.is_none_or(|label| !self.values.contains(label)),
            LabelOperator::Exists => label.is_some(),
            LabelOperator::DoesNotExist => label.is_none(),
        }
    }
}

/// A question about a pod, as far as it decides which handlers are asked.
#[derive(Debug)]
pub(crate) struct MatchSubject {
    pod: Arc<Pod>,
    source: SourceName,
    operation: Operation,
    /// Whether the node has an API server.
    in_cluster: bool,
    /// Full names of its images, made for the first handler that wants them.
    images: OnceLock<Vec<String>>,
    /// The handlers that are asked; none is for all.
    handlers: Option<BTreeSet<Arc<str>>>,
}

impl MatchSubject {
    /// Creates the subject of a question on a node that has an API server, or hasn't.
    pub(crate) fn new(request: &AdmissionRequest, in_cluster: bool) -> Self {
        Self {
            pod: request.pod.clone(),
            source: request.source.clone(),
            operation: request.operation,
            in_cluster,
            images: OnceLock::new(),
            handlers: None,
        }
    }

    /// The same question, of these handlers alone.
    pub(crate) fn only_for(self, handlers: BTreeSet<Arc<str>>) -> Self {
        Self { handlers: Some(handlers), ..self }
    }

    /// Whether a handler is one of those that are asked.
    pub(crate) fn is_for(&self, handler: &str) -> bool {
        self.handlers.as_ref().is_none_or(|handlers| handlers.contains(handler))
    }

    /// The pod.
    pub(crate) fn pod(&self) -> &Pod {
        &self.pod
    }

    /// Whether the pod's labels are those that are selected.
    pub(crate) fn is_selected_by(&self, selector: &LabelSelector) -> bool {
        selector.selects(&self.pod)
    }

    /// Why admission is asked.
    pub(crate) fn operation(&self) -> Operation {
        self.operation
    }

    /// The pod's namespace.
    pub(crate) fn namespace(&self) -> &str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Returns what makes the pod one that a handler is asked about only if it opts in; none if it isn't. What a plugin's source brings
    /// never is one, whatever it says of itself. Without an API server all pods are static, and being so sets none apart.
    fn is_system_because(&self) -> Option<&'static str> {
        if !is_own(&self.source) {
            return None;
        }
        let priority = self.spec().and_then(|spec| spec.priority);
        if self.namespace() == SYSTEM_NAMESPACE {
            Some("it is in kube-system")
        } else if SYSTEM_PRIORITY_CLASSES.contains(&self.priority_class()) {
            Some("it has a priority class of the system")
        } else if priority.is_some_and(|priority| priority >= CRITICAL_PRIORITY_MIN) {
            Some("it has a priority of the system")
        } else if self.in_cluster && self.source.as_str() != API_SOURCE {
            Some("it is a static pod on a node with an API server")
        } else {
            None
        }
    }

    /// Returns what the pod has where an entry's field says what it must have.
    fn shown(&self, field: MatchField) -> String {
        let listed = |name: &str, items: Vec<String>| match items.as_slice() {
            [] => format!("no {name}"),
            items => format!("the {name} {}", items.join(", ")),
        };
        match field {
            MatchField::Namespaces => format!("the namespace {}", self.namespace()),
            MatchField::PriorityClasses if self.priority_class().is_empty() => "no priority class".to_owned(),
            MatchField::PriorityClasses => format!("the priority class {}", self.priority_class()),
            MatchField::Sources => format!("the source {}", self.source),
            MatchField::Operations => format!("the operation {}", self.operation.as_str()),
            MatchField::Labels => {
                let labels = self.pod.metadata.labels.iter().flatten();
                listed("labels", labels.map(|(key, value)| format!("{key}={value}")).collect())
            }
            MatchField::ServiceAccounts => format!("the service account {}", self.service_account()),
            MatchField::Images => listed("images", self.spec().map(image_names).unwrap_or_default()),
        }
    }

    fn spec(&self) -> Option<&PodSpec> {
        self.pod.spec.as_ref()
    }

    fn priority_class(&self) -> &str {
        self.spec().and_then(|spec| spec.priority_class_name.as_deref()).unwrap_or_default()
    }

    fn service_account(&self) -> String {
        let name = self.spec().and_then(|spec| spec.service_account_name.as_deref());
        let name = name.filter(|name| !name.is_empty()).unwrap_or(SERVICE_ACCOUNT_DEFAULT);
        format!("{}/{name}", self.namespace())
    }

    fn has_images(&self, globs: &Globs, quantifier: ImageQuantifier) -> bool {
        let images = self.images.get_or_init(|| self.spec().map(image_names).unwrap_or_default());
        let mut fits = images.iter().map(|image| globs.matches(image));
        match quantifier {
            ImageQuantifier::Any => fits.any(|fits| fits),
            ImageQuantifier::All => !images.is_empty() && fits.all(|fits| fits),
        }
    }
}

/// Full names of the images of all containers and image volumes.
fn image_names(spec: &PodSpec) -> Vec<String> {
    let containers = spec.init_containers.iter().flatten().chain(&spec.containers);
    let containers = containers.filter_map(|container| container.image.as_deref());
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let ephemeral = ephemeral.filter_map(|container| container.image.as_deref());
    let volumes = spec.volumes.iter().flatten().filter_map(|volume| volume.image.as_ref());
    let volumes = volumes.filter_map(|image| image.reference.as_deref());
    containers.chain(ephemeral).chain(volumes).map(full_image_name).collect()
}

/// Returns the name with registry, folder, and tag or digest; as it stands if it is no reference of that kind.
fn full_image_name(image: &str) -> String {
    ImageReference::parse(image).map_or_else(|_error| image.to_owned(), |reference| reference.full_name())
}
