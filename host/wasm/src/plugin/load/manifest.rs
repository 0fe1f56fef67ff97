//! What a component's manifest says of the entry that it is loaded for.

use std::sync::Arc;

use serde_json::Value;

use super::error::LoadError;
use crate::manifest::{Manifest, ManifestError, Mismatch, Schema};
use crate::plugin::Spec;

/// What a manifest means for the entry that its component is loaded for.
#[derive(Debug, Default)]
pub(crate) struct Described {
    /// What the entry lacks, each in a sentence.
    warnings: Vec<String>,
    /// What a probe's parameters must be, if it says so.
    parameters: Option<Schema>,
}

impl Described {
    /// Returns the warnings for the operator, each a sentence.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns what of a probe's parameters doesn't fit, in one line; none where all does or nothing is said of them.
    pub(super) fn misfit(&self, parameters: &str) -> Option<String> {
        let schema = self.parameters.as_ref()?;
        // What is no JSON is for the plugin to refuse.
        let parameters: Value = serde_json::from_str(parameters).ok()?;
        let found = schema.mismatches(&parameters, "parameters");
        let lines: Vec<String> = found.iter().map(Mismatch::to_string).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }
}

/// Compares the entry with the manifest of its component, off the caller's thread: what it means, or what of the configuration can't be.
pub(super) async fn check(spec: &Spec, wasm: Arc<[u8]>) -> Result<Described, LoadError> {
    let (config, given) = (spec.config.clone(), spec.grants.names());
    let task = tokio::task::spawn_blocking(move || judge(Manifest::of(&wasm), &config, &given));
    task.await.unwrap_or(Err(LoadError::Interrupted))
}

/// Without a manifest nothing is said. A broken one is a warning: what it describes may work all the same.
fn judge(
    manifest: Result<Option<Manifest>, ManifestError>,
    config: &str,
    given: &[String],
) -> Result<Described, LoadError> {
    let manifest = match manifest {
        Ok(None) => return Ok(Described::default()),
        Ok(Some(manifest)) => manifest,
        Err(error) => {
            let warnings = vec![format!("its manifest is not used: {error}")];
            return Ok(Described { warnings, parameters: None });
        }
    };
    if let Some(schema) = manifest.config() {
        // A value's own text always reads as the value.
        let config: Value = serde_json::from_str(config).unwrap_or_default();
        let found = schema.mismatches(&config, "config");
        if !found.is_empty() {
            return Err(LoadError::Schema { found });
        }
    }
    Ok(Described { warnings: manifest.ungranted(given), parameters: manifest.parameters().cloned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{
        "apiVersion": "witlet.dev/v1alpha1", "kind": "PluginManifest", "name": "a", "version": "1", "description": "b",
        "config": {"type": "object", "required": ["label"]}, "grants": [{"name": "network", "reason": "Connects."}]
    }"#;

    const MISSING: &str = "it wants the grant network, which its entry does not give: Connects.";
    const NOT_USED: &str =
        "its manifest is not used: the component has 2 sections witlet:manifest, at most one is allowed";

    /// Warnings, or why it is refused.
    type Outcome = Result<&'static [&'static str], &'static str>;

    #[test]
    fn an_entry_is_refused_for_its_configuration_and_warned_of_the_rest() {
        let manifest = || Manifest::parse(MANIFEST).map(Some);
        let broken = || Err(ManifestError::Many { count: 2 });
        let network = || vec!["network".to_owned()];
        let missing = "config: is missing or null, expected object";
        let cases: [(_, &str, Vec<String>, Outcome); 6] = [
            (Ok(None), "null", Vec::new(), Ok(&[])),
            (broken(), "null", Vec::new(), Ok(&[NOT_USED])),
            (manifest(), r#"{"label": "team"}"#, network(), Ok(&[])),
            (manifest(), r#"{"label": "team"}"#, Vec::new(), Ok(&[MISSING])),
            (manifest(), "null", network(), Err(missing)),
            (manifest(), "{}", network(), Err("config: the field label is missing")),
        ];
        for (manifest, config, given, expected) in cases {
            match (judge(manifest, config, &given), expected) {
                (Ok(described), Ok(expected)) => {
                    assert_eq!(described.warnings, expected, "{config} {given:?}");
                }
                (Err(error), Err(expected)) => assert!(error.sentence().ends_with(expected), "{error}"),
                (judged, _) => panic!("{config} {given:?}: {judged:?}"),
            }
        }
    }

    #[test]
    fn parameters_are_refused_by_their_fields() {
        let schema = r#"{"type": "object", "required": ["port"], "additionalProperties": false,
            "properties": {"port": {"type": "integer"}, "expect": {"type": "string"}}}"#;
        let schema = Schema::compile(serde_json::from_str(schema).expect("JSON"), "parameters");
        let described = Described { warnings: Vec::new(), parameters: Some(schema.expect("a schema")) };
        let cases = [
            (r#"{"port": 80}"#, None),
            ("null", Some("parameters: is missing or null, expected object")),
            (
                r#"{"expect": 1, "prot": 80}"#,
                Some(
                    "parameters: the field port is missing; parameters.expect: expected string, found 1; \
                     parameters.prot: unknown field, expected expect, port",
                ),
            ),
            ("{", None),
        ];
        for (parameters, expected) in cases {
            assert_eq!(described.misfit(parameters).as_deref(), expected, "{parameters}");
            assert_eq!(Described::default().misfit(parameters), None, "nothing is said of parameters");
        }
    }
}
