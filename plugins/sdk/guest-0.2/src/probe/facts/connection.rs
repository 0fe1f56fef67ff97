//! Connections of the developer's machine, in the place of those that the host opens.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use crate::Error;

/// A connection, in the clear.
#[derive(Debug)]
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(super) fn open(host: &str, port: u16, time: Duration) -> Result<Self, Error> {
        let mut addresses = (host, port).to_socket_addrs().map_err(|error| failed(&error))?;
        let address = addresses.next().ok_or_else(|| Error::new("NoSuchName", "lookup: no such host"))?;
        let stream = TcpStream::connect_timeout(&address, time).map_err(|error| failed(&error))?;
        let timed = stream.set_read_timeout(Some(time)).and_then(|()| stream.set_write_timeout(Some(time)));
        timed.map_err(|error| failed(&error))?;
        Ok(Self(stream))
    }

    pub(crate) fn start_tls(&self, _server_name: &str) -> Result<(), Error> {
        Err(Error::new("TlsFailed", "outside a component there is no TLS"))
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        (&self.0).write_all(bytes).map_err(|error| failed(&error))
    }

    pub(crate) fn read(&self, length: u64) -> Result<Vec<u8>, Error> {
        let mut buffer = vec![0; usize::try_from(length).unwrap_or(usize::MAX).clamp(1, 64 << 10)];
        let read = (&self.0).read(&mut buffer).map_err(|error| failed(&error))?;
        buffer.truncate(read);
        Ok(buffer)
    }

    pub(crate) fn shutdown(&self) -> Result<(), Error> {
        self.0.shutdown(Shutdown::Write).map_err(|error| failed(&error))
    }

    pub(crate) fn peer_certificates(&self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

fn failed(error: &io::Error) -> Error {
    let code = match error.kind() {
        io::ErrorKind::ConnectionRefused => "Refused",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "Reset",
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "TimedOut",
        _ => "Failed",
    };
    Error::new(code, error.to_string())
}
