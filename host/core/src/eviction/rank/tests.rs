//! Upstream's cases of ranks (`helpers_test.go`: the `TestOrderedBy…`, `TestStatsNotFoundForPod`).

use serde_json::{Value, json};

use super::*;
use crate::eviction::fixtures::{candidate, disk, measured, memory, pod, processes, with_local_volume};

const LOW: i32 = -1;
const HIGH: i32 = 1;

fn asks(memory: &str) -> Value {
    if memory.is_empty() { json!({}) } else { json!({"memory": memory}) }
}

fn asks_disk(bytes: &str) -> Value {
    if bytes.is_empty() { json!({}) } else { json!({"ephemeral-storage": bytes}) }
}

/// The names of the pods in the order in which they go, given in any order.
fn order(signal: Signal, mut pods: Vec<(Candidate, PodUsage)>) -> Vec<String> {
    pods.reverse();
    let (pods, usages) = measured(pods);
    let ranked = rank(signal, Filesystems::Single, &pods, &usages);
    ranked.iter().map(|candidate| candidate.uid.to_string()).collect()
}

#[test]
fn pods_over_their_request_go_first_then_lower_priority_then_who_takes_more() {
    let cases = [
        ("above-low-priority-much", LOW, "", "500Mi"),
        ("above-low-priority-little", LOW, "", "50Mi"),
        ("above-high-priority-much", HIGH, "100Mi", "600Mi"),
        ("above-high-priority-little", HIGH, "100Mi", "150Mi"),
        ("below-low-priority-much", LOW, "1Gi", "800Mi"),
        ("below-low-priority-little", LOW, "1Gi", "200Mi"),
        ("below-high-priority-much", HIGH, "1Gi", "800Mi"),
        ("below-high-priority-little", HIGH, "1Gi", "200Mi"),
    ];
    let pods = cases
        .map(|(name, priority, request, used)| (pod(name, priority, asks(request), json!({})), memory(used)));
    assert_eq!(order(Signal::MemoryAvailable, pods.to_vec()), cases.map(|case| case.0));
    assert_eq!(order(Signal::AllocatableMemoryAvailable, pods.to_vec()), cases.map(|case| case.0));
}

#[test]
fn memory_is_held_against_the_request() {
    // Upstream's `TestOrderedByMemory` checks the amounts alone; that requests are exceeded comes first and agrees with it.
    let pods = [
        ("burstable-high", "100Mi", "800Mi"),
        ("best-effort-high", "", "500Mi"),
        ("best-effort-low", "", "300Mi"),
        ("burstable-low", "100Mi", "300Mi"),
        ("guaranteed-high", "1Gi", "800Mi"),
        ("guaranteed-low", "1Gi", "200Mi"),
    ];
    let made = pods.map(|(name, request, used)| (pod(name, 0, asks(request), json!({})), memory(used)));
    assert_eq!(order(Signal::MemoryAvailable, made.to_vec()), pods.map(|case| case.0));
    let one_over = [("exceeds", HIGH, "100Mi", "101Mi"), ("below", LOW, "200Mi", "199Mi")];
    let made = one_over
        .map(|(name, priority, request, used)| (pod(name, priority, asks(request), json!({})), memory(used)));
    assert_eq!(order(Signal::MemoryAvailable, made.to_vec()), one_over.map(|case| case.0));
}

#[test]
fn disk_is_held_against_the_request() {
    let pods = [
        ("best-effort-high", "", ["50Mi", "100Mi", "150Mi"]),
        ("burstable-high", "100Mi", ["150Mi", "150Mi", "50Mi"]),
        ("best-effort-low", "", ["25Mi", "25Mi", "50Mi"]),
        ("burstable-low", "100Mi", ["25Mi", "35Mi", "50Mi"]),
        ("guaranteed-high", "400Mi", ["225Mi", "100Mi", "50Mi"]),
        ("guaranteed-low", "400Mi", ["25Mi", "45Mi", "50Mi"]),
    ];
    let made = pods.map(|(name, request, [rootfs, logs, volume])| {
        (with_local_volume(pod(name, 0, asks_disk(request), json!({}))), disk(rootfs, logs, volume))
    });
    assert_eq!(order(Signal::NodeFsAvailable, made.to_vec()), pods.map(|case| case.0));
    let by_priority = [
        ("above-low-much", LOW, "", ["200Mi", "100Mi", "200Mi"]),
        ("above-low-little", LOW, "", ["10Mi", "10Mi", "30Mi"]),
        ("above-high-much", HIGH, "100Mi", ["200Mi", "150Mi", "250Mi"]),
        ("above-high-little", HIGH, "100Mi", ["90Mi", "50Mi", "10Mi"]),
        ("below-low-much", LOW, "1Gi", ["500Mi", "200Mi", "100Mi"]),
        ("below-low-little", LOW, "1Gi", ["50Mi", "100Mi", "50Mi"]),
        ("below-high-much", HIGH, "1Gi", ["250Mi", "500Mi", "50Mi"]),
        ("below-high-little", HIGH, "1Gi", ["100Mi", "60Mi", "40Mi"]),
    ];
    let made = by_priority.map(|(name, priority, request, [rootfs, logs, volume])| {
        let pod = with_local_volume(pod(name, priority, asks_disk(request), json!({})));
        (pod, disk(rootfs, logs, volume))
    });
    assert_eq!(order(Signal::NodeFsAvailable, made.to_vec()), by_priority.map(|case| case.0));
    // `TestOrderedByExceedsRequestDisk`: a pod of higher priority goes first if it alone exceeds its request.
    let one_over = [
        (pod("exceeds", HIGH, asks_disk("100Mi"), json!({})), disk("90Mi", "11Mi", "0")),
        (pod("below", LOW, asks_disk("200Mi"), json!({})), disk("100Mi", "99Mi", "0")),
    ];
    assert_eq!(order(Signal::NodeFsAvailable, one_over.to_vec()), ["exceeds", "below"]);
}

#[test]
fn inodes_go_by_priority_and_number() {
    let pods = [
        ("low-much", LOW, ["50000", "100000", "250000"]),
        ("low-little", LOW, ["60000", "30000", "10000"]),
        ("high-much", HIGH, ["150000", "150000", "50000"]),
        ("high-little", HIGH, ["10000", "40000", "100000"]),
    ];
    let made = pods.map(|(name, priority, [rootfs, logs, volume])| {
        (with_local_volume(pod(name, priority, json!({}), json!({}))), disk(rootfs, logs, volume))
    });
    assert_eq!(order(Signal::NodeFsInodesFree, made.to_vec()), pods.map(|case| case.0));
    // `TestOrderedbyInodes`
    let level = [("high", "200000"), ("medium", "100000"), ("low", "50000")];
    let made = level.map(|(name, count)| (pod(name, 0, json!({}), json!({})), disk(count, "100000", "0")));
    assert_eq!(order(Signal::ImageFsInodesFree, made.to_vec()), level.map(|case| case.0));
    // As upstream: bytes that are requested make a pod's inodes count for less.
    let with_request = [
        (pod("fewer", 0, json!({}), json!({})), disk("5", "0", "0")),
        (pod("more", 0, asks_disk("1Mi"), json!({})), disk("50", "0", "0")),
    ];
    assert_eq!(order(Signal::NodeFsInodesFree, with_request.to_vec()), ["fewer", "more"]);
}

#[test]
fn processes_go_by_priority_and_number() {
    let pods = [
        ("low-priority-high-usage", LOW, 20),
        ("low-priority-low-usage", LOW, 6),
        ("high-priority-high-usage", HIGH, 20),
        ("high-priority-low-usage", HIGH, 5),
    ];
    let made =
        pods.map(|(name, priority, count)| (pod(name, priority, json!({}), json!({})), processes(count)));
    assert_eq!(order(Signal::PidAvailable, made.to_vec()), pods.map(|case| case.0));
    let by_priority = [("low", -134), ("medium", 1), ("high", 12534)];
    let made = by_priority.map(|(name, priority)| (pod(name, priority, json!({}), json!({})), processes(1)));
    assert_eq!(order(Signal::PidAvailable, made.to_vec()), by_priority.map(|case| case.0));
}

#[test]
fn pods_that_were_not_measured_go_first() {
    for signal in crate::eviction::SIGNALS {
        let pods = [
            pod("greedy", 0, json!({}), json!({})),
            pod("unknown-high", HIGH, json!({}), json!({})),
            pod("unknown", 0, json!({}), json!({})),
        ];
        let usage = PodUsage { processes: Some(99), ..disk("9Gi", "9Gi", "0") };
        let usages = PodUsages::from([(PodUid::from("greedy"), usage)]);
        let ranked = rank(signal, Filesystems::Single, &pods, &usages);
        let names: Vec<String> = ranked.iter().map(|candidate| candidate.uid.to_string()).collect();
        let expected = match signal {
            Signal::PidAvailable => ["unknown", "greedy", "unknown-high"],
            _ => ["unknown", "unknown-high", "greedy"],
        };
        assert_eq!(names, expected, "{signal}");
    }
}

#[test]
fn what_is_requested_is_the_pods_own_word_if_it_has_one() {
    let pod = |resources: Value, overhead: Value| {
        let manifest = json!({
            "metadata": {"name": "p", "namespace": "ns", "uid": "p"},
            "spec": {"resources": resources, "overhead": overhead, "containers": [{"name": "a", "resources": {
                "requests": {"memory": "10", "ephemeral-storage": "7"}}}]},
        });
        candidate(manifest).pod
    };
    let cases = [
        (json!({}), json!({}), (10, 7)),
        (json!({}), json!({"memory": "5"}), (15, 7)),
        (json!({"requests": {"memory": "100"}}), json!({"memory": "5", "ephemeral-storage": "1"}), (105, 0)),
        (json!({"requests": {"cpu": "1"}}), json!({"memory": "5"}), (0, 0)),
    ];
    for (resources, overhead, (memory, disk)) in cases {
        let pod = pod(resources.clone(), overhead.clone());
        let seen = (request(&pod, MEMORY), request(&pod, EPHEMERAL_STORAGE));
        assert_eq!(seen, (memory, disk), "{resources} {overhead}");
    }
}

#[test]
fn only_the_disk_on_the_short_file_system_counts() {
    use Filesystems::{DedicatedImages, Single, Split};
    let pod = with_local_volume(pod("p", 0, json!({}), json!({})));
    let usage = disk("1", "20", "300");
    let cases = [
        (Single, Signal::NodeFsAvailable, 321),
        (Single, Signal::ImageFsAvailable, 321),
        (Single, Signal::ContainerFsInodesFree, 321),
        (DedicatedImages, Signal::NodeFsAvailable, 320),
        (DedicatedImages, Signal::ImageFsInodesFree, 1),
        (DedicatedImages, Signal::ContainerFsAvailable, 1),
        (Split, Signal::NodeFsInodesFree, 321),
        (Split, Signal::ContainerFsAvailable, 321),
        (Split, Signal::ImageFsAvailable, 0),
    ];
    for (filesystems, signal, expected) in cases {
        let seen = super::disk(&pod.pod, &usage, filesystems.measured(signal), signal.resource());
        assert_eq!(seen, expected, "{filesystems:?} {signal}");
    }
}
