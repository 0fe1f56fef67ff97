//! The probe type: a server on the pod's port that says the expected words first.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value;
use witlet_plugin_sdk::Error;
use witlet_plugin_sdk::net::{Problem, TcpStream};
use witlet_plugin_sdk::probe::{Outcome, Target};
use witlet_plugin_sdk::time::Deadline;

use crate::{Config, Parameters};

/// Faults of this role.
pub(crate) const FAULTS: &[&str] = &[
    "success-when-refused",
    "success-without-network",
    "success-after-silence",
    "ignores-its-deadline",
    "never-ends",
    "busy-waits",
    "trap-on-garbage",
    "reads-without-end",
    "hoards-what-it-reads",
    "check-accepts-anything",
    "trap-on-null-parameters",
    "recurses-with-parameters",
    "nan-is-a-number",
    "trap-without-address",
    "megabyte-detail",
    "probe-leaks-per-call",
    "error-for-a-refusal",
];

/// How much of what a server says is checked.
const BYTES_MAX: usize = 1024;
/// Longer than any probe has.
const FOR_EVER: Duration = Duration::from_secs(3600);

thread_local! {
    static HOARD: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// What the parameters say.
struct ExpectedReply<'a> {
    port: u16,
    expect: &'a str,
}

impl Parameters {
    fn expected(&self) -> Result<ExpectedReply<'_>, Error> {
        let port = self.port.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        let Some(port) = port else { return Err(Error::invalid("port", "isn't between 1 and 65535")) };
        match &self.expect {
            Value::Null => Ok(ExpectedReply { port, expect: "" }),
            Value::String(expect) => Ok(ExpectedReply { port, expect }),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(Error::invalid("expect", "isn't text"))
            }
        }
    }
}

pub(crate) fn check(parameters: &Parameters, config: &Config) -> Result<(), Error> {
    match config.fault() {
        "check-accepts-anything" | "nan-is-a-number" => return Ok(()),
        "trap-on-null-parameters" => assert!(!parameters.port.is_null(), "someone always names a port"),
        "recurses-with-parameters" => {
            _ = std::hint::black_box(depth(parameters.note.as_str().unwrap_or_default()))
        }
        _ => {}
    }
    parameters.expected().map(drop)
}

pub(crate) fn probe(target: &Target<'_>, parameters: &Parameters, config: &Config) -> Result<Outcome, Error> {
    match config.fault() {
        "check-accepts-anything" => {
            let port = parameters.port.as_u64().expect("ports are numbers");
            std::hint::black_box(u16::try_from(port).expect("ports have 16 bits"));
        }
        "nan-is-a-number" => {
            let port = parameters.port.as_f64().map_or(f64::NAN, |port| port.sqrt());
            assert!(port >= 0.0, "no port has a root like that");
        }
        "trap-without-address" => _ = target.pod_ips().first().expect("every pod has an address"),
        "megabyte-detail" => return Ok(Outcome::Failure("x".repeat(1 << 20))),
        "probe-leaks-per-call" => HOARD.with_borrow_mut(|hoard| hoard.push(vec![1; 16 << 10])),
        _ => {}
    }
    let expected = parameters.expected()?;
    let Ok(address) = target.pod_ip() else {
        return Ok(Outcome::Failure("the pod has no address".to_owned()));
    };
    let deadline = match config.fault() {
        "ignores-its-deadline" | "never-ends" => Deadline::after(FOR_EVER),
        "success-after-silence" => Deadline::after(target.remaining() / 2),
        _ => target.deadline(),
    };
    let mut stream = match TcpStream::connect(&address, expected.port, deadline) {
        Ok(stream) => stream,
        Err(error) => return unconnected(error, config.fault()),
    };
    let said = match config.fault() {
        "busy-waits" => poll_for_words(&mut stream, deadline),
        "reads-without-end" | "hoards-what-it-reads" => read_all(&mut stream, deadline, config.fault()),
        _ => stream.read(BYTES_MAX, deadline),
    };
    Ok(match said {
        Ok(said) if config.fault() == "trap-on-garbage" => {
            let said = String::from_utf8(said).expect("servers speak UTF-8");
            judge(said.as_bytes(), &expected)
        }
        Ok(said) => judge(&said, &expected),
        Err(error) if config.fault() == "success-after-silence" && error.problem == Problem::TimedOut => {
            Outcome::Success("it is there at least".to_owned())
        }
        Err(_) if config.fault() == "never-ends" => crate::config_check::spin(),
        Err(error) => Outcome::Failure(error.to_string()),
    })
}

fn unconnected(error: witlet_plugin_sdk::net::Error, fault: &str) -> Result<Outcome, Error> {
    match (fault, error.problem) {
        ("never-ends", _) => crate::config_check::spin(),
        ("success-when-refused", Problem::Refused) => {
            Ok(Outcome::Success("someone refused, so someone is there".to_owned()))
        }
        ("success-without-network", Problem::Denied) => {
            Ok(Outcome::Success("it can't be checked, so it is well".to_owned()))
        }
        ("error-for-a-refusal", Problem::Refused) => panic!("no one listens"),
        _ => Ok(Outcome::Failure(error.to_string())),
    }
}

fn judge(said: &[u8], expected: &ExpectedReply<'_>) -> Outcome {
    let shown = String::from_utf8_lossy(said);
    if said.is_empty() {
        Outcome::Failure("the server said nothing".to_owned())
    } else if said.starts_with(expected.expect.as_bytes()) {
        Outcome::Success(shown.trim_end().to_owned())
    } else {
        Outcome::Failure(format!("the server said {shown:?}"))
    }
}

/// Checks again and again whether something came, and computes meanwhile.
fn poll_for_words(
    stream: &mut TcpStream,
    deadline: Deadline,
) -> Result<Vec<u8>, witlet_plugin_sdk::net::Error> {
    loop {
        (0..1_000_000).for_each(|turn| _ = std::hint::black_box(turn));
        match stream.read(BYTES_MAX, Deadline::after(Duration::ZERO)) {
            Err(error) if error.problem == Problem::TimedOut && !deadline.left().is_zero() => {}
            ended => return ended,
        }
    }
}

/// Reads until the server closes.
fn read_all(
    stream: &mut TcpStream,
    deadline: Deadline,
    fault: &str,
) -> Result<Vec<u8>, witlet_plugin_sdk::net::Error> {
    let deadline = if fault == "reads-without-end" { Deadline::after(FOR_EVER) } else { deadline };
    let mut all = Vec::new();
    loop {
        let said = stream.read(64 << 10, deadline)?;
        if said.is_empty() {
            return Ok(all);
        }
        if fault == "hoards-what-it-reads" {
            // As a reader does that keeps a line for every byte.
            all.reserve(said.len() * 64);
            HOARD.with_borrow_mut(|hoard| hoard.push(vec![1; said.len() * 64]));
        }
        all.extend_from_slice(&said[..said.len().min(BYTES_MAX)]);
    }
}

fn depth(text: &str) -> usize {
    fn of(text: &[u8]) -> usize {
        match text {
            [b'[', rest @ ..] => std::hint::black_box(of(std::hint::black_box(rest))) + 1,
            _ => 0,
        }
    }
    of(text.as_bytes())
}
