//! Standard streams of a workload: input that is silent until it ends, output that goes to the log or is kept.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Where output goes.
pub(crate) trait Sink: Send + Sync + 'static {
    /// Takes all of `output`, at once.
    fn take(&self, output: &[u8]);
}

/// Standard output or error as a workload has it.
pub(crate) struct Outlet<S>(pub(crate) Arc<S>);

impl<S> Clone for Outlet<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Output that is cut into lines, and written to the log as they become complete.
pub(crate) struct Logged {
    lines: Mutex<Lines>,
    file: Option<Arc<LogFile>>,
    now: Now,
}

impl Logged {
    /// To this log, or nowhere.
    pub(crate) fn new(stream: Stream, file: Option<Arc<LogFile>>, now: Now) -> Self {
        Self { lines: Mutex::new(Lines::new(stream)), file, now }
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
}

impl Sink for Logged {
    fn take(&self, output: &[u8]) {
        self.with_lines(|lines, out| lines.push(output, (self.now)(), out));
    }
}

/// The workload has ended, however it did: a line that it didn't end is written as well.
impl Drop for Logged {
    fn drop(&mut self) {
        self.with_lines(|lines, out| lines.finish((self.now)(), out));
    }
}

/// Output that is kept, up to a bound that both outputs of a command share. What comes after that is dropped; the
/// command isn't held up.
pub(crate) struct CapturedOutput {
    bytes: Mutex<Vec<u8>>,
    remaining: Arc<AtomicUsize>,
}

impl CapturedOutput {
    /// Both outputs of a command, together at most `bytes_max`.
    pub(crate) fn both(bytes_max: usize) -> [Arc<Self>; 2] {
        let remaining = Arc::new(AtomicUsize::new(bytes_max));
        [(); 2].map(|()| Arc::new(Self { bytes: Mutex::default(), remaining: remaining.clone() }))
    }

    /// Returns what was kept until now.
    pub(crate) fn contents(&self) -> Vec<u8> {
        std::mem::take(&mut self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Sink for CapturedOutput {
    fn take(&self, output: &[u8]) {
        let fits = |remaining: usize| Some(remaining.saturating_sub(output.len()));
        let remaining =
            self.remaining.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).unwrap_or_default();
        let kept = &output[..output.len().min(remaining)];
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(kept);
    }
}

impl<S: Sink> IsTerminal for Outlet<S> {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl<S: Sink> StdoutStream for Outlet<S> {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    /// Not through the adapter for asynchronous writers: that one writes in the background, and what a workload
    /// wrote before it ended must have arrived.
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl<S: Sink> Pollable for Outlet<S> {
    async fn ready(&mut self) {}
}

#[wasmtime_wasi::async_trait]
impl<S: Sink> OutputStream for Outlet<S> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

impl<S: Sink> AsyncWrite for Outlet<S> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, output: &[u8]) -> Poll<io::Result<usize>> {
        self.0.take(output);
        Poll::Ready(Ok(output.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
