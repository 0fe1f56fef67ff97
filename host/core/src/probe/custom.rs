//! The annotation `probe.witlet.dev/<container>`: other checks, and finer times, in place of those of the spec's probes.
//!
//! `{"startup" | "readiness" | "liveness": {"type": …, "parameters": {…}, "periodMilliseconds": …, "timeoutMilliseconds": …,
//! "initialDelayMilliseconds": …, "successThreshold": …, "failureThreshold": …}}`. Only `type` is needed; times and counts that
//! aren't given are the spec's. A stock kubelet runs the spec's handler.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use k8s_openapi::api::core::v1::Container;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use thiserror::Error;

use super::ProbeKind;
use super::handler::{ProbeHandler, plain_env};
use super::worker::ProbeSettings;
use crate::container::spec::expand_variables;

#[cfg(test)]
mod tests;

/// What the annotation's name begins with; the container's name follows.
pub const ANNOTATION_PREFIX: &str = "probe.witlet.dev/";
/// Longest annotation that is read, in bytes.
pub const ANNOTATION_BYTES_MAX: usize = 16 * 1024;
/// Longest parameters once variables are replaced, in bytes.
pub const PARAMETERS_BYTES_MAX: usize = 64 * 1024;
/// So many objects and lists may lie in each other in parameters.
pub const PARAMETERS_DEPTH_MAX: usize = 16;
/// Longest name of a type, in bytes.
pub const TYPE_BYTES_MAX: usize = 253;

const PERIOD_MILLISECONDS: Bounds = Bounds { field: "periodMilliseconds", min: 50, max: 24 * 60 * 60 * 1000 };
const TIMEOUT_MILLISECONDS: Bounds = Bounds { field: "timeoutMilliseconds", min: 10, max: 5 * 60 * 1000 };
const DELAY_MILLISECONDS: Bounds =
    Bounds { field: "initialDelayMilliseconds", min: 0, max: 24 * 60 * 60 * 1000 };
const SUCCESSES: Bounds = Bounds { field: "successThreshold", min: 1, max: 1000 };
const FAILURES: Bounds = Bounds { field: "failureThreshold", min: 1, max: 100_000 };

/// Why an annotation, or one probe of it, can't be worked on.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidProbe {
    /// It is longer than is read.
    #[error("must have at most {ANNOTATION_BYTES_MAX} bytes, found {bytes}")]
    TooLong { bytes: usize },
    /// It isn't what the annotation's form is.
    #[error("{words}")]
    Malformed {
        /// What is wrong, and where.
        words: String,
    },
    /// The name of the type is empty or too long.
    #[error("type must have 1 to {TYPE_BYTES_MAX} bytes")]
    Type,
    /// A number is out of its bounds.
    #[error("{field} must be between {min} and {max}, found {found}")]
    Bounds {
        field: &'static str,
        /// The least that it may be.
        min: u64,
        /// The most that it may be.
        max: u64,
        found: u64,
    },
    /// A liveness or startup probe can't want more than one success (as upstream's validation has it).
    #[error("successThreshold must be 1 for liveness and startup probes")]
    OneSuccess,
    /// Parameters lie too deep in each other.
    #[error("parameters must not be nested deeper than {PARAMETERS_DEPTH_MAX} levels")]
    TooDeep,
    /// Parameters are too long once variables are replaced.
    #[error("parameters must have at most {PARAMETERS_BYTES_MAX} bytes after variables are expanded")]
    ParametersTooLong,
}

/// What the annotation says of one probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomProbe {
    /// What is checked instead.
    pub handler: ProbeHandler,
    times: Times,
}

/// What the annotation says of each probe that it names.
pub type CustomProbes = BTreeMap<ProbeKind, Result<CustomProbe, InvalidProbe>>;

impl CustomProbe {
    /// The probe's times and counts: the annotation's, else the spec's.
    pub fn settings(&self, of_spec: ProbeSettings) -> ProbeSettings {
        let milliseconds = |given: Option<u64>, or: Duration| given.map_or(or, Duration::from_millis);
        let Times { period, timeout, initial_delay, success_threshold, failure_threshold } = self.times;
        ProbeSettings {
            period: milliseconds(period, of_spec.period),
            timeout: milliseconds(timeout, of_spec.timeout),
            initial_delay: milliseconds(initial_delay, of_spec.initial_delay),
            success_threshold: success_threshold.unwrap_or(of_spec.success_threshold),
            failure_threshold: failure_threshold.unwrap_or(of_spec.failure_threshold),
        }
    }
}

/// Reads the annotation of a container. A probe that is wrong in itself is an error of its own.
///
/// # Errors
///
/// When nothing of the annotation can be read.
pub fn read(annotation: &str, container: &Container) -> Result<CustomProbes, InvalidProbe> {
    if annotation.len() > ANNOTATION_BYTES_MAX {
        return Err(InvalidProbe::TooLong { bytes: annotation.len() });
    }
    // A struct may be read from a list, too, which isn't the annotation's form.
    let _: Map<String, Value> = serde_json::from_str(annotation).map_err(malformed)?;
    let Entries { startup, readiness, liveness } = serde_json::from_str(annotation).map_err(malformed)?;
    let named =
        [(ProbeKind::Startup, startup), (ProbeKind::Readiness, readiness), (ProbeKind::Liveness, liveness)];
    let named = named.into_iter().filter_map(|(kind, entry)| Some((kind, entry?)));
    Ok(named.map(|(kind, entry)| (kind, read_entry(kind, entry, container))).collect())
}

/// A probe that is there is never taken for one that isn't, be it `null`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    #[serde(default, deserialize_with = "present")]
    startup: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    readiness: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    liveness: Option<Value>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Entry {
    #[serde(rename = "type")]
    probe_type: String,
    #[serde(default)]
    parameters: Option<Map<String, Value>>,
    period_milliseconds: Option<u64>,
    timeout_milliseconds: Option<u64>,
    initial_delay_milliseconds: Option<u64>,
    success_threshold: Option<u64>,
    failure_threshold: Option<u64>,
}

/// What is given of times and counts, each within its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    period: Option<u64>,
    timeout: Option<u64>,
    initial_delay: Option<u64>,
    success_threshold: Option<u32>,
    failure_threshold: Option<u32>,
}

fn malformed(error: serde_json::Error) -> InvalidProbe {
    InvalidProbe::Malformed { words: error.to_string() }
}

fn read_entry(kind: ProbeKind, entry: Value, container: &Container) -> Result<CustomProbe, InvalidProbe> {
    let entry: Map<String, Value> = serde_json::from_value(entry).map_err(malformed)?;
    let entry: Entry = serde_json::from_value(Value::Object(entry)).map_err(malformed)?;
    if entry.probe_type.is_empty() || entry.probe_type.len() > TYPE_BYTES_MAX {
        return Err(InvalidProbe::Type);
    }
    let count = |bounds: Bounds, given| -> Result<Option<u32>, InvalidProbe> {
        let given = bounds.check(given)?;
        Ok(given.and_then(|given| u32::try_from(given).ok()))
    };
    let times = Times {
        period: PERIOD_MILLISECONDS.check(entry.period_milliseconds)?,
        timeout: TIMEOUT_MILLISECONDS.check(entry.timeout_milliseconds)?,
        initial_delay: DELAY_MILLISECONDS.check(entry.initial_delay_milliseconds)?,
        success_threshold: count(SUCCESSES, entry.success_threshold)?,
        failure_threshold: count(FAILURES, entry.failure_threshold)?,
    };
    match kind {
        ProbeKind::Startup | ProbeKind::Liveness
            if times.success_threshold.is_some_and(|count| count > 1) =>
        {
            return Err(InvalidProbe::OneSuccess);
        }
        ProbeKind::Startup | ProbeKind::Readiness | ProbeKind::Liveness => {}
    }
    let parameters = match entry.parameters {
        Some(parameters) => resolve(parameters, container)?,
        None => Value::Null,
    };
    let handler = ProbeHandler::new(&entry.probe_type, &parameters);
    Ok(CustomProbe { handler, times })
}

/// Where a number may lie.
#[derive(Clone, Copy)]
struct Bounds {
    field: &'static str,
    min: u64,
    max: u64,
}

impl Bounds {
    fn check(self, given: Option<u64>) -> Result<Option<u64>, InvalidProbe> {
        let Self { field, min, max } = self;
        match given {
            Some(found) if found < min || found > max => Err(InvalidProbe::Bounds { field, min, max, found }),
            Some(_) | None => Ok(given),
        }
    }
}

/// Parameters as a type gets them. In every text, `$(VAR)` becomes the value of the container's plain variable of that name,
/// as in its command. Then a text that stands under `port`, or under a name that ends in `Port`, and that is the name of one of
/// the container's ports becomes that port's number; any other stays, for the type to judge.
fn resolve(parameters: Map<String, Value>, container: &Container) -> Result<Value, InvalidProbe> {
    let mut resolver = Resolver { container, env: plain_env(container), left: PARAMETERS_BYTES_MAX };
    let resolved = resolver.object(parameters, 1)?;
    if resolved.to_string().len() > PARAMETERS_BYTES_MAX {
        return Err(InvalidProbe::ParametersTooLong);
    }
    Ok(resolved)
}

struct Resolver<'a> {
    container: &'a Container,
    env: HashMap<&'a str, &'a str>,
    /// How many bytes of text may still come.
    left: usize,
}

impl Resolver<'_> {
    fn object(&mut self, object: Map<String, Value>, depth: usize) -> Result<Value, InvalidProbe> {
        let mut resolved = Map::new();
        for (name, value) in object {
            let value = self.value(value, depth)?;
            let value = match self.port(&name, &value) {
                Some(port) => Value::from(port),
                None => value,
            };
            resolved.insert(name, value);
        }
        Ok(Value::Object(resolved))
    }

    fn value(&mut self, value: Value, depth: usize) -> Result<Value, InvalidProbe> {
        match value {
            Value::Object(_) | Value::Array(_) if depth == PARAMETERS_DEPTH_MAX => Err(InvalidProbe::TooDeep),
            Value::Object(object) => self.object(object, depth + 1),
            Value::Array(list) => {
                let values = list.into_iter().map(|value| self.value(value, depth + 1));
                values.collect::<Result<_, _>>().map(Value::Array)
            }
            Value::String(text) => self.text(&text).map(Value::String),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value),
        }
    }

    fn text(&mut self, text: &str) -> Result<String, InvalidProbe> {
        let text = expand_variables(text, |name| self.env.get(name).copied())
            .map_err(|_| InvalidProbe::ParametersTooLong)?;
        self.left = self.left.checked_sub(text.len()).ok_or(InvalidProbe::ParametersTooLong)?;
        Ok(text)
    }

    fn port(&self, name: &str, value: &Value) -> Option<i32> {
        let of_port = name == "port" || name.ends_with("Port");
        let text = value.as_str().filter(|text| of_port && !text.is_empty())?;
        let mut ports = self.container.ports.iter().flatten();
        ports.find(|port| port.name.as_deref() == Some(text)).map(|port| port.container_port)
    }
}
