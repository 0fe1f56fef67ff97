//! Standard streams of a workload: input that is silent until it ends, output that goes to the log.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::clock::Now;
use crate::log::{Lines, LogFile, Stream};

/// What a workload may write at once.
const WRITE_BYTES_MAX: usize = 64 * 1024;

/// Standard input: nothing comes, and it ends when the workload is asked to stop.
pub(crate) struct SilentInput(pub(crate) CancellationToken);

impl IsTerminal for SilentInput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for SilentInput {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        Box::new(UntilAsked(Box::pin(self.0.clone().cancelled_owned())))
    }
}

struct UntilAsked(Pin<Box<WaitForCancellationFutureOwned>>);

impl AsyncRead for UntilAsked {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        _buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.0.as_mut().poll(context));
        Poll::Ready(Ok(())) // having read nothing: the end
    }
}

/// Standard output or error: cut into lines, and written to the log as they become complete.
#[derive(Clone)]
pub(crate) struct LoggedOutput {
    lines: Arc<Mutex<Lines>>,
    file: Option<Arc<LogFile>>,
    now: Now,
}

impl LoggedOutput {
    /// To this log, or nowhere.
    pub(crate) fn new(stream: Stream, file: Option<Arc<LogFile>>, now: Now) -> Self {
        Self { lines: Arc::new(Mutex::new(Lines::new(stream))), file, now }
    }

    fn with_lines(&self, work: impl FnOnce(&mut Lines, &mut Vec<u8>)) {
        let Some(file) = &self.file else { return };
        let mut out = Vec::new();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut lines, &mut out);
        if !out.is_empty() {
            file.append(&out);
        }
    }

    fn log(&self, output: &[u8]) {
        self.with_lines(|lines, out| lines.push(output, (self.now)(), out));
    }

    /// The workload has ended: a line that it didn't end is written as well.
    pub(crate) fn finish(&self) {
        self.with_lines(|lines, out| lines.finish((self.now)(), out));
    }
}

impl IsTerminal for LoggedOutput {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LoggedOutput {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    /// Not through the adapter for asynchronous writers: that one writes in the background, and what a workload
    /// wrote before it ended must be in the log.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for LoggedOutput {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl OutputStream for LoggedOutput {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

impl AsyncWrite for LoggedOutput {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, output: &[u8]) -> Poll<io::Result<usize>> {
        self.log(output);
        Poll::Ready(Ok(output.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
