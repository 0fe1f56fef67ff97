//! What ends the start of an agent that is to keep cgroups, and what systemd's driver makes of pods.

use serde_json::json;
use witlet_core::cgroup::{CgroupVersion, MemoryQos, MemoryReservation, ResourceConfig};
use witlet_core::container::spec::SwapBehavior;
use witlet_core::event::{EventObject, EventType};
use witlet_core::node::allocatable::Enforcement;
use witlet_core::node::tunables::TunablePolicy;
use witlet_core::runtime::CgroupDriver;
use witlet_ports::{AgentView, CgroupError};
use witlet_testkit::{FakeCgroups, FakeNode};

use crate::support::{bound_pod, condition, node, orders, pass, pod_with_uid};

fn keeping() -> FakeNode {
    let mut node = node();
    node.set_cgroups_per_qos(true);
    node.config.cgroups.enforce = [Enforcement::Pods].into();
    node
}

fn on_systemd() -> FakeNode {
    let node = keeping();
    node.runtime.set_cgroup_driver(CgroupDriver::Systemd);
    node
}

fn pod(name: &str) -> Vec<k8s_openapi::api::core::v1::Pod> {
    let resources = json!({"requests": {"cpu": "250m", "memory": "64Mi"}});
    let container = json!({"name": "app", "image": "sleeper:1", "resources": resources});
    vec![pod_with_uid(name, &format!("uid-{name}"), json!({"containers": [container]}))]
}

type Break = fn(&mut FakeNode);

/// What is claimed, the node, what is changed, and what the refusal begins with.
type Refusal = (&'static str, fn() -> FakeNode, Break, &'static str);

fn missing(node: &mut FakeNode) {
    node.cgroups.fail_start(CgroupError::NotMounted { controllers: "cpu memory".to_owned() });
}

fn read_only(node: &mut FakeNode) {
    node.cgroups.fail_start(CgroupError::File {
        action: "mkdir",
        path: "/sys/fs/cgroup/memory/kubepods".to_owned(),
        problem: "Read-only file system (os error 30)".to_owned(),
        not_found: false,
    });
}

fn no_systemd(node: &mut FakeNode) {
    node.cgroups.fail_start(CgroupError::NoSystemd);
}

/// There is a cgroup of this name, but no slice.
fn no_slice(node: &mut FakeNode) {
    node.cgroups.put("/nowhere", ResourceConfig::default());
    node.config.cgroups.root = "/nowhere".to_owned();
}

fn no_kube_cgroup(node: &mut FakeNode) {
    node.config.cgroups.enforce.insert(Enforcement::KubeReserved);
    node.config.cgroups.kube_cgroup = "/kube".to_owned();
    node.config.cgroups.reservations.kube = [("cpu".to_owned(), 100)].into();
}

fn silent(node: &mut FakeNode) {
    node.cgroups.fail_start(CgroupError::SystemdAway { problem: "timed out".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn what_cant_be_kept_ends_the_start_with_its_reason() {
    let cases: [Refusal; 10] = [
        (
            "controllers are missing",
            keeping,
            missing,
            "system validation failed - Following Cgroup subsystem not mounted: [cpu memory]",
        ),
        (
            "the file system is read-only",
            keeping,
            read_only,
            "mkdir /sys/fs/cgroup/memory/kubepods: Read-only file system (os error 30)",
        ),
        (
            "the root isn't there",
            keeping,
            |node| node.config.cgroups.root = "/nowhere".to_owned(),
            "invalid configuration: cgroup \"/nowhere\" has some missing paths: /nowhere",
        ),
        (
            "the root isn't there, on systemd",
            on_systemd,
            no_slice,
            "invalid configuration: cgroup \"/nowhere.slice\" has some missing paths: /nowhere.slice",
        ),
        (
            "more is reserved than there is",
            keeping,
            |node| node.config.cgroups.reservations.system = [("memory".to_owned(), 16 << 30)].into(),
            "invalid Node Allocatable configuration. Resource \"memory\" has a reservation of",
        ),
        (
            "more is reserved than there is, and pods have no cgroups",
            node,
            |node| node.config.cgroups.reservations.system = [("memory".to_owned(), 16 << 30)].into(),
            "invalid Node Allocatable configuration. Resource \"memory\" has a reservation of",
        ),
        (
            "what is reserved for isn't there",
            keeping,
            no_kube_cgroup,
            "Failed to enforce Kube Reserved Cgroup Limits on \"/kube\": cgroup \"/kube\" has some missing paths",
        ),
        (
            "nothing is reserved",
            keeping,
            |node| {
                node.config.cgroups.enforce.insert(Enforcement::SystemReserved);
                node.config.cgroups.system_cgroup = "/system".to_owned();
            },
            "Failed to enforce System Reserved Cgroup Limits on \"/system\": [\"system\"] cgroup is not configured properly",
        ),
        (
            "systemd isn't the init",
            on_systemd,
            no_systemd,
            "systemd not running on this host, cannot use systemd cgroups manager",
        ),
        ("systemd doesn't answer", on_systemd, silent, "failed to connect to systemd over D-Bus: timed out"),
    ];
    for (claim, of, change, expected) in cases {
        let mut node = of();
        change(&mut node);
        node.start();
        node.source.put("b", pod("b"));
        pass(5.0).await;
        expect_refused(&node, claim, expected);
    }
}

fn expect_refused(node: &FakeNode, claim: &str, expected: &str) {
    let failure = node.failure().unwrap_or_default();
    let begin = format!("failed to start ContainerManager: {expected}");
    assert!(failure.starts_with(&begin), "{claim}: {failure}");
    assert!(!orders(node).contains("sandbox"), "{claim}: no pod is started");
}

/// Memory, CPU shares and processes of a cgroup.
type Limits = (Option<i64>, Option<i64>, Option<i64>);

#[tokio::test(start_paused = true)]
async fn what_is_reserved_is_set_on_the_cgroup_it_is_reserved_for() {
    const NONE: Limits = (None, None, None);
    let amounts = |mib: i64, milli: i64, pids: i64| {
        [("memory".to_owned(), mib << 20), ("cpu".to_owned(), milli), ("pid".to_owned(), pids)].into()
    };
    let (system, kube) = ((Some(1 << 30), Some(512), Some(100)), (Some(512 << 20), Some(256), Some(50)));
    let cases: [(Enforcement, Limits, Limits); 4] = [
        (Enforcement::SystemReserved, system, NONE),
        (Enforcement::KubeReserved, NONE, kube),
        (Enforcement::SystemReservedCompressible, (None, Some(512), None), NONE),
        (Enforcement::KubeReservedCompressible, NONE, (None, Some(256), None)),
    ];
    for (enforcement, of_system, of_kube) in cases {
        let mut node = keeping();
        node.cgroups.put("/system", ResourceConfig::default());
        node.cgroups.put("/kube", ResourceConfig::default());
        let cgroups = &mut node.config.cgroups;
        cgroups.node_pids = Some(10_000);
        (cgroups.system_cgroup, cgroups.kube_cgroup) = ("/system".to_owned(), "/kube".to_owned());
        cgroups.reservations.system = amounts(1024, 500, 100);
        cgroups.reservations.kube = amounts(512, 250, 50);
        cgroups.enforce.insert(enforcement);
        node.start();
        pass(3.0).await;
        assert_eq!(node.failure(), None, "{enforcement:?}");
        let limits = |path: &str| {
            let config = node.cgroups.config(path).expect("it is there");
            (config.memory_bytes, config.cpu_shares, config.pids_max)
        };
        assert_eq!((limits("/system"), limits("/kube")), (of_system, of_kube), "{enforcement:?}");
        let (memory, shares, _) = limits("/kubepods");
        let rest = ((8 << 30) - (1 << 30) - (512 << 20), 4 * 1024 - 512 - 256);
        assert_eq!((memory, shares), (Some(rest.0), Some(rest.1)), "pods have the rest in each case");
    }
}

#[tokio::test(start_paused = true)]
async fn on_systemd_the_root_is_the_slice_of_its_name() {
    let mut node = on_systemd();
    node.cgroups.put("/a.slice/a-b_c.slice", ResourceConfig::default());
    node.config.cgroups.root = "/a/b-c".to_owned();
    node.start();
    node.source.put("b", pod("b"));
    pass(3.0).await;
    assert_eq!(node.failure(), None);
    let sandbox = node.runtime.sandbox_spec("b-node1").expect("it was made");
    let kubepods = "/a.slice/a-b_c.slice/a-b_c-kubepods.slice";
    let slice = format!("{kubepods}/a-b_c-kubepods-burstable.slice/a-b_c-kubepods-burstable-poduid_b.slice");
    assert_eq!(sandbox.cgroup_parent, Some(slice));
}

#[tokio::test(start_paused = true)]
async fn on_systemd_pods_have_slices_in_the_slices_of_their_classes() {
    let mut node = on_systemd();
    node.start();
    node.source.put("b", pod("b"));
    pass(3.0).await;
    let slice = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poduid_b.slice";
    let sandbox = node.runtime.sandbox_spec("b-node1").expect("it was made");
    assert_eq!(sandbox.cgroup_parent.as_deref(), Some(slice));
    assert_eq!(node.cgroups.config(slice).and_then(|config| config.cpu_shares), Some(256));
    node.kill();
    node.start();
    pass(5.0).await;
    assert!(node.cgroups.config(slice).is_some(), "it isn't an orphan");
    node.source.remove("b");
    pass(60.0).await;
    assert_eq!(node.cgroups.config(slice), None);
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_release_without_slices_go_on_where_they_are() {
    let mut node = node();
    node.runtime.set_cgroup_driver(CgroupDriver::Systemd);
    node.start();
    node.source.put("b", pod("b"));
    pass(3.0).await;
    node.kill();
    orders(&node);
    node.set_cgroups_per_qos(true);
    node.start();
    pass(30.0).await;
    let done = orders(&node);
    assert!(!done.contains("stop") && !done.contains("sandbox"), "{done}");
}

#[tokio::test(start_paused = true)]
async fn memory_is_kept_for_pods_and_their_classes_on_version_2() {
    for (version, expected) in [(CgroupVersion::V1, None), (CgroupVersion::V2, Some("67108864"))] {
        let mut node = keeping();
        node.cgroups = FakeCgroups::of_version(node.runtime.clone(), version);
        node.config.cgroups.memory_qos = Some(MemoryQos {
            reservation: MemoryReservation::Tiered,
            throttling_factor: 0.9,
            page_bytes: 4096,
        });
        node.start();
        node.source.put("b", pod("b"));
        pass(15.0).await;
        let file =
            |path: &str, file: &str| node.cgroups.config(path).and_then(|c| c.unified.get(file).cloned());
        let expected = expected.map(str::to_owned);
        assert_eq!(file("/kubepods", "memory.min"), expected, "{version:?}");
        assert_eq!(file("/kubepods/burstable", "memory.low"), expected, "{version:?}");
        assert_eq!(file("/kubepods/burstable/poduid-b", "memory.low"), expected, "{version:?}");
        let kept = node.agent().stats().cgroups.kept_memory;
        let kept = kept.map(|kept| (kept.guaranteed, kept.burstable.to_string()));
        assert_eq!(kept, expected.map(|bytes| (0, bytes)), "{version:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_class_that_uses_more_than_is_left_for_it_keeps_what_it_uses() {
    let mut node = keeping();
    node.config.cgroups.qos_reserved_percent = Some(100);
    node.start();
    node.source.put("b", pod("b"));
    pass(15.0).await;
    let memory = |path: &str| node.cgroups.config(path).and_then(|config| config.memory_bytes);
    let all = 8_i64 << 30;
    assert_eq!(memory("/kubepods/burstable"), Some(all));
    assert_eq!(memory("/kubepods/besteffort"), Some(all - (64 << 20)));
    node.cgroups.use_memory("/kubepods/besteffort", all);
    node.cgroups.fail_next("update", 1);
    pass(60.0).await;
    assert_eq!(memory("/kubepods/besteffort"), Some(all));
}

/// Warnings about the node, by reason and message.
fn node_warnings(node: &FakeNode) -> Vec<String> {
    let events = node.agent().events().into_iter().filter(|recorded| {
        recorded.event.object == EventObject::Node && recorded.event.kind == EventType::Warning
    });
    events.map(|e| format!("{} ×{} {}", e.event.reason, e.count, e.event.message)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_out_of_memory_and_one_that_swaps_secrets_are_reported() {
    let mut node = keeping();
    node.start();
    pass(1.0).await;
    assert_eq!(node_warnings(&node), [""; 0]);
    for of in ["global_oom", "oom_memcg=/kubepods/pod1", "global_oom"] {
        node.system.log("app invoked oom-killer: gfp_mask=0x100cca");
        let summary = format!(
            "nodemask=(null),cpuset=/,mems_allowed=0,{of},task_memcg=/kubepods/pod1,task=app,pid=7,uid=0"
        );
        node.system.log(&format!("oom-kill:constraint=CONSTRAINT_NONE,{summary}"));
        node.system.log("Out of memory: Killed process 7 (app) total-vm:1kB, anon-rss:1kB");
    }
    pass(1.0).await;
    assert_eq!(
        node_warnings(&node),
        ["SystemOOM ×2 System OOM encountered, victim process: app, pid: 7"],
        "a pod's limit is no shortage of the machine"
    );
    node.kill();
    node.system.set_swaps_memory_volumes();
    node.start();
    pass(1.0).await;
    let warnings = node_warnings(&node);
    let is_upstreams = |text: &String| {
        text.starts_with("PossibleMemoryBackedVolumesOnDisk ×1 The tmpfs noswap option is not supported.")
    };
    assert!(warnings.iter().any(is_upstreams), "{warnings:?}");
}

#[tokio::test(start_paused = true)]
async fn tunables_of_the_kernel_are_written_checked_or_left() {
    let with = |policy: TunablePolicy| {
        let mut node = keeping();
        node.config.cgroups.tunables = policy;
        node.system.set_tunable_to("kernel/panic", Some(0));
        node.system.set_tunable_to("vm/overcommit_memory", Some(0));
        node
    };
    let mut node = with(TunablePolicy::Write);
    node.start();
    pass(1.0).await;
    assert_eq!(node.failure(), None);
    assert_eq!(node.system.tunable_now("kernel/panic"), Some(10));
    assert_eq!(node.system.tunable_now("vm/overcommit_memory"), Some(1));
    let mut node = with(TunablePolicy::Leave);
    node.start();
    pass(1.0).await;
    assert_eq!((node.failure(), node.system.tunable_now("kernel/panic")), (None, Some(0)));
    let failed = |failure: Option<String>, expected: &str| {
        let failure = failure.unwrap_or_default();
        assert!(failure.starts_with(&format!("failed to start ContainerManager: {expected}")), "{failure}");
    };
    let mut node = with(TunablePolicy::Check);
    node.start();
    pass(1.0).await;
    failed(
        node.failure(),
        "[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 0, \
         invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]",
    );
    assert_eq!(node.cgroups.paths(), ["/"], "nothing is made before");
    let mut node = with(TunablePolicy::Write);
    node.system.set_read_only();
    node.start();
    pass(1.0).await;
    failed(
        node.failure(),
        "[write 1 to /proc/sys/vm/overcommit_memory: Read-only file system, \
         write 10 to /proc/sys/kernel/panic: Read-only file system]",
    );
    let mut node = with(TunablePolicy::Write);
    node.system.set_tunable_to("kernel/panic_on_oops", None);
    node.start();
    pass(1.0).await;
    failed(node.failure(), "read /proc/sys/kernel/panic_on_oops: No such file or directory");
}

#[tokio::test(start_paused = true)]
async fn the_agent_and_the_system_are_put_into_their_cgroups_each_minute() {
    let mut node = keeping();
    node.config.cgroups.own_cgroup = Some("/kubelet".to_owned());
    node.config.cgroups.system_processes = Some("/system".to_owned());
    node.config.cgroups.oom_score = Some(-999);
    node.start();
    pass(1.0).await;
    let placed = |node: &FakeNode| -> Vec<String> {
        let done = orders(node);
        let lines = done.lines().filter(|line| line.contains("move ") || line.contains("score "));
        lines.map(|line| line.trim().to_owned()).collect()
    };
    let round = |second: u32| {
        ["move system to /system", "move agent to /kubelet", "score agent -999"]
            .map(|what| format!("{second}.000 {what}"))
    };
    assert_eq!(placed(&node), round(0));
    node.system.fail_moves(2);
    pass(60.0).await;
    assert_eq!(placed(&node), [""; 0], "both failed");
    pass(60.0).await;
    assert_eq!(placed(&node), round(120), "and are tried again");
    let mut node = keeping();
    node.config.cgroups.oom_score = Some(-998);
    node.start();
    pass(301.0).await;
    assert_eq!(placed(&node), ["0.000 score agent -998", "300.000 score agent -998"]);
}

#[tokio::test(start_paused = true)]
async fn memory_that_may_be_swapped_isnt_resized_in_place() {
    let asking = |memory: &str| {
        let resources = json!({"requests": {"memory": memory}, "limits": {"memory": "1Gi"}});
        let container = json!({"name": "app", "image": "sleeper:1", "resources": resources});
        // Static pods are critical, and critical pods never swap.
        vec![bound_pod("b-node1", json!({"containers": [container]}))]
    };
    for (swap, expected) in [
        (SwapBehavior::NoSwap, None),
        (SwapBehavior::Limited, Some("In-place resize of containers with swap is not supported")),
    ] {
        let mut node = keeping();
        node.config.cgroups.swap = swap;
        node.start();
        node.source.put_as_is("b", asking("64Mi"));
        pass(3.0).await;
        node.source.put_as_is("b", asking("128Mi"));
        pass(3.0).await;
        let pending = condition(&node, "b", "PodResizePending");
        assert_eq!(pending.is_some(), expected.is_some(), "{swap:?}: {pending:?}");
        assert!(pending.unwrap_or_default().contains(expected.unwrap_or_default()), "{swap:?}");
    }
}
