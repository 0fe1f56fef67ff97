//! Resources, host ports and classes of service.

use serde_json::json;

use super::*;

fn pod(spec: serde_json::Value) -> Pod {
    serde_json::from_value(json!({"spec": spec})).expect("a pod")
}

fn show(amounts: &Amounts) -> String {
    amounts.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

fn asks(cpu: &str, memory: &str) -> serde_json::Value {
    json!({"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}})
}

#[test]
fn requests_are_the_greater_of_running_and_starting() {
    let cases = [
        ("nothing", json!({"containers": [{"name": "a"}]}), "", ""),
        (
            "containers add up",
            json!({"containers": [{"name": "a", "resources": asks("100m", "1Ki")}, {"name": "b", "resources": asks("1", "1Mi")}]}),
            "cpu=1100 memory=1049600",
            "cpu=1100 memory=1049600",
        ),
        (
            "an init container may need more than all others",
            json!({
                "initContainers": [{"name": "i", "resources": asks("2", "1Ki")}],
                "containers": [{"name": "a", "resources": asks("1", "2Ki")}],
            }),
            "cpu=2000 memory=2048",
            "cpu=2000 memory=2048",
        ),
        (
            "sidecars run next to later init containers and the app",
            json!({
                "initContainers": [
                    {"name": "i", "resources": asks("3", "0")},
                    {"name": "s", "restartPolicy": "Always", "resources": asks("1", "0")},
                    {"name": "j", "resources": asks("3", "0")},
                ],
                "containers": [{"name": "a", "resources": asks("1", "0")}],
            }),
            "cpu=4000 memory=0",
            "cpu=4000 memory=0",
        ),
        (
            "overhead comes on top, and on limits only where there is one",
            json!({
                "overhead": {"cpu": "250m", "memory": "1Ki"},
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}],
            }),
            "cpu=1250 memory=1024",
            "cpu=2250",
        ),
        (
            "the pod's own word goes before the sum, for what pods may state",
            json!({
                "resources": {"requests": {"cpu": "5", "example.com/gpu": "9"}},
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "example.com/gpu": "1"}}}],
            }),
            "cpu=5000 example.com/gpu=1",
            "",
        ),
    ];
    for (what, spec, expected_requests, expected_limits) in cases {
        let pod = pod(spec);
        assert_eq!(show(&requests(&pod)), expected_requests, "requests: {what}");
        assert_eq!(show(&limits(&pod)), expected_limits, "limits: {what}");
    }
    assert_eq!(show(&requests(&Pod::default())), "");
}

#[test]
fn sums_saturate() {
    let most = json!({"requests": {"memory": "8Ei"}});
    let pod =
        pod(json!({"containers": [{"name": "a", "resources": most}, {"name": "b", "resources": most}]}));
    assert_eq!(requests(&pod)[MEMORY], i64::MAX);
}

#[test]
fn host_ports_are_those_asked_for_or_all_on_the_host_network() {
    let ports = json!([
        {"containerPort": 80},
        {"containerPort": 81, "hostPort": 8081, "hostIP": "127.0.0.1"},
        {"containerPort": 82, "hostPort": 8082, "hostIP": "0.0.0.0", "protocol": "UDP"},
        {"containerPort": 99999, "hostPort": 99999},
    ]);
    let spec = json!({
        "containers": [{"name": "a", "ports": ports}],
        "initContainers": [
            {"name": "i", "ports": [{"containerPort": 1, "hostPort": 1}]},
            {"name": "s", "restartPolicy": "Always", "ports": [{"containerPort": 2, "hostPort": 2, "protocol": "SCTP"}]},
        ],
    });
    let mut own = vec![
        HostPort { ip: Some(IpAddr::from([127, 0, 0, 1])), protocol: Protocol::Tcp, port: 8081 },
        HostPort { ip: None, protocol: Protocol::Udp, port: 8082 },
        HostPort { ip: None, protocol: Protocol::Sctp, port: 2 },
    ];
    assert_eq!(host_ports(&pod(spec.clone())), own);
    let mut on_host = spec;
    on_host["hostNetwork"] = json!(true);
    own.insert(0, HostPort { ip: None, protocol: Protocol::Tcp, port: 80 });
    assert_eq!(host_ports(&pod(on_host)), own);
}

#[test]
fn class_of_service_follows_upstreams_rules() {
    use QosClass::{BestEffort, Burstable, Guaranteed};
    let container = |resources: serde_json::Value| json!({"name": "a", "resources": resources});
    let cases = [
        ("nothing", json!({"containers": [{"name": "a"}]}), BestEffort),
        ("zeros", json!({"containers": [container(asks("0", "0"))]}), BestEffort),
        ("all limited", json!({"containers": [container(asks("1", "1Mi"))]}), Guaranteed),
        (
            "equal though written otherwise",
            json!({"containers": [container(
            json!({"requests": {"cpu": "1", "memory": "1024Ki"}, "limits": {"cpu": "1000m", "memory": "1Mi"}}))]}),
            Guaranteed,
        ),
        (
            "one of two containers limited",
            json!({"containers": [container(asks("1", "1Mi")), {"name": "b"}]}),
            Burstable,
        ),
        (
            "an init container without limits",
            json!({"containers": [container(asks("1", "1Mi"))], "initContainers": [{"name": "i"}]}),
            Burstable,
        ),
        (
            "memory alone",
            json!({"containers": [container(json!({"limits": {"memory": "1Mi"}, "requests": {"memory": "1Mi"}}))]}),
            Burstable,
        ),
        (
            "request below limit",
            json!({"containers": [container(
            json!({"requests": {"cpu": "1", "memory": "1Ki"}, "limits": {"cpu": "1", "memory": "1Mi"}}))]}),
            Burstable,
        ),
        (
            "limits without requests, not defaulted",
            json!({"containers": [container(json!({"limits": {"cpu": "1", "memory": "1Mi"}}))]}),
            Burstable,
        ),
        (
            "other resources don't count",
            json!({"containers": [container(json!({"requests": {"example.com/gpu": "1"}}))]}),
            BestEffort,
        ),
        (
            "the pod as a whole",
            json!({"resources": asks("1", "1Mi"), "containers": [{"name": "a"}]}),
            Guaranteed,
        ),
        (
            "the pod in part",
            json!({"resources": {"requests": {"cpu": "1"}}, "containers": [container(asks("1", "1Mi"))]}),
            Burstable,
        ),
    ];
    for (what, spec, expected) in cases {
        assert_eq!(qos_by_spec(&pod(spec)), expected, "{what}");
    }
    assert_eq!(Burstable.as_str(), "Burstable");
}

#[test]
fn class_of_service_of_several_containers_is_that_of_all() {
    use QosClass::{BestEffort, Burstable, Guaranteed};
    let some = json!({"requests": {"cpu": "1"}});
    let limited = json!({"limits": {"cpu": "1"}});
    let gpu = json!({"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}});
    let with_gpu = json!({
        "requests": {"cpu": "1", "memory": "1Mi", "example.com/gpu": "1"},
        "limits": {"cpu": "1", "memory": "1Mi", "example.com/gpu": "1"},
    });
    let (all, none) = (asks("1", "1Mi"), json!({}));
    let below = json!({"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "2", "memory": "2Mi"}});
    let not_equal =
        json!({"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "2Mi"}});
    let zero_requests =
        json!({"requests": {"cpu": "0", "memory": "0"}, "limits": {"cpu": "1", "memory": "1Mi"}});
    // (app containers, init containers, expected)
    let cases = [
        (vec![&all, &all], vec![], Guaranteed),
        (vec![&all, &with_gpu], vec![], Guaranteed),
        (vec![&all], vec![&all], Guaranteed),
        (vec![&with_gpu], vec![], Guaranteed),
        (vec![&none, &none], vec![], BestEffort),
        (vec![&none], vec![&none], BestEffort),
        (vec![&gpu, &none], vec![], BestEffort),
        (vec![&gpu], vec![&gpu], BestEffort),
        (vec![&all, &none], vec![], Burstable),
        (vec![&all, &some], vec![], Burstable),
        (vec![&all, &gpu], vec![], Burstable),
        (vec![&some, &none], vec![], Burstable),
        (vec![&some, &limited], vec![], Burstable),
        (vec![&below], vec![], Burstable),
        (vec![&not_equal], vec![], Burstable),
        (vec![&zero_requests], vec![], Burstable),
        (vec![&limited], vec![], Burstable),
        (vec![&none], vec![&some], Burstable),
        (vec![&none], vec![&all], Burstable),
        (vec![&all], vec![&below], Burstable),
        (vec![&all], vec![&none], Burstable),
    ];
    for (containers, init, expected) in cases {
        let list = |all: &[&serde_json::Value]| -> Vec<_> {
            all.iter().map(|resources| json!({"name": "a", "resources": resources})).collect()
        };
        let spec = json!({"containers": list(&containers), "initContainers": list(&init)});
        assert_eq!(qos_by_spec(&pod(spec.clone())), expected, "{spec}");
    }
}

#[test]
fn class_of_service_of_a_pod_as_a_whole_goes_before_its_containers() {
    use QosClass::{BestEffort, Burstable, Guaranteed};
    let all = asks("1", "1Mi");
    let cases = [
        (json!({}), Guaranteed),
        (all.clone(), Guaranteed),
        (json!({"requests": {"cpu": "1", "memory": "1Mi"}}), Burstable),
        (json!({"limits": {"cpu": "1", "memory": "1Mi"}}), Burstable),
        (json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}), Burstable),
        (
            json!({"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "2", "memory": "1Mi"}}),
            Burstable,
        ),
        (json!({"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}}), BestEffort),
        (json!({"requests": {"cpu": "0"}}), BestEffort),
    ];
    for (own, expected) in cases {
        let spec = json!({"containers": [{"name": "a", "resources": all}], "resources": own});
        assert_eq!(qos_by_spec(&pod(spec)), expected, "{own}");
    }
}

#[test]
fn class_of_service_of_the_status_goes_before_the_specs() {
    use QosClass::{BestEffort, Burstable, Guaranteed};
    let cases = [
        (json!({}), json!({"qosClass": "Guaranteed"}), Guaranteed),
        (json!({}), json!({"qosClass": "Burstable"}), Burstable),
        (asks("1", "1Mi"), json!({"qosClass": "BestEffort"}), BestEffort),
        (asks("1", "1Mi"), json!({"qosClass": "Burstable"}), Burstable),
        (asks("1", "1Mi"), json!({"qosClass": ""}), Guaranteed),
        (asks("1", "1Mi"), json!({"qosClass": "BestOfAll"}), Guaranteed),
        (asks("1", "1Mi"), json!({"phase": "Pending"}), Guaranteed),
        (json!({}), json!({}), BestEffort),
    ];
    for (resources, status, expected) in cases {
        let what = format!("{resources} {status}");
        let mut pod = pod(json!({"containers": [{"name": "a", "resources": resources}]}));
        let by_spec = qos_by_spec(&pod);
        pod.status = Some(serde_json::from_value(status).unwrap());
        assert_eq!(qos(&pod), expected, "{what}");
        assert_eq!(qos_by_spec(&pod), by_spec, "{what}");
    }
}

#[test]
fn a_sandboxs_own_cost_can_be_left_out() {
    let spec = json!({"containers": [{"name": "a", "resources": asks("1", "1Mi")}], "overhead": {"cpu": "500m", "memory": "1Mi"}});
    let pod = pod(spec);
    let amounts = |cpu: i64, mib: i64| Amounts::from([(CPU.to_owned(), cpu), (MEMORY.to_owned(), mib << 20)]);
    assert_eq!((requests(&pod), limits(&pod)), (amounts(1500, 2), amounts(1500, 2)));
    assert_eq!(
        (requests_without_overhead(&pod), limits_without_overhead(&pod)),
        (amounts(1000, 1), amounts(1000, 1))
    );
}
