//! Metrics and usage, compressed for clients that accept it: a node's figures are long and repeat themselves.

use std::io::{self, Write as _};
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http_body_util::BodyExt as _;
use tokio::sync::Semaphore;
use witlet_core::stats::exposition::EXPOSITION_BYTES_MAX;

use super::answers;

#[cfg(test)]
mod tests;

/// Larger bodies are sent as they are.
const BODY_BYTES_MAX: u64 = EXPOSITION_BYTES_MAX as u64;
/// Bodies that are made or compressed at the same time, so that many clients at once don't take the machine's processors.
const AT_ONCE_MAX: usize = 2;
/// More codings than this aren't read.
const CODINGS_MAX: usize = 32;
/// Compressed bytes that are made at a time; a piece may be larger.
const PIECE_BYTES: usize = 64 * 1024;

/// Makes and compresses bodies, a bounded number at the same time, on threads that have the time for it.
#[derive(Clone)]
pub(super) struct Gzip {
    permits: Arc<Semaphore>,
}

impl Default for Gzip {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(AT_ONCE_MAX)) }
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
        let plain = bytes.clone();
        let compressed = self.run(move || gzip(&plain)).await.flatten();
        let Ok(compressed) = compressed else { return Response::from_parts(parts, Body::from(bytes)) };
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        Response::from_parts(parts, Body::from(compressed))
    }

    /// A body that is made while it is sent, compressed or not. A client that reads slowly holds up no other one: between two pieces
    /// nothing is held for it.
    pub(super) fn streamed(
        &self,
        plain: impl Iterator<Item = Vec<u8>> + Send + 'static,
        is_gzip: bool,
    ) -> Body {
        if is_gzip { self.streamed_as_gzip(plain) } else { self.streamed_as_it_is(plain) }
    }

    /// Each piece takes some microseconds to write: less than to have another thread do it.
    fn streamed_as_it_is(&self, plain: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Body {
        let permits = self.permits.clone();
        Body::from_stream(stream::unfold(plain, move |mut plain| {
            let permits = permits.clone();
            async move {
                let _permit = permits.acquire().await;
                plain.next().map(|piece| (Ok::<_, io::Error>(piece), plain))
            }
        }))
    }

    fn streamed_as_gzip(&self, plain: impl Iterator<Item = Vec<u8>> + Send + 'static) -> Body {
        let pieces: Pieces = Box::new(pieces(plain));
        let gzip = self.clone();
        Body::from_stream(stream::unfold(Some(pieces), move |pieces| {
            let gzip = gzip.clone();
            async move {
                let mut pieces = pieces?;
                match gzip.run(move || (gathered(&mut pieces), pieces)).await {
                    Ok((piece, pieces)) => Some((piece?, Some(pieces))),
                    Err(error) => Some((Err(error), None)),
                }
            }
        }))
    }

    /// Does this on a thread that may take its time. Its permit is given back when it has ended, also if the caller is gone by then.
    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let permit = self.permits.clone().acquire_owned().await.map_err(io::Error::other)?;
        let work = move || {
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
    }
}

/// A body that is compressed while it is sent.
type Pieces = Box<dyn Iterator<Item = io::Result<Vec<u8>>> + Send>;

/// The next pieces, until they are [`PIECE_BYTES`]; none at the end.
fn gathered(pieces: &mut Pieces) -> Option<io::Result<Vec<u8>>> {
    let mut bytes = Vec::new();
    while bytes.len() < PIECE_BYTES {
        match pieces.next() {
            Some(Ok(piece)) if bytes.is_empty() => bytes = piece,
            Some(Ok(piece)) => bytes.extend(piece),
            Some(Err(error)) => return Some(Err(error)),
            None => break,
        }
    }
    (!bytes.is_empty()).then_some(Ok(bytes))
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

/// The pieces compressed, the end among them.
fn pieces(plain: impl Iterator<Item = Vec<u8>>) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    let mut encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut plain = plain.fuse();
    std::iter::from_fn(move || {
        let Some(piece) = plain.next() else { return encoder.take().map(GzEncoder::finish) };
        let open = encoder.as_mut()?;
        let written = open.write_all(&piece);
        Some(written.map(|()| std::mem::take(open.get_mut())))
    })
}

/// Fast rather than small: figures shrink to a tenth at once.
fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
