//! Answers that go on: logs that are followed, and watches.

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::local::{ClientError, LocalClient, REQUEST_DEADLINE};

/// Bytes of a line of a watch: a pod is at most half as large.
const LINE_BYTES_MAX: usize = 4 << 20;

/// A body as it comes.
#[derive(Debug)]
pub struct BodyStream {
    client: LocalClient,
    body: Incoming,
    _connection: JoinSet<()>,
}

/// A body whose lines are JSON.
#[derive(Debug)]
pub struct LineStream {
    request: String,
    body: BodyStream,
    read: Vec<u8>,
}

impl LocalClient {
    /// The answer to a GET, as it comes.
    ///
    /// # Errors
    /// No agent answers, or it refuses the request.
    pub async fn stream(&self, request: &str) -> Result<BodyStream, ClientError> {
        let message = Request::get(request).body(Empty::new());
        let message = message.map_err(|cause| self.bad_answer(request, &cause))?;
        let (response, connection) = tokio::time::timeout(REQUEST_DEADLINE, self.send(message))
            .await
            .map_err(|_| ClientError::TimedOut { path: self.socket.clone() })??;
        let response = self.accepted(response).await?;
        Ok(BodyStream { client: self.clone(), body: response.into_body(), _connection: connection })
    }

    /// The lines of the answer to a GET, as they come.
    ///
    /// # Errors
    /// No agent answers, or it refuses the request.
    pub async fn lines(&self, request: &str) -> Result<LineStream, ClientError> {
        let body = self.stream(request).await?;
        Ok(LineStream { request: request.to_owned(), body, read: Vec::new() })
    }

    /// A response of success; another is an error with the daemon's reason.
    pub(super) async fn accepted(
        &self,
        response: Response<Incoming>,
    ) -> Result<Response<Incoming>, ClientError> {
        let status = response.status();
        if status.is_success() || status.is_informational() {
            return Ok(response);
        }
        let reason = Self::reason(response).await;
        let reason = if reason.is_empty() { status.to_string() } else { reason };
        Err(ClientError::Refused { status: status.as_u16(), reason })
    }
}

impl BodyStream {
    /// What comes next; none at the end.
    ///
    /// # Errors
    /// The connection ended before the answer did.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let frame = match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => frame,
                Some(Err(_)) => return Err(ClientError::Ended { path: self.client.socket.clone() }),
            };
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }
}

impl LineStream {
    /// The next line; none at the end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The connection ended before the answer did, or a line isn't what was expected.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ClientError> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                let parsed = serde_json::from_slice(&line);
                return parsed.map(Some).map_err(|cause| self.body.client.bad_answer(&self.request, &cause));
            }
            if self.read.len() > LINE_BYTES_MAX {
                return Err(self.body.client.bad_answer(&self.request, &"a line is too long"));
            }
            match self.body.next().await? {
                Some(bytes) => self.read.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }
}
