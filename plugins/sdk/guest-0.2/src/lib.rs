//! Write plugins for contract 0.2 in Rust: `witlet:admission@0.2.0`, `witlet:probe@0.2.0`,
//! `witlet:pod-source@0.2.0`.
//!
//! Plugins of contract 0.1 are written with `witlet-plugin-sdk`; a component of one never imports anything of the other.
//!
//! A handler is a type with [`AdmissionHandler`] that serde makes of the plugin's `config:`, exported by
//! [`export_admission!`], in a crate of `crate-type = ["cdylib"]` that is compiled for `wasm32-wasip2`:
//!
//! ```
//! use serde::Deserialize;
//! use witlet_plugin_sdk_0_2::{AdmissionHandler, Error, Request, Verdict, export_admission};
//!
//! /// Images have a digest, those of image volumes and of containers that are added later too.
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Pinned {}
//!
//! impl AdmissionHandler for Pinned {
//!     fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
//!         let unpinned = request.pod().images().filter(|image| image.digest().is_none());
//!         Ok(Verdict::reject_first("NotPinned", unpinned.map(|image| format!("{image} has no digest"))))
//!     }
//! }
//!
//! export_admission!(Pinned);
//!
//! // On the machine where it is developed, the same handler is asked about a manifest:
//! use serde_json::json;
//! use witlet_plugin_sdk_0_2::facts::RequestFacts;
//!
//! let facts = RequestFacts::of(&json!({"spec": {"containers": [{"name": "app", "image": "nginx:1.29"}]}}));
//! let problem = r#"image "docker.io/library/nginx:1.29" (spec.containers[0].image) has no digest"#;
//! assert_eq!(Pinned {}.admit(&facts.request())?, Verdict::reject("NotPinned", problem));
//! # Ok::<(), Error>(())
//! ```
//!
//! # Where to search
//!
//! | For | Check |
//! |---|---|
//! | what a handler is | [`AdmissionHandler`] |
//! | what may be asked | [`Request`], [`Pod`], [`Container`], [`Image`], [`Volume`], [`Node`] |
//! | what is answered | [`Verdict`], and [`Error`] where there is no answer |
//! | the host itself | [`features`], [`node`], [`data`], [`metrics`], [`secret`], [`mod@log`] and the macros [`error!`], [`warn!`], [`info!`], [`debug!`] |
//! | a probe type | [`probe`] |
//! | a pod source | [`source`] |
//! | connections of a probe type or a source | [`net`], [`http`], [`time`] |
//! | unit tests | [`facts`] |
//!
//! Amounts of resources are numbers: milli-CPU for `cpu`, base units (bytes, pieces) for everything else. Whatever is a list is an
//! iterator over things that are asked for what they are, one getter at a time: what a policy doesn't check never crosses
//! into the component.

#![deny(missing_docs)]
// On wasm the export macro defines functions of the canonical ABI, which is unsafe by nature.
#![cfg_attr(not(target_family = "wasm"), deny(unsafe_code))]

#[macro_use]
mod getters;

mod admission;
#[doc(hidden)]
pub mod bindings;
pub mod data;
mod error;
#[cfg(not(target_family = "wasm"))]
pub mod facts;
pub mod features;
pub mod log;
pub mod metrics;
pub mod node;
pub mod probe;
pub mod secret;
pub mod source;
mod words;

pub use admission::container::{Container, ContainerPort, Mount};
pub use admission::handler::{AdmissionHandler, Setup};
pub use admission::image::Image;
pub use admission::node::{Condition, Node, Taint};
pub use admission::pod::{HostPort, Owner, Pod, Volume};
pub use admission::request::Request;
pub use admission::resolved::ResolvedImage;
pub use admission::verdict::{Decision, Shortage, Verdict};
pub use bindings::witlet::admission::admission_types::Datetime;
pub use error::Error;
pub use witlet_plugin_sdk_base::{http, net, time};
pub use words::{ContainerKind, Operation, ProbeKind, QosClass};

#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub use admission::export::{admit as __admit, validate as __validate};
