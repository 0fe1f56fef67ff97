//! In-place changes of CPU and memory: upstream's tables of pod actions for a resize and of a resize in progress.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ContainerResizePolicy, Pod};

use super::{NOW, language, render_step};
use crate::cgroup::{CpuQuotaPolicy, PodCgroup};
use crate::container::backoff::{BackoffTable, CRASH};
use crate::container::plan::resize::{
    Actuated, ResizeContainer, ResizeError, ResizeFacts, actuated, in_progress,
};
use crate::container::plan::{Plan, PlanInput, Step, plan};
use crate::fixtures::{at, resources, spec};
use crate::pod::allocation::ContainerResources;
use crate::probe::ProbeResults;
use crate::runtime::{CgroupDriver, LinuxResources, ObservedPod};

mod order;

const MI: i64 = 1024 * 1024;

fn of(text: &str) -> ContainerResources {
    let container = Container { resources: resources(text), ..Container::default() };
    ContainerResources::of(&Pod::default(), &container)
}

fn container<'a>(pod: &'a mut Pod, name: &str) -> &'a mut Container {
    let spec = spec(pod);
    let init = spec.init_containers.iter_mut().flatten();
    spec.containers.iter_mut().chain(init).find(|container| container.name == name).unwrap()
}

/// A container's name, what it should have, and what it has.
type Desired<'a> = (&'a str, &'a str, &'a str);

/// A pod, what is seen of it, and what its running containers were given.
struct World {
    pod: Pod,
    seen: ObservedPod,
    actuated: Actuated,
    usage: BTreeMap<crate::runtime::ContainerId, i64>,
    cgroup: Option<PodCgroup>,
    driver: CgroupDriver,
}

impl World {
    /// Each container by name with what it should have and what it has.
    fn new(pod: &str, seen: &str, containers: &[Desired<'_>]) -> Self {
        let mut pod = language::pod(pod);
        let mut given = Actuated::new();
        for (name, desired, current) in containers {
            container(&mut pod, name).resources = resources(desired);
            given.insert(format!("{name}-0").as_str().into(), of(current));
        }
        let (seen, _) = language::seen(&pod, seen);
        Self {
            pod,
            seen,
            actuated: given,
            usage: BTreeMap::new(),
            cgroup: None,
            driver: CgroupDriver::Cgroupfs,
        }
    }

    fn restart_for(mut self, name: &str, resources: &[&str]) -> Self {
        let policy = |resource: &&str| ContainerResizePolicy {
            resource_name: (*resource).to_owned(),
            restart_policy: "RestartContainer".to_owned(),
        };
        container(&mut self.pod, name).resize_policy = Some(resources.iter().map(policy).collect());
        self
    }

    fn facts(&self) -> ResizeFacts<'_> {
        ResizeFacts {
            actuated: &self.actuated,
            memory_usage: &self.usage,
            pod_cgroup: self.cgroup,
            cpu_quota: CpuQuotaPolicy::default(),
            cgroup_driver: self.driver,
        }
    }

    fn plan(&self) -> Plan {
        plan(PlanInput {
            pod: &self.pod,
            observed: &self.seen,
            backoff: &BackoffTable::new(CRASH),
            probes: &ProbeResults::new(),
            restart_counts: &BTreeMap::new(),
            resize: Some(self.facts()),
            now: at(NOW),
        })
    }

    fn in_progress(&self) -> bool {
        in_progress(&self.pod, &self.seen, self.facts())
    }
}

#[track_caller]
fn check(world: &World, expected: &[&str]) {
    let plan = world.plan();
    let steps: Vec<String> = plan.steps.iter().map(render_step).collect();
    assert_eq!(steps, expected);
    assert_eq!(plan.resize_error, None);
}

const SMALL: &str = "cpu 100m/100m memory 100Mi/100Mi";
const LARGE: &str = "cpu 200m/200m memory 200Mi/200Mi";

#[test]
fn a_running_container_is_changed_where_it_differs() {
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("nothing differs", SMALL, SMALL, &[]),
        ("nothing is asked for at all", "", "", &[]),
        ("both", LARGE, SMALL, &["resize x-0 Memory", "resize x-0 Cpu"]),
        ("CPU alone", "cpu 200m/200m memory 100Mi/100Mi", SMALL, &["resize x-0 Cpu"]),
        ("memory alone", "cpu 100m/100m memory 200Mi/200Mi", SMALL, &["resize x-0 Memory"]),
        ("CPU's request alone", "cpu 50m/100m memory 100Mi/100Mi", SMALL, &["resize x-0 Cpu"]),
        ("CPU's limit alone", "cpu 100m/200m memory 100Mi/100Mi", SMALL, &["resize x-0 Cpu"]),
        ("memory's request alone", "cpu 100m/100m memory 50Mi/100Mi", SMALL, &["resize x-0 Memory"]),
        ("memory's limit alone", "cpu 100m/100m memory 100Mi/200Mi", SMALL, &["resize x-0 Memory"]),
        ("limits come to be", "cpu 100m/200m", "cpu 100m/-", &["resize x-0 Cpu"]),
        ("the same in other words", "cpu 0.1/0.1 memory 102400Ki/100Mi", SMALL, &[]),
    ];
    for (claim, desired, current, expected) in cases {
        let world = World::new("Always a:x a:y", "ready x=running y=running", &[("x", desired, current)]);
        let steps: Vec<String> = world.plan().steps.iter().map(render_step).collect();
        assert_eq!(steps, *expected, "{claim}");
    }
}

#[test]
fn a_container_restarts_for_what_its_policy_says_and_only_for_that() {
    let new = |desired| World::new("Never a:x a:y", "ready x=running y=running", &[("x", desired, SMALL)]);
    let restart: &[&str] = &["kill x-0 Resize 30s", "start x #1"];
    check(&new(LARGE).restart_for("x", &["cpu", "memory"]), restart);
    check(&new(LARGE).restart_for("x", &["memory"]), restart);
    check(&new("cpu 100m/100m memory 200Mi/200Mi").restart_for("x", &["memory"]), restart);
    check(&new("cpu 200m/200m memory 100Mi/100Mi").restart_for("x", &["memory"]), &["resize x-0 Cpu"]);
    check(&new("cpu 200m/200m memory 100Mi/100Mi").restart_for("x", &["cpu"]), restart);
    check(&new("cpu 100m/100m memory 200Mi/200Mi").restart_for("x", &["cpu"]), &["resize x-0 Memory"]);
    check(&new("cpu 50m/100m memory 100Mi/100Mi").restart_for("x", &["cpu"]), restart);
    check(&new(SMALL).restart_for("x", &["cpu", "memory"]), &[]);
}

#[test]
fn a_container_that_does_not_run_is_started_with_what_it_should_have() {
    check(&World::new("Always a:x a:y", "ready x=exit1 y=running", &[("x", LARGE, SMALL)]), &["start x #1"]);
    check(&World::new("Never a:x a:y", "ready x=exit1 y=running", &[("x", LARGE, SMALL)]), &[]);
    check(&World::new("Always i:one a:x", "ready one=running", &[("one", LARGE, SMALL)]), &[]);
}

#[test]
fn sidecars_are_changed_too_and_init_containers_are_not() {
    let seen = "ready x=running two=running one=exit0";
    let world =
        || World::new("Always i:one s:two a:x", seen, &[("one", LARGE, SMALL), ("two", LARGE, SMALL)]);
    check(&world(), &["resize two-0 Memory", "resize two-0 Cpu"]);
    check(&world().restart_for("two", &["memory"]), &["kill two-0 Resize 30s", "start two #1"]);
    check(
        &World::new("Always s:two i:one a:x", "ready one=running two=running", &[("two", LARGE, SMALL)]),
        &["resize two-0 Memory", "resize two-0 Cpu"],
    );
}

#[test]
fn what_shrinks_goes_before_what_grows() {
    let world = World::new(
        "Always a:x a:y a:z",
        "ready x=running y=running z=running",
        &[
            ("x", "cpu 200m/200m memory 50Mi/50Mi", SMALL),
            ("y", "cpu 50m/50m memory 200Mi/200Mi", SMALL),
            ("z", "cpu 50m/100m memory 150Mi/100Mi", SMALL),
        ],
    );
    check(
        &world,
        &[
            "resize x-0 Memory",
            "resize y-0 Memory",
            "resize z-0 Memory",
            "resize z-0 Cpu",
            "resize y-0 Cpu",
            "resize x-0 Cpu",
        ],
    );
}

#[test]
fn other_reasons_to_kill_a_container_go_before_its_resources() {
    let mut world = World::new("Always a:x a:y", "ready x=running y=running", &[("x", LARGE, SMALL)]);
    container(&mut world.pod, "x").image = Some("newer".to_owned());
    check(&world, &["kill x-0 SpecChanged 30s", "start x #1"]);
}

#[test]
fn resources_alone_never_change_a_containers_definition() {
    let mut world = World::new("Always a:x", "ready x=running", &[]);
    container(&mut world.pod, "x").resources = resources(LARGE);
    let no_facts = PlanInput { resize: None, ..input(&world) };
    assert_eq!(plan(no_facts).steps, [], "without facts of a resize nothing is changed");
}

fn input(world: &World) -> PlanInput<'_> {
    static NO_PROBES: ProbeResults = ProbeResults::new();
    static NO_COUNTS: BTreeMap<String, u32> = BTreeMap::new();
    static NO_BACKOFF: std::sync::LazyLock<BackoffTable> =
        std::sync::LazyLock::new(|| BackoffTable::new(CRASH));
    PlanInput {
        pod: &world.pod,
        observed: &world.seen,
        backoff: &NO_BACKOFF,
        probes: &NO_PROBES,
        restart_counts: &NO_COUNTS,
        resize: Some(world.facts()),
        now: at(NOW),
    }
}

#[test]
fn the_runtime_is_asked_for_one_resource_at_a_time_and_the_record_follows() {
    let world = World::new("Always a:x", "ready x=running", &[("x", LARGE, SMALL)]);
    let steps: Vec<ResizeContainer> = world
        .plan()
        .steps
        .into_iter()
        .map(|step| match step {
            Step::ResizeContainer(resize) => resize,
            other => panic!("only a resize was to be done: {other:?}"),
        })
        .collect();
    let memory = LinuxResources { memory_limit_bytes: 200 * MI, ..LinuxResources::default() };
    let cpu = LinuxResources {
        cpu_shares: 204,
        cpu_quota_us: 20_000,
        cpu_period_us: 100_000,
        ..LinuxResources::default()
    };
    assert_eq!(steps[0].limits, Some(memory));
    assert_eq!(steps[0].actuated, of("cpu 100m/100m memory 200Mi/200Mi"));
    assert_eq!(steps[1].limits, Some(cpu));
    assert_eq!(steps[1].actuated, of(LARGE));
    let request_only =
        World::new("Always a:x", "ready x=running", &[("x", "memory 50Mi/-", "memory 10Mi/-")]);
    let Step::ResizeContainer(resize) = &request_only.plan().steps[0] else { panic!("a resize") };
    assert_eq!(resize.limits, None, "the kernel knows no request of memory");
}

#[test]
fn a_limit_of_memory_below_its_use_stops_the_whole_change() {
    let world = |usage: i64| {
        let mut world = World::new(
            "Always a:x a:y",
            "ready x=running y=running",
            &[("x", "cpu 200m/200m memory 50Mi/50Mi", SMALL), ("y", LARGE, SMALL)],
        );
        world.usage.insert("x-0".into(), usage);
        world
    };
    let refused = world(60 * MI).plan();
    assert_eq!(refused.steps, []);
    let error = refused.resize_error.unwrap();
    let expected = ResizeError::ContainerMemory { container: "x".to_owned(), limit: 50 * MI, usage: 60 * MI };
    assert_eq!(error, expected);
    assert_eq!(
        error.to_string(),
        r#"attempting to set container "x" memory limit (52428800) below current usage (62914560)"#
    );
    assert_eq!(world(40 * MI).plan().steps.len(), 4, "enough memory");
    let mut grows = World::new("Always a:x", "ready x=running", &[("x", LARGE, SMALL)]);
    grows.usage.insert("x-0".into(), 500 * MI);
    assert_eq!(grows.plan().resize_error, None, "a limit that grows is never refused");
}

#[test]
fn a_resize_is_in_progress_while_a_running_container_differs() {
    let pod = "Always i:init s:side a:x a:y";
    let cases: &[(&str, &str, &[Desired<'_>], bool)] = &[
        ("nothing is asked for", "ready x=running", &[("x", "", "")], false),
        ("nothing differs", "ready x=running", &[("x", SMALL, SMALL)], false),
        ("the same in other words", "ready x=running", &[("x", "cpu 0.1/100m", "cpu 100m/0.1")], false),
        ("CPU's request", "ready x=running", &[("x", "cpu 50m/100m", "cpu 100m/100m")], true),
        ("CPU's limit", "ready x=running", &[("x", "cpu 50m/200m", "cpu 50m/100m")], true),
        ("memory's request", "ready x=running", &[("x", "memory 5Mi/10Mi", "memory 4Mi/10Mi")], true),
        ("memory's limit", "ready x=running", &[("x", "memory 5Mi/10Mi", "memory 5Mi/20Mi")], true),
        ("all of them", "ready x=running", &[("x", LARGE, SMALL)], true),
        ("a request of CPU comes to be", "ready x=running", &[("x", "cpu 50m/-", "")], true),
        ("a request of memory comes to be", "ready x=running", &[("x", "memory 5Mi/-", "")], true),
        ("a limit of CPU comes to be", "ready x=running", &[("x", "cpu 50m/50m", "cpu 50m/-")], true),
        (
            "a limit of memory comes to be",
            "ready x=running",
            &[("x", "memory 5Mi/5Mi", "memory 5Mi/-")],
            true,
        ),
        ("it has ended", "ready x=exit0", &[("x", LARGE, SMALL)], false),
        ("it was made, and no more", "ready x=created", &[("x", LARGE, SMALL)], false),
        ("no one knows whether it runs", "ready x=unknown", &[("x", LARGE, SMALL)], false),
        ("nothing of it is there", "ready", &[("x", LARGE, SMALL)], false),
        (
            "another one differs",
            "ready x=running y=running",
            &[("x", SMALL, SMALL), ("y", LARGE, SMALL)],
            true,
        ),
        (
            "another one differs and doesn't run",
            "ready x=running y=exit1",
            &[("x", SMALL, SMALL), ("y", LARGE, SMALL)],
            false,
        ),
        (
            "several, and none differs",
            "ready x=running y=running",
            &[("x", SMALL, SMALL), ("y", LARGE, LARGE)],
            false,
        ),
        ("an init container that runs", "ready init=running", &[("init", LARGE, SMALL)], false),
        ("a sidecar", "ready side=running x=running", &[("side", LARGE, SMALL), ("x", SMALL, SMALL)], true),
        ("a sidecar that is as it should be", "ready side=running", &[("side", SMALL, SMALL)], false),
        ("a sidecar that has ended", "ready side=exit1 x=running", &[("side", LARGE, SMALL)], false),
    ];
    for (claim, seen, containers, expected) in cases {
        assert_eq!(World::new(pod, seen, containers).in_progress(), *expected, "{claim}");
    }
}

#[test]
fn a_limit_of_the_pod_changes_the_containers_that_have_none_of_their_own() {
    let mut world = World::new(
        "Always a:x a:y",
        "ready x=running y=running",
        &[("x", "cpu 50m/-", "cpu 50m/400m"), ("y", "cpu 50m/100m", "cpu 50m/100m")],
    );
    spec(&mut world.pod).resources = resources("cpu 300m/400m");
    check(&world, &[]);
    assert!(!world.in_progress());
    spec(&mut world.pod).resources = resources("cpu 300m/500m");
    check(&world, &["resize x-0 Cpu"]);
    assert!(world.in_progress());
}

#[test]
fn without_a_record_the_runtime_says_what_a_container_has() {
    let desired = of("cpu 150m/250m memory 64Mi/128Mi");
    let (seen, _) = language::seen(&language::pod("Always a:x"), "ready x=running");
    let limits = |shares, quota, memory| LinuxResources {
        cpu_shares: shares,
        cpu_quota_us: quota,
        cpu_period_us: 100_000,
        memory_limit_bytes: memory,
        ..LinuxResources::default()
    };
    let cases = [
        ("it doesn't say", None, desired),
        ("it knows nothing", Some(LinuxResources::default()), desired),
        ("read back from cgroup v2, it is the same", Some(limits(133, 25_000, 128 * MI)), desired),
        ("rounded down, it is the same", Some(limits(153, 25_000, 128 * MI)), desired),
        (
            "it has less",
            Some(limits(102, 10_000, 100 * MI)),
            ContainerResources {
                cpu_request_milli: 99,
                cpu_limit_milli: 100,
                memory_limit_bytes: 100 * MI,
                ..desired
            },
        ),
        (
            "it has no limit of CPU",
            Some(limits(153, -1, 128 * MI)),
            ContainerResources { cpu_limit_milli: 0, ..desired },
        ),
    ];
    for (claim, resources, expected) in cases {
        let mut running = seen.containers[0].clone();
        running.resources = resources;
        assert_eq!(
            actuated(&Actuated::new(), &running, desired, CpuQuotaPolicy::default()),
            expected,
            "{claim}"
        );
    }
    let records = Actuated::from([("x-0".into(), of(SMALL))]);
    assert_eq!(
        actuated(&records, &seen.containers[0], desired, CpuQuotaPolicy::default()),
        of(SMALL),
        "a record goes before"
    );
}
