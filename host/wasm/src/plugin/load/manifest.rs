//! What a component's manifest says of the entry that it is loaded for.

use std::sync::Arc;

use serde_json::Value;

use super::{LoadError, Loaded};
use crate::manifest::{Manifest, ManifestError};
use crate::plugin::Spec;

impl Loaded {
    /// What is worth knowing for who runs it, each a sentence.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &str> {
        self.manifest_warnings.iter().chain(&self.setup.warnings).map(String::as_str)
    }
}

/// Compares the entry with the manifest of its component, off the caller's thread: warnings, or what of its configuration can't be.
pub(super) async fn check(spec: &Spec, wasm: Arc<[u8]>) -> Result<Vec<String>, LoadError> {
    let (config, given) = (spec.config.clone(), spec.grants.names());
    let task = tokio::task::spawn_blocking(move || judge(Manifest::of(&wasm), &config, &given));
    task.await.unwrap_or(Err(LoadError::Interrupted))
}

/// Without a manifest nothing is said. A broken one is a warning: what it describes may work all the same.
fn judge(
    manifest: Result<Option<Manifest>, ManifestError>,
    config: &str,
    given: &[String],
) -> Result<Vec<String>, LoadError> {
    let manifest = match manifest {
        Ok(None) => return Ok(Vec::new()),
        Ok(Some(manifest)) => manifest,
        Err(error) => return Ok(vec![format!("its manifest is not used: {error}")]),
    };
    if let Some(schema) = manifest.config() {
        // A value's own text always reads as the value.
        let config: Value = serde_json::from_str(config).unwrap_or_default();
        let found = schema.mismatches(&config, "config");
        if !found.is_empty() {
            return Err(LoadError::Schema { found });
        }
    }
    Ok(manifest.ungranted(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{
        "apiVersion": "witlet.dev/v1alpha1", "kind": "PluginManifest", "name": "a", "version": "1", "description": "b",
        "config": {"type": "object", "required": ["label"]}, "grants": [{"name": "network", "reason": "Connects."}]
    }"#;

    const WANTED: &str = "it wants the grant network, which its entry does not give: Connects.";
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
            (manifest(), r#"{"label": "team"}"#, Vec::new(), Ok(&[WANTED])),
            (manifest(), "null", network(), Err(missing)),
            (manifest(), "{}", network(), Err("config: the field label is missing")),
        ];
        for (manifest, config, given, expected) in cases {
            match (judge(manifest, config, &given), expected) {
                (Ok(warnings), Ok(expected)) => assert_eq!(warnings, expected, "{config} {given:?}"),
                (Err(error), Err(expected)) => assert!(error.sentence().ends_with(expected), "{error}"),
                (judged, _) => panic!("{config} {given:?}: {judged:?}"),
            }
        }
    }
}
