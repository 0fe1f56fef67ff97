//! Cases for what pods may do on the network.

use super::*;

const OWN: Ipv4Addr = Ipv4Addr::new(127, 88, 0, 7);

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

#[test]
fn binds_go_to_the_pods_address_or_nowhere() {
    for (requested, expected) in [
        ("0.0.0.0:80", Ok("127.88.0.7:80")),
        ("0.0.0.0:0", Ok("127.88.0.7:0")),
        ("127.88.0.7:80", Ok("127.88.0.7:80")),
        ("127.88.0.8:80", Err(Refusal::NotThePods)),
        ("127.0.0.1:80", Err(Refusal::NotThePods)),
        ("192.0.2.1:80", Err(Refusal::NotThePods)),
        ("[::]:80", Err(Refusal::NoIpv6)),
        ("[::1]:80", Err(Refusal::NoIpv6)),
    ] {
        assert_eq!(Network::Pod(OWN).bind(address(requested)), expected.map(address), "{requested}");
        assert_eq!(Network::Host.bind(address(requested)), Ok(address(requested)), "{requested}");
    }
}

#[test]
fn traffic_goes_to_pods_or_nowhere() {
    for (requested, expected) in [
        ("127.88.0.8:80", Ok("127.88.0.8:80")),
        ("127.88.0.7:80", Ok("127.88.0.7:80")),
        ("127.0.0.1:80", Ok("127.88.0.7:80")),
        ("127.0.0.2:80", Err(Refusal::OutOfReach)),
        ("127.88.255.255:80", Err(Refusal::OutOfReach)),
        ("192.0.2.1:80", Err(Refusal::OutOfReach)),
        ("[::1]:80", Err(Refusal::NoIpv6)),
        ("[::ffff:127.88.0.8]:80", Err(Refusal::NoIpv6)),
    ] {
        assert_eq!(Network::Pod(OWN).reach(address(requested)), expected.map(address), "{requested}");
        assert_eq!(Network::Host.reach(address(requested)), Ok(address(requested)), "{requested}");
    }
}

#[test]
fn names_are_not_looked_up_for_pods_of_their_own_address() {
    for (name, expected) in [
        ("localhost", Some("127.88.0.7")),
        ("LocalHost", Some("127.88.0.7")),
        ("127.88.0.9", Some("127.88.0.9")),
        ("::1", Some("::1")),
        ("example.com", None),
        ("", None),
    ] {
        assert_eq!(Network::Pod(OWN).lookup(name), expected.map(str::to_owned), "{name:?}");
    }
    assert_eq!(Network::Host.lookup("example.com").as_deref(), Some("example.com"));
}
