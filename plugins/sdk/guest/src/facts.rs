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

pub use crate::admission::facts::{NodeFacts, PodFacts, RequestFacts};
pub use crate::probe::facts::TargetFacts;
pub use witlet_plugin_sdk_base::facts::{
    Answering, LOG_LINES_MAX, Line, ScriptedAnswer, serve_http, set_secret, take_log,
};

#[cfg(test)]
mod tests;
