//! The loopback interface of a pod, in the network namespace of one of its processes.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use thiserror::Error;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout_at};

/// Why a pod's loopback interface isn't reached.
#[derive(Debug, Error)]
pub enum LoopbackError {
    /// No grant opens it.
    #[error("dial tcp 127.0.0.1: not granted (grants.network: [pod-loopback])")]
    Denied,
    /// The runtime doesn't say which processes the container has.
    #[error(
        "the container runtime doesn't say which process the container has, so that its network can't be entered"
    )]
    NoProcess,
    /// Its network is the node's.
    #[error(
        "the pod is in the network of the host, whose loopback interface isn't its own: grant 127.0.0.1 with the port, and connect there"
    )]
    HostNetwork,
    /// The namespace can't be entered.
    #[error("failed to enter the network of process {process}: {cause}")]
    Enter { process: u32, cause: io::Error },
    #[error("dial tcp 127.0.0.1:{port}: i/o timeout")]
    Timeout { port: u16 },
    #[error("failed to connect to the pod's loopback interface: {0}")]
    Connect(#[source] io::Error),
}

/// Connects to a port of the loopback interface in the network namespace of a process: by IPv4 and, if no one listens there, by IPv6.
pub(crate) async fn connect(process: u32, port: u16, deadline: Instant) -> Result<TcpStream, LoopbackError> {
    let making = tokio::task::spawn_blocking(move || sockets(process)).await;
    let made = making.map_err(|error| LoopbackError::Enter { process, cause: io::Error::other(error) })??;
    let loopback: [SocketAddr; 2] = [(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()];
    let mut refused = None;
    for (socket, address) in made.into_iter().zip(loopback) {
        // A machine may have no IPv6.
        let Ok(socket) = socket else { continue };
        let socket = TcpSocket::from_std_stream(std::net::TcpStream::from(socket));
        match timeout_at(deadline, socket.connect(address)).await {
            Err(_elapsed) => return Err(LoopbackError::Timeout { port }),
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(cause)) => refused = refused.or(Some(cause)),
        }
    }
    let cause = refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into());
    Err(LoopbackError::Connect(cause))
}

/// A socket of each family in the namespace. It stays there, whichever thread uses it.
fn sockets(process: u32) -> Result<[io::Result<OwnedFd>; 2], LoopbackError> {
    let enter = |cause: io::Error| LoopbackError::Enter { process, cause };
    let namespace = open(process).map_err(enter)?;
    let is_ours = is_same(&namespace, Path::new("/proc/thread-self/ns/net")).map_err(enter)?;
    if is_ours {
        return Err(LoopbackError::HostNetwork);
    }
    let make = move || -> io::Result<[io::Result<OwnedFd>; 2]> {
        // Only this thread moves, and it ends below.
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = |family| socket_with(family, SocketType::STREAM, flags, None).map_err(io::Error::from);
        Ok([socket(AddressFamily::INET), socket(AddressFamily::INET6)])
    };
    let thread = std::thread::Builder::new().name("pod-network".to_owned()).spawn(make).map_err(enter)?;
    match thread.join() {
        Ok(made) => made.map_err(enter),
        Err(_panicked) => Err(enter(io::Error::other("the thread ended"))),
    }
}

fn open(process: u32) -> io::Result<File> {
    File::open(format!("/proc/{process}/ns/net"))
}

/// Whether both are one namespace.
fn is_same(namespace: &File, path: &Path) -> io::Result<bool> {
    let (one, other) = (namespace.metadata()?, std::fs::metadata(path)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}
