//! Write witlet admission handlers in Rust.
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
//! A verdict must be a function of the request and the configuration: the host gives every call the same clock
//! ([`Request::now`]) and a random source seeded from the pod, and nothing else of the world. Getters cost some
//! hundred nanoseconds each and decoding a whole pod many times that: ask for what you need, and keep what you got.

// On wasm the export macros define functions of the canonical ABI, which is unsafe by nature.
#![cfg_attr(not(target_family = "wasm"), deny(unsafe_code))]

pub mod bindings;
mod config;
mod error;
mod export;
#[cfg(not(target_family = "wasm"))]
pub mod facts;
mod handler;
pub mod log;
mod node;
mod pod;
mod request;
mod verdict;

pub use bindings::witlet::admission::types::{
    Condition, Container, ContainerKind, Datetime, Deferral, HostPort, Operation, PodRef, QosClass, Quantity,
    Rejection, Shortage, Taint, Verdict,
};
#[doc(hidden)]
pub use config::parse as __parse_config;
pub use error::Error;
#[doc(hidden)]
pub use error::describe as __describe;
pub use handler::AdmissionHandler;
pub use node::Node;
pub use pod::Pod;
pub use request::Request;
pub use verdict::amount_of;

/// Where getters lead: to the host in a component, to plain data everywhere else.
mod backend {
    #[cfg(target_family = "wasm")]
    pub(crate) use crate::bindings::witlet::admission::types::{Node, Pod, Request};
    #[cfg(not(target_family = "wasm"))]
    pub(crate) use crate::facts::{NodeFacts as Node, PodFacts as Pod, RequestFacts as Request};
}
