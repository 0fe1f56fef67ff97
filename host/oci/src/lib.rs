//! Components from registries: pulled by the digest of their manifest, checked byte by byte, and kept.
//!
//! Speaks the pull half of the OCI distribution specification 1.1, and takes what the CNCF's guidance for WebAssembly
//! artifacts describes: a manifest with one layer of `application/wasm`.
//!
//! Decisions ([`manifest`], [`challenge`], [`address`], [`retry`]) are pure; [`Registries`] carries them out.
#![forbid(unsafe_code)]

pub mod address;
pub mod challenge;
mod error;
pub mod manifest;
mod registry;
pub mod retry;
mod source;
mod store;

pub use error::{PullError, What};
pub use source::{
    LIMITS, PULL_TIME_MAX, PULLS_MAX, Progress, ProgressSink, Registries, RegistriesConfig, RegistryError,
};
pub use store::{STORE_BYTES_MAX, STORE_FILES_MAX, Store, StoreError};
