//! Other programs, run to their end.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use thiserror::Error;

/// Names a folder whose programs go before the system's: another `containerd`, with its shim, `ctr` and `runc`.
pub const PROGRAMS_VARIABLE: &str = "WITLET_CONTAINERD";

/// Where programs of the system are, whatever the caller's PATH says.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The folders that programs are looked for in, as PATH has them.
pub(crate) fn system_path() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| match std::env::var(PROGRAMS_VARIABLE) {
        Ok(folder) if !folder.is_empty() => format!("{folder}:{SYSTEM_PATH}"),
        Ok(_) | Err(_) => SYSTEM_PATH.to_owned(),
    });
    &PATH
}

/// The harness itself failed.
#[derive(Debug, Error)]
pub enum HarnessError {
    /// A program didn't do what it was asked.
    #[error("{command}: {said}")]
    Program {
        /// The command line.
        command: String,
        /// Its last words.
        said: String,
    },
    /// The disk, or a process that can't be started.
    #[error("{action}")]
    Io {
        /// What was tried.
        action: String,
        /// Why it failed.
        #[source]
        cause: std::io::Error,
    },
    /// Something that should have happened by itself didn't.
    #[error("{what} didn't happen within {seconds} s; {last}")]
    Late {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// What was seen last.
        last: String,
    },
    /// An answer that makes no sense.
    #[error("{0}")]
    Answer(String),
}

/// Names the action that an input or output error belongs to.
pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> HarnessError {
    let action = action.into();
    move |cause| HarnessError::Io { action, cause }
}

/// A program of the system by name.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    system_path().split(':').map(|folder| PathBuf::from(folder).join(name)).find(|path| path.exists())
}

/// Runs a program and returns what it printed.
pub(crate) fn run(
    program: impl AsRef<OsStr>,
    arguments: &[impl AsRef<OsStr>],
) -> Result<String, HarnessError> {
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", system_path()).stdin(Stdio::null());
    let shown = format!("{command:?}");
    let output = command.output().map_err(io(format!("run {shown}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(HarnessError::Program { command: shown, said: format!("{}: {said}", output.status) })
}
