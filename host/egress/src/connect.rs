//! TCP connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::error::LookupError;

#[cfg(test)]
mod tests;

/// One of several addresses is tried at least so long, if there is so much time (Go's dialer has the same).
const ATTEMPT_MIN: Duration = Duration::from_secs(2);

/// No connection. The words are those of Go's client, which people know from upstream's events.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// No grant opens it.
    #[error("dial tcp {to}: not granted")]
    Denied {
        /// `host:port`
        to: String,
    },
    /// The name leads nowhere.
    #[error("dial tcp: {0}")]
    Lookup(#[from] LookupError),
    #[error("dial tcp {to}: i/o timeout")]
    Timeout {
        /// `host:port`
        to: String,
    },
    /// The system says no: refused, unreachable, …
    #[error("dial tcp {to}: {}", words(cause))]
    Failed {
        /// `host:port`
        to: String,
        /// What the system says, of the address that was tried last.
        cause: io::Error,
    },
}

/// Opens a connection to the first of these addresses that takes it, before the deadline. `to` names them all.
pub(crate) async fn connect(
    to: String,
    addresses: &[SocketAddr],
    deadline: Instant,
) -> Result<TcpStream, ConnectError> {
    let mut failed = None;
    for (index, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let time = attempt_time(left, addresses.len() - index);
        match timeout(time, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Requests are small, and no one may wait for more of them. Without it a connection works, too.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(cause)) => failed = Some(cause),
            Err(_) => {}
        }
    }
    Err(match failed {
        Some(cause) => ConnectError::Failed { to, cause },
        None => ConnectError::Timeout { to },
    })
}

/// How long one address is tried when so much time and so many addresses are left: an even share, so that one that
/// doesn't answer doesn't use up the time of the others.
fn attempt_time(left: Duration, addresses: usize) -> Duration {
    let addresses = u32::try_from(addresses).unwrap_or(u32::MAX).max(1);
    (left / addresses).max(ATTEMPT_MIN).min(left)
}

/// An error of the system as upstream's events have it, such as `connect: connection refused`.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => format!("connect: {}", text.to_lowercase()),
        None => text,
    }
}
