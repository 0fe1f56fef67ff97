//! References to images, read as container runtimes read them.

/// Registry of a reference that names none.
const DEFAULT_REGISTRY: &str = "docker.io";

/// A reference's parts. Its tag is left out: anyone can move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    registry: Option<&'a str>,
    repository: &'a str,
    digest: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// Every text has a reading. One that no runtime takes does no harm: it isn't pulled.
    pub(crate) fn parse(image: &'a str) -> Self {
        let (name, digest) = match image.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (image, None),
        };
        let (registry, path) = match name.split_once('/') {
            Some((first, rest)) if is_registry(first) => (Some(first), rest),
            Some(_) | None => (None, name),
        };
        // A colon before the last slash isn't a tag's.
        let last = path.rfind('/').map_or(0, |slash| slash + 1);
        let repository = path[last..].find(':').map_or(path, |colon| &path[..last + colon]);
        Self { registry, repository, digest }
    }

    /// Registry and repository, as in `docker.io/library/nginx`.
    pub(crate) fn place(&self) -> String {
        let repository = self.repository;
        match self.registry {
            Some(registry) => format!("{registry}/{repository}"),
            None if repository.contains('/') => format!("{DEFAULT_REGISTRY}/{repository}"),
            None => format!("{DEFAULT_REGISTRY}/library/{repository}"),
        }
    }

    /// Whether its digest says which image it is.
    pub(crate) fn is_pinned(&self) -> bool {
        self.digest.is_some_and(|digest| digest.starts_with("sha256:"))
    }
}

/// What stands before the first slash is a registry if it looks like a host's name; otherwise it is a folder of the default
/// registry. Folders have no capital letters.
fn is_registry(first: &str) -> bool {
    first == "localhost"
        || first.contains(|char: char| matches!(char, '.' | ':') || char.is_ascii_uppercase())
}

#[cfg(test)]
mod tests;
