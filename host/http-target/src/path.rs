//! Paths of requests, as Go reads and sends them.

/// The path and query to ask for. A path that is a whole URL, as the API lets it be, counts from its path on; what may not
/// stand in a request is escaped.
pub fn request_path(path: &str) -> String {
    if !is_parsable(path) {
        // Upstream sends what it can't parse as a path with everything in it escaped.
        return rooted(escape(path, |byte| is_path_byte(byte) && byte != b'%'));
    }
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let mut target = rooted(escape(without_authority(path), is_path_byte));
    if let Some(query) = query {
        target.push('?');
        target.push_str(&escape(query, |byte| is_path_byte(byte) || byte == b'?'));
    }
    target
}

/// Returns what follows `scheme://authority` or `//authority`.
fn without_authority(path: &str) -> &str {
    let after_slashes = match path.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => Some(rest),
        Some(_) | None => path.strip_prefix("//").filter(|rest| !rest.starts_with('/')),
    };
    match after_slashes {
        Some(rest) => rest.find('/').map_or("", |slash| &rest[slash..]),
        None => path,
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Whether every `%` begins an escape, and nothing is a control character.
fn is_parsable(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        _ => !byte.is_ascii_control(),
    })
}

/// What RFC 3986 lets stand in a path, `%` among it.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/%".contains(&byte)
}

fn escape(text: &str, stays: impl Fn(u8) -> bool) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if stays(byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push('%');
            escaped.push(char::from(HEX[usize::from(byte >> 4)]));
            escaped.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    escaped
}

fn rooted(path: String) -> String {
    if path.starts_with('/') { path } else { format!("/{path}") }
}
