//! The embedded runtime on demand: a process of this binary that outlives the agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};
use witlet_runtime::{Detached, SpawnError, Spawned, spawn_detached};

use crate::settings::Folders;

/// What `--container-runtime-endpoint` says for it.
pub(crate) const ENDPOINT: &str = "embedded";

/// Bytes of a socket's path, by unix(7).
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// How long its first start may take; it has little to do.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// How long it may take to end once its pods have ended.
const STOP_WITHIN: Duration = Duration::from_secs(15);

/// How often it is checked while it ends.
const STOP_PERIOD: Duration = Duration::from_millis(50);

/// Why there is no embedded runtime.
#[derive(Debug, Error)]
pub(crate) enum EmbeddedError {
    /// This program doesn't know its own file.
    #[error("failed to find this program's file to start the embedded runtime")]
    Program(#[source] std::io::Error),
    /// Its socket's path would be longer than the kernel takes.
    #[error(
        "the socket path of the embedded runtime {} has {} bytes, must have at most {SOCKET_PATH_BYTES_MAX}: set a shorter --root-dir",
        socket.display(), socket.as_os_str().len()
    )]
    TooLong { socket: PathBuf },
    #[error("failed to start the embedded runtime")]
    Spawn(#[from] SpawnError),
    /// It can't be asked to end.
    #[error("failed to stop the embedded runtime, process {process_id}")]
    Stop {
        process_id: i32,
        #[source]
        cause: std::io::Error,
    },
    #[error("the embedded runtime, process {process_id}, did not end within {}s", STOP_WITHIN.as_secs())]
    StillRuns { process_id: i32 },
}

fn root_of(agent_root: &Path) -> PathBuf {
    agent_root.join("runtime")
}

fn socket_of(agent_root: &Path) -> PathBuf {
    root_of(agent_root).join("runtime.sock")
}

/// The runtime that belongs to an agent's root folder.
pub(crate) struct Embedded {
    socket: PathBuf,
}

impl Embedded {
    /// The endpoint of an agent's, whether or not it runs.
    pub(crate) fn endpoint_of(agent_root: &Path) -> String {
        format!("unix://{}", socket_of(agent_root).display())
    }

    /// Starts it, unless it runs already.
    pub(crate) async fn start(folders: &Folders) -> Result<Self, EmbeddedError> {
        let agent_root = &folders.root;
        let root_dir = root_of(agent_root);
        let socket = socket_of(agent_root);
        if socket.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            return Err(EmbeddedError::TooLong { socket });
        }
        let flag = |name: &str, value: &Path| [OsString::from(name), value.as_os_str().to_owned()];
        let arguments = [OsString::from("runtime"), OsString::from("--new-session")]
            .into_iter()
            .chain(flag("--socket", &socket))
            .chain(flag("--root-dir", &root_dir))
            .chain(flag("--image-root", &folders.images))
            .chain(folders.component_cache.iter().flat_map(|cache| flag("--component-cache-dir", cache)))
            .collect();
        let spawned = spawn_detached(&Detached {
            program: std::env::current_exe().map_err(EmbeddedError::Program)?,
            arguments,
            socket: socket.clone(),
            log_file: root_dir.join("runtime.log"),
            ready_within: READY_WITHIN,
        })
        .await?;
        match spawned {
            Spawned::WasRunning => {
                tracing::info!(socket = %socket.display(), "Found a running embedded runtime")
            }
            Spawned::Started { process_id } => {
                tracing::info!(process_id, socket = %socket.display(), "Started the embedded runtime");
            }
        }
        Ok(Self { socket })
    }

    /// Ends it, no matter who started it, and waits for that. The kernel knows the process behind the socket.
    pub(crate) async fn stop(self) -> Result<(), EmbeddedError> {
        let Some(process_id) = self.process_id().await else { return Ok(()) };
        let deadline = Instant::now() + STOP_WITHIN;
        let process = rustix::process::Pid::from_raw(process_id);
        if let Some(process) = process {
            match rustix::process::kill_process(process, rustix::process::Signal::TERM) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(errno) => return Err(EmbeddedError::Stop { process_id, cause: errno.into() }),
            }
        }
        // It stops listening before it removes its socket; anyone who waits for the agent may remove the folder next.
        let is_there = |process| rustix::process::test_kill_process(process).is_ok();
        loop {
            let listens = self.process_id().await.is_some();
            let tidies = self.socket.exists() && process.is_some_and(is_there);
            if !listens && !tidies {
                break;
            }
            if Instant::now() >= deadline {
                // A socket that stays is only left over.
                if listens {
                    return Err(EmbeddedError::StillRuns { process_id });
                }
                break;
            }
            sleep(STOP_PERIOD).await;
        }
        tracing::info!(process_id, "Stopped the embedded runtime");
        Ok(())
    }

    /// The process that listens on the socket, if one does.
    async fn process_id(&self) -> Option<i32> {
        let stream = UnixStream::connect(&self.socket).await.ok()?;
        stream.peer_cred().ok()?.pid()
    }
}
