//! TCP probes against loopback.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

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

#[tokio::test]
async fn lookups_that_hang_take_no_more_threads_than_there_is_room_for() {
    let room = Arc::new(Semaphore::new(2));
    let begun = Arc::new(AtomicUsize::new(0));
    let (release, wait) = mpsc::sync_channel::<()>(0);
    let wait = Arc::new(Mutex::new(wait));
    let hung = || {
        let (begun, wait) = (begun.clone(), wait.clone());
        look_up(&room, move || {
            begun.fetch_add(1, Ordering::SeqCst);
            // Ends when the sender is gone.
            let _ = wait.lock().expect("a lock").recv();
            Ok(Vec::new())
        })
    };
    for _ in 0..20 {
        let given_up = tokio::time::timeout(Duration::from_millis(5), hung()).await;
        given_up.expect_err("it hangs");
    }
    // Their callers are long gone, and the room is taken all the same.
    assert!(begun.load(Ordering::SeqCst) <= 2, "{begun:?}");
    assert!(tokio::time::timeout(LONG, connect("127.0.0.1", Server::stuck().await.port())).await.is_ok());
    drop(release);
    ends(look_up(&room, || Ok(Vec::new()))).await.expect("there is room again");
}

#[test]
fn addresses_with_colons_are_bracketed() {
    assert_eq!(host_port("fd00::7", 80), "[fd00::7]:80");
    assert_eq!(host_port("10.0.0.7", 80), "10.0.0.7:80");
    assert_eq!(host_port("localhost", 80), "localhost:80");
}
