//! The ports to probe types and to the HTTP of lifecycle hooks.

use std::time::Duration;

use async_trait::async_trait;
use thiserror::Error;
use witlet_core::hook::HttpHook;
use witlet_core::probe::{ProbeOutcome, ProbeRequest};

/// A probe that gave no outcome.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProbeError {
    /// No plugin has this type. The probe fails: a check that can't be made isn't passed.
    #[error("unknown probe type {probe_type:?}")]
    UnknownType {
        /// As the pod names it.
        probe_type: String,
    },
    /// The type refuses the parameters. The probe fails.
    #[error("{words}")]
    Parameters {
        /// In the type's own words.
        words: String,
    },
    /// It could not be carried out. Its result is discarded, and it is tried again.
    #[error("{message}")]
    NotCarriedOut { message: String },
    /// It could not be carried out, and another try soon won't do better: the type is in quarantine or isn't loaded.
    #[error("{message}")]
    NotNow { message: String },
}

/// The types of probes: `exec`, `httpGet`, `tcpSocket`, `grpc`, and those of configured plugins.
#[async_trait]
pub trait ProbeTypes: Send + Sync {
    /// Probes once. A probe that waits for something when the request's time is over fails, as upstream's. What the probed
    /// process says is cut to what an event can hold.
    async fn probe(&self, request: &ProbeRequest) -> Result<ProbeOutcome, ProbeError>;
}

/// A hook's request that failed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct HookError {
    pub message: String,
}

/// Sends the requests of `httpGet` hooks.
#[async_trait]
pub trait HookRequests: Send + Sync {
    /// Sends it and waits for the answer, at most this long. HTTPS that meets a server without it is tried once more in
    /// the clear (upstream: `isHTTPResponseError`); then the second value is true.
    async fn send(&self, hook: &HttpHook, timeout: Duration) -> Result<bool, HookError>;
}

/// How often probes of one kind were carried out, by what they found (upstream: `prober_probe_total`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeCounts {
    /// It passed, be it with a warning.
    pub successful: u64,
    pub failed: u64,
    /// It could not be carried out.
    pub unknown: u64,
}
