//! Connections to loopback.

use super::*;
use crate::testing::{ClosedPort, LIMIT, Server, ends};

#[tokio::test]
async fn an_open_port_takes_a_connection_that_doesnt_delay() {
    let server = Server::stuck().await;
    let stream = ends(connect("x:1".to_owned(), &[server.address], Instant::now() + LIMIT)).await;
    assert!(stream.expect("it listens").nodelay().expect("it is a socket"));
}

#[tokio::test]
async fn a_closed_port_is_said_in_the_systems_words() {
    let closed = ClosedPort::new();
    let to = SocketAddr::from(([127, 0, 0, 1], closed.port()));
    let error = ends(connect(to.to_string(), &[to], Instant::now() + LIMIT)).await.expect_err("it is closed");
    assert_eq!(error.to_string(), format!("dial tcp {to}: connect: connection refused"));
    assert!(
        matches!(&error, ConnectError::Failed { cause, .. } if cause.kind() == io::ErrorKind::ConnectionRefused)
    );
}

#[tokio::test(start_paused = true)]
async fn no_time_is_a_timeout() {
    let server = Server::stuck().await;
    let error =
        connect(server.address.to_string(), &[server.address], Instant::now()).await.expect_err("no time");
    assert_eq!(error.to_string(), format!("dial tcp {}: i/o timeout", server.address));
}

#[test]
fn addresses_share_the_time() {
    let cases = [
        (30, 1, 30_000),
        (30, 3, 10_000),
        (30, 16, 2_000),
        (3, 2, 2_000),
        (1, 2, 1_000),
        (0, 2, 0),
        (10, 0, 10_000),
    ];
    for (left, addresses, expected) in cases {
        let time = attempt_time(Duration::from_secs(left), addresses);
        assert_eq!(time, Duration::from_millis(expected), "{left} s for {addresses}");
    }
}
