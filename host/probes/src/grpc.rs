//! The gRPC health check (`grpc.health.v1.Health/Check`) over HTTP/2 in the clear: upstream's `pkg/probe/grpc`.

mod message;

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use h2::client;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE, USER_AGENT};
use hyper::{Method, Request};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use witlet_core::probe::{self, ProbeOutcome};

use crate::connect::{connect, host_port};

#[cfg(test)]
mod tests;

/// Bytes of an answer; a health check's has two.
const ANSWER_BYTES_MAX: usize = 4 * 1024;
/// Bytes of the answer's headers, and of its trailers.
const HEADER_BYTES_MAX: u32 = 16 * 1024;
/// `UNIMPLEMENTED` (<https://grpc.io/docs/guides/status-codes/>).
const UNIMPLEMENTED: u32 = 12;
/// `DEADLINE_EXCEEDED`
const DEADLINE_EXCEEDED: u32 = 4;

/// No answer from the health service.
#[derive(Debug, Error)]
enum CheckError {
    #[error("rpc error: code = {} desc = {message}", message::code_name(*code))]
    Status { code: u32, message: String },
    #[error("rpc error: code = Unavailable desc = {0}")]
    Broken(#[from] h2::Error),
    #[error("rpc error: code = Unknown desc = unexpected HTTP status code {0}")]
    Http(u16),
    #[error("rpc error: code = Internal desc = malformed answer")]
    Malformed,
}

/// Asks for the health of a service; anything but `SERVING` is a failure.
pub(crate) async fn probe(host: &str, port: u16, service: &str, timeout: Duration) -> ProbeOutcome {
    let address = host_port(host, port);
    let deadline = Instant::now() + timeout;
    let seconds = timeout.as_secs_f64();
    let stream = match timeout_at(deadline, connect(host, port)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            return ProbeOutcome::Failure(format!(
                "error: failed to connect service at {address:?}: {error}"
            ));
        }
        Err(_) => {
            return ProbeOutcome::Failure(format!(
                "timeout: failed to connect service {address:?} within {seconds}s: context deadline exceeded"
            ));
        }
    };
    let checked = timeout_at(deadline, check(stream, &address, service)).await;
    let error = match checked {
        Ok(Ok(status)) if status == message::SERVING => {
            return ProbeOutcome::Success("service healthy".to_owned());
        }
        Ok(Ok(status)) => {
            let name = message::status_name(status);
            return ProbeOutcome::Failure(format!("service unhealthy (responded with {name:?})"));
        }
        Ok(Err(error)) => error,
        Err(_) => CheckError::Status { code: DEADLINE_EXCEEDED, message: String::new() },
    };
    ProbeOutcome::Failure(match error {
        CheckError::Status { code: UNIMPLEMENTED, message } => format!(
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {message}"
        ),
        CheckError::Status { code: DEADLINE_EXCEEDED, .. } => {
            format!("timeout: health rpc did not complete within {seconds}s")
        }
        error => format!("error: health rpc probe failed: {error}"),
    })
}

/// The number of the status that the server answers.
async fn check(stream: TcpStream, address: &str, service: &str) -> Result<u64, CheckError> {
    // A server that pushes what nobody asked for breaks the protocol, and fills no memory.
    let mut builder = client::Builder::new();
    builder.max_header_list_size(HEADER_BYTES_MAX).enable_push(false);
    let (sender, connection) = builder.handshake::<_, Bytes>(stream).await?;
    let mut call = pin!(call(sender, address, service));
    tokio::select! {
        biased;
        answer = &mut call => return answer,
        ended = connection => ended?,
    }
    // The connection has ended well: all that came of the answer is there.
    call.await
}

async fn call(sender: client::SendRequest<Bytes>, address: &str, service: &str) -> Result<u64, CheckError> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("http://{address}/grpc.health.v1.Health/Check"))
        .header(CONTENT_TYPE, HeaderValue::from_static("application/grpc"))
        .header(TE, HeaderValue::from_static("trailers"))
        .header(USER_AGENT, HeaderValue::from_static(probe::USER_AGENT))
        .body(())
        .map_err(|_| CheckError::Malformed)?;
    let mut sender = sender.ready().await?;
    let (response, mut body) = sender.send_request(request, false)?;
    body.send_data(message::request(service), true)?;
    let response = response.await?;
    if response.status() != hyper::StatusCode::OK {
        return Err(CheckError::Http(response.status().as_u16()));
    }
    // An answer without a message has its status among the headers.
    if let Some(error) = status(response.headers()) {
        return Err(error);
    }
    let mut body = response.into_body();
    let mut answer = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        if answer.len() + data.len() > ANSWER_BYTES_MAX {
            return Err(CheckError::Malformed);
        }
        answer.extend_from_slice(&data);
        body.flow_control().release_capacity(data.len())?;
    }
    let trailers = poll_fn(|context| body.poll_trailers(context)).await?.unwrap_or_default();
    match status(&trailers) {
        Some(error) => Err(error),
        None => message::status(&answer).ok_or(CheckError::Malformed),
    }
}

/// The error that headers or trailers tell of, if they do.
fn status(headers: &HeaderMap) -> Option<CheckError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let code = text("grpc-status")?.parse().unwrap_or(message::UNKNOWN);
    let message = message::percent_decoded(text("grpc-message").unwrap_or_default());
    (code != 0).then_some(CheckError::Status { code, message })
}
