//! Tests that manifests say what the host would say of them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{NodeFacts, PodFacts, RequestFacts, validate};
use crate::{AdmissionHandler, ContainerKind, Error, Operation, QosClass, Request, Setup, Verdict};

fn facts(spec: Value) -> RequestFacts {
    RequestFacts::of(&json!({"spec": spec}))
}

/// A container with these requests and limits.
fn container(name: &str, requests: Value, limits: Value) -> Value {
    json!({"name": name, "resources": {"requests": requests, "limits": limits}})
}

#[test]
fn a_manifest_says_what_the_pod_is() {
    let facts = RequestFacts::of(&json!({
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "u1", "labels": {"b": "2", "a": "1"}, "annotations": {"z": "26"},
            "ownerReferences": [{"kind": "Job", "name": "j"}, {"kind": "ReplicaSet", "name": "web-1", "controller": true}],
        },
        "spec": {
            "hostPID": true, "hostUsers": false, "priority": 7, "priorityClassName": "high", "serviceAccountName": "robot",
            "containers": [{"name": "app"}],
        },
    }));
    let pod = facts.request().pod();
    assert_eq!((pod.namespace(), pod.name(), pod.uid()), ("shop".into(), "web".into(), "u1".into()));
    assert_eq!(pod.labels(), [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())]);
    assert_eq!(
        (pod.label("a").as_deref(), pod.annotation("z").as_deref(), pod.label("z")),
        (Some("1"), Some("26"), None)
    );
    assert_eq!(
        pod.controller().map(|owner| (owner.kind(), owner.name())),
        Some(("ReplicaSet".into(), "web-1".into()))
    );
    assert_eq!(
        [pod.host_network(), pod.host_pid(), pod.host_ipc(), pod.host_users()],
        [false, true, false, false]
    );
    assert_eq!(
        (pod.priority(), pod.priority_class().as_str(), pod.service_account().as_str()),
        (7, "high", "robot")
    );
    assert_eq!(pod.at::<i32>("/spec/priority"), Ok(Some(7)));
    assert_eq!(pod.at::<i32>("/spec/none"), Ok(None));
    assert_eq!(
        pod.at::<bool>("/spec/priority").map_err(|error| error.code().to_owned()),
        Err("UnexpectedType".into())
    );
    let class = json!({"spec": {"runtimeClassName": "kata"}});
    let handler = |pod: PodFacts| {
        let facts = RequestFacts { pod, ..RequestFacts::default() };
        facts.request().pod().runtime_handler()
    };
    assert_eq!(handler(PodFacts::of(&class).with_runtime_handler("kata-qemu")).as_deref(), Some("kata-qemu"));
    assert_eq!((handler(PodFacts::of(&class)), handler(PodFacts::default())), (None, Some(String::new())));
    let nothing = RequestFacts::default();
    let pod = nothing.request().pod();
    assert_eq!(
        (pod.containers().len(), pod.service_account().as_str(), pod.host_users()),
        (0, "default", true)
    );
}

#[test]
fn containers_of_all_kinds_and_image_volumes_have_images() {
    let facts = facts(json!({
        "volumes": [
            {"name": "scratch", "emptyDir": {}}, {"name": "logs", "hostPath": {"path": "/var/log"}},
            {"name": "models", "image": {"reference": "models:1"}},
        ],
        "ephemeralContainers": [{"name": "debug", "image": "busybox"}],
        "containers": [{"name": "app", "image": "quay.io/app:1"}],
        "initContainers": [{"name": "setup", "image": "a"}, {"name": "proxy", "image": "b", "restartPolicy": "Always"}],
    }));
    let pod = facts.request().pod();
    let kinds: Vec<_> = pod.containers().map(|container| container.kind()).collect();
    assert_eq!(
        kinds,
        [ContainerKind::Init, ContainerKind::Sidecar, ContainerKind::App, ContainerKind::Ephemeral]
    );
    let shown: Vec<String> = pod.images().map(|image| image.to_string()).collect();
    let expected = [
        r#"image "docker.io/library/a:latest" (spec.initContainers[0].image)"#,
        r#"image "docker.io/library/b:latest" (spec.initContainers[1].image)"#,
        r#"image "quay.io/app:1" (spec.containers[0].image)"#,
        r#"image "docker.io/library/busybox:latest" (spec.ephemeralContainers[0].image)"#,
        r#"image "docker.io/library/models:1" (spec.volumes[2].image.reference)"#,
    ];
    assert_eq!(shown, expected);
    let names: Vec<String> = pod.containers().map(|container| container.to_string()).collect();
    assert_eq!(
        names,
        [
            r#"init container "setup""#,
            r#"sidecar "proxy""#,
            r#"container "app""#,
            r#"ephemeral container "debug""#
        ]
    );
    let volumes: Vec<_> = pod.volumes().map(|volume| (volume.kind(), volume.host_path())).collect();
    let expected = [("emptyDir", None), ("hostPath", Some("/var/log".to_owned())), ("image", None)];
    assert_eq!(volumes, expected.map(|(kind, path)| (kind.to_owned(), path)));
}

#[test]
fn a_containers_security_context_goes_before_its_pods() {
    let of = |of_pod: Value, own: Value| {
        facts(json!({"securityContext": of_pod, "containers": [{"name": "app", "securityContext": own}]}))
            .request()
            .pod()
            .containers()
            .next()
            .expect("it has one")
    };
    let of_pod = json!({
        "runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"},
        "appArmorProfile": {"type": "RuntimeDefault"},
    });
    let own = json!({
        "runAsNonRoot": false, "runAsUser": 0, "privileged": true, "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true, "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}, "appArmorProfile": {"type": "Localhost"},
    });
    let nothing = of(json!({}), json!({}));
    assert_eq!(
        (nothing.run_as_non_root(), nothing.allow_privilege_escalation(), nothing.privileged()),
        (false, true, false)
    );
    assert_eq!(
        (nothing.run_as_user(), nothing.seccomp_profile(), nothing.apparmor_profile()),
        (None, None, None)
    );
    let pods = of(of_pod.clone(), json!({}));
    assert_eq!((pods.run_as_non_root(), pods.run_as_user()), (true, Some(1000)));
    let default = Some("RuntimeDefault".to_owned());
    assert_eq!((pods.seccomp_profile(), pods.apparmor_profile()), (default.clone(), default));
    let owns = of(of_pod, own);
    assert_eq!((owns.run_as_non_root(), owns.run_as_user(), owns.privileged()), (false, Some(0), true));
    assert_eq!(
        (owns.seccomp_profile().as_deref(), owns.apparmor_profile()),
        (Some("Localhost/a.json"), None)
    );
    assert_eq!(
        (owns.added_capabilities(), owns.dropped_capabilities()),
        (vec!["NET_ADMIN".into()], vec!["ALL".into()])
    );
    assert!(owns.read_only_root_filesystem() && !owns.allow_privilege_escalation());
}

#[test]
fn a_pod_counts_for_what_the_scheduler_says() {
    let cpu = |amount: &str| json!({"cpu": amount});
    let pod = |spec: Value| facts(spec).request().pod();
    let app = container("app", cpu("1"), json!({}));
    let small = container("setup", cpu("500m"), json!({}));
    let large = container("setup", cpu("3"), json!({"memory": "1Gi"}));
    let mut sidecar = container("proxy", cpu("2"), json!({}));
    sidecar["restartPolicy"] = json!("Always");
    for (spec, expected) in [
        (json!({"containers": [app, app]}), 2_000),
        (json!({"containers": [app], "initContainers": [small]}), 1_000),
        (json!({"containers": [app], "initContainers": [large]}), 3_000),
        (json!({"containers": [app], "initContainers": [sidecar, large]}), 5_000),
        (json!({"containers": [app], "initContainers": [large, sidecar]}), 3_000),
        (json!({"containers": [app], "overhead": {"cpu": "250m"}}), 1_250),
        (
            json!({"containers": [app], "resources": {"requests": {"cpu": "7"}}, "overhead": {"cpu": "250m"}}),
            7_250,
        ),
    ] {
        assert_eq!(pod(spec.clone()).request("cpu"), Some(expected), "{spec}");
    }
    let limited = pod(
        json!({"containers": [app], "initContainers": [large], "overhead": {"cpu": "1", "memory": "1Mi"}}),
    );
    assert_eq!((limited.limit("cpu"), limited.limit("memory")), (None, Some((1 << 30) + (1 << 20))));
    assert_eq!(limited.resources(), ["cpu", "memory"]);
}

#[test]
fn a_pods_class_of_service_follows_from_its_containers() {
    let both = json!({"cpu": "1", "memory": "1Gi"});
    let cases = [
        (json!({"containers": [{"name": "app"}]}), QosClass::BestEffort),
        (
            json!({"containers": [container("app", json!({"example.com/gpu": "1"}), json!({}))]}),
            QosClass::BestEffort,
        ),
        (json!({"containers": [container("app", both.clone(), both.clone())]}), QosClass::Guaranteed),
        (json!({"containers": [container("app", json!({"cpu": "1"}), both.clone())]}), QosClass::Burstable),
        (
            json!({"containers": [container("app", both.clone(), both.clone()), {"name": "other"}]}),
            QosClass::Burstable,
        ),
        (
            json!({"resources": {"requests": both, "limits": both}, "containers": [{"name": "app"}]}),
            QosClass::Guaranteed,
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(facts(spec.clone()).request().pod().qos(), expected, "{spec}");
    }
}

#[test]
fn a_node_is_seen_with_the_pods_that_are_on_it() {
    let ports = json!([
        {"containerPort": 53, "hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"},
        {"containerPort": 80, "hostPort": 8080, "hostIP": "0.0.0.0"}, {"containerPort": 81},
    ]);
    let mut on_it = container("c", json!({"cpu": "1"}), json!({}));
    on_it["ports"] = ports;
    let node = json!({
        "metadata": {"name": "n1", "labels": {"disk": "fast"}},
        "spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Up", "message": "it is up"}],
        },
    });
    let facts = RequestFacts {
        node: NodeFacts::of(&node).with_fact("os", "plan9").with_fact("os", "linux").with_used("memory", 7),
        other_pods: vec![PodFacts::of(&json!({"spec": {"containers": [on_it]}}))],
        ..RequestFacts::default()
    };
    let node = facts.request().node();
    assert_eq!(
        (node.name().as_str(), node.label("disk").as_deref(), node.fact("os").as_deref()),
        ("n1", Some("fast"), Some("linux"))
    );
    assert_eq!(
        (node.capacity("cpu"), node.requested("cpu"), node.available("cpu")),
        (Some(4_000), 1_000, Some(2_000))
    );
    assert_eq!((node.requested("pods"), node.requested("none"), node.available("none")), (1, 0, None));
    assert_eq!((node.used("memory"), node.used("cpu")), (Some(7), None));
    assert_eq!(node.resources(), ["cpu", "pods"]);
    let ports: Vec<_> =
        node.used_host_ports().map(|port| (port.address(), port.protocol(), port.number())).collect();
    assert_eq!(ports, [(Some("10.0.0.1".to_owned()), "UDP".to_owned(), 53), (None, "TCP".to_owned(), 8080)]);
    let taints: Vec<_> = node.taints().map(|taint| (taint.key(), taint.value(), taint.effect())).collect();
    assert_eq!(taints, [("dedicated".to_owned(), String::new(), "NoSchedule".to_owned())]);
    let ready = node
        .condition("Ready")
        .map(|condition| (condition.status(), condition.reason(), condition.message()));
    assert_eq!(ready, Some(("True".to_owned(), "Up".to_owned(), "it is up".to_owned())));
    assert_eq!(node.devices(), "[]");
}

/// A handler that subscribes as it is configured.
#[derive(Deserialize)]
struct Subscriber {
    operations: Vec<String>,
}

impl AdmissionHandler for Subscriber {
    fn subscribes(&self) -> Vec<Operation> {
        self.operations.iter().cloned().map(Operation::from).collect()
    }

    fn validate(&self, setup: &Setup<'_>) -> Result<(), Error> {
        if setup.knows(&Operation::Resize) && !setup.knows(&Operation::Other("fly".to_owned())) {
            setup.subscribe(&Operation::Resize);
        }
        Ok(())
    }

    fn admit(&self, _: &Request<'_>) -> Result<Verdict, Error> {
        Ok(Verdict::admit())
    }
}

#[test]
fn a_handler_is_loaded_as_the_host_loads_it() {
    let subscriber = |operations: &[&str]| Subscriber {
        operations: operations.iter().map(|name| (*name).to_owned()).collect(),
    };
    let setup = validate(&subscriber(&["add", "resize"])).expect("the host knows them");
    assert_eq!(setup.subscribed(), [Operation::Add, Operation::Resize]);
    let error = validate(&subscriber(&["fly"])).expect_err("no host flies");
    assert_eq!(error.message(), "subscribes: the host doesn't know fly");
}
