//! Requests over the daemon's socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

/// The daemon answers from memory: longer means that it hangs.
pub(super) const REQUEST_DEADLINE: Duration = Duration::from_secs(10);

/// 500 pods of 100 KB; more than that isn't an answer of ours.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// Of a reason so much is shown.
const REASON_CHARS_MAX: usize = 1024;

/// Why the daemon couldn't be asked.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No daemon listens there.
    #[error("no agent answers at {}: start one with `witlet run`, or set its socket with --api-socket", path.display())]
    NotRunning {
        path: PathBuf,
        /// Why the connection failed.
        #[source]
        cause: std::io::Error,
    },
    /// The socket belongs to another user.
    #[error("permission denied for {}: run as root", path.display())]
    Denied { path: PathBuf },
    /// The daemon took too long.
    #[error("the agent at {} did not respond within {}s: it may be starting still, or be overloaded", path.display(), REQUEST_DEADLINE.as_secs())]
    TimedOut { path: PathBuf },
    /// The daemon refuses what was asked for.
    #[error("{reason}")]
    Refused {
        /// The status of its answer.
        status: u16,
        reason: String,
    },
    /// The connection ended before the answer did: the agent has ended, or was killed.
    #[error("the connection to the agent at {} ended", path.display())]
    Ended { path: PathBuf },
    /// The answer isn't what this version understands.
    #[error("the agent at {} sent an invalid response to {request}: {message}", path.display())]
    BadAnswer { path: PathBuf, request: String, message: String },
}

/// Asks a daemon over its socket.
#[derive(Clone, Debug)]
pub struct LocalClient {
    pub(super) socket: PathBuf,
}

impl LocalClient {
    /// Creates a client of the daemon with this socket. Connects for each request.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned() }
    }

    /// The daemon's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The JSON answer to a GET.
    ///
    /// # Errors
    /// No agent answers in time, it refuses, or the answer isn't of this type.
    pub async fn get<T: DeserializeOwned>(&self, request: &str) -> Result<T, ClientError> {
        let body = tokio::time::timeout(REQUEST_DEADLINE, self.fetch(request))
            .await
            .map_err(|_| ClientError::TimedOut { path: self.socket.clone() })??;
        serde_json::from_slice(&body).map_err(|cause| self.bad_answer(request, &cause))
    }

    /// The text that a GET is answered with.
    ///
    /// # Errors
    /// No agent answers in time, or it refuses.
    pub async fn text(&self, request: &str) -> Result<String, ClientError> {
        let body = tokio::time::timeout(REQUEST_DEADLINE, self.fetch(request))
            .await
            .map_err(|_| ClientError::TimedOut { path: self.socket.clone() })??;
        String::from_utf8(body.into()).map_err(|cause| self.bad_answer(request, &cause))
    }

    async fn fetch(&self, request: &str) -> Result<Bytes, ClientError> {
        let message =
            Request::get(request).body(Empty::new()).map_err(|cause| self.bad_answer(request, &cause))?;
        let (response, _connection) = self.send(message).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), RESPONSE_BYTES_MAX)
            .collect()
            .await
            .map_err(|cause| self.bad_answer(request, &cause))?
            .to_bytes();
        if status.is_success() { Ok(body) } else { Err(self.refused(request, status, &body)) }
    }

    /// Sends a request over a connection of its own, which lives as long as the second value.
    pub(super) async fn send(
        &self,
        mut message: Request<Empty<Bytes>>,
    ) -> Result<(Response<Incoming>, JoinSet<()>), ClientError> {
        let request = message.uri().to_string();
        message.headers_mut().insert(header::HOST, HeaderValue::from_static("localhost"));
        let stream = UnixStream::connect(&self.socket).await.map_err(|cause| match cause.kind() {
            std::io::ErrorKind::PermissionDenied => ClientError::Denied { path: self.socket.clone() },
            _ => ClientError::NotRunning { path: self.socket.clone(), cause },
        })?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|cause| self.bad_answer(&request, &cause))?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // How it ended, the exchange learns.
            let _ = connection.with_upgrades().await;
        });
        let response =
            sender.send_request(message).await.map_err(|cause| self.bad_answer(&request, &cause))?;
        Ok((response, driver))
    }

    /// The status with the reason that the daemon gives.
    fn refused(&self, request: &str, status: StatusCode, body: &[u8]) -> ClientError {
        let reason: String = String::from_utf8_lossy(body).trim().chars().take(REASON_CHARS_MAX).collect();
        let words = if reason.is_empty() { status.to_string() } else { format!("{status}: {reason}") };
        let reason = format!("the agent at {} refused GET {request}: {words}", self.socket.display());
        ClientError::Refused { status: status.as_u16(), reason }
    }

    /// The beginning of an error's body.
    pub(super) async fn reason(response: Response<Incoming>) -> String {
        let body = Limited::new(response.into_body(), RESPONSE_BYTES_MAX).collect().await;
        let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim().chars().take(REASON_CHARS_MAX).collect()
    }

    pub(super) fn bad_answer(&self, request: &str, message: &dyn std::fmt::Display) -> ClientError {
        ClientError::BadAnswer {
            path: self.socket.clone(),
            request: format!("GET {request}"),
            message: message.to_string(),
        }
    }
}
