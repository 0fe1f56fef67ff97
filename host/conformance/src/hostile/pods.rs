//! Pods that mean harm, as far as a host hands them on: every field that may be missing is missing somewhere, and every text
//! and number is as odd as its type allows.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Map, Value, json};

use super::texts;
use crate::properties::pods::pod;

/// Bytes of the annotations of a pod that is as large as the API server takes (256 KiB), four times.
const ANNOTATIONS_BYTES: usize = 1 << 20;
/// How many labels a pod has that has too many.
const LABELS: usize = 10_000;
/// How many containers a pod has that has too many.
const CONTAINERS: usize = 500;

/// One of them.
pub(crate) struct HostilePod {
    /// What is wrong with it, for people.
    pub(crate) name: &'static str,
    /// The pod.
    pub(crate) pod: Pod,
}

/// All of them.
pub(crate) fn pods() -> Vec<HostilePod> {
    let mut pods = vec![
        HostilePod { name: "a pod with nothing at all", pod: Pod::default() },
        HostilePod { name: "a pod without labels", pod: plain(|_| {}) },
        HostilePod { name: "a pod without a spec", pod: plain(|pod| remove(pod, "/spec")) },
        HostilePod {
            name: "a pod without containers",
            pod: plain(|pod| set(pod, "/spec/containers", json!([]))),
        },
        HostilePod {
            name: "a pod without a namespace",
            pod: plain(|pod| remove(pod, "/metadata/namespace")),
        },
        HostilePod { name: "a pod without a name", pod: plain(|pod| remove(pod, "/metadata/name")) },
        HostilePod { name: "a pod without a UID", pod: plain(|pod| remove(pod, "/metadata/uid")) },
        HostilePod {
            name: "containers without images",
            pod: plain(|pod| remove(pod, "/spec/containers/0/image")),
        },
        HostilePod { name: "empty texts everywhere", pod: empty_texts() },
        HostilePod { name: "init containers and no others", pod: plain(init_only) },
        HostilePod { name: "ephemeral containers", pod: plain(ephemeral) },
    ];
    pods.extend([
        HostilePod { name: "1 MiB of annotations", pod: annotated(&"x".repeat(ANNOTATIONS_BYTES)) },
        HostilePod { name: "10,000 labels", pod: many_labels() },
        HostilePod { name: "500 containers", pod: many_containers() },
        HostilePod { name: "an annotation of deeply nested JSON", pod: annotated(&texts::deep_json()) },
        HostilePod { name: "words of an unknown release", pod: plain(unknown_words) },
    ]);
    pods.extend(texts::ODD.iter().map(|(name, text)| HostilePod { name, pod: told(text) }));
    pods.extend(NUMBERS.iter().map(|(name, number)| HostilePod { name, pod: numbered(*number) }));
    pods.extend(QUANTITIES.iter().map(|(name, text)| HostilePod { name, pod: asks_for(text) }));
    pods
}

/// For ports and other numbers of 32 bits.
const NUMBERS: [(&str, i32); 5] = [
    ("numbers that are 0", 0),
    ("numbers that are -1", -1),
    ("numbers of 17 bits", 65_536),
    ("numbers that are as large as can be", i32::MAX),
    ("numbers that are as small as can be", i32::MIN),
];

const QUANTITIES: [(&str, &str); 8] = [
    ("quantities that are negative", "-1"),
    ("quantities beyond 64 bits", "99999999999999999999"),
    ("quantities with the largest suffix", "9223372036854775807Ei"),
    ("quantities of an exponent", "1e30"),
    ("quantities that are tiny", "1n"),
    ("quantities that are empty", ""),
    ("quantities that are none", "a lot"),
    ("quantities that are zero", "0"),
];

/// An ordinary pod with something changed.
pub(crate) fn plain(change: impl FnOnce(&mut Value)) -> Pod {
    let mut json = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "odd", "namespace": "default", "uid": "odd-uid"},
        "spec": {"containers": [{"name": "app", "image": "registry.example.com/app:1"}]},
    });
    change(&mut json);
    pod(&json)
}

fn set(json: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = json.pointer_mut(pointer) {
        *place = value;
    }
}

fn remove(json: &mut Value, pointer: &str) {
    let Some((holder, name)) = pointer.rsplit_once('/') else { return };
    if let Some(Value::Object(fields)) = json.pointer_mut(holder) {
        fields.remove(name);
    }
}

fn empty_texts() -> Pod {
    plain(|pod| {
        *pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "", "namespace": "", "uid": "", "labels": {"": ""}, "annotations": {"": ""}},
            "spec": {
                "nodeName": "",
                "priorityClassName": "",
                "containers": [{"name": "", "image": "", "command": [""], "ports": [{"name": "", "containerPort": 1, "protocol": ""}]}],
                "nodeSelector": {"": ""},
                "tolerations": [{"key": "", "operator": "", "effect": ""}],
            },
        });
    })
}

fn init_only(pod: &mut Value) {
    let container = pod["spec"]["containers"][0].clone();
    pod["spec"] = json!({"containers": [], "initContainers": [container]});
}

fn ephemeral(pod: &mut Value) {
    pod["spec"]["ephemeralContainers"] = json!([{"name": "debug", "targetContainerName": "nobody"}]);
}

/// Where an API has a set of words that grows.
fn unknown_words(pod: &mut Value) {
    pod["spec"]["restartPolicy"] = "Sometimes".into();
    pod["spec"]["dnsPolicy"] = "Elsewhere".into();
    pod["spec"]["containers"][0]["imagePullPolicy"] = "Perhaps".into();
    pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80, "protocol": "QUIC"}]);
    pod["spec"]["tolerations"] = json!([{"key": "k", "operator": "Like", "effect": "NoFun"}]);
    pod["status"] = json!({"phase": "Undecided", "qosClass": "Excellent"});
}

fn annotated(text: &str) -> Pod {
    plain(|pod| pod["metadata"]["annotations"] = json!({ "example.com/text": text }))
}

fn many_labels() -> Pod {
    let labels: Map<String, Value> =
        (0..LABELS).map(|number| (format!("label-{number}"), format!("value-{number}").into())).collect();
    plain(|pod| pod["metadata"]["labels"] = labels.into())
}

fn many_containers() -> Pod {
    let containers: Vec<Value> = (0..CONTAINERS)
        .map(|number| json!({"name": format!("app-{number}"), "image": format!("registry.example.com/app:{number}")}))
        .collect();
    plain(|pod| pod["spec"]["containers"] = containers.into())
}

/// With this text wherever a pod has one that is free.
fn told(text: &str) -> Pod {
    plain(|pod| {
        pod["metadata"]["labels"] = json!({"app": text, text: "value"});
        pod["metadata"]["annotations"] = json!({"note": text, text: "value"});
        pod["metadata"]["name"] = text.into();
        pod["spec"]["containers"][0]["image"] = text.into();
        pod["spec"]["containers"][0]["name"] = text.into();
        pod["spec"]["containers"][0]["env"] = json!([{"name": "TEXT", "value": text}]);
    })
}

fn numbered(number: i32) -> Pod {
    plain(|pod| {
        pod["spec"]["priority"] = number.into();
        pod["spec"]["terminationGracePeriodSeconds"] = number.into();
        pod["spec"]["activeDeadlineSeconds"] = number.into();
        pod["spec"]["containers"][0]["ports"] = json!([{"containerPort": number, "hostPort": number}]);
        pod["spec"]["containers"][0]["securityContext"] = json!({"runAsUser": number});
    })
}

fn asks_for(quantity: &str) -> Pod {
    plain(|pod| {
        pod["spec"]["containers"][0]["resources"] = json!({
            "requests": {"cpu": quantity, "memory": quantity, "example.com/device": quantity},
            "limits": {"cpu": quantity, "memory": quantity},
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hostile_pod_is_another_one_and_named() {
        let pods = pods();
        let shown: std::collections::BTreeSet<String> =
            pods.iter().map(|one| serde_json::to_string(&one.pod).expect("pods are JSON")).collect();
        assert_eq!(shown.len(), pods.len());
        let names: std::collections::BTreeSet<&str> = pods.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), pods.len());
    }

    #[test]
    fn what_is_hostile_reaches_the_pod() {
        let numbers = numbered(i32::MIN).spec.expect("a spec");
        assert_eq!(numbers.containers[0].ports.as_ref().expect("ports")[0].container_port, i32::MIN);
        let quantities = asks_for("a lot").spec.expect("a spec");
        let requests = quantities.containers[0].resources.as_ref().and_then(|all| all.requests.clone());
        assert_eq!(requests.expect("requests")["cpu"].0, "a lot");
        assert_eq!(many_labels().metadata.labels.map(|labels| labels.len()), Some(LABELS));
        assert!(
            pods().iter().all(|one| one.name == "a pod with nothing at all" || one.pod != Pod::default())
        );
    }
}
