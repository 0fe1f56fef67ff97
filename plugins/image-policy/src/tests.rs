//! Tests of the handler on whole requests.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Container, ContainerKind, Operation, Verdict};

use super::{Config, ImagePolicy};

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn config(text: Value) -> Config {
    let config: Config = serde_json::from_value(text).expect("it decodes");
    ImagePolicy::validate(&config).expect("a configuration");
    config
}

fn facts(containers: &[(ContainerKind, &str)], volumes: Value) -> RequestFacts {
    let containers = containers.iter().enumerate().map(|(index, (kind, image))| Container {
        name: format!("c{index}"),
        kind: *kind,
        image: (*image).to_owned(),
    });
    RequestFacts {
        pod: PodFacts {
            containers: containers.collect(),
            manifest: json!({"spec": {"volumes": volumes}}),
            ..PodFacts::default()
        },
        ..RequestFacts::default()
    }
}

fn said(facts: &RequestFacts, config: &Config) -> String {
    match ImagePolicy::admit(&facts.request(), config).expect("a verdict") {
        Verdict::Admit => String::new(),
        Verdict::Reject(rejection) => format!("{}: {}", rejection.reason, rejection.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn images_come_from_allowed_places() {
    let allowed = config(
        json!({"allow": ["registry.example.com", "*.corp.example", "docker.io/library/*", "localhost:5000/**"]}),
    );
    for (image, expected) in [
        ("nginx", ""),
        ("nginx:1", ""),
        ("docker.io/library/nginx", ""),
        ("registry.example.com/any/thing:1", ""),
        ("a.corp.example/x/y", ""),
        ("localhost:5000/a/b/c", ""),
        (
            "team/app",
            "ImageNotAllowed: container \"c0\": image docker.io/team/app is not from an allowed repository",
        ),
        (
            "registry.example.com:5000/a",
            "ImageNotAllowed: container \"c0\": image registry.example.com:5000/a is not from an allowed repository",
        ),
        (
            "registry.example.com.evil.example/a",
            "ImageNotAllowed: container \"c0\": image registry.example.com.evil.example/a is not from an allowed repository",
        ),
        (
            "corp.example/a",
            "ImageNotAllowed: container \"c0\": image corp.example/a is not from an allowed repository",
        ),
        ("", "ImageNotAllowed: container \"c0\": no image is named"),
        (
            "nginx@sha256:1",
            "ImageNotAllowed: container \"c0\": \"nginx@sha256:1\" is no reference to an image",
        ),
    ] {
        assert_eq!(said(&facts(&[(ContainerKind::App, image)], Value::Null), &allowed), expected, "{image}");
    }
}

#[test]
fn every_image_of_a_pod_counts() {
    let allowed = config(json!({"allow": ["docker.io"]}));
    for (kind, word) in [
        (ContainerKind::Init, "init container"),
        (ContainerKind::Sidecar, "sidecar"),
        (ContainerKind::App, "container"),
        (ContainerKind::Ephemeral, "ephemeral container"),
    ] {
        let facts = facts(&[(ContainerKind::App, "nginx"), (kind, "r.example/a")], Value::Null);
        let expected =
            format!("ImageNotAllowed: {word} \"c1\": image r.example/a is not from an allowed repository");
        assert_eq!(said(&facts, &allowed), expected);
    }
    let volume = |image: Value| json!([{"name": "tmp", "emptyDir": {}}, {"name": "data", "image": image}]);
    for (image, expected) in [
        (json!({"reference": "nginx"}), ""),
        (
            json!({"reference": "r.example/a"}),
            "ImageNotAllowed: volume \"data\": image r.example/a is not from an allowed repository",
        ),
        (json!({}), "ImageNotAllowed: volume \"data\": no image is named"),
    ] {
        assert_eq!(said(&facts(&[], volume(image.clone())), &allowed), expected, "{image}");
    }
}

#[test]
fn a_digest_may_be_required() {
    let pinned = config(json!({"allow": ["**"], "requireDigest": true}));
    let named = |image: &str| said(&facts(&[(ContainerKind::App, image)], Value::Null), &pinned);
    assert_eq!(
        named("nginx:1"),
        "ImageNotPinned: container \"c0\": image docker.io/library/nginx isn't pinned by a digest"
    );
    assert_eq!(named(&format!("nginx@{DIGEST}")), "");
    assert_eq!(named(&format!("nginx:1@{DIGEST}")), "");
}

#[test]
fn exempt_namespaces_and_resizes_arent_checked() {
    let strict = config(json!({"allow": ["r.example"], "exemptNamespaces": ["kube-system", "ci-*"]}));
    let mut facts = facts(&[(ContainerKind::App, "nginx")], Value::Null);
    for (namespace, admitted) in
        [("kube-system", true), ("ci-7", true), ("kube-system-2", false), ("default", false)]
    {
        facts.pod.identity.namespace = namespace.to_owned();
        assert_eq!(said(&facts, &strict).is_empty(), admitted, "{namespace}");
    }
    facts.operation = Operation::Resize;
    assert_eq!(said(&facts, &strict), "");
}

#[test]
fn a_wrong_configuration_is_refused_by_its_key() {
    for (text, expected) in [
        (json!({"allow": []}), "allow: must have at least one repository"),
        (json!({"allow": ["a", ""]}), "allow[1]: may not be empty"),
        (
            json!({"allow": ["docker.io/library/nginx:1"]}),
            "allow[0]: tags and digests aren't matched: name registry and repository only",
        ),
        (
            json!({"allow": ["a/b@sha256:0"]}),
            "allow[0]: tags and digests aren't matched: name registry and repository only",
        ),
        (json!({"allow": ["Docker.io/a"]}), "allow[0]: names of registries are matched in small letters"),
        (
            json!({"allow": ["a"], "exemptNamespaces": ["a/b"]}),
            "exemptNamespaces[0]: a namespace has no slash",
        ),
        (json!({"allow": ["a".repeat(513)]}), "allow[0]: is too long"),
        (json!({"allow": vec!["a"; 1_001]}), "allow: 1001 entries are more than 1000"),
    ] {
        let config: Config = serde_json::from_value(text.clone()).expect("it decodes");
        let error = ImagePolicy::validate(&config).expect_err("wrong");
        assert_eq!(error.to_string(), expected);
    }
    for (text, word) in
        [(json!({}), "allow"), (json!({"allow": [], "requireDigests": true}), "requireDigests")]
    {
        let error = serde_json::from_value::<Config>(text).expect_err("wrong");
        assert!(error.to_string().contains(word), "{error}");
    }
    ImagePolicy::validate(&config(json!({"allow": ["localhost:5000"]}))).expect("a port isn't a tag");
}
