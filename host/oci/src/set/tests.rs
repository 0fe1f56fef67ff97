//! What is a set, and which names its files may have.

use serde_json::Value;
use witlet_core::node::compiled_code::CodeTarget;

use super::*;

fn file(name: &str, media_type: &'static str) -> SetFile {
    SetFile { name: name.to_owned(), media_type, bytes: Bytes::from_static(b"{}") }
}

fn artifact(files: Vec<SetFile>) -> SetArtifact {
    SetArtifact {
        files,
        code: Vec::new(),
        created: "2026-01-02T03:04:05Z".parse().expect("a time"),
        annotations: BTreeMap::new(),
    }
}

fn whole() -> SetArtifact {
    artifact(vec![
        file(PLUGIN_FILE, PLUGIN_FILE_TYPE),
        file("team/rules.wasm", SET_COMPONENT_TYPE),
        file("allowed.json", SET_FILE_TYPE),
    ])
}

fn names(manifest: &[u8]) -> Result<Vec<String>, SetError> {
    set_layers(manifest).map(|layers| layers.into_iter().map(|layer| layer.name).collect())
}

#[test]
fn a_set_is_read_as_it_was_written_and_the_same_files_are_the_same_manifest() {
    let manifest = whole().manifest();
    assert_eq!(
        names(&manifest),
        Ok(["plugins.yaml", "team/rules.wasm", "allowed.json"].map(str::to_owned).to_vec())
    );
    assert_eq!(whole().manifest(), manifest);
    let value: Value = serde_json::from_slice(&manifest).expect("JSON");
    assert_eq!(value["artifactType"], SET_TYPE);
    assert_eq!(value["config"]["mediaType"], "application/vnd.oci.empty.v1+json");
    assert_eq!(value["annotations"]["org.opencontainers.image.created"], "2026-01-02T03:04:05Z");
}

#[test]
fn names_never_lead_out_of_the_folder_and_never_meet() {
    for name in ["a", "a.wasm", "a/b/c.wasm", "..a", "a b"] {
        assert!(is_set_name(name), "{name}");
    }
    let long = "x".repeat(256);
    let deep = "a/".repeat(8) + "a";
    for name in ["", "/a", "..", "../a", "a/../b", "a/./b", "./a", "a//b", "a/", "a\nb", "a\0", &long, &deep]
    {
        assert!(!is_set_name(name), "{name:?}");
    }
    for (one, other) in [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("plugins.yaml/x", "b"), ("../a", "b")] {
        let files =
            [file(PLUGIN_FILE, PLUGIN_FILE_TYPE), file(one, SET_FILE_TYPE), file(other, SET_FILE_TYPE)];
        let found = names(&artifact(files.to_vec()).manifest());
        assert!(matches!(found, Err(SetError::Name { .. })), "{one} and {other}: {found:?}");
    }
}

#[test]
fn what_is_no_set_says_what_it_is() {
    let change = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_slice(&whole().manifest()).expect("JSON");
        change(&mut value);
        names(value.to_string().as_bytes()).expect_err("refused")
    };
    let found = |text: &str| SetError::Type { found: text.to_owned() };
    assert_eq!(change(&|set| set["artifactType"] = json!("application/wasm")), found("application/wasm"));
    assert_eq!(
        change(&|set| {
            set.as_object_mut().and_then(|set| set.remove("artifactType"));
        }),
        found("")
    );
    assert_eq!(change(&|set| set["layers"] = json!([])), SetError::NoPluginFile);
    assert_eq!(change(&|set| set["layers"][0]["mediaType"] = json!("text/yaml")), SetError::NoPluginFile);
    let layer = SetError::Layer { name: "allowed.json".to_owned() };
    assert_eq!(change(&|set| set["layers"][2]["digest"] = json!("sha512:0")), layer);
    assert_eq!(change(&|set| set["layers"][2]["size"] = json!(65 << 20)), layer);
    assert_eq!(
        change(&|set| set["layers"][2]["size"] = json!(u64::MAX)),
        SetError::TooLarge { bytes: u64::MAX }
    );
    let many = |set: &mut Value| set["layers"] = json!(vec![set["layers"][0].clone(); SET_FILES_MAX + 1]);
    assert_eq!(change(&many), SetError::Files { files: SET_FILES_MAX + 1 });
    assert_eq!(names(b"["), Err(SetError::Malformed { line: 1, column: 1 }));
}

/// Code of the component of [`whole`].
fn code(architecture: &str) -> SetCode {
    let target = CodeTarget {
        engine: "synchronous".to_owned(),
        compatibility: "ab".repeat(32),
        architecture: architecture.to_owned(),
        cpu_features: ["avx2", "sse4.2"].map(str::to_owned).to_vec(),
    };
    SetCode { component: digest_of(b"{}"), target, bytes: Bytes::from(architecture.to_owned()) }
}

fn with_code(code: Vec<SetCode>) -> SetArtifact {
    SetArtifact { code, ..whole() }
}

#[test]
fn compiled_code_is_no_file_of_a_set_and_says_of_what_and_for_what_it_is() {
    let manifest = with_code(vec![code("x86_64"), code("aarch64")]).manifest();
    assert_eq!(names(&manifest), names(&whole().manifest()), "a node without a need of it leaves it");
    let CodeOfSet { components, offers } = set_code(&manifest).expect("a set");
    assert_eq!(components, [digest_of(b"{}")]);
    let expected = [code("x86_64"), code("aarch64")].map(|code| CodeOffer {
        component: code.component,
        target: code.target,
        digest: digest_of(&code.bytes),
        size: code.bytes.len() as u64,
    });
    assert_eq!(offers, expected);
    assert!(set_code(&whole().manifest()).expect("a set").offers.is_empty());
    let bare = SetCode {
        target: CodeTarget { cpu_features: Vec::new(), ..code("x86_64").target },
        ..code("x86_64")
    };
    let offers = set_code(&with_code(vec![bare]).manifest()).expect("a set").offers;
    assert_eq!(offers[0].target.cpu_features, Vec::<String>::new());
}

#[test]
fn compiled_code_that_does_not_say_what_it_is_is_refused_and_has_the_bounds_of_files() {
    let change = |change: &dyn Fn(&mut Value)| {
        let mut value: Value =
            serde_json::from_slice(&with_code(vec![code("x86_64")]).manifest()).expect("JSON");
        change(&mut value["layers"][3]);
        set_code(value.to_string().as_bytes())
    };
    assert!(change(&|_layer| {}).is_ok());
    for key in ["component", "engine", "compatibility", "architecture", "cpu-features"] {
        let key = format!("dev.witlet.code.{key}");
        let left_out = change(&|layer| {
            layer["annotations"].as_object_mut().and_then(|all| all.remove(&key));
        });
        assert!(matches!(left_out, Err(SetError::Code { .. })), "{key}: {left_out:?}");
        let long = change(&|layer| layer["annotations"][&key] = json!("x".repeat(1025)));
        assert!(matches!(long, Err(SetError::Code { .. })), "{key}: {long:?}");
    }
    let other = change(&|layer| layer["annotations"]["dev.witlet.code.component"] = json!("sha512:00"));
    assert!(matches!(other, Err(SetError::Code { .. })), "{other:?}");
    let large = change(&|layer| layer["size"] = json!(65 << 20));
    assert!(matches!(large, Err(SetError::Layer { .. })), "{large:?}");
    let twice = with_code(vec![code("x86_64"), code("x86_64")]).manifest();
    assert!(matches!(set_code(&twice), Err(SetError::Name { .. })));
}
