//! The other end of the local API, for the command line.

mod exec;
mod local;
mod streams;

pub use exec::{ExecEnd, ExecError, ExecOptions, ExecStreams, TerminalSize};
pub use local::{ClientError, LocalClient};
pub use streams::{BodyStream, LineStream};
