//! A component's manifest, and values held against its schemas: `host/wasm`.

use serde_json::Value;
use witlet_wasm::manifest::{FINDINGS_MAX, MANIFEST_BYTES_MAX, Manifest, Mismatch};

use crate::{Target, check_message, split_at_line};

pub(crate) const TARGET: Target = Target {
    name: "plugin_manifest",
    run,
    words: &[
        "apiVersion: witlet.dev/v1alpha1\n",
        "kind: PluginManifest\n",
        "name: a\n",
        "version: 1.0.0\n",
        "description: a\n",
        "licenses: MIT\n",
        "config:\n",
        "  type: object\n",
        "  type: [string, 'null']\n",
        "  required: [a]\n",
        "  properties: {a: {type: string}}\n",
        "  additionalProperties: false\n",
        "  items: {type: integer, minimum: 1, maximum: 9}\n",
        "  enum: [a, 1, null]\n",
        "minLength: 1",
        "maxLength: 9",
        "pattern: '^[a-z]+$'",
        "pattern: '(a*)*{9}'",
        "parameters: {}\n",
        "grants:\n- {name: network, reason: a}\n",
        "\n---\n",
        "{\"a\": [1, null]}",
        "1e308",
        "18446744073709551615",
    ],
};

/// A manifest, and after a line `---` a value as JSON.
fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (text, value) = split_at_line(text, "---");
    let found = Manifest::parse(text);
    assert_eq!(found, Manifest::parse(text), "the same text is the same manifest");
    let manifest = match found {
        Ok(found) => found,
        Err(error) => return check_message(&error.to_string(), 0),
    };
    let json = manifest.json();
    assert!(text.len() <= MANIFEST_BYTES_MAX && json.len() <= MANIFEST_BYTES_MAX);
    let component = manifest.embed(b"\0asm\x0d\0\x01\0").expect("the header is a component");
    let again = Manifest::of(&component).expect("what is written can be read").expect("it is there");
    // Numbers with a fraction may differ in their last digit.
    assert_eq!((again.name(), again.grants()), (manifest.name(), manifest.grants()), "{json}");
    let value: Value = serde_json::from_str(value).unwrap_or_default();
    for (name, schema) in [("config", manifest.config()), ("parameters", manifest.parameters())] {
        let Some(schema) = schema else { continue };
        let found = schema.mismatches(&value, name);
        assert!(found.len() <= FINDINGS_MAX, "{} findings", found.len());
        found.iter().map(Mismatch::to_string).for_each(|finding| check_message(&finding, 0));
        schema.outline();
    }
}
