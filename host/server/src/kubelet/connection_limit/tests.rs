//! Who keeps a permit and who gives way.

use futures::FutureExt as _;

use super::*;

fn is_open(limit: &ConnectionLimit) -> bool {
    limit.open().now_or_never().is_some()
}

fn is_revoked(permit: &ConnectionPermit) -> bool {
    permit.revoked().now_or_never().is_some()
}

#[tokio::test]
async fn the_unauthenticated_client_that_came_first_gives_way_and_who_is_known_stays() {
    let limit = ConnectionLimit::new(3);
    let known = limit.take();
    known.keep();
    let (first, second) = (limit.take(), limit.take());
    assert!(!is_revoked(&first), "there was a place");
    let third = limit.take();
    assert!(is_revoked(&first) && !is_revoked(&second) && !is_revoked(&known));
    // Its end frees nothing: the permit is someone else's.
    drop(first);
    let fourth = limit.take();
    assert!(is_revoked(&second) && !is_revoked(&third));
    drop(second);
    for permit in [&third, &fourth] {
        permit.keep();
    }
    assert!(!is_open(&limit), "all are known");
    drop(third);
    assert!(is_open(&limit));
    let last = limit.take();
    assert!(!is_revoked(&known) && !is_revoked(&fourth) && !is_revoked(&last));
    drop((known, fourth, last));
    let state = limit.state();
    assert_eq!((state.taken, state.unauthenticated.len()), (0, 0));
}

#[tokio::test]
async fn who_waits_for_a_place_gets_the_first_that_is_left() {
    let limit = ConnectionLimit::new(1);
    let permit = limit.take();
    permit.keep();
    let mut waiting = std::pin::pin!(limit.open());
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(permit);
    assert!(waiting.now_or_never().is_some());
}
