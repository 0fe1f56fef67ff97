//! What a node answers over HTTP: the local API, over a unix socket that only root can open, with a client for it; and the
//! kubelet's endpoints, over TLS for authorized clients. And admission handlers as a webhook of an API server.
//!
//! The local API is HTTP/1.1 with JSON bodies, and metrics as Prometheus reads them. Its requests are reads of published
//! state, so none of them waits for the agent; logs of containers and commands in them are answered as the kubelet's endpoints do.
#![forbid(unsafe_code)]

mod client;
mod expositions;
pub mod kubelet;
mod local;
mod metrics;
mod pod_list;
mod socket;
pub mod spdy;
mod stats;
pub mod webhook;

pub use client::{
    BodyStream, ClientError, ExecEnd, ExecError, ExecOptions, ExecStreams, LineStream, LocalClient,
    TerminalSize,
};
pub use kubelet::{
    Authentication, Authorization, Diagnostics, EndpointSwitches, KubeletServer, MirrorPods, ServerOptions,
    ServerParts, ServerTls, TlsError, TlsOptions,
};
pub use local::{LocalApi, PluginView, UsagePorts};
pub use metrics::Metrics;
pub use socket::{BindError, RootOnlySocket};
pub use stats::{CgroupContainerStats, StatsPorts, VOLUME_STATS_PERIOD};
