//! TCP connections, and the probe that only opens one.

use std::io;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpStream;
use witlet_core::probe::ProbeOutcome;

#[cfg(test)]
mod tests;

/// No connection.
#[derive(Debug, Error)]
#[error("dial tcp {address}: {}", words(cause))]
pub(crate) struct ConnectError {
    address: String,
    cause: io::Error,
}

/// Opens a connection to an address or name.
pub(crate) async fn connect(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    TcpStream::connect((host, port))
        .await
        .map_err(|cause| ConnectError { address: host_port(host, port), cause })
}

/// Whether a connection can be opened.
pub(crate) async fn probe(host: &str, port: u16, timeout: Duration) -> ProbeOutcome {
    match tokio::time::timeout(timeout, connect(host, port)).await {
        Ok(Ok(_)) => ProbeOutcome::Success(String::new()),
        Ok(Err(error)) => ProbeOutcome::Failure(error.to_string()),
        Err(_) => ProbeOutcome::Failure(format!("dial tcp {}: i/o timeout", host_port(host, port))),
    }
}

/// `host:port`, an IPv6 address in brackets.
pub(crate) fn host_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// An error of the system as upstream's events have it, such as `connect: connection refused`.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => format!("connect: {}", text.to_lowercase()),
        None => text,
    }
}
