//! Why a call about sandboxes or containers failed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use super::commands::COMMANDS_MAX;
use super::events::LISTENERS_MAX;
use super::{CONTAINERS_MAX, SANDBOXES_MAX};
use crate::address::AddressError;
use crate::image::ImageError;
use crate::state::StateError;
use crate::workload::LimitTooLow;

/// Why a call failed.
#[derive(Debug, Error)]
pub(crate) enum PodsError {
    /// There is no such sandbox.
    #[error("there is no sandbox {id}")]
    NoSandbox { id: String },
    /// There is no such container.
    #[error("there is no container {id}")]
    NoContainer { id: String },
    /// The sandbox was stopped.
    #[error("sandbox {id} isn't ready: no container can run in it")]
    SandboxNotReady { id: String },
    /// The container was started before, and can't be again.
    #[error("container {id} is {life}: only a created container can be started")]
    NotCreated {
        id: String,
        /// What it is instead.
        life: &'static str,
    },
    /// The container has no running program.
    #[error("container {id} is {life}: nothing runs in it")]
    NotRunning {
        id: String,
        /// What it is instead.
        life: &'static str,
    },
    /// There is one of that name and attempt.
    #[error("{what} {name:?}, attempt {attempt}, exists already as {id}")]
    NameTaken {
        /// A sandbox or a container.
        what: &'static str,
        name: String,
        attempt: u32,
        /// The one that is there.
        id: String,
    },
    /// There are too many sandboxes.
    #[error("the maximum of {SANDBOXES_MAX} sandboxes is reached")]
    TooManySandboxes,
    /// There are too many containers.
    #[error("the maximum of {CONTAINERS_MAX} containers is reached")]
    TooManyContainers,
    /// The sandbox can't have an address.
    #[error("failed to give the sandbox an address")]
    Address(#[from] AddressError),
    /// The image can't be used.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The state can't be kept.
    #[error("failed to save the state")]
    State(#[from] StateError),
    /// The log can't be opened.
    #[error("failed to open log {}", path.display())]
    Log {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The component has nothing that could be run next to its own work.
    #[error("container {id} can run no commands: its component doesn't export wasi:cli/run")]
    NoCommand { id: String },
    /// Too many commands run in the container.
    #[error("container {id} runs {COMMANDS_MAX} commands already")]
    TooManyCommands { id: String },
    /// A command took longer than it may, and was killed.
    #[error("the command in container {id} took longer than {}s and was killed", limit.as_secs_f64())]
    CommandTooLong {
        id: String,
        /// What it was given.
        limit: Duration,
    },
    /// Too many clients listen to events.
    #[error("{LISTENERS_MAX} clients listen to events already")]
    TooManyListeners,
    /// The limit of memory can't be changed.
    #[error("failed to change the limits of container {id}")]
    Memory {
        id: String,
        #[source]
        cause: LimitTooLow,
    },
    /// A killed program didn't end.
    #[error("container {id} was killed, but hasn't ended yet")]
    DoesNotEnd { id: String },
}
