//! Tests of the kernel's figures.

use proptest::prelude::*;

use super::*;
use crate::fixtures::{first, from_file, pod, spec};

/// The figures of a container with these `resources:` on a node with 8 GB.
fn figures(yaml: &str) -> LinuxResources {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).resources = serde_saphyr::from_str(yaml).unwrap();
    let container = first(&mut pod).clone();
    resources(&pod, &container, 8_000_000_000).unwrap()
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
fn a_quota_is_a_share_of_100_milliseconds_and_never_below_1() {
    for (milli, quota) in
        [(-1, 0), (0, 0), (1, 1_000), (10, 1_000), (11, 1_100), (500, 50_000), (2_000, 200_000)]
    {
        assert_eq!(cpu_quota(milli), quota, "{milli}");
    }
    assert_eq!(cpu_quota(i64::MAX), i64::MAX);
}

#[test]
fn a_container_without_resources_gets_the_least_and_no_limit() {
    let expected = LinuxResources {
        cpu_shares: 2,
        cpu_quota_us: 0,
        cpu_period_us: 100_000,
        memory_limit_bytes: 0,
        oom_score_adj: 1_000,
    };
    assert_eq!(figures("{}"), expected);
}

#[test]
fn a_limit_alone_is_also_a_request() {
    let limited = figures("{limits: {cpu: 500m, memory: 1Gi}}");
    assert_eq!((limited.cpu_shares, limited.cpu_quota_us), (512, 50_000));
    assert_eq!(limited.memory_limit_bytes, 1 << 30);
}

#[test]
fn request_and_limit_are_told_apart() {
    let both = figures("{requests: {cpu: 250m, memory: 1G}, limits: {cpu: 1, memory: 2G}}");
    assert_eq!((both.cpu_shares, both.cpu_quota_us, both.memory_limit_bytes), (256, 100_000, 2_000_000_000));
    assert_eq!(both.oom_score_adj, 1_000 - 125);
    assert_eq!(figures("{requests: {cpu: 0}, limits: {cpu: 1}}").cpu_shares, 2, "0 was asked for");
}

#[test]
fn something_that_is_no_quantity_is_refused_by_name() {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).resources = serde_saphyr::from_str("{limits: {memory: lots}}").unwrap();
    let container = first(&mut pod).clone();
    let error = resources(&pod, &container, 0).unwrap_err();
    assert_eq!(error.to_string(), "container a: limits.memory \"lots\" is not a quantity");
}

#[test]
fn the_oom_score_follows_the_class_and_the_share_of_memory() {
    let guaranteed = "{limits: {cpu: 1, memory: 1G}, requests: {cpu: 1, memory: 1G}}";
    let cases = [
        (guaranteed, 1_000_000_000, -997),
        ("{}", 0, 1_000),
        ("{requests: {cpu: 1}}", 0, 999),
        ("{requests: {memory: 1}}", 1, 999),
        ("{requests: {memory: 4G}}", 4_000_000_000, 500),
        ("{requests: {memory: 8G}}", 8_000_000_000, 3),
        ("{requests: {memory: 80G}}", 80_000_000_000, 3),
    ];
    for (yaml, request, expected) in cases {
        let mut pod = pod("Always", &["a"]);
        first(&mut pod).resources = serde_saphyr::from_str(yaml).unwrap();
        assert_eq!(oom_score_adj(&pod, request, 8_000_000_000), expected, "{yaml}");
    }
}

#[test]
fn a_node_that_does_not_know_its_memory_takes_the_cautious_score() {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).resources = serde_saphyr::from_str("{requests: {memory: 4G}}").unwrap();
    assert_eq!(oom_score_adj(&pod, 4_000_000_000, 0), 999);
}

#[test]
fn only_pods_that_the_node_needs_are_protected_by_their_priority_class() {
    let with_class = |pod: Pod, class: &str| {
        let mut pod = pod;
        spec(&mut pod).priority_class_name = Some(class.to_owned());
        oom_score_adj(&pod, 0, 8_000_000_000)
    };
    let pod = pod("Always", &["a"]);
    assert_eq!(with_class(pod.clone(), "system-node-critical"), 1_000, "its priority doesn't bear it out");
    assert_eq!(with_class(from_file(pod.clone()), "system-node-critical"), -997);
    assert_eq!(with_class(from_file(pod), "system-cluster-critical"), 1_000);
}

proptest! {
    #[test]
    fn scores_of_burstable_pods_lie_between_the_other_classes(request in any::<i64>(), capacity in any::<i64>()) {
        let mut pod = pod("Always", &["a"]);
        first(&mut pod).resources = serde_saphyr::from_str("{requests: {cpu: 1}}").unwrap();
        prop_assert!((3..=999).contains(&oom_score_adj(&pod, request, capacity)));
    }
}
