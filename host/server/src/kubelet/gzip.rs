//! Metrics and usage, compressed for clients that accept it: a node's figures are long and repeat themselves.

use std::io::{self, Write as _};

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body_util::BodyExt as _;
use tokio::sync::Semaphore;
use witlet_core::stats::exposition::EXPOSITION_BYTES_MAX;

use super::answers;

#[cfg(test)]
mod tests;

/// Larger bodies are sent as they are.
const BODY_BYTES_MAX: u64 = EXPOSITION_BYTES_MAX as u64;
/// Bodies that are compressed at the same time, so that many clients at once don't take the machine's processors.
const AT_ONCE_MAX: usize = 2;
/// More codings than this aren't read.
const CODINGS_MAX: usize = 32;

/// Compresses bodies, a bounded number at the same time.
pub(super) struct Gzip {
    permits: Semaphore,
}

impl Default for Gzip {
    fn default() -> Self {
        Self { permits: Semaphore::new(AT_ONCE_MAX) }
    }
}

impl Gzip {
    /// The response with its body compressed, if it is a success whose size is known and bounded.
    pub(super) async fn compressed(&self, response: Response) -> Response {
        let is_bounded = response.body().size_hint().exact().is_some_and(|size| size <= BODY_BYTES_MAX);
        if response.status() != StatusCode::OK || !is_bounded {
            return response;
        }
        let (mut parts, body) = response.into_parts();
        let bytes = match body.collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(failed) => return answers::error(StatusCode::INTERNAL_SERVER_ERROR, &failed.to_string()),
        };
        let permit = self.permits.acquire().await;
        let plain = bytes.clone();
        let compressed = tokio::task::spawn_blocking(move || gzip(&plain)).await;
        drop(permit);
        let Ok(Ok(compressed)) = compressed else { return Response::from_parts(parts, Body::from(bytes)) };
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Response::from_parts(parts, Body::from(compressed))
    }
}

/// Whether this path's body is compressed where it is accepted.
pub(super) fn is_for(path: &str) -> bool {
    path == "/stats/summary" || path == "/metrics" || path.starts_with("/metrics/")
}

/// Whether a client with these headers accepts it (RFC 9110, section 12.5.3).
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let codings = values.flat_map(|value| value.split(',')).take(CODINGS_MAX).filter_map(coding);
    let (mut named, mut any) = (None, None);
    for (name, is_accepted) in codings {
        match name.as_str() {
            "gzip" | "x-gzip" => named = Some(is_accepted),
            "*" => any = Some(is_accepted),
            _ => {}
        }
    }
    named.or(any).unwrap_or(false)
}

/// A coding's name, and whether it is accepted.
fn coding(text: &str) -> Option<(String, bool)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next()?.to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    let is_accepted = quality.is_none_or(|quality| quality.parse::<f32>().is_ok_and(|quality| quality > 0.0));
    Some((name, is_accepted))
}

/// The same of a body that is made while it is sent: each piece goes out as soon as it is there.
pub(super) fn pieces(plain: impl Iterator<Item = String>) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut plain = plain.fuse();
    std::iter::from_fn(move || {
        let Some(piece) = plain.next() else { return encoder.take().map(GzEncoder::finish) };
        let open = encoder.as_mut()?;
        let written = open.write_all(piece.as_bytes()).and_then(|()| open.flush());
        Some(written.map(|()| std::mem::take(open.get_mut())))
    })
}

/// Fast rather than small: figures shrink to a tenth at once.
fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
