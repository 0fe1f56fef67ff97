//! Upstream's rules (`apparmor/validate_test.go`, `helpers.go`), one case each.

use serde_json::{Value, json};
use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
use witlet_plugin_sdk::{AdmissionHandler, Container, ContainerKind, Operation, Verdict};

use super::{ANNOTATION_PREFIX, AppArmor, REASON};

const NO_HOST: &str = "Cannot enforce AppArmor: AppArmor is not enabled on the host";
const NO_NAME: &str = "Cannot enforce AppArmor: invalid empty AppArmor profile name: \"\"";

/// A pod with a container of each kind: `i`, `s`, `a`, `e`.
fn facts(change: impl Fn(&mut Value), annotations: &[(&str, &str)], enabled: Option<&str>) -> RequestFacts {
    let mut spec = json!({
        "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "a"}],
        "ephemeralContainers": [{"name": "e"}],
    });
    change(&mut spec);
    let kinds = [
        ("i", ContainerKind::Init),
        ("s", ContainerKind::Sidecar),
        ("a", ContainerKind::App),
        ("e", ContainerKind::Ephemeral),
    ];
    let containers =
        kinds.map(|(name, kind)| Container { name: name.to_owned(), kind, image: String::new() });
    let annotations =
        annotations.iter().map(|(name, value)| (format!("{ANNOTATION_PREFIX}{name}"), (*value).to_owned()));
    RequestFacts {
        pod: PodFacts {
            manifest: json!({ "spec": spec }),
            containers: containers.into(),
            annotations: annotations.collect(),
            ..PodFacts::default()
        },
        node: NodeFacts {
            facts: enabled
                .map(|enabled| ("apparmor.enabled".to_owned(), enabled.to_owned()))
                .into_iter()
                .collect(),
            ..NodeFacts::default()
        },
        ..RequestFacts::default()
    }
}

fn message(facts: &RequestFacts) -> String {
    match AppArmor::admit(&facts.request(), &()).expect("a verdict") {
        Verdict::Admit => String::new(),
        Verdict::Reject(rejection) => {
            assert_eq!(rejection.reason, REASON);
            rejection.message
        }
        other => panic!("{other:?}"),
    }
}

fn profile(kind: &str) -> Value {
    json!({"appArmorProfile": {"type": kind}})
}

#[test]
fn a_profile_needs_a_host_that_enforces_it() {
    type Case<'a> = (&'a str, fn(&mut Value), &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case<'_>; 14] = [
        ("nothing", |_| {}, &[], ""),
        ("the pod", |spec| spec["securityContext"] = profile("RuntimeDefault"), &[], NO_HOST),
        ("the pod, unconfined", |spec| spec["securityContext"] = profile("Unconfined"), &[], ""),
        (
            "an init container",
            |spec| spec["initContainers"][0]["securityContext"] = profile("RuntimeDefault"),
            &[],
            NO_HOST,
        ),
        (
            "a sidecar",
            |spec| spec["initContainers"][1]["securityContext"] = profile("RuntimeDefault"),
            &[],
            NO_HOST,
        ),
        (
            "a container",
            |spec| spec["containers"][0]["securityContext"] = profile("RuntimeDefault"),
            &[],
            NO_HOST,
        ),
        (
            "an ephemeral container",
            |spec| spec["ephemeralContainers"][0]["securityContext"] = profile("Localhost"),
            &[],
            NO_HOST,
        ),
        (
            "a container, unconfined",
            |spec| spec["containers"][0]["securityContext"] = profile("Unconfined"),
            &[],
            "",
        ),
        (
            "another context",
            |spec| spec["containers"][0]["securityContext"] = json!({"runAsUser": 1}),
            &[],
            "",
        ),
        ("an annotation", |_| {}, &[("a", "runtime/default")], NO_HOST),
        ("an annotation, unconfined", |_| {}, &[("a", "unconfined")], ""),
        ("one of two annotations", |_| {}, &[("a", "unconfined"), ("b", "localhost/p")], NO_HOST),
        ("a malformed annotation", |_| {}, &[("a", "docker-default")], NO_HOST),
        (
            "the pod, though each container is unconfined",
            |spec| {
                spec["securityContext"] = profile("RuntimeDefault");
                spec["containers"][0]["securityContext"] = profile("Unconfined");
            },
            &[],
            NO_HOST,
        ),
    ];
    for (claim, change, annotations, expected) in cases {
        for absent in [None, Some("false")] {
            assert_eq!(message(&facts(change, annotations, absent)), expected, "{claim}");
        }
        let with = message(&facts(change, annotations, Some("true")));
        let nameless = if claim == "an ephemeral container" { NO_NAME } else { "" };
        assert_eq!(with, nameless, "{claim}, where AppArmor is");
    }
}

#[test]
fn a_profile_of_the_host_has_a_name() {
    let named = |name: Value| {
        move |spec: &mut Value| {
            spec["containers"][0]["securityContext"] =
                json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": name.clone()}});
        }
    };
    for (name, expected) in
        [(json!("k8s-nginx"), ""), (json!(""), NO_NAME), (json!("  "), NO_NAME), (Value::Null, NO_NAME)]
    {
        assert_eq!(message(&facts(named(name.clone()), &[], Some("true"))), expected, "{name}");
    }
    assert_eq!(message(&facts(|_| {}, &[("a", "localhost/")], Some("true"))), NO_NAME);
    assert_eq!(message(&facts(|_| {}, &[("a", "localhost/ ")], Some("true"))), NO_NAME);
    for value in ["localhost/p", "localhost//usr/sbin/ntpd", "runtime/default"] {
        assert_eq!(message(&facts(|_| {}, &[("a", value)], Some("true"))), "", "{value}");
    }
    assert_eq!(message(&facts(|_| {}, &[("another", "localhost/")], Some("true"))), "", "no such container");
}

#[test]
fn the_field_goes_before_the_annotation_and_that_before_the_pods() {
    let nameless_pod = |spec: &mut Value| spec["securityContext"] = profile("Localhost");
    assert_eq!(message(&facts(nameless_pod, &[], Some("true"))), NO_NAME);
    let all = ["i", "s", "a", "e"].map(|name| (name, "localhost/p"));
    assert_eq!(message(&facts(nameless_pod, &all, Some("true"))), "");
    let field = |spec: &mut Value| spec["containers"][0]["securityContext"] = profile("RuntimeDefault");
    assert_eq!(message(&facts(field, &[("a", "localhost/")], Some("true"))), "");
}

#[test]
fn a_pod_that_runs_already_isnt_asked() {
    let asks = |spec: &mut Value| spec["securityContext"] = profile("RuntimeDefault");
    let mut facts = facts(asks, &[], None);
    for (phase, expected) in [("Pending", NO_HOST), ("", NO_HOST), ("Running", ""), ("Failed", "")] {
        facts.pod.manifest["status"] = json!({ "phase": phase });
        assert_eq!(message(&facts), expected, "{phase}");
    }
    facts.pod.manifest["status"] = json!({});
    facts.operation = Operation::Resize;
    assert_eq!(message(&facts), "");
}
