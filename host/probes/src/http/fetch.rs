//! A GET that follows redirects to the same host.

use std::pin::{Pin, pin};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST, HeaderValue, LOCATION};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};
use witlet_core::probe::Scheme;

use super::redirect::redirect;
use super::{FetchError, REDIRECTS_MAX, Target};
use crate::{connect, tls};

/// Bytes of an answer's status and headers; more is an error.
const HEADER_BYTES_MAX: usize = 256 * 1024;
/// How many headers an answer may have.
const HEADERS_MAX: usize = 1024;

/// What the connection does; it has to be polled while anything is read.
type Connection = Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>;

/// Status and headers of an answer, whose body is still to be read.
pub(crate) struct Answer {
    response: Response<Incoming>,
    connection: Connection,
}

impl Answer {
    /// The status code.
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The beginning of the body, at most so many bytes. The rest is never read.
    pub(crate) async fn body(self, bytes_max: usize) -> Result<Vec<u8>, hyper::Error> {
        let Self { mut response, connection } = self;
        let read = async move {
            let mut body = Vec::new();
            while let Some(frame) = response.body_mut().frame().await {
                if let Ok(data) = frame?.into_data() {
                    let room = bytes_max.saturating_sub(body.len());
                    body.extend(data.iter().take(room));
                    if body.len() == bytes_max {
                        break;
                    }
                }
            }
            Ok(body)
        };
        beside(connection, read).await.0
    }
}

/// Asks, and asks again where a redirect to the same host leads. Ends at the deadline.
pub(crate) async fn fetch(
    mut target: Target,
    headers: &[(String, String)],
    deadline: Instant,
) -> Result<Answer, FetchError> {
    let mut host = headers.iter().find(|(name, _)| name == "Host").map(|(_, value)| value.clone());
    for _ in 0..REDIRECTS_MAX {
        let asked = timeout_at(deadline, ask(&target, host.as_deref(), headers)).await;
        let answer = asked.map_err(|_| FetchError::Timeout)??;
        let location = answer.response.headers().get(LOCATION);
        let Some(location) = location.filter(|_| matches!(answer.status(), 301 | 302 | 303 | 307 | 308))
        else {
            return Ok(answer);
        };
        let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
        let next = redirect(&target, &location).ok_or(FetchError::Location(location))?;
        if next.target.host != target.host {
            return Ok(answer);
        }
        if next.names_host {
            host = None;
        }
        target = next.target;
    }
    Err(FetchError::TooManyRedirects)
}

async fn ask(
    target: &Target,
    host: Option<&str>,
    headers: &[(String, String)],
) -> Result<Answer, FetchError> {
    let request = request(target, host, headers)?;
    let stream = connect::connect(&target.host, target.port).await?;
    match target.scheme {
        Scheme::Http => exchange(stream, request).await,
        Scheme::Https => exchange(tls::handshake(&target.host, stream).await?, request).await,
    }
}

fn request(
    target: &Target,
    host: Option<&str>,
    headers: &[(String, String)],
) -> Result<Request<Empty<Bytes>>, hyper::http::Error> {
    let host = host.map_or_else(|| target.authority(), str::to_owned);
    let mut request = Request::builder().method(Method::GET).uri(&target.path).header(HOST, host);
    for (name, value) in headers.iter().filter(|(name, _)| name != "Host") {
        request = request.header(name, value);
    }
    request.header(CONNECTION, HeaderValue::from_static("close")).body(Empty::new())
}

async fn exchange<S>(stream: S, request: Request<Empty<Bytes>>) -> Result<Answer, FetchError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEADER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .title_case_headers(true)
        .handshake(TokioIo::new(stream))
        .await?;
    let (response, connection) = beside(Box::pin(connection), sender.send_request(request)).await;
    Ok(Answer { response: response?, connection })
}

/// Carries out some work, and meanwhile drives the connection that it needs.
async fn beside<T>(mut connection: Connection, work: impl Future<Output = T>) -> (T, Connection) {
    let mut work = pin!(work);
    let done = tokio::select! {
        biased;
        done = &mut work => Some(done),
        // How the connection ended is told to the work, too.
        _ = &mut connection => None,
    };
    match done {
        Some(done) => (done, connection),
        None => (work.await, Box::pin(std::future::ready(Ok(())))),
    }
}
