//! The kernel's log, from now on (`/dev/kmsg`).

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, SeekFrom};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

#[cfg(test)]
mod tests;

/// Larger than the kernel's records are (`CONSOLE_EXT_LOG_MAX`); each read gives one.
const RECORD_BYTES_MAX: usize = 8192;

/// Opens the log behind all that is in it.
///
/// # Errors
/// When it can't be opened, which only root may do.
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let log = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::seek(&log, SeekFrom::End(0))?;
    Ok(log)
}

/// Sends each message, until no one receives them.
///
/// # Errors
/// When the log can't be read any more.
pub(crate) async fn follow(log: OwnedFd, messages: &mpsc::Sender<String>) -> io::Result<()> {
    #[expect(
        deprecated,
        reason = "what takes its place is unsafe, and asks only for what an owned descriptor promises"
    )]
    let log = AsyncFd::with_interest(log, Interest::READABLE)?;
    let mut record = vec![0; RECORD_BYTES_MAX];
    loop {
        let mut ready = log.readable().await?;
        let length = match rustix::io::read(log.get_ref(), record.as_mut_slice()) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(rustix::io::Errno::AGAIN) => {
                ready.clear_ready();
                continue;
            }
            // What wasn't read in time is overwritten; the next read goes on behind it.
            Err(rustix::io::Errno::PIPE | rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let text = String::from_utf8_lossy(record.get(..length).unwrap_or_default());
        let Some(message) = message(&text) else { continue };
        if messages.send(message.to_owned()).await.is_err() {
            return Ok(());
        }
    }
}

/// The text of a record: `<priority>,<number>,<microseconds>,<flags>;<text>`, and lines of what it is about.
fn message(record: &str) -> Option<&str> {
    record.split_once(';')?.1.lines().next()
}
