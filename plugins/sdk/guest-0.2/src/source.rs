//! The role of pod sources: where pods come from.
//!
//! A source is a type with [`PodSource`] that serde makes of the plugin's `config:`, exported by
//! [`export_source!`](crate::export_source), and by [`export_feedback!`](crate::export_feedback) too if it wants to receive how its pods are:
//!
//! ```
//! use serde::Deserialize;
//! use serde_json::json;
//! use witlet_plugin_sdk_0_2::source::{Change, Poll, PodSource};
//! use witlet_plugin_sdk_0_2::{Error, export_feedback, export_source, warn};
//!
//! /// Pods that stand in the configuration.
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Fixed {
//!     pods: Vec<serde_json::Value>,
//! }
//!
//! impl PodSource for Fixed {
//!     fn poll(&self, _: Option<&str>) -> Result<Poll, Error> {
//!         Ok(Poll::all(self.pods.iter().map(ToString::to_string)))
//!     }
//!
//!     fn notify(&self, changes: &[Change]) -> Result<(), Error> {
//!         for change in changes.iter().filter(|change| change.is_refused()) {
//!             warn!("{}/{} isn't run: {}", change.namespace, change.name, change.message);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! export_source!(Fixed);
//! export_feedback!(Fixed);
//!
//! // On the machine where it is developed, the same source is a function:
//! use witlet_plugin_sdk_0_2::facts::take_log;
//!
//! let source = Fixed { pods: vec![json!({"kind": "Pod"})] };
//! assert_eq!(source.poll(None)?, Poll::all([r#"{"kind":"Pod"}"#]));
//! let left_out = Change { message: "no such namespace".to_owned(), ..Change::left_out("default", "web") };
//! source.notify(&[left_out])?;
//! assert_eq!(take_log()[0].message, "default/web isn't run: no such namespace");
//! # Ok::<(), Error>(())
//! ```

#[doc(hidden)]
pub mod bindings;
mod export;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod facts;
mod types;

#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub use export::{notify as __notify, poll as __poll, validate as __validate};
pub use types::{Change, PodSource, Poll, Setup, Snapshot};
pub use witlet_plugin_sdk_base::fingerprint;

/// Where getters lead: to the host in a component, to plain data everywhere else.
mod backend {
    #[cfg(target_family = "wasm")]
    pub(crate) use super::bindings::witlet::pod_source::source_types::Setup;
    #[cfg(not(target_family = "wasm"))]
    pub(crate) use super::facts::SetupFacts as Setup;
}
