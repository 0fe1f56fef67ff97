//! A pod source: its pods are those that stand in its own configuration.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use serde_json::Value;
use witlet_plugin_sdk_0_2::source::{PodSource, Poll, Setup, fingerprint};
use witlet_plugin_sdk_0_2::{Error, export_source, info};

/// The source, made of what stands under `config:` in the plugin's entry, such as `{"pods": [{"kind": "Pod", …}]}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct {{Camel}} {
    /// Manifests of pods, none for a source without pods.
    pods: Vec<Value>,
}

impl PodSource for {{Camel}} {
    fn validate(&self, _: &Setup<'_>) -> Result<(), Error> {
        match self.pods.iter().position(|pod| pod["kind"] != "Pod") {
            Some(index) => Err(Error::invalid(&format!("pods[{index}]"), "is no manifest of kind Pod")),
            None => Ok(()),
        }
    }

    fn poll(&self, cursor: Option<&str>) -> Result<Poll, Error> {
        // A source that can't find out what it has returns `Error::new("Unavailable", …)`, never an empty list: for the host that
        // would be the end of all its pods.
        let manifests: Vec<String> = self.pods.iter().map(Value::to_string).collect();
        let current = fingerprint(&manifests);
        if cursor == Some(&current) {
            return Ok(Poll::unchanged().cursor(current));
        }
        info!("{} pods", manifests.len());
        Ok(Poll::all(manifests).cursor(current))
    }
}

export_source!({{Camel}});

#[cfg(test)]
mod tests;
