//! An image that is on the node.

use super::container::Container;

/// The image that a container is to be started from, in plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedImageFacts {
    /// The name of the container in the pod that asks. Of a pod that has none of this name there is no image.
    pub container: String,
    /// What the runtime makes the container from.
    pub id: String,
    /// The digest in the repository that the pod names.
    pub digest: Option<String>,
    /// Bytes on the node.
    pub size: Option<u64>,
    /// `secret` or `node`.
    pub credentials: Option<String>,
}

/// The same next to its container.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedImage {
    pub(super) facts: ResolvedImageFacts,
    pub(super) container: Container,
}

impl ResolvedImage {
    pub(crate) fn container(&self) -> Container {
        self.container.clone()
    }

    pub(crate) fn id(&self) -> String {
        self.facts.id.clone()
    }

    pub(crate) fn digest(&self) -> Option<String> {
        self.facts.digest.clone()
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.facts.size
    }

    pub(crate) fn credentials(&self) -> Option<String> {
        self.facts.credentials.clone()
    }
}
