//! What cgroups are set to (`helpers_linux_test.go`, `node_container_manager_linux_test.go`, `cgroup_manager_linux_test.go`).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::cgroup::{
    CpuQuotaPolicy, ResourceConfig, cpu_quota, cpu_shares, cpu_weight, existing_resources, hugepage_limits,
    hugepage_unit_size, node_resources, pod_resources, quota_to_milli, shares_of_weight, shares_to_milli,
};
use crate::pod::resources::Amounts;

const MI: i64 = 1 << 20;
const OFF: CpuQuotaPolicy = CpuQuotaPolicy { is_enforced: false, period_us: 100_000 };
const ON: CpuQuotaPolicy = CpuQuotaPolicy { is_enforced: true, period_us: 100_000 };
const TUNED: CpuQuotaPolicy = CpuQuotaPolicy { is_enforced: true, period_us: 5_000 };
const TUNED_OFF: CpuQuotaPolicy = CpuQuotaPolicy { is_enforced: false, period_us: 5_000 };

/// `100m 100Mi/200m 200Mi`: requests and limits.
fn resources(text: &str) -> Value {
    let list = |text: &str| match text.split_once(' ') {
        Some((cpu, memory)) => json!({"cpu": cpu, "memory": memory}),
        None => json!({}),
    };
    let (requests, limits) = text.split_once('/').unwrap_or((text, ""));
    json!({"requests": list(requests), "limits": list(limits)})
}

fn pod(of_pod: Option<&str>, containers: &[&str], init: &[&str]) -> Pod {
    let list = |texts: &[&str]| -> Vec<Value> {
        let named = texts.iter().enumerate();
        named.map(|(i, text)| json!({"name": format!("c{i}"), "resources": resources(text)})).collect()
    };
    let mut spec = json!({"containers": list(containers), "initContainers": list(init)});
    if let Some(text) = of_pod {
        spec["resources"] = resources(text);
    }
    serde_json::from_value(json!({"metadata": {"uid": "1"}, "spec": spec})).unwrap()
}

/// Shares; quota and period; bytes of memory.
type Expected = (i64, Option<(i64, i64)>, Option<i64>);

fn check(name: &str, pod: &Pod, quota: CpuQuotaPolicy, (shares, cpu, memory_bytes): Expected) {
    let expected = ResourceConfig {
        cpu_shares: Some(shares),
        cpu_quota_us: cpu.map(|(quota, _)| quota),
        cpu_period_us: cpu.map(|(_, period)| period),
        memory_bytes,
        ..ResourceConfig::default()
    };
    assert_eq!(pod_resources(pod, quota), expected, "{name}");
}

const REQUESTS: &str = "100m 100Mi";
const LIMITED: &str = "100m 100Mi/200m 200Mi";
const EXACT: &str = "100m 100Mi/100m 100Mi";

#[test]
fn a_pods_cgroup_by_its_containers() {
    let (shares, both) = (cpu_shares(100), cpu_shares(200));
    let cases: [(&str, &[&str], CpuQuotaPolicy, Expected); 12] = [
        ("besteffort", &[""], ON, (2, None, None)),
        ("burstable-no-limits", &[REQUESTS], ON, (shares, None, None)),
        ("burstable-with-limits", &[LIMITED], ON, (shares, Some((20_000, 100_000)), Some(200 * MI))),
        (
            "burstable-with-limits-no-cpu-enforcement",
            &[LIMITED],
            OFF,
            (shares, Some((-1, 100_000)), Some(200 * MI)),
        ),
        ("burstable-partial-limits", &[LIMITED, REQUESTS], ON, (both, None, None)),
        (
            "burstable-with-limits-with-tuned-quota",
            &[LIMITED],
            TUNED,
            (shares, Some((1_000, 5_000)), Some(200 * MI)),
        ),
        (
            "burstable-with-limits-no-cpu-enforcement-with-tuned-quota",
            &[LIMITED],
            TUNED_OFF,
            (shares, Some((-1, 5_000)), Some(200 * MI)),
        ),
        ("burstable-partial-limits-with-tuned-quota", &[LIMITED, REQUESTS], TUNED, (both, None, None)),
        ("guaranteed", &[EXACT], ON, (shares, Some((10_000, 100_000)), Some(100 * MI))),
        ("guaranteed-no-cpu-enforcement", &[EXACT], OFF, (shares, Some((-1, 100_000)), Some(100 * MI))),
        ("guaranteed-with-tuned-quota", &[EXACT], TUNED, (shares, Some((1_000, 5_000)), Some(100 * MI))),
        (
            "guaranteed-no-cpu-enforcement-with-tuned-quota",
            &[EXACT],
            TUNED_OFF,
            (shares, Some((-1, 5_000)), Some(100 * MI)),
        ),
    ];
    for (name, containers, quota, expected) in cases {
        check(name, &pod(None, containers, &[]), quota, expected);
    }
    let (limited, not) = ("100m 100m/100m 100Mi", "100m 100m");
    let with_init = pod(None, &[limited, not], &[limited, not]);
    check("burstable-partial-limits-with-init-containers", &with_init, TUNED, (both, None, None));
}

#[test]
fn a_pods_cgroup_by_the_class_of_its_status() {
    let shares = cpu_shares(100);
    let cases: [(&str, &str, Expected); 4] = [
        (EXACT, "Burstable", (shares, Some((10_000, 100_000)), Some(100 * MI))),
        (EXACT, "BestEffort", (2, None, None)),
        (REQUESTS, "BestEffort", (2, None, None)),
        (REQUESTS, "Guaranteed", (shares, Some((0, 100_000)), Some(0))),
    ];
    for (resources, class, expected) in cases {
        let mut settled = pod(None, &[resources], &[]);
        settled.status.get_or_insert_default().qos_class = Some(class.to_owned());
        check(&format!("{resources} is {class}"), &settled, ON, expected);
    }
}

#[test]
fn a_pods_own_word_goes_before_its_containers() {
    let (shares, partial) = (cpu_shares(100), cpu_shares(200));
    let burstable = (shares, Some((20_000, 100_000)), Some(200 * MI));
    let guaranteed = (shares, Some((10_000, 100_000)), Some(100 * MI));
    let small = "10m 50Mi/50m 100Mi";
    type Case<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str], Expected);
    let cases: [Case<'_>; 9] = [
        ("besteffort-with-pod-level-resources-enabled", "", &[""], &[], (2, None, None)),
        ("burstable-with-pod-level-requests", REQUESTS, &[""], &[], (shares, None, None)),
        (
            "burstable-with-pod-and-container-level-requests",
            REQUESTS,
            &["10m 50Mi"],
            &[],
            (shares, None, None),
        ),
        ("burstable-with-pod-level-resources", LIMITED, &[""], &[], burstable),
        ("burstable-with-pod-and-container-level-resources", LIMITED, &[small], &[], burstable),
        (
            "burstable-with-partial-pod-level-resources-limits",
            "200m 300Mi",
            &["200m 200Mi/200m 200Mi"],
            &[],
            (partial, Some((20_000, 100_000)), Some(200 * MI)),
        ),
        ("guaranteed-with-pod-level-resources", EXACT, &[""], &[], guaranteed),
        ("guaranteed-with-pod-and-container-level-resources", EXACT, &[small], &[], guaranteed),
        (
            "guaranteed-pod-level-resources-with-init-containers",
            EXACT,
            &["10m 50Mi/50m 50Mi"],
            &["10m 50Mi/50m 50Mi"],
            guaranteed,
        ),
    ];
    for (name, of_pod, containers, init, expected) in cases {
        check(name, &pod(Some(of_pod), containers, init), ON, expected);
    }
}

#[test]
fn overhead_is_part_of_the_pods_cgroup() {
    let mut pod = pod(None, &[EXACT], &[]);
    let overhead = json!({"cpu": "50m", "memory": "10Mi"});
    pod.spec.as_mut().unwrap().overhead = serde_json::from_value(overhead).unwrap();
    check("overhead", &pod, ON, (cpu_shares(150), Some((15_000, 100_000)), Some(110 * MI)));
}

#[test]
fn quotas() {
    let cases =
        [(0, 0, 0), (5, 1_000, 100_000), (9, 1_000, 100_000), (10, 1_000, 100_000), (200, 20_000, 100_000)];
    let more = [(500, 50_000, 100_000), (1_000, 100_000, 100_000), (1_500, 150_000, 100_000)];
    for (milli, quota, period) in cases.into_iter().chain(more) {
        assert_eq!(cpu_quota(milli, period), quota, "{milli}");
    }
    for (milli, quota) in [(-1, 0), (1, 1_000), (11, 1_100), (i64::MAX, i64::MAX)] {
        assert_eq!(cpu_quota(milli, 100_000), quota, "{milli}");
    }
    assert_eq!(
        (quota_to_milli(20_000, 100_000), quota_to_milli(-1, 100_000), quota_to_milli(1, 0)),
        (200, 0, 0)
    );
}

#[test]
fn shares_are_1024_a_cpu_within_the_kernels_bounds() {
    let cases = [(-1, 2), (0, 2), (1, 2), (2, 2), (10, 10), (100, 102), (1_000, 1_024), (64_000, 65_536)];
    let bounds = [(256_000, 262_144), (1_000_000, 262_144), (i64::MAX, 262_144)];
    for (milli, shares) in cases.into_iter().chain(bounds) {
        assert_eq!(cpu_shares(milli), shares, "{milli}");
    }
}

#[test]
fn weights_and_shares() {
    for (weight, shares) in [(1, 2), (2, 28), (3, 54), (4, 80), (245, 6_398), (10_000, 262_144)] {
        assert_eq!(shares_of_weight(weight), shares, "{weight}");
    }
    for (shares, weight) in [(0, 1), (2, 1), (1_024, 39), (262_144, 10_000), (i64::MAX, 10_000)] {
        assert_eq!(cpu_weight(shares), weight, "{shares}");
    }
    for (shares, milli) in [(0, 0), (1, 0), (2, 2), (102, 100), (204, 200), (1_024, 1_000)] {
        assert_eq!(shares_to_milli(shares), milli, "{shares}");
    }
}

#[test]
fn huge_pages_by_size() {
    let two = 2 << 20;
    type Case<'a> = (&'a [(&'a str, i64)], &'a [(u64, u64)]);
    let cases: [Case<'_>; 3] = [
        (&[("2Mi", 128)], &[]),
        (&[("hugepages-2Mi", 128)], &[(two, 128)]),
        (
            &[("hugepages-2Mi", 128), ("hugepages-2097152", 256), ("hugepages-4Mi", 512), ("4Mi", 1024)],
            &[(two, 384), (4 << 20, 512)],
        ),
    ];
    for (given, expected) in cases {
        let amounts: Amounts = given.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        let expected: BTreeMap<u64, u64> = expected.iter().copied().collect();
        assert_eq!(hugepage_limits(&amounts), expected);
        let requests: BTreeMap<String, String> =
            amounts.iter().map(|(name, amount)| (name.clone(), amount.to_string())).collect();
        let container = json!({"name": "c", "resources": {"requests": requests}});
        let pod: Pod = serde_json::from_value(json!({"spec": {"containers": [container]}})).unwrap();
        assert_eq!(pod_resources(&pod, OFF).hugepages, expected, "of a pod");
    }
    for (bytes, name) in [
        (two, Some("2MB")),
        (1 << 30, Some("1GB")),
        (64 << 10, Some("64KB")),
        (1_536, Some("1536B")),
        (0, None),
    ] {
        assert_eq!(hugepage_unit_size(bytes).as_deref(), name);
    }
}

#[test]
fn all_pods_and_the_system() {
    let amounts = |pairs: &[(&str, i64)]| -> Amounts {
        pairs.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
    };
    let both = amounts(&[("cpu", 100), ("memory", 200 * MI)]);
    let compressible = existing_resources(&both, "");
    assert_eq!(compressible, ResourceConfig { cpu_shares: Some(102), ..ResourceConfig::default() });
    let memory = node_resources(&amounts(&[("memory", 200 * MI)]), "");
    assert_eq!(memory, ResourceConfig { memory_bytes: Some(200 * MI), ..ResourceConfig::default() });
    let whole = amounts(&[("cpu", 4_000), ("memory", 8 << 30), ("pid", 1_000), ("hugepages-2Mi", 4 * MI)]);
    let expected = ResourceConfig {
        memory_bytes: Some(8 << 30),
        cpu_shares: Some(4_096),
        pids_max: Some(1_000),
        cpus: Some("0-3".to_owned()),
        hugepages: BTreeMap::from([(2 << 20, 4 << 20)]),
        ..ResourceConfig::default()
    };
    assert_eq!(node_resources(&whole, "0-3"), expected);
}
