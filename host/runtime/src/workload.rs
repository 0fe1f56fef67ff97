//! Workloads: a component that runs as a container's process.

mod account;
mod exit;
mod http;
mod instance;
mod memory;
mod program;
mod run;
mod sockets;
mod spec;
mod state;
mod stdio;
mod stop;

pub(crate) use account::{Account, LimitTooLow};
pub(crate) use exit::Exit;
#[cfg(test)]
pub(crate) use exit::ExitReason;
pub use program::ProgramsError;
pub(crate) use program::{Program, ProgramError, Programs};
pub(crate) use run::{exec, run};
pub(crate) use spec::WorkloadSpec;
pub(crate) use stdio::CapturedOutput;
pub(crate) use stop::StopSignal;
