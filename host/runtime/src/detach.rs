//! Starts the runtime as a process of its own, which outlives the process that started it.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use thiserror::Error;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

/// How often the socket is tried while the runtime starts.
const RETRY_PERIOD: Duration = Duration::from_millis(20);
/// How long a process that ended may leave the socket to another one that started at the same time.
const RIVAL_TIMEOUT: Duration = Duration::from_secs(2);
/// Access to the runtime's log.
const LOG_MODE: u32 = 0o640;

/// How to start the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detached {
    pub program: PathBuf,
    /// Its arguments. They must lead to [`crate::serve`] with this socket and with `new_session`.
    pub arguments: Vec<OsString>,
    /// Where the runtime will answer.
    pub socket: PathBuf,
    /// What the process says goes here, after what is there already.
    pub log_file: PathBuf,
    /// How long it may take to answer.
    pub ready_within: Duration,
}

/// Whether the runtime had to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spawned {
    WasRunning,
    Started { process_id: u32 },
}

/// Why the runtime isn't there.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// Its log can't be opened.
    #[error("failed to open the runtime's log {}", path.display())]
    Log {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The program can't be started.
    #[error("failed to start {}", program.display())]
    Start {
        program: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// It ended before it answered.
    #[error("the runtime ended at once ({status}): see {}", log_file.display())]
    Ended {
        status: ExitStatus,
        /// Where it says why.
        log_file: PathBuf,
    },
    /// It doesn't answer in time.
    #[error("the runtime doesn't answer at {} within {}s: see {}", socket.display(), limit.as_secs_f64(), log_file.display())]
    Late {
        socket: PathBuf,
        /// The time that it had.
        limit: Duration,
        /// Where it may say why.
        log_file: PathBuf,
    },
}

async fn answers(socket: &Path) -> bool {
    UnixStream::connect(socket).await.is_ok()
}

/// Starts the runtime unless one answers at the socket, and waits until it does. If two do this at once, both find
/// the one runtime whose process got the folder's lock.
///
/// # Errors
///
/// When the program can't be started, ends, or doesn't answer in time.
pub async fn spawn_detached(detached: &Detached) -> Result<Spawned, SpawnError> {
    let Detached { program, arguments, socket, log_file, ready_within } = detached;
    if answers(socket).await {
        return Ok(Spawned::WasRunning);
    }
    let log_failed = |cause| SpawnError::Log { path: log_file.clone(), cause };
    let open = || {
        if let Some(folder) = log_file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let log = OpenOptions::new().create(true).append(true).mode(LOG_MODE).open(log_file)?;
        Ok((log.try_clone()?, log))
    };
    let (stdout, stderr) = open().map_err(log_failed)?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .kill_on_drop(false)
        .spawn()
        .map_err(|cause| SpawnError::Start { program: program.clone(), cause })?;
    let process_id = child.id().unwrap_or_default();
    let mut deadline = Instant::now() + *ready_within;
    let mut status = None;
    loop {
        if status.is_none() {
            status = child.try_wait().ok().flatten();
            if status.is_some() {
                deadline = deadline.min(Instant::now() + RIVAL_TIMEOUT);
            }
        }
        if answers(socket).await {
            // Its end is waited for by tokio, in the background, for as long as this process lives.
            return Ok(match status {
                None => Spawned::Started { process_id },
                Some(_) => Spawned::WasRunning,
            });
        }
        if Instant::now() >= deadline {
            let (socket, limit, log_file) = (socket.clone(), *ready_within, log_file.clone());
            return Err(match status {
                Some(status) => SpawnError::Ended { status, log_file },
                None => SpawnError::Late { socket, limit, log_file },
            });
        }
        sleep(RETRY_PERIOD).await;
    }
}
