//! What is a set, and which names its files may have.

use serde_json::Value;

use super::*;

fn file(name: &str, media_type: &'static str) -> SetFile {
    SetFile { name: name.to_owned(), media_type, bytes: Bytes::from_static(b"{}") }
}

fn artifact(files: Vec<SetFile>) -> SetArtifact {
    SetArtifact {
        files,
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
