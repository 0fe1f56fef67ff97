//! Pushing and pulling as people meet it: what is refused before a registry is asked, in which words, and what a pull asks of signatures.

use witlet_harness::LocalRegistry;
use witlet_wasm::attestation::SigningKey;

use crate::sets::KEY;
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

/// Another key than [`KEY`].
const OTHER_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_with_keys_writes_only_what_one_of_them_has_signed() {
    let registry = LocalRegistry::start().await.expect("it listens");
    let folder = scratch();
    let file = |name: &str, text: &str| write(folder.path(), name, text).display().to_string();
    let public = |key: &str| SigningKey::from_pem(key.as_bytes()).expect("a key").public().to_pem();
    let (key, other) = (file("key.pub", &public(KEY)), file("other.pub", &public(OTHER_KEY)));
    let pushed =
        witlet(&["plugin", "push", "builtin:redis", &format!("{}/plugins/redis:1", registry.address)]);
    assert_eq!(pushed.code, 0, "{}", pushed.err);
    let reference = pushed.out.trim();
    let to = folder.path().join("redis.wasm");
    let pull = |more: &[&str]| {
        let answer =
            witlet(&[&["plugin", "pull", reference, "--to", &to.display().to_string()], more].concat());
        (answer, to.exists())
    };
    let (unsigned, is_there) = pull(&["--key", &key]);
    fails(
        &unsigned,
        &[reference, "isn't signed with ", "key.pub", "witlet plugin sign", "it has no signature"],
    );
    assert!(!is_there, "nothing is written");
    let private = file("key.pem", KEY);
    let sign = |more: &[&str]| {
        let signed =
            witlet(&[&["plugin", "sign", reference, "--key", &private, "-o", "json"], more].concat());
        assert_eq!(signed.code, 0, "{}", signed.err);
        signed.out
    };
    assert!(sign(&[]).contains(".sig\""), "under a tag");
    let (refused, is_there) = pull(&["--key", &other]);
    fails(&refused, &["other.pub", "1 signature, and none counts", "not made with one of the accepted keys"]);
    assert!(!is_there, "nothing is written");
    fails(&pull(&["--key", "/nonexistent.pub"]).0, &["failed to read the key /nonexistent.pub"]);
    fails(&pull(&["--key", &file("private.pem", KEY)]).0, &["private.pem can't be used", "private"]);
    let (pulled, is_there) = pull(&["--key", &other, "--key", &key, "-o", "json"]);
    assert!(pulled.code == 0 && is_there, "{}", pulled.err);
    assert!(sign(&["--bundle"]).contains("redis@sha256:"), "by its digest");
    let (refused, _) = pull(&["--key", &other]);
    fails(&refused, &["2 signatures, and none counts"]);
    let id = SigningKey::from_pem(KEY.as_bytes()).expect("a key").public().id();
    assert!(pulled.out.contains(&format!("\"signedBy\": \"{id}\"")), "{}", pulled.out);
}
