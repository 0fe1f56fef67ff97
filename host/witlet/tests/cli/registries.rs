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
    fails(&push(noise.to_str().expect("UTF-8")), &["noise.json", "it is no signed report"]);
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
