//! Validation: each rule by its field.

use serde_json::{Value, json};

use super::*;
use crate::pod::defaults;

mod containers;
mod volumes;

/// Problems of a good pod after a change to its JSON.
fn problems(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut value = json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "0123-ab"},
        "spec": {"containers": [{"name": "a", "image": "b:1"}]},
    });
    change(&mut value);
    let mut pod: Pod = serde_json::from_value(value).expect("a pod");
    defaults::apply(&mut pod);
    validate(&pod).iter().map(ToString::to_string).collect()
}

/// The fields that are named after `value` was put at `pointer`.
#[track_caller]
fn check(pointer: &str, value: Value, expected: &[&str]) {
    let found = problems(|pod| {
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
        let parent = pod.pointer_mut(parent).expect("the parent exists");
        if let Ok(index) = field.parse::<usize>() {
            parent[index] = value.clone();
        } else {
            parent[field] = value.clone();
        }
    });
    let fields: Vec<_> =
        found.iter().filter_map(|line| line.split_once(": ")).map(|(path, _)| path).collect();
    assert_eq!(fields, expected, "{pointer} = {value}: {found:#?}");
}

/// The fields that are named in a pod with this spec, to which a container `a` is added.
fn fields(spec: Value) -> Vec<String> {
    let found = problems(|pod| {
        let container = pod["spec"]["containers"][0].take();
        pod["spec"] = spec;
        if pod["spec"].get("containers").is_none() {
            pod["spec"]["containers"] = json!([container]);
        }
    });
    found.iter().filter_map(|line| line.split_once(": ")).map(|(path, _)| path.to_owned()).collect()
}

/// The fields below `spec.containers[0].` that are named when the container `a` has these fields.
fn container_fields(container: Value) -> Vec<String> {
    container_fields_in(json!({}), container)
}

/// The same in a pod with this spec.
fn container_fields_in(mut spec: Value, container: Value) -> Vec<String> {
    let mut whole = json!({"name": "a", "image": "b:1"});
    if let (Some(whole), Value::Object(more)) = (whole.as_object_mut(), container) {
        whole.extend(more);
    }
    spec["containers"] = json!([whole]);
    let below = |path: String| path.strip_prefix("spec.containers[0].").map_or(path.clone(), str::to_owned);
    fields(spec).into_iter().map(below).collect()
}

#[test]
fn a_good_pod_has_no_problems() {
    assert_eq!(problems(|_| {}), Vec::<String>::new());
}

#[test]
fn metadata_is_checked() {
    let long_label = "a".repeat(64);
    for name in ["", "Web", "-web", "web-", "a_b", "a..b", &"a".repeat(254), "ü", "a/../b"] {
        check("/metadata/name", json!(name), &["metadata.name"]);
    }
    for name in ["web.v1", "0", &"a".repeat(253)] {
        check("/metadata/name", json!(name), &[]);
    }
    for namespace in ["a.b", "A", "", "../x", long_label.as_str()] {
        check("/metadata/namespace", json!(namespace), &["metadata.namespace"]);
    }
    for uid in ["", "a/b", "..", "a b", &"a".repeat(65)] {
        check("/metadata/uid", json!(uid), &["metadata.uid"]);
    }
    for labels in [
        json!({"": "x"}),
        json!({"a/b/c": "x"}),
        json!({"A.b/": "x"}),
        json!({"a": "b c"}),
        json!({"a": "-"}),
        json!({"a": long_label}),
        json!({"_": "x"}),
    ] {
        check("/metadata/labels", labels, &["metadata.labels"]);
    }
    check("/metadata/labels", json!({"app.kubernetes.io/name": "a_b.C-1", "x": ""}), &[]);
    check("/metadata/annotations", json!({"a b": "anything"}), &["metadata.annotations"]);
    check(
        "/metadata/annotations",
        json!({"a": "x".repeat(ANNOTATIONS_BYTES_MAX)}),
        &["metadata.annotations"],
    );
    check("/metadata/annotations", json!({"a": "x".repeat(ANNOTATIONS_BYTES_MAX - 1)}), &[]);
}

#[test]
fn too_many_labels_are_counted_not_listed() {
    let labels: BTreeMap<_, _> =
        (0..=LABELS_MAX).map(|number| (format!("l{number}"), "not valid!")).collect();
    assert_eq!(
        problems(|pod| pod["metadata"]["labels"] = json!(labels)),
        ["metadata.labels: Too many: 1001: must have at most 1000 items"]
    );
}

#[test]
fn a_pod_larger_than_any_store_takes_is_refused() {
    let found = problems(|pod| pod["spec"]["containers"][0]["args"] = json!(["x".repeat(POD_BYTES_MAX)]));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("metadata: Too long: the pod has 157"), "{found:?}");
}

#[test]
fn the_spec_is_checked() {
    check("/spec/containers", json!([]), &["spec.containers"]);
    check("/spec/restartPolicy", json!("always"), &["spec.restartPolicy"]);
    check("/spec/dnsPolicy", json!("x"), &["spec.dnsPolicy"]);
    check("/spec/terminationGracePeriodSeconds", json!(-1), &["spec.terminationGracePeriodSeconds"]);
    check("/spec/terminationGracePeriodSeconds", json!(0), &[]);
    check("/spec/activeDeadlineSeconds", json!(0), &["spec.activeDeadlineSeconds"]);
    check("/spec/hostname", json!("a.b"), &["spec.hostname"]);
    check("/spec/nodeSelector", json!({"a": "b c"}), &["spec.nodeSelector"]);
    check("/spec/securityContext", json!({"runAsUser": -1}), &["spec.securityContext.runAsUser"]);
    check("/spec/overhead", json!({"cpu": "x"}), &["spec.overhead.cpu"]);
    check("/spec/tolerations", json!([{"operator": "Exists"}, {"key": "a", "value": "b"}]), &[]);
    check(
        "/spec/tolerations",
        json!([{}, {"operator": "Exists", "key": "a", "value": "b"}, {"key": "a", "effect": "x"}, {"key": "a", "tolerationSeconds": 1}]),
        &[
            "spec.tolerations[0].operator",
            "spec.tolerations[1].value",
            "spec.tolerations[2].effect",
            "spec.tolerations[3].effect",
        ],
    );
}

#[test]
fn containers_are_checked() {
    let at = "/spec/containers/0";
    check(&format!("{at}/name"), json!(""), &["spec.containers[0].name"]);
    check(&format!("{at}/name"), json!("A"), &["spec.containers[0].name"]);
    check(&format!("{at}/image"), json!(""), &["spec.containers[0].image"]);
    check(&format!("{at}/image"), json!(" b"), &["spec.containers[0].image"]);
    check(&format!("{at}/imagePullPolicy"), json!("x"), &["spec.containers[0].imagePullPolicy"]);
    check(
        &format!("{at}/terminationMessagePolicy"),
        json!("x"),
        &["spec.containers[0].terminationMessagePolicy"],
    );
    check(
        &format!("{at}/securityContext"),
        json!({"privileged": true, "allowPrivilegeEscalation": false, "runAsGroup": 2_147_483_648_i64}),
        &[
            "spec.containers[0].securityContext.runAsGroup",
            "spec.containers[0].securityContext.allowPrivilegeEscalation",
        ],
    );
    check(
        &format!("{at}/env"),
        json!([
            {"name": "a=b"}, {"name": ""}, {"name": "A.b-c 1", "value": "x"}, {"name": "a", "value": "\u{0}"},
            {"name": "a", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "a", "valueFrom": {}}, {"name": "a", "valueFrom": {"fieldRef": {"fieldPath": ""}}},
        ]),
        &[
            "spec.containers[0].env[0].name",
            "spec.containers[0].env[1].name",
            "spec.containers[0].env[3].value",
            "spec.containers[0].env[4].valueFrom",
            "spec.containers[0].env[5].valueFrom",
            "spec.containers[0].env[6].valueFrom.fieldRef.fieldPath",
        ],
    );
    let twice = json!([{"name": "a", "image": "b"}, {"name": "a", "image": "b"}]);
    check("/spec/containers", twice, &["spec.containers[1].name"]);
}

#[test]
fn fields_for_variables_are_those_that_upstream_offers() {
    for (path, good) in [
        ("metadata.name", true),
        ("status.podIPs", true),
        ("metadata.labels['app.kubernetes.io/name']", true),
        ("metadata.annotations['a']", true),
        ("metadata.labels['a b']", false),
        ("metadata.labels", false),
        ("metadata.labels[a]", false),
        ("spec.containers[0].image", false),
        ("status.phase", false),
    ] {
        let variable = json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]);
        let expected: &[&str] =
            if good { &[] } else { &["spec.containers[0].env[0].valueFrom.fieldRef.fieldPath"] };
        check("/spec/containers/0/env", variable, expected);
    }
}

#[test]
fn ports_are_checked() {
    let at = "/spec/containers/0/ports";
    let port = |number: usize, field: &str| format!("spec.containers[0].ports[{number}].{field}");
    check(at, json!([{"containerPort": 1, "name": "http"}, {"containerPort": 65535, "name": "a-1"}]), &[]);
    check(
        at,
        json!([{"containerPort": 0}, {"containerPort": 65536}]),
        &[&port(0, "containerPort"), &port(1, "containerPort")],
    );
    check(at, json!([{"containerPort": 1, "hostPort": -1}]), &[&port(0, "hostPort")]);
    check(at, json!([{"containerPort": 1, "protocol": "tcp"}]), &[&port(0, "protocol")]);
    check(at, json!([{"containerPort": 1, "hostIP": "localhost"}]), &[&port(0, "hostIP")]);
    for name in ["HTTP", "1", "a--b", "-a", "sixteen-letters-"] {
        check(at, json!([{"containerPort": 1, "name": name}]), &[&port(0, "name")]);
    }
    check(
        at,
        json!([{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
        &[&port(1, "name")],
    );
    check(
        at,
        json!([
            {"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80},
            {"containerPort": 2, "hostPort": 80, "protocol": "UDP"}, {"containerPort": 2, "hostPort": 80, "hostIP": "::1"},
        ]),
        &[&port(1, "hostPort")],
    );
    let found = problems(|pod| {
        pod["spec"]["hostNetwork"] = json!(true);
        pod["spec"]["containers"][0]["ports"] =
            json!([{"containerPort": 1}, {"containerPort": 2, "hostPort": 3}]);
    });
    assert_eq!(
        found,
        [
            "spec.containers[0].ports[1].hostPort: Forbidden: must equal containerPort when hostNetwork is true"
        ]
    );
}

#[test]
fn resources_are_checked() {
    let at = "/spec/containers/0/resources";
    let field = |name: &str| format!("spec.containers[0].resources.{name}");
    check(
        at,
        json!({"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}),
        &[],
    );
    check(at, json!({"requests": {"cpu": "1001m"}, "limits": {"cpu": "1"}}), &[&field("requests.cpu")]);
    check(at, json!({"limits": {"cpu": "-1"}}), &[&field("limits.cpu")]);
    check(at, json!({"requests": {"memory": "64MB"}}), &[&field("requests.memory")]);
    check(at, json!({"requests": {"gpu": "1"}, "limits": {"gpu": "1"}}), &[&field("limits.gpu")]);
    check(at, json!({"requests": {"a.b/gpu": "1"}}), &[&field("requests.a.b/gpu")]);
    check(
        at,
        json!({"requests": {"a.b/gpu": "1"}, "limits": {"a.b/gpu": "2"}}),
        &[&field("requests.a.b/gpu")],
    );
    check(at, json!({"limits": {"a.b/gpu": "1500m"}}), &[&field("limits.a.b/gpu")]);
    check(at, json!({"limits": {"hugepages-2Mi": "4Mi"}}), &[]);
}

#[test]
fn problems_beyond_the_bound_are_counted_and_long_texts_are_cut() {
    let found = problems(|pod| {
        pod["spec"]["containers"] =
            (0..60).map(|_| json!({"name": "X".repeat(1000), "image": "b"})).collect();
    });
    assert_eq!(found.len(), PROBLEMS_MAX + 1);
    assert_eq!(found[PROBLEMS_MAX], "metadata: and 10 more errors");
    assert!(found.iter().all(|line| line.len() < 300), "{}", found[0]);
}

#[test]
fn names_of_the_machine_are_checked() {
    let none: [&str; 0] = [];
    let cases = [
        (json!({"hostname": "a", "subdomain": "b", "setHostnameAsFQDN": true}), vec![]),
        (json!({"subdomain": "a.b"}), vec!["spec.subdomain"]),
        (json!({"hostnameOverride": "a.b"}), vec![]),
        (json!({"hostnameOverride": "a".repeat(64)}), vec![]),
        (json!({"hostnameOverride": "a".repeat(65)}), vec!["spec.hostnameOverride"]),
        (json!({"hostnameOverride": "A"}), vec!["spec.hostnameOverride"]),
        (json!({"hostnameOverride": "a", "setHostnameAsFQDN": true}), vec!["spec.hostnameOverride"]),
        (json!({"hostnameOverride": "a", "hostNetwork": true}), vec!["spec.hostnameOverride"]),
        (json!({"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a.b"]}, {"ip": "::1"}]}), vec![]),
        (
            json!({"hostAliases": [{"ip": "here"}, {"ip": "::1", "hostnames": ["a", "B"]}]}),
            vec!["spec.hostAliases[0].ip", "spec.hostAliases[1].hostnames[1]"],
        ),
        (json!({"runtimeClassName": "gvisor"}), vec![]),
        (json!({"runtimeClassName": "a_b"}), vec!["spec.runtimeClassName"]),
        (json!({"readinessGates": [{"conditionType": "example.com/ready"}]}), vec![]),
        (json!({"readinessGates": [{"conditionType": "a b"}]}), vec!["spec.readinessGates[0].conditionType"]),
    ];
    for (spec, expected) in cases {
        assert_eq!(fields(spec.clone()), expected, "{spec}");
    }
    assert_eq!(fields(json!({})), none);
}

#[test]
fn name_servers_are_checked() {
    let servers = |count: usize| (1..=count).map(|number| format!("192.0.2.{number}")).collect::<Vec<_>>();
    let searches = |count: usize| (1..=count).map(|number| format!("p{number}")).collect::<Vec<_>>();
    let long = "a.".repeat(126) + "a";
    let cases = [
        (json!({"dnsPolicy": "None"}), vec!["nameservers"]),
        (json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": servers(1)}}), vec![]),
        (json!({"dnsConfig": {"nameservers": servers(3)}}), vec![]),
        (json!({"dnsConfig": {"nameservers": servers(4)}}), vec!["nameservers"]),
        (json!({"dnsConfig": {"nameservers": ["x", "::1"]}}), vec!["nameservers[0]"]),
        (json!({"dnsConfig": {"searches": searches(32)}}), vec![]),
        (json!({"dnsConfig": {"searches": searches(33)}}), vec!["searches"]),
        (json!({"dnsConfig": {"searches": vec![long.clone(); 8]}}), vec![]),
        (json!({"dnsConfig": {"searches": vec![long; 9]}}), vec!["searches"]),
        (json!({"dnsConfig": {"searches": ["a.b.", ".", "_sip._tcp.a"]}}), vec![]),
        (
            json!({"dnsConfig": {"searches": ["", "A", "a..b"]}}),
            vec!["searches[0]", "searches[1]", "searches[2]"],
        ),
        (json!({"dnsConfig": {"options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}]}}), vec![]),
        (json!({"dnsConfig": {"options": [{"value": "2"}]}}), vec!["options[0].name"]),
    ];
    for (spec, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(|field| format!("spec.dnsConfig.{field}")).collect();
        assert_eq!(fields(spec.clone()), expected, "{spec}");
    }
}

#[test]
fn what_a_pod_shares_with_its_host_is_checked() {
    let cases = [
        (json!({"shareProcessNamespace": true}), vec![]),
        (json!({"shareProcessNamespace": true, "hostPID": true}), vec!["spec.shareProcessNamespace"]),
        (json!({"hostUsers": false}), vec![]),
        (json!({"hostUsers": true, "hostNetwork": true, "hostPID": true, "hostIPC": true}), vec![]),
        (
            json!({"hostUsers": false, "hostNetwork": true, "hostPID": true, "hostIPC": true}),
            vec!["spec.hostNetwork", "spec.hostPID", "spec.hostIPC"],
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(fields(spec.clone()), expected, "{spec}");
    }
}

#[test]
fn security_contexts_of_pods_are_checked() {
    let of = |context: Value| {
        let found = fields(json!({"securityContext": context}));
        found.into_iter().map(|field| field.replace("spec.securityContext.", "")).collect::<Vec<_>>()
    };
    let cases = [
        (
            json!({"runAsUser": 0, "runAsGroup": 2_147_483_647, "fsGroup": 0, "supplementalGroups": [0, 1]}),
            vec![],
        ),
        (
            json!({"fsGroup": -1, "supplementalGroups": [0, 2_147_483_648_i64]}),
            vec!["fsGroup", "supplementalGroups[1]"],
        ),
        (json!({"supplementalGroupsPolicy": "Strict", "fsGroupChangePolicy": "OnRootMismatch"}), vec![]),
        (
            json!({"supplementalGroupsPolicy": "x", "fsGroupChangePolicy": "y"}),
            vec!["supplementalGroupsPolicy", "fsGroupChangePolicy"],
        ),
        (
            json!({"seccompProfile": {"type": "RuntimeDefault"}, "appArmorProfile": {"type": "Unconfined"}}),
            vec![],
        ),
        (json!({"seccompProfile": {"type": "x"}}), vec!["seccompProfile.type"]),
        (json!({"seccompProfile": {"type": "Localhost"}}), vec!["seccompProfile.localhostProfile"]),
        (json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "a/b"}}), vec![]),
        (
            json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "../b"}}),
            vec!["seccompProfile.localhostProfile"],
        ),
        (
            json!({"seccompProfile": {"type": "Unconfined", "localhostProfile": "a"}}),
            vec!["seccompProfile.localhostProfile"],
        ),
        (json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": "web"}}), vec![]),
        (
            json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": " web"}}),
            vec!["appArmorProfile.localhostProfile"],
        ),
        (
            json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": "a".repeat(4096)}}),
            vec!["appArmorProfile.localhostProfile"],
        ),
    ];
    for (context, expected) in cases {
        assert_eq!(of(context.clone()), expected, "{context}");
    }
}

#[test]
fn kernel_parameters_are_checked() {
    let of = |mut spec: Value, names: &[&str]| {
        let sysctls: Vec<_> = names.iter().map(|name| json!({"name": name, "value": "1"})).collect();
        spec["securityContext"] = json!({"sysctls": sysctls});
        let found = fields(spec);
        found
            .into_iter()
            .map(|field| field.replace("spec.securityContext.sysctls[", "").replace("].name", ""))
            .collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    let good = [
        "net.ipv4.tcp_syncookies",
        "net/ipv4/conf/eno2.100/rp_filter",
        "kernel.shm_rmid_forced",
        "a-b",
        "x1",
    ];
    assert_eq!(of(json!({}), &good), none);
    let long = "a".repeat(254);
    assert_eq!(of(json!({}), &["", "A.b", "a..b", ".a", "a_", &long]), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(of(json!({}), &["a.b", "a.b"]), ["1"]);
    assert_eq!(of(json!({"hostNetwork": true}), &["net.ipv4.x", "net/ipv4/x", "kernel.shmmax"]), ["0", "1"]);
    assert_eq!(of(json!({"hostIPC": true}), &["net.ipv4.x", "kernel.shmmax", "fs.mqueue.x"]), ["1", "2"]);
}

#[test]
fn resources_of_a_pod_as_a_whole_hold_its_containers() {
    let of = |own: Value, container: Value| {
        let containers = json!([
            {"name": "a", "image": "b:1", "resources": container}, {"name": "b", "image": "b:1", "resources": container},
        ]);
        fields(json!({"containers": containers, "resources": own}))
    };
    let none: [&str; 0] = [];
    let half = json!({"requests": {"cpu": "500m", "memory": "64Mi"}});
    assert_eq!(of(json!({"requests": {"cpu": "1", "memory": "128Mi"}}), half.clone()), none);
    let little = json!({"requests": {"cpu": "999m", "memory": "127Mi"}});
    assert_eq!(of(little, half), ["spec.resources.requests.cpu", "spec.resources.requests.memory"]);
    let limits = json!({"limits": {"cpu": "2", "hugepages-2Mi": "4Mi"}});
    let limited = |cpu: &str| json!({"limits": {"cpu": cpu}, "requests": {"cpu": "1"}});
    assert_eq!(of(limits.clone(), limited("2")), none);
    assert_eq!(of(limits, limited("2001m")), ["spec.resources.limits.cpu"]);
    assert_eq!(
        of(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}), json!({})),
        ["spec.resources.requests.cpu"]
    );
    let disk = json!({"requests": {"ephemeral-storage": "1Gi"}});
    assert_eq!(of(disk, json!({})), ["spec.resources.requests.ephemeral-storage"]);
}
