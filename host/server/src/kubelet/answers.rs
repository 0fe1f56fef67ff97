//! Answers in the form that upstream gives them.

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::Method;
use serde::Serialize;
use witlet_ports::RuntimeError;

/// An answer that ends a request early; in a box, because it is large.
pub(super) type Refused = Box<Response>;

/// Plain words, as go-restful writes them.
pub(super) fn text(code: StatusCode, words: impl Into<String>) -> Response {
    (code, words.into()).into_response()
}

/// The same answer for browsers that would otherwise guess what it is. Upstream has it where Go's own library or a handler says so.
pub(super) fn nosniff(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// The answer to a `HEAD`: the head alone, with the length that the body had. In HTTP/2 a body after it would be a broken stream.
pub(super) fn head(answer: Response) -> Response {
    let (mut parts, body) = answer.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.entry(header::CONTENT_LENGTH).or_insert(length.into());
    }
    Response::from_parts(parts, Body::empty())
}

/// Words of a failure with an end of line, as Go's `http.Error` has them.
pub(super) fn error(code: StatusCode, words: &str) -> Response {
    nosniff(text(code, format!("{words}\n")))
}

pub(super) fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => json_bytes(bytes),
        Err(failed) => error(StatusCode::INTERNAL_SERVER_ERROR, &failed.to_string()),
    }
}

/// Responds with the bytes as `application/json`, unchecked.
pub(super) fn json_bytes(bytes: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], bytes.into()).into_response()
}

pub(super) fn not_found() -> Response {
    error(StatusCode::NOT_FOUND, "404 page not found")
}

/// A path of a web service that has no route for it.
pub(super) fn no_route() -> Response {
    text(StatusCode::NOT_FOUND, "404: Page Not Found")
}

pub(super) fn method_not_allowed(allowed: &[Method]) -> Response {
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "405: Method Not Allowed");
    let names: Vec<&str> = allowed.iter().map(Method::as_str).collect();
    if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
        answer.headers_mut().insert(header::ALLOW, names);
    }
    answer
}

/// A path that has no other form than this one, which the client doesn't take.
pub(super) fn not_acceptable(media_type: &str) -> Response {
    let words = format!("406: Not Acceptable\n\nAvailable representations: {media_type}");
    text(StatusCode::NOT_ACCEPTABLE, words)
}

/// An endpoint that the operator has switched off.
pub(super) fn disabled(words: &str) -> Response {
    error(StatusCode::METHOD_NOT_ALLOWED, words)
}

pub(super) fn too_many_streams() -> Response {
    error(StatusCode::SERVICE_UNAVAILABLE, "too many open streams on this node")
}

pub(super) fn too_many_logs() -> Response {
    error(StatusCode::SERVICE_UNAVAILABLE, "too many open logs on this node")
}

/// A call to the runtime that failed.
pub(super) fn runtime_failed(failed: &RuntimeError) -> Response {
    let code = if failed.is_not_found() { StatusCode::NOT_FOUND } else { StatusCode::INTERNAL_SERVER_ERROR };
    error(code, &failed.to_string())
}
