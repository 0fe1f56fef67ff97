//! The runtime as a whole: takes up what is left of an earlier process, answers, and ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::process::{Resource, Rlimit};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use witlet_proto::cri::image_service_server::ImageServiceServer;
use witlet_proto::cri::runtime_service_server::RuntimeServiceServer;
use witlet_wasm::compile::{CacheError, Compiler, CompilerConfig};

use crate::clock;
use crate::image::{ImageStore, store};
use crate::options::RuntimeOptions;
use crate::pods::{self, Pods};
use crate::server::{self, ImageServer, MESSAGE_BYTES_MAX, RuntimeServer, SocketError};
use crate::state::{Folder, StateError};
use crate::workload::{Programs, ProgramsError};

/// How long calls that are under way may take to be answered at the end.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);
/// The lock in the runtime's folder; its holder is the runtime of that folder.
const LOCK_FILE: &str = "lock";
/// Access to the lock.
const LOCK_MODE: u32 = 0o600;

/// How long another holder of the lock is waited for: a killed process gives it up only once all that it had is taken apart.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);
/// How often the lock is tried meanwhile.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;

/// Why the runtime couldn't run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Another process is the runtime of this folder.
    #[error("a runtime is running already on {}", root_dir.display())]
    AlreadyRunning { root_dir: PathBuf },
    /// The lock can't be had.
    #[error("failed to lock {}", path.display())]
    Lock {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The runtime's folder can't be used.
    #[error("failed to use the runtime's folder, which --root-dir names")]
    State(#[from] StateError),
    /// The cache of compiled code can't be used.
    #[error("failed to use the cache of compiled code")]
    Cache(#[from] CacheError),
    /// The engine can't be set up.
    #[error("failed to set up the engine")]
    Programs(#[from] ProgramsError),
    /// The threads for workloads can't be started.
    #[error("failed to start the threads that run workloads")]
    Threads(#[source] io::Error),
    /// The socket can't be had.
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("failed to serve")]
    Serve(#[from] tonic::transport::Error),
}

/// Threads that run workloads. They end with it, without waiting for a workload that doesn't give way.
struct WorkloadThreads(Option<Runtime>);

impl WorkloadThreads {
    fn start() -> Result<Self, ServeError> {
        let threads = Builder::new_multi_thread().thread_name("workload").enable_all().build();
        Ok(Self(Some(threads.map_err(ServeError::Threads)?)))
    }

    fn handle(&self) -> tokio::runtime::Handle {
        let running = self.0.as_ref().expect("taken only when dropped");
        running.handle().clone()
    }
}

impl Drop for WorkloadThreads {
    fn drop(&mut self) {
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

/// Runs the embedded runtime until `stop`: takes the folder's lock, reports what an earlier process left as ended,
/// and answers the CRI at the socket. At the end it asks all workloads to stop, kills those that don't, and returns
/// when they are gone.
///
/// # Errors
///
/// When another runtime has the folder, or the folder, the socket or the engine can't be used.
pub async fn serve(options: RuntimeOptions, stop: CancellationToken) -> Result<(), ServeError> {
    if options.new_session {
        // Fails for the leader of a process group, which is in no one's way.
        _ = rustix::process::setsid();
    }
    raise_file_limit();
    let root = Folder::open(options.root_dir.clone())?;
    let _lock = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        locked = lock(root.folder()) => locked?,
    };
    let threads = WorkloadThreads::start()?;
    let (pods, images) = open(&options, &threads)?;
    let listener = server::listen(&options.socket)?;
    tracing::info!(socket = %options.socket.display(), "Serving CRI");
    let runtime_service = RuntimeServiceServer::new(RuntimeServer { pods: pods.clone(), now: clock::now })
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let image_service = ImageServiceServer::new(ImageServer { images, now: clock::now })
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let serving = Server::builder()
        .add_service(runtime_service)
        .add_service(image_service)
        .serve_with_incoming_shutdown(UnixListenerStream::new(listener), stop.clone().cancelled_owned());
    let drained = async {
        stop.cancelled().await;
        pods.shut_down(options.shutdown_grace).await;
        sleep(DRAIN_LIMIT).await;
    };
    tokio::pin!(serving, drained);
    let served = tokio::select! {
        served = &mut serving => served,
        () = &mut drained => Ok(()),
    };
    // The server may have ended first; workloads must have as well.
    pods.shut_down(options.shutdown_grace).await;
    _ = std::fs::remove_file(&options.socket);
    Ok(served?)
}

/// Opens the state in the runtime's folder.
fn open(
    options: &RuntimeOptions,
    threads: &WorkloadThreads,
) -> Result<(Arc<Pods>, Arc<ImageStore>), ServeError> {
    let folder = |name: &str| Folder::open(options.root_dir.join(name));
    let compiler = Compiler::new(CompilerConfig {
        program: options.compiler.clone(),
        ..CompilerConfig::new(options.component_cache.clone())
    })?;
    let images = Arc::new(ImageStore::open(store::Parts {
        root: options.image_root.clone(),
        blobs: folder("components")?,
        notes: folder("images")?,
        compiler,
        programs: Programs::new()?,
        now: clock::now,
    })?);
    let pods = Arc::new(Pods::open(pods::Parts {
        images: images.clone(),
        sandbox_records: folder("sandboxes")?,
        container_records: folder("containers")?,
        mounts: folder("mounts")?,
        workloads: threads.handle(),
        http_deadline: options.http_deadline,
        now: clock::now,
    })?);
    Ok((pods, images))
}

/// Takes the lock of the folder, and waits a little for a runtime that has it: one that was killed is still being taken apart.
async fn lock(root_dir: &Path) -> Result<File, ServeError> {
    let until = Instant::now() + LOCK_WAIT_MAX;
    let mut has_waited = false;
    loop {
        match try_lock(root_dir) {
            Err(ServeError::AlreadyRunning { .. }) if Instant::now() < until => {
                if !std::mem::replace(&mut has_waited, true) {
                    tracing::warn!(
                        root_dir = %root_dir.display(),
                        timeout = ?LOCK_WAIT_MAX,
                        "Waiting for another runtime to release --root-dir"
                    );
                }
                sleep(LOCK_POLL_INTERVAL).await;
            }
            taken => return taken,
        }
    }
}

/// Takes the lock of the folder. The kernel gives it up when the process ends, however that happens.
fn try_lock(root_dir: &Path) -> Result<File, ServeError> {
    let path = root_dir.join(LOCK_FILE);
    let failed = |cause| ServeError::Lock { path: path.clone(), cause };
    let file = OpenOptions::new().create(true).append(true).mode(LOCK_MODE).open(&path).map_err(failed)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            Err(ServeError::AlreadyRunning { root_dir: root_dir.to_owned() })
        }
        Err(errno) => Err(failed(errno.into())),
    }
}

/// Sockets and files of all workloads are this process's: it takes as many as it is allowed to.
fn raise_file_limit() {
    let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
    if let Err(error) = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "Failed to raise the limit of open files");
    }
}
