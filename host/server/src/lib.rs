//! The local API: what the agent knows, over a unix socket that only root can open, and a client for it.
//!
//! HTTP/1.1 with JSON bodies, and metrics as Prometheus reads them. Every request is a read of published state, so none of them waits for the agent.
#![forbid(unsafe_code)]

mod client;
mod local;
mod metrics;
mod socket;

pub use client::{ClientError, LocalClient};
pub use local::{LocalApi, PluginView};
pub use socket::{BindError, RootOnlySocket};
