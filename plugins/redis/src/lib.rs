//! Probe type `redis`: the server answers PING, and has the role that it should.
//!
//! Parameters: `{"port": 6379, "credentials": "cache", "role": "master"}`, all of them optional, and `host` for another
//! host than the pod. Passwords stand neither in pods nor in the configuration: the operator names the secrets, and the
//! namespaces whose pods may have them used, because a server that is probed with a password learns it:
//!
//! ```yaml
//! config:
//!   credentials:
//!     cache: {username: probe, passwordSecret: redis-password, namespaces: [shop]}
//! grants: {network: [pod], secrets: [redis-password]}
//! ```

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod reply;

use std::collections::BTreeMap;

use serde::Deserialize;
use witlet_plugin_sdk::net::{self, TcpStream};
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, export_probe, secret};

use reply::{Reply, reply};

/// Where Redis listens unless configured otherwise.
const PORT: u16 = 6379;

/// How much is read at a time.
const READ_BYTES: usize = 1024;

/// The probe type.
pub struct Redis;

/// The plugin's `config:`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Credentials by the name that parameters use.
    #[serde(default)]
    pub credentials: BTreeMap<String, Credentials>,
}

/// How to log in, and for whom.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Credentials {
    /// A user of the access control list; the default one if it is missing.
    pub username: Option<String>,
    /// Name of the secret with the password.
    pub password_secret: String,
    /// Namespaces whose pods may be probed with it.
    pub namespaces: Vec<String>,
}

/// The probe's `parameters:`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Address or name; the pod's address if it is missing.
    pub host: Option<String>,
    /// The port; 6379 if it is missing.
    pub port: Option<u16>,
    /// Name of the credentials in the plugin's configuration; without one there is no login.
    pub credentials: Option<String>,
    /// The role that the server should have.
    pub role: Option<Role>,
}

/// What a server is among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It takes writes.
    Master,
    /// It follows a master.
    Replica,
    /// It watches over masters.
    Sentinel,
}

impl Role {
    /// As the command ROLE has it.
    fn of(word: &str) -> Option<Self> {
        match word {
            "master" => Some(Self::Master),
            "slave" | "replica" => Some(Self::Replica),
            "sentinel" => Some(Self::Sentinel),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Replica => "replica",
            Self::Sentinel => "sentinel",
        }
    }
}

impl ProbeType for Redis {
    type Config = Config;
    type Parameters = Parameters;

    fn validate(config: &Config) -> Result<(), Error> {
        for (name, credentials) in &config.credentials {
            if credentials.password_secret.is_empty() {
                return Err(Error::invalid(format!("credentials.{name}.passwordSecret"), "is empty"));
            }
            if credentials.namespaces.is_empty() {
                return Err(Error::invalid(
                    format!("credentials.{name}.namespaces"),
                    "at least one namespace is needed",
                ));
            }
        }
        Ok(())
    }

    fn check_parameters(parameters: &Parameters, config: &Config) -> Result<(), Error> {
        if parameters.port == Some(0) {
            return Err(Error::invalid("port", "must be 1 to 65535"));
        }
        match &parameters.credentials {
            Some(name) if !config.credentials.contains_key(name) => {
                Err(Error::invalid("credentials", format!("the plugin's configuration has no {name:?}")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, config: &Config) -> Result<Outcome, Error> {
        let deadline = target.deadline();
        let login = match &parameters.credentials {
            Some(name) => match credentials(name, &target.pod().namespace, config) {
                Ok(credentials) => Some(login(credentials)?),
                Err(words) => return Ok(Outcome::Failure(words)),
            },
            None => None,
        };
        let host = target.host_or_pod_ip(parameters.host.as_deref())?;
        let port = parameters.port.unwrap_or(PORT);
        Ok(match converse(&host, port, login.as_deref(), parameters.role, deadline) {
            Ok(()) => Outcome::Success(String::new()),
            Err(words) => Outcome::Failure(words),
        })
    }
}

/// The credentials of this name, if pods of the namespace may have them used.
fn credentials<'a>(name: &str, namespace: &str, config: &'a Config) -> Result<&'a Credentials, String> {
    let credentials = config.credentials.get(name);
    let credentials =
        credentials.ok_or_else(|| format!("the plugin's configuration has no credentials {name:?}"))?;
    if credentials.namespaces.iter().any(|allowed| allowed == namespace) {
        Ok(credentials)
    } else {
        Err(format!("credentials {name:?} aren't for pods of namespace {namespace:?}"))
    }
}

/// The command that logs in.
fn login(credentials: &Credentials) -> Result<Vec<u8>, Error> {
    let name = &credentials.password_secret;
    let password = secret::get(name).map_err(|cause| Error::Secret { name: name.clone(), cause })?;
    // A file's last line end isn't part of a password.
    let password = password.strip_suffix(b"\n").unwrap_or(&password);
    let mut words: Vec<&[u8]> = vec![b"AUTH"];
    words.extend(credentials.username.as_deref().map(str::as_bytes));
    words.push(password);
    Ok(command(&words))
}

/// Asks what is to be asked; an error is why the probe fails.
fn converse(
    host: &str,
    port: u16,
    login: Option<&[u8]>,
    role: Option<Role>,
    deadline: Deadline,
) -> Result<(), String> {
    let words = |error: net::Error| error.to_string();
    let mut stream = TcpStream::connect(host, port, deadline).map_err(words)?;
    let mut ask = |command: &[u8]| -> Result<Reply, String> {
        stream.write_all(command, deadline).map_err(words)?;
        let mut received = Vec::new();
        loop {
            let part = stream.read(READ_BYTES, deadline).map_err(words)?;
            if part.is_empty() {
                return Err("the server closed the connection".to_owned());
            }
            received.extend_from_slice(&part);
            if let Some(reply) = reply(&received).map_err(|_| "invalid RESP reply".to_owned())? {
                return Ok(reply);
            }
        }
    };
    if let Some(login) = login {
        expect("AUTH", "OK", ask(login)?)?;
    }
    expect("PING", "PONG", ask(&command(&[b"PING"]))?)?;
    if let Some(expected) = role {
        return has_role(expected, ask(&command(&[b"ROLE"]))?);
    }
    Ok(())
}

/// A command as an array of texts.
fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn expect(command: &str, expected: &str, reply: Reply) -> Result<(), String> {
    match reply {
        Reply::Text(text) if text == expected => Ok(()),
        Reply::Error(words) => Err(format!("{command}: {words}")),
        Reply::Text(text) => Err(format!("unexpected reply to {command}: {text:?}")),
        Reply::Array(_) => Err(format!("unexpected reply to {command}: an array")),
    }
}

fn has_role(expected: Role, reply: Reply) -> Result<(), String> {
    match reply {
        Reply::Array(Some(word)) | Reply::Text(word) if Role::of(&word) == Some(expected) => Ok(()),
        Reply::Array(Some(word)) | Reply::Text(word) => {
            Err(format!("the server's role is {word:?}, not {:?}", expected.as_str()))
        }
        Reply::Error(words) => Err(format!("ROLE: {words}")),
        Reply::Array(None) => Err("ROLE is answered with an empty list".to_owned()),
    }
}

export_probe!(Redis);

#[cfg(test)]
mod tests;
