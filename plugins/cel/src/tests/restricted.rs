//! The profile `restricted` of the Pod Security Standards as rules, against the same written by hand, on pods that keep most of it, and against
//! Kubernetes' own answers about a corpus that is written for it.

use serde_json::{Value, json};

use super::profile::broken;
use super::{asked, config, said};
use crate::Config;

const RULES: &str = include_str!("../../../../examples/plugins/cel/restricted.yaml");
/// What Kubernetes says of 200 pods; the agent's own check answers them, too (`host/core/src/sources/pod_security/tests.rs`).
const CORPUS: &str = include_str!("../../../../examples/plugins/cel/restricted-pods.yaml");
const PODS: u64 = 400;

fn rules() -> Config {
    let file: Value = serde_saphyr::from_str(RULES).expect("YAML");
    config(file["plugins"][0]["config"].clone())
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % most
    }
}

fn container(name: &str) -> Value {
    json!({"name": name, "image": "nginx:1", "ports": [{"containerPort": 80}], "securityContext": {
        "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}})
}

fn set(value: &mut Value, path: &str, new: Value) {
    let mut at = value;
    for part in path.split('/').skip(1) {
        at = match part.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[part],
        };
    }
    *at = new;
}

/// What makes a pod worse, better, or other.
const CHANGES: &[(&str, &str)] = &[
    ("/spec/hostNetwork", "true"),
    ("/spec/hostPID", "true"),
    ("/spec/hostIPC", "false"),
    ("/spec/hostUsers", "false"),
    ("/spec/hostUsers", "true"),
    ("/spec/os", r#"{"name": "windows"}"#),
    ("/spec/os", r#"{"name": "linux"}"#),
    ("/spec/securityContext/windowsOptions", r#"{"hostProcess": true}"#),
    ("/spec/securityContext/runAsNonRoot", "false"),
    ("/spec/securityContext/runAsUser", "0"),
    ("/spec/securityContext/runAsUser", "1000"),
    ("/spec/securityContext/seccompProfile", r#"{"type": "Unconfined"}"#),
    ("/spec/securityContext/seccompProfile", r#"{"type": "Localhost", "localhostProfile": "a"}"#),
    ("/spec/securityContext/sysctls", r#"[{"name": "kernel.msgmax", "value": "1"}]"#),
    ("/spec/securityContext/sysctls", r#"[{"name": "net.ipv4.tcp_rmem", "value": "1"}]"#),
    ("/spec/securityContext/seLinuxOptions", r#"{"type": "container_t"}"#),
    ("/spec/securityContext/seLinuxOptions", r#"{"user": "root"}"#),
    ("/spec/securityContext/appArmorProfile", r#"{"type": "Unconfined"}"#),
    ("/spec/volumes", r#"[{"name": "a", "emptyDir": {}}, {"name": "b", "image": {"reference": "x"}}]"#),
    ("/spec/volumes", r#"[{"name": "a", "hostPath": {"path": "/"}}]"#),
    ("/spec/volumes", r#"[{"name": "a", "nfs": {"server": "s", "path": "/"}}]"#),
    ("/metadata/annotations", r#"{"container.apparmor.security.beta.kubernetes.io/app": "unconfined"}"#),
    (
        "/metadata/annotations",
        r#"{"container.apparmor.security.beta.kubernetes.io/app": "localhost/x", "a": "b"}"#,
    ),
    ("/spec/containers/0/securityContext/privileged", "true"),
    ("/spec/containers/0/securityContext/privileged", "false"),
    ("/spec/containers/0/securityContext/runAsNonRoot", "true"),
    ("/spec/containers/0/securityContext/runAsNonRoot", "false"),
    ("/spec/containers/0/securityContext/seccompProfile", r#"{"type": "RuntimeDefault"}"#),
    ("/spec/containers/0/securityContext/allowPrivilegeEscalation", "true"),
    ("/spec/containers/0/securityContext/capabilities", r#"{"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}"#),
    ("/spec/containers/0/securityContext/capabilities", r#"{"add": ["CHOWN"], "drop": ["ALL"]}"#),
    ("/spec/containers/0/securityContext/procMount", "\"Unmasked\""),
    ("/spec/containers/0/securityContext/procMount", "\"Default\""),
    ("/spec/containers/0/securityContext", "{}"),
    ("/spec/containers/0/ports", r#"[{"containerPort": 80, "hostPort": 80}]"#),
    ("/spec/containers/0/livenessProbe", r#"{"httpGet": {"port": 80, "host": "10.0.0.1"}}"#),
    ("/spec/containers/0/readinessProbe", r#"{"httpGet": {"port": 80}}"#),
    ("/spec/containers/0/lifecycle", r#"{"preStop": {"tcpSocket": {"port": 80, "host": "x"}}}"#),
    ("/spec/containers/0/lifecycle", r#"{"postStart": {"exec": {"command": ["a"]}}}"#),
];

fn keeping_pod() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"containers": [container("app")], "securityContext": {
            "runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}}},
    })
}

fn pods() -> impl Iterator<Item = Value> {
    (0..PODS).map(|seed| {
        let mut numbers = Numbers(seed);
        let mut pod = keeping_pod();
        for list in ["initContainers", "ephemeralContainers"] {
            if numbers.below(3) == 0 {
                pod["spec"][list] = json!([container(list)]);
            }
        }
        for _ in 0..numbers.below(3) {
            let (path, value) = CHANGES[numbers.below(CHANGES.len())];
            let list = ["containers", "initContainers", "ephemeralContainers"][numbers.below(3)];
            let list = if pod["spec"][list].is_array() { list } else { "containers" };
            set(&mut pod, &path.replace("containers", list), serde_json::from_str(value).expect("JSON"));
        }
        pod
    })
}

#[test]
fn rules_judge_pods_as_the_profile_does() {
    let rules = rules();
    let mut counts = std::collections::BTreeMap::new();
    for pod in pods() {
        let expected = broken(&pod);
        let found = said(&asked(&pod), &rules);
        let reason = found.split(':').next().filter(|_| found != "admit");
        assert_eq!(reason, expected, "{found}\n{pod:#}");
        *counts.entry(expected.unwrap_or("admit")).or_insert(0) += 1;
    }
    // A comparison of nothing but good pods, or without one of the rules, would show nothing.
    assert_eq!(counts.len(), 16, "{counts:?}");
    assert!(counts.get("admit").is_some_and(|count| *count > 50), "{counts:?}");
}

#[test]
fn rules_judge_the_corpus_as_kubernetes_does() {
    let corpus: Vec<Value> = serde_saphyr::from_str(CORPUS).expect("YAML");
    assert_eq!(corpus.len(), 200);
    let rules = rules();
    for case in &corpus {
        let mut pod = keeping_pod();
        for list in case["more"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            pod["spec"][list] = json!([container("other")]);
        }
        for change in case["set"].as_array().into_iter().flatten() {
            let path = change[0].as_str().unwrap_or_default();
            set(&mut pod, path, change[1].clone());
            // A node's pods have no null.
            let (parent, field) = path.rsplit_once('/').expect("a pointer");
            if change[1].is_null()
                && let Some(parent) = pod.pointer_mut(parent).and_then(Value::as_object_mut)
            {
                parent.remove(field);
            }
        }
        let found = said(&asked(&pod), &rules);
        assert_eq!(found == "admit", case["allowed"] == true, "{found}: {case}");
        assert_eq!(broken(&pod).is_none(), case["allowed"] == true, "by hand: {case}");
    }
}

#[test]
fn exempt_namespaces_are_not_judged() {
    let pod = json!({"metadata": {"name": "a", "namespace": "kube-system"}, "spec": {"hostNetwork": true, "containers": []}});
    assert_eq!(said(&asked(&pod), &rules()), "admit");
}

#[test]
fn what_the_pod_says_counts_also_where_its_containers_say_otherwise() {
    for (of_pod, expected) in [
        (json!({"runAsNonRoot": false}), "RunAsNonRoot"),
        (json!({"seccompProfile": {"type": "Unconfined"}}), "SeccompProfile"),
        (json!({}), "admit"),
    ] {
        let mut it = container("app");
        set(&mut it, "/securityContext/runAsNonRoot", json!(true));
        set(&mut it, "/securityContext/seccompProfile", json!({"type": "RuntimeDefault"}));
        let pod = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [it], "securityContext": of_pod}});
        assert_eq!(broken(&pod).unwrap_or("admit"), expected);
        assert_eq!(said(&asked(&pod), &rules()).split(':').next(), Some(expected));
    }
}

#[test]
fn pods_of_a_user_namespace_may_run_as_root_and_nothing_more() {
    let root = json!({"runAsNonRoot": false, "runAsUser": 0});
    for (host_users, of_pod, of_container, expected) in [
        (json!(false), root.clone(), json!({}), "admit"),
        (json!(false), json!({}), root.clone(), "admit"),
        // Neither the pod nor its container says anything.
        (json!(false), json!({}), json!({}), "admit"),
        (json!(false), json!({}), json!({"runAsUser": 0}), "admit"),
        (json!(true), root.clone(), json!({}), "RunAsNonRoot"),
        (json!(null), root.clone(), json!({}), "RunAsNonRoot"),
        (json!(true), json!({}), json!({"runAsNonRoot": true, "runAsUser": 0}), "RunAsUser"),
        (json!(null), json!({}), json!({}), "RunAsNonRoot"),
        (json!(false), root.clone(), json!({"procMount": "Unmasked"}), "ProcMount"),
        (json!(false), root.clone(), json!({"privileged": true}), "Privileged"),
        (json!(false), root.clone(), json!({"allowPrivilegeEscalation": true}), "PrivilegeEscalation"),
        (
            json!(false),
            root.clone(),
            json!({"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}}),
            "Capabilities",
        ),
        (json!(false), root, json!({"seccompProfile": {"type": "Unconfined"}}), "SeccompProfile"),
    ] {
        let mut it = container("app");
        set(&mut it, "/securityContext/seccompProfile", json!({"type": "RuntimeDefault"}));
        for (field, value) in of_container.as_object().into_iter().flatten() {
            it["securityContext"][field] = value.clone();
        }
        let mut pod = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [it], "securityContext": of_pod}});
        if !host_users.is_null() {
            pod["spec"]["hostUsers"] = host_users;
        }
        assert_eq!(broken(&pod).unwrap_or("admit"), expected, "{pod:#}");
        assert_eq!(said(&asked(&pod), &rules()).split(':').next(), Some(expected), "{pod:#}");
    }
}
