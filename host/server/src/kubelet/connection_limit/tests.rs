//! Who keeps a permit and who gives way.

use futures::FutureExt as _;

use super::*;

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

fn limit(total: usize) -> Arc<ConnectionLimit> {
    ConnectionLimit::new(ConnectionLimits { total, of_peer: usize::MAX })
}

fn take(limit: &Arc<ConnectionLimit>) -> Arc<ConnectionPermit> {
    take_from(limit, PEER).unwrap()
}

fn take_from(limit: &Arc<ConnectionLimit>, peer: IpAddr) -> Option<Arc<ConnectionPermit>> {
    limit.take(peer).map(Arc::new)
}

fn is_open(limit: &ConnectionLimit) -> bool {
    limit.open().now_or_never().is_some()
}

fn is_revoked(permit: &ConnectionPermit) -> bool {
    permit.revoked().now_or_never().is_some()
}

#[tokio::test]
async fn the_unauthenticated_client_that_came_first_gives_way_and_who_is_known_stays() {
    let limit = limit(3);
    let known = take(&limit);
    known.keep();
    let (first, second) = (take(&limit), take(&limit));
    assert!(!is_revoked(&first), "there was a place");
    let third = take(&limit);
    assert!(is_revoked(&first) && !is_revoked(&second) && !is_revoked(&known));
    // Its end frees nothing: the permit is someone else's.
    drop(first);
    let fourth = take(&limit);
    assert!(is_revoked(&second) && !is_revoked(&third));
    drop(second);
    for permit in [&third, &fourth] {
        permit.keep();
    }
    assert!(!is_open(&limit), "all are known");
    drop(third);
    assert!(is_open(&limit));
    let last = take(&limit);
    assert!(!is_revoked(&known) && !is_revoked(&fourth) && !is_revoked(&last));
    drop((known, fourth, last));
    assert!(limit.state().connections.is_empty());
}

#[tokio::test]
async fn who_waits_for_a_place_gets_the_first_that_is_left() {
    let limit = limit(1);
    let permit = take(&limit);
    permit.keep();
    let mut waiting = std::pin::pin!(limit.open());
    assert!(waiting.as_mut().now_or_never().is_none());
    drop(permit);
    assert!(waiting.now_or_never().is_some());
}

#[tokio::test]
async fn a_connection_is_held_while_it_is_worked_for_and_then_idle() {
    let limit = limit(2);
    let (first, second) = (take(&limit), take(&limit));
    let (held, also_held) = (first.hold(), second.hold());
    let mut waiting = std::pin::pin!(limit.open());
    assert!(waiting.as_mut().now_or_never().is_none(), "both are worked for");
    drop(also_held);
    assert!(waiting.now_or_never().is_some(), "one is idle");
    drop(held);
    // The first was worked for until now, the second is idle for longer.
    let third = take(&limit);
    assert!(is_revoked(&second) && !is_revoked(&first));
    first.asked();
    let fourth = take(&limit);
    assert!(is_revoked(&third) && !is_revoked(&first), "the first asked after the third came");
    drop((second, third));
    assert!(!is_revoked(&fourth));
    assert_eq!(limit.state().connections.len(), 2);
}

#[tokio::test]
async fn one_peer_takes_its_own_places_only() {
    let limit = ConnectionLimit::new(ConnectionLimits { total: 8, of_peer: 2 });
    let other = take_from(&limit, "192.0.2.1".parse().unwrap()).unwrap();
    let (first, second) = (take(&limit), take(&limit));
    let third = take(&limit);
    assert!(is_revoked(&first) && !is_revoked(&second) && !is_revoked(&other));
    drop(first);
    let holds = [second.hold(), third.hold()];
    assert!(take_from(&limit, PEER).is_none(), "both are worked for");
    assert!(take_from(&limit, "::ffff:127.0.0.1".parse().unwrap()).is_none(), "it is the same address");
    drop(holds);
    let network = ["2001:db8::1", "2001:db8::2:3", "2001:db8::4"].map(|address| address.parse().unwrap());
    let [first, second, third] = network.map(|address| take_from(&limit, address).unwrap());
    assert!(is_revoked(&first) && !is_revoked(&second) && !is_revoked(&third), "a network is one peer");
    let elsewhere = take_from(&limit, "2001:db8:0:1::1".parse().unwrap()).unwrap();
    assert!(!is_revoked(&second) && !is_revoked(&elsewhere));
}
