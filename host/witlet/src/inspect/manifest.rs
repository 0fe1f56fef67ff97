//! A component's manifest in lines for people.

use witlet_wasm::manifest::{FieldOutline, Manifest, Schema};

/// Lines with the names of their parts; a name that is empty goes on with the part before.
pub(super) fn lines(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let mut lines = vec![
        ("plugin", format!("{} {}", manifest.name(), manifest.version())),
        ("about", manifest.description().to_owned()),
    ];
    let wants = manifest.grants().iter().map(|grant| format!("grant {}: {}", grant.name, grant.reason));
    let schemas = [("config", manifest.config()), ("parameters", manifest.parameters())];
    let fields = schemas.into_iter().filter_map(|(name, schema)| Some((name, outline(schema?))));
    for (name, items) in std::iter::once(("wants", wants.collect())).chain(fields) {
        lines.extend(items.into_iter().enumerate().map(|(at, item)| (if at == 0 { name } else { "" }, item)));
    }
    lines
}

fn outline(schema: &Schema) -> Vec<String> {
    let line = |field: FieldOutline| {
        let FieldOutline { name, types, is_required, description } = field;
        let required = if is_required { ", required" } else { "" };
        let description = description.map(|text| format!(": {text}")).unwrap_or_default();
        format!("{name} ({types}{required}){description}")
    };
    let lines: Vec<String> = schema.outline().into_iter().map(line).collect();
    if lines.is_empty() { vec!["has a schema without named fields".to_owned()] } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_it_says_is_laid_out() {
        let manifest = Manifest::parse(
            "{apiVersion: witlet.dev/v1alpha1, kind: PluginManifest, name: banner, version: 1.4.0, description: Greets., \
             config: {type: 'null'}, parameters: {required: [port], properties: {expect: {}, port: {type: integer, \
             description: A port.}}}, grants: [{name: network, reason: Connects.}, {name: secrets, reason: Logs in.}]}",
        );
        let lines: Vec<String> = lines(&manifest.expect("a manifest"))
            .into_iter()
            .map(|(name, line)| format!("{name:<10} {line}"))
            .collect();
        assert_eq!(
            lines,
            [
                "plugin     banner 1.4.0",
                "about      Greets.",
                "wants      grant network: Connects.",
                "           grant secrets: Logs in.",
                "config     has a schema without named fields",
                "parameters port (integer, required): A port.",
                "           expect (any)",
            ]
        );
    }
}
