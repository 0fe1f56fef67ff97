//! HTTP requests of probes and hooks: one connection for each, no proxy, no compression, redirects only to the same host.

mod fetch;
mod redirect;

use std::time::Duration;

use thiserror::Error;
use tokio::time::Instant;
use witlet_core::probe::{ProbeOutcome, Scheme};
use witlet_ports::ProbeError;

use crate::OUTPUT_BYTES_MAX;
use crate::connect::{ConnectError, host_port};
use crate::tls::TlsError;

pub(crate) use fetch::fetch;

#[cfg(test)]
mod tests;

/// So many redirects are followed (upstream: Go's default).
const REDIRECTS_MAX: usize = 10;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) scheme: Scheme,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// With the query, escaped.
    pub(crate) path: String,
}

impl Target {
    /// `host:port`
    pub(crate) fn authority(&self) -> String {
        host_port(&self.host, self.port)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

/// No answer. The words are those of Go's client, which people know from upstream's events.
#[derive(Debug, Error)]
pub(crate) enum FetchError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("invalid request: {0}")]
    Request(#[from] hyper::http::Error),
    #[error("malformed HTTP exchange: {0}")]
    Http(#[from] hyper::Error),
    #[error("stopped after {REDIRECTS_MAX} redirects")]
    TooManyRedirects,
    #[error("failed to parse Location header {0:?}")]
    Location(String),
    #[error("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")]
    Timeout,
}

/// Asks once and judges the answer (upstream: `DoHTTPProbe`). A server that begins to answer well and then breaks off
/// or dawdles can't be judged, which is an error, as upstream has it.
pub(crate) async fn probe(
    target: Target,
    headers: &[(String, String)],
    timeout: Duration,
) -> Result<ProbeOutcome, ProbeError> {
    let deadline = Instant::now() + timeout;
    let url = target.to_string();
    let answer = match fetch(target, headers, deadline).await {
        Ok(answer) => answer,
        Err(error) => return Ok(ProbeOutcome::Failure(format!("Get {url:?}: {error}"))),
    };
    let status = answer.status();
    let body = tokio::time::timeout_at(deadline, answer.body(OUTPUT_BYTES_MAX)).await;
    let message = match body {
        Ok(Ok(body)) => {
            let body = String::from_utf8_lossy(&body).into_owned();
            return Ok(match status {
                200..=299 => ProbeOutcome::Success(body),
                300..=399 => {
                    ProbeOutcome::Warning(format!("Probe terminated redirects, Response body: {body}"))
                }
                _ => ProbeOutcome::Failure(format!("HTTP probe failed with statuscode: {status}")),
            });
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => {
            "context deadline exceeded (Client.Timeout or context cancellation while reading body)".to_owned()
        }
    };
    Err(ProbeError { message })
}
