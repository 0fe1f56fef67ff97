//! Expositions of metrics: how many are written at a time, and for how long a client waits for one.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;
use witlet_core::stats::exposition::{EXPOSITION_BYTES_MAX, Exposition, Negotiated};

#[cfg(test)]
mod tests;

/// Expositions of one endpoint that are written at the same time: while one waits for a slow file of the kernel, another goes on.
const AT_ONCE_MAX: usize = 2;

/// How long a client waits, for its turn and for the exposition together: as long as Prometheus waits by default.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// Those of one endpoint. Each is written on a thread of its own, because some figures are read from files of the kernel.
#[derive(Clone)]
pub(crate) struct Expositions(Arc<Semaphore>);

impl Default for Expositions {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE_MAX)))
    }
}

impl Expositions {
    /// What `write` writes, in the format that a request with these headers asks for. A thread that takes too long keeps its turn until
    /// it is done; its client doesn't wait for that.
    pub(crate) async fn answer(
        &self,
        headers: &HeaderMap,
        write: impl FnOnce(&mut Exposition) + Send + 'static,
    ) -> Response {
        let negotiated = negotiated(headers);
        let (turns, format) = (self.0.clone(), negotiated.format);
        let writing = async {
            // It is never closed.
            let turn = turns.acquire_owned().await;
            let thread = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let mut to = Exposition::new(format);
                write(&mut to);
                to.finish()
            });
            thread.await
        };
        let failed = |words: String| (StatusCode::INTERNAL_SERVER_ERROR, words).into_response();
        match tokio::time::timeout(ANSWERED_WITHIN, writing).await {
            Ok(Ok(Some(body))) => ([(header::CONTENT_TYPE, negotiated.content_type())], body).into_response(),
            Ok(Ok(None)) => failed(format!("metrics must have at most {EXPOSITION_BYTES_MAX} bytes")),
            Ok(Err(error)) => failed(format!("metrics could not be gathered: {error}")),
            Err(_) => {
                let words = format!("metrics could not be gathered within {ANSWERED_WITHIN:?}");
                (StatusCode::SERVICE_UNAVAILABLE, words).into_response()
            }
        }
    }
}

/// What a client with these headers and this server agree on. As upstream has it, only the first header of the name counts.
pub(crate) fn negotiated(headers: &HeaderMap) -> Negotiated {
    Negotiated::of(headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()))
}
