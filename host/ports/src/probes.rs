//! The ports to probe types and to the HTTP of lifecycle hooks.

use std::time::Duration;

use async_trait::async_trait;
use thiserror::Error;
use witlet_core::hook::HttpHook;
use witlet_core::probe::{ProbeCheck, ProbeOutcome};
use witlet_core::runtime::ContainerId;

/// A probe that could not be carried out. Its result is discarded, and it is tried again.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ProbeError {
    /// One sentence.
    pub message: String,
}

/// The types of probes (`exec`, `httpGet`, `tcpSocket`, `grpc`).
#[async_trait]
pub trait ProbeTypes: Send + Sync {
    /// Probes the container once. What takes longer than `timeout` is a failure, as upstream has it. What the probed
    /// process says is cut to what an event can hold.
    async fn probe(
        &self,
        container: &ContainerId,
        check: &ProbeCheck,
        timeout: Duration,
    ) -> Result<ProbeOutcome, ProbeError>;
}

/// A hook's request that failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct HookError {
    /// One sentence.
    pub message: String,
}

/// Sends the requests of `httpGet` hooks.
#[async_trait]
pub trait HookRequests: Send + Sync {
    /// Sends it and waits for the answer, at most this long. HTTPS that meets a server without it is tried once more in
    /// the clear (upstream: `isHTTPResponseError`); then the second value is true.
    async fn send(&self, hook: &HttpHook, timeout: Duration) -> Result<bool, HookError>;
}
