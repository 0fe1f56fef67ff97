//! TCP connections and UDP exchanges with a deadline, for plugins with the grant `network`. They wait synchronously, and
//! never longer than the given timeout. Outside a component they are real ones of the developer's machine, so that tests
//! can bring servers of their own.
//!
//! ```
//! use std::time::Duration;
//! use witlet_plugin_sdk_base::net::{Problem, TcpStream};
//! use witlet_plugin_sdk_base::time::Deadline;
//!
//! # use std::io::Write as _;
//! let server = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let port = server.local_addr()?.port();
//! let serving = std::thread::spawn(move || server.accept()?.0.write_all(b"hello"));
//!
//! let deadline = Deadline::after(Duration::from_secs(5));
//! let mut stream = TcpStream::connect("127.0.0.1", port, deadline)?;
//! assert_eq!(stream.read(100, deadline)?, b"hello");
//! assert_eq!(stream.read(100, deadline)?, b"", "the server has closed");
//!
//! # serving.join().expect("it ends")?;
//! let error = TcpStream::connect("127.0.0.1", port, deadline).expect_err("no server listens any more");
//! assert_eq!(error.problem, Problem::Refused);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(target_family = "wasm")]
mod wasi;

#[cfg(not(target_family = "wasm"))]
use native as backend;
#[cfg(target_family = "wasm")]
use wasi as backend;

use crate::time::Deadline;

/// What went wrong. The words are those of upstream's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// No server listens there.
    #[error("connect: connection refused")]
    Refused,
    /// The other side broke the connection off.
    #[error("connection reset by peer")]
    Reset,
    /// No way leads there.
    #[error("connect: no route to host")]
    Unreachable,
    /// The deadline was over.
    #[error("i/o timeout")]
    TimedOut,
    /// The plugin's grants don't let it go there.
    #[error("not granted to the plugin")]
    Denied,
    /// No host has this name.
    #[error("lookup: no such host")]
    NoSuchName,
    /// The name servers give no answer.
    #[error("lookup: server misbehaving")]
    NameServers,
    /// Anything else, in the system's word.
    #[error("{0}")]
    System(&'static str),
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Opening a connection, or looking up its name.
    Dial,
    /// Reading from it.
    Read,
    /// Writing to it.
    Write,
}

/// What failed, such as `dial tcp 10.0.0.7:80: connect: connection refused`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {network} {address}: {problem}", operation.as_str())]
pub struct Error {
    /// What was tried.
    pub operation: Operation,
    /// `tcp` or `udp`.
    pub network: &'static str,
    /// Host and port, as they were given.
    pub address: String,
    /// What went wrong.
    pub problem: Problem,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Dial => "dial",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// `host:port`, an IPv6 address in brackets.
///
/// ```
/// # use witlet_plugin_sdk_base::net::host_port;
/// assert_eq!(host_port("10.0.0.7", 80), "10.0.0.7:80");
/// assert_eq!(host_port("fd00::7", 80), "[fd00::7]:80");
/// ```
pub fn host_port(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// A connection; it is closed when it is dropped.
#[derive(Debug)]
pub struct TcpStream {
    stream: backend::TcpStream,
    address: String,
}

impl TcpStream {
    /// Opens a connection to an address, or to one of a name's addresses.
    ///
    /// # Errors
    /// When there is no connection by the deadline.
    pub fn connect(host: &str, port: u16, deadline: Deadline) -> Result<Self, Error> {
        let address = host_port(host, port);
        match backend::TcpStream::connect(host, port, deadline) {
            Ok(stream) => Ok(Self { stream, address }),
            Err(problem) => Err(Error { operation: Operation::Dial, network: TCP, address, problem }),
        }
    }

    /// Waits for bytes and gives what is there, at most so many; nothing once the other side has closed.
    ///
    /// # Errors
    /// When nothing comes by the deadline, or the connection breaks.
    pub fn read(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Error> {
        let read = self.stream.read(bytes_max, deadline);
        read.map_err(|problem| self.error(Operation::Read, problem))
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// When it doesn't fit by the deadline, or the connection breaks.
    pub fn write_all(&mut self, bytes: &[u8], deadline: Deadline) -> Result<(), Error> {
        let written = self.stream.write_all(bytes, deadline);
        written.map_err(|problem| self.error(Operation::Write, problem))
    }

    fn error(&self, operation: Operation, problem: Problem) -> Error {
        Error { operation, network: TCP, address: self.address.clone(), problem }
    }
}

/// Each of a name's addresses with its deadline: what is left when its turn comes, shared with those behind it, so that one
/// that doesn't answer leaves time for the others.
fn in_turn<A>(addresses: Vec<A>, deadline: Deadline) -> impl Iterator<Item = (A, Deadline)> {
    let count = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    addresses.into_iter().zip((1..=count).rev()).map(move |(address, behind)| {
        let this_turn = if behind == 1 { deadline } else { Deadline::after(deadline.left() / behind) };
        (address, this_turn)
    })
}

const TCP: &str = "tcp";
const UDP: &str = "udp";

/// A UDP socket that sends to one peer and receives from that peer alone.
#[derive(Debug)]
pub struct UdpSocket {
    socket: backend::UdpSocket,
    address: String,
}

impl UdpSocket {
    /// A socket for an address, or for the first of a name's addresses. Nothing is sent yet.
    ///
    /// # Errors
    /// When the name isn't found by the deadline, or the grants don't allow it.
    pub fn connect(host: &str, port: u16, deadline: Deadline) -> Result<Self, Error> {
        let address = host_port(host, port);
        match backend::UdpSocket::connect(host, port, deadline) {
            Ok(socket) => Ok(Self { socket, address }),
            Err(problem) => Err(Error { operation: Operation::Dial, network: UDP, address, problem }),
        }
    }

    /// Sends one datagram.
    ///
    /// # Errors
    /// When it can't be sent by the deadline.
    pub fn send(&mut self, bytes: &[u8], deadline: Deadline) -> Result<(), Error> {
        let sent = self.socket.send(bytes, deadline);
        sent.map_err(|problem| self.error(Operation::Write, problem))
    }

    /// Waits for one datagram, and gives its first bytes, at most so many.
    ///
    /// # Errors
    /// When none comes by the deadline, or the peer's machine says that no server listens.
    pub fn receive(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Error> {
        let received = self.socket.receive(bytes_max, deadline);
        received.map_err(|problem| self.error(Operation::Read, problem))
    }

    fn error(&self, operation: Operation, problem: Problem) -> Error {
        Error { operation, network: UDP, address: self.address.clone(), problem }
    }
}

#[cfg(test)]
mod tests;
