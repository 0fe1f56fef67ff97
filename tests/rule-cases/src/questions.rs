//! Pods, nodes and what is asked about them.

use serde_json::{Value, json};

use crate::Choices;
use crate::rules::OPERATIONS;

const NAMES: &[&str] = &["web", "app", "db", "sidecar", "a", "x-1"];
const IMAGES: &[&str] = &[
    "nginx",
    "nginx:1",
    "registry.example.com/shop/web:1.2@sha256:0123456789012345678901234567890123456789012345678901234567890123",
    "localhost:5000/a/b:latest",
];
const AMOUNTS: &[&str] = &["0", "1", "250m", "64Mi", "1.5Gi", "2e3"];
const NAMESPACES: &[&str] = &["default", "shop", "ci"];

/// The most a label of a pod has, in bytes: with it a pod is larger than the JSON that rules may decode.
const LARGE_BYTES: usize = 600 << 10;

/// One pod of so many is that large.
const LARGE_ONCE_IN: usize = 100;

/// A question about a pod.
#[derive(Clone, Debug)]
pub struct PodQuestion {
    /// The operation by the contract's word for it.
    pub operation: &'static str,
    /// The time of the question, in seconds since 1970.
    pub now: i64,
    /// A manifest that Kubernetes' types take.
    pub pod: Value,
    /// The pod before, of those operations that have one.
    pub old_pod: Option<Value>,
    /// The image that a container is to be started from, where it is asked about one.
    pub image: Option<Image>,
    pub node: Value,
    pub other_pods: Vec<Value>,
}

/// An image that is on the node.
#[derive(Clone, Debug)]
pub struct Image {
    /// Of the container that is to start.
    pub container: String,
    pub id: String,
    pub digest: Option<String>,
    pub size_bytes: Option<u64>,
}

impl PodQuestion {
    /// Any question.
    pub fn new(choices: &mut Choices) -> Self {
        let operation = choices.of(OPERATIONS);
        let pod = pod(choices);
        let changes = ["resize", "update", "ephemeral"].contains(&operation);
        let old_pod = changes.then(|| old(choices, &pod));
        let image = (operation == "image-resolved").then(|| Image {
            container: pod["spec"]["containers"][0]["name"].as_str().unwrap_or_default().to_owned(),
            id: "sha256:1".to_owned(),
            digest: choices.one_in(2).then(|| format!("sha256:{:064}", choices.below(9))),
            size_bytes: choices.one_in(2).then(|| choices.below(1 << 30) as u64),
        });
        let now = i64::try_from(choices.below(1 << 32)).unwrap_or_default();
        let other_pods = (0..choices.below(4)).map(|_| pod_of(choices, false)).collect();
        Self { operation, now, pod, old_pod, image, node: node(choices), other_pods }
    }
}

fn pod(choices: &mut Choices) -> Value {
    let is_large = choices.one_in(LARGE_ONCE_IN);
    pod_of(choices, is_large)
}

fn pod_of(choices: &mut Choices, is_large: bool) -> Value {
    let name = choices.of(NAMES);
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": choices.of(NAMESPACES), "uid": format!("uid-{}", choices.below(1000))},
        "spec": {"containers": containers(choices, 1)},
    });
    if choices.one_in(2) {
        pod["metadata"]["labels"] = json!({"app": choices.of(NAMES)});
    }
    if is_large {
        pod["metadata"]["annotations"] = json!({"large": "x".repeat(LARGE_BYTES)});
    }
    let spec = [
        ("initContainers", json!(containers(choices, 0))),
        ("hostNetwork", json!(choices.one_in(2))),
        ("priority", json!(choices.below(100))),
        ("hostname", json!(choices.of(NAMES))),
        ("nodeSelector", json!({"zone": "a"})),
        ("securityContext", json!({"runAsUser": choices.below(3)})),
    ];
    for (field, value) in spec {
        if choices.one_in(3) {
            pod["spec"][field] = value;
        }
    }
    if choices.one_in(2) {
        let statuses = status_of(choices, &pod["spec"]["containers"]);
        pod["status"] = json!({"phase": "Running", "containerStatuses": statuses});
    }
    pod
}

fn containers(choices: &mut Choices, least: usize) -> Vec<Value> {
    let count = least + choices.below(3);
    (0..count).map(|index| container(choices, index)).collect()
}

fn container(choices: &mut Choices, index: usize) -> Value {
    let mut container =
        json!({"name": format!("{}-{index}", choices.of(NAMES)), "image": choices.of(IMAGES)});
    let fields = [
        ("args", json!([choices.of(NAMES), ""])),
        ("imagePullPolicy", json!("Always")),
        ("ports", json!([{"containerPort": 80, "hostPort": choices.below(3)}])),
        ("resources", resources(choices)),
        ("securityContext", json!({"privileged": choices.one_in(2), "runAsUser": choices.below(2)})),
    ];
    for (field, value) in fields {
        if choices.one_in(2) {
            container[field] = value;
        }
    }
    container
}

/// What the status says of the containers: of some it isn't there, of some it doesn't say which resources they have.
fn status_of(choices: &mut Choices, containers: &Value) -> Vec<Value> {
    let containers = containers.as_array().into_iter().flatten();
    let mut statuses = Vec::new();
    for container in containers {
        let mut status = json!({"name": container["name"], "image": container["image"], "imageID": "", "ready": true, "restartCount": 0});
        if !choices.one_in(4) {
            status["resources"] = resources(choices);
        }
        if !choices.one_in(8) {
            statuses.push(status);
        }
    }
    statuses
}

fn resources(choices: &mut Choices) -> Value {
    let (cpu, memory) = (choices.of(AMOUNTS), choices.of(AMOUNTS));
    json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu, "memory": memory}})
}

/// The pod before: other images, and other resources.
fn old(choices: &mut Choices, pod: &Value) -> Value {
    let mut old = pod.clone();
    for container in old["spec"]["containers"].as_array_mut().into_iter().flatten() {
        container["image"] = choices.of(IMAGES).into();
        if choices.one_in(2) {
            container["resources"] = resources(choices);
        }
    }
    old
}

fn node(choices: &mut Choices) -> Value {
    let mut node = json!({"metadata": {"name": "node-1", "labels": {"zone": choices.of(NAMES)}}});
    if choices.one_in(2) {
        node["status"] = json!({"allocatable": {"cpu": choices.of(AMOUNTS), "memory": "8Gi"}});
    }
    node
}
