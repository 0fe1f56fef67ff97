//! The names that a pod goes by.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::{Deserialize, Serialize};

macro_rules! shared_string {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use shared_string;

shared_string! {
    /// `metadata.uid`: says two pods of the same name apart. Cheap to clone.
    PodUid
}

shared_string! {
    /// Where a pod comes from: `file`, `http`, `api`, or the name of a pod-source plugin. Cheap to clone.
    SourceName
}

impl SourceName {
    /// The source of manifests in files.
    pub fn file() -> Self {
        Self::from("file")
    }

    /// The source of manifests from a URL.
    pub fn http() -> Self {
        Self::from("http")
    }
}

impl PodUid {
    /// The pod's UID. Pods are given one before they leave their source, so an empty one is a source's fault.
    pub fn of(pod: &Pod) -> Self {
        Self::from(pod.metadata.uid.as_deref().unwrap_or_default())
    }
}

/// The controller that made the pod, if one did.
pub fn controller(pod: &Pod) -> Option<&OwnerReference> {
    pod.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Namespace and name, which at most one running static pod may have. Displays as `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PodFullName {
    /// `metadata.namespace`
    pub namespace: Arc<str>,
    /// `metadata.name`
    pub name: Arc<str>,
}

impl PodFullName {
    /// Creates a full name from a namespace and a name.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Returns the full name of a pod.
    pub fn of(pod: &Pod) -> Self {
        Self::new(
            pod.metadata.namespace.as_deref().unwrap_or_default(),
            pod.metadata.name.as_deref().unwrap_or_default(),
        )
    }
}

impl fmt::Display for PodFullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
