//! An admission handler: it refuses pods without the label that the configuration names.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use witlet_plugin_sdk_0_2::{
    AdmissionHandler, Error, Operation, Request, Setup, Verdict, export_admission, info,
};

/// Reason of the rejection.
const REASON: &str = "LabelMissing";

/// The longest key that a label can have: a domain, a slash and a name.
const KEY_BYTES_MAX: usize = 253 + 1 + 63;

/// The handler, made of what stands under `config:` in the plugin's entry, such as `{"label": "team"}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct {{Camel}} {
    /// Key of the label that every pod must have.
    label: String,
}

impl AdmissionHandler for {{Camel}} {
    fn subscribes(&self) -> Vec<Operation> {
        // Other images or resources change no label.
        vec![Operation::Add]
    }

    fn validate(&self, _: &Setup<'_>) -> Result<(), Error> {
        match self.label.len() {
            0 => Err(Error::invalid("label", "may not be empty")),
            length if length > KEY_BYTES_MAX => Err(Error::invalid("label", "is longer than any label's key")),
            _ => Ok(()),
        }
    }

    fn admit(&self, request: &Request<'_>) -> Result<Verdict, Error> {
        let (pod, key) = (request.pod(), &self.label);
        Ok(match pod.label(key) {
            Some(value) if !value.is_empty() => {
                info!("pod {} has {key}={value}", pod.name());
                Verdict::admit()
            }
            Some(_) => Verdict::reject(REASON, format!("the pod's label {key} is empty")),
            None => Verdict::reject(REASON, format!("the pod has no label {key}")),
        })
    }
}

export_admission!({{Camel}});

#[cfg(test)]
mod tests;
