//! Pushing and pulling as people meet it, without a registry: what is refused before a registry is asked, and in which words.

use crate::{CommandOutput, scratch, witlet, write};

/// Exit code 1, and an error with all of these words.
fn fails(answer: &CommandOutput, words: &[&str]) {
    assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
    assert_eq!(answer.out, "");
    for word in words {
        assert!(answer.err.contains(word), "{word:?} isn't in: {}", answer.err);
    }
}

#[test]
fn a_push_needs_a_component_a_registry_and_a_tag_instead_of_a_digest() {
    let folder = scratch();
    let text = write(folder.path(), "a.wasm", "no component");
    let text = text.to_str().expect("a temporary path is UTF-8");
    fails(&witlet(&["plugin", "push", text, "127.0.0.1:1/a"]), &["a.wasm", "not a WebAssembly component"]);
    fails(&witlet(&["plugin", "push", "/nonexistent.wasm", "127.0.0.1:1/a"]), &["/nonexistent.wasm"]);
    fails(&witlet(&["plugin", "push", "builtin:redis", "redis:1"]), &["redis:1", "the registry is missing"]);
    let digest = format!("127.0.0.1:1/a@sha256:{}", "0".repeat(64));
    fails(&witlet(&["plugin", "push", "builtin:redis", &digest]), &["use a tag"]);
    let annotation = ["plugin", "push", "builtin:redis", "127.0.0.1:1/a", "--annotation", "version"];
    fails(&witlet(&annotation), &["--annotation must be KEY=VALUE, found \"version\""]);
}

#[test]
fn a_push_does_not_take_a_report_on_something_else() {
    let folder = scratch();
    let push =
        |report: &str| witlet(&["plugin", "push", "builtin:redis", "127.0.0.1:1/a", "--attestation", report]);
    fails(&push("/nonexistent.json"), &["read the conformance report /nonexistent.json"]);
    let noise = write(folder.path(), "noise.json", "{}");
    fails(&push(noise.to_str().expect("UTF-8")), &["noise.json", "not a signed report"]);
    // `{"_type":"","subject":[{"digest":{"sha256":"00"}}],"predicateType":"","predicate":{}}`
    let payload = "eyJfdHlwZSI6IiIsInN1YmplY3QiOlt7ImRpZ2VzdCI6eyJzaGEyNTYiOiIwMCJ9fV0sInByZWRpY2F0ZVR5cGUiOiIiLCJwcmVkaWNhdGUiOnt9fQ";
    let other = format!(r#"{{"payloadType": "x", "payload": "{payload}", "signatures": []}}"#);
    let other = write(folder.path(), "other.json", &other);
    fails(
        &push(other.to_str().expect("UTF-8")),
        &["is about another component than sha256:", "witlet plugin test"],
    );
}

#[test]
fn a_registry_that_is_not_there_is_named_with_the_way_out() {
    let words = ["failed to reach 127.0.0.1:1 for the", "caused by:", "connection refused"];
    fails(&witlet(&["plugin", "pull", "oci://127.0.0.1:1/plugins/a:1"]), &words);
    fails(&witlet(&["plugin", "push", "builtin:redis", "127.0.0.1:1/plugins/a:1"]), &words);
    fails(&witlet(&["plugin", "inspect", "oci://127.0.0.1:1/plugins/a:1"]), &words);
    fails(&witlet(&["plugin", "pull", "plugins/a:1"]), &["the registry is missing"]);
}

#[test]
fn a_password_is_never_on_the_command_line() {
    let push =
        |more: &[&str]| witlet(&[&["plugin", "push", "builtin:redis", "127.0.0.1:1/a"], more].concat());
    let answer = push(&["--username", "ann"]);
    assert_eq!(answer.code, 2, "{}", answer.err);
    assert!(answer.err.contains("--password-stdin"), "{}", answer.err);
    assert_eq!(push(&["--username", "ann", "--password", "pw"]).code, 2);
}

#[test]
fn what_signs_is_a_key_without_a_password() {
    let folder = scratch();
    let sign = |key: &str| witlet(&["plugin", "sign", "127.0.0.1:1/a:1", "--key", key]);
    fails(&sign("/nonexistent.pem"), &["read the key /nonexistent.pem"]);
    let pem = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
    for (label, words) in [
        ("ENCRYPTED SIGSTORE PRIVATE KEY", "cosign sign --key"),
        ("PUBLIC KEY", "found a public one"),
        ("PRIVATE KEY", "openssl genpkey -algorithm EC"),
    ] {
        let key = write(folder.path(), "key.pem", &pem(label));
        fails(&sign(key.to_str().expect("UTF-8")), &["key.pem can't be used", words]);
    }
    assert_eq!(witlet(&["plugin", "sign", "127.0.0.1:1/a:1"]).code, 2);
}

#[test]
fn a_set_has_files_next_to_its_plugin_file_and_goes_to_a_tag() {
    let folder = scratch();
    let head = "apiVersion: witlet.dev/v1alpha1\nkind: PluginConfiguration\nplugins:\n";
    let push = |entry: &str, to: &str| {
        let file = write(folder.path(), "plugins.yaml", &format!("{head}{entry}"));
        witlet(&["plugin", "push-set", file.to_str().expect("UTF-8"), to])
    };
    let builtin = "  - {name: a, component: builtin:redis, probe: {}}\n";
    fails(
        &push("  - {name: a, component: /a.wasm, probe: {}}\n", "127.0.0.1:1/a"),
        &["/a.wasm isn't in the set"],
    );
    fails(&push("  - {name: a, component: gone.wasm, probe: {}}\n", "127.0.0.1:1/a"), &["gone.wasm"]);
    fails(&push("  - {name: a, colour: red}\n", "127.0.0.1:1/a"), &["plugins.yaml", "colour"]);
    fails(&push(builtin, &format!("127.0.0.1:1/a@sha256:{}", "0".repeat(64))), &["use a tag"]);
    fails(&push(builtin, "127.0.0.1:1/a"), &["push oci://127.0.0.1:1/a", "failed to reach 127.0.0.1:1"]);
}

#[test]
fn sets_are_chosen_by_an_api_server_alone() {
    let answer = witlet(&["run", "--plugin-sets", "/etc/witlet/sets.yaml"]);
    assert_eq!(answer.code, 2, "{}", answer.err);
    assert!(answer.err.contains("--kubeconfig"), "{}", answer.err);
}
