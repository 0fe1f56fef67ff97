//! Tests of environments: expansion and fields of the pod.

use std::path::Path;

use k8s_openapi::api::core::v1::Container;
use proptest::prelude::*;

use super::*;
use crate::container::config::{ContainerInput, Host};
use crate::fixtures::{pod, spec};
use crate::node::NodeFacts;

fn vars(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn node() -> NodeFacts {
    NodeFacts {
        name: "node-1".to_owned(),
        addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        ..NodeFacts::default()
    }
}

/// The environment that these entries of `env:` give, in a pod with labels, annotations and two addresses.
fn environment_of(yaml: &str, host_network: bool) -> Result<Vec<(String, String)>, ConfigError> {
    let env: Vec<EnvVar> = serde_saphyr::from_str(yaml).unwrap();
    let mut pod = pod("Always", &["a"]);
    pod.metadata.labels = Some([("app".to_owned(), "shop".to_owned())].into());
    pod.metadata.annotations = Some([("example.com/owner".to_owned(), "me".to_owned())].into());
    spec(&mut pod).host_network = Some(host_network);
    spec(&mut pod).service_account_name = Some("robot".to_owned());
    let container = Container { name: "a".to_owned(), env: Some(env), ..Container::default() };
    let pod_ips: Vec<IpAddr> = vec!["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()];
    let node = node();
    environment(ContainerInput {
        pod: &pod,
        container: &container,
        restart_count: 0,
        image: super::super::ImageFacts::default(),
        mounts: &[],
        devices: &[],
        objects: Default::default(),
        pid_target: None,
        pod_ips: if host_network { &[] } else { &pod_ips },
        host: Host::new(&node, Path::new("/")),
    })
}

#[test]
fn references_expand_and_everything_else_stays() {
    let env = vars(&[("A", "a"), ("B", "b"), ("EMPTY", ""), ("DOLLAR", "$(A)"), ("A", "last")]);
    let cases = [
        ("", ""),
        ("plain", "plain"),
        ("$(B)", "b"),
        ("x$(B)y$(B)z", "xbybz"),
        ("$(A)", "last"),
        ("[$(EMPTY)]", "[]"),
        ("$(NOBODY)", "$(NOBODY)"),
        ("$()", "$()"),
        ("$$(B)", "$(B)"),
        ("$$$(B)", "$b"),
        ("$$$$(B)", "$$(B)"),
        ("$B", "$B"),
        ("$", "$"),
        ("$$", "$"),
        ("$(B", "$(B"),
        ("$(B$(B)", "$(B$(B)"),
        ("$(DOLLAR)", "$(A)"),
        ("100 % $(B) ü$(B)", "100 % b üb"),
    ];
    for (text, expected) in cases {
        assert_eq!(expand(text, &env).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn variables_that_multiply_are_stopped_before_they_fill_the_memory() {
    let mut yaml = String::from("[{name: V0, value: \"0123456789\"}");
    for level in 1..60 {
        let before = format!("$(V{})", level - 1);
        yaml.push_str(&format!(", {{name: V{level}, value: \"{}\"}}", before.repeat(10)));
    }
    yaml.push(']');
    let expected =
        ConfigError::TooLong { container: "a".to_owned(), text: "environment variable V5".to_owned() };
    assert_eq!(environment_of(&yaml, false), Err(expected));
}

#[test]
fn a_text_may_be_as_long_as_linux_takes_and_no_longer() {
    let longest = "x".repeat(TEXT_BYTES_MAX);
    assert_eq!(expand(&longest, &[]).as_deref(), Ok(longest.as_str()));
    assert_eq!(expand(&format!("{longest}x"), &[]), Err(TooLong));
    assert_eq!(expand(&"$(".repeat(5_000_000), &[]), Err(TooLong));
}

#[test]
fn a_variable_sees_those_before_it_and_not_those_after() {
    let yaml =
        "[{name: A, value: one}, {name: B, value: $(A)-$(C)}, {name: C, value: $(B)}, {name: A, value: two}]";
    let expected = vars(&[("A", "one"), ("B", "one-$(C)"), ("C", "one-$(C)"), ("A", "two")]);
    assert_eq!(environment_of(yaml, false).unwrap(), expected);
}

#[test]
fn fields_of_the_pod_are_what_they_say() {
    let cases = [
        ("metadata.name", "web"),
        ("metadata.namespace", "ns"),
        ("metadata.uid", "uid-1"),
        ("metadata.labels['app']", "shop"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['example.com/owner']", "me"),
        ("metadata.annotations['none']", ""),
        ("spec.nodeName", "node-1"),
        ("spec.serviceAccountName", "robot"),
        ("status.hostIP", "192.0.2.1"),
        ("status.hostIPs", "192.0.2.1,2001:db8::1"),
        ("status.podIP", "10.0.0.7"),
        ("status.podIPs", "10.0.0.7,fd00::7"),
    ];
    for (path, expected) in cases {
        let yaml = format!("[{{name: A, valueFrom: {{fieldRef: {{fieldPath: \"{path}\"}}}}}}]");
        assert_eq!(environment_of(&yaml, false).unwrap(), vars(&[("A", expected)]), "{path}");
    }
}

#[test]
fn a_pod_on_the_host_network_has_the_hosts_addresses() {
    let yaml = "[{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]";
    assert_eq!(environment_of(yaml, true).unwrap(), vars(&[("A", "192.0.2.1")]));
}

#[test]
fn fields_that_pods_do_not_offer_are_refused_by_name() {
    let paths = ["spec.containers", "metadata.labels", "metadata.labels['app", "status.phase", ""];
    for path in paths {
        let yaml = format!("[{{name: A, valueFrom: {{fieldRef: {{fieldPath: \"{path}\"}}}}}}]");
        let expected = ConfigError::FieldPath {
            container: "a".to_owned(),
            variable: "A".to_owned(),
            path: path.to_owned(),
        };
        assert_eq!(environment_of(&yaml, false), Err(expected), "{path}");
    }
    let other_version = "[{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.name}}}]";
    assert!(matches!(environment_of(other_version, false), Err(ConfigError::FieldPath { .. })));
}

#[test]
fn sources_that_this_release_does_not_have_are_refused_by_name() {
    let sources = [
        ("resourceFieldRef: {resource: limits.cpu}", "resourceFieldRef"),
        ("configMapKeyRef: {name: a, key: b}", "configMapKeyRef"),
        ("secretKeyRef: {name: a, key: b}", "secretKeyRef"),
        ("fileKeyRef: {volumeName: v, path: p, key: k}", "fileKeyRef"),
    ];
    for (source, name) in sources {
        let error = environment_of(&format!("[{{name: A, valueFrom: {{{source}}}}}]"), false).unwrap_err();
        let expected =
            format!("{name} of environment variable A of container a is not supported by this release");
        assert_eq!(error.to_string(), expected);
    }
}

proptest! {
    #[test]
    fn a_text_without_a_dollar_stays(text in "[^$]*") {
        prop_assert_eq!(expand(&text, &vars(&[("A", "a")])), Ok(text));
    }

    #[test]
    fn expansion_ends_and_never_grows_without_a_reference(text in "[$()A a]{0,40}") {
        prop_assert!(expand(&text, &vars(&[])).unwrap().len() <= text.len());
    }
}
