//! `witlet plugin`: what it reports of plugins and of recorded calls, and with which exit code.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::{scratch, witlet, write};

#[test]
fn listing_plugins_without_a_daemon_exits_3_under_both_names() {
    let folder = scratch();
    let socket = folder.path().join("none.sock").display().to_string();
    for words in [["plugin", "list"], ["get", "plugins"]] {
        let answer = witlet(&[words[0], words[1], "--api-socket", &socket]);
        assert_eq!(answer.code, 3, "{words:?}: {}", answer.err);
        assert!(answer.err.contains(&socket), "{words:?}: {}", answer.err);
    }
}

#[test]
fn help_explains_the_columns_and_what_can_be_replayed() {
    let list = witlet(&["plugin", "list", "--help"]);
    assert!(list.code == 0 && list.out.contains("P50 P99") && list.out.contains("histogram"), "{}", list.out);
    let replay = witlet(&["plugin", "replay", "--help"]);
    assert!(replay.code == 0 && replay.out.contains("Exit codes") && replay.out.contains("record: {max: N}"));
}

#[test]
fn features_are_listed_and_a_check_names_what_is_skipped() {
    let features = witlet(&["plugin", "features"]);
    assert_eq!(features.code, 0, "{}", features.err);
    assert!(features.out.starts_with("NAME") && features.out.contains("system-pods"), "{}", features.out);
    let listed: Value =
        serde_json::from_str(&witlet(&["plugin", "features", "-o", "json"]).out).expect("it is JSON");
    assert!(listed.as_array().is_some_and(|features| features[0]["name"] == "admission-0.1"), "{listed}");
    let folder = scratch();
    let file = |optional: &str| {
        let text = format!(
            "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n\
             - {{name: later, requires: [wings], {optional}component: later.wasm, wings: 2}}\n"
        );
        write(folder.path(), "plugins.yaml", &text).display().to_string()
    };
    let refused = witlet(&["check", "--plugins", &file("")]);
    assert_eq!(refused.code, 4, "{}{}", refused.out, refused.err);
    assert!(
        refused.out.contains("plugins[0].requires[0]: this host has no feature \"wings\""),
        "{}",
        refused.out
    );
    let skipped = witlet(&["check", "--plugins", &file("optional: true, ")]);
    assert_eq!(skipped.code, 0, "{}{}", skipped.out, skipped.err);
    assert!(
        skipped.out.contains("plugin later: is skipped: this host has no feature wings")
            && skipped.out.contains("ok, 0 plugins"),
        "{}",
        skipped.out
    );
}

/// A question about a pod's operating system, as the shipped handler was asked.
pub(crate) fn recorded(answer: &Value) -> Value {
    let [os] = witlet_plugins::ADMISSION
        .iter()
        .filter(|shipped| shipped.name == "node-os")
        .collect::<Vec<_>>()
        .try_into()
        .expect("it ships once");
    let os: &witlet_plugins::Builtin = os;
    json!({
        "apiVersion": "witlet.dev/v1alpha1", "kind": "RecordedCall", "note": "", "plugin": "node-os",
        "component": "builtin", "digest": witlet_wasm::record::replay::digest_of(os.component), "config": null,
        "limits": {"timeoutMilliseconds": 10_000, "memoryBytes": 16 << 20}, "grants": [],
        "recordedAt": "2026-01-02T03:04:05Z", "tookNanoseconds": 30_000,
        "question": {
            "role": "admission", "operation": "add", "now": "2026-01-02T03:04:05Z",
            "pod": {"source": "file", "pod": {
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "web", "namespace": "default", "uid": "u1"},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            }},
            "node": {
                "name": "node", "addresses": [], "facts": {}, "devices": "",
                "node": {
                    "apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": "node", "labels": {"kubernetes.io/os": "linux"}},
                },
            },
            "otherPods": [],
        },
        "answer": answer,
    })
}

#[test]
fn a_replay_exits_0_for_the_same_answer_and_4_for_another() {
    let folder = scratch();
    let replay = |name: &str, answer: &Value| {
        let path = write(folder.path(), name, &recorded(answer).to_string());
        witlet(&["plugin", "replay", path.to_str().expect("a temporary path is UTF-8"), "-o", "json"])
    };
    let same = replay("same.json", &json!({"kind": "admit"}));
    assert_eq!(same.code, 0, "{}{}", same.out, same.err);
    let reported: Value = serde_json::from_str(&same.out).expect("JSON");
    assert_eq!((&reported["same"], &reported["now"]["answer"]["kind"]), (&json!(true), &json!("admit")));
    let other = replay("other.json", &json!({"kind": "reject", "reason": "X", "message": "y"}));
    assert_eq!(other.code, 4, "{}{}", other.out, other.err);
}

#[test]
fn a_recorded_call_is_printed_as_a_case() {
    let folder = scratch();
    let print = |answer: &Value, format: &str| {
        let path = write(folder.path(), "call.json", &recorded(answer).to_string());
        let path = path.to_str().expect("a temporary path is UTF-8").to_owned();
        witlet(&["plugin", "replay", &path, "--to-case", "-o", format])
    };
    // What was answered is expected, whatever the component would say now: nothing is asked.
    let refused = json!({"kind": "reject", "reason": "X", "message": "not on this node"});
    let printed = print(&refused, "json");
    assert_eq!(printed.code, 0, "{}", printed.err);
    let case: Value = serde_json::from_str(&printed.out).expect("JSON");
    assert_eq!(case["kind"], "PluginCases");
    let expected = json!({"verdict": "reject", "reason": "X", "message": "not on this node"});
    assert_eq!(case["cases"][0]["expect"], expected);
    let yaml = print(&refused, "table");
    let read: Value = serde_saphyr::from_str(&yaml.out).expect("YAML");
    assert_eq!(read, case);
    let failed = print(&json!({"kind": "failed", "outcome": "timeout", "message": "late"}), "yaml");
    assert!(failed.code == 1 && failed.err.contains("a case needs an answer to expect"), "{}", failed.err);
    let both = witlet(&["plugin", "replay", "call.json", "--to-case", "--component", "new.wasm"]);
    assert_eq!(both.code, 2, "{}", both.err);
}

#[test]
fn a_replay_that_is_not_possible_exits_1_and_says_why() {
    let folder = scratch();
    let cases = [
        ("nothing.json", "{}".to_owned(), "no recorded call"),
        (
            "digest.json",
            {
                let mut call = recorded(&json!({"kind": "admit"}));
                call["digest"] = json!("0".repeat(64));
                call.to_string()
            },
            "--component",
        ),
        (
            "source.json",
            {
                let mut call = recorded(&json!({"kind": "empty", "cursor": null}));
                call["question"] = json!({"role": "podSource", "cursor": null});
                call.to_string()
            },
            "pod source",
        ),
        (
            "network.json",
            {
                let mut call = recorded(&json!({"kind": "admit"}));
                call["grants"] = json!(["network"]);
                call.to_string()
            },
            "network",
        ),
        (
            "data.json",
            {
                let mut call = recorded(&json!({"kind": "admit"}));
                call["data"] = json!({"allowed": "0".repeat(64)});
                call.to_string()
            },
            "name a file with them by --data allowed=FILE",
        ),
    ];
    for (name, text, word) in cases {
        let path = write(folder.path(), name, &text);
        let answer = witlet(&["plugin", "replay", path.to_str().expect("a temporary path is UTF-8")]);
        assert_eq!(answer.code, 1, "{name}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains(word), "{name}: {}", answer.err);
    }
    let call = write(folder.path(), "call.json", &recorded(&json!({"kind": "admit"})).to_string());
    let call = call.to_str().expect("a temporary path is UTF-8");
    for (data, words) in [
        ("allowed", "--data must be NAME=FILE, found \"allowed\""),
        ("allowed=/nonexistent/list", "read /nonexistent/list"),
        (&format!("allowed={call}"), "it had no data \"allowed\""),
    ] {
        let answer = witlet(&["plugin", "replay", call, "--data", data]);
        assert!(answer.code == 1 && answer.err.contains(words), "{data}: {}", answer.err);
    }
    let missing = witlet(&["plugin", "replay", "/nonexistent/call.json"]);
    assert!(missing.code == 1 && missing.err.contains("/nonexistent/call.json"), "{}", missing.err);
}

/// Two entries of one handler, the second of which rejects every pod.
const VERSIONS: &str = "apiVersion: witlet.dev/v1alpha1
kind: PluginConfiguration
plugins:
  - {name: old, component: 'builtin:cel', admission: {}, config: {validations: [{expression: 'true'}]}}
  - {name: new, component: 'builtin:cel', admission: {rollout: {of: old, percent: 20}}, config: {validations: [{expression: 'false', message: not needed}]}}
  - {name: ping, component: 'builtin:redis', probe: {}}
";

#[test]
fn a_diff_exits_0_for_the_same_answers_and_4_for_others() {
    let folder = scratch();
    let path = |name: &str| folder.path().join(name).to_str().expect("a temporary path is UTF-8").to_owned();
    let plugins = write(folder.path(), "plugins.yaml", VERSIONS);
    let entry = |name: &str| format!("{}#{name}", plugins.display());
    std::fs::create_dir(folder.path().join("recorded")).expect("a temporary folder");
    for name in ["recorded/1.json", "recorded/2.json"] {
        write(folder.path(), name, &recorded(&json!({"kind": "admit"})).to_string());
    }
    let mut source = recorded(&json!({"kind": "empty", "cursor": null}));
    source["question"] = json!({"role": "podSource", "cursor": null});
    write(folder.path(), "recorded/3.json", &source.to_string());
    let same = witlet(&["plugin", "diff", &entry("old"), &entry("old"), &path("recorded/1.json")]);
    assert_eq!(same.code, 0, "{}{}", same.out, same.err);
    assert!(same.out.starts_with("1 request: 1 same, 0 with another verdict"), "{}", same.out);
    let other = witlet(&["plugin", "diff", &entry("old"), &entry("new"), &path("recorded"), "-o", "json"]);
    assert_eq!(other.code, 4, "{}{}", other.out, other.err);
    let report: Value = serde_json::from_str(&other.out).expect("JSON");
    assert_eq!(
        (&report["requests"], &report["a"]["errors"], &report["b"]["errors"]),
        (&json!(2), &json!(0), &json!(0))
    );
    let difference = &report["differences"][1];
    assert!(
        difference["recording"].as_str().is_some_and(|file| file.ends_with("recorded/2.json")),
        "{report:#}"
    );
    assert_eq!((&difference["pod"], &difference["kind"]), (&json!("default/web"), &json!("verdict")));
    assert_eq!(
        (&difference["a"]["verdict"], &difference["b"]["verdict"]),
        (&json!("admit"), &json!("reject"))
    );
    assert!(
        report["skipped"][0]["problem"].as_str().is_some_and(|words| words.contains("podSource")),
        "{report:#}"
    );
    let os = "builtin:node-os";
    let components = witlet(&["plugin", "diff", os, os, &path("recorded")]);
    assert_eq!(
        components.code, 0,
        "a component has the recorded configuration: {}{}",
        components.out, components.err
    );
    assert!(components.out.contains("; 1 skipped"), "{}", components.out);
}

#[test]
fn a_diff_that_is_not_possible_exits_1_and_says_why() {
    let folder = scratch();
    let plugins = write(folder.path(), "plugins.yaml", VERSIONS);
    let entry = |name: &str| format!("{}#{name}", plugins.display());
    let call = write(folder.path(), "call.json", &recorded(&json!({"kind": "admit"})).to_string());
    let call = call.to_str().expect("a temporary path is UTF-8");
    let nothing = write(folder.path(), "nothing.json", "{}");
    let nothing = nothing.to_str().expect("a temporary path is UTF-8");
    let mut with_data = recorded(&json!({"kind": "admit"}));
    with_data["data"] = json!({"allowed": "0".repeat(64)});
    let with_data = write(folder.path(), "data.json", &with_data.to_string());
    let with_data = with_data.to_str().expect("a temporary path is UTF-8");
    std::fs::create_dir(folder.path().join("empty")).expect("a temporary folder");
    let empty = folder.path().join("empty");
    let empty = empty.to_str().expect("a temporary path is UTF-8");
    let (old, gone, probe) = (entry("old"), entry("gone"), entry("ping"));
    let (old, gone, probe) = (&*old, &*gone, &*probe);
    let cases = [
        ([old, gone, call], "has no plugin \"gone\": name one of its entries behind #"),
        ([old, probe, call], "plugin \"ping\" of "),
        ([old, "builtin:nothing", call], "nothing"),
        ([old, "/nonexistent/new.wasm", call], "/nonexistent/new.wasm"),
        ([old, old, "/nonexistent/call.json"], "none of 1 recorded calls can be compared; the first: "),
        ([old, old, nothing], "none of 1 recorded calls can be compared; the first: "),
        ([old, "builtin:node-os", with_data], "name a file with them by --data allowed=FILE"),
        ([old, old, empty], "has no recorded calls (*.json)"),
        ([old, "builtin:exec", call], "builtin:exec"),
    ];
    for (arguments, words) in cases {
        let answer = witlet(&[&["plugin", "diff"], &arguments[..]].concat());
        assert_eq!(answer.code, 1, "{arguments:?}: {}{}", answer.out, answer.err);
        assert!(answer.err.contains(words), "{arguments:?}: {}", answer.err);
    }
    let help = witlet(&["plugin", "diff", "--help"]);
    assert!(
        help.code == 0 && help.out.contains("Exit codes") && help.out.contains("PLUGINS#ENTRY"),
        "{}",
        help.out
    );
}

#[test]
fn secrets_that_cannot_be_had_are_findings_of_the_check() {
    let folder = scratch();
    let readable = write(folder.path(), "password", "s3cret");
    std::fs::set_permissions(&readable, std::fs::Permissions::from_mode(0o644))
        .expect("it is the test's file");
    let private = write(folder.path(), "token", "s3cret");
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o600))
        .expect("it is the test's file");
    let text = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins: []\nsecrets:\n\
                - {name: gone, file: ./missing}\n- {name: open, file: ./password}\n- {name: kept, file: ./token}\n";
    let path = write(folder.path(), "plugins.yaml", text);
    let answer = witlet(&["check", "--plugins", path.to_str().expect("a temporary path is UTF-8")]);
    assert_eq!(answer.code, 4, "{}{}", answer.out, answer.err);
    assert!(
        answer.out.contains("plugins.yaml: secret gone: ") && answer.out.contains("missing"),
        "{}",
        answer.out
    );
    assert!(
        answer.out.contains("plugins.yaml: secret open: ") && answer.out.contains("644"),
        "{}",
        answer.out
    );
    assert!(!answer.out.contains("kept") && !answer.out.contains("ok,"), "{}", answer.out);
}

#[test]
fn values_of_the_node_are_said_to_a_check() {
    let folder = scratch();
    let file = |allow: &str| {
        let text = format!(
            "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n\
             - {{name: images, component: 'builtin:image-policy', admission: {{}}, config: {{allow: [\"{allow}\"]}}}}\n"
        );
        write(folder.path(), "plugins.yaml", &text).display().to_string()
    };
    let path = file("${node.labels['registry']}/${node.name}/*");
    let without = witlet(&["check", "--plugins", &path]);
    assert_eq!(without.code, 4, "{}{}", without.out, without.err);
    let words = "plugin images: Failed: its configuration can't be filled in: config.allow[0]: the node has no label \"registry\"";
    assert!(without.out.contains(words), "{}", without.out);
    let labels = ["--node-name", "edge-7", "--node-labels", "registry=registry.example.com,other=x"];
    let with = witlet(&[&["check", "--plugins", &path], &labels[..]].concat());
    assert_eq!(with.code, 0, "{}{}", with.out, with.err);
    let bad = witlet(&["check", "--plugins", &path, "--node-labels", "registry"]);
    assert!(
        bad.code == 2
            && bad.err.contains(
                "--node-labels must be KEY=VALUE as labels of Kubernetes have them, found \"registry\""
            ),
        "{}",
        bad.err
    );
    let unknown = witlet(&["check", "--plugins", &file("${node.zone}")]);
    assert_eq!(unknown.code, 4, "{}{}", unknown.out, unknown.err);
    assert!(unknown.out.contains("plugins[0].config.allow[0]: ${node.zone} isn't known"), "{}", unknown.out);
}
