//! Errors that cross the border to guests in either direction.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::guest::printable;

/// How many details are kept.
const DETAILS_MAX: usize = 16;
/// How many bytes of a code or a detail's key are kept.
const KEY_BYTES_MAX: usize = 128;
/// How many bytes of a detail's value are kept.
const VALUE_BYTES_MAX: usize = 1 << 10;
/// How many bytes of a message are kept.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// An error as a guest makes it or gets it, its texts cut and printable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct GuestError {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    details: BTreeMap<String, String>,
}

impl GuestError {
    pub(crate) fn new(code: &str, message: &str) -> Self {
        let (code, message) = (printable(code, KEY_BYTES_MAX), printable(message, MESSAGE_BYTES_MAX));
        Self { code, message, ..Self::default() }
    }

    pub(crate) fn detail(&self, key: &str) -> Option<&String> {
        self.details.get(&printable(key, KEY_BYTES_MAX))
    }

    /// What doesn't fit is left out.
    pub(crate) fn set_detail(&mut self, key: &str, value: &str) {
        let key = printable(key, KEY_BYTES_MAX);
        if self.details.len() < DETAILS_MAX || self.details.contains_key(&key) {
            self.details.insert(key, printable(value, VALUE_BYTES_MAX));
        }
    }

    /// Returns one sentence: `NoTable: the table can't be read (rows: 7)`.
    pub(crate) fn words(&self) -> String {
        match (self.code.as_str(), self.message.as_str()) {
            ("", message) => self.with_details(message),
            (code, "") => self.with_details(code),
            (code, message) => self.with_details(&format!("{code}: {message}")),
        }
    }

    /// The same without the code.
    pub(crate) fn sentence(&self) -> String {
        self.with_details(&self.message)
    }

    fn with_details(&self, words: &str) -> String {
        let details: Vec<String> =
            self.details.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        if details.is_empty() { words.to_owned() } else { format!("{words} ({})", details.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    //! What people read of errors.

    use super::*;

    #[test]
    fn errors_become_one_sentence() {
        let cases: [(&str, &str, &[_], &str); 5] = [
            ("NoTable", "it can't be read", &[], "NoTable: it can't be read"),
            ("", "it can't be read", &[], "it can't be read"),
            ("NoTable", "", &[], "NoTable"),
            ("No", "why", &[("rows", "7"), ("by", "me")], "No: why (by: me, rows: 7)"),
            ("No\n", "\u{1b}[2J", &[("a", "1"), ("a", "2")], "No\\n: \\u{1b}[2J (a: 2)"),
        ];
        for (code, message, details, expected) in cases {
            let mut error = GuestError::new(code, message);
            for (key, value) in details {
                error.set_detail(key, value);
            }
            assert_eq!(error.words(), expected);
        }
    }

    #[test]
    fn details_are_bounded() {
        let mut error = GuestError::new("Many", "");
        for number in 0..100 {
            error.set_detail(&format!("key{number}"), &"x".repeat(2 * VALUE_BYTES_MAX));
        }
        assert_eq!(error.details.len(), DETAILS_MAX);
        assert_eq!(error.detail("key0").map(String::len), Some(VALUE_BYTES_MAX + '…'.len_utf8()));
        error.set_detail("key0", "new");
        assert_eq!(error.detail("key0").map(String::as_str), Some("new"), "what is there can be replaced");
        assert_eq!(error.detail("key99"), None);
    }
}
