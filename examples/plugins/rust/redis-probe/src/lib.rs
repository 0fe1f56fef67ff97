//! Example probe type: a Redis server answers PING. What it does in detail stands at the top of
//! `examples/plugins/cases/redis-probe.yaml`; the same plugin exists in other languages.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod connection;

use serde::Deserialize;
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, export_probe, secret};

use connection::{Connection, Reply, Trouble};

/// Where Redis listens unless configured otherwise.
const PORT: u16 = 6379;

/// The probe type.
pub struct RedisProbe;

/// The plugin's `config:`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Name of the secret with the password; none: it doesn't log in.
    pub password_secret: Option<String>,
}

/// The probe's `parameters:`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The port; 6379 if it is missing.
    pub port: Option<u16>,
}

impl ProbeType for RedisProbe {
    type Config = Config;
    type Parameters = Parameters;

    fn validate(config: &Config) -> Result<(), Error> {
        match config.password_secret.as_deref() {
            Some("") => Err(Error::invalid("passwordSecret", "may not be empty")),
            Some(_) | None => Ok(()),
        }
    }

    fn check_parameters(parameters: &Parameters, _: &Config) -> Result<(), Error> {
        match parameters.port {
            Some(0) => Err(Error::invalid("port", "may not be 0")),
            Some(_) | None => Ok(()),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, config: &Config) -> Result<Outcome, Error> {
        let deadline = target.deadline();
        let Ok(host) = target.pod_ip() else {
            return Ok(Outcome::Failure("the pod has no address".to_owned()));
        };
        let password = config.password_secret.as_deref().map(password).transpose()?;
        let port = parameters.port.unwrap_or(PORT);
        Ok(match ping(&host, port, password.as_deref(), deadline) {
            Ok(Reply::Status(word)) if word == "PONG" => Outcome::Success(word),
            Ok(Reply::Error(line)) => Outcome::Failure(line),
            Ok(Reply::Status(word)) => unexpected(&format!("+{word}")),
            Ok(Reply::Other(line)) => unexpected(&line),
            Err(trouble) => Outcome::Failure(trouble.to_string()),
        })
    }
}

fn unexpected(line: &str) -> Outcome {
    Outcome::Failure(format!("unexpected answer \"{line}\""))
}

/// The secret's value without the line end that a file may end with.
fn password(name: &str) -> Result<Vec<u8>, Error> {
    let mut password = secret::get(name).map_err(|cause| Error::Secret { name: name.to_owned(), cause })?;
    if password.last() == Some(&b'\n') {
        password.pop();
        if password.last() == Some(&b'\r') {
            password.pop();
        }
    }
    Ok(password)
}

/// What the server says to PING, or to the password if it doesn't take it.
fn ping(host: &str, port: u16, password: Option<&[u8]>, deadline: Deadline) -> Result<Reply, Trouble> {
    let mut connection = Connection::open(host, port, deadline)?;
    if let Some(password) = password {
        match connection.ask(&auth(password))? {
            Reply::Status(word) if word == "OK" => {}
            answer => return Ok(answer),
        }
    }
    connection.ask(b"PING\r\n")
}

/// The command AUTH. As an array it takes any byte of a password for what it is.
fn auth(password: &[u8]) -> Vec<u8> {
    let mut command = format!("*2\r\n$4\r\nAUTH\r\n${}\r\n", password.len()).into_bytes();
    command.extend(password);
    command.extend(b"\r\n");
    command
}

export_probe!(RedisProbe);

#[cfg(test)]
mod tests;
