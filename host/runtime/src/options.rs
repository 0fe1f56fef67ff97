//! Options of the runtime.

use std::path::PathBuf;
use std::time::Duration;

/// How long a program may take to answer an HTTP request, if no one says otherwise.
const HTTP_DEADLINE_DEFAULT: Duration = Duration::from_secs(30);

/// How long workloads may take to end when the runtime itself is asked to stop, if no one says otherwise.
const SHUTDOWN_GRACE_DEFAULT: Duration = Duration::from_secs(2);

/// Where things are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeOptions {
    /// The socket to answer at. Only its owner can talk to it.
    pub socket: PathBuf,
    /// The runtime's own folder: records, copies of images, compiled code, the lock. One process at a time.
    pub root_dir: PathBuf,
    /// Where relative image references (`file:hello.wasm`) are looked for. They can't leave it.
    pub image_root: PathBuf,
    /// The program that compiles components in a child process (`<program> compile-component`): the running program
    /// itself, `/proc/self/exe`, if its `main` answers to that word.
    pub compiler: PathBuf,
    /// The compiled code of components, which only the owner of the folder may enter.
    pub component_cache: PathBuf,
    /// How long a program that answers HTTP (`wasi:http/proxy`) may take for one request, body and all.
    pub http_deadline: Duration,
    /// How long workloads may take to end when the runtime itself is asked to stop.
    pub shutdown_grace: Duration,
    /// Leave the session of the parent process, so that neither the end of a terminal nor its Ctrl-C
    /// reaches it.
    pub new_session: bool,
}

impl RuntimeOptions {
    /// With everything under `root_dir`, and the running program as compiler.
    pub fn new(root_dir: impl Into<PathBuf>) -> Self {
        let root_dir = root_dir.into();
        Self {
            socket: root_dir.join("runtime.sock"),
            image_root: root_dir.join("image-root"),
            component_cache: root_dir.join("code"),
            root_dir,
            compiler: PathBuf::from("/proc/self/exe"),
            http_deadline: HTTP_DEADLINE_DEFAULT,
            shutdown_grace: SHUTDOWN_GRACE_DEFAULT,
            new_session: false,
        }
    }
}
