//! A pod source: its pods are those that stand in its own configuration.

#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

use serde::Deserialize;
use serde_json::Value;
use witlet_plugin_sdk::source::{PodSource, Poll, SourceError, fingerprint};
use witlet_plugin_sdk::{Error, export_pod_source, info};

/// The source.
struct {{Camel}};

/// What stands under `config:` in the plugin's entry, such as `{"pods": [{"kind": "Pod", …}]}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// Manifests of pods, none for a source without pods.
    pods: Vec<Value>,
}

impl PodSource for {{Camel}} {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        match config.pods.iter().position(|pod| pod["kind"] != "Pod") {
            Some(index) => Err(Error::invalid(format!("pods[{index}]"), "is no manifest of kind Pod")),
            None => Ok(()),
        }
    }

    fn poll(cursor: Option<&str>, config: &Config) -> Result<Poll, SourceError> {
        // A source that can't find out what it has returns `SourceError::new("Unavailable", …)`, never an empty list: for the
        // host that would be the end of all its pods.
        let manifests: Vec<String> = config.pods.iter().map(Value::to_string).collect();
        let current = fingerprint(&manifests);
        if cursor == Some(&current) {
            return Ok(Poll::unchanged().with_cursor(current));
        }
        info!("{} pods", manifests.len());
        Ok(Poll::all(manifests).with_cursor(current))
    }
}

export_pod_source!({{Camel}});

#[cfg(test)]
mod tests;
