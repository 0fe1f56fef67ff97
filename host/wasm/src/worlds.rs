//! The contracts, one adapter per role and version. The host has one vocabulary (`witlet_core`); an adapter
//! translates it for the components of its version.

mod adapter;
pub(crate) mod admission;
pub(crate) mod detect;
pub(crate) mod document;
pub(crate) mod host;
mod maps;
pub(crate) mod pod_source;
pub(crate) mod probe;
pub(crate) mod remarks;
mod said;
mod unfit;
pub(crate) mod unserved;

use semver::Version;
use thiserror::Error;
pub(crate) use unfit::{Unfit, unfit};

use crate::guest::{misleads, printable};
use remarks::Warnings;

/// Whether a contract of the version `served` serves who was built against `expected`: one of the same track, which is a major
/// version, or below 1.0.0 a minor one (semver.org, section 4). In a track functions are only added; those that a newer component may
/// call and this host doesn't have link as refusals (`unserved`). A draft serves who was built against this very draft.
pub(crate) fn serves(served: &str, expected: &str) -> bool {
    let (Ok(served), Ok(expected)) = (Version::parse(served), Version::parse(expected)) else { return false };
    if !(served.pre.is_empty() && expected.pre.is_empty()) {
        return is_draft(&served) && served == expected;
    }
    served.major == expected.major && (served.major > 0 || served.minor == expected.minor)
}

/// Whether a component that was built against `expected` may call what a host doesn't have that serves it by `served`.
pub(crate) fn is_newer(expected: &str, served: &str) -> bool {
    matches!((Version::parse(expected), Version::parse(served)), (Ok(expected), Ok(served)) if expected > served)
}

/// Whether a version is of a draft: `0.3.0-draft.1`.
fn is_draft(version: &Version) -> bool {
    let number = version.pre.strip_prefix("draft.");
    number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// What a guest answered to a question that it understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply<T> {
    Answer(T),
    /// An answer with a text that the contract doesn't allow: the answer with another text in its place, and what was wrong.
    Sanitized {
        answer: T,
        fault: String,
    },
    /// The `error` of its `result`, in its own words.
    Refusal(String),
    /// An answer that the contract doesn't allow, and why.
    Malformed(String),
}

/// A `result` as a guest gave it, where its error is a text.
pub(crate) fn reply<T>(answer: Result<T, String>) -> Reply<T> {
    match answer {
        Ok(answer) => Reply::Answer(answer),
        Err(words) => Reply::Refusal(words),
    }
}

/// The same of a contract in which plugins can't warn.
pub(crate) fn silent(answer: Result<(), String>) -> Reply<Warnings> {
    reply(answer.map(|()| Warnings::default()))
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
    check_word(&reason, bytes_max)?;
    Ok(reason)
}

fn check_word(reason: &str, bytes_max: usize) -> Result<(), WordFault> {
    if reason.is_empty() {
        return Err(WordFault::Empty);
    }
    if reason.len() > bytes_max {
        return Err(WordFault::Long { length: reason.len(), limit: bytes_max });
    }
    let is_word = reason.starts_with(|first: char| first.is_ascii_alphabetic())
        && reason.chars().all(|letter| letter.is_ascii_alphanumeric());
    if is_word { Ok(()) } else { Err(WordFault::NoWord(reason.to_owned())) }
}

/// Returns a word that the contract allows in place of one that it doesn't: its ASCII letters and digits, each run of them
/// beginning with a capital, cut to `bytes_max`. `fallback` stands where none are left, and before a digit.
fn sanitized_word(reason: &str, fallback: &str, bytes_max: usize) -> String {
    let mut word = String::new();
    for run in reason.split(|letter: char| !letter.is_ascii_alphanumeric()) {
        let mut letters = run.chars();
        word.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        word.push_str(letters.as_str());
    }
    if !word.starts_with(|first: char| first.is_ascii_alphabetic()) {
        word.insert_str(0, fallback);
    }
    word.truncate(bytes_max);
    word
}

/// A sentence for people: cut, and with control characters escaped, because it ends up on terminals and in logs.
fn sentence(text: &str, bytes_max: usize) -> String {
    printable(text, bytes_max)
}

/// Returns what a process wrote, for people: cut, and with control characters escaped but for ends of lines and tabs.
fn output(text: String, bytes_max: usize) -> String {
    let control = |letter: char| misleads(letter) && !matches!(letter, '\n' | '\r' | '\t');
    if text.len() <= bytes_max && !text.contains(control) {
        return text;
    }
    let end = text.floor_char_boundary(bytes_max);
    let mut shown = String::with_capacity(end);
    for letter in text[..end].chars() {
        if control(letter) { shown.extend(letter.escape_default()) } else { shown.push(letter) }
    }
    if end < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
