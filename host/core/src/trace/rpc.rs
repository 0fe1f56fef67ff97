//! Spans of calls by gRPC (upstream: `otelgrpc`, without its events for each message).

use std::borrow::Cow;

use super::span::{Attribute, SpanKind, SpanStart, SpanStatus};

/// The span of a call to another process. `method` is service and method, `server` the address.
pub fn client(method: String, server: impl Into<String>) -> SpanStart {
    let attributes = vec![
        Attribute::text("rpc.method", &*method),
        Attribute::text("rpc.system.name", "grpc"),
        Attribute::text("server.address", server),
    ];
    SpanStart { name: Cow::Owned(method), kind: SpanKind::Client, attributes }
}

/// Returns what the end of a call says of its span. `code` is gRPC's as Go names it, `error` the message of one that failed.
pub fn client_end(code: &str, error: Option<&str>) -> (Attribute, SpanStatus) {
    let status = error.map_or(SpanStatus::Unset, SpanStatus::error);
    (Attribute::text("rpc.response.status_code", code), status)
}
