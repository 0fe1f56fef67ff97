//! Probe type `grpc`: the health check `grpc.health.v1.Health/Check` answers `SERVING` (upstream's `pkg/probe/grpc`). It
//! speaks HTTP/2 in the clear by itself, as much of it as one call needs.
//!
//! Parameters are the spec's `grpc` object: `{"port": 9000, "service": "db"}`.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod exchange;
mod frame;
mod hpack;
mod message;
mod status;

use serde::Deserialize;
use witlet_plugin_sdk::net::{Problem, TcpStream, host_port};
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::{Deadline, seconds};
use witlet_plugin_sdk::{Error, export_probe};

use exchange::Exchange;
use status::{DEADLINE_EXCEEDED, Status, UNAVAILABLE, UNIMPLEMENTED};

/// How much is read at a time.
const READ_BYTES: usize = 16 * 1024;

/// Bytes of a service's name: the request fits into one frame.
const SERVICE_BYTES_MAX: usize = 8 * 1024;

/// The probe type.
pub struct Grpc;

/// What stands under `grpc:` in the spec.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The port, 1 to 65535.
    pub port: u16,
    /// Name of the service, at most 8 KiB; empty or missing for the server as a whole.
    pub service: Option<String>,
}

impl ProbeType for Grpc {
    type Config = ();
    type Parameters = Parameters;

    fn check_parameters(parameters: &Parameters, (): &()) -> Result<(), Error> {
        if parameters.port == 0 {
            return Err(Error::invalid("port", "must be 1 to 65535"));
        }
        match &parameters.service {
            Some(service) if service.len() > SERVICE_BYTES_MAX => {
                Err(Error::invalid("service", format!("more than {SERVICE_BYTES_MAX} bytes")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
        let timeout = target.remaining();
        let deadline = Deadline::after(timeout);
        let time = seconds(timeout);
        let host = target.pod_ip()?;
        let address = host_port(&host, parameters.port);
        let stream = match TcpStream::connect(&host, parameters.port, deadline) {
            Ok(stream) => stream,
            Err(error) if error.problem == Problem::TimedOut => {
                return Ok(Outcome::Failure(format!(
                    "timeout: failed to connect service {address:?} within {time}: context deadline exceeded"
                )));
            }
            Err(error) => {
                return Ok(Outcome::Failure(format!(
                    "error: failed to connect service at {address:?}: {error}"
                )));
            }
        };
        let service = parameters.service.as_deref().unwrap_or_default();
        Ok(judge(check(stream, &address, service, deadline), &time))
    }
}

/// What a check says, in upstream's words.
fn judge(checked: Result<u64, Status>, time: &str) -> Outcome {
    let error = match checked {
        Ok(message::SERVING) => return Outcome::Success("service healthy".to_owned()),
        Ok(status) => {
            let name = message::status_name(status);
            return Outcome::Failure(format!("service unhealthy (responded with {name:?})"));
        }
        Err(error) => error,
    };
    Outcome::Failure(match error.code {
        UNIMPLEMENTED => format!(
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {}",
            error.message
        ),
        DEADLINE_EXCEEDED => format!("timeout: health rpc did not complete within {time}"),
        _ => format!("error: health rpc probe failed: {error}"),
    })
}

/// The number of the status that the server answers.
fn check(mut stream: TcpStream, address: &str, service: &str, deadline: Deadline) -> Result<u64, Status> {
    let broken = |error: witlet_plugin_sdk::net::Error| match error.problem {
        Problem::TimedOut => Status::new(DEADLINE_EXCEEDED, ""),
        problem => Status::new(UNAVAILABLE, format!("connection error: {problem}")),
    };
    let mut exchange = Exchange::new(address, service);
    loop {
        let output = exchange.take_output();
        if !output.is_empty() {
            stream.write_all(&output, deadline).map_err(broken)?;
        }
        let input = stream.read(READ_BYTES, deadline).map_err(broken)?;
        if input.is_empty() {
            return Err(exchange.cut_off());
        }
        if let Some(status) = exchange.receive(&input)? {
            return Ok(status);
        }
    }
}

export_probe!(Grpc);

#[cfg(test)]
mod tests;
