//! Tests of the kernel's figures.

mod memory;

use proptest::prelude::*;

use super::*;
use crate::container::spec::fixtures;
use crate::fixtures::{first, from_file, pod, spec};

/// The figures of a container with these `resources:` on a node with 8 GB and cgroups of version 1.
fn figures(yaml: &str) -> LinuxResources {
    figures_in(yaml, "null", "1", false).unwrap()
}

/// The same in a pod with those, with cgroups of this version and perhaps swap that is counted.
fn figures_in(yaml: &str, of_pod: &str, cgroups: &str, swap: bool) -> Result<LinuxResources, SpecError> {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).resources = serde_saphyr::from_str(yaml).unwrap();
    spec(&mut pod).resources = serde_saphyr::from_str(of_pod).unwrap();
    let container = first(&mut pod).clone();
    let node = fixtures::node(cgroups);
    let host = Host { swap_controller: swap, ..fixtures::host(&node) };
    resources(fixtures::input(&pod, &container, host))
}

fn pages(pairs: [(&str, u64); 2]) -> BTreeMap<String, u64> {
    pairs.map(|(size, bytes)| (size.to_owned(), bytes)).into()
}

#[test]
fn a_container_without_resources_gets_the_least_and_no_limit() {
    let expected = LinuxResources {
        cpu_shares: 2,
        cpu_quota_us: 0,
        cpu_period_us: 100_000,
        memory_limit_bytes: 0,
        oom_score_adj: 1_000,
        hugepage_limits: pages([("2MB", 0), ("1GB", 0)]),
        ..LinuxResources::default()
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
fn request_and_limit_are_distinguished() {
    let both = figures("{requests: {cpu: 250m, memory: 1G}, limits: {cpu: 1, memory: 2G}}");
    assert_eq!((both.cpu_shares, both.cpu_quota_us, both.memory_limit_bytes), (256, 100_000, 2_000_000_000));
    assert_eq!(both.oom_score_adj, 1_000 - 125);
    assert_eq!(figures("{requests: {cpu: 0}, limits: {cpu: 1}}").cpu_shares, 2, "0 was asked for");
    let unlimited = figures("{requests: {cpu: 2, memory: 128Mi}}");
    assert_eq!((unlimited.cpu_shares, unlimited.cpu_quota_us, unlimited.cpu_period_us), (2048, 0, 100_000));
    assert_eq!(unlimited.memory_limit_bytes, 0);
}

#[test]
fn something_that_is_no_quantity_is_refused_by_name() {
    let error = |own: &str, of_pod: &str| figures_in(own, of_pod, "1", false).unwrap_err().to_string();
    let lots = "{limits: {memory: lots}}";
    assert_eq!(error(lots, "null"), "container a: limits.memory \"lots\" is not a quantity");
    assert_eq!(error("null", lots), "container a: pod limits.memory \"lots\" is not a quantity");
    let pages = "{limits: {hugepages-2Mi: -2Mi}}";
    assert_eq!(error(pages, "null"), "container a: limits.hugepages-2Mi \"-2Mi\" is not a quantity");
}

#[test]
fn a_container_without_limits_has_its_pods() {
    let of_pod = "{requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 2Gi, hugepages-2Mi: 4Mi}}";
    let of = |own: &str| {
        let figures = figures_in(own, of_pod, "1", false).unwrap();
        let mib = figures.memory_limit_bytes >> 20;
        (figures.cpu_shares, figures.cpu_quota_us, mib, figures.hugepage_limits["2MB"] >> 20)
    };
    // Without a request of its own a container weighs as much as its limit, here the pod's.
    assert_eq!(of("{}"), (2_048, 200_000, 2_048, 4));
    assert_eq!(of("{requests: {cpu: 500m, memory: 64Mi}}"), (512, 200_000, 2_048, 4));
    assert_eq!(of("{limits: {cpu: 1, memory: 1Gi, hugepages-2Mi: 2Mi}}"), (1_024, 100_000, 1_024, 2));
    assert_eq!(of("{limits: {cpu: 0, memory: 0}, requests: {cpu: 0}}"), (2, 200_000, 2_048, 4));
}

#[test]
fn huge_pages_are_limited_by_the_kernels_names_of_their_sizes() {
    let of = |own: &str| figures(own).hugepage_limits;
    assert_eq!(of("{}"), pages([("2MB", 0), ("1GB", 0)]));
    assert_eq!(of("{limits: {hugepages-2Mi: 100Mi}}"), pages([("2MB", 100 << 20), ("1GB", 0)]));
    let both = of("{limits: {hugepages-2Mi: 100Mi, hugepages-1Gi: 2Gi}}");
    assert_eq!(both, pages([("2MB", 100 << 20), ("1GB", 2 << 30)]));
    let cases = [
        ("hugepages-64Ki", Some("64KB")),
        ("hugepages-2Mi", Some("2MB")),
        ("hugepages-2048Ki", Some("2MB")),
        ("hugepages-512Mi", Some("512MB")),
        ("hugepages-1Gi", Some("1GB")),
        ("hugepages-16Gi", Some("16GB")),
        ("hugepages-1536", Some("1536B")),
        ("hugepages-", None),
        ("hugepages-0", None),
        ("hugepages-much", None),
        ("memory", None),
    ];
    for (resource, expected) in cases {
        assert_eq!(page_size(resource).as_deref(), expected, "{resource}");
    }
}

#[test]
fn no_one_swaps_where_the_kernel_can_forbid_it() {
    let of = |cgroups, swap| {
        let figures = figures_in("{limits: {memory: 1Gi}}", "null", cgroups, swap).unwrap();
        let files = figures.unified.into_iter().map(|(file, content)| format!("{file}={content}"));
        (figures.memory_swap_limit_bytes, files.collect::<Vec<_>>().join(" "))
    };
    assert_eq!(of("2", true), (0, "memory.oom.group=1 memory.swap.max=0".to_owned()));
    assert_eq!(of("2", false), (0, "memory.oom.group=1".to_owned()));
    assert_eq!(of("1", true), (1 << 30, String::new()));
    assert_eq!(of("1", false), (0, String::new()));
}

#[test]
fn a_container_out_of_memory_ends_as_a_whole_where_the_kernel_can_and_the_node_wants_it() {
    let of = |cgroups: &str, one: bool| {
        let pod = pod("Always", &["a"]);
        let node = fixtures::node(cgroups);
        let host = Host { single_process_oom_kill: one, ..fixtures::host(&node) };
        let container = &pod.spec.as_ref().unwrap().containers[0];
        resources(fixtures::input(&pod, container, host)).unwrap().unified.get("memory.oom.group").cloned()
    };
    assert_eq!((of("2", false).as_deref(), of("2", true)), (Some("1"), None));
    assert_eq!((of("1", false), of("1", true)), (None, None));
}

/// The score of the named container, on a node with 8 GB.
fn score(yaml: &str, name: &str) -> i64 {
    let mut pod = pod("Always", &["a"]);
    *spec(&mut pod) = serde_saphyr::from_str(yaml).unwrap();
    let spec = spec(&mut pod).clone();
    let mut all = spec.containers.iter().chain(spec.init_containers.iter().flatten());
    let container = all.find(|container| container.name == name).unwrap();
    oom_score_adj(&pod, container, 8_000_000_000)
}

#[test]
fn the_oom_score_follows_the_class_and_the_share_of_memory() {
    let cases = [
        ("{limits: {cpu: 1, memory: 1G}, requests: {cpu: 1, memory: 1G}}", -997),
        ("{}", 1_000),
        ("{requests: {cpu: 1}}", 999),
        ("{limits: {cpu: 1}}", 999),
        ("{requests: {memory: 1}}", 999),
        ("{requests: {memory: 8M}}", 999),
        ("{requests: {memory: 16M}}", 998),
        ("{requests: {memory: 4G}}", 500),
        ("{requests: {memory: 4G}, limits: {memory: 8G}}", 500),
        ("{requests: {memory: 7984M}}", 3),
        ("{requests: {memory: 8G}}", 3),
        ("{requests: {memory: 80G}}", 3),
    ];
    for (yaml, expected) in cases {
        let yaml = format!("{{containers: [{{name: a, resources: {yaml}}}]}}");
        assert_eq!(score(&yaml, "a"), expected, "{yaml}");
    }
}

#[test]
fn a_sidecar_goes_no_sooner_than_the_app_container_that_asks_for_least() {
    let memory = |list: &[(&str, &str)], sidecar: bool| {
        let policy = if sidecar { "restartPolicy: Always," } else { "" };
        let one = |(name, memory): &(&str, &str)| {
            format!("{{name: {name}, {policy} resources: {{requests: {{memory: {memory}}}}}}}")
        };
        list.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let with = |apps: &[(&str, &str)], init: &[(&str, &str)], sidecar: bool, name: &str| {
        let (apps, init) = (memory(apps, false), memory(init, sidecar));
        score(&format!("{{containers: [{apps}], initContainers: [{init}]}}"), name)
    };
    let apps = [("a", "2G"), ("b", "4G")];
    assert_eq!(with(&apps, &[("s", "1G")], true, "s"), 750, "as the one with 2 GB");
    assert_eq!(with(&apps, &[("s", "3G")], true, "s"), 625, "more than the least");
    assert_eq!(with(&apps, &[("s", "6G")], true, "s"), 250);
    assert_eq!(with(&apps, &[("i", "1G")], false, "i"), 875, "no sidecar");
    assert_eq!(with(&apps, &[("s", "1G")], true, "a"), 750);
    assert_eq!(with(&[("a", "8G")], &[("s", "1G")], true, "s"), 3);
    assert_eq!(with(&[("a", "0")], &[("s", "8M")], true, "s"), 999);
}

#[test]
fn memory_that_the_pod_asks_for_beyond_its_containers_is_shared_among_them() {
    let requests = "containers: [{name: a, resources: {requests: {memory: 1G}}}, {name: b}],
                    initContainers: [{name: i, resources: {requests: {memory: 500M}}},
                                     {name: s, restartPolicy: Always}]";
    // 5 GB less the 1 GB of the containers, in four parts.
    let of = |name| score(&format!("{{resources: {{requests: {{memory: 5G}}}}, {requests}}}"), name);
    assert_eq!([of("a"), of("b"), of("i"), of("s")], [750, 875, 813, 875]);
    let cpu_only = |name| score(&format!("{{resources: {{requests: {{cpu: 1}}}}, {requests}}}"), name);
    assert_eq!([cpu_only("a"), cpu_only("b")], [875, 999]);
    let guaranteed = "{resources: {requests: {cpu: 1, memory: 1G}, limits: {cpu: 1, memory: 1G}}, containers: [{name: a}]}";
    assert_eq!(score(guaranteed, "a"), -997);
}

#[test]
fn a_node_that_does_not_know_its_memory_takes_the_cautious_score() {
    let mut pod = pod("Always", &["a"]);
    first(&mut pod).resources = serde_saphyr::from_str("{requests: {memory: 4G}}").unwrap();
    let container = first(&mut pod).clone();
    assert_eq!(oom_score_adj(&pod, &container, 0), 999);
}

#[test]
fn only_pods_that_the_node_needs_are_protected_by_their_priority_class() {
    let with_class = |pod: Pod, class: &str| {
        let mut pod = pod;
        spec(&mut pod).priority_class_name = Some(class.to_owned());
        let container = first(&mut pod).clone();
        oom_score_adj(&pod, &container, 8_000_000_000)
    };
    let pod = pod("Always", &["a"]);
    assert_eq!(with_class(pod.clone(), "system-node-critical"), 1_000, "its priority doesn't bear it out");
    assert_eq!(with_class(from_file(pod.clone()), "system-node-critical"), -997);
    assert_eq!(with_class(from_file(pod), "system-cluster-critical"), 1_000);
}

proptest! {
    #[test]
    fn scores_of_burstable_pods_lie_between_the_other_classes(request in 0..i64::MAX, capacity in any::<i64>()) {
        let mut pod = pod("Always", &["a"]);
        let yaml = format!("{{requests: {{cpu: 1, memory: {request}}}}}");
        first(&mut pod).resources = serde_saphyr::from_str(&yaml).unwrap();
        let container = first(&mut pod).clone();
        prop_assert!((3..=999).contains(&oom_score_adj(&pod, &container, capacity)));
    }
}

#[test]
fn a_sandbox_is_reported_the_pods_limits_without_its_own_cost() {
    let mut pod = pod("Always", &["a"]);
    let node = fixtures::node("1");
    let host = fixtures::host(&node);
    let cgroup = PodCgroup {
        cpu_shares: 307,
        cpu_quota_us: 30_000,
        cpu_period_us: 100_000,
        memory_limit_bytes: 300,
        ..PodCgroup::default()
    };
    let values = |pod: &Pod, cgroup| {
        let (overhead, rest) = sandbox_resources(pod, host, cgroup);
        (overhead.memory_limit_bytes, rest.cpu_shares, rest.cpu_quota_us, rest.memory_limit_bytes)
    };
    assert_eq!(values(&pod, cgroup), (0, 307, 30_000, 300));
    let overhead = serde_json::json!({"cpu": "100m", "memory": "100"});
    spec(&mut pod).overhead = serde_json::from_value(overhead).unwrap();
    assert_eq!(values(&pod, cgroup), (100, 204, 20_000, 200));
    let unlimited = PodCgroup { cpu_quota_us: 0, memory_limit_bytes: 0, ..cgroup };
    assert_eq!(values(&pod, unlimited), (100, 204, 0, 0), "no limit stays none");
}

#[test]
fn a_sandbox_is_reported_what_its_pod_states_and_no_more() {
    const MI: i64 = 1 << 20;
    let node = fixtures::node("1");
    for (claim, overhead, (shares, quota, memory), expected) in [
        ("nothing", "{}", (2, 0, 0), (0, 2, 0, 0)),
        ("CPU alone", "{}", (409, 80_000, 0), (0, 409, 80_000, 0)),
        ("CPU alone, and it costs CPU", "{cpu: 100m}", (512, 90_000, 0), (0, 409, 80_000, 0)),
        ("memory alone", "{}", (2, 0, 256 * MI), (0, 2, 0, 256 * MI)),
        ("memory alone, and it costs memory", "{memory: 64Mi}", (2, 0, 320 * MI), (64 * MI, 2, 0, 256 * MI)),
    ] {
        let mut pod = pod("Always", &["a"]);
        spec(&mut pod).overhead = serde_saphyr::from_str(overhead).unwrap();
        let cgroup = PodCgroup {
            cpu_shares: shares,
            cpu_quota_us: quota,
            cpu_period_us: 100_000,
            memory_limit_bytes: memory,
            ..PodCgroup::default()
        };
        let (cost, rest) = sandbox_resources(&pod, fixtures::host(&node), cgroup);
        let found = (cost.memory_limit_bytes, rest.cpu_shares, rest.cpu_quota_us, rest.memory_limit_bytes);
        assert_eq!(found, expected, "{claim}");
    }
}
