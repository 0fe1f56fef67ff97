//! What a case has that it doesn't say.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use witlet_core::node::{NodeFacts, facts};

/// The time of a decision: 2026-01-01T00:00:00Z.
pub fn now_default() -> Timestamp {
    Timestamp::constant(1_767_225_600, 0)
}

/// A node with room: 4 processors, 8 GiB, 110 pods.
pub fn node_default() -> Arc<NodeFacts> {
    let resources = json!({"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"});
    let conditions: Vec<_> = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    .into_iter()
    .map(|(kind, status, reason)| json!({"type": kind, "status": status, "reason": reason, "message": ""}))
    .collect();
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE_NAME,
            "labels": {"kubernetes.io/hostname": NODE_NAME, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
        },
        "spec": {},
        "status": {"capacity": resources, "allocatable": resources, "conditions": conditions},
    });
    // It is a node: the test reads it.
    let node = serde_json::from_value::<Node>(node).unwrap_or_default();
    Arc::new(NodeFacts {
        name: NODE_NAME.to_owned(),
        node,
        addresses: vec![std::net::IpAddr::from([192, 0, 2, 10])],
        facts: FACTS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        devices: "[]".to_owned(),
    })
}

/// What is known of its machine and its runtime.
const FACTS: [(&str, &str); 7] = [
    (facts::OS, "linux"),
    (facts::ARCH, "amd64"),
    (facts::KERNEL_VERSION, "6.12.0"),
    (facts::CGROUP_VERSION, "2"),
    (facts::APPARMOR_ENABLED, "true"),
    (facts::RUNTIME_NAME, "containerd"),
    (facts::RUNTIME_VERSION, "2.0.0"),
];

/// What the node is called.
pub(super) const NODE_NAME: &str = "node-1";
