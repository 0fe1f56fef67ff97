//! The downward API: each field and resource, as a variable and as a file.

use super::*;
use crate::fixtures::{pod, spec};

fn node() -> NodeFacts {
    serde_json::from_value::<k8s_openapi::api::core::v1::Node>(serde_json::json!({
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"}},
    }))
    .map(|node| NodeFacts {
        name: "node-1".to_owned(),
        node,
        addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        ..NodeFacts::default()
    })
    .unwrap()
}

fn full_pod() -> Pod {
    let mut pod = pod("Always", &["a"]);
    pod.metadata.labels =
        Some([("b".to_owned(), "x\"y\\z".to_owned()), ("app".to_owned(), "shop".to_owned())].into());
    pod.metadata.annotations = Some(
        [(
            "example.com/Note".to_owned(),
            "one\ntwo\t\u{1}\u{7f}ü\u{200b}\u{1f600}\u{e0001}e\u{301}'".to_owned(),
        )]
        .into(),
    );
    *spec(&mut pod) = serde_saphyr::from_str(
        "
serviceAccountName: robot
containers:
- name: a
  resources:
    requests: {cpu: 250m, memory: 64Mi, ephemeral-storage: 1Gi, hugepages-2Mi: 4Mi}
    limits: {cpu: 1500m, memory: 128Mi, hugepages-2Mi: 4Mi, cpu-of-no-one: 1}
- {name: bare}
initContainers:
- {name: first, resources: {limits: {cpu: 2}}}
",
    )
    .unwrap();
    pod
}

#[test]
fn fields_are_given_as_variables_or_files() {
    let (pod, node) = (full_pod(), node());
    let ips = ["10.0.0.7".parse().unwrap(), "fd00::7".parse().unwrap()];
    let fields = PodFields { pod: &pod, pod_ips: &ips, node: &node };
    let note = "one\ntwo\t\u{1}\u{7f}ü\u{200b}\u{1f600}\u{e0001}e\u{301}'";
    let quoted_note = "example.com/Note=\"one\\ntwo\\t\\x01\\x7fü\\u200b\u{1f600}\\U000e0001e\u{301}'\"";
    // (path, as a variable, as a file)
    let cases = [
        ("metadata.name", Some("web"), Some("web")),
        ("metadata.namespace", Some("ns"), Some("ns")),
        ("metadata.uid", Some("uid-1"), Some("uid-1")),
        ("metadata.labels['app']", Some("shop"), Some("shop")),
        ("metadata.labels['none']", Some(""), Some("")),
        ("metadata.labels['']", None, None),
        ("metadata.labels['a b']", None, None),
        ("metadata.labels", None, Some("app=\"shop\"\nb=\"x\\\"y\\\\z\"")),
        ("metadata.annotations['example.com/Note']", Some(note), Some(note)),
        ("metadata.annotations", None, Some(quoted_note)),
        ("spec.nodeName", Some("node-1"), None),
        ("spec.serviceAccountName", Some("robot"), None),
        ("status.hostIP", Some("192.0.2.1"), None),
        ("status.hostIPs", Some("192.0.2.1,2001:db8::1"), None),
        ("status.podIP", Some("10.0.0.7"), None),
        ("status.podIPs", Some("10.0.0.7,fd00::7"), None),
        ("status.phase", None, None),
        ("spec.restartPolicy", None, None),
        ("", None, None),
    ];
    for (path, variable, content) in cases {
        let refused = FieldError::Path { path: path.to_owned() };
        let expected = variable.map(str::to_owned).ok_or(refused.clone());
        assert_eq!(fields.environment(path), expected, "{path}");
        let file: DownwardAPIVolumeFile =
            serde_json::from_value(serde_json::json!({"path": "p", "fieldRef": {"fieldPath": path}}))
                .unwrap();
        assert_eq!(fields.file(&file), content.map(str::to_owned).ok_or(refused), "{path}");
    }
}

#[test]
fn resources_are_counted_in_units_of_the_divisor_rounded_up() {
    let (pod, node) = (full_pod(), node());
    let fields = PodFields { pod: &pod, pod_ips: &[], node: &node };
    let cases = [
        ("a", "requests.cpu", "", Some("1")),
        ("a", "requests.cpu", "0", Some("1")),
        ("a", "requests.cpu", "1m", Some("250")),
        ("a", "requests.cpu", "100m", Some("3")),
        ("a", "limits.cpu", "1", Some("2")),
        ("a", "limits.cpu", "1m", Some("1500")),
        ("a", "requests.memory", "", Some("67108864")),
        ("a", "requests.memory", "1Mi", Some("64")),
        ("a", "limits.memory", "1Gi", Some("1")),
        ("a", "limits.memory", "100M", Some("2")),
        ("a", "requests.ephemeral-storage", "1Mi", Some("1024")),
        ("a", "limits.ephemeral-storage", "1Gi", Some("100")),
        ("a", "requests.hugepages-2Mi", "1Mi", Some("4")),
        ("a", "limits.hugepages-2Mi", "", Some("4194304")),
        ("a", "limits.hugepages-1Gi", "", Some("0")),
        ("bare", "limits.cpu", "", Some("4")),
        ("bare", "limits.memory", "1Gi", Some("8")),
        ("bare", "limits.ephemeral-storage", "1Gi", Some("100")),
        ("bare", "requests.cpu", "1m", Some("0")),
        ("bare", "requests.memory", "", Some("0")),
        ("first", "limits.cpu", "", Some("2")),
        ("no-one", "limits.cpu", "", None),
        ("a", "limits.cpu-of-no-one", "", None),
        ("a", "cpu", "", None),
        ("a", "limits", "", None),
    ];
    for (container, resource, divisor, expected) in cases {
        let mut selector = ResourceFieldSelector {
            container_name: Some(container.to_owned()),
            resource: resource.to_owned(),
            divisor: (!divisor.is_empty()).then(|| Quantity(divisor.to_owned())),
        };
        let found = fields.resource(&selector, None).ok();
        assert_eq!(found.as_deref(), expected, "{container} {resource} / {divisor}");
        assert_eq!(is_resource(resource), expected.is_some() || container == "no-one", "{resource}");
        let own = pod.spec.iter().flat_map(|spec| &spec.containers).find(|own| own.name == container);
        if let Some(own) = own {
            selector.container_name = None;
            assert_eq!(fields.resource(&selector, Some(own)).ok().as_deref(), expected, "its own {resource}");
        }
    }
    let neither = DownwardAPIVolumeFile::default();
    assert_eq!(fields.file(&neither), Err(FieldError::Nothing));
}

#[test]
fn the_pods_own_limit_goes_before_what_the_node_has() {
    let (mut pod, node) = (full_pod(), node());
    spec(&mut pod).resources =
        serde_saphyr::from_str("{limits: {cpu: 3, memory: 1Gi, ephemeral-storage: 5Gi}}").unwrap();
    let fields = PodFields { pod: &pod, pod_ips: &[], node: &node };
    let of = |container: &str, resource: &str| {
        let selector = ResourceFieldSelector {
            container_name: Some(container.to_owned()),
            resource: resource.to_owned(),
            divisor: None,
        };
        fields.resource(&selector, None).unwrap()
    };
    assert_eq!((of("bare", "limits.cpu"), of("a", "limits.cpu")), ("3".to_owned(), "2".to_owned()));
    assert_eq!(of("bare", "limits.memory"), (1_i64 << 30).to_string());
    assert_eq!(of("bare", "limits.ephemeral-storage"), (100_i64 << 30).to_string(), "no resource of a pod");
}

#[test]
fn a_pod_on_the_host_network_has_the_hosts_addresses() {
    let (mut pod, node) = (full_pod(), node());
    spec(&mut pod).host_network = Some(true);
    let fields = PodFields { pod: &pod, pod_ips: &[], node: &node };
    assert_eq!(fields.environment("status.podIPs").as_deref(), Ok("192.0.2.1,2001:db8::1"));
}
