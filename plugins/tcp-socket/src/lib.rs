//! Probe type `tcpSocket`: a TCP connection can be opened (upstream's `pkg/probe/tcp`).
//!
//! Parameters are the spec's `tcpSocket` object with the port as a number: `{"port": 6379, "host": "10.0.0.7"}`.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use witlet_plugin_sdk::net::TcpStream;
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::{Error, export_probe};

/// The probe type.
pub struct TcpSocket;

/// What stands under `tcpSocket:` in the spec.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Address or name; the pod's address if it is missing or empty.
    pub host: Option<String>,
    /// The port, 1 to 65535.
    pub port: u16,
}

impl ProbeType for TcpSocket {
    type Config = ();
    type Parameters = Parameters;

    fn check_parameters(parameters: &Parameters, (): &()) -> Result<(), Error> {
        match parameters.port {
            0 => Err(Error::invalid("port", "must be 1 to 65535")),
            _ => Ok(()),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
        let host = target.host_or_pod_ip(parameters.host.as_deref())?;
        Ok(match TcpStream::connect(&host, parameters.port, target.deadline()) {
            Ok(_) => Outcome::Success(String::new()),
            Err(error) => Outcome::Failure(error.to_string()),
        })
    }
}

export_probe!(TcpSocket);

#[cfg(test)]
mod tests;
