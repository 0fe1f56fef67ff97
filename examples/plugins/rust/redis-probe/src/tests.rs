//! Tests with servers of their own; the component itself is asked the shared cases.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use witlet_plugin_sdk::facts::{TargetFacts, set_secret};
use witlet_plugin_sdk::probe::{Outcome, ProbeType};
use witlet_plugin_sdk::secret::SecretError;

use super::{Config, Parameters, RedisProbe};

const PING: &[u8] = b"PING\r\n";

fn target() -> TargetFacts {
    TargetFacts {
        pod_ips: vec!["127.0.0.1".to_owned()],
        remaining: Duration::from_secs(10),
        ..TargetFacts::default()
    }
}

/// What comes of a server that expects these commands, answers each so, and closes.
fn probe(config: &Config, dialog: Vec<(&'static [u8], Vec<u8>)>) -> Outcome {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = server.local_addr().expect("it is bound").port();
    let serving = thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("someone asks");
        for (command, answer) in dialog {
            let mut received = vec![0; command.len()];
            stream.read_exact(&mut received).expect("a command");
            assert_eq!(received, command, "{:?}", String::from_utf8_lossy(&received));
            stream.write_all(&answer).expect("it listens");
        }
    });
    let parameters = Parameters { port: Some(port) };
    let outcome = RedisProbe::probe(&target().target(), &parameters, config).expect("an outcome");
    serving.join().expect("the commands were the right ones");
    outcome
}

fn failure(words: &str) -> Outcome {
    Outcome::Failure(words.to_owned())
}

#[test]
fn an_answer_is_judged_by_its_first_line() {
    let success = || Outcome::Success("PONG".to_owned());
    let long = [vec![b'a'; 1_023], b"\r\n".to_vec()].concat();
    for (answer, expected) in [
        (b"+PONG\r\n".to_vec(), success()),
        (b"+PONG\r\n-ERR more\r\n".to_vec(), success()),
        (b"+OK\r\n".to_vec(), failure("unexpected answer \"+OK\"")),
        (b":1\r\n".to_vec(), failure("unexpected answer \":1\"")),
        (b"\xff\r\n".to_vec(), failure("unexpected answer \"\u{fffd}\"")),
        (b"-NOAUTH Authentication required.\r\n".to_vec(), failure("NOAUTH Authentication required.")),
        (b"+PO".to_vec(), failure("the server closed the connection before it answered")),
        (long, failure("the answer is longer than 1024 bytes")),
    ] {
        let shown = String::from_utf8_lossy(&answer).into_owned();
        assert_eq!(probe(&Config::default(), vec![(PING, answer)]), expected, "{shown}");
    }
}

#[test]
fn a_password_goes_before_ping_without_its_line_end() {
    let config = Config { password_secret: Some("redis-password".to_owned()) };
    let auth: &[u8] = b"*2\r\n$4\r\nAUTH\r\n$8\r\ns3 cre\"t\r\n";
    for value in ["s3 cre\"t", "s3 cre\"t\n", "s3 cre\"t\r\n"] {
        set_secret("redis-password", Ok(value.as_bytes().to_vec()));
        let dialog = vec![(auth, b"+OK\r\n".to_vec()), (PING, b"+PONG\r\n".to_vec())];
        assert_eq!(probe(&config, dialog), Outcome::Success("PONG".to_owned()));
    }
    let refused = probe(&config, vec![(auth, b"-WRONGPASS no\r\n".to_vec())]);
    assert_eq!(refused, failure("WRONGPASS no"));
}

#[test]
fn a_secret_that_isnt_there_is_an_error_that_names_it() {
    let config = Config { password_secret: Some("lost-password".to_owned()) };
    set_secret("lost-password", Err(SecretError::NotFound));
    let error =
        RedisProbe::probe(&target().target(), &Parameters::default(), &config).expect_err("no secret");
    assert!(error.to_string().contains("lost-password"), "{error}");
}

#[test]
fn a_server_that_isnt_there_is_a_failure() {
    // `tcpmux`, which no server is given by chance.
    let parameters = Parameters { port: Some(1) };
    let outcome = RedisProbe::probe(&target().target(), &parameters, &Config::default()).expect("an outcome");
    assert!(matches!(&outcome, Outcome::Failure(words) if words.contains("refused")), "{outcome:?}");
    let nowhere = TargetFacts::default();
    let outcome = RedisProbe::probe(&nowhere.target(), &parameters, &Config::default()).expect("an outcome");
    assert_eq!(outcome, failure("the pod has no address"));
}

#[test]
fn what_makes_no_sense_is_refused_by_its_name() {
    let config = Config { password_secret: Some(String::new()) };
    let error = RedisProbe::validate(&config).expect_err("no name");
    assert_eq!(error.to_string(), "passwordSecret: may not be empty");
    let parameters = Parameters { port: Some(0) };
    let error = RedisProbe::check_parameters(&parameters, &Config::default()).expect_err("no port");
    assert_eq!(error.to_string(), "port: may not be 0");
}
