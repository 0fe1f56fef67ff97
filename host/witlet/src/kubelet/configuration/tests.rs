//! Files of clusters in use, what is refused and where, and what lies over what.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// What every file begins with.
const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

/// As kubeadm 1.36 writes it, comments and zero values included.
const KUBEADM: &str = include_str!("tests/kubeadm.yaml");

/// As kind writes it, by kubeadm and its own patches.
const KIND_YAML: &str = include_str!("tests/kind.yaml");

fn read(text: &str) -> Result<Configuration, ConfigurationError> {
    Configuration::read(Path::new("/etc/kubelet/config.yaml"), text)
}

fn with_head(rest: &str) -> Configuration {
    read(&format!("{HEAD}{rest}")).unwrap_or_else(|error| panic!("{rest}: {error}"))
}

#[test]
fn the_table_has_all_fields_of_1_36() {
    let top: BTreeSet<_> = FIELDS.iter().filter_map(|field| field.path.split('.').next()).collect();
    assert_eq!(top.len(), 125);
    let all: BTreeSet<_> = FIELDS.iter().map(|field| field.path).collect();
    assert_eq!(all.len(), FIELDS.len(), "a field is listed twice");
    for path in &all {
        assert!(!is_map(path), "{path} is a field and a map");
    }
    for field in FIELDS {
        if let FieldSupport::Fixed(values) = field.fate {
            for value in values {
                let value: Value = serde_json::from_str(value).expect(field.path);
                assert_eq!(
                    misfit(field.kind, String::new(), &value, &mut Vec::new()),
                    None,
                    "{}",
                    field.path
                );
            }
        }
    }
}

#[test]
fn files_of_clusters_in_use_are_taken() {
    let kubeadm = read(KUBEADM).expect("kubeadm's file");
    assert_eq!(kubeadm.not_yet(), [""; 0], "its zero values ask for nothing");
    assert_eq!(kubeadm.document()["authentication"]["x509"]["clientCAFile"], "/etc/kubernetes/pki/ca.crt");
    let kind = read(KIND_YAML).expect("kind's file");
    assert_eq!(kind.not_yet(), [""; 0]);
    assert_eq!(kind.document()["failSwapOn"], json!(false));
}

#[test]
fn json_is_taken_as_well() {
    let text = json!({"apiVersion": API_VERSION, "kind": KIND, "maxPods": 5, "authentication": null});
    assert_eq!(read(&text.to_string()).expect("JSON is YAML").document(), json!({"maxPods": 5}));
}

/// Fields with a mistake, and how their refusal begins.
const WRONG: &[(&str, &str)] = &[
    ("maxPods: [", "/etc/kubelet/config.yaml: "),
    (
        "authentication: yes please",
        "/etc/kubelet/config.yaml: line 3, column 17: authentication: expected a map, found \"yes please\"",
    ),
    (
        "maxPods: \"110\"",
        "/etc/kubelet/config.yaml: line 3, column 10: maxPods: expected a whole number, found \"110\"",
    ),
    (
        "maxPods: 1.5",
        "/etc/kubelet/config.yaml: line 3, column 10: maxPods: expected a whole number, found 1.5",
    ),
    (
        "failSwapOn: \"false\"",
        "/etc/kubelet/config.yaml: line 3, column 13: failSwapOn: expected true or false, found \"false\"",
    ),
    (
        "syncFrequency: 60",
        "/etc/kubelet/config.yaml: line 3, column 16: syncFrequency: expected a duration such as 1m30s, found 60",
    ),
    (
        "syncFrequency: 1d",
        "/etc/kubelet/config.yaml: line 3, column 16: syncFrequency: expected a duration such as 1m30s, found \"1d\"",
    ),
    (
        "logging: {verbosity: -1}",
        "/etc/kubelet/config.yaml: line 3, column 22: logging.verbosity: expected a whole number from 0 to 4294967295, found -1",
    ),
    (
        "logging: {vmodule: [{filePattern: a, verbosity: high}]}",
        "/etc/kubelet/config.yaml: line 3, column 49: logging.vmodule[0].verbosity: expected a whole number from 0 to 4294967295, found \"high\"",
    ),
    (
        "logging: {vmodule: a=1}",
        "/etc/kubelet/config.yaml: line 3, column 20: logging.vmodule: expected a list, found \"a=1\"",
    ),
    (
        "logging: {flushFrequency: soon}",
        "/etc/kubelet/config.yaml: line 3, column 27: logging.flushFrequency: expected a duration such as 5s, or a number of nanoseconds, found \"soon\"",
    ),
    (
        "logging: {options: {text: {infoBufferSize: much}}}",
        "/etc/kubelet/config.yaml: line 3, column 44: logging.options.text.infoBufferSize: expected a quantity such as 64Ki, found \"much\"",
    ),
    (
        "clusterDNS: 10.0.0.1",
        "/etc/kubelet/config.yaml: line 3, column 13: clusterDNS: expected a list, found \"10.0.0.1\"",
    ),
    (
        "clusterDNS: [10]",
        "/etc/kubelet/config.yaml: line 3, column 14: clusterDNS[0]: expected a text, found 10",
    ),
    (
        "systemReserved: {cpu: 1}",
        "/etc/kubelet/config.yaml: line 3, column 23: systemReserved[cpu]: expected a text, found 1",
    ),
    (
        "featureGates: {A: 1}",
        "/etc/kubelet/config.yaml: line 3, column 19: featureGates[A]: expected true or false, found 1",
    ),
    (
        "featureGates: [A]",
        "/etc/kubelet/config.yaml: line 3, column 15: featureGates: expected a map, found [\"A\"]",
    ),
    (
        "staticPodURLHeader: {a: [1]}",
        "/etc/kubelet/config.yaml: line 3, column 26: staticPodURLHeader[a][0]: expected a text, found 1",
    ),
    (
        "registerWithTaints: [a]",
        "/etc/kubelet/config.yaml: line 3, column 22: registerWithTaints[0]: expected a map, found \"a\"",
    ),
    (
        "shutdownGracePeriodByPodPriority: [{priority: high}]",
        "/etc/kubelet/config.yaml: line 3, column 47: shutdownGracePeriodByPodPriority[0].priority: expected a whole number, found \"high\"",
    ),
];

#[test]
fn what_is_wrong_is_named_with_its_file_and_place() {
    for (rest, expected) in WRONG {
        let error = read(&format!("{HEAD}{rest}\n")).expect_err(rest).to_string();
        assert!(error.starts_with(expected), "{rest}: {error}");
    }
    let other = [
        ("", "/etc/kubelet/config.yaml: expected a map, found null"),
        (
            "kind: KubeletConfiguration\n",
            "/etc/kubelet/config.yaml: apiVersion must be kubelet.config.k8s.io/v1beta1, found \"null\"",
        ),
        (
            "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n",
            "/etc/kubelet/config.yaml: apiVersion must be kubelet.config.k8s.io/v1beta1, found \"kubelet.config.k8s.io/v1\"",
        ),
        (
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Pod\n",
            "/etc/kubelet/config.yaml: kind must be KubeletConfiguration, found \"Pod\"",
        ),
    ];
    for (text, expected) in other {
        assert_eq!(read(text).expect_err(expected).to_string(), expected);
    }
}

#[test]
fn fields_that_do_not_exist_are_passed_over_and_named() {
    let cases = [
        ("noSuchField: 1", "noSuchField"),
        ("maxpods: 1", "maxpods"),
        ("authentication: {anonymous: {enable: true}}", "authentication.anonymous.enable"),
        ("registerWithTaints: [{key: a, efect: b, effect: NoSchedule}]", "registerWithTaints[0].efect"),
    ];
    for (rest, path) in cases {
        let found = with_head(&format!("maxPods: 7\n{rest}\n"));
        assert_eq!(found.oddities(), [format!("/etc/kubelet/config.yaml: unknown field \"{path}\"")]);
        assert_eq!(found.document()["maxPods"], 7, "{rest}: the rest counts");
    }
    let many: String = (0..1000).map(|number| format!("noSuchField{number}: 1\n")).collect();
    let found = with_head(&many);
    assert_eq!(found.oddities().len(), UNKNOWN_NAMED_MAX + 1);
    assert_eq!(found.oddities()[UNKNOWN_NAMED_MAX], "/etc/kubelet/config.yaml: 980 more unknown fields");
}

#[test]
fn of_a_name_that_stands_twice_the_last_value_counts_and_that_is_reported() {
    let mut found = with_head("maxPods: 1\nport: 2\nmaxPods: 3\n");
    assert_eq!(found.document(), json!({"maxPods": 3, "port": 2}));
    let reported = found.oddities().to_vec();
    assert!(
        reported.len() == 1
            && reported[0].contains("maxPods")
            && reported[0].ends_with("the last value is used"),
        "{reported:?}"
    );
    found.overlay(with_head("noSuchField: 1\n"));
    assert_eq!(found.oddities().len(), 2, "each file's are reported");
}

#[test]
fn a_long_value_is_shortened_in_the_message() {
    let error = read(&format!("{HEAD}maxPods: {}\n", "x".repeat(5000))).expect_err("no number");
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn relative_paths_start_at_the_files_folder() {
    let found = with_head("staticPodPath: manifests\nresolvConf: \"\"\ntlsCertFile: /abs/a.crt\n");
    assert_eq!(
        found.document(),
        json!({"staticPodPath": "/etc/kubelet/manifests", "resolvConf": "", "tlsCertFile": "/abs/a.crt"})
    );
    let found = with_head(
        "staticPodPath: ./a/../manifests/\npodLogsDir: ../../../logs\ntlsCertFile: /abs/../a.crt\n",
    );
    assert_eq!(
        found.document(),
        json!({"staticPodPath": "/etc/kubelet/manifests", "podLogsDir": "/logs", "tlsCertFile": "/abs/../a.crt"})
    );
}

#[test]
fn later_files_replace_all_but_maps_which_grow() {
    let mut found = with_head(
        "maxPods: 1\nclusterDNS: [a, b]\nfeatureGates: {A: true, B: true}\nauthentication: {webhook: {enabled: true}}\n",
    );
    found.overlay(with_head(
        "maxPods: 2\nclusterDNS: [c]\nfeatureGates: {B: false}\nauthentication: {anonymous: {enabled: true}}\n",
    ));
    assert_eq!(
        found.document(),
        json!({
            "maxPods": 2, "clusterDNS": ["c"], "featureGates": {"A": true, "B": false},
            "authentication": {"webhook": {"enabled": true}, "anonymous": {"enabled": true}},
        })
    );
}

#[test]
fn flags_win_whole_except_over_feature_gates_that_they_do_not_name() {
    let mut found =
        with_head("systemReserved: {cpu: \"1\", memory: 1Gi}\nfeatureGates: {A: true, B: true}\n");
    found.override_by(BTreeMap::from([
        ("systemReserved", json!({"cpu": "2"})),
        ("featureGates", json!({"B": false})),
    ]));
    assert_eq!(
        found.document(),
        json!({"systemReserved": {"cpu": "2"}, "featureGates": {"A": true, "B": false}})
    );
}

#[test]
fn values_that_ask_for_what_happens_anyway_are_not_reported() {
    let quiet = with_head(
        "topologyManagerPolicy: none\nmemoryThrottlingFactor: 0.9\ncgroupDriver: systemd\n\
         evictionHard: {}\nreadOnlyPort: 0\nenforceNodeAllocatable: [pods]\n",
    );
    assert_eq!(quiet.not_yet(), [""; 0]);
    let loud = with_head(
        "topologyManagerPolicy: restricted\ncontainerLogMaxWorkers: 2\nserverTLSBootstrap: true\n\
         shutdownGracePeriod: 10s\n",
    );
    let expected =
        ["serverTLSBootstrap", "topologyManagerPolicy", "containerLogMaxWorkers", "shutdownGracePeriod"];
    assert_eq!(loud.not_yet(), expected);
}
