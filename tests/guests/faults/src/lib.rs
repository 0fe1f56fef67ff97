//! A plugin of all three roles that keeps its contracts, unless its configuration plants a fault: `{"fault": NAME}`. The
//! conformance kit must find each of them, and nothing in the plugin without one.
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]
#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "only the component uses it all"))]
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "falling is what many faults are")]

mod admission;
mod config_check;
mod probe;
mod source;

use serde::Deserialize;
use witlet_plugin_sdk::admission::AdmissionHandler;
use witlet_plugin_sdk::probe::{Outcome, ProbeType, Target};
use witlet_plugin_sdk::source::{PodSource, Poll, SourceError};
use witlet_plugin_sdk::{Error, Request, Verdict, export_admission, export_pod_source, export_probe};

struct Faults;

/// What stands under `config:`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Config {
    /// The fault that is planted; none for a plugin that keeps its contracts.
    pub(crate) fault: Option<String>,
    /// The label that pods must have.
    #[serde(default = "team")]
    pub(crate) label: String,
    /// How much CPU a pod may ask for.
    #[serde(default = "two_cpus")]
    pub(crate) milli_cpu_max: serde_json::Value,
    /// Where manifests are.
    #[serde(default = "pods")]
    pub(crate) folder: String,
}

fn team() -> String {
    "team".to_owned()
}

fn two_cpus() -> serde_json::Value {
    2000.into()
}

fn pods() -> String {
    "/pods".to_owned()
}

impl Config {
    /// The name of the fault, empty if there is none.
    pub(crate) fn fault(&self) -> &str {
        self.fault.as_deref().unwrap_or_default()
    }

    /// How much CPU a pod may ask for; none if that isn't a number.
    pub(crate) fn milli_cpu_max(&self) -> Option<i64> {
        self.milli_cpu_max.as_i64()
    }
}

/// A port that a server can have, and what it is to say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    #[serde(default)]
    pub(crate) port: serde_json::Value,
    #[serde(default)]
    pub(crate) expect: serde_json::Value,
    /// Takes whatever a test wants it to check.
    #[serde(default)]
    pub(crate) note: serde_json::Value,
}

impl AdmissionHandler for Faults {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        config_check::validate(config)
    }

    fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
        admission::admit(request, config)
    }
}

impl ProbeType for Faults {
    type Config = Config;
    type Parameters = Parameters;

    fn validate(config: &Config) -> Result<(), Error> {
        config_check::validate(config)
    }

    fn check_parameters(parameters: &Parameters, config: &Config) -> Result<(), Error> {
        probe::check(parameters, config)
    }

    fn probe(target: &Target<'_>, parameters: &Parameters, config: &Config) -> Result<Outcome, Error> {
        probe::probe(target, parameters, config)
    }
}

impl PodSource for Faults {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        config_check::validate(config)
    }

    fn poll(cursor: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
        source::poll(cursor, config)
    }
}

export_admission!(Faults);
export_probe!(Faults);
export_pod_source!(Faults);
