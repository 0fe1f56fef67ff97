//! Probes of sockets on loopback.

use std::net::UdpSocket;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::TargetFacts;
use witlet_plugin_sdk::probe::{Outcome, ProbeType};

use super::{ANSWER_BYTES_MAX, Parameters, SEND_BYTES_MAX, Udp};

fn parameters(mut value: Value, port: u16) -> Parameters {
    value["port"] = json!(port);
    serde_json::from_value(value).expect("parameters")
}

fn probe(parameters: &Parameters, remaining: Duration) -> Outcome {
    let facts = TargetFacts { pod_ips: vec!["127.0.0.1".to_owned()], remaining, ..TargetFacts::default() };
    Udp::probe(&facts.target(), parameters, &()).expect("an outcome")
}

/// A server that leaves so many datagrams unanswered and then gives this answer. It comes to what it received, and to its
/// socket: a datagram that is sent once more since the answer was late isn't refused.
fn server(unanswered: usize, answer: &'static [u8]) -> (u16, JoinHandle<(Vec<u8>, UdpSocket)>) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has a port");
    let port = socket.local_addr().expect("it is bound").port();
    let serving = std::thread::spawn(move || {
        let mut received = [0; 2_048];
        for _ in 0..unanswered {
            socket.recv(&mut received).expect("a datagram");
        }
        let (count, from) = socket.recv_from(&mut received).expect("a datagram");
        socket.send_to(answer, from).expect("it is sent");
        (received[..count].to_vec(), socket)
    });
    (port, serving)
}

#[test]
fn the_answer_decides() {
    let success = |bytes: usize| Outcome::Success(format!("{bytes} bytes were answered"));
    let failure = |text: &str| Outcome::Failure(text.to_owned());
    let cases: [(Value, &[u8], &[u8], Outcome); 6] = [
        (json!({"send": {"text": "ping"}}), b"ping", b"", success(0)),
        (
            json!({"send": {"hex": "ff FF 54"}, "expect": {"hex": "ffff49"}}),
            b"\xff\xff\x54",
            b"\xff\xff\x49more",
            success(7),
        ),
        (json!({"send": {"base64": "AAE="}, "expect": {"base64": "Ag=="}}), b"\0\x01", b"\x02", success(1)),
        (
            json!({"send": {"text": "a"}, "expect": {"text": "yes"}}),
            b"a",
            b"no\n\xff",
            failure("the answer is \"no\\n\\xff\", not \"yes\""),
        ),
        (json!({"send": {"text": "a"}, "expect": {"text": "b"}, "match": "whole"}), b"a", b"b", success(1)),
        (
            json!({"send": {"text": "a"}, "expect": {"text": "b"}, "match": "whole"}),
            b"a",
            b"bc",
            failure("the answer is \"bc\", not \"b\""),
        ),
    ];
    for (value, sent, answer, expected) in cases {
        let (port, serving) = server(0, answer);
        let outcome = probe(&parameters(value.clone(), port), Duration::from_secs(30));
        assert_eq!(outcome, expected, "{value}");
        let (received, _socket) = serving.join().expect("it received something");
        assert_eq!(received, sent, "{value}");
    }
}

#[test]
fn a_datagram_that_gets_lost_is_sent_again() {
    let (port, serving) = server(2, b"at last");
    let outcome = probe(&parameters(json!({"send": {"text": "a"}}), port), Duration::from_secs(30));
    assert_eq!(outcome, Outcome::Success("7 bytes were answered".to_owned()));
    serving.join().expect("it received three");
}

#[test]
fn silence_and_a_closed_port_are_failures() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("loopback has a port");
    let port = silent.local_addr().expect("it is bound").port();
    let asked = parameters(json!({"send": {"text": "a"}}), port);
    // On a busy machine the time may be over before anything was sent.
    let expected = ["read", "write"].map(|what| format!("{what} udp 127.0.0.1:{port}: i/o timeout"));
    let outcome = probe(&asked, Duration::from_millis(150));
    assert!(matches!(&outcome, Outcome::Failure(text) if expected.contains(text)), "{outcome:?}");
    // `tcpmux`, which no server is given by chance. The machine reports that nothing listens by the next call, whichever
    // that is.
    let closed = parameters(json!({"send": {"text": "a"}}), 1);
    let outcome = probe(&closed, Duration::from_secs(30));
    assert!(
        matches!(&outcome, Outcome::Failure(text) if text.ends_with("connect: connection refused")),
        "{outcome:?}"
    );
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let check =
        |value: Value| Udp::check_parameters(&parameters(value, 1), &()).map_err(|error| error.to_string());
    let large = |bytes: usize| json!({"text": "x".repeat(bytes)});
    let cases = [
        (json!({"send": large(SEND_BYTES_MAX)}), Ok(())),
        (json!({"send": {"text": ""}}), Err("send: has 0 bytes, not 1 to 1232")),
        (json!({"send": large(SEND_BYTES_MAX + 1)}), Err("send: has 1233 bytes, not 1 to 1232")),
        (json!({"send": {"hex": "f"}}), Err("send: \"f\" isn't hexadecimal")),
        (json!({"send": {"hex": "fg"}}), Err("send: \"fg\" isn't hexadecimal")),
        (json!({"send": {"base64": "a"}}), Err("send: \"a\" isn't base64")),
        (json!({"send": {"text": "a"}, "expect": {"text": ""}}), Err("expect: has 0 bytes, not 1 to 2048")),
        (
            json!({"send": {"text": "a"}, "expect": large(ANSWER_BYTES_MAX + 1)}),
            Err("expect: has 2049 bytes, not 1 to 2048"),
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(check(value), expected.map_err(str::to_owned));
    }
    let no_port = Udp::check_parameters(&parameters(json!({"send": {"text": "a"}}), 0), &());
    assert_eq!(no_port.map_err(|error| error.to_string()), Err("port: must be 1 to 65535".to_owned()));
    for strange in [
        json!({"port": 1}),
        json!({"port": 1, "send": {"text": "a", "hex": "00"}}),
        json!({"port": 1, "send": "a"}),
    ] {
        assert!(serde_json::from_value::<Parameters>(strange.clone()).is_err(), "{strange}");
    }
}
