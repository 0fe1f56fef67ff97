//! The body of an answer to a log query: outputs one after the other, for a bounded time and up to a bounded size.

use std::io::{self, Write};
use std::time::Duration;

use axum::body::Body;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use tokio::io::AsyncReadExt;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use witlet_ports::JournalOutput;

#[cfg(test)]
mod tests;

/// How long a query may take, as upstream has it.
pub(super) const QUERY_DEADLINE: Duration = Duration::from_secs(30);

/// Bytes that are shown of one query, before they are packed.
const SHOWN_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// A query that is being answered.
pub(super) struct ShownQuery {
    pieces: mpsc::Receiver<io::Result<Vec<u8>>>,
    /// Packs what is shown, until its end was taken.
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl ShownQuery {
    /// Begins to read, in a task of its own: at the deadline, at the stop, and when this is dropped, what runs for the query ends and the
    /// permit is given back, also while the client takes nothing.
    pub(super) fn begin(
        outputs: Vec<JournalOutput>,
        deadline: Instant,
        stop: CancellationToken,
        is_gzip: bool,
        permit: OwnedSemaphorePermit,
        tasks: &TaskTracker,
    ) -> Self {
        let (to, pieces) = mpsc::channel(1);
        tasks.spawn(async move {
            let _permit = permit;
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = tokio::time::sleep_until(deadline) => {}
                () = to.closed() => {}
                () = read(outputs, &to) => {}
            }
        });
        Self { pieces, gzip: is_gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast())) }
    }

    pub(super) fn into_body(self) -> Body {
        Body::from_stream(stream::unfold(self, |mut shown| async move {
            let piece = shown.next().await?;
            Some((piece, shown))
        }))
    }

    /// What comes next, never empty; none at the end.
    async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        loop {
            let bytes = match self.pieces.recv().await.transpose() {
                Ok(bytes) => bytes,
                Err(error) => return Some(Err(error)),
            };
            let Some(gzip) = &mut self.gzip else { return bytes.map(Ok) };
            let Some(bytes) = bytes else { return self.gzip.take().map(GzEncoder::finish) };
            if let Err(error) = gzip.write_all(&bytes) {
                return Some(Err(error));
            }
            let packed = std::mem::take(gzip.get_mut());
            if !packed.is_empty() {
                return Some(Ok(packed));
            }
        }
    }
}

/// Hands over what the outputs say, one after the other, until their end, an error, or as much as may be shown.
async fn read(outputs: Vec<JournalOutput>, to: &mpsc::Sender<io::Result<Vec<u8>>>) {
    let mut remaining = SHOWN_BYTES_MAX;
    for mut output in outputs {
        while remaining > 0 {
            let mut bytes = vec![0; READ_BYTES.min(remaining)];
            let piece = match output.read(&mut bytes).await {
                Ok(0) => break,
                Ok(read) => {
                    bytes.truncate(read);
                    remaining -= read;
                    Ok(bytes)
                }
                Err(error) => Err(error),
            };
            let is_last = piece.is_err();
            if to.send(piece).await.is_err() || is_last {
                return;
            }
        }
    }
}
