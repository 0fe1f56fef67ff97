//! An error with its causes as one line of text.

use std::error::Error;

/// The error and its causes, joined by colons, where there is no place for a chain.
pub(crate) fn in_one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        line = format!("{line}: {inner}");
        cause = inner.source();
    }
    line
}
