//! Probe type `udp`: a datagram is answered, with what it should be.
//!
//! Parameters: what is sent, and how the answer begins, each as `text`, `hex` or `base64`; without `expect` any answer is
//! good. A datagram may get lost: it is sent up to three times within the probe's time, a second apart at most.
//!
//! ```json
//! {"port": 27015, "send": {"hex": "ffffffff54"}, "expect": {"hex": "ffffffff49"}}
//! {"port": 7, "send": {"text": "ping"}, "expect": {"text": "ping"}, "match": "whole"}
//! ```

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod bytes;

use std::time::Duration;

use serde::Deserialize;
use witlet_plugin_sdk::net::{self, Problem, UdpSocket};
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, export_probe};

pub use bytes::Bytes;

/// How often a datagram is sent at most.
const TRIES: u32 = 3;

/// How long an answer is waited for at most before the datagram is sent again.
const TRY_TIME_MAX: Duration = Duration::from_secs(1);

/// Bytes of a datagram that is sent: what fits a packet of the smallest network that IPv6 allows (1280) with its headers.
const SEND_BYTES_MAX: usize = 1_232;

/// Bytes of an answer that are checked.
const ANSWER_BYTES_MAX: usize = 2_048;

/// The probe type.
pub struct Udp;

/// The probe's `parameters:`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Address or name; the pod's address if it is missing.
    pub host: Option<String>,
    /// The port, 1 to 65535.
    pub port: u16,
    /// What is sent.
    pub send: Bytes,
    /// How the answer begins, or all of it; any answer is good if it is missing.
    pub expect: Option<Bytes>,
    /// How much of the answer is compared.
    #[serde(default, rename = "match")]
    pub matching: Matching,
}

/// How much of the answer is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Matching {
    /// Its beginning.
    #[default]
    Prefix,
    /// All of it.
    Whole,
}

impl ProbeType for Udp {
    type Config = ();
    type Parameters = Parameters;

    fn check_parameters(parameters: &Parameters, (): &()) -> Result<(), Error> {
        if parameters.port == 0 {
            return Err(Error::invalid("port", "must be 1 to 65535"));
        }
        let sent = parameters.send.decode("send")?;
        if sent.is_empty() || sent.len() > SEND_BYTES_MAX {
            return Err(Error::invalid(
                "send",
                format!("has {} bytes, not 1 to {SEND_BYTES_MAX}", sent.len()),
            ));
        }
        match &parameters.expect {
            Some(expected) => match expected.decode("expect")?.len() {
                1..=ANSWER_BYTES_MAX => Ok(()),
                bytes => {
                    Err(Error::invalid("expect", format!("has {bytes} bytes, not 1 to {ANSWER_BYTES_MAX}")))
                }
            },
            None => Ok(()),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
        let deadline = target.deadline();
        let host = target.host_or_pod_ip(parameters.host.as_deref())?;
        let sent = parameters.send.decode("send")?;
        let expected = parameters.expect.as_ref().map(|expected| expected.decode("expect")).transpose()?;
        Ok(match exchange(&host, parameters.port, &sent, deadline) {
            Ok(answer) => judge(&answer, expected.as_deref(), parameters.matching),
            Err(error) => Outcome::Failure(error.to_string()),
        })
    }
}

/// The first answer.
fn exchange(host: &str, port: u16, sent: &[u8], deadline: Deadline) -> Result<Vec<u8>, net::Error> {
    let mut socket = UdpSocket::connect(host, port, deadline)?;
    for tries_left in (2..=TRIES).rev() {
        socket.send(sent, deadline)?;
        let this_try = Deadline::after((deadline.left() / tries_left).min(TRY_TIME_MAX));
        match socket.receive(ANSWER_BYTES_MAX, this_try) {
            Err(error) if error.problem == Problem::TimedOut => {}
            received => return received,
        }
    }
    socket.send(sent, deadline)?;
    socket.receive(ANSWER_BYTES_MAX, deadline)
}

fn judge(answer: &[u8], expected: Option<&[u8]>, matching: Matching) -> Outcome {
    let good = match (expected, matching) {
        (None, _) => true,
        (Some(expected), Matching::Prefix) => answer.starts_with(expected),
        (Some(expected), Matching::Whole) => answer == expected,
    };
    if good {
        return Outcome::Success(format!("{} bytes were answered", answer.len()));
    }
    Outcome::Failure(format!(
        "the answer is \"{}\", not \"{}\"",
        bytes::shown(answer),
        bytes::shown(expected.unwrap_or_default())
    ))
}

export_probe!(Udp);

#[cfg(test)]
mod tests;
