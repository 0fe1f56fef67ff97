//! Probes of a server by script, on loopback.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use witlet_plugin_sdk::facts::TargetFacts;
use witlet_plugin_sdk::probe::{Outcome, ProbeType};

use super::message::startup;
use super::{NAME_BYTES_MAX, Parameters, PostgresReady};

fn probe(parameters: &Parameters, remaining: Duration) -> Outcome {
    let facts = TargetFacts { pod_ips: vec!["127.0.0.1".to_owned()], remaining, ..TargetFacts::default() };
    PostgresReady::probe(&facts.target(), parameters, &()).expect("an outcome")
}

/// What the probe finds at a server that answers a startup so, and closes.
fn of(answer: &'static [u8], parameters: Parameters, startup: Vec<u8>) -> Outcome {
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let port = server.local_addr().expect("it is bound").port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("someone comes");
        let mut received = vec![0; startup.len()];
        stream.read_exact(&mut received).expect("the whole message");
        assert_eq!(received, startup);
        for byte in answer {
            // A client that has read enough hangs up.
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
        }
    });
    let outcome = probe(&Parameters { port: Some(port), ..parameters }, Duration::from_secs(30));
    serving.join().expect("it received what it should");
    outcome
}

#[test]
fn servers_accept_reject_or_dont_answer() {
    let failure = |text: &str| Outcome::Failure(text.to_owned());
    let cases: [(&[u8], _); 4] = [
        (b"R\0\0\0\x08\0\0\0\x0a", Outcome::Success("accepting connections".to_owned())),
        (
            b"E\0\0\0\x34SFATAL\0C57P03\0Mthe database system is starting\0\0",
            failure("rejecting connections: the database system is starting"),
        ),
        (b"HTTP/1.1 400\r\n", failure("no response: the answer isn't PostgreSQL's")),
        (b"R\0", failure("no response: the server closed the connection")),
    ];
    for (answer, expected) in cases {
        assert_eq!(of(answer, Parameters::default(), startup("postgres", "postgres")), expected);
    }
    let parameters = Parameters {
        user: Some("app".to_owned()),
        database: Some("shop".to_owned()),
        ..Parameters::default()
    };
    let accepting = of(b"R\0\0\0\x08\0\0\0\0", parameters, startup("app", "shop"));
    assert_eq!(accepting, Outcome::Success("accepting connections".to_owned()));
}

#[test]
fn a_server_that_says_nothing_and_no_server_are_failures() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let port = silent.local_addr().expect("it is bound").port();
    let parameters = Parameters { port: Some(port), ..Parameters::default() };
    // On a busy machine the time may be over before the server was asked.
    let expected = ["dial", "write", "read"]
        .map(|what| format!("no response: {what} tcp 127.0.0.1:{port}: i/o timeout"));
    let outcome = probe(&parameters, Duration::from_millis(100));
    assert!(matches!(&outcome, Outcome::Failure(text) if expected.contains(text)), "{outcome:?}");
    // `tcpmux`, which no server is given by chance.
    let parameters = Parameters { port: Some(1), ..Parameters::default() };
    let expected = "no response: dial tcp 127.0.0.1:1: connect: connection refused".to_owned();
    assert_eq!(probe(&parameters, Duration::from_secs(30)), Outcome::Failure(expected));
}

#[test]
fn parameters_that_make_no_sense_are_refused() {
    let check = |parameters: Parameters| {
        PostgresReady::check_parameters(&parameters, &()).map_err(|error| error.to_string())
    };
    let user = |user: String| Parameters { user: Some(user), ..Parameters::default() };
    assert_eq!(check(Parameters::default()), Ok(()));
    assert_eq!(check(user("x".repeat(NAME_BYTES_MAX))), Ok(()));
    assert!(check(user("x".repeat(NAME_BYTES_MAX + 1))).is_err());
    assert_eq!(check(user(String::new())), Err("user: \"\" is no name".to_owned()));
    assert_eq!(check(user("a\0b".to_owned())), Err("user: \"a\\0b\" is no name".to_owned()));
    let no_port = Parameters { port: Some(0), ..Parameters::default() };
    assert_eq!(check(no_port), Err("port: must be 1 to 65535".to_owned()));
}
