//! A probe type: it connects to a TCP port of the pod and expects a greeting.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use witlet_plugin_sdk::net::{self, TcpStream};
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, debug, export_probe};

/// The longest greeting, in bytes.
const EXPECT_BYTES_MAX: usize = 1024;

/// The probe type.
struct {{Camel}};

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
    type Config = ();
    type Parameters = Parameters;

    fn check_parameters(parameters: &Parameters, (): &()) -> Result<(), Error> {
        if parameters.port == 0 {
            return Err(Error::invalid("port", "may not be 0"));
        }
        match parameters.expect.len() {
            0 => Err(Error::invalid("expect", "may not be empty")),
            length if length > EXPECT_BYTES_MAX => {
                Err(Error::invalid("expect", format!("has more than {EXPECT_BYTES_MAX} bytes")))
            }
            _ => Ok(()),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
        // An error: without an address nothing can be found out about the server.
        let host = target.pod_ip()?;
        debug!("greeting of {host}, port {}", parameters.port);
        let expected = parameters.expect.as_bytes();
        Ok(match greeting(&host, parameters.port, expected.len(), target.deadline()) {
            Ok(greeting) if greeting == expected => Outcome::Success(format!("it says {:?}", parameters.expect)),
            Ok(greeting) => Outcome::Failure(format!(
                "it says {:?}, not {:?}",
                String::from_utf8_lossy(&greeting),
                parameters.expect
            )),
            Err(error) => Outcome::Failure(error.to_string()),
        })
    }
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
