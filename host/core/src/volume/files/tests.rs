//! Tests of the files that the agent writes.

use k8s_openapi::api::core::v1::Pod;

use super::super::{VolumeSetUp, set_ups};
use super::*;
use crate::node::NodeFacts;

fn of(source: &str) -> Result<Vec<VolumeSetUp>, String> {
    let yaml = format!(
        "{{metadata: {{name: web, uid: u-1}},
           spec: {{volumes: [{{name: v, {source}}}],
                   containers: [{{name: a, resources: {{limits: {{cpu: 2}}}},
                                  volumeMounts: [{{name: v, mountPath: /v}}]}}]}}}}"
    );
    let pod: Pod = serde_saphyr::from_str(&yaml).unwrap();
    set_ups(PodFields { pod: &pod, pod_ips: &[], node: &NodeFacts::default() })
        .map_err(|error| error.to_string())
}

/// Plugin, and path, content and mode of each file.
fn files(source: &str) -> (&'static str, Vec<(String, String, u32)>) {
    match of(source).unwrap().remove(0).kind {
        VolumeKind::Files { plugin, files, size_bytes: None } => {
            let row = |file: VolumeFile| {
                let content = String::from_utf8(file.content).unwrap();
                (file.path.display().to_string(), content, file.mode)
            };
            (plugin, files.into_iter().map(row).collect())
        }
        other => panic!("{other:?}"),
    }
}

const NAME: &str = "fieldRef: {fieldPath: metadata.name}";

#[test]
fn downward_files_have_their_values_and_modes() {
    let (plugin, rows) = files(&format!(
        "downwardAPI: {{items: [{{path: name, {NAME}}}, {{path: a//b/./c, {NAME}, mode: 0o600}},
          {{path: cpu, resourceFieldRef: {{containerName: a, resource: limits.cpu}}}}]}}"
    ));
    assert_eq!(plugin, "kubernetes.io~downward-api");
    let row = |path: &str, content: &str, mode| (path.to_owned(), content.to_owned(), mode);
    assert_eq!(rows, [row("a/b/c", "web", 0o600), row("cpu", "2", 0o644), row("name", "web", 0o644),]);
    let (_, rows) = files(&format!("downwardAPI: {{defaultMode: 0o400, items: [{{path: name, {NAME}}}]}}"));
    assert_eq!(rows, [row("name", "web", 0o400)]);
    assert_eq!(files("downwardAPI: {}").1, []);
}

#[test]
fn projected_sources_share_a_folder_and_the_last_of_a_path_counts() {
    let (plugin, rows) = files(&format!(
        "projected: {{defaultMode: 0o440, sources: [{{downwardAPI: {{items: [{{path: x, {NAME}}}]}}}},
           {{downwardAPI: {{items: [{{path: y, {NAME}}},
              {{path: ./x, fieldRef: {{fieldPath: metadata.uid}}, mode: 0o444}}]}}}}]}}"
    ));
    assert_eq!(plugin, "kubernetes.io~projected");
    let row = |path: &str, content: &str, mode| (path.to_owned(), content.to_owned(), mode);
    assert_eq!(rows, [row("x", "u-1", 0o444), row("y", "web", 0o440)]);
}

#[test]
fn sources_that_need_an_api_server_are_refused() {
    for (source, kind) in [
        ("{secret: {name: s}}", "projected secret"),
        ("{configMap: {name: c}}", "projected configMap"),
        ("{serviceAccountToken: {path: t}}", "projected serviceAccountToken"),
        ("{clusterTrustBundle: {path: t}}", "projected clusterTrustBundle"),
    ] {
        let expected = Err(format!("volume v: {kind} volumes are not supported by this release"));
        assert_eq!(of(&format!("projected: {{sources: [{source}]}}")), expected);
    }
}

#[test]
fn paths_stay_below_the_volume_and_out_of_the_writers_names() {
    let long_name = "a".repeat(256);
    let long_path = "a/".repeat(2049);
    for (path, problem) in [
        ("", "must not be empty"),
        (".", "must not be empty"),
        ("/a", "must be a relative path"),
        ("a/../b", "must not contain '..'"),
        ("..", "must not contain '..'"),
        ("..data", "must not start with '..'"),
        ("./..data/x", "must not start with '..'"),
        (long_name.as_str(), "names must have at most 255 bytes"),
        (long_path.as_str(), "must have at most 4096 bytes"),
    ] {
        let expected = Err(format!("volume v: invalid path {path:?}: {problem}"));
        assert_eq!(of(&format!("downwardAPI: {{items: [{{path: '{path}', {NAME}}}]}}")), expected);
    }
    assert_eq!(relative("a/..b/c"), Ok(PathBuf::from("a/..b/c")));
    assert_eq!(relative("a\0b"), Err("must not contain a zero byte"));
}

#[test]
fn a_value_that_can_not_be_had_is_told_by_its_file() {
    let error = of("downwardAPI: {items: [{path: x, fieldRef: {fieldPath: metadata.nothing}}]}");
    assert_eq!(error, Err("volume v: value of file \"x\"".to_owned()));
    let error = of("downwardAPI: {items: [{path: x}]}");
    assert_eq!(error, Err("volume v: value of file \"x\"".to_owned()));
}

#[test]
fn contents_are_not_shown() {
    let set_up = of(&format!("downwardAPI: {{items: [{{path: x, {NAME}}}]}}")).unwrap();
    let shown = format!("{set_up:?}");
    assert!(shown.contains("x (3 bytes, 644)") && !shown.contains("web"), "{shown}");
}
