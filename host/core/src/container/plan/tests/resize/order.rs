//! The order of a pod's own limits and its containers': upstream's table of the resize action.

use super::super::{language, render_step};
use super::{LARGE, MI, SMALL, World, check, container, resources};
use crate::cgroup::CpuQuotaPolicy;
use crate::cgroup::PodCgroup;
use crate::container::plan::resize::{ResizeError, desired_pod_cgroup};
use crate::fixtures::spec;
use crate::runtime::CgroupDriver;

/// The steps with a pod cgroup that is as its containers were.
fn with_pod(containers: &[(&str, &str, &str)]) -> World {
    let mut world = World::new("Always a:x a:y", "ready x=running y=running", containers);
    let mut before = world.pod.clone();
    for (name, _, current) in containers {
        container(&mut before, name).resources = resources(current);
    }
    world.cgroup = Some(desired_pod_cgroup(&before, CpuQuotaPolicy::default()));
    world
}

/// A claim, what one container should have, what it has, and the steps that follow.
type Order<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

#[track_caller]
fn check_next_to_small(cases: &[Order<'_>]) {
    for (claim, desired, current, expected) in cases {
        let world = with_pod(&[("x", desired, current), ("y", SMALL, SMALL)]);
        let steps: Vec<String> = world.plan().steps.iter().map(render_step).collect();
        assert_eq!(steps, *expected, "{claim}");
    }
}

#[test]
fn the_pods_own_limits_grow_before_and_shrink_after_its_containers() {
    let cases: &[Order<'_>] = &[
        (
            "both grow",
            LARGE,
            SMALL,
            &[
                "resize pod MemoryLimit 314572800",
                "resize x-0 Memory",
                "resize pod CpuQuota 30000",
                "resize pod CpuShares 307",
                "resize x-0 Cpu",
            ],
        ),
        (
            "both shrink",
            SMALL,
            LARGE,
            &[
                "resize x-0 Memory",
                "resize pod MemoryLimit 209715200",
                "resize x-0 Cpu",
                "resize pod CpuShares 204",
                "resize pod CpuQuota 20000",
            ],
        ),
        (
            "CPU grows, memory shrinks",
            "cpu 200m/200m memory 50Mi/50Mi",
            SMALL,
            &[
                "resize x-0 Memory",
                "resize pod MemoryLimit 157286400",
                "resize pod CpuQuota 30000",
                "resize pod CpuShares 307",
                "resize x-0 Cpu",
            ],
        ),
        (
            "CPU shrinks, memory grows",
            "cpu 50m/50m memory 200Mi/200Mi",
            SMALL,
            &[
                "resize pod MemoryLimit 314572800",
                "resize x-0 Memory",
                "resize x-0 Cpu",
                "resize pod CpuShares 153",
                "resize pod CpuQuota 15000",
            ],
        ),
    ];
    check_next_to_small(cases);
}

#[test]
fn requests_and_limits_of_the_pod_change_only_where_they_differ() {
    let cases: &[Order<'_>] = &[
        (
            "requests alone grow",
            "cpu 90m/100m memory 90Mi/100Mi",
            "cpu 50m/100m memory 50Mi/100Mi",
            &["resize x-0 Memory", "resize pod CpuShares 194", "resize x-0 Cpu"],
        ),
        (
            "requests alone shrink",
            "cpu 50m/100m memory 50Mi/100Mi",
            "cpu 90m/100m memory 90Mi/100Mi",
            &["resize x-0 Memory", "resize x-0 Cpu", "resize pod CpuShares 153"],
        ),
        ("the request of memory alone", "cpu 100m/100m memory 50Mi/100Mi", SMALL, &["resize x-0 Memory"]),
        (
            "limits alone grow",
            "cpu 100m/200m memory 100Mi/200Mi",
            SMALL,
            &[
                "resize pod MemoryLimit 314572800",
                "resize x-0 Memory",
                "resize pod CpuQuota 30000",
                "resize x-0 Cpu",
            ],
        ),
        (
            "the request of CPU grows while its limit shrinks",
            "cpu 100m/100m memory 100Mi/100Mi",
            "cpu 50m/200m memory 100Mi/100Mi",
            &["resize pod CpuShares 204", "resize x-0 Cpu", "resize pod CpuQuota 20000"],
        ),
    ];
    check_next_to_small(cases);
}

#[test]
fn a_pod_of_which_a_container_has_no_limit_has_none() {
    let cases: &[Order<'_>] = &[
        (
            "requests and limits grow",
            LARGE,
            SMALL,
            &["resize x-0 Memory", "resize pod CpuShares 307", "resize x-0 Cpu"],
        ),
        ("limits alone", "cpu 100m/200m memory 100Mi/200Mi", SMALL, &["resize x-0 Memory", "resize x-0 Cpu"]),
        (
            "memory's request",
            "cpu 100m/- memory 200Mi/-",
            "cpu 100m/- memory 100Mi/-",
            &["resize x-0 Memory"],
        ),
        (
            "CPU's request",
            "cpu 200m/- memory 100Mi/-",
            "cpu 100m/- memory 100Mi/-",
            &["resize pod CpuShares 307", "resize x-0 Cpu"],
        ),
        (
            "limits come to be",
            "cpu 100m/100m memory 100Mi/100Mi",
            "cpu 100m/- memory 100Mi/-",
            &["resize x-0 Memory", "resize x-0 Cpu"],
        ),
    ];
    for (claim, desired, current, expected) in cases {
        let unlimited = "cpu 100m/- memory 100Mi/-";
        let world = with_pod(&[("x", desired, current), ("y", unlimited, unlimited)]);
        let steps: Vec<String> = world.plan().steps.iter().map(render_step).collect();
        assert_eq!(steps, *expected, "{claim}");
    }
    let comes_to_be = with_pod(&[("x", SMALL, "cpu 100m/- memory 100Mi/-"), ("y", SMALL, SMALL)]);
    check(
        &comes_to_be,
        &[
            "resize x-0 Memory",
            "resize pod MemoryLimit 209715200",
            "resize x-0 Cpu",
            "resize pod CpuQuota 20000",
        ],
    );
}

#[test]
fn a_restart_for_resources_changes_the_pods_limits_with_it() {
    let world = with_pod(&[("x", LARGE, SMALL), ("y", SMALL, SMALL)]).restart_for("x", &["cpu", "memory"]);
    check(
        &world,
        &[
            "kill x-0 Resize 30s",
            "resize pod MemoryLimit 314572800",
            "resize pod CpuQuota 30000",
            "resize pod CpuShares 307",
            "start x #1",
        ],
    );
}

#[test]
fn the_pods_own_resources_go_before_the_sum_of_its_containers() {
    let pod_level = |desired: &str, current: &str| {
        let mut world = World::new("Always a:x", "ready x=running", &[("x", SMALL, SMALL)]);
        spec(&mut world.pod).resources = resources(current);
        world.cgroup = Some(desired_pod_cgroup(&world.pod, CpuQuotaPolicy::default()));
        spec(&mut world.pod).resources = resources(desired);
        world
    };
    let same = pod_level(LARGE, LARGE);
    check(&same, &[]);
    assert!(!same.in_progress());
    let grows = pod_level("cpu 400m/400m memory 400Mi/400Mi", LARGE);
    check(
        &grows,
        &["resize pod MemoryLimit 419430400", "resize pod CpuQuota 40000", "resize pod CpuShares 409"],
    );
    assert!(grows.in_progress());
    check(
        &pod_level("cpu 400m/400m memory 200Mi/200Mi", LARGE),
        &["resize pod CpuQuota 40000", "resize pod CpuShares 409"],
    );
    check(&pod_level("cpu 200m/200m memory 150Mi/150Mi", LARGE), &["resize pod MemoryLimit 157286400"]);
    let mut below = pod_level("cpu 200m/200m memory 150Mi/150Mi", LARGE);
    below.cgroup = below.cgroup.map(|cgroup| PodCgroup { memory_usage_bytes: Some(180 * MI), ..cgroup });
    let refused = below.plan();
    assert_eq!(refused.steps, []);
    assert_eq!(refused.resize_error, Some(ResizeError::PodMemory { limit: 150 * MI, usage: 180 * MI }));
}

#[test]
fn a_quota_that_the_driver_rounded_is_as_it_should_be() {
    // 15 milli-CPU are 1,500 of 100,000 µs, and systemd keeps whole percents.
    let limits = "cpu 15m/15m memory 200Mi/200Mi";
    let mut world = World::new("Always a:x", "ready x=running", &[("x", limits, limits)]);
    let desired = desired_pod_cgroup(&world.pod, CpuQuotaPolicy::default());
    world.cgroup = Some(PodCgroup { cpu_quota_us: 2_000, ..desired });
    check(&world, &["resize pod CpuQuota 1500"]);
    world.driver = CgroupDriver::Systemd;
    check(&world, &[]);
    world.cgroup = Some(PodCgroup { cpu_quota_us: 3_000, ..desired });
    check(&world, &["resize pod CpuQuota 1500"]);
}

#[test]
fn the_pods_limits_are_the_sum_of_its_containers_where_all_have_one() {
    let mut pod = language::pod("Always s:side a:x a:y");
    for name in ["side", "x", "y"] {
        container(&mut pod, name).resources = resources(SMALL);
    }
    let expected = PodCgroup {
        cpu_shares: 307,
        cpu_weight: None,
        cpu_quota_us: 30_000,
        cpu_period_us: 100_000,
        memory_limit_bytes: 300 * MI,
        memory_usage_bytes: None,
    };
    assert_eq!(desired_pod_cgroup(&pod, CpuQuotaPolicy::default()), expected);
    container(&mut pod, "side").resources = resources("cpu 100m/100m memory 100Mi/-");
    assert_eq!(
        desired_pod_cgroup(&pod, CpuQuotaPolicy::default()),
        PodCgroup { memory_limit_bytes: 0, ..expected }
    );
    let none = language::pod("Always a:x");
    assert_eq!(
        desired_pod_cgroup(&none, CpuQuotaPolicy::default()),
        PodCgroup { cpu_shares: 2, cpu_period_us: 100_000, ..PodCgroup::default() }
    );
}
