//! A probe type: it connects to a TCP port of the pod and expects a greeting.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use witlet_plugin_sdk_0_2::net::{self, TcpStream};
use witlet_plugin_sdk_0_2::probe::{Check, Outcome, ProbeType, Target};
use witlet_plugin_sdk_0_2::time::Deadline;
use witlet_plugin_sdk_0_2::{Error, debug, export_probe};

/// The longest greeting, in bytes.
const EXPECT_BYTES_MAX: usize = 1024;

/// The probe type. What stands under `config:` in the plugin's entry would be its fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct {{Camel}} {}

/// What stands under `parameters:` of a probe, such as `{"port": 25, "expect": "220 "}`. Names of ports are numbers already.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The port, from 1 on.
    port: u16,
    /// What the server must say first.
    expect: String,
}

impl ProbeType for {{Camel}} {
    type Parameters = Parameters;

    fn check_parameters(&self, parameters: &Parameters, _: &Check<'_>) -> Result<(), Error> {
        if parameters.port == 0 {
            return Err(wrong("port", "may not be 0"));
        }
        match parameters.expect.len() {
            0 => Err(wrong("expect", "may not be empty")),
            length if length > EXPECT_BYTES_MAX => {
                Err(wrong("expect", &format!("has more than {EXPECT_BYTES_MAX} bytes")))
            }
            _ => Ok(()),
        }
    }

    fn probe(&self, target: &Target<'_>, parameters: &Parameters) -> Result<Outcome, Error> {
        // An error: without an address nothing can be found out about the server.
        let host = target.pod().address()?;
        debug!("greeting of {host}, port {}", parameters.port);
        let expected = parameters.expect.as_bytes();
        Ok(match greeting(&host, parameters.port, expected.len(), target.deadline()) {
            Ok(greeting) if greeting == expected => Outcome::success(format!("it says {:?}", parameters.expect)),
            Ok(greeting) => Outcome::failure(format!(
                "it says {:?}, not {:?}",
                String::from_utf8_lossy(&greeting),
                parameters.expect
            )),
            Err(error) => Outcome::failure(error.to_string()),
        })
    }
}

/// The error of a parameter that makes no sense.
fn wrong(parameter: &str, problem: &str) -> Error {
    Error::new("InvalidParameters", format!("{parameter}: {problem}"))
}

/// The first bytes that the server sends, so many or as many as there are before it closes.
fn greeting(host: &str, port: u16, length: usize, deadline: Deadline) -> Result<Vec<u8>, net::Error> {
    let mut stream = TcpStream::connect(host, port, deadline)?;
    let mut greeting = Vec::new();
    while greeting.len() < length {
        let part = stream.read(length - greeting.len(), deadline)?;
        if part.is_empty() {
            break;
        }
        greeting.extend(part);
    }
    Ok(greeting)
}

export_probe!({{Camel}});

#[cfg(test)]
mod tests;
