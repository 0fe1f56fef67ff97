//! HTTP/1.1 requests: one connection for each, no proxy, no compression, no redirects.

mod body;
mod request;

use std::error::Error;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout, timeout_at};
use witlet_core::network::host_port;

pub use body::{BodyError, ResponseBody};
pub use request::RequestError;

use crate::connect::ConnectError;
use crate::egress::Egress;
use crate::grant::TlsPolicy;
use crate::reach::Reach;
use crate::tls::TlsError;

#[cfg(test)]
mod tests;

/// Bytes of an answer's status and headers; what is larger by more than one read is an error. Go's client takes 10 MiB,
/// servers send less than 8 KiB.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;
/// How many headers an answer may have.
pub const HEADERS_MAX: usize = 1024;

/// What the connection does; it has to be polled while anything is sent or read.
type Connection = Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>;

/// How long each part of an exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendLimits {
    /// Looking up the name, the connection, and TLS, together.
    pub connect: Duration,
    /// From there to the end of the answer's headers, the request's body included.
    pub first_byte: Duration,
    /// The wait for each further part of the body.
    pub between_bytes: Duration,
}

impl SendLimits {
    /// The same for each part.
    pub const fn each(time: Duration) -> Self {
        Self { connect: time, first_byte: time, between_bytes: time }
    }
}

/// No answer. The words are those of Go's client where it has some, which people know from upstream's events.
#[derive(Debug, Error)]
pub enum SendError {
    /// The request can't be sent.
    #[error("invalid request: {0}")]
    Request(#[from] RequestError),
    /// No connection; not granted, among others.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// No headers in time.
    #[error("net/http: timeout awaiting response headers")]
    FirstByteTimeout,
    /// More or larger headers than [`HEADERS_MAX`] and [`HEADER_BYTES_MAX`].
    #[error("malformed HTTP exchange: more than {HEADERS_MAX} headers or {HEADER_BYTES_MAX} bytes of them")]
    HeadersTooLarge,
    /// The server closed the connection before its answer's end.
    #[error("malformed HTTP exchange: {cause}")]
    Closed { cause: hyper::Error },
    /// The request's body broke off.
    #[error("the request's body broke off: {cause}")]
    RequestBody { cause: hyper::Error },
    /// What the server sends isn't HTTP/1.
    #[error("malformed HTTP exchange: {cause}")]
    Protocol {
        /// What is wrong with it.
        cause: hyper::Error,
    },
}

impl SendError {
    fn of(cause: hyper::Error) -> Self {
        if cause.is_parse_too_large() {
            Self::HeadersTooLarge
        } else if cause.is_user() {
            Self::RequestBody { cause }
        } else if cause.is_parse() {
            Self::Protocol { cause }
        } else {
            Self::Closed { cause }
        }
    }
}

impl Egress {
    /// Sends a request to the authority of its URI, whatever its `Host` says, and answers with the status and headers.
    ///
    /// Nothing runs next to it: the connection makes progress while this or the answer's body is polled, and it is closed
    /// when either is dropped. Headers that belong to a connection are the connection's: the request's own are left out.
    ///
    /// # Errors
    /// The call may not reach the authority, or the connection fails or has no response in time.
    pub async fn send<B>(
        &self,
        reach: &Reach,
        tls: TlsPolicy,
        request: Request<B>,
        limits: SendLimits,
    ) -> Result<Response<ResponseBody>, SendError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (to, request) = request::prepare(request)?;
        let deadline = Instant::now() + limits.connect;
        let stream = self.connect(reach, &to.host, to.port, deadline).await?;
        let exchanged = if to.tls {
            let handshake = timeout_at(deadline, self.trust.handshake(tls, &to.host, stream)).await;
            let late = |_| ConnectError::Timeout { to: host_port(&to.host, to.port) };
            timeout(limits.first_byte, exchange(handshake.map_err(late)??, request)).await
        } else {
            timeout(limits.first_byte, exchange(stream, request)).await
        };
        let (response, connection) = exchanged.map_err(|_| SendError::FirstByteTimeout)??;
        Ok(response.map(|incoming| ResponseBody::new(incoming, connection, limits.between_bytes)))
    }
}

async fn exchange<S, B>(
    stream: S,
    request: Request<B>,
) -> Result<(Response<Incoming>, Option<Connection>), SendError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEADER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .title_case_headers(true)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(SendError::of)?;
    let mut connection: Connection = Box::pin(connection);
    let mut answer = pin!(sender.send_request(request));
    let done = tokio::select! {
        biased;
        done = &mut answer => Some(done),
        // How the connection ended is passed to the request, too.
        _ = &mut connection => None,
    };
    match done {
        Some(done) => Ok((done.map_err(SendError::of)?, Some(connection))),
        None => Ok((answer.await.map_err(SendError::of)?, None)),
    }
}
