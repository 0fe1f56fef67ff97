//! Files of environment variables (`fileKeyRef`, KEP-3721): lines `NAME='value'`.
//!
//! A value stands in single quotes, is taken as it is and may go over several lines. Blank lines and those that begin
//! with `#` say nothing; a comment may follow a value. `NAME= 'value'` gives the name an empty value, as a shell does.

use thiserror::Error;

#[cfg(test)]
mod tests;

/// Bytes of a key, upstream's bound.
pub const KEY_BYTES_MAX: usize = 128;
/// Bytes of a value, upstream's bound.
pub const VALUE_BYTES_MAX: usize = 32 * 1024;

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum EnvFileError {
    /// A line assigns nothing.
    #[error("invalid environment variable format at line {line}: missing '='")]
    NoAssignment {
        /// From 1.
        line: usize,
    },
    /// Nothing stands before `=`.
    #[error("invalid environment variable format at line {line}: empty variable name")]
    NoName {
        /// From 1.
        line: usize,
    },
    /// White space stands before `=`.
    #[error("invalid environment variable format at line {line}: whitespace before '=' is not allowed")]
    SpaceBefore {
        /// From 1.
        line: usize,
    },
    /// No quote follows `=`.
    #[error("invalid environment variable format at line {line}: value must be enclosed in single quotes")]
    NotQuoted {
        /// From 1.
        line: usize,
    },
    /// Something other than a comment follows the value.
    #[error("invalid environment variable format at line {line}: unexpected content after closing quote")]
    Trailing {
        /// From 1.
        line: usize,
    },
    /// The file ends inside a value.
    #[error("invalid environment variable format starting at line {line}: unclosed single quote")]
    Unclosed {
        /// Where the value begins, from 1.
        line: usize,
    },
}

/// The first value of `key`; none if the file, up to there without fault, doesn't have it.
///
/// # Errors
/// A line before the key isn't an assignment; the error names the line.
pub fn value_of(text: &str, key: &str) -> Result<Option<String>, EnvFileError> {
    const BLANK: [char; 2] = [' ', '\t'];
    let mut lines =
        text.split_inclusive('\n').enumerate().map(|(index, line)| (index + 1, without_end(line)));
    while let Some((line, written)) = lines.next() {
        let written = written.trim_start_matches(BLANK);
        if written.is_empty() || written.starts_with('#') {
            continue;
        }
        let (name, value) = written.split_once('=').ok_or(EnvFileError::NoAssignment { line })?;
        if name.trim_end_matches(BLANK).is_empty() {
            return Err(EnvFileError::NoName { line });
        }
        if name.ends_with(BLANK) {
            return Err(EnvFileError::SpaceBefore { line });
        }
        if value.starts_with(BLANK) {
            if name == key {
                return Ok(Some(String::new()));
            }
            continue;
        }
        let mut rest = value.strip_prefix('\'').ok_or(EnvFileError::NotQuoted { line })?;
        let mut found = String::new();
        let mut last = line;
        let after = loop {
            if let Some((end, after)) = rest.split_once('\'') {
                found.push_str(end);
                break after.trim_start_matches(BLANK);
            }
            found.push_str(rest);
            found.push('\n');
            (last, rest) = lines.next().ok_or(EnvFileError::Unclosed { line })?;
        };
        if !after.is_empty() && !after.starts_with('#') {
            return Err(EnvFileError::Trailing { line: last });
        }
        if name == key {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A line without its end, which may have a carriage return; so may the last line, that has no end.
fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}
