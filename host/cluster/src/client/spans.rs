//! Spans of requests to the API server, and their context on the way to it. A request that is tried again has a span for each try.

use http::{HeaderMap, HeaderValue, Request, StatusCode};
use witlet_core::error::one_line;
use witlet_core::trace::http::{ClientRequest, client, client_end, client_failed};
use witlet_core::trace::{SpanStart, SpanStatus};
use witlet_ports::{Span, trace};

/// How a try begins.
pub(super) fn start<B>(request: &Request<B>) -> SpanStart {
    let (uri, host) = (request.uri(), request.uri().host().unwrap_or_default());
    client(&ClientRequest {
        method: request.method().as_str(),
        url: &uri.to_string(),
        host: host.trim_start_matches('[').trim_end_matches(']'),
        port: uri.port_u16(),
        is_https: uri.scheme_str() == Some("https"),
    })
}

/// The headers that pass the context of this task on.
pub(super) fn propagate(headers: &mut HeaderMap) {
    trace::propagate(|name, value| {
        // Foreign parts of it were checked when they came in.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    });
}

/// The answer began.
pub(super) fn answered(span: &mut Span, status: StatusCode) {
    span.record(|data| {
        let (attributes, status) = client_end(status.as_u16());
        data.attributes.extend(attributes);
        data.status = status;
    });
}

/// There was no answer, or no whole one.
pub(super) fn failed(span: &mut Span, error: &dyn std::error::Error) {
    span.record(|data| {
        data.attributes.push(client_failed());
        data.status = SpanStatus::error(&one_line(error));
    });
}
