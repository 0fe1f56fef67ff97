//! Requests as spans (upstream: `otelrestful`). One begins once its client is authenticated and authorized, and ends with the head of
//! the answer; streams and followed logs go on after it.

use std::net::SocketAddr;

use axum::response::Response;
use hyper::{HeaderMap, Request, Version, header};
use witlet_core::trace::SpanStart;
use witlet_core::trace::http::{ServerRequest, server, server_end};
use witlet_core::trace::propagation::Incoming;
use witlet_ports::{Span, Tracer};

use super::access::ServerPort;
use super::route::Route;

/// The span of a request; nothing at the port for health. At the port for reading, which anyone may ask, the client doesn't decide
/// on sampling.
pub(super) fn begin<B>(
    tracer: &Tracer,
    request: &Request<B>,
    route: Option<&Route<'_>>,
    port: &ServerPort,
    from: SocketAddr,
) -> Span {
    let incoming = || Incoming::of(|name| text(request.headers(), name));
    match port {
        ServerPort::Guarded(_) => tracer.server_span(incoming, || start(request, route, true, from)),
        ServerPort::ReadOnly => tracer.public_span(incoming, || start(request, route, false, from)),
        ServerPort::Healthz => Span::none(),
    }
}

fn start<B>(request: &Request<B>, route: Option<&Route<'_>>, is_https: bool, peer: SocketAddr) -> SpanStart {
    let headers = request.headers();
    server(&ServerRequest {
        method: request.method().as_str(),
        path: request.uri().path(),
        route: route.map(Route::pattern),
        is_https,
        port: asked_port(request),
        peer,
        user_agent: text(headers, "user-agent"),
        forwarded_for: text(headers, "x-forwarded-for"),
        version: version(request.version()),
    })
}

/// How it was answered.
pub(super) fn end(span: &mut Span, response: &Response) {
    span.record(|data| {
        let (attribute, status) = server_end(response.status().as_u16());
        data.attributes.push(attribute);
        data.status = status;
    });
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The port in the name that the client asked for.
fn asked_port<B>(request: &Request<B>) -> Option<u16> {
    let of_host = || text(request.headers(), header::HOST.as_str())?.rsplit_once(':')?.1.parse().ok();
    request.uri().port_u16().or_else(of_host)
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2.0",
        _ => "1.1",
    }
}
