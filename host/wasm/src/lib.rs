//! Runs plugins: WebAssembly components behind the WIT contracts of this project.
//!
//! Engines and their limits ([`engine`], [`limits`]), compiling in a child process with a cache of the results
//! ([`compile`]), what guests see of WASI (`wasi`), one adapter per contract and version (`worlds`), the
//! life of a plugin ([`plugin`]), and the port that the agent asks admission through ([`host`]).

pub mod annotations;
pub mod attestation;
pub mod compile;
pub mod direct;
pub mod engine;
mod guest;
pub mod host;
pub mod inspect;
pub mod limits;
pub mod manifest;
pub mod metrics;
pub mod plugin;
pub mod record;
pub mod role;
mod wasi;
mod worlds;
