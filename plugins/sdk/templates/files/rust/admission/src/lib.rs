//! An admission handler: it refuses pods without the label that the configuration names.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use witlet_plugin_sdk::{AdmissionHandler, Error, Operation, Request, Verdict, export_admission, info};

/// Reason of the rejection.
const REASON: &str = "LabelMissing";

/// The longest key that a label can have: a domain, a slash and a name.
const KEY_BYTES_MAX: usize = 253 + 1 + 63;

/// The handler.
struct {{Camel}};

/// What stands under `config:` in the plugin's entry, such as `{"label": "team"}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Key of the label that every pod must have.
    label: String,
}

impl AdmissionHandler for {{Camel}} {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        match config.label.len() {
            0 => Err(Error::invalid("label", "may not be empty")),
            length if length > KEY_BYTES_MAX => Err(Error::invalid("label", "is longer than any label's key")),
            _ => Ok(()),
        }
    }

    fn admit(request: &Request<'_>, config: &Config) -> Result<Verdict, Error> {
        // A running pod that asks for other resources was judged when it was added.
        if request.operation() == Operation::Resize {
            return Ok(Verdict::Admit);
        }
        let (pod, key) = (request.pod(), &config.label);
        Ok(match pod.label(key) {
            Some(value) if !value.is_empty() => {
                info!("pod {} has {key}={value}", pod.identity().name);
                Verdict::Admit
            }
            Some(_) => Verdict::reject(REASON, format!("the pod's label {key} is empty")),
            None => Verdict::reject(REASON, format!("the pod has no label {key}")),
        })
    }
}

export_admission!({{Camel}});

#[cfg(test)]
mod tests;
