//! What plugins say next to an answer, in any role: kept as it is said, within bounds.

use std::collections::BTreeMap;

use crate::guest::log::printable;

/// How many warnings of one call are kept.
pub(crate) const WARNINGS_MAX: usize = 16;
/// How many bytes of a warning are kept.
pub(crate) const WARNING_BYTES_MAX: usize = 4 << 10;

/// How many annotations of an answer are kept.
pub(crate) const ANNOTATIONS_MAX: usize = 16;
/// How many bytes of an annotation's key are kept.
pub(crate) const ANNOTATION_KEY_BYTES_MAX: usize = 128;
/// How many bytes of an annotation's value are kept.
pub(crate) const ANNOTATION_VALUE_BYTES_MAX: usize = 1 << 10;

/// The warnings of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Warnings {
    pub(crate) kept: Vec<String>,
    /// How many didn't fit.
    pub(crate) left_out: usize,
}

impl Warnings {
    /// Keeps a warning, cut to its bound, where there is capacity.
    pub(crate) fn add(&mut self, message: &str) {
        if self.kept.len() < WARNINGS_MAX {
            self.kept.push(printable(message, WARNING_BYTES_MAX));
        } else {
            self.left_out += 1;
        }
    }
}

/// The annotations of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Annotations {
    pub(crate) kept: BTreeMap<String, String>,
    /// How many didn't fit.
    pub(crate) left_out: usize,
}

impl Annotations {
    /// Keeps an annotation where there is capacity. The last value of a key counts.
    pub(crate) fn add(&mut self, key: &str, value: &str) {
        let key = printable(key, ANNOTATION_KEY_BYTES_MAX);
        if self.kept.len() < ANNOTATIONS_MAX || self.kept.contains_key(&key) {
            self.kept.insert(key, printable(value, ANNOTATION_VALUE_BYTES_MAX));
        } else {
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    //! What is kept of what is said.

    use super::*;

    #[test]
    fn warnings_are_bounded_and_what_is_left_out_is_counted() {
        let mut warnings = Warnings::default();
        for number in 0..WARNINGS_MAX + 3 {
            warnings.add(&format!("{number} \u{1b}[2J"));
        }
        assert_eq!((warnings.kept.len(), warnings.left_out), (WARNINGS_MAX, 3));
        assert_eq!(warnings.kept[0], "0 \\u{1b}[2J");
        let mut long = Warnings::default();
        long.add(&"ä".repeat(WARNING_BYTES_MAX));
        assert_eq!(long.kept[0].len(), WARNING_BYTES_MAX + '…'.len_utf8());
    }
}
