//! Workloads: a component that runs as a container's process.

mod account;
mod exit;
mod http;
mod instance;
mod memory;
mod program;
mod run;
mod sockets;
mod stdio;
mod stop;

pub(crate) use account::{Account, LimitTooLow};
pub(crate) use exit::Exit;
#[cfg(test)]
pub(crate) use exit::ExitReason;
pub(crate) use instance::Spec;
pub use program::ProgramsError;
pub(crate) use program::{Program, ProgramError, Programs};
pub(crate) use run::{exec, run};
pub(crate) use stdio::Kept;
pub(crate) use stop::StopSignal;
