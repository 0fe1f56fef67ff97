//! Compiles components in a child process with limits, and keeps the results.
//!
//! A compiler can't be interrupted, and its memory isn't bounded by the size of its input: so it runs in a child of
//! the same program (`<program> compile-component …`), with limits of memory, CPU time and output. The clock ends only a
//! child that gets no CPU time any more, or very late: on a busy machine a good component takes long.
//! The daemon itself never compiles. Results are kept in a folder that only the daemon's user can enter, and are
//! checked by owner, mode and digest before they are mapped as code.

mod cache;
mod child;
mod signed;
mod stall;

#[cfg(test)]
mod tests;

pub use cache::{CacheError, CodeOrigin};
pub use child::child_main;
pub use signed::{CodeCache, CodeCacheError, code_target, component_digest, retain_signed_code};

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::sync::{Mutex, Semaphore};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::engine::EngineKind;
use crate::guest::printable;
use cache::{Cache, Key};

/// The word that makes the program a compiling child. It stands before the arguments of [`child_main`].
pub const COMPILE_COMMAND: &str = "compile-component";
/// How many children compile at once.
pub const COMPILES_MAX: usize = 2;
/// How many components can be compiled or waited for without sharing a lock by chance.
const KEY_LOCKS: usize = 16;
/// How large a component may be. Python's are 18 MB.
pub const COMPONENT_BYTES_MAX: usize = 64 << 20;
/// How much of what a child says on its standard error is kept.
const CHILD_MESSAGE_BYTES_MAX: u64 = 8 << 10;
/// CPU time of a child.
const CPU: Duration = Duration::from_secs(30);
/// The same of a debug build, whose compiler takes ten times as long.
const CPU_OF_DEBUG_BUILDS: Duration = Duration::from_secs(120);
/// How much nicer than a daemon its compiler is.
const NICENESS: u8 = 10;
/// Compiler threads of one child.
const CHILD_THREADS: &str = "2";

/// What a compiling child may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// From start to end.
    pub wall: Duration,
    /// Without any CPU time.
    pub stall: Duration,
    /// CPU time, all threads together; rounded up to seconds.
    pub cpu: Duration,
    /// Address space in bytes.
    pub memory_bytes: u64,
    /// Size of the compiled code in bytes.
    pub output_bytes: u64,
}

impl Default for CompileLimits {
    /// Enough for the JavaScript and Python interpreters (two seconds of CPU in a release build), far too little to hurt a
    /// node. A child of a daemon that is nicer than all else gets its CPU time even next to ten busy programs on each processor.
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(1800),
            stall: Duration::from_secs(180),
            cpu: if cfg!(debug_assertions) { CPU_OF_DEBUG_BUILDS } else { CPU },
            memory_bytes: 2 << 30,
            output_bytes: 256 << 20,
        }
    }
}

/// Where the compiler is and what it may take.
#[derive(Clone, Debug)]
pub struct CompilerConfig {
    /// The program to start: this one, whose `main` hands the arguments after [`COMPILE_COMMAND`] to [`child_main`].
    pub program: PathBuf,
    /// Folder for compiled code; made with mode 0700 if it isn't there.
    pub cache_dir: PathBuf,
    /// Limits of a child.
    pub limits: CompileLimits,
    /// How much nicer than this process a child is.
    pub niceness: u8,
}

impl CompilerConfig {
    /// With the running program as compiler and the default limits. It gives way to all other programs: what a node runs comes first.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            program: PathBuf::from("/proc/self/exe"),
            cache_dir: cache_dir.into(),
            limits: CompileLimits::default(),
            niceness: NICENESS,
        }
    }

    /// The same for a command that does nothing else meanwhile: its compiler gives way to none.
    pub fn foreground(cache_dir: impl Into<PathBuf>) -> Self {
        Self { niceness: 0, ..Self::new(cache_dir) }
    }
}

/// Why a component couldn't be compiled or loaded.
#[derive(Debug, Error)]
pub enum CompileError {
    /// More bytes than any component should have.
    #[error("the component has {bytes} bytes, more than {COMPONENT_BYTES_MAX}")]
    TooLarge { bytes: usize },
    /// Not a component at all: a core module, text, something else.
    #[error("not a WebAssembly component: {found}")]
    NotAComponent {
        /// What it looks like.
        found: &'static str,
    },
    /// The compiler refused it.
    #[error("invalid WebAssembly: {message}")]
    Invalid { message: String },
    /// The compiler took more CPU time than it may.
    #[error("compiling took longer than {}s", limit.as_secs_f64())]
    Timeout {
        /// What it was given.
        limit: Duration,
    },
    /// The compiler took longer than it may by the clock, and less CPU time: it gives way to all other programs, so that these may be why.
    #[error("compiling took longer than {}s, while the machine was busy with other programs", limit.as_secs_f64())]
    Late {
        /// What it was given.
        limit: Duration,
    },
    /// The compiler hasn't run at all for as long as it may: stopped, frozen, or waiting for a disk.
    #[error("the compiler got no CPU time for {}s: the machine is too busy, or its disk does not answer", limit.as_secs_f64())]
    Stalled {
        /// What it was given.
        limit: Duration,
    },
    /// The compiler exceeded its memory limit.
    #[error("compiling took more than {limit} bytes of memory")]
    OutOfMemory {
        /// What it was given.
        limit: u64,
    },
    /// The compiled code is larger than it may be.
    #[error("the compiled code has more than {limit} bytes")]
    OutputTooLarge {
        /// What it was given.
        limit: u64,
    },
    /// The child ended in another way.
    #[error("the compiler ended with {status}: {message}")]
    Failed {
        status: ExitStatus,
        /// The end of its standard error.
        message: String,
    },
    /// The child couldn't be started or talked to.
    #[error("failed to {action} the compiler {}", program.display())]
    Child {
        action: &'static str,
        program: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    /// The cache can't be used.
    #[error("failed to use the cache of compiled code")]
    Cache(#[source] CacheError),
    /// Code that was just compiled doesn't load: it is for another architecture or engine than this program's.
    #[error("the compiled code doesn't fit this program")]
    Unfit {
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The task that reads the cache was ended with the program.
    #[error("the program is ending")]
    Ending,
}

/// Turns components into code, through the cache where it can.
#[derive(Debug)]
pub struct Compiler {
    program: PathBuf,
    limits: CompileLimits,
    niceness: u8,
    cache: Arc<Cache>,
    slots: Semaphore,
    /// Keep two callers from compiling the same component: a key's lock is one of these.
    locks: [Mutex<()>; KEY_LOCKS],
}

impl Compiler {
    /// Opens the cache's folder.
    ///
    /// # Errors
    ///
    /// When the folder isn't the user's own, or others may write to it.
    pub fn new(config: CompilerConfig) -> Result<Self, CacheError> {
        Ok(Self {
            program: config.program,
            limits: config.limits,
            niceness: config.niceness,
            cache: Arc::new(Cache::open(config.cache_dir)?),
            slots: Semaphore::new(COMPILES_MAX),
            locks: Default::default(),
        })
    }

    /// The component, ready for this engine, which must have been made by [`crate::engine`] for `kind`. Takes as
    /// long as compiling does if the cache doesn't have it; never blocks the caller's thread.
    ///
    /// # Errors
    /// The component is too large, doesn't compile, exceeds a limit of the compiler, or its code can't be mapped.
    pub async fn load(
        &self,
        engine: &Engine,
        kind: EngineKind,
        wasm: Arc<[u8]>,
    ) -> Result<Component, CompileError> {
        check_header(&wasm)?;
        let key = Key::new(engine, kind, &wasm);
        self.find(engine, kind, wasm, key).await
    }

    /// Returns what the cache has, or what is compiled.
    async fn find(
        &self,
        engine: &Engine,
        kind: EngineKind,
        wasm: Arc<[u8]>,
        key: Key,
    ) -> Result<Component, CompileError> {
        if let Some(component) = self.lookup(engine, key.clone()).await? {
            return Ok(component);
        }
        let _lock = self.locks[key.shard(KEY_LOCKS)].lock().await;
        let _slot = self.slots.acquire().await.map_err(|_closed| CompileError::Ending)?;
        // Another caller may have compiled the same meanwhile.
        if let Some(component) = self.lookup(engine, key.clone()).await? {
            return Ok(component);
        }
        let (digest, begun) = (component_digest(&wasm), tokio::time::Instant::now());
        let code = self.compile(kind, wasm).await?;
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(digest, engine = kind.name(), took_ms, "Compiled component");
        let cache = self.cache.clone();
        let engine = engine.clone();
        blocking(move || {
            cache.store(&key, code).map_err(CompileError::Cache)?;
            match cache.load(&engine, &key) {
                Ok(Some(component)) => Ok(component),
                Ok(None) => Err(CompileError::Cache(CacheError::Vanished { path: cache.path(&key) })),
                Err(CacheError::Unfit { cause, .. }) => Err(CompileError::Unfit { cause }),
                Err(error) => Err(CompileError::Cache(error)),
            }
        })
        .await
    }

    /// Removes the code of a component that isn't needed any more, by the SHA-256 digest of its bytes. Code that is in
    /// use stays mapped; code that isn't there is removed.
    ///
    /// # Errors
    ///
    /// When the files can't be removed.
    pub fn forget(&self, engine: &Engine, kind: EngineKind, digest: &[u8; 32]) -> Result<(), CacheError> {
        self.cache.remove(&Key::of_digest(engine, kind, digest))
    }

    /// Returns what the cache has; a damaged or unfit entry is reported, removed and compiled again.
    async fn lookup(&self, engine: &Engine, key: Key) -> Result<Option<Component>, CompileError> {
        let cache = self.cache.clone();
        let engine = engine.clone();
        blocking(move || match cache.load(&engine, &key) {
            Ok(found) => Ok(found),
            Err(error) if error.is_repairable() => {
                tracing::warn!(%error, "Compiled code is unusable, compiling the component again");
                cache.remove(&key).map_err(CompileError::Cache)?;
                Ok(None)
            }
            Err(error) => Err(CompileError::Cache(error)),
        })
        .await
    }

    /// Runs a child on the component; its output is an anonymous file.
    async fn compile(&self, kind: EngineKind, wasm: Arc<[u8]>) -> Result<File, CompileError> {
        let child_error =
            |action, cause| CompileError::Child { action, program: self.program.clone(), cause };
        let (input, output) = blocking(move || files(&wasm).map_err(|cause| ("make files for", cause)))
            .await
            .map_err(|(action, cause)| child_error(action, cause))?;
        let child_output = output.try_clone().map_err(|cause| child_error("make files for", cause))?;
        let mut child = Command::new(&self.program)
            .args(child::arguments(kind, &self.limits, self.niceness))
            .env_clear()
            .env("RAYON_NUM_THREADS", CHILD_THREADS)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(child_output))
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|cause| child_error("start", cause))?;
        let (stderr, process) = (child.stderr.take(), child.id());
        let work = async {
            let mut message = Vec::new();
            if let Some(stderr) = stderr {
                // What exceeds the bound ends in a closed pipe, which ends a child that talks too much.
                stderr.take(CHILD_MESSAGE_BYTES_MAX).read_to_end(&mut message).await?;
            }
            let status = child.wait().await?;
            // It may quote names from the component.
            Ok((status, printable(String::from_utf8_lossy(&message).trim(), message.len())))
        };
        // Dropping the child kills it.
        let outcome: std::io::Result<_> = tokio::select! {
            outcome = work => outcome,
            () = stall::stalled(process, self.limits.stall) => {
                return Err(CompileError::Stalled { limit: self.limits.stall });
            }
            () = tokio::time::sleep(self.limits.wall) => {
                return Err(CompileError::Late { limit: self.limits.wall });
            }
        };
        match outcome {
            Err(cause) => Err(child_error("wait for", cause)),
            Ok((status, _)) if status.success() => Ok(output),
            Ok((status, message)) => Err(failure(status, message, &self.limits)),
        }
    }
}

/// Tells a component from what people take for one.
pub(crate) fn check_header(wasm: &[u8]) -> Result<(), CompileError> {
    if wasm.len() > COMPONENT_BYTES_MAX {
        return Err(CompileError::TooLarge { bytes: wasm.len() });
    }
    let found = match wasm {
        [b'\0', b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => return Ok(()),
        [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => {
            "it is a core module; make a component of it (for Rust: build for wasm32-wasip2)"
        }
        [b'\0', b'a', b's', b'm', ..] => "it has an unknown version of the binary format",
        [b'\x7f', b'E', b'L', b'F', ..] => "it is a native program",
        [] => "it is empty",
        _ if wasm.trim_ascii_start().starts_with(b"(") => "it is text; translate it with `wasm-tools parse`",
        _ => "it does not begin with the bytes of WebAssembly, \\0asm",
    };
    Err(CompileError::NotAComponent { found })
}

/// An anonymous file with the component, and an empty one.
fn files(wasm: &[u8]) -> std::io::Result<(File, File)> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut input = File::from(rustix::fs::memfd_create("component", flags)?);
    input.write_all(wasm)?;
    input.seek(SeekFrom::Start(0))?;
    Ok((input, File::from(rustix::fs::memfd_create("code", flags)?)))
}

/// Returns what the way that a child ended means.
fn failure(status: ExitStatus, message: String, limits: &CompileLimits) -> CompileError {
    if status.code() == Some(child::EXIT_INVALID) {
        return CompileError::Invalid { message };
    }
    // Rust says so before it aborts; the engine's own mappings and new threads fail with the system's words.
    let starved = ["memory allocation of", "Cannot allocate memory", "Resource temporarily unavailable"]
        .iter()
        .any(|words| message.contains(words));
    match status.signal() {
        Some(libc::SIGXCPU) => CompileError::Timeout { limit: limits.cpu },
        Some(libc::SIGXFSZ) => CompileError::OutputTooLarge { limit: limits.output_bytes },
        Some(_) | None if starved => CompileError::OutOfMemory { limit: limits.memory_bytes },
        Some(_) | None => CompileError::Failed { status, message },
    }
}

/// Runs file work off the caller's thread.
async fn blocking<T: Send + 'static, E: Send + 'static + From<Cancelled>>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_cancelled_or_panicked) => Err(E::from(Cancelled)),
    }
}

/// The blocking work ended without a result.
struct Cancelled;

impl From<Cancelled> for CompileError {
    fn from(_: Cancelled) -> Self {
        Self::Ending
    }
}

impl From<Cancelled> for (&'static str, std::io::Error) {
    fn from(_: Cancelled) -> Self {
        ("make files for", std::io::ErrorKind::Interrupted.into())
    }
}

/// Reads a component, never more than [`COMPONENT_BYTES_MAX`] and one byte, so that a larger one is noticed.
///
/// # Errors
/// The file can't be read.
pub fn read_component(path: &std::path::Path) -> std::io::Result<Arc<[u8]>> {
    let mut bytes = Vec::new();
    open_file(path)?.take(COMPONENT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Reads a component that must have this digest: SHA-256, in hexadecimal.
///
/// # Errors
/// When it can't be read, or is another component.
pub(crate) fn read_component_of(path: &std::path::Path, digest: &str) -> std::io::Result<Arc<[u8]>> {
    let component = read_component(path)?;
    let found = hex::encode(Sha256::digest(&component));
    if found == digest {
        return Ok(component);
    }
    let message = format!("its SHA-256 is {found} instead of {digest}");
    Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message))
}

/// Opens what is a file and nothing else: a pipe that no one writes to would be waited for without end.
pub(crate) fn open_file(path: &std::path::Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(nonblocking).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a file"))
    }
}

/// Arguments as the program sees them after its own name, for those who wire the child into a `main`.
pub fn is_compile_command(arguments: &[OsString]) -> bool {
    arguments.first().is_some_and(|word| word == COMPILE_COMMAND)
}
