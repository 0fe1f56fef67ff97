//! The resources that this server knows, and how each behaves.

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenReview};
use k8s_openapi::api::authorization::v1::{SelfSubjectAccessReview, SubjectAccessReview};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, Event, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Secret,
    Service, ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::events::v1::Event as NewEvent;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, StorageClass, VolumeAttachment};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One resource of one group and version.
pub(crate) struct Resource {
    /// API group; empty for the core group.
    pub(crate) group: &'static str,
    /// Version in the group.
    pub(crate) version: &'static str,
    /// Plural name in paths.
    pub(crate) name: &'static str,
    /// Kind of its objects.
    pub(crate) kind: &'static str,
    /// Whether its objects live in namespaces.
    pub(crate) namespaced: bool,
    /// Reads an object as its type and writes it again: fields that the type doesn't have are gone, times have upstream's precision.
    pub(crate) decode: fn(Value) -> Result<Value, serde_json::Error>,
    /// Where the objects lie; another resource's name if both show the same objects.
    pub(crate) table: &'static str,
    /// What a PUT may do.
    pub(crate) put: Put,
    /// Whether status has a subresource of its own, and which part of the object each of both writes.
    pub(crate) has_status: bool,
    /// Whether `metadata.generation` counts changes of the spec.
    pub(crate) has_generation: bool,
    /// Whether DELETE answers the object and not a Status.
    pub(crate) deletion_shows_object: bool,
    /// Whether it can only be created, and is never kept.
    pub(crate) is_review: bool,
}

/// What a PUT may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    /// Changes an object; without a resource version, whatever it is.
    Unconditional,
    /// The same, and creates a missing object.
    Creating,
    /// Changes an object of the named resource version only.
    Conditional,
    /// Creates a missing object, but changes one of the named version only.
    ConditionalCreating,
}

impl Put {
    /// Whether it creates missing objects.
    pub(crate) fn creates(self) -> bool {
        matches!(self, Self::Creating | Self::ConditionalCreating)
    }

    /// Whether it needs the resource version.
    pub(crate) fn needs_version(self) -> bool {
        matches!(self, Self::Conditional | Self::ConditionalCreating)
    }
}

impl Resource {
    /// Resource and group, as messages name it.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.name, self.group) }
    }

    /// Group and version, as `apiVersion` has it.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether these are the pods.
    pub(crate) fn is_pods(&self) -> bool {
        self.name == "pods"
    }
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.qualified())
    }
}

fn decode<T: DeserializeOwned + Serialize>(value: Value) -> Result<Value, serde_json::Error> {
    let object: T = serde_json::from_value(value)?;
    serde_json::to_value(object)
}

const fn plain<T: k8s_openapi::Resource + DeserializeOwned + Serialize>(namespaced: bool) -> Resource {
    Resource {
        group: T::GROUP,
        version: T::VERSION,
        name: T::URL_PATH_SEGMENT,
        kind: T::KIND,
        namespaced,
        decode: decode::<T>,
        table: T::URL_PATH_SEGMENT,
        put: Put::Unconditional,
        has_status: false,
        has_generation: false,
        deletion_shows_object: false,
        is_review: false,
    }
}

const fn review<T: k8s_openapi::Resource + DeserializeOwned + Serialize>() -> Resource {
    Resource { is_review: true, ..plain::<T>(false) }
}

/// Every resource. Two that share a table show the same objects; the first one's form is kept.
pub(crate) static RESOURCES: [Resource; 27] = [
    Resource { has_status: true, has_generation: true, deletion_shows_object: true, ..plain::<Pod>(true) },
    Resource { has_status: true, ..plain::<Node>(false) },
    Resource { put: Put::ConditionalCreating, ..plain::<Lease>(true) },
    Resource { put: Put::Creating, ..plain::<Event>(true) },
    Resource { put: Put::Creating, ..plain::<NewEvent>(true) },
    plain::<ConfigMap>(true),
    plain::<Secret>(true),
    Resource { put: Put::Creating, has_status: true, deletion_shows_object: true, ..plain::<Service>(true) },
    Resource { put: Put::Creating, ..plain::<Endpoints>(true) },
    Resource { has_generation: true, ..plain::<EndpointSlice>(true) },
    Resource { has_status: true, ..plain::<Namespace>(false) },
    Resource { deletion_shows_object: true, ..plain::<ServiceAccount>(true) },
    Resource { put: Put::Conditional, ..plain::<RuntimeClass>(false) },
    Resource { has_status: true, ..plain::<CertificateSigningRequest>(false) },
    Resource { put: Put::Conditional, ..plain::<CSINode>(false) },
    Resource { put: Put::Conditional, ..plain::<CSIDriver>(false) },
    Resource { has_status: true, ..plain::<VolumeAttachment>(false) },
    plain::<StorageClass>(false),
    plain::<PriorityClass>(false),
    Resource {
        put: Put::Conditional,
        has_status: true,
        has_generation: true,
        ..plain::<PodDisruptionBudget>(true)
    },
    Resource { has_status: true, deletion_shows_object: true, ..plain::<PersistentVolume>(false) },
    Resource { has_status: true, deletion_shows_object: true, ..plain::<PersistentVolumeClaim>(true) },
    review::<TokenReview>(),
    review::<SubjectAccessReview>(),
    review::<SelfSubjectAccessReview>(),
    review::<SelfSubjectReview>(),
    Resource { has_generation: true, ..plain::<k8s_openapi::api::apps::v1::ControllerRevision>(true) },
];

/// The resource of this group, version and name.
pub(crate) fn find(group: &str, version: &str, name: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|r| r.group == group && r.version == version && r.name == name)
}

/// The resource that keeps objects of this table.
pub(crate) fn named(name: &str) -> &'static Resource {
    RESOURCES.iter().find(|r| r.name == name).expect("callers name resources of the table")
}
