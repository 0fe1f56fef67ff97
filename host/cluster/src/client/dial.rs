//! TCP connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

#[cfg(test)]
mod tests;

/// Addresses of the server's name that are tried for one connection.
const ADDRESSES_MAX: usize = 16;
/// How long one address may be silent before the next one is tried next to it.
const HEAD_START: Duration = Duration::from_secs(1);
/// A connection on which nothing came for this long is pinged, as client-go does.
pub(super) const PING_AFTER: Duration = Duration::from_secs(30);
/// How long the answer to a ping may take; then the connection is dead.
pub(super) const PING_MAX: Duration = Duration::from_secs(15);

/// Bytes in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection to the first address of this host that answers.
pub(super) async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let found = tokio::net::lookup_host((host, port)).await?;
    let tcp = connect_to_any(found.take(ADDRESSES_MAX).collect(), TcpStream::connect).await?;
    set_options(&tcp)?;
    Ok(tcp)
}

/// Connects to the first of a server's addresses that answers. One that is silent doesn't keep the others from being tried.
async fn connect_to_any<T, F>(addresses: Vec<SocketAddr>, connect: impl Fn(SocketAddr) -> F) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let mut left = addresses.into_iter();
    let mut tries = FuturesUnordered::new();
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
    loop {
        tries.extend(left.next().map(&connect));
        tokio::select! {
            tried = tries.next() => match tried {
                Some(Ok(tcp)) => return Ok(tcp),
                Some(Err(error)) => failed = error,
                None => return Err(failed),
            },
            () = tokio::time::sleep(HEAD_START), if left.len() > 0 => {}
        }
    }
}

/// Half-open connections are noticed by the kernel as well: HTTP/1.1 has no pings.
fn set_options(tcp: &TcpStream) -> io::Result<()> {
    use rustix::net::sockopt;
    tcp.set_nodelay(true)?;
    sockopt::set_socket_keepalive(tcp, true)?;
    sockopt::set_tcp_keepidle(tcp, PING_AFTER)?;
    sockopt::set_tcp_keepintvl(tcp, PING_MAX)?;
    sockopt::set_tcp_keepcnt(tcp, 1)?;
    Ok(())
}
