//! Image references: whether a name can be one, what it means in full, and its default tag.
//!
//! The grammar is that of the OCI distribution specification with the registry's name in front, as Docker made it
//! common and upstream's kubelet takes it (`github.com/distribution/reference`). References with the scheme `file:`
//! are the embedded runtime's, and are left to it.

use thiserror::Error;

/// Longest reference that is checked, in bytes.
pub const REFERENCE_BYTES_MAX: usize = 4096;
/// Longest tag, in bytes (OCI distribution specification).
pub const TAG_BYTES_MAX: usize = 128;
/// Longest name without tag and digest, registry and default folder among it, in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// The registry of names that give none.
pub const DEFAULT_REGISTRY: &str = "docker.io";
/// What that registry was called once; the same in references.
const DEFAULT_REGISTRY_OF_OLD: &str = "index.docker.io";
/// The tag of references that name neither tag nor digest.
const TAG_DEFAULT: &str = "latest";
/// The folder of names without one in the default registry.
const DEFAULT_FOLDER: &str = "library";
/// The scheme that the embedded runtime resolves by itself.
const FILE_SCHEME: &str = "file:";

/// Why a text is no image reference. The wording is part of the container's waiting message (`InvalidImageName`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReferenceError {
    /// More than [`REFERENCE_BYTES_MAX`].
    #[error("couldn't parse image name: longer than {REFERENCE_BYTES_MAX} bytes")]
    TooLong,
    /// Blanks or control characters.
    #[error("couldn't parse image name: spaces and control characters are not allowed")]
    Blank,
    /// `file:` and nothing else.
    #[error("couldn't parse image name: no path after file:")]
    NoPath,
    /// It fits no rule.
    #[error("couldn't parse image name: invalid reference format")]
    Format,
    /// Capitals in the repository's name.
    #[error("couldn't parse image name: repository name must be lowercase")]
    Capitals,
    /// More than [`NAME_BYTES_MAX`].
    #[error("couldn't parse image name: repository name must not be more than {NAME_BYTES_MAX} characters")]
    NameTooLong,
    /// 64 hexadecimal digits alone are an image's id and no name.
    #[error("couldn't parse image name: 64 hexadecimal characters can't be a repository name")]
    Identifier,
    /// The part after the colon.
    #[error("couldn't parse image name: invalid tag")]
    Tag,
    /// The part after `@`.
    #[error("couldn't parse image name: invalid digest")]
    Digest,
    /// An algorithm that isn't sha256, sha384 or sha512.
    #[error("couldn't parse image name: unsupported digest algorithm")]
    DigestAlgorithm,
}

/// A reference taken apart, with the registry and folder that short names leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageReference {
    /// The registry with its port, such as `docker.io` or `localhost:5000`.
    pub registry: String,
    /// The path in the registry, such as `library/busybox`.
    pub path: String,
    /// The tag, if it names one.
    pub tag: Option<String>,
    /// The digest, if it names one.
    pub digest: Option<String>,
}

impl ImageReference {
    /// Takes a reference apart. `file:` references aren't of this kind and are [`ReferenceError::Format`].
    ///
    /// # Errors
    /// The text isn't a reference, in the words of upstream's parser.
    pub fn parse(image: &str) -> Result<Self, ReferenceError> {
        check_text(image)?;
        if image.starts_with(FILE_SCHEME) {
            return Err(ReferenceError::Format);
        }
        if image.len() == 64 && image.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return Err(ReferenceError::Identifier);
        }
        let (named, digest) = match image.split_once('@') {
            Some((named, digest)) => (named, Some(digest)),
            None => (image, None),
        };
        digest.map_or(Ok(()), check_digest)?;
        let last = named.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match named[last..].split_once(':') {
            Some((_, tag)) => (&named[..named.len() - tag.len() - 1], Some(tag)),
            None => (named, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(ReferenceError::Tag);
        }
        let (registry, path) = split_registry(name);
        if !is_registry(registry) {
            return Err(ReferenceError::Format);
        }
        let path = match registry {
            DEFAULT_REGISTRY if !path.contains('/') => format!("{DEFAULT_FOLDER}/{path}"),
            _ => path.to_owned(),
        };
        if path.chars().any(|c| c.is_ascii_uppercase()) {
            return Err(ReferenceError::Capitals);
        }
        if !path.split('/').all(is_component) {
            return Err(ReferenceError::Format);
        }
        if registry.len() + 1 + path.len() > NAME_BYTES_MAX {
            return Err(ReferenceError::NameTooLong);
        }
        let owned = |part: &str| part.to_owned();
        Ok(Self { registry: owned(registry), path, tag: tag.map(owned), digest: digest.map(owned) })
    }

    /// Registry and path without tag and digest, such as `docker.io/library/busybox`: what credentials are looked up
    /// by.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.registry, self.path)
    }

    /// The tag, which is `latest` for a reference that names neither tag nor digest.
    pub fn effective_tag(&self) -> Option<&str> {
        match (&self.tag, &self.digest) {
            (Some(tag), _) => Some(tag),
            (None, None) => Some(TAG_DEFAULT),
            (None, Some(_)) => None,
        }
    }

    /// Returns the name with all its parts, such as `docker.io/library/busybox:latest`.
    pub fn full_name(&self) -> String {
        let mut name = self.repository();
        if let Some(tag) = self.effective_tag() {
            name.push(':');
            name.push_str(tag);
        }
        if let Some(digest) = &self.digest {
            name.push('@');
            name.push_str(digest);
        }
        name
    }
}

/// The reference as the runtime gets it: with `:latest` if it names neither tag nor digest, otherwise as it stands.
/// Short names stay short, so that the runtime's own search order counts (upstream: `applyDefaultImageTag`).
///
/// # Errors
/// The text isn't a reference.
pub fn with_default_tag(image: &str) -> Result<String, ReferenceError> {
    check_text(image)?;
    if let Some(path) = image.strip_prefix(FILE_SCHEME) {
        return if path.is_empty() { Err(ReferenceError::NoPath) } else { Ok(image.to_owned()) };
    }
    let reference = ImageReference::parse(image)?;
    let bare = reference.tag.is_none() && reference.digest.is_none();
    Ok(if bare { format!("{image}:{TAG_DEFAULT}") } else { image.to_owned() })
}

/// The reference as it stands without tag and digest, which records of pulls are kept under (upstream:
/// `trimImageTagDigest`). A `file:` reference has neither and stays whole.
///
/// # Errors
/// The text isn't a reference.
pub fn without_tag_and_digest(image: &str) -> Result<String, ReferenceError> {
    if image.starts_with(FILE_SCHEME) {
        return with_default_tag(image);
    }
    let reference = ImageReference::parse(image)?;
    let cut =
        reference.digest.map_or(0, |digest| digest.len() + 1) + reference.tag.map_or(0, |tag| tag.len() + 1);
    Ok(image[..image.len() - cut].to_owned())
}

fn check_text(image: &str) -> Result<(), ReferenceError> {
    if image.len() > REFERENCE_BYTES_MAX {
        return Err(ReferenceError::TooLong);
    }
    if image.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(ReferenceError::Blank);
    }
    Ok(())
}

/// The registry and the rest. The first part is a registry if it can't be a folder: it has a dot, a port or capitals,
/// or is `localhost`.
fn split_registry(name: &str) -> (&str, &str) {
    let Some((first, rest)) = name.split_once('/') else { return (DEFAULT_REGISTRY, name) };
    let names_registry =
        first.contains(['.', ':']) || first == "localhost" || first.chars().any(|c| c.is_uppercase());
    match first {
        DEFAULT_REGISTRY_OF_OLD => (DEFAULT_REGISTRY, rest),
        _ if names_registry => (first, rest),
        _ => (DEFAULT_REGISTRY, name),
    }
}

/// A host name or an IPv6 address in brackets, and maybe a port.
fn is_registry(registry: &str) -> bool {
    let digits = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    if let Some(address) = registry.strip_prefix('[') {
        let Some((address, rest)) = address.split_once(']') else { return false };
        let address_holds =
            !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':');
        return address_holds && (rest.is_empty() || rest.strip_prefix(':').is_some_and(digits));
    }
    let (host, port) = match registry.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (registry, None),
    };
    let is_label = |label: &str| {
        let edge = |c: char| c.is_ascii_alphanumeric();
        label.starts_with(edge) && label.ends_with(edge) && label.chars().all(|c| edge(c) || c == '-')
    };
    port.is_none_or(digits) && host.split('.').all(is_label)
}

/// Lower-case words, joined by one dot, one or two underscores, or any number of hyphens.
fn is_component(part: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let joins = part.split(word).filter(|join| !join.is_empty());
    let fits = |join: &str| matches!(join, "." | "_" | "__") || join.bytes().all(|b| b == b'-');
    part.starts_with(word) && part.ends_with(word) && joins.into_iter().all(fits)
}

fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= TAG_BYTES_MAX
        && tag.starts_with(word)
        && tag.chars().all(|c| word(c) || c == '.' || c == '-')
}

/// One of the three algorithms that registries know, with all its digits in lower case.
fn check_digest(digest: &str) -> Result<(), ReferenceError> {
    let (algorithm, hex) = digest.split_once(':').ok_or(ReferenceError::Digest)?;
    let digits = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Err(ReferenceError::DigestAlgorithm),
    };
    let fits = hex.len() == digits && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if fits { Ok(()) } else { Err(ReferenceError::Digest) }
}

#[cfg(test)]
mod tests;
