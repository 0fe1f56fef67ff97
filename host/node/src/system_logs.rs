//! The machine's own logs: files below `/var/log`, and the journal.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};

use async_trait::async_trait;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;
use witlet_ports::{FilesError, JournalOutput, Links, SystemLog, SystemLogEntry, SystemLogs};

use crate::failed;
use crate::regular::open_regular_at;

#[cfg(test)]
mod tests;

/// Entries of a folder that are read.
const ENTRIES_MAX: usize = 10_000;

/// Threads that open files at the same time: links may lead to a disk that hangs.
static THREADS: Semaphore = Semaphore::const_new(4);

/// Logs below one folder, and those of the journal.
#[derive(Clone, Debug)]
pub struct NodeSystemLogs {
    folder: PathBuf,
    program: PathBuf,
}

impl NodeSystemLogs {
    /// `folder` is that of the machine's logs (upstream: `/var/log`).
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), program: PathBuf::from("journalctl") }
    }
}

#[async_trait]
impl SystemLogs for NodeSystemLogs {
    async fn open(&self, path: &Path, links: Links) -> Result<SystemLog, FilesError> {
        let (folder, relative) = (self.folder.clone(), path.to_owned());
        let opened = async {
            let permit = THREADS.acquire().await.map_err(io::Error::other)?;
            let opening = move || {
                // Held until the thread is free, also when the client has gone.
                let _permit = permit;
                open(&folder, &relative, links)
            };
            tokio::task::spawn_blocking(opening).await.map_err(io::Error::other)?
        };
        opened.await.map_err(failed("open", &self.folder.join(path)))
    }

    fn journal(&self, arguments: &[String]) -> Result<JournalOutput, FilesError> {
        let started = start(&self.program, arguments).map_err(failed("start", &self.program))?;
        Ok(Box::pin(started))
    }
}

fn open(folder: &Path, path: &Path, links: Links) -> io::Result<SystemLog> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let base = rustix::fs::open(folder, flags | OFlags::DIRECTORY, Mode::empty())?;
    let resolve = match links {
        Links::Anywhere => ResolveFlags::NO_MAGICLINKS,
        Links::Below => ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH,
    };
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let place =
        rustix::io::retry_on_intr(|| rustix::fs::openat2(&base, path, flags, Mode::empty(), resolve))?;
    let stat = rustix::fs::fstat(&place)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => list(&place),
        _ => open_regular_at(&place).map(SystemLog::File),
    }
}

fn list(folder: &OwnedFd) -> io::Result<SystemLog> {
    let (mut entries, mut is_cut) = (Vec::new(), false);
    for entry in fs::read_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))? {
        let entry = entry?;
        if entries.len() == ENTRIES_MAX {
            is_cut = true;
            break;
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        entries.push(SystemLogEntry { name: entry.file_name().to_string_lossy().into_owned(), is_folder });
    }
    entries.sort();
    Ok(SystemLog::Folder { entries, is_cut })
}

/// A process, and the pipe that both its outputs lead to.
struct Running {
    output: pipe::Receiver,
    /// Killed when it is dropped.
    _process: Child,
}

impl AsyncRead for Running {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(context, buffer)
    }
}

fn start(program: &Path, arguments: &[String]) -> io::Result<Running> {
    let (reader, writer) = io::pipe()?;
    let process = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .kill_on_drop(true)
        .spawn()?;
    Ok(Running { output: pipe::Receiver::from_owned_fd(reader.into())?, _process: process })
}
