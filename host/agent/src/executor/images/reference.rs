//! Image references: whether one can be a reference at all, and its default tag.
//!
//! The grammar is that of the OCI distribution specification with the registry's name in front, as Docker made it
//! common. References with the scheme `file:` are the embedded runtime's, and are left to it.

/// Longest reference that is looked at, in bytes.
const BYTES_MAX: usize = 4096;
/// Longest tag (OCI distribution specification).
const TAG_BYTES_MAX: usize = 128;

/// The reference with `:latest` appended if it names neither tag nor digest, or what is wrong with it.
pub(crate) fn with_default_tag(image: &str) -> Result<String, &'static str> {
    if image.len() > BYTES_MAX {
        return Err("longer than 4096 bytes");
    }
    if image.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("couldn't parse image name: spaces and control characters are not allowed");
    }
    if let Some(path) = image.strip_prefix("file:") {
        return if path.is_empty() { Err("no path after file:") } else { Ok(image.to_owned()) };
    }
    let (named, digest) = match image.split_once('@') {
        Some((named, digest)) => (named, Some(digest)),
        None => (image, None),
    };
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Err("couldn't parse image name: invalid digest");
    }
    let last = named.rfind('/').map_or(0, |slash| slash + 1);
    let (path, tag) = match named[last..].split_once(':') {
        Some((_, tag)) => (&named[..named.len() - tag.len() - 1], Some(tag)),
        None => (named, None),
    };
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err("couldn't parse image name: invalid tag");
    }
    if !is_path(path) {
        return Err("couldn't parse image name: invalid reference format");
    }
    Ok(if tag.is_none() && digest.is_none() { format!("{image}:latest") } else { image.to_owned() })
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let named =
        !algorithm.is_empty() && algorithm.chars().all(|c| c.is_ascii_alphanumeric() || "+._-".contains(c));
    named && hex.len() >= 32 && hex.chars().all(|c| c.is_ascii_hexdigit())
}

fn is_tag(tag: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.len() <= TAG_BYTES_MAX
        && tag.starts_with(word)
        && tag.chars().all(|c| word(c) || c == '.' || c == '-')
}

fn is_path(path: &str) -> bool {
    let mut parts = path.split('/').peekable();
    let Some(first) = parts.peek() else { return false };
    // The first part is a registry if it looks like one; then it may have capitals and a port.
    if path.contains('/') && (first.contains(['.', ':']) || *first == "localhost") {
        let host = |c: char| c.is_ascii_alphanumeric() || ".:-[]".contains(c);
        if first.is_empty() || !first.chars().all(host) {
            return false;
        }
        parts.next();
    }
    let mut parts = parts.peekable();
    parts.peek().is_some() && parts.all(is_component)
}

fn is_component(part: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    part.starts_with(letter) && part.ends_with(letter) && part.chars().all(|c| letter(c) || "._-".contains(c))
}
