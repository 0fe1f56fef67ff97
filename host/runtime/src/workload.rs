//! Workloads: a component that runs as a container's process.

mod exit;
mod memory;
mod program;
mod run;
mod sockets;
mod stdio;
mod stop;

pub(crate) use exit::Exit;
#[cfg(test)]
pub(crate) use exit::ExitReason;
pub use program::ProgramsError;
pub(crate) use program::{Program, ProgramError, Programs};
pub(crate) use run::{Mount, Spec, run};
pub(crate) use stop::StopSignal;
