//! Tests of what a container was given: limits in force, user and mounts.

use k8s_openapi::api::core::v1::ContainerStatus;
use proptest::prelude::*;

use super::*;
use crate::fixtures::{exited, first, in_sandbox, pod, running};
use crate::runtime::LinuxResources;
use crate::status::{ResizeInProgress, ResizeStatus, StatusInput, generate};

fn list(amounts: &[(&str, &str)]) -> Option<BTreeMap<String, Quantity>> {
    let list: BTreeMap<_, _> =
        amounts.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).to_owned()))).collect();
    Some(list).filter(|list| !list.is_empty())
}

fn requirements(requests: &[(&str, &str)], limits: &[(&str, &str)]) -> ResourceRequirements {
    ResourceRequirements { claims: None, requests: list(requests), limits: list(limits) }
}

fn status_of(
    resources: ResourceRequirements,
    seen: Option<LinuxResources>,
    is_running: bool,
    previous: Option<&PodStatus>,
    resize: &ResizeStatus,
) -> PodStatus {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).resources = Some(resources);
    let container = if is_running { running(&pod, "a") } else { exited(&pod, "a", 1) };
    let observed = in_sandbox(vec![ObservedContainer { resources: seen, ..container }]);
    generate(StatusInput {
        pod: &pod,
        observed: &observed,
        previous,
        host_ips: &[],
        runtime_name: "containerd",
        recursive_read_only: false,
        waiting: &BTreeMap::new(),
        probes: &BTreeMap::new(),
        started_before: &BTreeMap::new(),
        resize,
        ends: false,
        now: crate::fixtures::at(1),
    })
}

fn container_of(status: &PodStatus) -> &ContainerStatus {
    &status.container_statuses.as_ref().unwrap()[0]
}

/// What is in force of a running container.
fn in_force_of(allocated: ResourceRequirements, seen: Option<LinuxResources>) -> ResourceRequirements {
    let status = status_of(allocated, seen, true, None, &ResizeStatus::default());
    container_of(&status).resources.clone().unwrap()
}

fn seen(shares: i64, quota: i64, memory: i64) -> Option<LinuxResources> {
    Some(LinuxResources {
        cpu_shares: shares,
        cpu_quota_us: quota,
        cpu_period_us: 100_000,
        memory_limit_bytes: memory,
        ..LinuxResources::default()
    })
}

#[test]
fn what_the_runtime_enforces_is_reported_where_the_spec_has_such_a_resource() {
    let both = || requirements(&[("cpu", "1"), ("memory", "64Mi")], &[("cpu", "2"), ("memory", "128Mi")]);
    let mebi = 1 << 20;
    let cases = [
        ("as allocated", both(), seen(1024, 200_000, 128 * mebi), both()),
        ("nothing said", both(), None, both()),
        (
            "another limit of CPU and memory",
            both(),
            seen(1024, 150_000, 96 * mebi),
            requirements(&[("cpu", "1"), ("memory", "64Mi")], &[("cpu", "1500m"), ("memory", "96Mi")]),
        ),
        (
            "another request for CPU",
            both(),
            seen(512, 200_000, 128 * mebi),
            requirements(&[("cpu", "500m"), ("memory", "64Mi")], &[("cpu", "2"), ("memory", "128Mi")]),
        ),
        ("no limit is enforced", both(), seen(1024, 0, 0), both()),
        (
            "a spec without limits",
            requirements(&[("cpu", "1")], &[]),
            seen(512, 200_000, 128 * mebi),
            requirements(&[("cpu", "500m")], &[]),
        ),
        ("a spec without anything", requirements(&[], &[]), seen(2, 0, 0), requirements(&[], &[])),
        (
            "too little to be distinguished",
            requirements(&[("cpu", "1m")], &[("cpu", "5m")]),
            seen(2, 1_000, 0),
            requirements(&[("cpu", "1m")], &[("cpu", "5m")]),
        ),
        (
            "a resource that can't be resized",
            requirements(&[("ephemeral-storage", "1Gi")], &[("ephemeral-storage", "2Gi")]),
            seen(2, 0, 0),
            requirements(&[("ephemeral-storage", "1Gi")], &[("ephemeral-storage", "2Gi")]),
        ),
    ];
    for (name, allocated, seen, expected) in cases {
        // A spec that asks for memory or storage alone shows no CPU that no one asked for.
        let mut reported = in_force_of(allocated, seen);
        if !expected.requests.as_ref().is_some_and(|requests| requests.contains_key("cpu"))
            && let Some(requests) = &mut reported.requests
        {
            requests.remove("cpu");
        }
        assert_eq!(reported, expected, "{name}");
    }
}

#[test]
fn a_container_that_does_not_run_shows_what_it_was_allocated() {
    let allocated = requirements(&[("cpu", "1")], &[("cpu", "2")]);
    let status = status_of(allocated.clone(), seen(2, 1, 1), false, None, &ResizeStatus::default());
    let container = container_of(&status);
    assert_eq!(container.resources.as_ref(), Some(&allocated));
    assert_eq!(container.allocated_resources, allocated.requests);
}

#[test]
fn what_the_runtime_does_not_say_stays_as_it_was_said() {
    let old = status_of(
        requirements(&[("cpu", "1")], &[("memory", "64Mi")]),
        seen(1024, 0, 64 << 20),
        true,
        None,
        &ResizeStatus::default(),
    );
    let newly_allocated = requirements(&[("cpu", "2")], &[("memory", "128Mi")]);
    let status = status_of(newly_allocated.clone(), None, true, Some(&old), &ResizeStatus::default());
    let reported = container_of(&status).resources.clone().unwrap();
    assert_eq!(reported, requirements(&[("cpu", "1")], &[("memory", "64Mi")]));
    assert_eq!(container_of(&status).allocated_resources, newly_allocated.requests);
}

#[test]
fn memory_request_follows_the_allocation_once_the_resize_is_done() {
    let mebi = 1 << 20;
    let old = requirements(&[("cpu", "50m"), ("memory", "16Mi")], &[("cpu", "100m"), ("memory", "32Mi")]);
    let new = requirements(&[("cpu", "60m"), ("memory", "24Mi")], &[("cpu", "120m"), ("memory", "48Mi")]);
    let before = status_of(old.clone(), seen(51, 10_000, 32 * mebi), true, None, &ResizeStatus::default());
    let under_way = ResizeStatus { in_progress: Some(ResizeInProgress::default()), pending: None };
    let during = status_of(new.clone(), seen(51, 10_000, 32 * mebi), true, Some(&before), &under_way);
    assert_eq!(container_of(&during).resources.as_ref(), Some(&old));
    // All that the runtime reports is in force; the request for memory comes with it.
    let enforced = seen(61, 12_000, 48 * mebi);
    let after = status_of(new.clone(), enforced, true, Some(&during), &ResizeStatus::default());
    assert_eq!(container_of(&after).resources.as_ref(), Some(&new));
}

#[test]
fn a_pod_shows_its_sum_and_the_old_one_while_a_resize_is_under_way() {
    let allocated = requirements(&[("cpu", "1500m"), ("memory", "64Mi")], &[("memory", "1Gi")]);
    let before = status_of(allocated.clone(), None, true, None, &ResizeStatus::default());
    assert_eq!(before.allocated_resources, allocated.requests);
    assert_eq!(before.resources.as_ref(), Some(&allocated));
    let granted = requirements(&[("cpu", "2"), ("memory", "64Mi")], &[("memory", "1Gi")]);
    let under_way = ResizeStatus { in_progress: Some(ResizeInProgress::default()), pending: None };
    let during = status_of(granted.clone(), None, true, Some(&before), &under_way);
    assert_eq!(during.allocated_resources, granted.requests);
    assert_eq!(during.resources.as_ref(), Some(&allocated));
    let after = status_of(granted.clone(), None, true, Some(&during), &ResizeStatus::default());
    assert_eq!(after.resources.as_ref(), Some(&granted));
}

#[test]
fn a_user_is_reported_with_its_groups() {
    let reported = user(&ContainerUser { uid: 1000, gid: 1001, supplemental_groups: vec![5, 6] });
    let linux = reported.linux.unwrap();
    assert_eq!((linux.uid, linux.gid, linux.supplemental_groups), (1000, 1001, Some(vec![5, 6])));
    let reported = user(&ContainerUser { uid: 0, gid: 0, supplemental_groups: vec![] });
    assert_eq!(reported.linux.and_then(|linux| linux.supplemental_groups), None);
}

#[test]
fn a_read_only_mount_says_whether_that_goes_all_the_way_down() {
    // Read-only, what the spec asks for, propagation, whether the runtime can; what is reported.
    let cases = [
        (None, None, None, true, None),
        (Some(false), None, None, true, None),
        (Some(true), None, None, true, Some("Disabled")),
        (Some(true), Some("Disabled"), None, true, Some("Disabled")),
        (Some(true), Some("IfPossible"), None, true, Some("Enabled")),
        (Some(true), Some("IfPossible"), None, false, Some("Disabled")),
        (Some(true), Some("IfPossible"), Some("None"), true, Some("Enabled")),
        (Some(true), Some("IfPossible"), Some("HostToContainer"), true, Some("Disabled")),
        (Some(true), Some("Enabled"), None, true, Some("Enabled")),
        (Some(true), Some("Enabled"), None, false, Some("Disabled")),
    ];
    for (read_only, asked, propagation, supported, expected) in cases {
        let mount = VolumeMount {
            name: "v".to_owned(),
            mount_path: "/v".to_owned(),
            read_only,
            recursive_read_only: asked.map(str::to_owned),
            mount_propagation: propagation.map(str::to_owned),
            ..VolumeMount::default()
        };
        let container = Container { volume_mounts: Some(vec![mount]), ..Container::default() };
        let reported = volume_mounts(&container, supported).unwrap().remove(0);
        assert_eq!((reported.name.as_str(), reported.mount_path.as_str()), ("v", "/v"));
        assert_eq!(reported.read_only, read_only.filter(|read_only| *read_only));
        assert_eq!(
            reported.recursive_read_only.as_deref(),
            expected,
            "{read_only:?} {asked:?} {propagation:?}"
        );
    }
    assert_eq!(volume_mounts(&Container::default(), true), None);
}

#[test]
fn amounts_are_written_as_people_write_them() {
    let cases = [
        ("cpu", 1_000, "1"),
        ("cpu", 1_500, "1500m"),
        ("cpu", 0, "0"),
        ("memory", 0, "0"),
        ("memory", 1_023, "1023"),
        ("memory", 64 << 20, "64Mi"),
        ("memory", 3 << 29, "1536Mi"),
        ("hugepages-2Mi", 1 << 30, "1Gi"),
    ];
    for (resource, amount, expected) in cases {
        assert_eq!(quantity(resource, amount).0, expected);
    }
}

proptest! {
    #[test]
    fn an_amount_means_what_it_was(resource in prop_oneof![Just("cpu"), Just("memory")], n in 0..i64::MAX / 2) {
        prop_assert_eq!(amount(resource, &quantity(resource, n)), Ok(n));
    }
}
