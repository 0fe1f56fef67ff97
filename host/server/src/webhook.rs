//! A validating admission webhook: admission handlers asked by an API server before a pod exists, over TLS.
//!
//! It speaks HTTP/1.1, as API servers do with webhooks. Clients show a certificate only where that is required: what it answers is no secret.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper::service::service_fn;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use witlet_core::admission::AdmissionRequest;
use witlet_core::admission::review::{self, ReviewAnswer, ReviewQuestion};
use witlet_core::duration;
use witlet_core::error::one_line;
use witlet_core::node::NodeFacts;
use witlet_core::pod::{PodFullName, SourceName};
use witlet_ports::{Admission, AdmissionResult, Clock};

use crate::kubelet::connection_limit::{ConnectionLimits, ConnectionPermit};
use crate::kubelet::connections::{accept, handshake, serve_http1};
use crate::kubelet::query::query;
use crate::kubelet::{ServerTls, Shown};

#[cfg(test)]
mod tests;

/// Where reviews are sent.
pub const PATH: &str = "/validate";

/// Bytes of the largest object that API servers take.
const OBJECT_BYTES_MAX: usize = 3 << 20;
/// Bytes of the largest body that says its length: the object as it is and as it is to be, and what stands around them.
const BODY_BYTES_MAX: usize = 2 * OBJECT_BYTES_MAX + (64 << 10);
/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Connections at the same time, and of the clients at one address. Beyond that, the one that has been idle for longest gives way.
const CONNECTIONS_MAX: usize = 256;
const CONNECTIONS_OF_PEER_MAX: usize = CONNECTIONS_MAX / 2;
/// Reviews that are read and decided at the same time; further ones wait, each for as long as it has.
const REVIEWS_MAX: usize = 64;
/// Those of them whose bodies have more than [`OBJECT_BYTES_MAX`]: so much memory, and never the turns of the others.
const LARGE_REVIEWS_MAX: usize = 16;
/// How long a body may take to arrive. Where clients send none on all other connections, a review waits for its turn three times this, less
/// than it has by default.
const BODY_WITHIN: Duration = Duration::from_secs(2);
/// How long an API server waits unless it says otherwise, and the longest that it waits.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
const TIMEOUT_MAX: Duration = Duration::from_secs(30);
/// The part of that time within which it has an answer.
const ANSWERED_WITHIN: f64 = 0.9;

/// Whose reviews are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    Any,
    /// Those of clients with a certificate of [`TlsOptions::client_ca`](crate::TlsOptions::client_ca).
    Known,
}

/// Why reviews can't be answered as the configuration wants it; none if they can.
pub type NotReady = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// The webhook.
pub struct AdmissionWebhook {
    admission: Arc<dyn Admission>,
    clock: Arc<dyn Clock>,
    not_ready: NotReady,
    clients: Clients,
    reviews: Semaphore,
    large_reviews: Semaphore,
}

impl AdmissionWebhook {
    /// Answers by these handlers.
    pub fn new(
        admission: Arc<dyn Admission>,
        clock: Arc<dyn Clock>,
        not_ready: NotReady,
        clients: Clients,
    ) -> Arc<Self> {
        let (reviews, large_reviews) = (Semaphore::new(REVIEWS_MAX), Semaphore::new(LARGE_REVIEWS_MAX));
        Arc::new(Self { admission, clock, not_ready, clients, reviews, large_reviews })
    }

    /// Serves until the stop, and then for as long as reviews take that are under way, at most 5 s.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, tls: Arc<ServerTls>, stop: CancellationToken) {
        let limits = ConnectionLimits { total: CONNECTIONS_MAX, of_peer: CONNECTIONS_OF_PEER_MAX };
        self.serve_within(limits, listener, tls, stop).await;
    }

    async fn serve_within(
        self: Arc<Self>,
        limits: ConnectionLimits,
        listener: TcpListener,
        tls: Arc<ServerTls>,
        stop: CancellationToken,
    ) {
        let each = |stream: TcpStream, from: SocketAddr, permit: Arc<ConnectionPermit>, _| {
            let (webhook, tls, stop) = (self.clone(), tls.clone(), stop.clone());
            async move {
                let Some(stream) = handshake(only_http1(&tls.config()), stream, from).await else { return };
                let shown = Shown::new(tls, stream.get_ref().1.peer_certificates());
                if shown.is_known() {
                    permit.keep();
                }
                let service = service_fn(|request| {
                    permit.asked();
                    let (webhook, permit) = (webhook.clone(), permit.clone());
                    let may_ask = webhook.clients == Clients::Any || shown.is_known();
                    async move { Ok::<_, Infallible>(webhook.answer(request, may_ask, || permit.hold()).await) }
                });
                if let Err(error) = serve_http1(stream, service, HEAD_BYTES_MAX, stop).await {
                    tracing::debug!(%from, %error, "Connection closed");
                }
            }
        };
        accept(limits, &listener, &stop, each).await;
    }

    /// Answers one request of a client that may ask for reviews, or not. What `hold` returns is kept from a review's last byte to its answer:
    /// for as long it is the handlers that the client waits for, and not the handlers for the client.
    async fn answer<B, H>(&self, request: Request<B>, may_ask: bool, hold: impl FnOnce() -> H) -> Response
    where
        B: hyper::body::Body<Data = Bytes> + Send,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        match (&method, path.as_str()) {
            (&Method::GET, "/healthz" | "/livez") => "ok".into_response(),
            (&Method::GET, "/readyz") => match (self.not_ready)() {
                None => "ok".into_response(),
                Some(why) => (StatusCode::SERVICE_UNAVAILABLE, why).into_response(),
            },
            (&Method::POST, PATH) if !may_ask => {
                let words = "a client certificate of the authority in --client-ca-file is required";
                (StatusCode::UNAUTHORIZED, words).into_response()
            }
            (&Method::POST, PATH) => {
                let timeout = timeout(&request).mul_f64(ANSWERED_WITHIN);
                match tokio::time::timeout(timeout, self.review(request, hold)).await {
                    Ok(answer) => answer,
                    Err(_) => {
                        tracing::warn!(?timeout, "Review timed out");
                        let words = format!("the review took longer than {timeout:?}");
                        (StatusCode::GATEWAY_TIMEOUT, words).into_response()
                    }
                }
            }
            (_, PATH) => not_allowed("POST"),
            (_, "/healthz" | "/livez" | "/readyz") => not_allowed("GET"),
            _ => (StatusCode::NOT_FOUND, format!("reviews are sent to {PATH}")).into_response(),
        }
    }

    async fn review<B, H>(&self, request: Request<B>, hold: impl FnOnce() -> H) -> Response
    where
        B: hyper::body::Body<Data = Bytes> + Send,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let (parts, body) = request.into_parts();
        let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !content_type.is_some_and(is_json) {
            return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json")
                .into_response();
        }
        // Before the body: it takes space, and any client may send one. The semaphores are never closed.
        let is_large = body.size_hint().exact().is_some_and(|bytes| bytes > OBJECT_BYTES_MAX as u64);
        let _large = if is_large { Some(self.large_reviews.acquire().await) } else { None };
        let _turn = self.reviews.acquire().await;
        let body = match read(body, if is_large { BODY_BYTES_MAX } else { OBJECT_BYTES_MAX }).await {
            Ok(body) => body,
            Err(refusal) => return refusal.into_response(),
        };
        let review = match review::read(&body) {
            Ok(review) => review,
            Err(error) => return (StatusCode::BAD_REQUEST, one_line(&error)).into_response(),
        };
        drop(body);
        let _hold = hold();
        let answer = match review.question {
            ReviewQuestion::None(answer) => answer,
            ReviewQuestion::Pod { operation, pod, old_pod } => {
                let request = AdmissionRequest {
                    operation,
                    now: self.clock.now(),
                    pod,
                    old_pod,
                    image: None,
                    source: SourceName::from("api"),
                    node: Arc::new(NodeFacts::default()),
                    other_pods: Arc::new([]),
                };
                self.decide(request).await
            }
        };
        match answer.to_json(&review.uid) {
            Ok(body) => ([(CONTENT_TYPE, "application/json")], Body::from(body)).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }

    async fn decide(&self, request: AdmissionRequest) -> ReviewAnswer {
        let (pod, operation) = (request.pod.clone(), request.operation);
        let AdmissionResult { decision, verdicts } = self.admission.admit_with_verdicts(request).await;
        let answer = review::answer(operation, decision).with_warnings_of(&verdicts);
        let pod = PodFullName::of(&pod);
        match &answer.denial {
            Some((reason, words)) => tracing::info!(%pod, reason, words, "Denied pod"),
            None => tracing::debug!(%pod, warnings = ?answer.warnings, "Allowed pod"),
        }
        answer
    }
}

/// The body of at most so many bytes; or why it isn't taken, and the code for that.
async fn read<B>(body: B, bytes_max: usize) -> Result<Bytes, (StatusCode, String)>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    match tokio::time::timeout(BODY_WITHIN, Limited::new(body, bytes_max).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let words = format!("the body must have at most {bytes_max} bytes");
            Err((StatusCode::PAYLOAD_TOO_LARGE, words))
        }
        Ok(Err(error)) => Err((StatusCode::BAD_REQUEST, format!("read the body: {error}"))),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, format!("the body must arrive within {BODY_WITHIN:?}"))),
    }
}

/// What a connection is made with: browsers and curl would prefer HTTP/2, which no API server speaks here.
fn only_http1(config: &ServerConfig) -> Arc<ServerConfig> {
    let mut config = config.clone();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Returns how long the API server waits, which it says in the query.
fn timeout<B>(request: &Request<B>) -> Duration {
    let query = query(request.uri());
    let said = query.iter().find(|(name, _)| name == "timeout").and_then(|(_, value)| duration::parse(value));
    said.filter(|timeout| !timeout.is_zero()).map_or(TIMEOUT_DEFAULT, |timeout| timeout.min(TIMEOUT_MAX))
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn not_allowed(method: &'static str) -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, method)], format!("the method must be {method}"))
        .into_response()
}
