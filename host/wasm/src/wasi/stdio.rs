//! A guest's stdout and stderr: lines of the node's log.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use tracing::Level;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::guest::log::{GuestLog, Line};

/// How much of an unfinished line is kept; a longer one becomes several lines.
const LINE_BYTES_MAX: usize = 2 << 10;
/// How much a guest may write at once.
const WRITE_BYTES_MAX: usize = 4 << 10;

/// A stream whose lines go to the log. Clones write to the same line.
#[derive(Clone)]
pub(super) struct LogStream {
    log: GuestLog,
    level: Level,
    unfinished: Arc<Mutex<Vec<u8>>>,
}

impl LogStream {
    pub(super) fn new(log: GuestLog, level: Level) -> Self {
        Self { log, level, unfinished: Arc::default() }
    }

    fn take_in(&self, bytes: &[u8]) {
        let mut unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        for &byte in bytes {
            if byte != b'\n' {
                unfinished.push(byte);
            }
            if byte == b'\n' || unfinished.len() >= LINE_BYTES_MAX {
                self.finish(&mut unfinished);
            }
        }
    }

    fn finish(&self, line: &mut Vec<u8>) {
        if !line.is_empty() {
            let message = String::from_utf8_lossy(line).into_owned();
            self.log.write(Line { level: self.level, message, fields: Vec::new() });
            line.clear();
        }
    }
}

impl Drop for LogStream {
    /// The last line may have no end. Clones share it, so the first that goes writes it.
    fn drop(&mut self) {
        let unfinished = self.unfinished.clone();
        self.finish(&mut unfinished.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl IsTerminal for LogStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LogStream {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for LogStream {
    async fn ready(&mut self) {}
}

impl OutputStream for LogStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take_in(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

impl AsyncWrite for LogStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.take_in(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
