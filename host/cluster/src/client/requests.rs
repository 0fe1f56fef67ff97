//! What every request to the API server goes through: rate, credentials, deadline, and another try where the server asks
//! for one.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use http_body::{Body as _, Frame, SizeHint};
use kube::client::Body;
use thiserror::Error;
use tokio::time::{Instant, Sleep};
use tower::Service;
use witlet_core::network;
use witlet_ports::{Span, Tracer};

use super::credentials::{Credentials, CredentialsError};
use super::identity::Identities;
use super::metrics::{Attempt, ClientMetrics};
use super::rate::Rate;
use super::spans;
use super::transport::{Kind, Reply, Transport, TransportError};

#[cfg(test)]
mod tests;

/// How often a request is tried again because the server says when, as client-go has it.
const RETRIES_MAX: u32 = 10;
/// The longest wait that a server may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// How much longer than its own `timeoutSeconds` a watch may live.
const WATCH_MARGIN: Duration = Duration::from_secs(30);
/// How long the beginning of a watch's answer may take.
const WATCH_BEGIN_MAX: Duration = Duration::from_secs(60);

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum RequestError {
    /// There are no credentials to make it with.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// It didn't reach the server, or its answer didn't arrive.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The answer ended before its end.
    #[error("response of the API server: {0}")]
    Answer(#[from] hyper::Error),
    /// No whole answer in time.
    #[error("{method} {path}: no response within {after:?}")]
    Deadline { method: Method, path: String, after: Duration },
    /// The request's own body can't be made.
    #[error("body of the request: {message}")]
    Body { message: String },
}

/// An extension of requests whose senders heed `Retry-After` themselves: the server's answer is given back whatever it asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneTry;

/// How requests of one client are made.
pub(crate) struct Policy {
    /// Shared by all requests but watches; none if there is no limit.
    pub(crate) rate: Option<Rate>,
    /// For one try of anything but a watch: from its beginning to the last byte of the answer.
    pub(crate) deadline: Duration,
    /// Requests wait for a client certificate.
    pub(crate) needs_certificate: bool,
}

/// Makes requests.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(crate) transport: Arc<Transport>,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) identities: Arc<Identities>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) metrics: Arc<ClientMetrics>,
    pub(crate) tracer: Tracer,
}

/// Returns what kind of request this is, by its query, and how long a watch asks to live.
fn kind_of(uri: &Uri) -> (Kind, Option<Duration>) {
    let pairs =
        uri.query().unwrap_or_default().split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let (mut kind, mut timeout) = (Kind::Ordinary, None);
    for (name, value) in pairs {
        match (name, value) {
            ("watch", "true" | "1") => kind = Kind::Watch,
            ("timeoutSeconds", seconds) => timeout = seconds.parse().ok().map(Duration::from_secs),
            _ => {}
        }
    }
    (kind, timeout)
}

/// How long to wait before this answer's request is made again; none if it shall not be. As client-go: for 429 and every
/// 5xx that says when, at most [`RETRIES_MAX`] times.
fn retry_after(status: StatusCode, headers: &HeaderMap, tries_before: u32) -> Option<Duration> {
    let asks = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    if !asks || tries_before >= RETRIES_MAX {
        return None;
    }
    let asked = network::retry_after(headers.get(header::RETRY_AFTER)?.to_str().ok()?)?;
    Some(asked.min(RETRY_AFTER_MAX))
}

impl Service<Request<Body>> for Requests {
    type Response = Response<TimedReply>;
    type Error = RequestError;
    type Future = BoxFuture<'static, Result<Self::Response, RequestError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RequestError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let requests = self.clone();
        Box::pin(async move { requests.send(request).await })
    }
}

impl Requests {
    async fn send(self, request: Request<Body>) -> Result<Response<TimedReply>, RequestError> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await;
        let body = body.map_err(|error| RequestError::Body { message: error.to_string() })?;
        let (kind, timeout) = kind_of(&parts.uri);
        let host = parts.uri.authority().map(ToString::to_string).unwrap_or_default();
        let is_one_try = parts.extensions.get::<OneTry>().is_some();
        let (mut tries, mut refused) = (if is_one_try { RETRIES_MAX } else { 0 }, false);
        loop {
            if let (Kind::Ordinary, Some(rate)) = (kind, &self.policy.rate) {
                let begun = Instant::now();
                rate.wait().await;
                self.metrics.waited(&parts.method, &host, begun.elapsed());
            }
            let mut request = Request::new(Body::from(body.clone()));
            request.method_mut().clone_from(&parts.method);
            request.uri_mut().clone_from(&parts.uri);
            request.headers_mut().clone_from(&parts.headers);
            let begun = Instant::now();
            let tried = self.attempt(request, kind, timeout).await;
            let response = tried.as_ref().ok().map(|(_, response)| response);
            self.metrics.tried(Attempt {
                method: &parts.method,
                host: &host,
                status: response.map(Response::status),
                took: begun.elapsed(),
                request_bytes: body.len() as u64,
                response_bytes: response.and_then(|response| response.body().size_hint().exact()),
            });
            let (used, response) = tried?;
            if response.status() == StatusCode::UNAUTHORIZED && !refused {
                refused = true;
                if self.credentials.refused(used.as_ref()).await {
                    continue;
                }
            }
            match retry_after(response.status(), response.headers(), tries) {
                None => return Ok(response),
                Some(wait) => {
                    tries += 1;
                    self.metrics.retried(&parts.method, &host, response.status());
                    drop(response);
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// One try, and the header that it showed.
    async fn attempt(
        &self,
        mut request: Request<Body>,
        kind: Kind,
        timeout: Option<Duration>,
    ) -> Result<(Option<http::HeaderValue>, Response<TimedReply>), RequestError> {
        let (begin, whole) = match kind {
            Kind::Ordinary => (self.policy.deadline, Some(self.policy.deadline)),
            Kind::Watch => (WATCH_BEGIN_MAX, timeout.map(|timeout| timeout.saturating_add(WATCH_MARGIN))),
        };
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let begun = Instant::now();
        let mut span = self.tracer.span(|| spans::start(&request));
        let sent = span.scope(tokio::time::timeout(begin, async {
            if self.policy.needs_certificate {
                self.identities.some().await;
            }
            let used = self.credentials.header().await?;
            if let Some(value) = &used {
                request.headers_mut().insert(header::AUTHORIZATION, value.clone());
            }
            spans::propagate(request.headers_mut());
            Ok::<_, RequestError>((used, self.transport.send(request, kind).await?))
        }));
        let late = |after| RequestError::Deadline { method: method.clone(), path: path.clone(), after };
        let sent = sent.await.map_err(|_| late(begin)).flatten();
        let (used, response) = sent.inspect_err(|error| spans::failed(&mut span, error))?;
        spans::answered(&mut span, response.status());
        tracing::debug!(%method, path, status = response.status().as_u16(), "Request to the API server");
        // A duration that no clock can hold is no deadline.
        let end = whole.and_then(|whole| Some((begun.checked_add(whole)?, late(whole))));
        Ok((used, response.map(|reply| TimedReply::new(reply, end, span))))
    }
}

/// An answer that must be whole in time.
pub(crate) struct TimedReply {
    reply: Reply,
    end: Option<(Pin<Box<Sleep>>, Option<RequestError>)>,
    /// Lasts as long as the answer.
    span: Span,
}

impl TimedReply {
    fn new(reply: Reply, end: Option<(Instant, RequestError)>, span: Span) -> Self {
        let end = end.map(|(at, error)| (Box::pin(tokio::time::sleep_until(at)), Some(error)));
        Self { reply, end, span }
    }

    /// Returns what the reader gets, which the span knows, too, if it is an error.
    fn noted<T>(&mut self, result: Result<T, RequestError>) -> Result<T, RequestError> {
        result.inspect_err(|error| spans::failed(&mut self.span, error))
    }
}

impl http_body::Body for TimedReply {
    type Data = Bytes;
    type Error = RequestError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.reply).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| self.noted(frame.map_err(Into::into))));
        }
        let Some((sleep, error)) = &mut self.end else { return Poll::Pending };
        match sleep.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            // Anyone who reads on after the error gets the end.
            Poll::Ready(()) => {
                let error = error.take();
                Poll::Ready(error.map(|error| self.noted(Err(error))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.reply.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.reply.size_hint()
    }
}
