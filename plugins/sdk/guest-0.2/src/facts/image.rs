//! References to images, read as container runtimes read them.

/// Longest reference that is one.
const BYTES_MAX: usize = 4096;
/// Longest tag.
const TAG_BYTES_MAX: usize = 128;
/// Longest name, without tag and digest.
const NAME_BYTES_MAX: usize = 255;

/// An image and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    written: String,
    place: String,
    parts: Option<Parts>,
}

/// A reference taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Image {
    pub(super) fn new(written: String, place: String) -> Self {
        let parts = Parts::parse(&written);
        Self { written, place, parts }
    }

    fn part(&self, of: impl FnOnce(&Parts) -> Option<&str>) -> Option<String> {
        self.parts.as_ref().and_then(of).map(str::to_owned)
    }

    pub(crate) fn reference(&self) -> String {
        self.written.clone()
    }

    pub(crate) fn place(&self) -> String {
        self.place.clone()
    }

    pub(crate) fn name(&self) -> String {
        let Some(Parts { registry, repository, digest, .. }) = &self.parts else {
            return self.written.clone();
        };
        let tag = self.tag().map(|tag| format!(":{tag}")).unwrap_or_default();
        let digest = digest.as_ref().map(|digest| format!("@{digest}")).unwrap_or_default();
        format!("{registry}/{repository}{tag}{digest}")
    }

    pub(crate) fn registry(&self) -> Option<String> {
        self.part(|parts| Some(&parts.registry))
    }

    pub(crate) fn repository(&self) -> Option<String> {
        self.part(|parts| Some(&parts.repository))
    }

    pub(crate) fn tag(&self) -> Option<String> {
        self.part(|parts| match (&parts.tag, &parts.digest) {
            (Some(tag), _) => Some(tag),
            (None, None) => Some("latest"),
            (None, Some(_)) => None,
        })
    }

    pub(crate) fn digest(&self) -> Option<String> {
        self.part(|parts| parts.digest.as_deref())
    }
}

impl Parts {
    fn parse(image: &str) -> Option<Self> {
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_id = image.len() == 64 && is_hex(image);
        let is_blank = image.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        if image.len() > BYTES_MAX || image.starts_with("file:") || is_id || is_blank {
            return None;
        }
        let (named, digest) =
            image.split_once('@').map_or((image, None), |(named, digest)| (named, Some(digest)));
        let last = named.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match named[last..].split_once(':') {
            Some((_, tag)) => (&named[..named.len() - tag.len() - 1], Some(tag)),
            None => (named, None),
        };
        let is_digest = |digest: &str| {
            let digits = |length: usize, hex: &str| hex.len() == length && is_hex(hex);
            digest.split_once(':').is_some_and(|(algorithm, hex)| match algorithm {
                "sha256" => digits(64, hex),
                "sha384" => digits(96, hex),
                "sha512" => digits(128, hex),
                _ => false,
            })
        };
        let (registry, path) = split_registry(name);
        let repository = match registry {
            "docker.io" if !path.contains('/') => format!("library/{path}"),
            _ => path.to_owned(),
        };
        let fits = tag.is_none_or(is_tag)
            && digest.is_none_or(is_digest)
            && is_registry(registry)
            && repository.split('/').all(is_component)
            && registry.len() + 1 + repository.len() <= NAME_BYTES_MAX;
        let owned = |part: &str| part.to_owned();
        fits.then(|| Self {
            registry: owned(registry),
            repository,
            tag: tag.map(owned),
            digest: digest.map(owned),
        })
    }
}

/// The first part is a registry if it can't be a folder: it has a dot, a port or capitals, or is `localhost`.
fn split_registry(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some(("index.docker.io", rest)) => ("docker.io", rest),
        Some((first, rest))
            if first == "localhost"
                || first.contains(|letter: char| ".:".contains(letter) || letter.is_uppercase()) =>
        {
            (first, rest)
        }
        Some(_) | None => ("docker.io", name),
    }
}

/// A host's name or an IPv6 address in brackets, and maybe a port.
fn is_registry(registry: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((address, rest)) = registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let is_address = address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
        return !address.is_empty()
            && is_address
            && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
    }
    let edge = |letter: char| letter.is_ascii_alphanumeric();
    let is_label = |label: &str| {
        label.starts_with(edge)
            && label.ends_with(edge)
            && label.chars().all(|letter| edge(letter) || letter == '-')
    };
    let (host, port) = registry.split_once(':').map_or((registry, None), |(host, port)| (host, Some(port)));
    port.is_none_or(is_port) && host.split('.').all(is_label)
}

/// Lower-case words, joined by one dot, one or two underscores, or any number of hyphens.
fn is_component(part: &str) -> bool {
    let word = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let joins = |join: &str| matches!(join, "" | "." | "_" | "__") || join.bytes().all(|byte| byte == b'-');
    part.starts_with(word) && part.ends_with(word) && part.split(word).all(joins)
}

fn is_tag(tag: &str) -> bool {
    let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    tag.len() <= TAG_BYTES_MAX
        && tag.starts_with(word)
        && tag.chars().all(|letter| word(letter) || ".-".contains(letter))
}

#[cfg(test)]
mod tests;
