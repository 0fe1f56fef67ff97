//! Which of a server's addresses a connection leads to.

use tokio::net::{TcpListener, TcpSocket};
use tokio::time::timeout;

use super::*;

/// Far more than any of this takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// After this long a connection isn't accepted.
const SILENCE: Duration = Duration::from_secs(3);

/// An address of a machine that is gone: nobody refuses, and nobody answers. It is so while the others live.
async fn silent() -> (SocketAddr, TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let listener = socket.listen(0).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut waiting = Vec::new();
    // Nobody accepts, so that the queue is full after a few.
    while let Ok(tcp) = timeout(SILENCE, TcpStream::connect(address)).await {
        waiting.push(tcp.expect("a place in the queue"));
    }
    (address, listener, waiting)
}

async fn connected(addresses: Vec<SocketAddr>) -> io::Result<SocketAddr> {
    let tcp = timeout(PATIENCE, connect_to_any(addresses)).await.expect("in time")?;
    tcp.peer_addr()
}

#[tokio::test]
async fn an_address_that_is_silent_or_refuses_leaves_the_next_one() {
    let live = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let good = live.local_addr().expect("an address");
    // It is taken, and nobody listens there.
    let taken = TcpSocket::new_v4().expect("a socket");
    taken.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let refuses = taken.local_addr().expect("an address");
    let (silent, _listener, _waiting) = silent().await;
    for addresses in [vec![good], vec![refuses, good], vec![silent, good], vec![silent, refuses, good]] {
        assert_eq!(connected(addresses.clone()).await.expect("a connection"), good, "{addresses:?}");
    }
    let error = connected(vec![refuses, refuses]).await.expect_err("nobody listens");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    let error = connected(Vec::new()).await.expect_err("there is no address");
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
