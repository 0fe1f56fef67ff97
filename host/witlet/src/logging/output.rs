//! Where lines go: to standard error, or information apart from the rest, held back for a while.

use std::convert::Infallible;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A stream. One that can't be written to (a full disk, a reader that is gone) loses lines, and nothing else: to report
/// that on standard error as well would end the process.
pub(super) type Stream = Box<dyn Write + Send>;

/// The log's streams.
pub(super) struct Output {
    errors: Mutex<Stream>,
    /// Information, if it is apart.
    info: Option<Mutex<InfoStream>>,
}

/// Information that is held back until a line does not fit, or until a flush.
struct InfoStream {
    stream: Stream,
    held: Vec<u8>,
    held_bytes_max: usize,
}

impl Output {
    /// Writes all lines to one stream, none held back.
    pub(super) fn single(stream: Stream) -> Self {
        Self { errors: Mutex::new(stream), info: None }
    }

    /// Warnings and errors in the first stream, information in the second one, of which this many bytes are held back.
    pub(super) fn split(errors: Stream, info: Stream, held_bytes_max: usize) -> Self {
        let info = InfoStream { stream: info, held: Vec::new(), held_bytes_max };
        Self { errors: Mutex::new(errors), info: Some(Mutex::new(info)) }
    }

    /// Writes a line. Before a warning or an error, what is held back is written: it may be what led to it, and it may be the
    /// last that is seen of the process.
    pub(super) fn write(&self, is_info: bool, line: &[u8]) {
        match &self.info {
            Some(info) if is_info => {
                info.lock().unwrap_or_else(PoisonError::into_inner).hold(line);
                return;
            }
            Some(info) => info.lock().unwrap_or_else(PoisonError::into_inner).flush(),
            None => {}
        }
        let _ = self.errors.lock().unwrap_or_else(PoisonError::into_inner).write_all(line);
    }

    /// Whether anything is ever held back.
    pub(super) fn holds_back(&self) -> bool {
        let max =
            |info: &Mutex<InfoStream>| info.lock().unwrap_or_else(PoisonError::into_inner).held_bytes_max;
        self.info.as_ref().map_or(0, max) > 0
    }

    /// Writes what is held back.
    pub(super) fn flush(&self) {
        if let Some(info) = &self.info {
            info.lock().unwrap_or_else(PoisonError::into_inner).flush();
        }
    }

    /// Writes what is held back unless someone is about to write, be it the caller itself.
    pub(super) fn try_flush(&self) {
        if let Some(mut info) = self.info.as_ref().and_then(|info| info.try_lock().ok()) {
            info.flush();
        }
    }
}

impl InfoStream {
    fn hold(&mut self, line: &[u8]) {
        if line.len() > self.held_bytes_max.saturating_sub(self.held.len()) {
            self.flush();
        }
        if line.len() > self.held_bytes_max {
            let _ = self.stream.write_all(line);
        } else {
            self.held.extend_from_slice(line);
        }
    }

    /// What can't be written is lost: held on to, it would grow.
    fn flush(&mut self) {
        if !self.held.is_empty() {
            let _ = self.stream.write_all(&self.held);
            self.held.clear();
        }
    }
}

/// Writes what is held back once in each period, for as long as it is polled.
pub(super) async fn flush_each(output: Arc<Output>, period: Duration) -> Infallible {
    loop {
        tokio::time::sleep(period).await;
        // On the caller's thread: a reader that doesn't read blocks every writer of the log all the same.
        output.flush();
    }
}
