//! Tests of the files that the agent writes.

use k8s_openapi::api::core::v1::Pod;

use super::super::{VolumeSetUp, set_ups};
use super::*;
use crate::node::NodeFacts;
use std::sync::Arc;

fn of(source: &str) -> Result<Vec<VolumeSetUp>, String> {
    with(source, "", &ReferencedObjects::default())
}

/// `pod` is more of the spec.
fn with(source: &str, pod: &str, referenced: &ReferencedObjects) -> Result<Vec<VolumeSetUp>, String> {
    let yaml = format!(
        "{{metadata: {{name: web, uid: u-1}},
           spec: {{{pod} volumes: [{{name: v, {source}}}],
                   containers: [{{name: a, resources: {{limits: {{cpu: 2}}}},
                                  volumeMounts: [{{name: v, mountPath: /v}}]}}]}}}}"
    );
    let pod: Pod = serde_saphyr::from_str(&yaml).unwrap();
    let fields = PodFields { pod: &pod, pod_ips: &[], node: &NodeFacts::default() };
    let desired = set_ups(fields, referenced);
    desired.into_iter().map(|desired| desired.set_up.map_err(|error| error.to_string())).collect()
}

/// Two config maps, a secret and tokens; who is `unavailable` can't be asked for, and `refused` isn't for this node.
fn cluster() -> ReferencedObjects {
    fn found<T: serde::de::DeserializeOwned>(yaml: &str) -> Fetched<Arc<T>> {
        Fetched::Found(Arc::new(serde_saphyr::from_str(yaml).unwrap()))
    }
    let text = |text: &str| text.to_owned();
    let wish = |audience: Option<&str>, expiration_seconds| TokenWish {
        audience: audience.map(str::to_owned),
        expiration_seconds,
    };
    ReferencedObjects {
        config_maps: BTreeMap::from([
            (text("settings"), found("{data: {greeting: hello, name: web}, binaryData: {blob: AAEC}}")),
            (text(ROOT_CA), found("{data: {ca.crt: certificate}}")),
            (text("gone"), Fetched::Missing),
            (text("unavailable"), Fetched::Unavailable(text("no answer"))),
            (text("left-out"), Fetched::LeftOut),
        ]),
        secrets: BTreeMap::from([
            (text("keys"), found("{data: {password: d29yZA==, user: bWU=}}")),
            (text("refused"), Fetched::Refused(text("forbidden"))),
        ]),
        tokens: BTreeMap::from([
            (wish(None, 3600), Fetched::Found(text("token"))),
            (wish(Some("vault"), 600), Fetched::Found(text("for the vault"))),
            (wish(Some("late"), 3600), Fetched::LeftOut),
            (wish(Some("dead"), 3600), Fetched::Unavailable(text("failed to fetch token: no answer"))),
        ]),
    }
}

/// Plugin, and path, content and mode of each file.
fn files(source: &str) -> (&'static str, Vec<(String, String, u32)>) {
    match of(source).unwrap().remove(0).kind {
        VolumeKind::Files { plugin, files, medium } => {
            assert_eq!(medium, FilesMedium::Memory { size_bytes: None, is_secret: false });
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

/// Plugin, medium, and a line for each file: path, content, mode and owner.
fn referenced(source: &str, pod: &str) -> Result<(&'static str, FilesMedium, Vec<String>), String> {
    match with(source, pod, &cluster())?.remove(0).kind {
        VolumeKind::Files { plugin, files, medium } => {
            let row = |file: VolumeFile| {
                let content = String::from_utf8_lossy(&file.content).escape_default().to_string();
                let owner = file.owner.map(|uid| format!(" of {uid}")).unwrap_or_default();
                format!("{} {content} {:o}{owner}", file.path.display(), file.mode)
            };
            Ok((plugin, medium, files.into_iter().map(row).collect()))
        }
        other => panic!("{other:?}"),
    }
}

const HIDDEN: FilesMedium = FilesMedium::Memory { size_bytes: None, is_secret: true };
const PUBLIC: FilesMedium = FilesMedium::Memory { size_bytes: None, is_secret: false };

#[test]
fn objects_become_files_of_their_keys_or_of_the_items() {
    let cases: [(&str, &str, FilesMedium, &[&str]); 9] = [
        (
            "configMap: {name: settings}",
            "configmap",
            FilesMedium::Disk,
            &["blob \\u{0}\\u{1}\\u{2} 644", "greeting hello 644", "name web 644"],
        ),
        (
            "configMap: {name: settings, defaultMode: 0o400, items: [{key: name, path: a/b}, {key: blob, path: c, mode: 0o640}]}",
            "configmap",
            FilesMedium::Disk,
            &["a/b web 400", "c \\u{0}\\u{1}\\u{2} 640"],
        ),
        ("configMap: {name: gone, optional: true}", "configmap", FilesMedium::Disk, &[]),
        (
            "configMap: {name: settings, optional: true, items: [{key: nothing, path: x}, {key: name, path: y}]}",
            "configmap",
            FilesMedium::Disk,
            &["y web 644"],
        ),
        (
            "configMap: {name: gone, optional: true, items: [{key: k, path: x}]}",
            "configmap",
            FilesMedium::Disk,
            &[],
        ),
        ("secret: {secretName: keys}", "secret", HIDDEN, &["password word 644", "user me 644"]),
        (
            "secret: {secretName: keys, items: [{key: user, path: ./u, mode: 0o400}]}",
            "secret",
            HIDDEN,
            &["u me 400"],
        ),
        ("secret: {secretName: gone, optional: true}", "secret", HIDDEN, &[]),
        (
            "projected: {sources: [{configMap: {name: settings, items: [{key: name, path: name}]}}]}",
            "projected",
            PUBLIC,
            &["name web 644"],
        ),
    ];
    for (source, plugin, medium, files) in cases {
        let (found, kept, rows) = referenced(source, "").unwrap();
        assert_eq!((found, kept), (format!("kubernetes.io~{plugin}").as_str(), medium), "{source}");
        assert_eq!(rows, files, "{source}");
    }
}

#[test]
fn sources_of_a_projected_volume_come_in_their_order() {
    let source = "projected: {defaultMode: 0o444, sources: [
        {serviceAccountToken: {path: token}},
        {serviceAccountToken: {path: vault/token, audience: vault, expirationSeconds: 600}},
        {serviceAccountToken: {path: late, audience: late}},
        {configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}},
        {configMap: {name: left-out}},
        {configMap: {name: settings}},
        {secret: {name: keys, items: [{key: user, path: greeting, mode: 0o400}]}},
        {downwardAPI: {items: [{path: blob, fieldRef: {fieldPath: metadata.name}}]}}]}";
    let (plugin, medium, rows) = referenced(source, "").unwrap();
    assert_eq!((plugin, medium), ("kubernetes.io~projected", HIDDEN));
    let expected = [
        "blob web 444",
        "ca.crt certificate 444",
        "greeting me 400",
        "name web 444",
        "token token 444",
        "vault/token for the vault 444",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn tokens_belong_to_the_one_user_of_the_pod() {
    let source =
        "projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: kube-root-ca.crt}}]}";
    let pod = |security: &str| format!("securityContext: {security},");
    let init = |security: &str, of_init: &str| {
        format!("securityContext: {security}, initContainers: [{{name: i, securityContext: {of_init}}}],")
    };
    for (pod, token) in [
        (String::new(), "token token 644"),
        (pod("{fsGroup: 5}"), "token token 600"),
        (pod("{runAsUser: 7}"), "token token 600 of 7"),
        (pod("{runAsUser: 0}"), "token token 600 of 0"),
        (pod("{runAsUser: 7, fsGroup: 5}"), "token token 600 of 7"),
        (init("{runAsUser: 7}", "{runAsUser: 7}"), "token token 600 of 7"),
        (init("{runAsUser: 7}", "{runAsUser: 8}"), "token token 644"),
        (init("{runAsUser: 7}", "{}"), "token token 600 of 7"),
        (init("{}", "{runAsUser: 8}"), "token token 644"),
        (init("{runAsUser: 7, fsGroup: 5}", "{runAsUser: 8}"), "token token 600"),
    ] {
        let (_, _, rows) = referenced(source, &pod).unwrap();
        assert_eq!(rows, ["ca.crt certificate 644", token], "{pod}");
    }
    let error = referenced(source, &pod("{runAsUser: -1}"));
    assert_eq!(error, Err("runAsUser -1 is not a user id".to_owned()));
}

#[test]
fn what_can_not_be_referenced_is_reported_in_upstreams_words() {
    let projected = |sources: &str| format!("projected: {{sources: [{sources}]}}");
    for (source, message) in [
        ("configMap: {name: gone}".to_owned(), "configmap \"gone\" not found"),
        ("configMap: {name: unasked}".to_owned(), "configmap \"unasked\" not found"),
        ("secret: {secretName: gone}".to_owned(), "secret \"gone\" not found"),
        (
            "configMap: {name: settings, items: [{key: nothing, path: x}]}".to_owned(),
            "configmap references non-existent config key: nothing",
        ),
        (
            "secret: {secretName: keys, items: [{key: nothing, path: x}]}".to_owned(),
            "references non-existent secret key: nothing",
        ),
        ("configMap: {name: unavailable, optional: true}".to_owned(), "no answer"),
        ("secret: {secretName: refused, optional: true}".to_owned(), "forbidden"),
        (projected("{serviceAccountToken: {path: x, audience: dead}}"), "failed to fetch token: no answer"),
        (
            projected("{configMap: {name: gone}}, {secret: {name: keys}}, {secret: {name: gone}}"),
            "[configmap \"gone\" not found, secret \"gone\" not found]",
        ),
        (
            projected("{clusterTrustBundle: {path: t}}"),
            "volume v: projected clusterTrustBundle volumes are not supported by this release",
        ),
        (
            projected("{podCertificate: {keyType: ED25519, signerName: s}}"),
            "volume v: projected podCertificate volumes are not supported by this release",
        ),
        (
            projected("{configMap: {name: settings, items: [{key: name, path: ../x}]}}"),
            "volume v: invalid path \"../x\": must not contain '..'",
        ),
    ] {
        assert_eq!(referenced(&source, ""), Err(message.to_owned()), "{source}");
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
fn a_value_that_can_not_be_had_is_reported_by_its_file() {
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
