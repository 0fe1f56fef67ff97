//! The requests of `httpGet` hooks: upstream's `lifecycle/handlers.go`.

mod redirect;
mod target;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{HOST, LOCATION};
use http::{Request, StatusCode};
use http_body_util::Empty;
use thiserror::Error;
use tokio::time::{Instant, timeout_at};
use witlet_core::hook::{HttpHook, Scheme};
use witlet_ports::{HookError, HookRequests};

use crate::connect::ConnectError;
use crate::egress::Egress;
use crate::grant::{NetworkGrant, TlsPolicy};
use crate::http::{SendError, SendLimits};
use crate::reach::Reach;
use crate::tls::TlsError;
use redirect::redirect;
use target::Target;

#[cfg(test)]
mod tests;

/// So many redirects are followed (upstream: Go's default).
const REDIRECTS_MAX: usize = 10;

/// Sends the requests from the host. Any answer will do, whatever its status; its body isn't read. Certificates aren't
/// verified, as upstream's aren't.
///
/// A hook reaches what a probe's `host` may: everything but link-local addresses and clouds' metadata servers. Upstream
/// lets hooks ask there, too.
#[derive(Clone)]
pub struct HttpHooks {
    egress: Egress,
}

impl HttpHooks {
    /// Sends them by this way.
    pub fn new(egress: Egress) -> Self {
        Self { egress }
    }
}

/// No answer. The words are those of Go's client, which people know from upstream's events.
#[derive(Debug, Error)]
enum FetchError {
    #[error(transparent)]
    Send(#[from] SendError),
    #[error("invalid request: {0}")]
    Request(#[from] http::Error),
    #[error("stopped after {REDIRECTS_MAX} redirects")]
    TooManyRedirects,
    #[error("failed to parse Location header {0:?}")]
    Location(String),
    #[error("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")]
    Timeout,
}

#[async_trait]
impl HookRequests for HttpHooks {
    async fn send(&self, hook: &HttpHook, timeout: Duration) -> Result<bool, HookError> {
        let deadline = Instant::now() + timeout;
        let target =
            Target { scheme: hook.scheme, host: hook.host.clone(), port: hook.port, path: hook.path.clone() };
        let failed = |error: FetchError| HookError { message: format!("Get \"{target}\": {error}") };
        let error = match self.fetch(target.clone(), &hook.headers, deadline).await {
            Ok(()) => return Ok(false),
            Err(error @ FetchError::Send(SendError::Tls(TlsError::PlainAnswer))) => error,
            Err(error) => return Err(failed(error)),
        };
        // What was meant to be encrypted isn't sent in the clear.
        let public: Vec<(String, String)> =
            hook.headers.iter().filter(|(name, _)| !is_secret(name)).cloned().collect();
        let plain = Target { scheme: Scheme::Http, ..target.clone() };
        match self.fetch(plain, &public, deadline).await {
            Ok(()) => Ok(true),
            Err(_) => Err(failed(error)),
        }
    }
}

impl HttpHooks {
    /// Asks, and asks again where a redirect to the same host leads. Ends at the deadline.
    async fn fetch(
        &self,
        mut target: Target,
        headers: &[(String, String)],
        deadline: Instant,
    ) -> Result<(), FetchError> {
        let reach = Reach::new([NetworkGrant::ProbeHost], &[], Some(&target.host));
        let mut host = headers.iter().find(|(name, _)| name == "Host").map(|(_, value)| value.clone());
        for _ in 0..REDIRECTS_MAX {
            let request = request(&target, host.as_deref(), headers)?;
            let limits = SendLimits::each(deadline.saturating_duration_since(Instant::now()));
            let sent = self.egress.send(&reach, TlsPolicy::Insecure, request, limits);
            let answer = match timeout_at(deadline, sent).await {
                Ok(Ok(answer)) => answer,
                // What is late is late for the hook as a whole.
                Err(_)
                | Ok(Err(SendError::FirstByteTimeout | SendError::Connect(ConnectError::Timeout { .. }))) => {
                    return Err(FetchError::Timeout);
                }
                Ok(Err(error)) => return Err(error.into()),
            };
            let Some(location) = answer.headers().get(LOCATION).filter(|_| is_redirect(answer.status()))
            else {
                return Ok(());
            };
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            let next = redirect(&target, &location).ok_or(FetchError::Location(location))?;
            if next.target.host != target.host {
                return Ok(());
            }
            if next.names_host {
                host = None;
            }
            target = next.target;
        }
        Err(FetchError::TooManyRedirects)
    }
}

fn request(
    target: &Target,
    host: Option<&str>,
    headers: &[(String, String)],
) -> Result<Request<Empty<Bytes>>, http::Error> {
    let mut request = Request::get(target.to_string());
    if let Some(host) = host {
        request = request.header(HOST, host);
    }
    for (name, value) in headers.iter().filter(|(name, _)| name != "Host") {
        request = request.header(name, value);
    }
    request.body(Empty::new())
}

/// Those that Go's client follows.
fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn is_secret(header: &str) -> bool {
    header.eq_ignore_ascii_case("Authorization")
}
