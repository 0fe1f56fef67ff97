//! Connections that a guest reads and writes through the host: by TCP, and by TLS from when it says so.

use std::io;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::client::TlsStream;

use crate::connect::ConnectError;
use crate::egress::Egress;
use crate::grant::TlsPolicy;
use crate::namespace::{self, LoopbackError};
use crate::reach::Reach;
use crate::tls::{TlsError, Watched};

#[cfg(test)]
mod tests;

/// The most that is read at once.
pub const READ_BYTES_MAX: usize = 64 << 10;

/// A connection that a guest reads and writes.
#[derive(Debug)]
pub struct Connection(Stream);

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<Watched>>),
    /// A handshake failed, and took it along.
    Broken,
}

/// Why a connection isn't opened, or of no use any more.
#[derive(Debug, Error)]
pub enum StreamError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The pod's loopback isn't reached.
    #[error(transparent)]
    Loopback(#[from] LoopbackError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// It speaks TLS already.
    #[error("the connection already uses TLS")]
    AlreadyTls,
    /// A handshake failed on it.
    #[error("the connection is closed")]
    Closed,
    #[error("i/o timeout")]
    Timeout,
    /// The other side, or the network.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl StreamError {
    /// A CamelCase word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Connect(ConnectError::Denied { .. }) | Self::Loopback(LoopbackError::Denied) => {
                "NotGranted"
            }
            Self::Connect(ConnectError::Lookup(_)) => "NoSuchName",
            Self::Connect(ConnectError::Timeout { .. }) | Self::Timeout => "TimedOut",
            Self::Connect(ConnectError::Failed { cause, .. }) | Self::Io(cause) => of_kind(cause.kind()),
            Self::Loopback(LoopbackError::Connect(cause)) => of_kind(cause.kind()),
            Self::Loopback(LoopbackError::Timeout { .. }) => "TimedOut",
            Self::Loopback(_) => "NoNetwork",
            Self::Tls(TlsError::Certificate { .. } | TlsError::NoAuthorities) => "CertificateInvalid",
            Self::Tls(_) => "TlsFailed",
            Self::AlreadyTls => "AlreadyTls",
            Self::Closed => "Closed",
        }
    }
}

fn of_kind(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::ConnectionRefused => "Refused",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => "Reset",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "Unreachable",
        io::ErrorKind::TimedOut => "TimedOut",
        _ => "Failed",
    }
}

impl Egress {
    /// Opens a connection to an address or name that a call reaches, before the deadline.
    ///
    /// # Errors
    /// The call may not reach the target, or it doesn't accept the connection in time.
    pub async fn open(
        &self,
        reach: &Reach,
        host: &str,
        port: u16,
        deadline: Instant,
    ) -> Result<Connection, StreamError> {
        Ok(Connection(Stream::Plain(self.connect(reach, host, port, deadline).await?)))
    }

    /// Opens a connection to a port of the loopback interface in the network namespace of a process, if the call reaches that.
    ///
    /// # Errors
    /// The call may not reach the port, the namespace can't be entered, or nothing accepts the connection in time.
    pub async fn open_loopback(
        &self,
        reach: &Reach,
        process: u32,
        port: u16,
        deadline: Instant,
    ) -> Result<Connection, StreamError> {
        if !reach.permits_pod_loopback() {
            return Err(LoopbackError::Denied.into());
        }
        Ok(Connection(Stream::Plain(namespace::connect(process, port, deadline).await?)))
    }
}

impl Connection {
    /// Makes TLS of it, with a server that must be `name`: a name or an address.
    ///
    /// # Errors
    /// It speaks TLS already, the handshake fails, or the deadline passes. After a failed handshake the connection is closed.
    pub async fn start_tls(
        &mut self,
        egress: &Egress,
        policy: TlsPolicy,
        name: &str,
        deadline: Instant,
    ) -> Result<(), StreamError> {
        let stream = match std::mem::replace(&mut self.0, Stream::Broken) {
            Stream::Plain(stream) => stream,
            tls @ Stream::Tls(_) => {
                self.0 = tls;
                return Err(StreamError::AlreadyTls);
            }
            Stream::Broken => return Err(StreamError::Closed),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let handshake = timeout_at(deadline, egress.trust.raw_handshake(policy, name, stream)).await;
        self.0 = Stream::Tls(Box::new(handshake.map_err(|_| StreamError::Timeout)??));
        Ok(())
    }

    /// Sends all of it.
    ///
    /// # Errors
    /// The connection is closed or fails, or the deadline passes.
    pub async fn write_all(&mut self, bytes: &[u8], deadline: Instant) -> Result<(), StreamError> {
        let writing = async {
            match &mut self.0 {
                Stream::Plain(stream) => send(stream, bytes).await,
                Stream::Tls(stream) => send(stream, bytes).await,
                Stream::Broken => Err(StreamError::Closed),
            }
        };
        timeout_at(deadline, writing).await.map_err(|_| StreamError::Timeout)?
    }

    /// Waits for what comes next, at most so many bytes, which is 1 at least and [`READ_BYTES_MAX`] at most. Nothing is the end.
    ///
    /// # Errors
    /// The connection is closed or fails, or the deadline passes.
    pub async fn read(&mut self, bytes_max: usize, deadline: Instant) -> Result<Vec<u8>, StreamError> {
        let mut buffer = vec![0; bytes_max.clamp(1, READ_BYTES_MAX)];
        let reading = async {
            match &mut self.0 {
                Stream::Plain(stream) => receive(stream, &mut buffer).await,
                Stream::Tls(stream) => receive(stream, &mut buffer).await,
                Stream::Broken => Err(StreamError::Closed),
            }
        };
        let read = timeout_at(deadline, reading).await.map_err(|_| StreamError::Timeout)??;
        buffer.truncate(read);
        Ok(buffer)
    }

    /// Says that nothing more is sent.
    ///
    /// # Errors
    /// The connection is closed or fails, or the deadline passes.
    pub async fn shutdown(&mut self, deadline: Instant) -> Result<(), StreamError> {
        let ending = async {
            match &mut self.0 {
                Stream::Plain(stream) => stream.shutdown().await,
                Stream::Tls(stream) => stream.shutdown().await,
                Stream::Broken => Ok(()),
            }
        };
        Ok(timeout_at(deadline, ending).await.map_err(|_| StreamError::Timeout)??)
    }

    /// The certificates that the server showed, its own first, in DER; none of a connection in the clear.
    pub fn peer_certificates(&self) -> Vec<Vec<u8>> {
        let Stream::Tls(stream) = &self.0 else { return Vec::new() };
        let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
        shown.iter().map(|certificate| certificate.to_vec()).collect()
    }
}

async fn send(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> Result<(), StreamError> {
    stream.write_all(bytes).await?;
    Ok(stream.flush().await?)
}

async fn receive(stream: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> Result<usize, StreamError> {
    match stream.read(buffer).await {
        Ok(read) => Ok(read),
        // A server that closes without a word of TLS has ended all the same: what it said before was said.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        Err(error) => Err(error.into()),
    }
}
