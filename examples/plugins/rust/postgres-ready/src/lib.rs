//! Probe type `postgres-ready`: the server accepts connections, as `pg_isready` has it: it asks for a login or refuses one
//! for a reason of its own; a server that starts, stops or recovers rejects them.
//!
//! Parameters: `{"port": 5432, "user": "app", "database": "shop"}`, all of them optional, and `host` for another host than
//! the pod. It doesn't log in, so that user and database need not exist; the server's log may name them.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

mod message;

use serde::Deserialize;
use witlet_plugin_sdk::net::{self, TcpStream};
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::time::Deadline;
use witlet_plugin_sdk::{Error, export_probe};

use message::{StartupReply, answer, startup};

/// Where PostgreSQL listens unless configured otherwise.
const PORT: u16 = 5432;

/// The user and database that a server has from its beginning.
const POSTGRES: &str = "postgres";

/// Bytes of a name, as PostgreSQL has it (`NAMEDATALEN`).
const NAME_BYTES_MAX: usize = 63;

/// In so many parts an answer comes: a server can't have the component compute for longer than it may.
const PARTS_MAX: usize = 500;

/// How much is read at a time.
const READ_BYTES: usize = 4 * 1024;

/// The probe type.
pub struct PostgresReady;

/// The probe's `parameters:`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Address or name; the pod's address if it is missing.
    pub host: Option<String>,
    /// The port; 5432 if it is missing.
    pub port: Option<u16>,
    /// As whom a connection is asked for; `postgres` if it is missing.
    pub user: Option<String>,
    /// For which database; `postgres` if it is missing.
    pub database: Option<String>,
}

impl ProbeType for PostgresReady {
    type Config = ();
    type Parameters = Parameters;

    fn check_parameters(parameters: &Parameters, (): &()) -> Result<(), Error> {
        if parameters.port == Some(0) {
            return Err(Error::invalid("port", "must be 1 to 65535"));
        }
        for (field, name) in [("user", &parameters.user), ("database", &parameters.database)] {
            let Some(name) = name else { continue };
            if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
                return Err(Error::invalid(field, format!("{name:?} is no name")));
            }
        }
        Ok(())
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, (): &()) -> Result<Outcome, Error> {
        let host = target.host_or_pod_ip(parameters.host.as_deref())?;
        let port = parameters.port.unwrap_or(PORT);
        let user = parameters.user.as_deref().unwrap_or(POSTGRES);
        let database = parameters.database.as_deref().unwrap_or(POSTGRES);
        Ok(match ask(&host, port, &startup(user, database), target.deadline()) {
            Ok(StartupReply::Accepts) => Outcome::Success("accepting connections".to_owned()),
            Ok(StartupReply::Rejects(words)) => Outcome::Failure(format!("rejecting connections: {words}")),
            Err(words) => Outcome::Failure(format!("no response: {words}")),
        })
    }
}

/// The server's answer; an error is why there is none.
fn ask(host: &str, port: u16, startup: &[u8], deadline: Deadline) -> Result<StartupReply, String> {
    let words = |error: net::Error| error.to_string();
    let mut stream = TcpStream::connect(host, port, deadline).map_err(words)?;
    stream.write_all(startup, deadline).map_err(words)?;
    let mut received = Vec::new();
    for _ in 0..PARTS_MAX {
        let part = stream.read(READ_BYTES, deadline).map_err(words)?;
        if part.is_empty() {
            return Err("the server closed the connection".to_owned());
        }
        received.extend_from_slice(&part);
        let answered = answer(&received).map_err(|_| "the answer isn't PostgreSQL's".to_owned())?;
        if let Some(answer) = answered {
            return Ok(answer);
        }
    }
    Err("the answer comes in too many parts".to_owned())
}

export_probe!(PostgresReady);

#[cfg(test)]
mod tests;
