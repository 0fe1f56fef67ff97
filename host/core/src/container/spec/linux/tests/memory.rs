//! Swap and memory that is kept: upstream's `TestGetContainerSwapBehavior`, the rules of
//! `TestGenerateLinuxContainerResourcesWithSwap` and of memory QoS.

use k8s_openapi::api::core::v1::NodeSwapStatus;

use super::*;
use crate::cgroup::{MemoryQos, MemoryReservation};

const GI: i64 = 1 << 30;

/// Files of version 2 of a container with these resources. The node has 8 GB of memory and 4 GB of swap.
fn files(yaml: &str, change: impl FnOnce(&mut Pod, &mut Host<'_>)) -> BTreeMap<String, String> {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).resources = serde_saphyr::from_str(yaml).unwrap();
    let mut node = fixtures::node("2");
    let status = node.node.status.get_or_insert_default();
    status.node_info.get_or_insert_default().swap = Some(NodeSwapStatus { capacity: Some(4_000_000_000) });
    let mut host =
        Host { swap_controller: true, swap_behavior: SwapBehavior::Limited, ..fixtures::host(&node) };
    change(&mut pod, &mut host);
    let container = first(&mut pod).clone();
    resources(fixtures::input(&pod, &container, host)).unwrap().unified
}

const BURSTABLE: &str = "{requests: {memory: 2G}, limits: {memory: 4G}}";

#[test]
fn burstable_containers_swap_as_much_of_it_as_they_ask_for_of_memory() {
    type Change = fn(&mut Pod, &mut Host<'_>);
    let nothing: Change = |_, _| {};
    let cases: [(&str, &str, Change, Option<&str>); 10] = [
        ("a quarter", BURSTABLE, nothing, Some("1000000000")),
        ("without a limit", "{requests: {memory: 2G}}", nothing, Some("1000000000")),
        ("rounded down", "{requests: {memory: 1000001}}", nothing, Some("500000")),
        (
            "as much as it may have",
            "{requests: {cpu: 1, memory: 2G}, limits: {memory: 2G}}",
            nothing,
            Some("0"),
        ),
        ("no memory", "{requests: {cpu: 1}}", nothing, Some("0")),
        ("besteffort", "{}", nothing, Some("0")),
        ("guaranteed", "{requests: {cpu: 1, memory: 2G}, limits: {cpu: 1, memory: 2G}}", nothing, Some("0")),
        ("critical", BURSTABLE, |pod, _| spec(pod).priority = Some(2_000_000_000), Some("0")),
        ("by default", BURSTABLE, |_, host| host.swap_behavior = SwapBehavior::NoSwap, Some("0")),
        ("the kernel counts none", BURSTABLE, |_, host| host.swap_controller = false, None),
    ];
    for (claim, yaml, change, expected) in cases {
        assert_eq!(files(yaml, change).get("memory.swap.max").map(String::as_str), expected, "{claim}");
    }
}

fn qos(reservation: MemoryReservation) -> impl Fn(&mut Pod, &mut Host<'_>) {
    move |_, host| {
        host.memory_qos = Some(MemoryQos { reservation, throttling_factor: 0.5, page_bytes: 4096 });
        host.pods_memory = 6 * GI;
    }
}

#[test]
fn memory_is_kept_and_throttled_with_the_gate() {
    const GUARANTEED: &str = "{requests: {cpu: 1, memory: 2Gi}, limits: {cpu: 1, memory: 2Gi}}";
    const BURSTABLE: &str = "{requests: {memory: 2Gi}, limits: {memory: 4Gi}}";
    use MemoryReservation::{None as Nothing, Tiered};
    for (claim, yaml, reservation, min, low, high) in [
        ("guaranteed", GUARANTEED, Tiered, 2 * GI, 0, None),
        ("burstable", BURSTABLE, Tiered, 0, 2 * GI, Some(3 * GI)),
        ("by what all pods may use", "{requests: {memory: 2Gi}}", Tiered, 0, 2 * GI, Some(4 * GI)),
        ("besteffort", "{}", Tiered, 0, 0, None),
        ("nothing is kept", BURSTABLE, Nothing, 0, 0, Some(3 * GI)),
    ] {
        let files = files(yaml, qos(reservation));
        assert_eq!(files["memory.min"], min.to_string(), "{claim}");
        assert_eq!(files["memory.low"], low.to_string(), "{claim}");
        assert_eq!(files.get("memory.high"), high.map(|high| high.to_string()).as_ref(), "{claim}");
    }
    let without = files(BURSTABLE, |_, _| {});
    assert!(without.keys().all(|file| !["memory.min", "memory.low", "memory.high"].contains(&file.as_str())));
}
