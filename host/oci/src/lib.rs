//! Components in registries: pulled by the digest of their manifest, checked byte by byte, and kept; and pushed.
//!
//! Speaks the OCI distribution specification 1.1, in the form that the CNCF's guidance for WebAssembly artifacts describes:
//! a manifest with one layer of `application/wasm`. Conformance reports are manifests that refer to a component's; signatures are
//! cosign's.
//!
//! Decisions ([`manifest`], [`referrers`], [`challenge`], [`address`], [`retry`], and what is written) are pure; [`Registries`], for a daemon,
//! and [`Client`], for a command, carry them out.
#![forbid(unsafe_code)]

pub mod address;
mod artifact;
pub mod challenge;
mod client;
mod credentials;
mod digest;
mod error;
mod limits;
pub mod manifest;
pub mod referrers;
mod registry;
pub mod retry;
mod session;
mod set;
mod set_code;
mod set_folder;
mod signatures;
mod source;
mod store;
#[cfg(test)]
mod testing;
mod upload;

pub use artifact::Artifact;
pub use client::{Client, Login, Pulled, Pushed, SetListing};
pub use error::{TransferError, TransferItem};
pub use limits::{LIMITS, PULL_TIME_MAX, PUSH_TIME_MAX};
pub use manifest::SET_TYPE;
pub use referrers::{REPORT_BYTES_MAX, REPORT_LAYER_TYPE, REPORT_TYPE, REPORTS_MAX, ReferrersError};
pub use session::BytesSink;
pub use set::{
    CodeOfSet, PLUGIN_FILE, PLUGIN_FILE_TYPE, SET_BYTES_MAX, SET_COMPONENT_TYPE, SET_FILE_TYPE,
    SET_FILES_MAX, SetArtifact, SetError, SetFile, is_set_name,
};
pub use set_code::{CODE_TYPE, SetCode};
pub use set_folder::{SetFolderError, code_of_set, set_plugin_file, verify_set};
pub use signatures::{BUNDLE_TYPE, SIGNATURE_ANNOTATION, SIGNATURE_BYTES_MAX, SIGNATURES_MAX, SIMPLE_TYPE};
pub use source::{PULLS_MAX, Progress, ProgressSink, Registries, RegistriesConfig, RegistryError};
pub use store::{STORE_BYTES_MAX, STORE_FILES_MAX, Store, StoreError, own_folder};
pub use witlet_ports::{Target, TargetError};
