//! The role of pod sources: where pods come from.
//!
//! A source is a type with [`PodSource`], exported by [`export_pod_source!`](crate::export_pod_source):
//!
//! ```
//! use serde::Deserialize;
//! use witlet_plugin_sdk::export_pod_source;
//! use witlet_plugin_sdk::source::{PodSource, Poll, SourceError};
//!
//! /// The pods that the configuration names, once the folder says that they are desired.
//! struct Pods;
//!
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Config {
//!     manifests: Vec<String>,
//!     flag: String,
//! }
//!
//! impl PodSource for Pods {
//!     type Config = Config;
//!
//!     fn poll(cursor: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
//!         let desired = std::fs::read_to_string(&config.flag)
//!             .map_err(|cause| SourceError::new("Unavailable", format!("read {}: {cause}", config.flag)))?;
//!         if cursor == Some(&desired) {
//!             return Ok(Poll::unchanged().with_cursor(desired));
//!         }
//!         let manifests = if desired == "yes" { config.manifests.clone() } else { Vec::new() };
//!         Ok(Poll::all(manifests).with_cursor(desired))
//!     }
//! }
//!
//! export_pod_source!(Pods);
//!
//! // On the machine where it is developed, it is a function:
//! let config = Config { manifests: vec!["kind: Pod".to_owned()], flag: "/nowhere".to_owned() };
//! let error = Pods::poll(None, &config).expect_err("there is no such file");
//! assert_eq!(error.reason, "Unavailable");
//! ```

pub mod bindings;
mod export;
mod types;

pub use bindings::witlet::pod_source::types::{PodStatus, PollResult as Poll, Snapshot, SourceError};
pub use types::{PodSource, StatusFeedback};
pub use witlet_plugin_sdk_base::fingerprint;

#[cfg(test)]
mod tests;
