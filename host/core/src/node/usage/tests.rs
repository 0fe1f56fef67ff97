//! Rows of resources.

use serde_json::{Value, json};

use super::*;
use crate::eviction::{Threshold, ThresholdConfig};

fn pod(requests: Value, phase: &str) -> Arc<Pod> {
    let container = json!({"name": "app", "resources": {"requests": requests}});
    let pod = json!({"spec": {"containers": [container]}, "status": {"phase": phase}});
    Arc::new(serde_json::from_value(pod).expect("a pod"))
}

fn evicts_below(hard: &[(&str, &str)]) -> Vec<Threshold> {
    let hard = hard.iter().map(|(signal, value)| ((*signal).to_owned(), (*value).to_owned())).collect();
    ThresholdConfig { hard: Some(hard), ..ThresholdConfig::default() }.thresholds().expect("thresholds")
}

#[test]
fn a_row_says_who_a_resource_is_for_and_what_is_used_of_it() {
    let status = json!({
        "capacity": {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110", "hugepages-2Mi": "0"},
        "allocatable": {"cpu": "3500m", "memory": "7Gi", "ephemeral-storage": "90Gi", "pods": "110", "hugepages-2Mi": "0"},
    });
    let node: Node = serde_json::from_value(json!({"metadata": {}, "status": status})).expect("a node");
    let map = |pairs: &[(&str, i64)]| -> Amounts {
        pairs.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
    };
    let reservations = Reservations {
        system: map(&[(CPU, 300), (PIDS, 1000)]),
        kube: map(&[(CPU, 200), (MEMORY, 1 << 30)]),
        eviction: evicts_below(&[("memory.available", "100Mi"), ("nodefs.available", "10Gi")]),
    };
    let pods = [
        pod(json!({"cpu": "250m", "memory": "1Gi"}), "Running"),
        pod(json!({"cpu": "250m"}), "Pending"),
        pod(json!({"cpu": "4", "memory": "9Gi"}), "Failed"),
    ];
    let left = |capacity: u64, available: u64| Some(Left { capacity, available });
    let readings = NodeReadings {
        memory: left(8 << 30, 5 << 30),
        nodefs_bytes: left(100 << 30, 99 << 30),
        pids: left(32_768, 32_000),
        ..NodeReadings::default()
    };
    let rows = resource_use(&node, &reservations, &pods, &readings, Some(750));
    let shown: Vec<String> = rows
        .iter()
        .map(|row| {
            let ResourceUse { resource, capacity, system_reserved, kube_reserved, eviction, allocatable, .. } = row;
            let (requested, used) = (row.requested, row.used);
            format!("{resource} {capacity} {system_reserved} {kube_reserved} {eviction} {allocatable} {requested} {used:?}")
        })
        .collect();
    let gib = 1_i64 << 30;
    assert_eq!(
        shown,
        [
            "cpu 4000 300 200 0 3500 500 Some(750)".to_owned(),
            format!("memory {} 0 {gib} {} {} {gib} Some({})", 8 * gib, 100 << 20, 7 * gib, 3 * gib),
            format!("ephemeral-storage {} 0 0 {} {} 0 Some({gib})", 100 * gib, 10 * gib, 90 * gib),
            "pid 32768 1000 0 0 31768 0 Some(768)".to_owned(),
            "pods 110 0 0 0 110 2 None".to_owned(),
            "hugepages-2Mi 0 0 0 0 0 0 None".to_owned(),
        ]
    );
}

#[test]
fn what_is_not_measured_is_not_shown_as_unused() {
    let rows = resource_use(&Node::default(), &Reservations::default(), &[], &NodeReadings::default(), None);
    assert_eq!(rows, []);
}
