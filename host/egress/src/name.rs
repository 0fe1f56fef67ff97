//! Names of hosts in one form, so that they can be compared.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

#[cfg(test)]
mod tests;

/// A name may be so long, in bytes (RFC 1035 section 2.3.4, without the last dot).
const NAME_BYTES_MAX: usize = 253;
/// So long may be what stands between two dots (RFC 1035 section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// The name of a host: lower case, no dot at its end, no address in disguise. International names are punycode.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

/// A text that names no host.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NameError {
    /// Nothing, or two dots in a row.
    #[error("a name must not have empty labels")]
    Empty,
    #[error("a name must have at most {NAME_BYTES_MAX} bytes, a label at most {LABEL_BYTES_MAX}")]
    Long,
    /// A character outside ASCII.
    #[error("a name must be ASCII; use punycode (xn--…)")]
    NotAscii,
    /// A character that names don't have.
    #[error("a name must have letters, digits, `-`, `_` and dots, and no label may begin or end with `-`")]
    Character,
    /// What resolvers take for an IPv4 address in an unusual form, such as `2130706433`, `0x7f.1` or `127.1`.
    #[error("a name must not end in a number")]
    Number,
}

impl HostName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it ends in the other name and has at least one label more.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        self.0.strip_suffix(&other.0).is_some_and(|rest| rest.ends_with('.'))
    }

    /// Whether it means this host, whatever name servers say (RFC 6761 section 6.3).
    pub(crate) fn is_localhost(&self) -> bool {
        self.0 == "localhost" || self.0.ends_with(".localhost")
    }
}

impl FromStr for HostName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.len() > NAME_BYTES_MAX {
            return Err(NameError::Long);
        }
        if !name.is_ascii() {
            return Err(NameError::NotAscii);
        }
        let mut last = "";
        for label in name.split('.') {
            if label.is_empty() {
                return Err(NameError::Empty);
            }
            if label.len() > LABEL_BYTES_MAX {
                return Err(NameError::Long);
            }
            let known = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
            if !known || label.starts_with('-') || label.ends_with('-') {
                return Err(NameError::Character);
            }
            last = label;
        }
        if is_number(last) {
            return Err(NameError::Number);
        }
        Ok(Self(name.to_ascii_lowercase()))
    }
}

/// What `inet_aton` reads as a number, and a little more: digits, or `0x` and whatever.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.len() >= 2 && label[..2].eq_ignore_ascii_case("0x");
    hexadecimal || label.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
