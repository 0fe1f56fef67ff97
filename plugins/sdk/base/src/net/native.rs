//! The same on the developer's machine: blocking sockets with timeouts.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use super::{Problem, in_turn};
use crate::time::Deadline;

#[derive(Debug)]
pub(super) struct TcpStream(std::net::TcpStream);

impl TcpStream {
    pub(super) fn connect(host: &str, port: u16, deadline: Deadline) -> Result<Self, Problem> {
        let mut last = Problem::NoSuchName;
        for (address, deadline) in in_turn(look_up(host, port)?, deadline) {
            match std::net::TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => return Ok(Self(stream)),
                Err(error) => last = problem(&error),
            }
        }
        Err(last)
    }

    pub(super) fn read(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Problem> {
        self.0.set_read_timeout(Some(left(deadline)?)).map_err(|error| problem(&error))?;
        let mut bytes = vec![0; bytes_max];
        let count = self.0.read(&mut bytes).map_err(|error| problem(&error))?;
        bytes.truncate(count);
        Ok(bytes)
    }

    pub(super) fn write_all(&mut self, bytes: &[u8], deadline: Deadline) -> Result<(), Problem> {
        self.0.set_write_timeout(Some(left(deadline)?)).map_err(|error| problem(&error))?;
        self.0.write_all(bytes).map_err(|error| problem(&error))
    }
}

#[derive(Debug)]
pub(super) struct UdpSocket(std::net::UdpSocket);

impl UdpSocket {
    pub(super) fn connect(host: &str, port: u16, deadline: Deadline) -> Result<Self, Problem> {
        left(deadline)?;
        let address = look_up(host, port)?.into_iter().next().ok_or(Problem::NoSuchName)?;
        let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let bound = std::net::UdpSocket::bind(any).and_then(|socket| {
            socket.connect(address)?;
            Ok(socket)
        });
        bound.map(Self).map_err(|error| problem(&error))
    }

    pub(super) fn send(&mut self, bytes: &[u8], deadline: Deadline) -> Result<(), Problem> {
        self.0.set_write_timeout(Some(left(deadline)?)).map_err(|error| problem(&error))?;
        self.0.send(bytes).map(|_| ()).map_err(|error| problem(&error))
    }

    pub(super) fn receive(&mut self, bytes_max: usize, deadline: Deadline) -> Result<Vec<u8>, Problem> {
        self.0.set_read_timeout(Some(left(deadline)?)).map_err(|error| problem(&error))?;
        let mut bytes = vec![0; bytes_max];
        let count = self.0.recv(&mut bytes).map_err(|error| problem(&error))?;
        bytes.truncate(count);
        Ok(bytes)
    }
}

/// What is left; the system takes no zero for a timeout.
fn left(deadline: Deadline) -> Result<Duration, Problem> {
    let left = deadline.left();
    if left.is_zero() { Err(Problem::TimedOut) } else { Ok(left) }
}

fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, Problem> {
    let addresses = (host, port).to_socket_addrs().map_err(|_| Problem::NoSuchName)?;
    Ok(addresses.collect())
}

fn problem(error: &io::Error) -> Problem {
    match error.kind() {
        ErrorKind::ConnectionRefused => Problem::Refused,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Problem::Reset,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Problem::Unreachable,
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Problem::TimedOut,
        ErrorKind::PermissionDenied => Problem::Denied,
        _ => Problem::System("i/o error"),
    }
}
