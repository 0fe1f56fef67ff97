//! What stands in the host's place in unit tests. Not there on wasm.

use std::cell::RefCell;
use std::collections::BTreeMap;

pub use crate::http::facts::{Answering, ScriptedAnswer, serve_http};
use crate::{Level, SecretError};

/// A line that was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How much it matters.
    pub level: Level,
    /// The text.
    pub message: String,
    /// Names and values.
    pub fields: Vec<(String, String)>,
}

/// How many lines a thread keeps for [`take_log`]; later ones are dropped.
pub const LOG_LINES_MAX: usize = 1_000;

/// What a lookup of a secret gives.
type Secret = Result<Vec<u8>, SecretError>;

thread_local! {
    static LOG: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
    static SECRETS: RefCell<BTreeMap<String, Secret>> = const { RefCell::new(BTreeMap::new()) };
}

/// Takes what this thread has logged so far.
pub fn take_log() -> Vec<Line> {
    LOG.take()
}

/// Keeps a line for [`take_log`].
pub fn record_line(level: Level, message: &str, fields: Vec<(String, String)>) {
    LOG.with_borrow_mut(|lines| {
        if lines.len() < LOG_LINES_MAX {
            lines.push(Line { level, message: message.to_owned(), fields });
        }
    });
}

/// What the SDK's `secret::get` gives on this thread from now on. A secret that wasn't set isn't granted.
pub fn set_secret(name: &str, value: Result<Vec<u8>, SecretError>) {
    SECRETS.with_borrow_mut(|secrets| secrets.insert(name.to_owned(), value));
}

/// What [`set_secret`] has set.
///
/// # Errors
/// Those that it has set; a secret that wasn't set isn't granted.
pub fn secret(name: &str) -> Secret {
    SECRETS.with_borrow(|secrets| secrets.get(name).cloned().unwrap_or(Err(SecretError::NotGranted)))
}
