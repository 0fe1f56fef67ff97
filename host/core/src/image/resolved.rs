//! What admission handlers see of an image that is on the node, before a container is made from it.

use k8s_openapi::api::core::v1::Container;
use serde::{Deserialize, Serialize};

use super::records::PulledWith;
use super::reference::ImageReference;
use crate::runtime::ImageInfo;

#[cfg(test)]
mod tests;

/// The image that a container is to be started from, as the runtime has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResolvedImage {
    pub container: String,
    /// What the container is to be created from.
    pub id: String,
    /// The digest that it has in the repository that the pod names; none if the runtime knows of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Bytes on the node; none if the runtime doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Whose credentials opened the registry; none if that isn't known, as of an image that this agent didn't pull.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<CredentialOrigin>,
}

/// Whose credentials an image was pulled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialOrigin {
    /// The node's own, or none at all: all pods of the node may use the image.
    Node,
    Secret,
}

impl CredentialOrigin {
    /// Returns its name, as in records: `node` or `secret`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Secret => "secret",
        }
    }
}

impl ResolvedImage {
    /// Describes the image of a container that is to be created from `reference`; `info` is what the runtime says of that.
    pub fn new(
        container: &Container,
        reference: &str,
        info: Option<&ImageInfo>,
        pulled_with: Option<&PulledWith>,
    ) -> Self {
        let written = container.image.as_deref().unwrap_or_default();
        Self {
            container: container.name.clone(),
            id: reference.to_owned(),
            digest: info.and_then(|info| digest(written, &info.repo_digests)),
            size_bytes: info.map(|info| info.size_bytes).filter(|bytes| *bytes > 0),
            credentials: pulled_with.map(|with| match with {
                PulledWith::NodeAccess => CredentialOrigin::Node,
                PulledWith::Secrets(_) => CredentialOrigin::Secret,
            }),
        }
    }
}

/// The image's digest in the repository of this name: the one that is written if it has that, otherwise the first that the runtime
/// lists.
fn digest(written: &str, repo_digests: &[String]) -> Option<String> {
    let written = ImageReference::parse(written).ok()?;
    let known = repo_digests.iter().filter_map(|known| ImageReference::parse(known).ok());
    let of_repository = known.filter(|known| known.repository() == written.repository());
    let digests: Vec<String> = of_repository.filter_map(|known| known.digest).collect();
    let is_written = |digest: &&String| written.digest.as_ref() == Some(*digest);
    digests.iter().find(is_written).or(digests.first()).cloned()
}
