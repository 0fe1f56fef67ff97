//! The client of the Container Runtime Interface: the runtime ports, carried out by containerd, CRI-O or any other
//! CRI v1 runtime behind a unix socket.
//!
//! Each call has a deadline, is bounded to [`MESSAGE_BYTES_MAX`] either way, and fails with a typed
//! [`RuntimeError`](witlet_ports::RuntimeError). The connection is made by the first call and made again whenever
//! it was lost; no call is repeated, since the agent knows better what to try again. The CRI's types stay in here.
#![forbid(unsafe_code)]

mod client;
mod connection;
mod convert;
mod deadlines;
mod endpoint;
mod error;
pub mod lists;
mod operations;
mod spans;

pub use client::{ConnectError, CriClient, CriOptions, connect};
pub use connection::MESSAGE_BYTES_MAX;
pub use deadlines::Deadlines;
pub use endpoint::{Endpoint, EndpointError, SOCKET_PATH_BYTES_MAX};
pub use operations::RuntimeOperations;
