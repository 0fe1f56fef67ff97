//! Probes of a server by script, on loopback.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use witlet_plugin_sdk::facts::{TargetFacts, set_secret};
use witlet_plugin_sdk::probe::{Outcome, PodRef, ProbeType};
use witlet_plugin_sdk::secret::SecretError;

use super::{Config, Credentials, Parameters, Redis, Role};

/// A server that reads so much and answers this, again and again, and then closes.
fn server(script: &'static [(&'static str, &'static str)]) -> (u16, JoinHandle<()>) {
    let server = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    let port = server.local_addr().expect("it is bound").port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("a client connects");
        for (received, answer) in script {
            let mut bytes = vec![0; received.len()];
            stream.read_exact(&mut bytes).expect("the whole command");
            assert_eq!(String::from_utf8_lossy(&bytes), *received);
            // In two parts: answers come as the network likes.
            let (first, second) = answer.split_at(answer.len() / 2);
            stream.write_all(first.as_bytes()).expect("it listens");
            std::thread::yield_now();
            // A client that has read enough may be gone.
            let _ = stream.write_all(second.as_bytes());
        }
    });
    (port, serving)
}

fn config() -> Config {
    let of = |username: Option<&str>| Credentials {
        username: username.map(str::to_owned),
        password_secret: "redis-password".to_owned(),
        namespaces: vec!["shop".to_owned()],
    };
    let credentials = [("cache".to_owned(), of(None)), ("user".to_owned(), of(Some("probe")))];
    Config { credentials: credentials.into() }
}

fn probe(namespace: &str, parameters: &Parameters) -> Result<Outcome, String> {
    let facts = TargetFacts {
        pod: PodRef { namespace: namespace.to_owned(), name: "cache".to_owned(), uid: "u".to_owned() },
        pod_ips: vec!["127.0.0.1".to_owned()],
        remaining: Duration::from_secs(30),
        ..TargetFacts::default()
    };
    Redis::probe(&facts.target(), parameters, &config()).map_err(|error| {
        let mut text = error.to_string();
        if let Some(cause) = std::error::Error::source(&error) {
            text.push_str(&format!(": {cause}"));
        }
        text
    })
}

const PING: &str = "*1\r\n$4\r\nPING\r\n";
const ROLE: &str = "*1\r\n$4\r\nROLE\r\n";

type Case = (&'static [(&'static str, &'static str)], Parameters, Result<(), &'static str>);

#[test]
fn a_server_is_asked_what_the_parameters_say_and_fails_in_its_own_words() {
    set_secret("redis-password", Ok(b"s3cret\n".to_vec()));
    let with = |credentials: Option<&str>, role| Parameters {
        credentials: credentials.map(str::to_owned),
        role,
        ..Parameters::default()
    };
    const AUTH: &str = "*2\r\n$4\r\nAUTH\r\n$6\r\ns3cret\r\n";
    const AUTH_USER: &str = "*3\r\n$4\r\nAUTH\r\n$5\r\nprobe\r\n$6\r\ns3cret\r\n";
    let cases: [Case; 14] = [
        (&[(PING, "+PONG\r\n")], with(None, None), Ok(())),
        (&[(PING, "$4\r\nPONG\r\n")], with(None, None), Ok(())),
        (&[(AUTH, "+OK\r\n"), (PING, "+PONG\r\n")], with(Some("cache"), None), Ok(())),
        (&[(AUTH_USER, "+OK\r\n"), (PING, "+PONG\r\n")], with(Some("user"), None), Ok(())),
        (
            &[(PING, "+PONG\r\n"), (ROLE, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n")],
            with(None, Some(Role::Master)),
            Ok(()),
        ),
        (&[(PING, "+PONG\r\n"), (ROLE, "*5\r\n$5\r\nslave\r\n")], with(None, Some(Role::Replica)), Ok(())),
        (
            &[(PING, "+PONG\r\n"), (ROLE, "*5\r\n$5\r\nslave\r\n")],
            with(None, Some(Role::Master)),
            Err("the server's role is \"slave\", not \"master\""),
        ),
        (
            &[(PING, "+PONG\r\n"), (ROLE, "-ERR unknown command 'ROLE'\r\n")],
            with(None, Some(Role::Sentinel)),
            Err("ROLE: ERR unknown command 'ROLE'"),
        ),
        (
            &[(PING, "-NOAUTH Authentication required.\r\n")],
            with(None, None),
            Err("PING: NOAUTH Authentication required."),
        ),
        (
            &[(PING, "-LOADING Redis is loading the dataset in memory\r\n")],
            with(None, None),
            Err("PING: LOADING Redis is loading the dataset in memory"),
        ),
        (
            &[(AUTH, "-WRONGPASS invalid username-password pair\r\n")],
            with(Some("cache"), None),
            Err("AUTH: WRONGPASS invalid username-password pair"),
        ),
        (&[(PING, "+PANG\r\n")], with(None, None), Err("unexpected reply to PING: \"PANG\"")),
        (&[(PING, "HTTP/1.1 400 Bad Request\r\n")], with(None, None), Err("invalid RESP reply")),
        (&[(PING, "+PO")], with(None, None), Err("the server closed the connection")),
    ];
    for (script, parameters, expected) in cases {
        let (port, serving) = server(script);
        let outcome = probe("shop", &Parameters { port: Some(port), ..parameters }).expect("an outcome");
        let expected = match expected {
            Ok(()) => Outcome::Success(String::new()),
            Err(words) => Outcome::Failure(words.to_owned()),
        };
        assert_eq!(outcome, expected, "{script:?}");
        serving.join().expect("it received what it should");
    }
}

#[test]
fn credentials_are_for_pods_of_their_namespaces_only() {
    set_secret("redis-password", Ok(b"s3cret".to_vec()));
    let parameters = |name: &str| Parameters { credentials: Some(name.to_owned()), ..Parameters::default() };
    let expected = "credentials \"cache\" aren't for pods of namespace \"other\"".to_owned();
    assert_eq!(probe("other", &parameters("cache")), Ok(Outcome::Failure(expected)));
    let expected = "the plugin's configuration has no credentials \"other\"".to_owned();
    assert_eq!(probe("shop", &parameters("other")), Ok(Outcome::Failure(expected)));
}

#[test]
fn without_its_secret_nothing_is_found_out() {
    let parameters = Parameters { credentials: Some("cache".to_owned()), ..Parameters::default() };
    let denied = Err("secret redis-password: not granted to the plugin".to_owned());
    assert_eq!(probe("shop", &parameters), denied);
    set_secret("redis-password", Err(SecretError::NotFound));
    let missing = Err("secret redis-password: not found on the node".to_owned());
    assert_eq!(probe("shop", &parameters), missing);
}

#[test]
fn no_one_at_the_port_is_a_failure() {
    // `tcpmux`, which no server is given by chance: a port that was free a moment ago may be another test's now.
    let parameters = Parameters { port: Some(1), ..Parameters::default() };
    let expected = "dial tcp 127.0.0.1:1: connect: connection refused".to_owned();
    assert_eq!(probe("shop", &parameters), Ok(Outcome::Failure(expected)));
}

#[test]
fn configurations_and_parameters_that_make_no_sense_are_refused() {
    let check = |parameters: Parameters| {
        Redis::check_parameters(&parameters, &config()).map_err(|error| error.to_string())
    };
    assert_eq!(check(Parameters::default()), Ok(()));
    let no_port = Parameters { port: Some(0), ..Parameters::default() };
    assert_eq!(check(no_port), Err("port: must be 1 to 65535".to_owned()));
    let unknown = Parameters { credentials: Some("x".to_owned()), ..Parameters::default() };
    assert_eq!(check(unknown), Err("credentials: the plugin's configuration has no \"x\"".to_owned()));
    let validate = |change: fn(&mut Credentials)| {
        let mut config = config();
        change(config.credentials.get_mut("cache").expect("it is there"));
        Redis::validate(&config).map_err(|error| error.to_string())
    };
    assert_eq!(validate(|_| {}), Ok(()));
    let unused = validate(|credentials| credentials.namespaces.clear());
    assert_eq!(unused, Err("credentials.cache.namespaces: at least one namespace is needed".to_owned()));
    let nameless = validate(|credentials| credentials.password_secret.clear());
    assert_eq!(nameless, Err("credentials.cache.passwordSecret: is empty".to_owned()));
}
