//! References to images, as container runtimes read them (`distribution/reference`).

/// Registry of a reference that names none.
const DEFAULT_REGISTRY: &str = "docker.io";

/// Another name of it.
const DEFAULT_REGISTRY_ALIAS: &str = "index.docker.io";

/// Folder of the default registry's images that have none.
const LIBRARY: &str = "library/";

/// The most bytes of a repository's name.
const REPOSITORY_BYTES_MAX: usize = 255;

/// The most bytes of a tag.
const TAG_BYTES_MAX: usize = 128;

/// A reference in its long form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Small letters, with the port if there is one.
    pub(crate) registry: String,
    pub(crate) repository: String,
    pub(crate) digest: Option<String>,
}

impl Reference {
    /// None if it is malformed: what a runtime would make of it is unknown.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (named, digest) = match text.split_once('@') {
            Some((named, digest)) => (named, Some(digest)),
            None => (text, None),
        };
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return None;
        }
        let (registry, path) = match named.split_once('/') {
            Some((first, rest)) if looks_like_registry(first) => (first.to_ascii_lowercase(), rest),
            Some(_) | None => (DEFAULT_REGISTRY.to_owned(), named),
        };
        let (path, tag) = match path.split_once(':') {
            Some((path, tag)) => (path, Some(tag)),
            None => (path, None),
        };
        if !is_registry(&registry)
            || tag.is_some_and(|tag| !is_tag(tag))
            || !path.split('/').all(is_component)
        {
            return None;
        }
        let registry =
            if registry == DEFAULT_REGISTRY_ALIAS { DEFAULT_REGISTRY.to_owned() } else { registry };
        let folder = if registry == DEFAULT_REGISTRY && !path.contains('/') { LIBRARY } else { "" };
        let repository = format!("{folder}{path}");
        if repository.len() > REPOSITORY_BYTES_MAX {
            return None;
        }
        Some(Self { registry, repository, digest: digest.map(str::to_owned) })
    }
}

/// What stands before the first slash is a registry if it looks like a host: a dot, a port, capital letters or `localhost`.
fn looks_like_registry(first: &str) -> bool {
    first == "localhost"
        || first.contains(['.', ':'])
        || first.contains(|letter: char| letter.is_ascii_uppercase())
}

/// A host's name or address, and a port.
fn is_registry(registry: &str) -> bool {
    let (host, port) = match registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => {
            let hex = |letter: char| letter.is_ascii_hexdigit() || letter == ':' || letter == '.';
            (
                !address.is_empty() && address.chars().all(hex),
                port.strip_prefix(':').or(port.is_empty().then_some("0")),
            )
        }
        None => {
            let (host, port) = registry.split_once(':').unwrap_or((registry, "0"));
            let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '.';
            (!host.is_empty() && host.chars().all(plain), Some(port))
        }
    };
    host && port.is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Small letters and digits, between them `.`, `_`, `__` or any number of `-`.
fn is_component(component: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let separators = component.split(plain).filter(|separator| !separator.is_empty());
    component.starts_with(plain)
        && component.ends_with(plain)
        && separators.into_iter().all(|separator| {
            matches!(separator, "." | "_" | "__") || separator.chars().all(|letter| letter == '-')
        })
}

fn is_tag(tag: &str) -> bool {
    let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    tag.len() <= TAG_BYTES_MAX
        && tag.starts_with(word)
        && tag.chars().all(|letter| word(letter) || letter == '.' || letter == '-')
}

/// Of an algorithm that is fit to pin: others say nothing about the content that can be trusted.
fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == length && hex.chars().all(|letter| matches!(letter, '0'..='9' | 'a'..='f'))
}

#[cfg(test)]
mod tests;
