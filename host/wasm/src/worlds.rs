//! The contracts, one adapter per role and version. The host has one vocabulary (`witlet_core`); an adapter
//! translates it for the components of its version.

pub(crate) mod admission;
pub(crate) mod detect;
pub(crate) mod document;
pub(crate) mod host;
pub(crate) mod pod_source;
pub(crate) mod probe;

use thiserror::Error;

/// What a guest answered to a question that it understood.
#[derive(Debug)]
pub(crate) enum Reply<T> {
    Answer(T),
    /// The `error` of its `result`, in its own words.
    Refusal(String),
    /// An answer that the contract doesn't allow, and why.
    Malformed(String),
}

/// A reason that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum WordFault {
    #[error("the reason is empty")]
    Empty,
    #[error("the reason {0:?} isn't a CamelCase word")]
    NoWord(String),
    #[error("the reason has {length} bytes, more than {limit}")]
    Long { length: usize, limit: usize },
}

/// A reason ends up in `status.reason` and in events, which programs compare: a word of letters and digits that begins
/// with a letter.
fn word(reason: String, bytes_max: usize) -> Result<String, WordFault> {
    if reason.is_empty() {
        return Err(WordFault::Empty);
    }
    if reason.len() > bytes_max {
        return Err(WordFault::Long { length: reason.len(), limit: bytes_max });
    }
    let is_word = reason.starts_with(|first: char| first.is_ascii_alphabetic())
        && reason.chars().all(|letter| letter.is_ascii_alphanumeric());
    if is_word { Ok(reason) } else { Err(WordFault::NoWord(reason)) }
}

/// A text for people, not much longer than this.
fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}
