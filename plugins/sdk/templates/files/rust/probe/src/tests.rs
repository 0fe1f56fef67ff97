//! The probe type, with servers of the test's own.

use std::io::Write as _;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use witlet_plugin_sdk::facts::TargetFacts;
use witlet_plugin_sdk::probe::{Outcome, ProbeType};

use super::{EXPECT_BYTES_MAX, Parameters, {{Camel}}};

fn target() -> TargetFacts {
    TargetFacts {
        pod_ips: vec!["127.0.0.1".to_owned()],
        remaining: Duration::from_secs(5),
        ..TargetFacts::default()
    }
}

fn parameters(port: u16) -> Parameters {
    Parameters { port, expect: "220 ".to_owned() }
}

/// What comes of a server that says this and closes.
fn probe(greeting: &'static [u8]) -> Outcome {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = server.local_addr().expect("it is bound").port();
    let serving = thread::spawn(move || server.accept().and_then(|(mut stream, _)| stream.write_all(greeting)));
    let outcome = {{Camel}}::probe(&target().target(), &parameters(port), &()).expect("an outcome");
    serving.join().expect("the server ends").expect("it was asked");
    outcome
}

#[test]
fn the_greeting_that_is_expected_is_a_success() {
    assert_eq!(probe(b"220 "), Outcome::Success(r#"it says "220 ""#.to_owned()));
}

#[test]
fn another_greeting_is_a_failure() {
    assert_eq!(probe(b"554 "), Outcome::Failure(r#"it says "554 ", not "220 ""#.to_owned()));
    assert_eq!(probe(b"22"), Outcome::Failure(r#"it says "22", not "220 ""#.to_owned()));
}

#[test]
fn a_port_where_no_one_listens_is_a_failure() {
    // `tcpmux`, which no server is given by chance.
    let outcome = {{Camel}}::probe(&target().target(), &parameters(1), &()).expect("an outcome");
    assert!(matches!(&outcome, Outcome::Failure(detail) if detail.contains("refused")), "{outcome:?}");
}

#[test]
fn a_pod_without_an_address_is_an_error() {
    let facts = TargetFacts::default();
    let error = {{Camel}}::probe(&facts.target(), &parameters(25), &()).expect_err("there is no address");
    assert_eq!(error.to_string(), "the pod has no IP address");
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    for (port, expect, problem) in [
        (0, "220 ".to_owned(), "port: may not be 0"),
        (25, String::new(), "expect: may not be empty"),
        (25, "a".repeat(EXPECT_BYTES_MAX + 1), "expect: has more than 1024 bytes"),
    ] {
        let parameters = Parameters { port, expect };
        let error = {{Camel}}::check_parameters(&parameters, &()).expect_err("it makes no sense");
        assert_eq!(error.to_string(), problem);
    }
}
