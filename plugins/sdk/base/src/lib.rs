//! What the SDKs for plugins in Rust have in common, whatever their contract: connections and requests with a deadline, configurations
//! by types, fingerprints, and what stands in the host's place in unit tests. Plugins use it through their SDK, which has all of it.
//!
//! It binds nothing of any contract, so that no component imports something of another contract because of it.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod config;
mod error;
mod exec;
#[cfg(not(target_family = "wasm"))]
pub mod facts;
mod fingerprint;
pub mod http;
mod level;
pub mod net;
mod secret;
pub mod time;

pub use config::{parse, parse_parameters};
pub use error::{Error, describe};
pub use exec::ExecError;
pub use fingerprint::fingerprint;
pub use level::Level;
pub use secret::SecretError;
