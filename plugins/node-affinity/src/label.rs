//! What keys and values of labels may be (Kubernetes documentation, "Labels and Selectors", syntax).

/// Longest name in a key, and longest value.
const NAME_BYTES_MAX: usize = 63;

/// Longest prefix of a key: that of a DNS subdomain (RFC 1123).
const PREFIX_BYTES_MAX: usize = 253;

/// Whether this can be a label's key: a name, or a DNS subdomain, `/` and a name.
pub(crate) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

/// Whether this can be a label's value: nothing, or what a name can be.
pub(crate) fn is_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && is_framed(name, |byte| byte.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_subdomain(prefix: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    prefix.len() <= PREFIX_BYTES_MAX
        && prefix.split('.').all(|label| {
            is_framed(label, alphanumeric) && label.bytes().all(|byte| alphanumeric(byte) || byte == b'-')
        })
}

/// Whether the text begins and ends with such a byte.
fn is_framed(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| allowed(*byte)) && bytes.last().is_some_and(|byte| allowed(*byte))
}

#[cfg(test)]
mod tests;
