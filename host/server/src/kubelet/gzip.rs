//! Metrics and usage, compressed for clients that accept it: a node's figures are long and repeat themselves.

use std::io::{self, Write as _};

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http_body_util::BodyExt as _;
use witlet_core::stats::exposition::EXPOSITION_BYTES_MAX;

use super::answers;
use shared::SharedBodies;
use work::BoundedWork;

mod shared;
#[cfg(test)]
mod tests;
mod work;

pub(super) use shared::{Measured, Shown};

/// Larger bodies are sent as they are.
const BODY_BYTES_MAX: u64 = EXPOSITION_BYTES_MAX as u64;
/// More codings than this aren't read.
const CODINGS_MAX: usize = 32;

/// Makes and compresses bodies, a bounded number at the same time, on threads that have the time for it.
#[derive(Clone, Default)]
pub(super) struct Gzip {
    work: BoundedWork,
    bodies: SharedBodies,
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
        let plain = bytes.clone();
        let compressed = self.work.run(move || gzip(&plain)).await.flatten();
        let Ok(compressed) = compressed else { return Response::from_parts(parts, Body::from(bytes)) };
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Response::from_parts(parts, Body::from(compressed))
    }

    /// A body that is made while it is sent. A client that reads slowly holds up no other one: between two pieces nothing is held for it.
    /// Each piece takes some microseconds to write: less than to have another thread do it.
    pub(super) fn streamed(&self, plain: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Body {
        let work = self.work.clone();
        Body::from_stream(stream::unfold(plain, move |mut plain| {
            let work = work.clone();
            async move {
                let _turn = work.turn().await;
                plain.next().map(|piece| (Ok::<_, io::Error>(piece), plain))
            }
        }))
    }

    /// The same compressed, for one more client of what was `measured`: those that ask for the same within a second share it.
    pub(super) fn streamed_as_gzip<P>(
        &self,
        shown: Shown,
        measured: &Measured,
        plain: impl FnOnce() -> P + Send + 'static,
    ) -> Body
    where
        P: Iterator<Item = Vec<u8>> + Send + 'static,
    {
        self.bodies
            .body(&self.work, shown, measured, || Box::new(pieces(std::iter::once_with(plain).flatten())))
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

/// The pieces compressed, the end among them. Writing to memory doesn't fail.
fn pieces(plain: impl Iterator<Item = Vec<u8>>) -> impl Iterator<Item = Vec<u8>> {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut plain = plain.fuse();
    std::iter::from_fn(move || {
        let Some(piece) = plain.next() else { return encoder.take()?.finish().ok() };
        let open = encoder.as_mut()?;
        open.write_all(&piece).ok()?;
        Some(std::mem::take(open.get_mut()))
    })
}

/// Fast rather than small: figures shrink to a tenth at once.
fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
