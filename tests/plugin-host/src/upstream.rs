//! The shipped admission handlers as components, on real pods: upstream's reasons, in upstream's words and order.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::admission::{AdmissionRequest, AdmittedPod, Decision, Operation};
use witlet_core::node::NodeFacts;
use witlet_core::pod::SourceName;
use witlet_test_guests::{SHIPPED_V0_2, component_of};
use witlet_wasm::plugin::Builtin;

use crate::node::{Node, builtin, cache, now};

crate::claims!(
    every_handler_refuses_in_upstreams_words,
    every_handler_refuses_in_the_same_words_on_contract_0_2,
    the_first_refusal_in_upstreams_order_is_reported,
    a_critical_pod_gets_capacity_or_the_reason_why_not,
    a_resize_is_asked_of_all_handlers,
);

/// All that are always on.
async fn node() -> Node {
    let builtins: Vec<Builtin> =
        witlet_plugins::ADMISSION.iter().map(|shipped| builtin(shipped.name, shipped.component)).collect();
    Node::start("", &builtins, crate::node::compiler(cache())).await.expect("the host starts")
}

/// The same handlers, compiled for contract 0.2.
async fn node_on_0_2() -> Node {
    let handler = |name: &'static str| builtin(name, component_of(SHIPPED_V0_2, name));
    let builtins: Vec<Builtin> =
        witlet_plugins::ADMISSION.iter().map(|shipped| handler(shipped.name)).collect();
    Node::start("", &builtins, crate::node::compiler(cache())).await.expect("the host starts")
}

/// What is said of a node that has capacity.
fn node_object() -> Value {
    json!({
        "metadata": {"name": "machine1", "labels": {"kubernetes.io/os": "linux", "zone": "a"}},
        "spec": {"taints": [{"key": "soft", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"},
            "nodeInfo": {
                "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
                "kubeletVersion": "", "machineID": "", "operatingSystem": "linux", "osImage": "", "systemUUID": "",
            },
        },
    })
}

fn facts(object: Value) -> NodeFacts {
    let facts = [("os", "linux"), ("kernel.version", "6.1.0"), ("feature-gates.PodLevelResources", "false")];
    NodeFacts {
        name: "machine1".to_owned(),
        node: serde_json::from_value(object).expect("a node"),
        facts: facts.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        ..NodeFacts::default()
    }
}

/// A pod of the API server with these fields in its spec.
fn pod(name: &str, spec: Value) -> Pod {
    let mut object = json!({
        "metadata": {"name": name, "namespace": "default", "uid": format!("uid-of-{name}")},
        "spec": {"containers": [{"name": "main", "image": "app:1"}]},
        "status": {"phase": "Pending"},
    });
    if let (Some(own), Value::Object(more)) = (object["spec"].as_object_mut(), spec) {
        own.extend(more);
    }
    serde_json::from_value(object).expect("a pod")
}

fn asks(cpu: &str) -> Value {
    json!({"containers": [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu}}}]})
}

fn request(pod: Pod, node: NodeFacts, others: Vec<Pod>) -> AdmissionRequest {
    let admitted = |pod| AdmittedPod { pod: Arc::new(pod), source: SourceName::from("api") };
    AdmissionRequest {
        operation: Operation::Add,
        now: now(),
        pod: Arc::new(pod),
        old_pod: None,
        image: None,
        source: SourceName::from("api"),
        node: Arc::new(node),
        other_pods: others.into_iter().map(admitted).collect(),
    }
}

async fn ask(node: &Node, request: AdmissionRequest) -> Decision {
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.admission().admit(request))
        .await
        .expect("admission answers in time")
}

/// Reason and message, or what else was decided.
fn reported(decision: Decision) -> String {
    match decision {
        Decision::Reject { reason, message, .. } => format!("{reason}: {message}"),
        Decision::Preempt { victims, .. } => {
            format!("ends {}", victims.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        }
        other @ (Decision::Admit | Decision::Defer { .. }) => format!("{other:?}"),
    }
}

/// Pods that one handler refuses, in the handlers' order.
fn refused() -> Vec<(Pod, &'static str)> {
    let mut labelled = pod("labelled", json!({}));
    labelled.metadata.labels = Some([("kubernetes.io/os".to_owned(), "windows".to_owned())].into());
    vec![
        (
            pod("sysctl", json!({"securityContext": {"sysctls": [{"name": "kernel.sem", "value": "1"}]}})),
            "SysctlForbidden: forbidden sysctl: \"kernel.sem\" not allowlisted",
        ),
        (
            pod(
                "safe-on-host",
                json!({"hostNetwork": true, "securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}}),
            ),
            "SysctlForbidden: forbidden sysctl: \"net.ipv4.tcp_rmem\" not allowed with host net enabled",
        ),
        (
            labelled,
            "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        ),
        (
            pod("os", json!({"os": {"name": "windows"}})),
            "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
        ),
        (
            pod("groups", json!({"securityContext": {"supplementalGroupsPolicy": "Strict"}})),
            "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node",
        ),
        (
            pod("cpu", asks("5")),
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 5000, used: 1000, capacity: 4000",
        ),
        (
            pod("affinity", json!({"nodeSelector": {"zone": "b"}})),
            "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (
            pod("name", json!({"nodeName": "machine2"})),
            "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name",
        ),
        (
            pod(
                "port",
                json!({"containers": [{"name": "main", "image": "app:1", "ports": [{"containerPort": 1, "hostPort": 80}]}]}),
            ),
            "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        ),
        (
            pod("taint", json!({"tolerations": [{"key": "other", "operator": "Exists"}]})),
            "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
        ),
        (
            pod("apparmor", json!({"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}})),
            "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host",
        ),
        (
            pod("pod-level", json!({"resources": {"requests": {"cpu": "1"}}})),
            "PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled",
        ),
        (
            pod(
                "feature",
                json!({"containers": [{"name": "main", "image": "app:1", "restartPolicy": "Never", "restartPolicyRules": [
                    {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}},
                ]}]}),
            ),
            "PodFeatureUnsupported: Pod requires node features that are not available: RestartAllContainersOnContainerExits",
        ),
    ]
}

/// One pod is there: a CPU, and port 80.
fn other() -> Pod {
    pod(
        "other",
        json!({"containers": [{
            "name": "main", "image": "app:1", "ports": [{"containerPort": 80, "hostPort": 80}],
            "resources": {"requests": {"cpu": "1"}},
        }]}),
    )
}

/// The node, with a `NoExecute` taint for pods that don't tolerate `gone`.
fn tainted() -> NodeFacts {
    let mut object = node_object();
    object["spec"]["taints"] = json!([{"key": "gone", "effect": "NoExecute"}]);
    facts(object)
}

async fn every_handler_refuses_in_upstreams_words() {
    refuses_in_upstreams_words(node().await).await;
}

async fn every_handler_refuses_in_the_same_words_on_contract_0_2() {
    refuses_in_upstreams_words(node_on_0_2().await).await;
}

async fn refuses_in_upstreams_words(node: Node) {
    for (pod, expected) in refused() {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let facts = if name == "taint" { tainted() } else { facts(node_object()) };
        assert_eq!(reported(ask(&node, request(pod, facts, vec![other()])).await), expected, "{name}");
    }
    let plain = ask(&node, request(pod("plain", asks("3")), facts(node_object()), vec![other()])).await;
    assert_eq!(plain, Decision::Admit);
    let mut able = node_object();
    able["status"]["features"] = json!({"supplementalGroupsPolicy": true});
    able["status"]["declaredFeatures"] = json!(["RestartAllContainersOnContainerExits"]);
    let mut able = facts(able);
    able.facts.extend(
        [("apparmor.enabled", "true"), ("feature-gates.PodLevelResources", "true")]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    for (pod, _) in refused() {
        let name = pod.metadata.name.clone().unwrap_or_default();
        if ["groups", "apparmor", "pod-level", "feature", "taint"].contains(&name.as_str()) {
            let decision = ask(&node, request(pod, able.clone(), vec![other()])).await;
            assert_eq!(decision, Decision::Admit, "{name} on a node that can");
        }
    }
    for status in node.host.list() {
        assert_eq!(status.errors(), 0, "{status:#?}");
    }
}

async fn the_first_refusal_in_upstreams_order_is_reported() {
    let node = node().await;
    // A pod with all faults is refused for the first; without that one, for the second; and so on.
    let faults = [
        ("/spec/securityContext/sysctls", "SysctlForbidden"),
        ("/metadata/labels", "PodOSSelectorNodeLabelDoesNotMatch"),
        ("/spec/os", "PodOSNotSupported"),
        ("/spec/securityContext/supplementalGroupsPolicy", "SupplementalGroupsPolicyNotSupported"),
        ("/spec/containers/0/resources", "OutOfcpu"),
        ("/spec/nodeSelector", "NodeAffinity"),
        ("/spec/nodeName", "NodeName"),
        ("/spec/containers/0/ports", "NodePorts"),
        ("/metadata/annotations", "TaintToleration"),
        ("/spec/securityContext/appArmorProfile", "AppArmor"),
        ("/spec/resources", "PodLevelResourcesNotSupported"),
        ("/spec/containers/0/restartPolicyRules", "PodFeatureUnsupported"),
    ];
    let mut object = json!({
        "metadata": {"name": "faulty", "namespace": "default", "uid": "u", "labels": {"kubernetes.io/os": "windows"}},
        "spec": {
            "containers": [{
                "name": "main", "image": "app:1", "ports": [{"containerPort": 1, "hostPort": 80}], "restartPolicy": "Never",
                "resources": {"requests": {"cpu": "5"}},
                "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}],
            }],
            "nodeName": "machine2",
            "nodeSelector": {"zone": "b"},
            "os": {"name": "windows"},
            "resources": {"requests": {"cpu": "5"}},
            "securityContext": {
                "appArmorProfile": {"type": "RuntimeDefault"},
                "supplementalGroupsPolicy": "Strict",
                "sysctls": [{"name": "kernel.sem", "value": "1"}],
            },
        },
        "status": {"phase": "Pending"},
    });
    for (place, expected) in faults {
        let faulty: Pod = serde_json::from_value(object.clone()).expect("a pod");
        let found = reported(ask(&node, request(faulty, tainted(), vec![other()])).await);
        assert_eq!(found.split(':').next(), Some(expected), "{found}");
        match place {
            // The pod as a whole states its requests too; it goes on doing so with less.
            "/spec/containers/0/resources" => object["spec"]["resources"]["requests"]["cpu"] = json!("1"),
            "/metadata/annotations" => object["spec"]["tolerations"] = json!([{"operator": "Exists"}]),
            _ => {}
        }
        let (parent, key) = place.rsplit_once('/').expect("a path");
        if let Some(Value::Object(parent)) = object.pointer_mut(parent) {
            parent.remove(key);
        }
    }
    let clean: Pod = serde_json::from_value(object).expect("a pod");
    assert_eq!(ask(&node, request(clean, tainted(), vec![other()])).await, Decision::Admit);
}

async fn a_critical_pod_gets_capacity_or_the_reason_why_not() {
    let node = node().await;
    let critical = |mut spec: Value| {
        spec["priority"] = json!(2_000_000_000);
        pod("critical", spec)
    };
    let on = |pod: Pod| request(pod, facts(node_object()), vec![other()]);
    assert_eq!(reported(ask(&node, on(critical(asks("4")))).await), "ends uid-of-other");
    assert_eq!(
        reported(ask(&node, on(critical(asks("5")))).await),
        "UnexpectedAdmissionError: Unexpected error while attempting to recover from admission failure: preemption: error \
         finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]"
    );
    let mut elsewhere = asks("4");
    elsewhere["nodeSelector"] = json!({"zone": "b"});
    let found = reported(ask(&node, on(critical(elsewhere))).await);
    assert!(found.starts_with("NodeAffinity: "), "no one ends for a pod that can't run here: {found}");
}

async fn a_resize_is_asked_of_all_handlers() {
    let node = node().await;
    let resize = |pod: Pod| {
        let asked = request(pod, facts(node_object()), vec![other()]);
        AdmissionRequest { operation: Operation::Resize, ..asked }
    };
    for (pod, expected) in [
        (pod("fits", asks("3")), "Admit"),
        (
            pod("later", asks("4")),
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 4000, used: 1000, capacity: 4000",
        ),
        (
            pod("never", asks("5")),
            "Infeasible: Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
        ),
    ] {
        assert_eq!(reported(ask(&node, resize(pod)).await), expected);
    }
    let before: Vec<u64> = node.host.list().iter().map(|status| status.calls()).collect();
    assert_eq!(before.len(), witlet_plugins::ADMISSION.len());
    assert!(before.iter().all(|calls| *calls >= 1), "{before:?}");
}
