//! Pure decisions of the node agent, and their types.
//!
//! Everything here is a pure function over facts: no async, no clock, no IO, no randomness. The time is an
//! argument, and so is the jitter. The other crates gather facts, ask a decision of this one, and carry it out.
#![forbid(unsafe_code)]

pub mod access;
pub mod admission;
pub mod cgroup;
pub mod container;
pub mod duration;
pub mod error;
pub mod event;
pub mod eviction;
#[cfg(test)]
mod fixtures;
pub mod go;
pub mod hook;
pub mod image;
pub mod logs;
pub mod network;
pub mod node;
pub mod pleg;
pub mod pod;
pub mod probe;
pub mod reflector;
pub mod refresh;
pub mod runtime;
pub mod sources;
pub mod stats;
pub mod status;
pub mod text;
pub mod token_bucket;
pub mod trace;
pub mod volume;
pub mod yaml;

pub use jiff::Timestamp;
pub use k8s_openapi::api::core::v1::Pod;
