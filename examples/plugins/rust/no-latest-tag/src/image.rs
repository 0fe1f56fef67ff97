//! Image references, as far as the handler needs them.

/// The registry of a reference that names none, as container runtimes have it.
pub(crate) const DEFAULT_REGISTRY: &str = "docker.io";

/// What a reference says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference<'a> {
    /// A file on the node (`file:…`): no registry, and nothing that moves by itself.
    File,
    /// An image in a registry.
    Registry {
        /// Host, with its port if it has one.
        registry: &'a str,
        /// How the image is pinned.
        pin: Pin<'a>,
    },
}

/// How an image is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pin<'a> {
    /// By a digest, which outweighs a tag.
    Digest,
    /// By a tag.
    Tag(&'a str),
    /// By nothing.
    Nothing,
}

/// Reads a reference: `[registry[:port]/]path[:tag][@digest]`. The part before the first `/` is a registry if it
/// has a dot or a port, or is `localhost`.
pub(crate) fn parse(image: &str) -> Reference<'_> {
    if image.starts_with("file:") {
        return Reference::File;
    }
    let (registry, path) = match image.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => (DEFAULT_REGISTRY, image),
    };
    let pin = match (path.contains('@'), path.rsplit('/').next().and_then(|last| last.split_once(':'))) {
        (true, _) => Pin::Digest,
        (false, Some((_, tag))) => Pin::Tag(tag),
        (false, None) => Pin::Nothing,
    };
    Reference::Registry { registry, pin }
}

#[cfg(test)]
mod tests;
