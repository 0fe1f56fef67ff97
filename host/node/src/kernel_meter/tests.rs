//! Files of a kernel in a folder.

use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use jiff::SignedDuration;
use tempfile::TempDir;

mod node;
mod quiet;

/// Noon, and so many milliseconds later.
#[derive(Default)]
struct Noon(AtomicI64);

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        let noon: Timestamp = "2026-06-01T12:00:00Z".parse().expect("a time");
        noon + SignedDuration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

struct Machine {
    folder: TempDir,
    clock: Arc<Noon>,
    meter: SystemMeter,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let kernel = Kernel {
            proc: folder.path().join("proc"),
            cgroups: folder.path().join("cgroup"),
            processors: folder.path().join("cpu"),
        };
        let named = NamedCgroups { runtime: Some("/runtime".to_owned()), misc: Some("/system".to_owned()) };
        let clock = Arc::new(Noon::default());
        let machine =
            Self { meter: SystemMeter::with_kernel(kernel, "/", named, clock.clone()), folder, clock };
        machine.write("proc/meminfo", "MemTotal: 100 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
        for (path, text) in files {
            machine.write(path, text);
        }
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn later(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    async fn counts(&self, scope: Scope) -> KernelCounts {
        self.meter.counts(vec![running_pod("u-1", &["c1"])], scope).await
    }
}

fn running_pod(uid: &str, containers: &[&str]) -> RunningPod {
    let containers = containers.iter().map(|id| ContainerId::from(*id)).collect();
    RunningPod { uid: uid.into(), containers, sandbox: Some("s1".into()), host_network: false }
}

const DEV: &str = "a\nb\n eth0: 11 0 0 0 0 0 0 0 22 0 0 0 0 0 0 0\n";

fn version_2(pod: &str, container: &str) -> Machine {
    let file = |name: &str| format!("cgroup/{pod}/{name}");
    let of_container = |name: &str| file(&format!("{container}/{name}"));
    let machine = Machine::new(&[
        ("cgroup/cgroup.controllers", "cpu memory"),
        ("cgroup/cpu.stat", "usage_usec 9\n"),
        ("cgroup/memory.stat", "anon 5\nfile 6\ninactive_file 1\n"),
        ("proc/stat", "cpu 1\nbtime 1790000000\n"),
        ("proc/loadavg", "0.0 0.0 0.0 1/300 5"),
        ("proc/sys/kernel/pid_max", "4000"),
        ("proc/net/dev", DEV),
        ("proc/77/net/dev", DEV),
        ("proc/self/cgroup", "0::/system.slice/witlet.service\n"),
        ("cgroup/system.slice/witlet.service/memory.current", "123"),
    ]);
    machine.write(&file("memory.current"), "1000");
    machine.write(&file("memory.stat"), "inactive_file 400\n");
    machine.write(&of_container("cpu.stat"), "usage_usec 3\n");
    machine.write(&of_container("memory.current"), "500");
    machine.write(&of_container("cgroup.procs"), "77\n78\n");
    machine
}

#[tokio::test]
async fn pods_of_each_driver_and_class_are_found() {
    for (pod, container) in [
        ("kubepods/podu-1", "c1"),
        ("kubepods/burstable/podu-1", "c1"),
        ("kubepods/besteffort/podu-1", "c1"),
        ("kubepods.slice/kubepods-podu_1.slice", "cri-containerd-c1.scope"),
        ("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu_1.slice", "crio-c1.scope"),
    ] {
        let counts = version_2(pod, container).counts(Scope::All).await;
        let found = &counts.pods[&PodUid::from("u-1")];
        let memory = |usage: &CgroupUsage| usage.memory.map(|memory| memory.working_set);
        assert_eq!(found.usage.as_ref().and_then(memory), Some(600), "{pod}");
        let container = &found.containers[&ContainerId::from("c1")];
        assert_eq!(container.usage.cpu_nanoseconds, Some(3000), "{pod}");
        assert_eq!(memory(&container.usage), Some(500), "{pod}");
        assert_eq!(container.processes, Some(2), "{pod}");
        assert_eq!(found.network.as_ref().map(|all| all[0].tx_bytes), Some(22), "{pod}");
    }
}

#[tokio::test]
async fn the_node_is_counted() {
    let counts = version_2("kubepods/podu-1", "c1").counts(Scope::All).await;
    let node = counts.node.expect("it is read");
    assert_eq!((node.cpu_nanoseconds, node.memory.map(|memory| memory.working_set)), (Some(9000), Some(10)));
    assert_eq!(counts.booted_at, Timestamp::from_second(1_790_000_000).ok());
    assert_eq!(counts.pids, Some((4000, 300)));
    assert_eq!(counts.network.len(), 1);
    assert_eq!(working_sets(&counts), [(SystemContainer::Kubelet, 123)]);
}

fn working_sets(counts: &KernelCounts) -> Vec<(SystemContainer, u64)> {
    let memory = |found: &SystemUsage| found.usage.memory.map_or(0, |memory| memory.working_set);
    counts.system.iter().map(|(container, found)| (*container, memory(found))).collect()
}

#[tokio::test]
async fn system_containers_are_all_pods_and_what_is_named() {
    use SystemContainer::{Kubelet, Misc, Pods, Runtime};
    let machine = version_2("kubepods/podu-1", "c1");
    machine.write("cgroup/kubepods/memory.current", "50");
    machine.write("cgroup/runtime/memory.current", "60");
    machine.write("cgroup/system/memory.current", "70");
    let counts = machine.counts(Scope::CpuAndMemory).await;
    assert_eq!(working_sets(&counts), [(Kubelet, 123), (Runtime, 60), (Misc, 70), (Pods, 50)]);
    assert!(counts.booted_at.is_some());
    assert!(counts.system.values().all(|found| found.created_at >= counts.booted_at), "{counts:?}");
    fs::remove_dir_all(machine.folder.path().join("cgroup/system")).expect("removed");
    machine.later(1);
    assert_eq!(working_sets(&machine.counts(Scope::All).await), [(Kubelet, 123), (Runtime, 60), (Pods, 50)]);
}

#[tokio::test]
async fn what_shares_the_root_is_the_node() {
    let machine = version_2("kubepods/podu-1", "c1");
    let named = NamedCgroups { runtime: Some("/".to_owned()), misc: None };
    let meter = SystemMeter { named: Arc::new(named), ..machine.meter };
    let counts = meter.counts(Vec::new(), Scope::All).await;
    let runtime = counts.system.get(&SystemContainer::Runtime).map(|found| found.usage);
    assert_eq!((runtime, runtime.is_some()), (counts.node, true));
}

#[tokio::test]
async fn cpu_and_memory_alone_read_nothing_else() {
    let counts = version_2("kubepods/podu-1", "c1").counts(Scope::CpuAndMemory).await;
    let found = &counts.pods[&PodUid::from("u-1")];
    assert_eq!((found.containers.len(), found.network.clone()), (1, None));
    assert_eq!(found.containers[&ContainerId::from("c1")].processes, None);
    assert_eq!((counts.network, counts.pids), (Vec::new(), None));
}

#[tokio::test]
async fn version_1_is_read_by_controller() {
    let machine = Machine::new(&[
        ("cgroup/cpuacct/cpuacct.usage", "900"),
        ("cgroup/memory/memory.usage_in_bytes", "80"),
        ("cgroup/memory/kubepods/podu-1/memory.usage_in_bytes", "70"),
        ("cgroup/memory/kubepods/podu-1/c1/memory.usage_in_bytes", "60"),
        ("cgroup/memory/kubepods/podu-1/c1/cgroup.procs", "1\n"),
        ("cgroup/cpuacct/kubepods/podu-1/c1/cpuacct.usage", "50"),
        ("proc/self/cgroup", "4:memory:/\n0::/x\n"),
    ]);
    let counts = machine.counts(Scope::All).await;
    assert_eq!(counts.node.and_then(|usage| usage.cpu_nanoseconds), Some(900));
    let found = &counts.pods[&PodUid::from("u-1")];
    assert_eq!(found.usage.and_then(|usage| usage.memory).map(|memory| memory.working_set), Some(70));
    let container = &found.containers[&ContainerId::from("c1")];
    assert_eq!((container.usage.cpu_nanoseconds, container.processes), (Some(50), Some(1)));
    assert_eq!(counts.system, BTreeMap::new());
}

#[tokio::test]
async fn what_went_is_looked_for_again() {
    let machine = version_2("kubepods/podu-1", "c1");
    machine.counts(Scope::All).await;
    fs::remove_dir_all(machine.folder.path().join("cgroup/kubepods")).expect("removed");
    machine.later(1);
    let counts = machine.counts(Scope::All).await;
    assert_eq!(counts.pods[&PodUid::from("u-1")], PodCounts::default());
    machine.write("cgroup/kubepods/burstable/podu-1/c1/memory.current", "5");
    let counts = machine.counts(Scope::All).await;
    assert_eq!(counts.pods[&PodUid::from("u-1")].containers.len(), 1);
}

#[tokio::test]
async fn all_that_is_counted_of_pods_of_each_driver_is_found() {
    for (pod, container, sandbox, tiers) in [
        ("kubepods/burstable/podu-1", "c1", "s1", &["/", "/kubepods", "/kubepods/burstable"][..]),
        (
            "kubepods.slice/kubepods-podu_1.slice",
            "cri-containerd-c1.scope",
            "cri-containerd-s1.scope",
            &["/", "/kubepods.slice"],
        ),
    ] {
        let machine = version_2(pod, container);
        let of_sandbox = |file: &str| format!("cgroup/{pod}/{sandbox}/{file}");
        machine.write(&of_sandbox("memory.current"), "7");
        machine.write(&of_sandbox("cgroup.procs"), "77\n");
        for tier in &tiers[1..] {
            machine.write(&format!("cgroup{tier}/memory.current"), "9");
        }
        machine.write("proc/77/limits", "Limit  Soft\nMax open files            1024   4096   files\n");
        machine.write("proc/77/fd/0", "");
        let socket = machine.folder.path().join("proc/77/fd/1");
        std::os::unix::fs::symlink("socket:[5]", socket).expect("linked");
        machine.write("proc/diskstats", "8 0 sda 1 0 0 0 0 0 0 0 0 0 0\n");
        machine.write("cpu/cpu0/topology/core_id", "0\n");
        machine.write("cpu/cpu0/topology/physical_package_id", "0\n");
        machine.write("cpu/cpufreq/topology/core_id", "9\n");
        let details = machine.meter.details(vec![running_pod("u-1", &["c1"])]).await.expect("in time");
        let mut node: Vec<&str> = details.node.iter().map(|cgroup| &*cgroup.path).collect();
        assert_eq!(node.pop(), Some("/system.slice/witlet.service"));
        assert_eq!(node, tiers);
        let found = &details.pods[&PodUid::from("u-1")];
        let path = |name: &str| format!("/{pod}/{name}");
        assert_eq!(found.cgroup.as_ref().map(|cgroup| &*cgroup.path), Some(&*format!("/{pod}")));
        let of_container = &found.containers[&ContainerId::from("c1")];
        assert_eq!(of_container.path, path(container));
        assert_eq!(of_container.details.processes.count, 2);
        let of_sandbox = found.sandbox.as_ref().expect("it is there");
        assert_eq!(of_sandbox.path, path(sandbox));
        let processes = of_sandbox.details.processes;
        assert_eq!((processes.count, processes.file_descriptors, processes.sockets), (1, 2, 1));
        assert_eq!(processes.open_files_max, Some(1024));
        assert!(of_sandbox.details.created_at.is_some());
        assert_eq!(found.network.len(), 1);
        assert_eq!(details.devices.into_values().collect::<Vec<_>>(), ["sda"]);
        assert_eq!(details.topology.map(|topology| (topology.processors, topology.cores)), Some((1, 1)));
    }
}

#[tokio::test]
async fn cgroups_that_are_named_are_shown_with_those_below_them_up_to_a_bound() {
    let machine = version_2("kubepods/podu-1", "c1");
    for path in ["runtime", "system", "system/cron.service", "system/data.mount"] {
        machine.write(&format!("cgroup/{path}/memory.current"), "9");
    }
    let shown = async || {
        let details = machine.meter.details(Vec::new()).await.expect("in time");
        details.node.into_iter().map(|cgroup| cgroup.path).collect::<Vec<_>>()
    };
    let own = ["/", "/system.slice/witlet.service"];
    let expected = [&own[..], &["/runtime", "/system", "/system/cron.service"]].concat();
    assert_eq!(shown().await, expected);
    for number in 0..300 {
        machine.write(&format!("cgroup/runtime/{number:03}/memory.current"), "9");
    }
    assert_eq!(shown().await.len(), own.len() + 256);
}

#[tokio::test]
async fn a_machine_without_any_figure_is_one_without_figures() {
    let machine = Machine::new(&[]);
    fs::remove_dir_all(machine.folder.path().join("proc")).expect("removed");
    let details = machine.meter.details(vec![running_pod("u-1", &["c1"])]).await.expect("in time");
    assert_eq!(details.pods[&PodUid::from("u-1")], witlet_ports::PodDetails::default());
    assert_eq!((details.node, details.network, details.topology), (Vec::new(), Vec::new(), None));
}

#[tokio::test]
async fn a_uid_that_is_no_name_leads_nowhere() {
    let machine = version_2("kubepods/podu-1", "c1");
    let counts = machine.meter.counts(vec![running_pod("../../kubepods/podu-1", &["c1"])], Scope::All).await;
    assert_eq!(counts.pods.into_values().collect::<Vec<_>>(), [PodCounts::default()]);
}

#[tokio::test]
async fn file_systems_are_those_of_the_nearest_folder() {
    let machine = Machine::new(&[]);
    let here = machine.meter.filesystem(machine.folder.path()).await.expect("it is there");
    assert!(here.capacity >= here.used && here.used > 0, "{here:?}");
    let below = machine.meter.filesystem(&machine.folder.path().join("not/there")).await.expect("above it");
    assert_eq!(below.capacity, here.capacity);
}

/// Memory, faults and the time of the container's figures, in a summary and in full: both say the same.
async fn figures_of_container(machine: &Machine) -> (Option<u64>, Option<u64>, Timestamp) {
    let uid = PodUid::from("u-1");
    let id = ContainerId::from("c1");
    let counted = machine.counts(Scope::All).await.pods[&uid].containers[&id].usage;
    let details = machine.meter.details(vec![running_pod("u-1", &["c1"])]).await.expect("in time");
    assert_eq!(details.pods[&uid].containers[&id].details.usage, counted);
    let memory = counted.memory.expect("it is read");
    (memory.usage, memory.page_faults, counted.at)
}

#[tokio::test]
async fn a_cgroup_in_which_nothing_happens_is_read_once_a_minute() {
    let machine = version_2("kubepods/podu-1", "c1");
    let file = |name: &str| format!("cgroup/kubepods/podu-1/c1/{name}");
    machine.write(&file("memory.stat"), "pgfault 1\n");
    let noon = machine.clock.now();
    assert_eq!(figures_of_container(&machine).await, (Some(500), Some(1), noon));
    // Nothing ran, and its memory is as large as it was. The kernel doesn't do what this file says.
    machine.write(&file("memory.stat"), "pgfault 2\n");
    machine.later(30);
    assert_eq!(figures_of_container(&machine).await, (Some(500), Some(1), machine.clock.now()));
    machine.later(30);
    assert_eq!(figures_of_container(&machine).await, (Some(500), Some(2), machine.clock.now()));
    // Something ran, or its memory grew.
    for (changed, text) in [("cpu.stat", "usage_usec 4\n"), ("memory.current", "600")] {
        machine.write(&file("memory.stat"), "pgfault 3\n");
        machine.write(&file(changed), text);
        let known = figures_of_container(&machine).await;
        assert_ne!(known.1, Some(3), "{changed}: within the second");
        machine.later(1);
        assert_eq!(figures_of_container(&machine).await.1, Some(3), "{changed}");
        machine.write(&file("memory.stat"), "pgfault 2\n");
        machine.later(60);
        figures_of_container(&machine).await;
    }
}

#[tokio::test]
async fn a_cgroup_of_version_1_is_read_once_a_minute_too() {
    let container = |controller: &str, file: &str| format!("cgroup/{controller}/kubepods/podu-1/c1/{file}");
    let machine = Machine::new(&[]);
    machine.write(&container("memory", "memory.usage_in_bytes"), "60");
    machine.write(&container("memory", "memory.stat"), "total_pgfault 1\n");
    machine.write(&container("cpuacct", "cpuacct.usage"), "5");
    assert_eq!(figures_of_container(&machine).await.1, Some(1));
    machine.write(&container("memory", "memory.stat"), "total_pgfault 2\n");
    machine.later(59);
    assert_eq!(figures_of_container(&machine).await.1, Some(1));
    machine.write(&container("cpuacct", "cpuacct.usage"), "6");
    machine.later(1);
    assert_eq!(figures_of_container(&machine).await.1, Some(2));
}

#[tokio::test]
async fn nothing_is_read_of_containers_while_nothing_happens_in_their_pod() {
    let machine = version_2("kubepods/podu-1", "c1");
    let pod = |name: &str| format!("cgroup/kubepods/podu-1/{name}");
    machine.write(&pod("cpu.stat"), "usage_usec 7\n");
    let noon = machine.clock.now();
    assert_eq!(figures_of_container(&machine).await, (Some(500), None, noon));
    // The kernel counts this in the pod's cgroup, too.
    machine.write(&pod("c1/memory.current"), "600");
    machine.later(30);
    assert_eq!(figures_of_container(&machine).await, (Some(500), None, machine.clock.now()));
    machine.write(&pod("cpu.stat"), "usage_usec 8\n");
    machine.later(1);
    assert_eq!(figures_of_container(&machine).await, (Some(600), None, machine.clock.now()));
    machine.write(&pod("c1/memory.current"), "700");
    machine.later(60);
    assert_eq!(figures_of_container(&machine).await, (Some(700), None, machine.clock.now()));
}

#[tokio::test]
async fn nothing_is_read_of_pods_while_nothing_happens_in_any() {
    let machine = version_2("kubepods/burstable/podu-1", "c1");
    machine.write("cgroup/kubepods/burstable/cpu.stat", "usage_usec 7\n");
    let noon = machine.clock.now();
    assert_eq!(figures_of_container(&machine).await, (Some(500), None, noon));
    // The kernel counts this in all cgroups above, too.
    machine.write("cgroup/kubepods/burstable/podu-1/memory.current", "1100");
    machine.write("cgroup/kubepods/burstable/podu-1/c1/memory.current", "600");
    machine.later(30);
    assert_eq!(figures_of_container(&machine).await, (Some(500), None, machine.clock.now()));
    machine.write("cgroup/kubepods/burstable/cpu.stat", "usage_usec 8\n");
    machine.later(1);
    assert_eq!(figures_of_container(&machine).await, (Some(600), None, machine.clock.now()));
}

/// What `/metrics/cadvisor` shows of the container's limit, processes and open files.
async fn details_of_container(machine: &Machine) -> (Option<u64>, u64, Option<i64>) {
    let details = machine.meter.details(vec![running_pod("u-1", &["c1"])]).await.expect("in time");
    let details = &details.pods[&PodUid::from("u-1")].containers[&ContainerId::from("c1")].details;
    (details.spec.memory, details.processes.count, details.processes.open_files_max)
}

#[tokio::test]
async fn limits_of_a_busy_cgroup_are_read_once_a_minute_and_its_processes_always() {
    let machine = version_2("kubepods/podu-1", "c1");
    let file = |name: &str| format!("cgroup/kubepods/podu-1/c1/{name}");
    machine.write(&file("memory.max"), "1000");
    assert_eq!(details_of_container(&machine).await, (Some(1000), 2, None));
    machine.write(&file("memory.max"), "2000");
    for (seconds, limit) in [(30, 1000), (29, 1000), (1, 2000)] {
        machine.later(seconds);
        machine.write(&file("cpu.stat"), &format!("usage_usec {}\n", machine.clock.now().as_second()));
        machine.write(&file("cgroup.procs"), &"77\n".repeat(usize::try_from(seconds).expect("positive")));
        // A summary between forgets no limit.
        machine.counts(Scope::All).await;
        let expected = (Some(limit), seconds.unsigned_abs(), None);
        assert_eq!(details_of_container(&machine).await, expected, "{seconds}");
    }
}

#[tokio::test]
async fn how_many_files_the_first_process_may_open_is_read_once_a_minute() {
    let machine = version_2("kubepods/podu-1", "c1");
    let file = |name: &str| format!("cgroup/kubepods/podu-1/c1/{name}");
    let limits = |pid: u32, open_files: u32| {
        let text = format!("Limit  Soft\nMax open files            {open_files}   4096   files\n");
        machine.write(&format!("proc/{pid}/limits"), &text);
    };
    limits(77, 1024);
    assert_eq!(details_of_container(&machine).await.2, Some(1024));
    limits(77, 2048);
    limits(99, 512);
    // Another process has its own, whenever it comes.
    for (seconds, first, open_files) in [(30, 77, 1024), (10, 99, 512), (10, 77, 2048)] {
        machine.later(seconds);
        machine.write(&file("cpu.stat"), &format!("usage_usec {}\n", machine.clock.now().as_second()));
        machine.write(&file("cgroup.procs"), &format!("{first}\n"));
        assert_eq!(details_of_container(&machine).await.2, Some(open_files), "{seconds} s later");
    }
    limits(77, 3072);
    machine.later(60);
    assert_eq!(details_of_container(&machine).await.2, Some(3072));
}

#[tokio::test]
async fn a_network_is_read_once_a_second_though_nothing_runs_in_it() {
    let machine = version_2("kubepods/podu-1", "c1");
    let sent = async || {
        let counts = machine.counts(Scope::All).await;
        let details = machine.meter.details(vec![running_pod("u-1", &["c1"])]).await.expect("in time");
        let uid = PodUid::from("u-1");
        let [counted, detailed] =
            [counts.pods[&uid].network.clone().unwrap_or_default(), details.pods[&uid].network.clone()];
        assert_eq!(counted, detailed);
        counted.first().map(|interface| interface.tx_bytes)
    };
    assert_eq!(sent().await, Some(22));
    machine.write("proc/77/net/dev", &DEV.replace("22", "33"));
    assert_eq!(sent().await, Some(22));
    machine.later(1);
    assert_eq!(sent().await, Some(33));
}

#[tokio::test]
async fn cgroups_that_no_one_asks_about_are_forgotten() {
    let machine = version_2("kubepods/podu-1", "c1");
    machine.counts(Scope::All).await;
    let known = |machine: &Machine| {
        let known = machine.meter.known.lock().expect("no one panicked");
        known.get(Path::new("kubepods/podu-1/c1")).is_some()
    };
    assert!(known(&machine));
    machine.later(61);
    machine.meter.counts(Vec::new(), Scope::All).await;
    assert!(!known(&machine));
}
