//! A place in a registry: a repository with a tag, a digest, both, or neither.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use witlet_core::image::reference::{ImageReference, ReferenceError};

/// What stands before the reference of something in a registry.
pub const OCI_SCHEME: &str = "oci://";

/// `[oci://]HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

/// Why a text names no place in a registry. Each says the way out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TargetError {
    /// No registry stands before the first slash: there is no default one for components.
    #[error("the registry is missing: expected HOST/REPOSITORY[:TAG]")]
    Registry,
    /// Another algorithm, or not 64 hexadecimal digits.
    #[error("the digest must be `sha256:` and 64 lower-case hexadecimal digits")]
    Digest,
    /// It follows none of the rules for references.
    #[error("expected HOST[:PORT]/REPOSITORY[:TAG][@sha256:DIGEST]")]
    Reference(#[source] ReferenceError),
}

impl Target {
    /// The registry with its port.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The path in the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, if it has one.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The manifest's digest, if it has one.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Registry and path without tag and digest: what credentials are looked up by.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The same place, pinned: what a plugin file takes as a `component`.
    pub fn pinned(&self, digest: &str) -> String {
        let tag = self.tag.iter().map(|tag| format!(":{tag}")).collect::<String>();
        format!("{OCI_SCHEME}{}{tag}@{digest}", self.name())
    }
}

/// Whether a text is `sha256:` and 64 hexadecimal digits in lower case.
pub fn is_sha256(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OCI_SCHEME}{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.strip_prefix(OCI_SCHEME).unwrap_or(text);
        let parsed = ImageReference::parse(text).map_err(TargetError::Reference)?;
        // What has no registry gets the default one of images, and is then not what was written.
        if !text.starts_with(&format!("{}/{}", parsed.registry, parsed.path)) {
            return Err(TargetError::Registry);
        }
        if parsed.digest.as_deref().is_some_and(|digest| !is_sha256(digest)) {
            return Err(TargetError::Digest);
        }
        let ImageReference { registry, path, tag, digest } = parsed;
        Ok(Self { registry, repository: path, tag, digest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn places_in_registries_are_taken_apart_and_pinned() {
        for (rest, tag, digest) in [
            ("", None, None),
            (":1.2", Some("1.2"), None),
            (&format!("@{DIGEST}"), None, Some(DIGEST)),
            (&format!(":1.2@{DIGEST}"), Some("1.2"), Some(DIGEST)),
        ] {
            for scheme in ["", "oci://"] {
                let text = format!("{scheme}127.0.0.1:5000/probes/redis{rest}");
                let target: Target = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!((target.registry(), target.repository()), ("127.0.0.1:5000", "probes/redis"));
                assert_eq!((target.tag(), target.digest()), (tag, digest), "{text}");
                assert_eq!(target.to_string(), format!("oci://127.0.0.1:5000/probes/redis{rest}"));
                let pinned = target.pinned(DIGEST);
                let reference: crate::ComponentReference = pinned.parse().expect("a pinned reference");
                assert_eq!((reference.name(), reference.digest()), (target.name(), DIGEST));
            }
        }
    }

    #[test]
    fn what_names_no_place_is_refused_with_the_way_out() {
        let cases = [
            ("redis:1", TargetError::Registry),
            ("oci://probes/redis", TargetError::Registry),
            ("localhost/redis@sha512:0123456789abcdef", TargetError::Reference(ReferenceError::Digest)),
            ("localhost/Redis", TargetError::Reference(ReferenceError::Capitals)),
            ("https://localhost/redis", TargetError::Reference(ReferenceError::Format)),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Target>(), Err(expected), "{text}");
        }
    }
}
