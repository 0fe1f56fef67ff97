//! The plain probe types (`exec`, `httpGet`, `tcpSocket`, `grpc`) and the requests of `httpGet` hooks.
//!
//! Each probe ends within its timeout, whatever the other side does, and keeps at most 10 KiB of what that says. The
//! rules and the words are upstream's `pkg/probe`.
#![forbid(unsafe_code)]

mod connect;
mod exec;
mod grpc;
mod hook;
mod http;
mod probes;
#[cfg(test)]
mod testing;
mod tls;

pub use hook::HttpHooks;
pub use probes::PlainProbes;

/// What the other side says is kept up to this many bytes (upstream: `maxRespBodyLength`, `maxReadLength`).
pub const OUTPUT_BYTES_MAX: usize = 10 * 1024;
