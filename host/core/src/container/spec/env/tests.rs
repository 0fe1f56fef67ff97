//! Tests of environments: expansion and fields of the pod.

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::container::spec::{Objects, fixtures};
use crate::fixtures::{pod, spec};

fn expanded(text: &str, env: &[(String, String)]) -> Result<String, TooLong> {
    expand(text, |name| env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str()))
}

fn vars(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The environment that a container with these fields gets, in a pod with labels, annotations and two addresses.
fn container_environment(yaml: &str, host_network: bool) -> Result<Vec<(String, String)>, SpecError> {
    let container: Container = serde_saphyr::from_str(&format!("{{name: a, {yaml}}}")).unwrap();
    let mut pod = pod("Always", &["a"]);
    pod.metadata.labels = Some([("app".to_owned(), "shop".to_owned())].into());
    pod.metadata.annotations = Some([("example.com/owner".to_owned(), "me".to_owned())].into());
    spec(&mut pod).host_network = Some(host_network);
    spec(&mut pod).service_account_name = Some("robot".to_owned());
    let pod_ips: Vec<IpAddr> = vec!["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()];
    let node = fixtures::node("1");
    let text = |text: &str| text.to_owned();
    let config_maps = BTreeMap::from([
        (text("map"), BTreeMap::from([(text("KEY"), text("value")), (text("dotted.key-1"), text("x"))])),
        (text("odd"), BTreeMap::from([(text("a=b"), text("x")), (text("ok"), text("y"))])),
    ]);
    let secret = |entries: &[(&str, &[u8])]| -> BTreeMap<_, _> {
        entries.iter().map(|(key, value)| (text(key), value.to_vec())).collect()
    };
    let secrets = BTreeMap::from([
        (text("secret"), secret(&[("PASS", b"word"), ("blob", &[0xff])])),
        (text("text"), secret(&[("PASS", b"word")])),
    ]);
    let long = format!("LONG='{}'", "x".repeat(VALUE_BYTES_MAX + 1));
    let env_files = BTreeMap::from([
        ((text("v"), text("dir/app.env")), text("A='one'\nEMPTY=''\n")),
        ((text("v"), text("bad.env")), text("A=one\n")),
        ((text("v"), text("long.env")), long),
    ]);
    environment(ContainerInput {
        pod_ips: if host_network { &[] } else { &pod_ips },
        objects: Objects {
            config_maps: Some(&config_maps),
            secrets: Some(&secrets),
            env_files: Some(&env_files),
            services: None,
        },
        ..fixtures::input(&pod, &container, fixtures::host(&node))
    })
}

/// The same for these entries of `env:`.
fn environment_of(yaml: &str, host_network: bool) -> Result<Vec<(String, String)>, SpecError> {
    container_environment(&format!("env: {yaml}"), host_network)
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
        ("$(UNSET)", "$(UNSET)"),
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
        assert_eq!(expanded(text, &env).as_deref(), Ok(expected), "{text}");
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
        SpecError::TooLong { container: "a".to_owned(), text: "environment variable V5".to_owned() };
    assert_eq!(environment_of(&yaml, false), Err(expected));
}

#[test]
fn variables_that_all_name_a_long_one_are_stopped_before_they_fill_the_memory() {
    let mut yaml = format!("[{{name: LONG, value: \"{}\"}}", "x".repeat(100_000));
    (0..1000).for_each(|number| yaml.push_str(&format!(", {{name: V{number}, value: \"$(LONG)\"}}")));
    yaml.push(']');
    assert_eq!(
        environment_of(&yaml, false),
        Err(SpecError::TooMuch { container: "a".to_owned() }),
        "a hundred megabytes"
    );
}

#[test]
fn a_text_may_be_as_long_as_linux_takes_and_no_longer() {
    let longest = "x".repeat(TEXT_BYTES_MAX);
    assert_eq!(expanded(&longest, &[]).as_deref(), Ok(longest.as_str()));
    assert_eq!(expanded(&format!("{longest}x"), &[]), Err(TooLong));
    assert_eq!(expanded(&"$(".repeat(5_000_000), &[]), Err(TooLong));
}

#[test]
fn a_variable_sees_those_before_it_and_not_those_after() {
    let yaml =
        "[{name: A, value: one}, {name: B, value: $(A)-$(C)}, {name: C, value: $(B)}, {name: A, value: two}]";
    let expected = vars(&[("A", "two"), ("B", "one-$(C)"), ("C", "one-$(C)")]);
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
        let expected = SpecError::Field {
            container: "a".to_owned(),
            variable: "A".to_owned(),
            cause: FieldError::Path { path: path.to_owned() },
        };
        assert_eq!(environment_of(&yaml, false), Err(expected), "{path}");
    }
    let other_version = "[{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.name}}}]";
    assert!(matches!(environment_of(other_version, false), Err(SpecError::Field { .. })));
}

/// Variables, or the error with its cause.
fn outcome(yaml: &str) -> Result<Vec<(String, String)>, String> {
    container_environment(yaml, false).map_err(|error| crate::error::one_line(&error))
}

#[test]
fn resources_of_the_container_and_of_others_are_variables() {
    let yaml = "resources: {limits: {cpu: 1500m}}, env: [
        {name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}},
        {name: B, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}},
        {name: C, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1M}}},
        {name: D, valueFrom: {resourceFieldRef: {resource: requests.memory}}},
        {name: E, valueFrom: {resourceFieldRef: {containerName: a, resource: limits.cpu}}}]";
    let expected = vars(&[("A", "2"), ("B", "1500"), ("C", "6000"), ("D", "0"), ("E", "2")]);
    assert_eq!(outcome(yaml), Ok(expected));
    let unknown = "env: [{name: A, valueFrom: {resourceFieldRef: {containerName: x, resource: limits.cpu}}}]";
    assert_eq!(
        outcome(unknown),
        Err("environment variable A of container a: container x not found".to_owned())
    );
    let nothing = "env: [{name: A, valueFrom: {}}]";
    assert!(
        outcome(nothing)
            .is_err_and(|error| error.ends_with("must have one of fieldRef and resourceFieldRef"))
    );
}

#[test]
fn entries_of_objects_are_variables_unless_they_are_missing() {
    let config_map = |name: &str, key: &str, optional: bool| {
        let reference = format!("{{name: {name}, key: {key}, optional: {optional}}}");
        outcome(&format!("env: [{{name: A, valueFrom: {{configMapKeyRef: {reference}}}}}]"))
    };
    let secret = |name: &str, key: &str, optional: bool| {
        let reference = format!("{{name: {name}, key: {key}, optional: {optional}}}");
        outcome(&format!("env: [{{name: A, valueFrom: {{secretKeyRef: {reference}}}}}]"))
    };
    let error = |text: &str| Err(text.to_owned());
    let none = Ok(vec![]);
    assert_eq!(config_map("map", "KEY", false), Ok(vars(&[("A", "value")])));
    assert_eq!(config_map("map", "none", true), none);
    assert_eq!(config_map("map", "none", false), error("couldn't find key none in ConfigMap ns/map"));
    assert_eq!(config_map("other", "KEY", true), none);
    assert_eq!(config_map("other", "KEY", false), error("configmap \"other\" not found"));
    assert_eq!(secret("secret", "PASS", false), Ok(vars(&[("A", "word")])));
    assert_eq!(secret("secret", "none", true), none);
    assert_eq!(secret("secret", "none", false), error("couldn't find key none in Secret ns/secret"));
    assert_eq!(secret("other", "PASS", true), none);
    assert_eq!(secret("other", "PASS", false), error("secret \"other\" not found"));
    assert_eq!(secret("secret", "blob", false), error("key blob of secret secret is not UTF-8"));
}

#[test]
fn whole_objects_come_first_with_their_prefix_and_are_replaced_by_single_variables() {
    let cases = [
        ("envFrom: [{configMapRef: {name: map}}]", Ok(vec![("KEY", "value"), ("dotted.key-1", "x")])),
        (
            "envFrom: [{prefix: p_, configMapRef: {name: map}}]",
            Ok(vec![("p_KEY", "value"), ("p_dotted.key-1", "x")]),
        ),
        (
            "envFrom: [{configMapRef: {name: map}}], env: [{name: KEY, value: own}, {name: B, value: $(KEY)}]",
            Ok(vec![("KEY", "own"), ("dotted.key-1", "x"), ("B", "own")]),
        ),
        (
            "envFrom: [{configMapRef: {name: map}}], env: [{name: B, value: '$(KEY) $(KEY)'}]",
            Ok(vec![("KEY", "value"), ("dotted.key-1", "x"), ("B", "value value")]),
        ),
        ("envFrom: [{configMapRef: {name: odd}}]", Ok(vec![("ok", "y")])),
        ("envFrom: [{configMapRef: {name: other}}]", Err("configmap \"other\" not found")),
        ("envFrom: [{configMapRef: {name: other, optional: true}}]", Ok(vec![])),
        (
            "envFrom: [{secretRef: {name: text}}, {prefix: p_, secretRef: {name: text}}],
             env: [{name: B, value: $(PASS)}, {name: PASS, value: own}]",
            Ok(vec![("PASS", "own"), ("p_PASS", "word"), ("B", "word")]),
        ),
        ("envFrom: [{secretRef: {name: other}}]", Err("secret \"other\" not found")),
        ("envFrom: [{secretRef: {name: other, optional: true}}]", Ok(vec![])),
        ("envFrom: [{secretRef: {name: secret}}]", Err("key blob of secret secret is not UTF-8")),
    ];
    for (yaml, expected) in cases {
        assert_eq!(outcome(yaml), expected.map(|pairs| vars(&pairs)).map_err(str::to_owned), "{yaml}");
    }
}

#[test]
fn variables_come_from_files_of_volumes() {
    let from = |path: &str, key: &str, optional: bool| {
        let reference = format!("{{volumeName: v, path: {path}, key: {key}, optional: {optional}}}");
        outcome(&format!("env: [{{name: X, valueFrom: {{fileKeyRef: {reference}}}}}]"))
    };
    let error = |path: &str, text: &str| Err(format!("environment file {path} of volume v: {text}"));
    let none = Ok(vec![]);
    assert_eq!(from("dir/app.env", "A", false), Ok(vars(&[("X", "one")])));
    for key in ["B", "EMPTY"] {
        let missing = error("dir/app.env", &format!("environment variable key {key:?} not found"));
        assert_eq!(from("dir/app.env", key, false), missing);
        assert_eq!(from("dir/app.env", key, true), none);
    }
    assert_eq!(from("none.env", "A", false), error("none.env", "the file does not exist"));
    assert_eq!(from("none.env", "A", true), none);
    let not_quoted = "invalid environment variable format at line 1: value must be enclosed in single quotes";
    assert_eq!(from("bad.env", "A", true), error("bad.env", not_quoted));
    assert!(
        from("long.env", "LONG", true).is_err_and(|error| error.ends_with("maximum size of 32768 bytes"))
    );
    assert!(
        from("dir/app.env", &"k".repeat(129), true).is_err_and(|error| error.ends_with("128 characters"))
    );
    let container: Container = serde_saphyr::from_str(
        "{name: a, env: [{name: X, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}, {name: Y, value: z}]}",
    )
    .unwrap();
    assert_eq!(env_files(&container), BTreeSet::from([("v".to_owned(), "p".to_owned())]));
}

proptest! {
    #[test]
    fn a_text_without_a_dollar_stays(text in "[^$]*") {
        prop_assert_eq!(expanded(&text, &vars(&[("A", "a")])), Ok(text));
    }

    #[test]
    fn expansion_ends_and_never_grows_without_a_reference(text in "[$()A a]{0,40}") {
        prop_assert!(expanded(&text, &vars(&[])).unwrap().len() <= text.len());
    }
}

#[test]
fn variables_of_services_come_last_and_give_way() {
    let yaml = "{name: a, envFrom: [{configMapRef: {name: map}}],
                 env: [{name: URL, value: $(DB_PORT)/x}, {name: DB_SERVICE_PORT, value: '1'},
                       {name: LATE, value: $(DB_SERVICE_PORT)},
                       {name: NONE, valueFrom: {secretKeyRef: {name: gone, key: k, optional: true}}}]}";
    let container: Container = serde_saphyr::from_str(yaml).unwrap();
    let (pod, node) = (pod("Always", &["a"]), fixtures::node("1"));
    let text = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> { vars(pairs).into_iter().collect() };
    let services = text(&[
        ("DB_PORT", "tcp://10.0.0.5:5432"),
        ("DB_SERVICE_PORT", "5432"),
        ("FROM_MAP", "of the service"),
        ("NONE", "of the service"),
        ("Z", "z"),
    ]);
    let config_maps = BTreeMap::from([("map".to_owned(), text(&[("FROM_MAP", "of the map")]))]);
    let objects =
        Objects { config_maps: Some(&config_maps), services: Some(&services), ..Objects::default() };
    let input = ContainerInput { objects, ..fixtures::input(&pod, &container, fixtures::host(&node)) };
    assert_eq!(
        environment(input),
        Ok(vars(&[
            ("FROM_MAP", "of the map"),
            ("URL", "tcp://10.0.0.5:5432/x"),
            ("DB_SERVICE_PORT", "1"),
            ("LATE", "1"),
            ("DB_PORT", "tcp://10.0.0.5:5432"),
            ("Z", "z"),
        ]))
    );
}
