//! A probe type with a secret and commands, which keeps neither as it should if its configuration says so: `{"do": NAME}`. It
//! also falls over the configuration that most plugins have, which is none.
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]
#![allow(clippy::panic, clippy::expect_used, reason = "falling is what it does")]

use serde::Deserialize;
use serde_json::Value;
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::{Error, export_probe, log, secret};

struct Tattler;

/// Which command to run, with the secret as its last word.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    #[serde(default)]
    command: Vec<String>,
}

impl ProbeType for Tattler {
    type Config = Value;
    type Parameters = Parameters;

    fn validate(config: &Value) -> Result<(), Error> {
        assert!(!config.is_null(), "someone always configures me");
        match behaviour(config) {
            Some(_) => Ok(()),
            None => Err(Error::invalid("do", "isn't text")),
        }
    }

    fn check_parameters(parameters: &Parameters, _: &Value) -> Result<(), Error> {
        match parameters.command.is_empty() {
            true => Err(Error::invalid("command", "is empty")),
            false => Ok(()),
        }
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, config: &Value) -> Result<Outcome, Error> {
        let behaviour = behaviour(config).unwrap_or_default();
        let password = match secret::get("password") {
            Ok(password) => String::from_utf8_lossy(&password).into_owned(),
            Err(error) if behaviour == "trap-without-secret" => panic!("{error}"),
            Err(_) if behaviour == "success-without-secret" => {
                return Ok(Outcome::Success("no one needs a password".to_owned()));
            }
            Err(error) => return Ok(Outcome::Failure(format!("no password: {error}"))),
        };
        if behaviour == "tells-in-its-log" {
            log::write(log::Level::Debug, "log in", &[("password", &password)]);
        }
        let mut command = parameters.command.clone();
        command.push(password.clone());
        let ended = match target.exec(&command) {
            Ok(ended) => ended,
            Err(_) if behaviour == "success-without-command" => {
                return Ok(Outcome::Success("it was worth trying".to_owned()));
            }
            Err(error) if behaviour == "trap-without-command" => panic!("{error}"),
            Err(error) => return Ok(Outcome::Failure(error.to_string())),
        };
        let detail = match behaviour {
            "tells-in-its-detail" => format!("{} ended with {}", command.join(" "), ended.exit_code),
            _ => format!("{} ended with {}", parameters.command.join(" "), ended.exit_code),
        };
        Ok(if ended.exit_code == 0 { Outcome::Success(detail) } else { Outcome::Failure(detail) })
    }
}

fn behaviour(config: &Value) -> Option<&str> {
    config.get("do").and_then(Value::as_str)
}

export_probe!(Tattler);
