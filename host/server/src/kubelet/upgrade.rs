//! An upgraded connection to a streaming server of the runtime's: asked for as the sender asked, and then byte by byte.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Uri, Version};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_core::access;
use witlet_core::network::host_port;

use super::headers::protocols;
use super::http_metrics::Answering;
use super::{KubeletServer, answers};

#[cfg(test)]
mod tests;

/// How long the runtime's server may take to accept.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// How long it may take to answer; it only looks up its token.
const ANSWER_DEADLINE: Duration = Duration::from_secs(30);

/// How long the other way may go on after one has ended: no one has anything to say to who is gone.
const LINGER: Duration = Duration::from_secs(10);

/// Bytes that are on their way in one direction.
const COPY_BYTES: usize = 32 * 1024;

/// The port of a URL that names none.
const HTTP_PORT: u16 = 80;

/// What is between this server and the sender alone.
const NOT_PASSED: [HeaderName; 4] =
    [header::AUTHORIZATION, header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING];

impl KubeletServer {
    /// Makes the sender's request at `url`, and if that is upgraded, the sender's too. Any other answer is passed on.
    pub(super) async fn pass_through(
        self: Arc<Self>,
        mut request: Request<impl Send + Sync>,
        url: &str,
        stop: CancellationToken,
    ) -> Response {
        // Upstream answers so whatever is wrong with a request that it passes on.
        if !asks_for_upgrade(request.headers()) || request.version() != Version::HTTP_11 {
            return answers::error(StatusCode::INTERNAL_SERVER_ERROR, "Upgrade request required");
        }
        let Ok(permit) = self.streams.clone().try_acquire_owned() else { return answers::too_many_streams() };
        let answering = request.extensions().get::<Arc<Answering>>().cloned();
        let sender = hyper::upgrade::on(&mut request);
        let mut answer = match self.ask(&request, url).await {
            Ok(answer) => answer,
            Err(why) => {
                let server = origin(url);
                tracing::warn!(error = %why, %server, "Failed to reach the runtime's streaming server");
                let words = format!("error dialing backend: {why}");
                return answers::error(StatusCode::INTERNAL_SERVER_ERROR, &words);
            }
        };
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            drop_hops(answer.headers_mut());
            return answer.map(Body::new);
        }
        let backend = hyper::upgrade::on(&mut answer);
        let idle = self.parts.options.streaming_idle;
        self.tasks.spawn(carry(sender, backend, idle, stop, (permit, answering)));
        let mut switched = Response::new(Body::empty());
        *switched.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *switched.headers_mut() = std::mem::take(answer.headers_mut());
        switched
    }

    async fn ask(
        &self,
        request: &Request<impl Send + Sync>,
        url: &str,
    ) -> io::Result<hyper::Response<Incoming>> {
        let (host, port, path) = place(url)?;
        let connected = tokio::time::timeout(CONNECT_DEADLINE, TcpStream::connect((host.as_str(), port)));
        let stream = connected.await??;
        stream.set_nodelay(true)?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        self.tasks.spawn(async move {
            // How it ended, the request learns.
            let _ = connection.with_upgrades().await;
        });
        let mut head = Request::builder().method(request.method()).uri(path);
        if let Some(headers) = head.headers_mut() {
            *headers = passed_on(request.headers());
        }
        let head = head.header(header::HOST, host_port(&host, port)).body(Empty::<Bytes>::new());
        let head = head.map_err(io::Error::other)?;
        let answer = tokio::time::timeout(ANSWER_DEADLINE, sender.send_request(head)).await?;
        answer.map_err(io::Error::other)
    }
}

/// Whether the sender wants another protocol.
pub fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    let connection = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let mut words = connection.flat_map(|value| value.split(','));
    headers.contains_key(header::UPGRADE) && words.any(|word| word.trim().eq_ignore_ascii_case("upgrade"))
}

/// Scheme, host and port of a streaming URL, for logs and answers: who has the token in its path gets the stream.
pub fn origin(url: &str) -> String {
    let is_of_scheme = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let parts = url.split_once("://").filter(|(scheme, _)| scheme.chars().all(is_of_scheme));
    let Some((scheme, rest)) = parts else { return "a URL without a host".to_owned() };
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}")
}

/// Host, port and path of a streaming URL. One without a host, or with the unspecified one, is on this machine.
///
/// # Errors
///
/// When it is no URL, or not one of plain HTTP. The words don't have the path, because that path gives access to the stream.
pub fn place(url: &str) -> io::Result<(String, u16, Uri)> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    // `http://:1234/…` has no host, which the parser doesn't take.
    let with_host = url.replacen("://:", "://127.0.0.1:", 1);
    let origin = origin(url);
    let url: Uri = with_host.parse().map_err(|error| invalid(format!("{origin} cannot be read: {error}")))?;
    if url.scheme_str() != Some("http") {
        return Err(invalid(format!("streaming server URL must be http, found {origin}")));
    }
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    if host.contains(['[', ']']) {
        return Err(invalid(format!("{origin} has no host")));
    }
    let host = match host {
        "" | "0.0.0.0" | "::" => Ipv4Addr::LOCALHOST.to_string(),
        host => host.to_owned(),
    };
    let names_host_alone = url.authority().map(|authority| authority.as_str()) == url.host();
    let port = match url.port_u16() {
        Some(port) => port,
        None if names_host_alone => HTTP_PORT,
        None => return Err(invalid(format!("{origin} has no port"))),
    };
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let path = path.parse().map_err(|error| invalid(format!("{origin} has a path that is none: {error}")))?;
    Ok((host, port, path))
}

/// The sender's headers for the streaming server; its credentials aren't among them.
pub fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut passed = headers.clone();
    for name in NOT_PASSED {
        passed.remove(name);
    }
    if access::brings_token(protocols(headers)) {
        passed.remove(header::SEC_WEBSOCKET_PROTOCOL);
        let others = access::without_token(protocols(headers)).and_then(|others| others.parse().ok());
        passed.extend(others.map(|others| (header::SEC_WEBSOCKET_PROTOCOL, others)));
    }
    passed
}

/// Leaves out of an answer what was for the connection to the streaming server alone.
fn drop_hops(headers: &mut HeaderMap) {
    for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::UPGRADE] {
        headers.remove(name);
    }
}

/// Copies both ways until both have ended, nothing moves any more, or the server stops.
async fn carry(
    sender: OnUpgrade,
    backend: OnUpgrade,
    idle: Duration,
    stop: CancellationToken,
    _guards: (OwnedSemaphorePermit, Option<Arc<Answering>>),
) {
    let upgraded = tokio::select! {
        biased;
        () = stop.cancelled() => return,
        upgraded = async { tokio::try_join!(sender, backend) } => upgraded,
    };
    let (sender, backend) = match upgraded {
        Ok((sender, backend)) => (TokioIo::new(sender), TokioIo::new(backend)),
        Err(error) => {
            tracing::debug!(%error, "Stream was closed before it was established");
            return;
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = both_ways(sender, backend, idle) => {}
    }
}

/// Copies both ways. An end is passed on to the other side, which then has ten seconds to say what it still has to. So has a side
/// that takes nothing any more: a streaming server that has sent all closes while its client may still be sending.
pub async fn both_ways(
    left: impl AsyncRead + AsyncWrite + Unpin,
    right: impl AsyncRead + AsyncWrite + Unpin,
    idle: Duration,
) {
    let (mut left_read, mut left_write) = tokio::io::split(left);
    let (mut right_read, mut right_write) = tokio::io::split(right);
    let (moved, movement) = watch::channel(Instant::now());
    let there = copy(&mut left_read, &mut right_write, &moved);
    let back = copy(&mut right_read, &mut left_write, &moved);
    tokio::pin!(there, back);
    let mut silence = std::pin::pin!(silent(movement, idle));
    // How a way ended both sides see; there is no one else to tell.
    let _ = tokio::select! {
        _ = &mut there => tokio::time::timeout(LINGER, back).await,
        _ = &mut back => tokio::time::timeout(LINGER, there).await,
        () = &mut silence => return,
    };
}

/// Copies until the end, however that comes, and passes it on. An error is that of the side that takes nothing any more.
async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    moved: &watch::Sender<Instant>,
) -> io::Result<()> {
    let mut bytes = vec![0; COPY_BYTES];
    loop {
        let read = from.read(&mut bytes).await.unwrap_or(0);
        if read == 0 {
            return to.shutdown().await;
        }
        moved.send_replace(Instant::now());
        to.write_all(&bytes[..read]).await?;
        to.flush().await?;
    }
}

/// Waits until nothing has moved for so long.
async fn silent(movement: watch::Receiver<Instant>, idle: Duration) {
    loop {
        let until = *movement.borrow() + idle;
        if Instant::now() >= until {
            return;
        }
        tokio::time::sleep_until(until).await;
    }
}
