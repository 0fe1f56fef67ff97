//! What the type makes of servers.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use serde_json::json;
use witlet_plugin_sdk_0_2::facts::{TargetFacts, check_parameters, set_secret, validate_probe_type};
use witlet_plugin_sdk_0_2::probe::Finding;

use super::*;

/// A server that answers each line with the next of these.
fn server(answers: &'static [&str]) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut received = Vec::new();
        for answer in answers {
            let mut byte = [0];
            while stream.read(&mut byte).expect("it reads") == 1 {
                received.push(byte[0]);
                if byte[0] == b'\n' {
                    break;
                }
            }
            stream.write_all(answer.as_bytes()).expect("it writes");
        }
        received
    });
    (port, serving)
}

fn probe(redis: &Redis, parameters: &Parameters) -> Result<Outcome, Error> {
    let facts = TargetFacts::of(&json!({"metadata": {"name": "cache"}})).at("127.0.0.1");
    redis.probe(&facts.target(), parameters)
}

fn at(port: u16) -> Parameters {
    Parameters { port: Some(port), ..Parameters::default() }
}

#[test]
fn a_server_that_answers_is_a_success_and_a_slow_one_a_warning() {
    let (port, serving) = server(&["+PONG\r\n"]);
    let outcome = probe(&Redis::default(), &at(port)).expect("an outcome");
    assert_eq!((outcome.finding(), outcome.warnings().len()), (&Finding::Success(String::new()), 0));
    assert_eq!(serving.join().expect("it ends"), b"PING\r\n");
    let (port, serving) = server(&["+PONG\r\n"]);
    let slow = Parameters { slow_after_milliseconds: Some(0), ..at(port) };
    let outcome = probe(&Redis::default(), &slow).expect("an outcome");
    assert_eq!(outcome.warnings(), ["PING took 0 ms or more"]);
    serving.join().expect("it ends");
}

#[test]
fn what_a_server_refuses_is_a_failure_and_a_missing_secret_an_error() {
    set_secret("password", Ok(b"s3cret\n".to_vec()));
    let redis = Redis { password_secret: Some("password".to_owned()) };
    let (port, serving) = server(&["+OK\r\n", "-LOADING it loads\r\n"]);
    assert_eq!(probe(&redis, &at(port)), Ok(Outcome::failure("LOADING it loads")));
    assert_eq!(serving.join().expect("it ends"), b"AUTH s3cret\r\nPING\r\n");
    let other = Redis { password_secret: Some("other".to_owned()) };
    assert_eq!(probe(&other, &at(1)).map_err(|error| error.code().to_owned()), Err("NotGranted".to_owned()));
}

#[test]
fn configurations_and_parameters_are_refused_by_the_field() {
    let empty = Redis { password_secret: Some(String::new()) };
    let refused = validate_probe_type(&empty).map_err(|error| error.to_string());
    assert_eq!(refused, Err("InvalidConfiguration: passwordSecret: is empty".to_owned()));
    assert_eq!(validate_probe_type(&Redis::default()), Ok(Vec::new()));
    let checked =
        |parameters| check_parameters(&Redis::default(), &parameters).map_err(|error| error.to_string());
    assert_eq!(checked(json!({"port": 0})), Err("InvalidParameters: port: must be 1 to 65535".to_owned()));
    assert_eq!(checked(json!({})), Ok(Vec::new()));
}
