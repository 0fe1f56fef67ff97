//! Probe type `redis-ping`, for contract 0.2: the server answers PING, and how long that took is said.
//!
//! Parameters, all of them optional: `{"port": 6379, "slowAfterMilliseconds": 100}`, and `host` for another host than the pod.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use std::time::{Duration, Instant};

use serde::Deserialize;
use witlet_plugin_sdk_0_2::net::{self, TcpStream};
use witlet_plugin_sdk_0_2::probe::{Check, Outcome, ProbeType, Setup, Target};
use witlet_plugin_sdk_0_2::time::Deadline;
use witlet_plugin_sdk_0_2::{Error, export_probe, secret};

/// Where Redis listens unless configured otherwise.
const PORT: u16 = 6379;
/// How much of an answer is read: answers to AUTH and PING are one short line.
const ANSWER_BYTES_MAX: usize = 1024;

/// The probe type, made of the plugin's `config:`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Redis {
    /// Name of the secret with the password; without one there is no login.
    pub password_secret: Option<String>,
}

/// The probe's `parameters:`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parameters {
    /// Address or name; the pod's address if it is missing.
    pub host: Option<String>,
    /// The port; 6379 if it is missing.
    pub port: Option<u16>,
    /// From which latency on a probe that passes warns.
    pub slow_after_milliseconds: Option<u64>,
}

impl ProbeType for Redis {
    type Parameters = Parameters;

    fn validate(&self, _: &Setup<'_>) -> Result<(), Error> {
        match self.password_secret.as_deref() {
            Some("") => Err(Error::invalid("passwordSecret", "is empty")),
            Some(_) | None => Ok(()),
        }
    }

    fn check_parameters(&self, parameters: &Parameters, _: &Check<'_>) -> Result<(), Error> {
        match parameters.port {
            Some(0) => Err(Error::new("InvalidParameters", "port: must be 1 to 65535")),
            Some(_) | None => Ok(()),
        }
    }

    fn probe(&self, target: &Target<'_>, parameters: &Parameters) -> Result<Outcome, Error> {
        let deadline = target.deadline();
        // A secret that isn't there is no fault of the server's: nothing was found out.
        let password = self.password_secret.as_deref().map(secret::get).transpose()?;
        let host = target.host_or_address(parameters.host.as_deref())?;
        let port = parameters.port.unwrap_or(PORT);
        let latency = match ping(&host, port, password.as_deref(), deadline) {
            Ok(latency) => latency,
            Err(words) => return Ok(Outcome::failure(words)),
        };
        let outcome = Outcome::success("").latency(latency);
        let slow_after = parameters.slow_after_milliseconds.map(Duration::from_millis);
        Ok(match slow_after.filter(|slow_after| latency >= *slow_after) {
            Some(slow_after) => outcome.warn(format!("PING took {} ms or more", slow_after.as_millis())),
            None => outcome,
        })
    }
}

/// How long the server took to answer PING, after a login if configured; an error is why the probe fails.
#[allow(clippy::disallowed_methods, reason = "a component takes the time where its host gives it")]
fn ping(host: &str, port: u16, password: Option<&[u8]>, deadline: Deadline) -> Result<Duration, String> {
    let words = |error: net::Error| error.to_string();
    let mut stream = TcpStream::connect(host, port, deadline).map_err(words)?;
    let mut ask = |command: &[u8], expected: &str| {
        stream.write_all(command, deadline).map_err(words)?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n") && answer.len() < ANSWER_BYTES_MAX {
            let part = stream.read(ANSWER_BYTES_MAX, deadline).map_err(words)?;
            if part.is_empty() {
                return Err("the server closed the connection".to_owned());
            }
            answer.extend_from_slice(&part);
        }
        let answer = String::from_utf8_lossy(&answer);
        match answer.trim_end() {
            line if line == expected => Ok(()),
            line => Err(line.strip_prefix('-').map_or_else(|| format!("it answers {line:?}"), str::to_owned)),
        }
    };
    if let Some(password) = password {
        // A file's last line end isn't part of a password.
        let password = password.strip_suffix(b"\n").unwrap_or(password);
        ask(&[b"AUTH ", password, b"\r\n"].concat(), "+OK")?;
    }
    let asked = Instant::now();
    ask(b"PING\r\n", "+PONG")?;
    Ok(asked.elapsed())
}

export_probe!(Redis);

#[cfg(test)]
mod tests;
