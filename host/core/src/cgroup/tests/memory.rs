//! Memory that is kept (`TestResourceConfigForPodWithEnforceMemoryQoS`, `TestQoSContainerCgroup`, `TestParsePercentage`, and the
//! figures of `kuberuntime_container_linux_test.go`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use serde_json::{Value, json};

use crate::cgroup::{
    KeptMemory, MemoryQos, MemoryReservation, QosReserved, Tier, TierMemory, TierPod, percentage,
    tier_configs,
};

const MI: i64 = 1 << 20;

fn qos(reservation: MemoryReservation, throttling_factor: f64) -> MemoryQos {
    MemoryQos { reservation, throttling_factor, page_bytes: 4096 }
}

/// Containers by `requests/limits`, each `cpu memory` or empty.
fn pod(containers: &[&str]) -> Pod {
    let list = |text: &str| match text.split_once(' ') {
        Some((cpu, memory)) => json!({"cpu": cpu, "memory": memory}),
        None => json!({}),
    };
    let containers: Vec<Value> = containers
        .iter()
        .map(|text| {
            let (requests, limits) = text.split_once('/').unwrap_or((text, ""));
            json!({"name": "c", "resources": {"requests": list(requests), "limits": list(limits)}})
        })
        .collect();
    serde_json::from_value(json!({"metadata": {"uid": "1"}, "spec": {"containers": containers}})).unwrap()
}

#[test]
fn requests_of_pods_are_kept_by_class() {
    const REQUESTS: &str = "100m 100Mi";
    const LIMITED: &str = "100m 100Mi/200m 200Mi";
    const EXACT: &str = "100m 100Mi/100m 100Mi";
    let (min, low) = (Some(("memory.min", 100 * MI)), Some(("memory.low", 100 * MI)));
    let twice = Some(("memory.low", 200 * MI));
    for (claim, containers, expected) in [
        ("besteffort", &[""] as &[&str], None),
        ("burstable without limits", &[REQUESTS], low),
        ("burstable with limits", &[LIMITED], low),
        ("burstable, some with limits", &[LIMITED, REQUESTS], twice),
        ("burstable, CPU alone", &["100m 0/200m 0"], None),
        ("guaranteed", &[EXACT], min),
    ] {
        let expected: BTreeMap<String, String> =
            expected.into_iter().map(|(file, bytes)| (file.to_owned(), bytes.to_string())).collect();
        assert_eq!(qos(MemoryReservation::Tiered, 0.9).of_pod(&pod(containers)), expected, "{claim}");
        assert_eq!(qos(MemoryReservation::None, 0.9).of_pod(&pod(containers)), BTreeMap::new(), "{claim}");
    }
    let mut sandboxed = pod(&[""]);
    let overhead = [("memory".to_owned(), Quantity("24Mi".to_owned()))].into();
    sandboxed.spec.get_or_insert_default().overhead = Some(overhead);
    let kept: BTreeMap<String, String> = [("memory.low".to_owned(), (24 * MI).to_string())].into();
    assert_eq!(qos(MemoryReservation::Tiered, 0.9).of_pod(&sandboxed), kept, "what its sandbox costs");
    let mut settled = pod(&[EXACT]);
    settled.status.get_or_insert_default().qos_class = Some("Burstable".to_owned());
    let kept: BTreeMap<String, String> = [("memory.low".to_owned(), (100 * MI).to_string())].into();
    assert_eq!(qos(MemoryReservation::Tiered, 0.9).of_pod(&settled), kept, "the class of its status");
}

#[test]
fn a_container_is_slowed_down_before_its_limit() {
    for (claim, request, limit, factor, expected) in [
        ("between both", 128 * MI, 256 * MI, 0.8, Some(241_590_272)),
        ("upstream's default", 128 * MI, 256 * MI, 0.9, Some(255_013_683 / 4096 * 4096)),
        ("without a limit, by what all pods may use", 128 * MI, 0, 0.5, Some(576 * MI)),
        ("exact", 128 * MI, 128 * MI, 0.9, None),
        ("nothing is asked for", 0, 256 * MI, 0.5, Some(128 * MI)),
        ("too close to the request", 4096, 4097, 0.9, None),
        ("all of it", 128 * MI, 256 * MI, 1.0, Some(256 * MI)),
    ] {
        let high = qos(MemoryReservation::None, factor).throttled_from(request, limit, 1024 * MI);
        assert_eq!(high, expected, "{claim}");
    }
    assert_eq!(qos(MemoryReservation::None, 0.9).throttled_from(MI, 0, 0), None, "nothing is known");
}

fn tier_pod(tier: Tier, memory_bytes: i64) -> TierPod {
    TierPod { tier, cpu_milli: 0, memory_bytes }
}

#[test]
fn classes_keep_what_their_pods_ask_for() {
    let pods = [
        tier_pod(Tier::Guaranteed, 128 * MI),
        tier_pod(Tier::Burstable, 256 * MI),
        tier_pod(Tier::Burstable, 64 * MI),
        tier_pod(Tier::BestEffort, 0),
    ];
    let files_of = |pods: &[TierPod], reservation: Option<MemoryReservation>| -> Vec<String> {
        let tiers = tier_configs(pods, &[], TierMemory { reservation, reserved: None });
        assert!(tiers.iter().all(|(_, config)| config.memory_bytes.is_none()));
        let text = |tier, (file, value)| format!("{tier:?} {file}={value}");
        tiers
            .into_iter()
            .flat_map(|(tier, config)| config.unified.into_iter().map(move |file| text(tier, file)))
            .collect()
    };
    let files = |reservation| files_of(&pods, reservation);
    for pods in [&[tier_pod(Tier::BestEffort, 0)] as &[TierPod], &[tier_pod(Tier::Burstable, 0)], &[]] {
        let nothing = ["Guaranteed memory.min=0", "Burstable memory.low=0"];
        assert_eq!(
            files_of(pods, Some(MemoryReservation::Tiered)),
            nothing,
            "none asks for memory: {pods:?}"
        );
    }
    assert_eq!(
        files(Some(MemoryReservation::Tiered)),
        [format!("Guaranteed memory.min={}", 448 * MI), format!("Burstable memory.low={}", 320 * MI)]
    );
    assert_eq!(
        files(Some(MemoryReservation::None)),
        ["Guaranteed memory.min=0", "Burstable memory.low=0"],
        "what an earlier start kept goes"
    );
    assert_eq!(files(None), [""; 0]);
    let kept = |reservation| TierMemory { reservation, reserved: None }.kept(&pods);
    let tiered = KeptMemory { guaranteed: 128 * MI, burstable: 320 * MI };
    assert_eq!(kept(Some(MemoryReservation::Tiered)), Some(tiered));
    assert_eq!(kept(Some(MemoryReservation::None)), Some(KeptMemory::default()));
    assert_eq!(kept(None), None);
}

#[test]
fn lower_classes_cant_have_what_is_reserved_for_higher_ones() {
    let pods =
        [tier_pod(Tier::Guaranteed, 400), tier_pod(Tier::Burstable, 200), tier_pod(Tier::BestEffort, 0)];
    let limits = |percent: i64, allocatable: i64| {
        let reserved = Some(QosReserved { percent, allocatable });
        tier_configs(&pods, &[], TierMemory { reservation: None, reserved })
            .map(|(_, config)| config.memory_bytes)
    };
    assert_eq!(limits(100, 1000), [None, Some(600), Some(400)]);
    assert_eq!(limits(50, 1000), [None, Some(800), Some(700)]);
    assert_eq!(limits(0, 1000), [None, Some(1000), Some(1000)]);
    assert_eq!(limits(50, 0), [None, None, None], "nothing is known of the node");
}

#[test]
fn percents_are_whole_and_end_with_the_sign() {
    for (text, expected) in [
        ("0%", Ok(0)),
        ("10%", Ok(10)),
        ("100%", Ok(100)),
        ("10", Err("percentage expected, got '10'")),
        ("", Err("percentage expected, got ''")),
        ("a%", Err("failed to convert percentage 'a%' to int")),
        ("-1%", Err("percentage must be between 0 and 100")),
        ("101%", Err("percentage must be between 0 and 100")),
    ] {
        assert_eq!(percentage(text), expected.map_err(str::to_owned), "{text}");
    }
}
