//! What a manifest may say, and how it gets into a component and out of it.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const YAML: &str = "\
apiVersion: witlet.dev/v1alpha1
kind: PluginManifest
name: team-label
version: 1.4.0
description: Rejects pods without a label.
licenses: Apache-2.0
homepage: https://example.com/team-label
config:
  type: object
  required: [label]
  additionalProperties: false
  properties:
    label: {type: string, minLength: 1, description: Key of the label.}
parameters: {type: object}
grants:
  - name: network
    reason: Connects to the container that it probes.
  - name: secrets
    reason: Reads the password.
";

fn manifest() -> Manifest {
    Manifest::parse(YAML).expect("a manifest")
}

/// The manifest with a field more or another value, as JSON.
fn changed(field: &str, value: Value) -> String {
    let mut document: Value = serde_json::from_str(&manifest().json()).expect("JSON");
    document[field] = value;
    document.to_string()
}

#[test]
fn a_manifest_is_written_in_yaml_and_read_out_of_a_component() {
    let manifest = manifest();
    assert_eq!((manifest.name(), manifest.version()), ("team-label", "1.4.0"));
    assert_eq!(manifest.description(), "Rejects pods without a label.");
    let wasm = witlet_test_guests::NO_LATEST_TAG;
    assert_eq!(Manifest::of(wasm), Ok(None));
    let with = manifest.embed(wasm).expect("a component");
    assert_eq!(Manifest::of(&with), Ok(Some(manifest.clone())));
    assert_eq!(manifest.embed(&with).expect("a component"), with, "once more changes nothing");
    let before = crate::inspect::inspect(wasm).expect("a component");
    let after = crate::inspect::inspect(&with).expect("a component");
    assert_eq!((before.roles, before.needs), (after.roles, after.needs));
}

#[test]
fn the_schemas_are_those_of_config_and_of_parameters() {
    let manifest = manifest();
    let config = manifest.config().expect("it has one");
    assert_eq!(config.mismatches(&json!({"label": "team"}), "config"), []);
    let found = config.mismatches(&json!({"lable": "team"}), "config");
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["config: the field label is missing", "config.lable: unknown field, expected label"]);
    assert_eq!(manifest.parameters().expect("it has one").mismatches(&json!([]), "parameters").len(), 1);
}

#[test]
fn requested_grants_that_an_entry_does_not_give_are_named_with_their_reasons() {
    let given = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        manifest().ungranted(&given(&["network"])),
        ["it wants the grant secrets, which its entry does not give: Reads the password."]
    );
    assert_eq!(manifest().ungranted(&given(&["secrets", "network", "tls"])), [""; 0]);
    assert_eq!(manifest().ungranted(&[]).len(), 2);
}

#[test]
fn a_manifest_becomes_annotations() {
    let found: Vec<(String, String)> = manifest().annotations().into_iter().collect();
    let of = |key: &str, text: &str| (format!("org.opencontainers.image.{key}"), text.to_owned());
    assert_eq!(
        found,
        [
            of("description", "Rejects pods without a label."),
            of("licenses", "Apache-2.0"),
            of("title", "team-label"),
            of("url", "https://example.com/team-label"),
            of("version", "1.4.0"),
        ]
    );
}

#[test]
fn what_is_wrong_with_a_manifest_is_reported_by_its_field() {
    let long = "x".repeat(1025);
    let grants = |name: &str, reason: &str| json!([{"name": name, "reason": reason}]);
    let twice = json!([{"name": "exec", "reason": "a"}, {"name": "exec", "reason": "b"}]);
    let cases = [
        ("name", json!("Team"), "name: \"Team\" must have at most 63 lower-case letters, digits and `-`"),
        ("version", json!(""), "version: \"\" isn't a version"),
        ("version", json!("1 4"), "version: \"1 4\" isn't a version"),
        ("description", json!(" "), "description: may not be empty"),
        ("description", json!("a\u{1b}[31m"), "description: must be one line without control characters"),
        ("vendor", json!(long), "vendor: has 1025 bytes, at most 1024 are allowed"),
        ("vendors", json!("a"), "vendors"),
        ("config", json!({"oneOf": []}), "config.oneOf: the keyword is not supported: use type"),
        ("parameters", json!({"type": "map"}), "parameters.type: must be one of object"),
        (
            "grants",
            grants("tls", "a"),
            "grants[0].name: \"tls\" is no grant: expected one of network, secrets",
        ),
        ("grants", grants("exec", ""), "grants[0].reason: may not be empty"),
        ("grants", twice, "grants[1].name: exec is requested twice"),
        ("grants", json!([{"name": "exec"}]), "reason"),
        ("kind", json!("Pod"), "expected kind PluginManifest of witlet.dev/v1alpha1, found \"Pod\" of"),
        ("apiVersion", json!("witlet.dev/v2"), "found \"PluginManifest\" of \"witlet.dev/v2\""),
    ];
    for (field, value, words) in cases {
        let text = changed(field, value);
        let from_yaml = Manifest::parse(&text).expect_err("it is refused").to_string();
        assert!(from_yaml.contains(words), "{text}: {from_yaml}");
        let component =
            section::replaced(witlet_test_guests::NO_LATEST_TAG, text.as_bytes()).expect("a component");
        let from_component = Manifest::of(&component).expect_err("it is refused").to_string();
        assert!(from_component.contains(words), "{text}: {from_component}");
    }
}

#[test]
fn a_broken_section_is_reported_and_never_panics() {
    let with = |contents: &[u8]| {
        section::replaced(witlet_test_guests::NO_LATEST_TAG, contents).expect("a component")
    };
    assert!(matches!(Manifest::of(&with(b"")), Err(ManifestError::Syntax { .. })));
    assert!(matches!(Manifest::of(&with(b"\xff{}")), Err(ManifestError::Syntax { .. })));
    assert!(matches!(Manifest::of(&with(b"{}")), Err(ManifestError::Kind { .. })));
    let bytes = MANIFEST_BYTES_MAX + 1;
    assert_eq!(Manifest::of(&with(&vec![b' '; bytes])), Err(ManifestError::TooLarge { bytes }));
    assert_eq!(Manifest::parse(&" ".repeat(bytes)), Err(ManifestError::TooLarge { bytes }));
    let deep = [b"[".repeat(10_000), b"]".repeat(10_000)].concat();
    assert!(matches!(Manifest::of(&with(&deep)), Err(ManifestError::Syntax { .. })));
    let twice = [with(b"{}"), with(b"{}")[witlet_test_guests::NO_LATEST_TAG.len()..].to_vec()].concat();
    assert_eq!(Manifest::of(&twice), Err(ManifestError::Many { count: 2 }));
}

proptest! {
    #[test]
    fn any_bytes_are_a_manifest_or_an_error_of_few_words(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = Manifest::parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert!(error.to_string().len() <= 4096);
        }
    }
}
