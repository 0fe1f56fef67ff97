//! Plain data in the host's place, so that plugins can be tested as ordinary Rust. Not there on wasm.
//!
//! A handler is asked about [`RequestFacts`], a probe type about [`TargetFacts`]; a pod source is a function already.
//! What the host would give of itself is set for the thread that runs the test: secrets by [`set_secret`], answers over
//! HTTP by [`serve_http`]; what was logged is taken by [`take_log`]. Sockets are real ones.
//!
//! ```
//! use serde_json::json;
//! use witlet_plugin_sdk::facts::{PodFacts, RequestFacts, set_secret, take_log};
//! use witlet_plugin_sdk::{info, secret};
//!
//! let pod = PodFacts::of(&json!({"metadata": {"name": "web", "labels": {"team": "red"}}}));
//! let facts = RequestFacts { pod, ..RequestFacts::default() };
//! assert_eq!(facts.request().pod().label("team").as_deref(), Some("red"));
//!
//! set_secret("token", Ok(b"s3cret".to_vec()));
//! info!("a token of {} bytes", secret::get("token")?.len());
//! assert_eq!(take_log()[0].message, "a token of 6 bytes");
//! # Ok::<(), secret::SecretError>(())
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;

pub use crate::admission::facts::{NodeFacts, PodFacts, RequestFacts};
pub use crate::http::facts::{Answering, ScriptedAnswer, serve_http};
pub use crate::probe::facts::TargetFacts;

use crate::log::Level;
use crate::secret::SecretError;

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

pub(crate) fn record_line(level: Level, message: &str, fields: Vec<(String, String)>) {
    LOG.with_borrow_mut(|lines| {
        if lines.len() < LOG_LINES_MAX {
            lines.push(Line { level, message: message.to_owned(), fields });
        }
    });
}

/// What [`secret::get`](crate::secret::get) gives on this thread from now on. A secret that wasn't set isn't granted.
pub fn set_secret(name: &str, value: Result<Vec<u8>, SecretError>) {
    SECRETS.with_borrow_mut(|secrets| secrets.insert(name.to_owned(), value));
}

pub(crate) fn secret(name: &str) -> Secret {
    SECRETS.with_borrow(|secrets| secrets.get(name).cloned().unwrap_or(Err(SecretError::NotGranted)))
}

#[cfg(test)]
mod tests;
