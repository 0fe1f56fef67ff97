//! The requests of `httpGet` hooks: upstream's `lifecycle/handlers.go`.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use witlet_core::hook::HttpHook;
use witlet_core::probe::Scheme;
use witlet_ports::{HookError, HookRequests};

use crate::http::{FetchError, Target, fetch};
use crate::tls::TlsError;

#[cfg(test)]
mod tests;

/// Sends the requests from the host. Any answer will do, whatever its status; its body isn't read.
#[derive(Clone, Copy, Debug, Default)]
pub struct HttpHooks;

#[async_trait]
impl HookRequests for HttpHooks {
    async fn send(&self, hook: &HttpHook, timeout: Duration) -> Result<bool, HookError> {
        let deadline = Instant::now() + timeout;
        let target =
            Target { scheme: hook.scheme, host: hook.host.clone(), port: hook.port, path: hook.path.clone() };
        let failed = |error: FetchError| HookError { message: format!("Get \"{target}\": {error}") };
        let error = match fetch(target.clone(), &hook.headers, deadline).await {
            Ok(_) => return Ok(false),
            Err(error @ FetchError::Tls(TlsError::PlainAnswer)) => error,
            Err(error) => return Err(failed(error)),
        };
        // What was meant to be encrypted isn't sent in the clear.
        let public: Vec<(String, String)> =
            hook.headers.iter().filter(|(name, _)| !is_secret(name)).cloned().collect();
        let plain = Target { scheme: Scheme::Http, ..target.clone() };
        match fetch(plain, &public, deadline).await {
            Ok(_) => Ok(true),
            Err(_) => Err(failed(error)),
        }
    }
}

fn is_secret(header: &str) -> bool {
    header.eq_ignore_ascii_case("Authorization")
}
