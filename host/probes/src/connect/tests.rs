//! TCP probes against loopback.

use super::*;
use crate::testing::{LONG, Server, ends, free_port};

#[tokio::test]
async fn an_open_port_is_enough() {
    let server = Server::stuck().await;
    for host in ["127.0.0.1", "localhost"] {
        assert_eq!(
            ends(probe(host, server.port(), LONG)).await,
            ProbeOutcome::Success(String::new()),
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_closed_port_is_a_failure() {
    let port = free_port().await;
    let expected = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(ends(probe("127.0.0.1", port, LONG)).await, ProbeOutcome::Failure(expected));
}

#[tokio::test]
async fn a_name_that_isnt_one_is_a_failure() {
    let outcome = ends(probe("not a name", 80, LONG)).await;
    assert!(
        matches!(&outcome, ProbeOutcome::Failure(text) if text.starts_with("dial tcp not a name:80: ")),
        "{outcome:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn no_time_is_a_timeout() {
    let server = Server::stuck().await;
    let expected = format!("dial tcp {}: i/o timeout", server.addr);
    let outcome = probe("localhost", server.port(), Duration::ZERO).await;
    assert_eq!(outcome, ProbeOutcome::Failure(expected.replace("127.0.0.1", "localhost")));
}

#[test]
fn addresses_with_colons_are_bracketed() {
    assert_eq!(host_port("fd00::7", 80), "[fd00::7]:80");
    assert_eq!(host_port("10.0.0.7", 80), "10.0.0.7:80");
    assert_eq!(host_port("localhost", 80), "localhost:80");
}
