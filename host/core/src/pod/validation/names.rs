//! The syntaxes of names (`apimachinery/pkg/util/validation`): DNS-1123 (RFC 1123), labels, environment, ports.

use super::{Problems, quoted};

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;
const PORT_NAME_MAX: usize = 15;
const UID_MAX: usize = 64;

/// Whether it is at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends.
pub fn is_dns_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.len() <= LABEL_MAX
        && bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}

/// Whether it is at most 253 bytes of DNS labels (here without a bound of their own, as upstream has it) joined by points.
pub fn is_dns_subdomain(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= SUBDOMAIN_MAX
        && text.split('.').all(|part| {
            let bytes = part.as_bytes();
            bytes.first().is_some_and(alphanumeric)
                && bytes.last().is_some_and(alphanumeric)
                && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
        })
}

/// A label's value: empty, or at most 63 letters, digits, `-`, `_` and `.` with a letter or digit at both ends.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// Whether an API server takes this as a label.
pub fn is_label(key: &str, value: &str) -> bool {
    is_qualified_name(key) && is_label_value(value)
}

fn is_name_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= LABEL_MAX
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

pub(super) fn is_uid(text: &str) -> bool {
    (1..=UID_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// An optional DNS subdomain and `/`, then a name part. Annotations' keys may have capitals in the prefix.
pub(crate) fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(&prefix.to_ascii_lowercase()) && is_name_part(name),
        None => is_name_part(text),
    }
}

pub(super) fn dns_label(path: &str, text: &str, problems: &mut Problems) {
    if !is_dns_label(text) {
        let message = format!(
            "Invalid value: {}: must have at most {LABEL_MAX} lower-case letters, digits and `-`, and begin and end with a letter or digit",
            quoted(text)
        );
        problems.add(path, message);
    }
}

pub(super) fn dns_subdomain(path: &str, text: &str, problems: &mut Problems) {
    if !is_dns_subdomain(text) {
        let message = format!(
            "Invalid value: {}: must have at most {SUBDOMAIN_MAX} lower-case letters, digits, `-` and `.`, and each part \
             must begin and end with a letter or digit",
            quoted(text)
        );
        problems.add(path, message);
    }
}

pub(super) fn qualified_name(path: &str, key: &str, problems: &mut Problems) {
    if !is_qualified_name(key) {
        let message = format!(
            "Invalid value: {}: must be NAME or DOMAIN/NAME; a name has at most {LABEL_MAX} letters, digits, `-`, `_` and \
             `.`, and begins and ends with a letter or digit",
            quoted(key)
        );
        problems.add(path, message);
    }
}

/// Printable ASCII without `=` (upstream's relaxed rule).
pub(crate) fn is_environment_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=')
}

/// Whether it is at most 15 lower-case letters, digits and single `-` inside, with at least one letter (RFC 6335).
pub(super) fn is_port_name(text: &str) -> bool {
    text.len() <= PORT_NAME_MAX
        && is_dns_label(text)
        && text.bytes().any(|byte| byte.is_ascii_lowercase())
        && !text.contains("--")
}
