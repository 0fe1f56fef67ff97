//! A log read from its file piece by piece, also while it is written to and rotated.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;

use witlet_core::logs::{LogFilter, LogLines, LogRequest};
use witlet_ports::LogFiles;

#[cfg(test)]
mod tests;

/// Bytes of one read.
const READ_BYTES: usize = 64 * 1024;

/// What a check of the log gives.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Something to show, never empty.
    Shown(Vec<u8>),
    /// There is no more at the moment.
    End,
    /// The client has all that it asked for.
    Full,
}

/// Where in which file a reader is.
pub(super) struct LogReader {
    logs: Arc<dyn LogFiles>,
    path: PathBuf,
    file: Arc<File>,
    offset: u64,
    /// Nothing behind this is read; none if the log is followed.
    end: Option<u64>,
    lines: LogLines,
    /// Another file has taken this one's place, so that this one gets no more.
    next: Option<Arc<File>>,
}

impl LogReader {
    /// Opens a log where a request wants it to begin; none if there is no log.
    pub(super) async fn open(
        logs: Arc<dyn LogFiles>,
        path: PathBuf,
        filter: LogFilter,
        request: &LogRequest,
    ) -> io::Result<Option<Self>> {
        let Some(file) = logs.open(&path).await.map_err(|error| error.cause)? else { return Ok(None) };
        let file = Arc::new(file);
        let (tail, handle) = (request.tail_lines, file.clone());
        let (offset, length) = blocking(move || {
            let length = handle.metadata()?.len();
            let offset = tail.map_or(Ok(0), |lines| tail_offset(&handle, length, lines))?;
            Ok((offset, length))
        })
        .await?;
        // Who doesn't follow sees what is there now, however fast more is written.
        let end = (!request.follow).then_some(length);
        Ok(Some(Self { logs, path, file, offset, end, lines: LogLines::new(filter), next: None }))
    }

    /// The next piece.
    pub(super) async fn next(&mut self) -> io::Result<Piece> {
        while !self.lines.is_full() {
            let remaining = self.end.map_or(u64::MAX, |end| end.saturating_sub(self.offset));
            let length = usize::try_from(remaining).unwrap_or(READ_BYTES).min(READ_BYTES);
            let (file, offset) = (self.file.clone(), self.offset);
            let read = blocking(move || {
                let mut bytes = vec![0; length];
                let read = file.read_at(&mut bytes, offset)?;
                bytes.truncate(read);
                Ok(bytes)
            });
            let bytes = read.await?;
            if bytes.is_empty() {
                return Ok(Piece::End);
            }
            self.offset += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let shown = self.lines.take(&bytes);
            if !shown.is_empty() {
                return Ok(Piece::Shown(shown));
            }
        }
        Ok(Piece::Full)
    }

    /// What is shown of a last line that never got its end.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        self.lines.rest()
    }

    /// At the end: goes over to the file that took this one's place, if there is one. Says whether there may be more to read.
    pub(super) async fn renew(&mut self) -> io::Result<bool> {
        if let Some(next) = self.next.take() {
            // What was written to the old one before the new one began has been read by now.
            self.lines.restart();
            (self.file, self.offset) = (next, 0);
            return Ok(true);
        }
        let Some(there) = self.logs.open(&self.path).await.map_err(|error| error.cause)? else {
            return Ok(false);
        };
        let (ours, offset) = (self.file.clone(), self.offset);
        let (is_other, is_cut, there) = blocking(move || {
            let (ours, found) = (ours.metadata()?, there.metadata()?);
            let is_other = (ours.dev(), ours.ino()) != (found.dev(), found.ino());
            Ok((is_other, ours.len() < offset, there))
        })
        .await?;
        if is_other {
            self.next = Some(Arc::new(there));
            return Ok(true);
        }
        if is_cut {
            self.lines.restart();
            self.offset = 0;
        }
        Ok(is_cut)
    }
}

/// Where the last lines begin: their ends are counted from the end of the file.
fn tail_offset(file: &File, length: u64, lines: u64) -> io::Result<u64> {
    if lines == 0 {
        return Ok(length);
    }
    let mut right = length;
    let mut found = 0;
    let mut bytes = vec![0; READ_BYTES];
    // A file that ends within a line: that line counts, and has no end to be counted.
    let mut last = [0];
    if length > 0 && file.read_at(&mut last, length - 1)? == 1 && last != [b'\n'] {
        found = 1;
    }
    while right > 0 {
        let size = READ_BYTES.min(usize::try_from(right).unwrap_or(READ_BYTES));
        let left = right - u64::try_from(size).unwrap_or(right);
        file.read_exact_at(&mut bytes[..size], left)?;
        for (at, byte) in bytes[..size].iter().enumerate().rev() {
            if *byte != b'\n' {
                continue;
            }
            found += 1;
            if found > lines {
                return Ok(left + u64::try_from(at).unwrap_or(0) + 1);
            }
        }
        right = left;
    }
    Ok(0)
}

/// Runs it on a thread that may wait for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
