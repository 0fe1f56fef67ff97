//! Probes of loopback.

use std::net::TcpListener;
use std::time::Duration;

use witlet_plugin_sdk::facts::TargetFacts;
use witlet_plugin_sdk::probe::{Outcome, ProbeType};

use super::{Parameters, TcpSocket};

fn probe(host: Option<&str>, port: u16, facts: &TargetFacts) -> Result<Outcome, String> {
    let parameters = Parameters { host: host.map(str::to_owned), port };
    TcpSocket::probe(&facts.target(), &parameters, &()).map_err(|error| error.to_string())
}

fn on_loopback() -> TargetFacts {
    TargetFacts {
        pod_ips: vec!["127.0.0.1".to_owned()],
        remaining: Duration::from_secs(30),
        ..TargetFacts::default()
    }
}

/// No one listens at `tcpmux`, which no server is given by chance: a port that was free a moment ago may be another test's now.
const CLOSED_PORT: u16 = 1;

#[test]
fn an_open_port_is_enough() {
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let port = server.local_addr().expect("it is bound").port();
    for host in [None, Some(""), Some("127.0.0.1"), Some("localhost")] {
        assert_eq!(probe(host, port, &on_loopback()), Ok(Outcome::Success(String::new())), "{host:?}");
    }
}

#[test]
fn a_closed_port_and_a_name_that_isnt_one_are_failures() {
    let port = CLOSED_PORT;
    let expected = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(probe(None, port, &on_loopback()), Ok(Outcome::Failure(expected)));
    let expected = "dial tcp not a name:80: lookup: no such host".to_owned();
    assert_eq!(probe(Some("not a name"), 80, &on_loopback()), Ok(Outcome::Failure(expected)));
}

#[test]
fn no_time_is_a_timeout() {
    let port = CLOSED_PORT;
    let facts = TargetFacts { remaining: Duration::ZERO, ..on_loopback() };
    let expected = format!("dial tcp 127.0.0.1:{port}: i/o timeout");
    assert_eq!(probe(None, port, &facts), Ok(Outcome::Failure(expected)));
}

#[test]
fn a_pod_without_an_address_cant_be_judged() {
    let facts = TargetFacts { pod_ips: Vec::new(), ..on_loopback() };
    assert_eq!(probe(None, 80, &facts), Err("the pod has no IP address".to_owned()));
}

#[test]
fn port_0_is_refused() {
    assert!(TcpSocket::check_parameters(&Parameters { host: None, port: 1 }, &()).is_ok());
    let refused = TcpSocket::check_parameters(&Parameters { host: None, port: 0 }, &()).expect_err("no port");
    assert_eq!(refused.to_string(), "port: must be 1 to 65535");
}
