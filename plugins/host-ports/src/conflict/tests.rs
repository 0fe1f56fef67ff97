//! Tests of the conflict rules.

use witlet_plugin_sdk::HostPort;

use super::conflicts;

/// Parses `TCP 10.0.0.1 80`, with `-` for an empty word.
fn port(text: &str) -> HostPort {
    let words: Vec<&str> = text.split(' ').map(|word| word.trim_matches('-')).collect();
    let [protocol, ip, number] = words[..] else { panic!("protocol, address and port in {text:?}") };
    HostPort { ip: ip.to_owned(), protocol: protocol.to_owned(), port: number.parse().expect("a port") }
}

#[test]
fn ports_exclude_each_other_by_protocol_number_and_address() {
    let cases = [
        ("TCP 0.0.0.0 80", "TCP 0.0.0.0 80", true),
        ("TCP 0.0.0.0 80", "TCP 0.0.0.0 81", false),
        ("TCP 0.0.0.0 80", "UDP 0.0.0.0 80", false),
        ("UDP 0.0.0.0 80", "SCTP 0.0.0.0 80", false),
        ("TCP 10.0.0.1 80", "TCP 10.0.0.1 80", true),
        ("TCP 10.0.0.1 80", "TCP 10.0.0.2 80", false),
        ("TCP 10.0.0.1 80", "TCP 0.0.0.0 80", true),
        ("TCP - 80", "TCP 10.0.0.1 80", true),
        ("- - 80", "TCP 0.0.0.0 80", true),
        ("- - 80", "UDP 0.0.0.0 80", false),
        ("TCP :: 80", "TCP :: 80", true),
        ("TCP :: 80", "TCP 10.0.0.1 80", false),
        ("TCP :: 80", "TCP 0.0.0.0 80", true),
        ("TCP 0.0.0.0 0", "TCP 0.0.0.0 0", false),
    ];
    for (one, other, expected) in cases {
        assert_eq!(conflicts(&[port(one)], &[port(other)]), expected, "{one} and {other}");
        assert_eq!(conflicts(&[port(other)], &[port(one)]), expected, "{other} and {one}");
    }
}

#[test]
fn one_taken_port_among_many_is_a_conflict() {
    let used: Vec<HostPort> = ["TCP 0.0.0.0 80", "UDP 0.0.0.0 53"].map(port).into();
    assert!(conflicts(&["TCP 0.0.0.0 8080", "UDP 10.0.0.1 53"].map(port), &used));
    assert!(!conflicts(&["TCP 0.0.0.0 8080", "TCP 10.0.0.1 53"].map(port), &used));
    assert!(!conflicts(&[], &used));
}

#[test]
fn a_pod_may_want_the_same_port_twice_as_far_as_others_are_concerned() {
    assert!(!conflicts(&["TCP 0.0.0.0 80", "TCP 0.0.0.0 80"].map(port), &[]));
}
