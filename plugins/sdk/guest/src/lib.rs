//! Write witlet plugins in Rust.
//!
//! A plugin is a component with one or more of three roles: an admission handler ([`AdmissionHandler`], below), a probe type
//! ([`probe`]) or a pod source ([`source`]). What a component doesn't use it doesn't import: [`secret`], [`http`], [`net`]
//! and [`probe::Target::exec`] cost no grant unless they are called.
//!
//! # Admission handlers
//!
//! A handler decides whether a pod may run on the node. It is a type with [`AdmissionHandler`], exported by
//! [`export_admission!`], in a crate of `crate-type = ["cdylib"]` that is compiled for `wasm32-wasip2`:
//!
//! ```
//! use serde::Deserialize;
//! use witlet_plugin_sdk::{AdmissionHandler, Error, Request, Verdict, export_admission};
//!
//! struct TeamLabel;
//!
//! #[derive(Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Config {
//!     label: String,
//! }
//!
//! impl AdmissionHandler for TeamLabel {
//!     type Config = Config;
//!
//!     fn admit(request: &Request, config: &Config) -> Result<Verdict, Error> {
//!         if request.pod().label(&config.label).is_some() {
//!             return Ok(Verdict::Admit);
//!         }
//!         Ok(Verdict::reject("NoTeam", format!("the pod has no label {}", config.label)))
//!     }
//! }
//!
//! export_admission!(TeamLabel);
//!
//! // On the machine where it is developed, the same handler is asked about plain data:
//! use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
//!
//! let pod = PodFacts { labels: vec![("team".into(), "red".into())], ..PodFacts::default() };
//! let facts = RequestFacts { pod, ..RequestFacts::default() };
//! let config = Config { label: "team".to_owned() };
//! assert_eq!(TeamLabel::admit(&facts.request(), &config)?, Verdict::Admit);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Where to search
//!
//! | For | Check |
//! |---|---|
//! | what a handler, a probe type, a source is | [`AdmissionHandler`], [`probe::ProbeType`], [`source::PodSource`] |
//! | what may be asked | [`Request`], [`Pod`], [`Node`], [`probe::Target`] |
//! | what is answered | [`Verdict`], [`probe::Outcome`], [`source::Poll`], and [`Error`] or [`source::SourceError`] |
//! | the world outside, by grants | [`net`], [`http`], [`secret`]; files by `std::fs`; commands by [`probe::Target::exec`] |
//! | lines for the node's log | [`mod@log`], and the macros [`error!`], [`warn!`], [`info!`], [`debug!`] |
//! | unit tests | [`facts`] |
//!
//! Unit tests ask the code; `witlet plugin test FILE.wasm` asks the finished component.
//!
//! Units are the contract's: resources in milli-CPU for `cpu` and base units (bytes, pieces) for the rest, times in seconds and
//! nanoseconds since 1970 or in milliseconds where a name says so.
//!
//! # What to keep in mind
//!
//! A verdict must be a function of the request and the configuration: the host gives every call the same clock
//! ([`Request::now`]) and a random source seeded from the pod, and nothing else of the world. Getters cost some
//! hundred nanoseconds each and decoding a whole pod many times that: ask for what you need, and keep what you got.

#![deny(missing_docs)]
// On wasm the export macros define functions of the canonical ABI, which is unsafe by nature.
#![cfg_attr(not(target_family = "wasm"), deny(unsafe_code))]

pub mod admission;
#[cfg(target_family = "wasm")]
mod config;
mod export;
#[cfg(not(target_family = "wasm"))]
pub mod facts;
#[doc(hidden)]
pub mod host;
pub mod log;
pub mod probe;
pub mod secret;
pub mod source;
mod toleration;

pub use admission::{
    AdmissionHandler, Condition, Container, ContainerKind, Datetime, Deferral, HostPort, Node, Operation,
    Pod, PodRef, QosClass, Quantity, Rejection, Request, Shortage, Taint, Verdict, amount_of,
};
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub use config::with_config as __with_config;
pub use toleration::Toleration;
pub use witlet_plugin_sdk_base::{Error, http, net, time};
#[doc(hidden)]
pub use witlet_plugin_sdk_base::{
    describe as __describe, parse as __parse_config, parse_parameters as __parse_parameters,
};
