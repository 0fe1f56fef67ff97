//! Nothing waits, and randomness follows from its seed.

use super::sync_link::at_once;
use super::*;

#[test]
fn a_future_that_yields_once_is_there_at_once() {
    let mut polled = 0;
    let yields_once = std::future::poll_fn(|_| {
        polled += 1;
        if polled == 1 { std::task::Poll::Pending } else { std::task::Poll::Ready(7) }
    });
    assert_eq!(at_once("call", yields_once), Ok(7));
    assert_eq!(at_once("call", std::future::pending::<()>()), Err(WouldBlock { call: "call" }));
}

#[test]
fn random_bytes_differ_by_seed_and_purpose_only() {
    let bytes = random_bytes("uid-1", "secure");
    assert_eq!(bytes.len(), RANDOM_PERIOD_BYTES);
    assert_eq!(bytes, random_bytes("uid-1", "secure"));
    assert_ne!(bytes, random_bytes("uid-2", "secure"));
    assert_ne!(bytes, random_bytes("uid-1", "insecure"));
    assert_ne!(bytes[..32], bytes[32..64], "blocks differ");
}

#[test]
fn a_clock_that_stands_still_never_shows_zero() {
    for (moment, shown) in
        [(Duration::ZERO, 1), (Duration::from_nanos(1), 1), (Duration::from_secs(1), 1_000_000_000)]
    {
        assert_eq!(HostMonotonicClock::now(&StoppedClock(moment)), shown, "{moment:?}");
    }
}
