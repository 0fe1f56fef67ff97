//! What an API server makes of a client's WebSocket for a node that takes SPDY only: `v5.channel.k8s.io` becomes SPDY with the streams of
//! a process, and a tunnel (`SPDY/3.1+…`) the bytes that are in it. All other protocols pass unchanged.

#[cfg(test)]
mod tests;
mod websocket;

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

use crate::error::ApiError;
use crate::server::Body;
use crate::spdy::{self, Frame};
use websocket::Message;

/// The protocol of WebSockets whose streams can be closed one by one.
const STREAMS: &str = "v5.channel.k8s.io";
/// What protocols of tunnels begin with.
const TUNNEL: &str = "SPDY/3.1+";
/// Channels of [`STREAMS`].
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const RESIZE: u8 = 4;
const CLOSE: u8 = 255;
/// Protocols of streams that a node is offered, the best first.
const OFFERED: [&str; 5] =
    ["v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io"];
/// How much of a node's refusal is passed on.
const REFUSAL_BYTES_MAX: usize = 50_000;
/// Bytes that are on their way in one direction of a tunnel.
const COPY_BYTES: usize = 32 * 1024;

const VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");
const PROTOCOL: HeaderName = HeaderName::from_static("sec-websocket-protocol");
const KEY: HeaderName = HeaderName::from_static("sec-websocket-key");
const ACCEPT: HeaderName = HeaderName::from_static("sec-websocket-accept");

/// What is to be made of a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Streams of a process.
    Streams,
    /// SPDY with this protocol, in a tunnel.
    Tunnel(String),
}

impl Wish {
    /// What a request for this subresource wants to be made of it; none if it is passed on as it is.
    pub(crate) fn of(subresource: &str, headers: &HeaderMap) -> Option<Self> {
        let upgrade = headers.get(UPGRADE).and_then(|value| value.to_str().ok())?;
        if !upgrade.eq_ignore_ascii_case("websocket") {
            return None;
        }
        let offered = headers.get_all(PROTOCOL).iter().filter_map(|value| value.to_str().ok());
        let mut offered = offered.flat_map(|value| value.split(',').map(str::trim));
        match subresource {
            "exec" | "attach" => offered.any(|protocol| protocol == STREAMS).then_some(Self::Streams),
            "portforward" => offered
                .find_map(|protocol| protocol.strip_prefix(TUNNEL))
                .map(|inner| Self::Tunnel(inner.to_owned())),
            _ => None,
        }
    }

    /// What the node is asked with.
    pub(crate) fn for_node(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("SPDY/3.1"));
        match self {
            Self::Streams => {
                for protocol in OFFERED {
                    headers.append(VERSION, HeaderValue::from_static(protocol));
                }
            }
            Self::Tunnel(inner) => headers.extend(inner.parse().ok().map(|inner| (VERSION, inner))),
        }
        headers
    }

    /// The answer that makes the client's connection a WebSocket; none without a key.
    pub(crate) fn accepted(&self, asked: &HeaderMap) -> Option<Response<Body>> {
        let protocol = match self {
            Self::Streams => STREAMS.to_owned(),
            Self::Tunnel(inner) => format!("{TUNNEL}{inner}"),
        };
        let mut response = Response::new(crate::server::full(Vec::new()));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(ACCEPT, websocket::accept(asked.get(KEY)?.as_bytes()).parse().ok()?);
        headers.insert(PROTOCOL, protocol.parse().ok()?);
        Some(response)
    }
}

/// Which streams a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    stdin: bool,
    stdout: bool,
    stderr: bool,
    tty: bool,
}

impl StreamOptions {
    /// As the query of the API has it. A terminal has one way out.
    pub(crate) fn of(query: &[(String, String)]) -> Self {
        let is =
            |name: &str| query.iter().any(|(key, value)| key == name && matches!(&**value, "true" | "1"));
        let tty = is("tty");
        Self { stdin: is("stdin"), stdout: is("stdout"), stderr: is("stderr") && !tty, tty }
    }

    /// The streams, in the order in which they are opened, with their channels.
    fn streams(self) -> Vec<(&'static str, u8)> {
        let all = [
            ("error", ERROR, true),
            ("stdin", STDIN, self.stdin),
            ("stdout", STDOUT, self.stdout),
            ("stderr", STDERR, self.stderr),
            ("resize", RESIZE, self.tty),
        ];
        all.into_iter()
            .filter(|(_, _, is_desired)| *is_desired)
            .map(|(name, channel, _)| (name, channel))
            .collect()
    }
}

/// A node's stream: its number, its channel, and whether the node has ended it.
struct Stream {
    id: u32,
    channel: u8,
    has_ended: bool,
}

/// Carries a process's streams until the node has ended them, or the client has gone. What the node refuses is reported as the
/// process's end, because the client's connection was upgraded before the node was asked.
pub(crate) async fn streams(
    client: OnUpgrade,
    node: Result<Response<Incoming>, ApiError>,
    expected: StreamOptions,
) -> io::Result<()> {
    let client = TokioIo::new(client.await.map_err(io::Error::other)?);
    let (from_client, to_client) = io::split(client);
    let to_client = Mutex::new(to_client);
    let reported = match upgraded(node).await {
        Ok(node) => carry(from_client, &to_client, TokioIo::new(node), expected).await?,
        Err(status) => Some(status.to_string().into_bytes()),
    };
    let mut to_client = to_client.into_inner();
    if let Some(reported) = reported {
        websocket::write(&mut to_client, &[&[ERROR], &*reported].concat()).await?;
        websocket::close(&mut to_client).await?;
    }
    to_client.shutdown().await
}

/// The node's connection, or the Status that says why there is none.
async fn upgraded(node: Result<Response<Incoming>, ApiError>) -> Result<hyper::upgrade::Upgraded, Value> {
    let node = node.map_err(|error| error.status())?;
    if node.status() == StatusCode::SWITCHING_PROTOCOLS {
        return hyper::upgrade::on(node).await.map_err(|cause| failed(&cause.to_string()));
    }
    let said = Limited::new(node.into_body(), REFUSAL_BYTES_MAX).collect().await;
    let said = said.map_err(|cause| failed(&cause.to_string()))?.to_bytes();
    let status: Option<Value> = serde_json::from_slice(&said).ok();
    let status = status.filter(|status| status["kind"] == "Status");
    let words = String::from_utf8_lossy(&said);
    Err(status.unwrap_or_else(|| failed(&format!("unable to upgrade connection: {}", words.trim()))))
}

/// A Status for what went wrong between the servers.
fn failed(why: &str) -> Value {
    let mut error = ApiError::new(500, "InternalError", format!("Internal error occurred: {why}"));
    error.details = json!({ "causes": [{ "message": why }] });
    error.status()
}

/// Carries streams both ways; what the node reported of the process's end, none if the client went first.
async fn carry(
    from_client: impl AsyncRead + Unpin,
    to_client: &Mutex<impl AsyncWrite + Unpin>,
    node: impl AsyncRead + AsyncWrite,
    expected: StreamOptions,
) -> io::Result<Option<Vec<u8>>> {
    let (mut from_node, mut to_node) = io::split(node);
    let mut streams = Vec::new();
    for (number, (name, channel)) in (0_u32..).zip(expected.streams()) {
        let id = number * 2 + 1;
        spdy::open(&mut to_node, id, &[("streamtype", name)]).await?;
        streams.push(Stream { id, channel, has_ended: false });
    }
    let ids: Vec<(u8, u32)> = streams.iter().map(|stream| (stream.channel, stream.id)).collect();
    let to_node = Mutex::new(to_node);
    tokio::select! {
        reported = back(&mut from_node, &to_node, to_client, streams) => {
            Ok(Some(reported.unwrap_or_else(|cause| failed(&cause.to_string()).to_string().into_bytes())))
        }
        gone = there(from_client, to_client, &to_node, &ids) => gone.map(|()| None),
    }
}

/// What the client sends, to the node, until the client goes.
async fn there(
    mut from_client: impl AsyncRead + Unpin,
    to_client: &Mutex<impl AsyncWrite + Unpin>,
    to_node: &Mutex<impl AsyncWrite + Unpin>,
    ids: &[(u8, u32)],
) -> io::Result<()> {
    let id = |channel: u8| ids.iter().find(|(known, _)| *known == channel).map(|(_, id)| *id);
    loop {
        match websocket::read(&mut from_client).await? {
            Message::Closed => return Ok(()),
            Message::Ping(bytes) => websocket::pong(&mut *to_client.lock().await, &bytes).await?,
            Message::Binary(bytes) => match bytes.split_first() {
                Some((&CLOSE, [channel])) => {
                    if let Some(id) = id(*channel) {
                        // A node that takes nothing any more may still have something to say, and ends the streams then.
                        let _ = spdy::end(&mut *to_node.lock().await, id).await;
                    }
                }
                Some((channel @ (&STDIN | &RESIZE), bytes)) if !bytes.is_empty() => {
                    if let Some(id) = id(*channel) {
                        let _ = spdy::data(&mut *to_node.lock().await, id, bytes).await;
                    }
                }
                _ => {}
            },
        }
    }
}

/// What the node sends, to the client, until all its streams have ended; what it reported of the process's end.
async fn back(
    from_node: &mut (impl AsyncRead + Unpin),
    to_node: &Mutex<impl AsyncWrite + Unpin>,
    to_client: &Mutex<impl AsyncWrite + Unpin>,
    mut streams: Vec<Stream>,
) -> io::Result<Vec<u8>> {
    let mut reported = Vec::new();
    loop {
        let is_over = |stream: &Stream| stream.has_ended || matches!(stream.channel, STDIN | RESIZE);
        if streams.iter().all(is_over) {
            return Ok(reported);
        }
        match spdy::read(from_node).await? {
            Frame::Data { id, bytes, ends } => {
                let Some(stream) = streams.iter_mut().find(|stream| stream.id == id) else { continue };
                stream.has_ended |= ends;
                match stream.channel {
                    ERROR => reported.extend(bytes),
                    channel if !bytes.is_empty() => {
                        websocket::write(&mut *to_client.lock().await, &[&[channel], &*bytes].concat())
                            .await?;
                    }
                    _ => {}
                }
            }
            Frame::Ended(id) => {
                for stream in streams.iter_mut().filter(|stream| stream.id == id) {
                    stream.has_ended = true;
                }
            }
            Frame::Ping(payload) => spdy::pong(&mut *to_node.lock().await, &payload).await?,
            Frame::Accepted(_) | Frame::Other => {}
        }
    }
}

/// Carries the bytes of a tunnel until one side has ended.
pub(crate) async fn tunnel(client: OnUpgrade, node: Response<Incoming>) -> io::Result<()> {
    let client = TokioIo::new(client.await.map_err(io::Error::other)?);
    let node = TokioIo::new(hyper::upgrade::on(node).await.map_err(io::Error::other)?);
    let ((mut from_client, to_client), (mut from_node, mut to_node)) = (io::split(client), io::split(node));
    let to_client = Mutex::new(to_client);
    let there = async {
        loop {
            match websocket::read(&mut from_client).await? {
                Message::Closed => return to_node.shutdown().await,
                Message::Ping(bytes) => websocket::pong(&mut *to_client.lock().await, &bytes).await?,
                Message::Binary(bytes) => to_node.write_all(&bytes).await?,
            }
        }
    };
    let back = async {
        let mut bytes = vec![0; COPY_BYTES];
        loop {
            let read = from_node.read(&mut bytes).await?;
            let mut to_client = to_client.lock().await;
            if read == 0 {
                return websocket::close(&mut *to_client).await;
            }
            websocket::write(&mut *to_client, &bytes[..read]).await?;
        }
    };
    tokio::select! {
        ended = there => ended,
        ended = back => ended,
    }
}
