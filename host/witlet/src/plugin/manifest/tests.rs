//! A manifest gets into a component's file, or the file stays as it was.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use witlet_core::error::one_line;
use witlet_templates::{Language, Name, render};

use super::*;

const MANIFEST: &str = "\
apiVersion: witlet.dev/v1alpha1
kind: PluginManifest
name: no-latest-tag
version: 1.0.0
description: Refuses images without a fixed version.
config: {type: [object, 'null']}
";

fn args(folder: &Path, component: &[u8], manifest: &str) -> ManifestArgs {
    let (file, source) = (folder.join("a.wasm"), folder.join("plugin.yaml"));
    fs::write(&file, component).expect("a temporary folder");
    fs::write(&source, manifest).expect("a temporary folder");
    ManifestArgs { file, manifest: source, to: None }
}

#[test]
fn a_component_gets_the_manifest_in_its_place_and_with_its_permissions() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let args = args(folder.path(), witlet_test_guests::NO_LATEST_TAG, MANIFEST);
    fs::set_permissions(&args.file, fs::Permissions::from_mode(0o640)).expect("the test's own file");
    for _ in 0..2 {
        run(&args).expect("it fits");
        let wasm = read_component(&args.file).expect("a component");
        let manifest = Manifest::of(&wasm).expect("it can be read").expect("it is there");
        assert_eq!(manifest.name(), "no-latest-tag");
        assert_eq!(fs::metadata(&args.file).expect("a file").permissions().mode() & 0o777, 0o640);
    }
    let other = ManifestArgs { to: Some(folder.path().join("b.wasm")), ..args };
    run(&other).expect("it fits");
    let names: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").flatten().map(|at| at.file_name()).collect();
    assert_eq!(names.len(), 3, "nothing is left over: {names:?}");
}

#[test]
fn what_is_wrong_is_named_with_its_file_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let good = witlet_test_guests::NO_LATEST_TAG;
    let large = MANIFEST.to_owned() + &"#".repeat(MANIFEST_BYTES_MAX);
    let cases: [(&[u8], &str, &str, &str); 5] = [
        (good, "kind: Pod", "plugin.yaml", "expected kind PluginManifest"),
        (good, &large, "plugin.yaml", "at most 65536 are allowed"),
        (
            good,
            &(MANIFEST.to_owned() + "parameters: {}\n"),
            "plugin.yaml",
            "parameters: only allowed for a probe type",
        ),
        (
            good,
            &MANIFEST.replace("{type:", "{not:"),
            "plugin.yaml",
            "config.not: the keyword is not supported",
        ),
        (b"\0asm\x01\0\0\0", MANIFEST, "a.wasm", "it is a core module"),
    ];
    for (component, manifest, file, words) in cases {
        let args = args(folder.path(), component, manifest);
        let reported = one_line(&run(&args).expect_err("it is refused"));
        assert!(reported.contains(&format!("{file}: ")) && reported.contains(words), "{reported}");
        assert_eq!(fs::read(&args.file).expect("it is there"), component);
    }
}

#[test]
fn every_template_has_a_manifest_that_its_own_entry_fits() {
    let name = Name::parse("my-plugin").expect("a name");
    for language in Language::ALL {
        for role in witlet_templates::Role::ALL {
            let files = render(language, role, &name).expect("no language reserves this name");
            let text = |path: &str| {
                let file = files.iter().find(|file| file.path == path).expect("every project has it");
                String::from_utf8(file.contents.clone()).expect("it is text")
            };
            let manifest = Manifest::parse(&text("plugin.yaml")).expect("it is taken");
            assert_eq!(manifest.name(), "my-plugin", "{language} {role}");
            assert_eq!(
                manifest.parameters().is_some(),
                role == witlet_templates::Role::Probe,
                "{language} {role}"
            );
            let file: Value = serde_saphyr::from_str(&text("plugins.yaml")).expect("YAML");
            let entry = &file["plugins"][0];
            let config = manifest.config().expect("it has a schema");
            assert_eq!(config.mismatches(&entry["config"], "config"), [], "{language} {role}");
            let granted = entry["grants"].as_object().into_iter().flatten();
            let granted: Vec<String> = granted.map(|(name, _)| name.clone()).collect();
            assert_eq!(manifest.ungranted(&granted), [""; 0], "{language} {role}");
        }
    }
}
