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
        logs: [("app".to_owned(), FsUsage::new(4, 1))].into(),
        own: FsUsage::new(2, 1),
    };
    let storage = [(uid("a"), disk.clone()), (uid("unknown"), disk)].into();
    let usages = combine([uid("a"), uid("only-a-sandbox")], containers, &[(uid("b"), 9)].into(), &storage);
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
