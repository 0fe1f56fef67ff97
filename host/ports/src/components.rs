//! The port that components of plugins come from registries through.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use thiserror::Error;
use witlet_core::image::reference::{ImageReference, ReferenceError};

use crate::target::{OCI_SCHEME, Target, is_sha256};

/// A component in a registry, pinned by the digest of its manifest: `oci://HOST[:PORT]/REPOSITORY[:TAG]@sha256:DIGEST`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ComponentReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: String,
}

impl ComponentReference {
    /// The registry with its port, such as `registry.example.com` or `127.0.0.1:5000`.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path in the registry, such as `probes/redis`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, which is for people only: the digest decides.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The manifest's digest with its algorithm: `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Registry and path without tag and digest: what credentials are looked up by.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }
}

impl fmt::Display for ComponentReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OCI_SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        write!(f, "@{}", self.digest)
    }
}

/// Why a text names no component in a registry. Each says the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ComponentReferenceError {
    /// No `oci://`.
    #[error("a component in a registry begins with {OCI_SCHEME}")]
    Scheme,
    /// No registry stands before the first slash: there is no default one for components.
    #[error("the registry is missing: write {OCI_SCHEME}HOST/REPOSITORY@sha256:DIGEST")]
    Registry,
    #[error("the digest is missing: add @sha256:DIGEST")]
    NoDigest,
    /// Another algorithm, or not 64 hexadecimal digits.
    #[error("the digest must be `sha256:` and 64 lower-case hexadecimal digits")]
    Digest,
    /// It follows none of the rules for references.
    #[error("it isn't HOST[:PORT]/REPOSITORY[:TAG]@sha256:DIGEST")]
    Reference(#[source] ReferenceError),
}

impl FromStr for ComponentReference {
    type Err = ComponentReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix(OCI_SCHEME).ok_or(ComponentReferenceError::Scheme)?;
        let (named, digest) = rest.rsplit_once('@').ok_or(ComponentReferenceError::NoDigest)?;
        if !is_sha256(digest) {
            return Err(ComponentReferenceError::Digest);
        }
        let parsed = ImageReference::parse(rest).map_err(ComponentReferenceError::Reference)?;
        // What has no registry gets the default one of images, and is then not what was written.
        if !named.starts_with(&format!("{}/{}", parsed.registry, parsed.path)) {
            return Err(ComponentReferenceError::Registry);
        }
        let digest = digest.to_owned();
        Ok(Self { registry: parsed.registry, repository: parsed.path, tag: parsed.tag, digest })
    }
}

/// A component couldn't be brought. Its source has its own words for why.
#[derive(Debug, Error)]
#[error("fetch {reference}")]
pub struct FetchError {
    pub reference: ComponentReference,
    /// Why not, with the way out.
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Which reports on a component, or which signatures of it, are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// Those that were brought before, without asking the registry.
    Kept,
    /// Those that the registry has now, which are kept in place of earlier ones.
    Newest,
}

/// One signature of an artifact in a registry, as cosign puts it there. Nothing of it was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactSignature {
    /// Of the tag `sha256-….sig`: what was signed, and the signature.
    Simple {
        /// What was signed, byte for byte.
        payload: Vec<u8>,
        /// The signature, in Base64.
        signature: String,
        /// Whether a certificate stands next to it: then it was made without a lasting key.
        certificate: bool,
    },
    /// A Sigstore bundle, as JSON.
    Bundle(Vec<u8>),
}

/// What vouches for an artifact in a registry: unverified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactSignatures {
    /// The artifact's manifest, whose digest is the reference's; empty if it isn't there.
    pub manifest: Vec<u8>,
    /// Its signatures: a bounded number of bounded size.
    pub signatures: Vec<ArtifactSignature>,
}

/// Brings components from registries, and keeps what it brought.
#[async_trait]
pub trait ComponentFetcher: Send + Sync {
    /// The component's bytes. The manifest has the reference's digest, and the bytes have the digest and size that the
    /// manifest says. `credentials` is a file in the form of a docker configuration; without one the node's own
    /// credentials count, if it has some. Returns within a bounded time.
    async fn fetch(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
    ) -> Result<Arc<[u8]>, FetchError>;

    /// Signed conformance reports that lie next to the component: unverified envelopes, a bounded
    /// number of bounded size, none if there are none. Credentials and time as for [`fetch`](Self::fetch).
    async fn reports(
        &self,
        reference: &ComponentReference,
        credentials: Option<&Path>,
        which: Reports,
    ) -> Result<Vec<Vec<u8>>, FetchError>;

    /// The artifact's signatures, none if there are none. Credentials and time as for [`fetch`](Self::fetch).
    async fn signatures(
        &self,
        _reference: &ComponentReference,
        _credentials: Option<&Path>,
        _which: Reports,
    ) -> Result<ArtifactSignatures, FetchError> {
        Ok(ArtifactSignatures::default())
    }
}

/// What is known of an artifact in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Digest of its manifest, `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The bytes of its one layer; none if the manifest is the one that is known.
    pub bytes: Option<Vec<u8>>,
}

/// An artifact couldn't be brought. Its source has its own words for why, with the way out.
#[derive(Debug, Error)]
#[error("fetch {target}")]
pub struct ArtifactError {
    pub target: Target,
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

/// Brings artifacts from registries that are no components, and keeps none.
#[async_trait]
pub trait ArtifactFetcher: Send + Sync {
    /// The one layer of an artifact, by its digest, else by its tag: not more than `bytes_max` bytes, with the digest and size that the
    /// manifest says. None are brought if the manifest's digest is the `known` one. Credentials and time as for
    /// [`ComponentFetcher::fetch`].
    async fn artifact(
        &self,
        target: &Target,
        credentials: Option<&Path>,
        known: Option<&str>,
        bytes_max: u64,
    ) -> Result<Artifact, ArtifactError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_pinned_component_is_taken_apart_and_reported_as_it_was_written() {
        for (named, registry, repository, tag) in [
            ("registry.example.com/probes/redis", "registry.example.com", "probes/redis", None),
            ("127.0.0.1:5000/redis:1.2", "127.0.0.1:5000", "redis", Some("1.2")),
            ("localhost/a/b/c", "localhost", "a/b/c", None),
        ] {
            let text = format!("oci://{named}@{DIGEST}");
            let reference: ComponentReference = text.parse().expect(named);
            assert_eq!(
                (reference.registry(), reference.repository(), reference.tag(), reference.digest()),
                (registry, repository, tag, DIGEST)
            );
            assert_eq!(reference.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_pinned_or_names_no_registry_is_refused() {
        use ComponentReferenceError as E;
        let cases = [
            (format!("registry.example.com/redis@{DIGEST}"), E::Scheme),
            ("oci://registry.example.com/redis".to_owned(), E::NoDigest),
            ("oci://registry.example.com/redis:1".to_owned(), E::NoDigest),
            ("oci://registry.example.com/redis@sha256:0".to_owned(), E::Digest),
            (format!("oci://registry.example.com/redis@{}", DIGEST.to_uppercase()), E::Digest),
            (format!("oci://registry.example.com/redis@{}", DIGEST.replace("256", "512")), E::Digest),
            (format!("oci://redis@{DIGEST}"), E::Registry),
            (format!("oci://probes/redis@{DIGEST}"), E::Registry),
            (format!("oci://registry.example.com/Redis@{DIGEST}"), E::Reference(ReferenceError::Capitals)),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<ComponentReference>(), Err(expected), "{text}");
        }
    }
}
