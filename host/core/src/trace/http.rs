//! Spans of HTTP: requests that the node's endpoints answer, and those to the API server.

use std::borrow::Cow;
use std::net::SocketAddr;

use super::span::{Attribute, SpanKind, SpanStart, SpanStatus};

#[cfg(test)]
mod tests;

/// What upstream calls the server of the node's endpoints.
const SERVER: &str = "kubelet";

/// A request that came in.
#[derive(Clone, Copy, Debug)]
pub struct ServerRequest<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    pub path: &'a str,
    /// What the path leads to, with names in place of what differs; none if it leads nowhere.
    pub route: Option<&'static str>,
    /// Whether it came over TLS.
    pub is_https: bool,
    /// The port that the client asked for, if it said one.
    pub port: Option<u16>,
    pub peer: SocketAddr,
    /// What the client says of itself.
    pub user_agent: Option<&'a str>,
    /// For whom a proxy says that it asks (`X-Forwarded-For`).
    pub forwarded_for: Option<&'a str>,
    /// Of HTTP, such as `1.1`.
    pub version: &'static str,
}

/// The span of a request that is answered (upstream: `otelrestful`, which has no name for what it serves without a route).
pub fn server(request: &ServerRequest<'_>) -> SpanStart {
    let (method, original) = method(request.method);
    let scheme = if request.is_https { "https" } else { "http" };
    let port = own_port(request.is_https, request.port).map(|port| Attribute::int("server.port", port));
    let peer = request.peer.ip().to_string();
    let forwarded = request.forwarded_for.and_then(|list| list.split(',').next()).filter(|ip| !ip.is_empty());
    let client = forwarded.map_or_else(|| peer.clone(), str::to_owned);
    let attributes = [
        Some(Attribute::text("server.address", SERVER)),
        Some(method),
        Some(Attribute::text("url.scheme", scheme)),
        port,
        original,
        Some(Attribute::text("network.peer.address", peer)),
        Some(Attribute::int("network.peer.port", request.peer.port())),
        request
            .user_agent
            .filter(|agent| !agent.is_empty())
            .map(|agent| Attribute::text("user_agent.original", agent)),
        Some(Attribute::text("client.address", client)),
        Some(Attribute::text("url.path", request.path)),
        Some(Attribute::text("network.protocol.version", request.version)),
        request.route.map(|route| Attribute::text("http.route", route)),
    ];
    SpanStart {
        name: Cow::Borrowed(request.route.unwrap_or_default()),
        kind: SpanKind::Server,
        attributes: attributes.into_iter().flatten().collect(),
    }
}

/// Returns what an answer says of the server's span. What the client did wrong is no error of the server's.
pub fn server_end(code: u16) -> (Attribute, SpanStatus) {
    (status_code(code), status(code, 500))
}

/// A request to another server.
#[derive(Clone, Copy, Debug)]
pub struct ClientRequest<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    pub url: &'a str,
    /// Host of the URL, without brackets.
    pub host: &'a str,
    /// Port of the URL, if it has one.
    pub port: Option<u16>,
    /// Whether it goes over TLS.
    pub is_https: bool,
}

/// The span of a request to another server (upstream: `otelhttp`).
pub fn client(request: &ClientRequest<'_>) -> SpanStart {
    let (standard, original) = method(request.method);
    let port = own_port(request.is_https, request.port).map(|port| Attribute::int("server.port", port));
    let attributes = [
        Some(standard),
        original,
        Some(Attribute::text("url.full", request.url)),
        Some(Attribute::text("server.address", request.host)),
        port,
    ];
    SpanStart {
        name: Cow::Owned(format!("HTTP {}", request.method)),
        kind: SpanKind::Client,
        attributes: attributes.into_iter().flatten().collect(),
    }
}

/// Returns what an answer says of the client's span.
pub fn client_end(code: u16) -> (Vec<Attribute>, SpanStatus) {
    let is_error = !(100..400).contains(&code);
    let error = is_error.then(|| Attribute::text("error.type", code.to_string()));
    (std::iter::once(status_code(code)).chain(error).collect(), status(code, 400))
}

/// Returns what a request without an answer says of the client's span.
pub fn client_failed() -> Attribute {
    // OpenTelemetry's word for what has no name of a bounded number.
    Attribute::text("error.type", "_OTHER")
}

fn status_code(code: u16) -> Attribute {
    Attribute::int("http.response.status_code", code)
}

fn status(code: u16, errors_from: u16) -> SpanStatus {
    match code {
        0..100 | 600.. => SpanStatus::Error(format!("Invalid HTTP status code {code}")),
        _ if code >= errors_from => SpanStatus::Error(String::new()),
        _ => SpanStatus::Unset,
    }
}

/// The port, unless the scheme says it already.
fn own_port(is_https: bool, port: Option<u16>) -> Option<u16> {
    let usual = if is_https { 443 } else { 80 };
    port.filter(|port| *port != 0 && *port != usual)
}

/// The method, and how the client wrote it if that is another way. Unknown ones count as `GET`, as upstream has it.
fn method(given: &str) -> (Attribute, Option<Attribute>) {
    const KNOWN: &[&str] = &["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
    let known = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(given)).copied().unwrap_or("GET");
    let original = (known != given).then(|| Attribute::text("http.request.method_original", given));
    (Attribute::text("http.request.method", known), original)
}
