//! The body of an answer to a log query: outputs one after the other, for a bounded time and up to a bounded size.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::Duration;

use axum::body::Body;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use tokio::io::AsyncReadExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use witlet_ports::JournalOutput;

#[cfg(test)]
mod tests;

/// How long a query may take, as upstream has it.
pub(super) const QUERY_DEADLINE: Duration = Duration::from_secs(30);

/// Bytes that are shown of one query, before they are packed.
const SHOWN_BYTES_MAX: usize = 512 * 1024 * 1024;

/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// A query that is being answered. Dropping it ends what runs for it.
pub(super) struct ShownQuery {
    outputs: VecDeque<JournalOutput>,
    deadline: Instant,
    stop: CancellationToken,
    /// Bytes that may still be shown.
    remaining: usize,
    /// Packs what is shown, until its end was taken.
    gzip: Option<GzEncoder<Vec<u8>>>,
    _permit: OwnedSemaphorePermit,
}

impl ShownQuery {
    pub(super) fn new(
        outputs: VecDeque<JournalOutput>,
        deadline: Instant,
        stop: CancellationToken,
        is_gzip: bool,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let gzip = is_gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        Self { outputs, deadline, stop, remaining: SHOWN_BYTES_MAX, gzip, _permit: permit }
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
            let bytes = match self.read().await {
                Ok(bytes) => bytes,
                Err(error) => return Some(Err(error)),
            };
            let is_end = bytes.is_empty();
            let Some(gzip) = &mut self.gzip else { return (!is_end).then_some(Ok(bytes)) };
            if is_end {
                return self.gzip.take().map(GzEncoder::finish);
            }
            if let Err(error) = gzip.write_all(&bytes) {
                return Some(Err(error));
            }
            let packed = std::mem::take(gzip.get_mut());
            if !packed.is_empty() {
                return Some(Ok(packed));
            }
        }
    }

    /// The next bytes as they are; empty at the end, which is also that of the time and of the size.
    async fn read(&mut self) -> io::Result<Vec<u8>> {
        while let Some(output) = self.outputs.front_mut() {
            let mut bytes = vec![0; READ_BYTES.min(self.remaining)];
            let read = tokio::select! {
                biased;
                () = self.stop.cancelled() => 0,
                () = tokio::time::sleep_until(self.deadline) => 0,
                read = output.read(&mut bytes) => {
                    let read = read?;
                    if read == 0 && self.remaining > 0 {
                        self.outputs.pop_front();
                        continue;
                    }
                    read
                }
            };
            if read == 0 {
                // What runs ends at once, also while the client takes its time.
                self.outputs.clear();
            }
            bytes.truncate(read);
            self.remaining -= read;
            return Ok(bytes);
        }
        Ok(Vec::new())
    }
}
