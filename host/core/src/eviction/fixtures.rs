//! Inputs of the tests of eviction: pods with priorities, requests and usages, and figures of the node.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::observation::Observation;
use super::rank::Candidate;
use super::signal::Signal;
use super::threshold::{Threshold, ThresholdValue};
use crate::pod::{PodUid, quantity};
use crate::stats::{ContainerUsage, FsUsage, PodUsage, PodUsages};

/// A quantity in base units.
pub(super) fn bytes(text: &str) -> i64 {
    quantity::parse(text).expect("a quantity").value()
}

fn unsigned(text: &str) -> u64 {
    u64::try_from(bytes(text)).expect("no negative usage")
}

pub(super) fn amount(text: &str) -> ThresholdValue {
    ThresholdValue::Quantity { amount: bytes(text), is_binary: text.ends_with('i') }
}

/// A hard threshold of this quantity, with this to be reclaimed.
pub(super) fn hard(signal: Signal, value: &str, reclaim: Option<&str>) -> Threshold {
    Threshold { signal, value: amount(value), grace: SignedDuration::ZERO, min_reclaim: reclaim.map(amount) }
}

/// A soft one with a grace in seconds.
pub(super) fn soft(signal: Signal, value: &str, reclaim: Option<&str>, grace: i64) -> Threshold {
    Threshold { grace: SignedDuration::from_secs(grace), ..hard(signal, value, reclaim) }
}

pub(super) fn left(available: &str, capacity: &str) -> Observation {
    Observation { available: bytes(available), capacity: bytes(capacity), at: None }
}

/// A pod of the API server with one container `app` that has these requests and limits.
pub(super) fn pod(name: &str, priority: i32, requests: Value, limits: Value) -> Candidate {
    let container = json!({"name": "app", "resources": {"requests": requests, "limits": limits}});
    candidate(json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"priority": priority, "containers": [container]},
    }))
}

/// A pod by its manifest.
pub(super) fn candidate(manifest: Value) -> Candidate {
    let pod: Pod = serde_json::from_value(manifest).expect("a pod");
    let uid = PodUid::of(&pod);
    Candidate { uid, pod: Arc::new(pod), is_critical: false, is_evicted: false, waits: 0 }
}

/// The pod with an `emptyDir` named `local`.
pub(super) fn with_local_volume(mut candidate: Candidate) -> Candidate {
    let pod = Arc::make_mut(&mut candidate.pod);
    let volume = serde_json::from_value(json!({"name": "local", "emptyDir": {}})).expect("a volume");
    pod.spec.get_or_insert_default().volumes = Some(vec![volume]);
    candidate
}

/// A pod's memory alone, as of its cgroup.
pub(super) fn memory(working_set: &str) -> PodUsage {
    PodUsage { memory: Some(unsigned(working_set)), ..PodUsage::default() }
}

/// Disk of writable layer, logs and the volume `local`, in bytes and as many inodes.
pub(super) fn disk(rootfs: &str, logs: &str, volume: &str) -> PodUsage {
    let usage = |text: &str| FsUsage::new(unsigned(text), unsigned(text));
    PodUsage {
        containers: vec![ContainerUsage {
            name: "app".to_owned(),
            rootfs: usage(rootfs),
            logs: usage(logs),
            ..ContainerUsage::default()
        }],
        volumes: BTreeMap::from([("local".to_owned(), usage(volume))]),
        ..PodUsage::default()
    }
}

pub(super) fn processes(count: u64) -> PodUsage {
    PodUsage { processes: Some(count), ..PodUsage::default() }
}

/// Pods with their usages.
pub(super) fn measured(pods: Vec<(Candidate, PodUsage)>) -> (Vec<Candidate>, PodUsages) {
    let usages = pods.iter().map(|(pod, usage)| (pod.uid.clone(), usage.clone())).collect();
    (pods.into_iter().map(|(pod, _)| pod).collect(), usages)
}
