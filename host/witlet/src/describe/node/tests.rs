//! A node as people see it.

use expect_test::expect;
use serde_json::json;

use super::*;

#[test]
fn all_that_is_known_is_laid_out() {
    let info = json!({
        "kernelVersion": "6.8.0", "osImage": "Debian 13", "operatingSystem": "linux", "architecture": "amd64",
        "containerRuntimeVersion": "containerd://2.1", "kubeletVersion": "v1.36.0+witlet", "bootID": "", "kubeProxyVersion": "",
        "machineID": "", "systemUUID": "",
    });
    let node = serde_json::from_value(json!({
        "metadata": {"name": "node1", "labels": {"zone": "a"}},
        "spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.5"}], "nodeInfo": info,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is",
                "lastTransitionTime": "2026-06-01T11:00:00Z"}],
        },
    }));
    let pod = json!({
        "namespace": "default", "name": "web-node1", "phase": "Running", "qosClass": "Burstable", "cpuRequestMilli": 250,
        "memoryRequestBytes": 1 << 20, "startTime": "2026-06-01T11:59:00Z",
    });
    let resource = json!({
        "resource": "cpu", "capacity": "4", "systemReserved": "0", "kubeReserved": "0", "evictionHard": "0",
        "allocatable": "4", "requested": "250m", "used": "1",
    });
    let described = DescribedNode {
        node: node.expect("a node"),
        resources: json!([resource]),
        thresholds: json!([]),
        pods: vec![pod],
        events: Vec::new(),
    };
    expect![[r#"
        Name:         node1
        Labels:       zone=a
        Annotations:  <none>
        Taints:       dedicated=gpu:NoSchedule
        Conditions:
          TYPE    STATUS   SINCE   REASON         MESSAGE
          Ready   True     60m     KubeletReady   it is
        Addresses:  InternalIP: 10.0.0.5
        System Info:
          Kernel Version:     6.8.0
          OS Image:           Debian 13
          Architecture:       linux/amd64
          Container Runtime:  containerd://2.1
          Version:            v1.36.0+witlet
        Resources:
          RESOURCE   CAPACITY   SYSTEM   KUBE   EVICTION   ALLOCATABLE   REQUESTED   USED
          cpu        4                                     4             250m        1
        Thresholds:  <none>
        Pods:
          NAMESPACE   NAME        PHASE     QOS         CPU REQUESTS   MEMORY REQUESTS   AGE
          default     web-node1   Running   Burstable   250m           1.0 MiB           60s
        Events:  <none>
    "#]]
    .assert_eq(&text(&described, "2026-06-01T12:00:00Z".parse().expect("a time")));
}

#[test]
fn a_pod_counts_with_its_requests() {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"containers": [
            {"name": "a", "resources": {"requests": {"cpu": "100m", "memory": "1Mi"}}},
            {"name": "b", "resources": {"requests": {"cpu": "150m"}}},
        ]},
    }))
    .expect("a pod");
    let shown = on_node(&pod);
    assert_eq!((&shown["cpuRequestMilli"], &shown["memoryRequestBytes"]), (&json!(250), &json!(1 << 20)));
}
