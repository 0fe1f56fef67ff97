//! The probe type, with servers of the test's own.

use std::io::Write as _;
use std::net::TcpListener;
use std::thread;

use serde_json::json;
use witlet_plugin_sdk_0_2::facts::{TargetFacts, check_parameters};
use witlet_plugin_sdk_0_2::probe::{Finding, Outcome, ProbeType};

use super::{EXPECT_BYTES_MAX, Parameters, {{Camel}}};

fn target() -> TargetFacts {
    TargetFacts::of(&json!({"metadata": {"name": "mail"}}))
}

/// What comes of the port on this machine.
fn probe_port(port: u16) -> Outcome {
    let parameters = Parameters { port, expect: "220 ".to_owned() };
    {{Camel}} {}.probe(&target().at("127.0.0.1").target(), &parameters).expect("an outcome")
}

/// What comes of a server that says this and closes.
fn probe(greeting: &'static [u8]) -> Outcome {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = server.local_addr().expect("it is bound").port();
    let serving = thread::spawn(move || server.accept().and_then(|(mut stream, _)| stream.write_all(greeting)));
    let outcome = probe_port(port);
    serving.join().expect("the server ends").expect("it was asked");
    outcome
}

#[test]
fn the_greeting_that_is_expected_is_a_success() {
    assert_eq!(probe(b"220 "), Outcome::success(r#"it says "220 ""#));
}

#[test]
fn another_greeting_is_a_failure() {
    assert_eq!(probe(b"554 "), Outcome::failure(r#"it says "554 ", not "220 ""#));
    assert_eq!(probe(b"22"), Outcome::failure(r#"it says "22", not "220 ""#));
}

#[test]
fn a_port_where_no_one_listens_is_a_failure() {
    // `tcpmux`, which no server is given by chance.
    let outcome = probe_port(1);
    assert!(matches!(outcome.finding(), Finding::Failure(words) if words.contains("refused")), "{outcome:?}");
}

#[test]
fn a_pod_without_an_address_is_an_error() {
    let parameters = Parameters { port: 25, expect: "220 ".to_owned() };
    let error = {{Camel}} {}.probe(&target().target(), &parameters).expect_err("there is no address");
    assert_eq!(error.code(), "NoAddress");
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    for (parameters, problem) in [
        (json!({"port": 0, "expect": "220 "}), "port: may not be 0"),
        (json!({"port": 25, "expect": ""}), "expect: may not be empty"),
        (json!({"port": 25, "expect": "a".repeat(EXPECT_BYTES_MAX + 1)}), "expect: has more than 1024 bytes"),
    ] {
        let error = check_parameters(&{{Camel}} {}, &parameters).expect_err("it makes no sense");
        assert_eq!((error.code(), error.message()), ("InvalidParameters", problem));
    }
    assert_eq!(check_parameters(&{{Camel}} {}, &json!({"port": 25, "expect": "220 "})), Ok(Vec::new()));
}
