//! What counts as a pod's local storage.

use serde_json::json;

use super::*;

fn pod() -> Pod {
    serde_json::from_value(json!({"spec": {"containers": [], "volumes": [
        {"name": "disk", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory"}},
        {"name": "config", "configMap": {"name": "c"}},
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "host", "hostPath": {"path": "/"}},
        {"name": "all", "projected": {}},
    ]}}))
    .expect("a pod")
}

#[test]
fn empty_dirs_on_disk_and_config_maps_are_local() {
    let pod = pod();
    let local: Vec<&str> = volumes(&pod)
        .filter(|volume| is_local_ephemeral(volume))
        .map(|volume| volume.name.as_str())
        .collect();
    assert_eq!(local, ["disk", "config"]);
}

#[test]
fn ephemeral_storage_is_layers_logs_own_files_and_local_volumes() {
    let volumes = ["disk", "memory", "config", "secret", "host", "all"];
    let usage = PodUsage {
        containers: vec![ContainerUsage {
            rootfs: FsUsage::new(1, 1),
            logs: FsUsage::new(20, 1),
            ..ContainerUsage::default()
        }],
        volumes: volumes.map(|name| (name.to_owned(), FsUsage::new(300, 1))).into(),
        own: FsUsage::new(4000, 1),
        ..PodUsage::default()
    };
    assert_eq!(usage.ephemeral_storage(&pod()), 1 + 20 + 600 + 4000);
    assert_eq!(PodUsage::default().ephemeral_storage(&pod()), 0);
}

#[test]
fn measurements_of_runtime_and_disk_are_put_together() {
    let uid = PodUid::from;
    let container = |pod: &str, attempt, name: &str, memory| {
        let usage = ContainerUsage { name: name.to_owned(), memory, ..ContainerUsage::default() };
        (PodUid::from(pod), attempt, usage)
    };
    let containers = [
        container("a", 1, "app", Some(5)),
        container("a", 0, "app", Some(90)),
        container("a", 0, "sidecar", Some(7)),
        container("b", 0, "app", None),
    ];
    let disk = LocalStorage {
        volumes: [("v".to_owned(), FsUsage::new(3, 1))].into(),
        systems: BTreeMap::new(),
        logs: [("app".to_owned(), FsUsage::new(4, 1))].into(),
        own: FsUsage::new(2, 1),
    };
    let storage = [(uid("a"), disk.clone()), (uid("unknown"), disk)].into();
    let (counted, processes) = (BTreeMap::new(), [(uid("b"), 9)].into());
    let usages = combine([uid("a"), uid("only-a-sandbox")], containers, &counted, &processes, &storage);
    assert_eq!(usages.keys().map(ToString::to_string).collect::<Vec<_>>(), ["a", "b", "only-a-sandbox"]);
    let a = &usages[&uid("a")];
    assert_eq!(
        (a.memory, a.processes, a.own.bytes),
        (Some(12), None, Some(2)),
        "older instances don't count"
    );
    assert_eq!(a.containers[0].logs, FsUsage::new(4, 1));
    assert_eq!(usages[&uid("b")].processes, Some(9));
    assert_eq!(usages[&uid("only-a-sandbox")], PodUsage { memory: Some(0), ..PodUsage::default() });
}

/// What the runtime says of the memory of `app` and of processes, what the kernel does of the pod, of `app` and of its sidecar, and what
/// then counts of pod, `app` and processes.
type Figures = (
    Option<Option<u64>>,
    Option<u64>,
    Option<(Option<u64>, [(Option<u64>, Option<u64>); 2])>,
    (Option<u64>, Option<u64>, Option<u64>),
);

#[test]
fn the_kernels_figures_count_and_the_runtimes_where_it_has_none() {
    let all = [(Some(30), Some(4)), (Some(5), Some(2))];
    let without_processes = [(Some(30), None), (Some(5), Some(2))];
    let table: [Figures; 9] = [
        // Without cgroups.
        (Some(Some(7)), Some(9), None, (Some(7), Some(7), Some(9))),
        (Some(None), None, None, (Some(0), None, None)),
        (None, None, None, (Some(0), None, None)),
        // The pod's own cgroup has its sandbox and its volumes in memory, too.
        (Some(Some(7)), Some(9), Some((Some(80), all)), (Some(80), Some(30), Some(6))),
        // A runtime that says nothing of memory, or nothing at all.
        (Some(None), None, Some((Some(80), all)), (Some(80), Some(30), Some(6))),
        (None, None, Some((Some(80), all)), (Some(80), Some(30), Some(6))),
        // No cgroup of the pod: its containers together.
        (Some(Some(7)), None, Some((None, all)), (Some(35), Some(30), Some(6))),
        // Containers without cgroups of their own: a sandbox that is a machine.
        (Some(Some(7)), Some(9), Some((Some(80), [(None, None); 2])), (Some(80), Some(7), Some(9))),
        // A part of the processes isn't all of them.
        (None, Some(9), Some((None, without_processes)), (Some(35), Some(30), Some(9))),
    ];
    let uid = PodUid::from("a");
    for (by_runtime, processes, counted, expected) in table {
        let container = by_runtime.map(|memory| {
            let usage = ContainerUsage { name: "app".to_owned(), memory, ..ContainerUsage::default() };
            (uid.clone(), 3, usage)
        });
        let counted_pod = counted.map(|(memory, containers)| {
            let containers = ["app", "sidecar"].into_iter().zip(containers);
            let containers = containers.map(|(name, (memory, processes))| CountedContainer {
                name: name.to_owned(),
                memory,
                processes,
            });
            (uid.clone(), CountedPod { memory, containers: containers.collect() })
        });
        let usages = combine(
            [uid.clone()],
            container,
            &counted_pod.into_iter().collect(),
            &processes.map(|count| (uid.clone(), count)).into_iter().collect(),
            &BTreeMap::new(),
        );
        let usage = &usages[&uid];
        let app = usage.containers.iter().find(|container| container.name == "app");
        let found = (usage.memory, app.and_then(|app| app.memory), usage.processes);
        assert_eq!(found, expected, "{by_runtime:?} {processes:?} {counted:?}");
    }
}

#[test]
fn the_runtime_is_asked_unless_the_kernel_counts_all_that_runs() {
    let pod = |memory: &[Option<u64>]| CountedPod {
        memory: Some(1),
        containers: memory
            .iter()
            .map(|memory| CountedContainer { memory: *memory, ..CountedContainer::default() })
            .collect(),
    };
    let table = [
        (vec![], false),
        (vec![pod(&[Some(1)])], true),
        (vec![pod(&[Some(1), Some(0)]), pod(&[Some(2)])], true),
        (vec![pod(&[Some(1), None])], false),
        (vec![pod(&[Some(1)]), pod(&[None])], false),
    ];
    for (pods, expected) in table {
        let pods: BTreeMap<PodUid, CountedPod> = pods
            .into_iter()
            .enumerate()
            .map(|(n, pod)| (PodUid::from(n.to_string().as_str()), pod))
            .collect();
        assert_eq!(is_counted(&pods, |container| container.memory), expected, "{pods:?}");
        assert!(!is_counted(&pods, |container| container.processes), "{pods:?}");
    }
}
