//! Pods of the three classes have a kubelet's cgroups and values, over a kill of the agent and resizes, and nothing of them stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use witlet_harness::cluster::AGAIN;
use witlet_harness::{BUSYBOX_IMAGE, Daemon, DaemonOptions, WAIT_TIMEOUT, cgroups, program};

use crate::failed;

/// What a file has, by its controller of version 1; of version 2 without one.
type Files = &'static [(&'static str, &'static str, &'static str)];

/// A pod of a class, and what its cgroup has.
struct Case {
    name: &'static str,
    resources: Value,
    /// The part of its class in the path; none for Guaranteed pods.
    tier: Option<&'static str>,
    v1: Files,
    v2: Files,
}

fn cases() -> [Case; 3] {
    let exact = json!({"cpu": "250m", "memory": "64Mi"});
    [
        Case {
            name: "guaranteed",
            resources: json!({"requests": exact, "limits": exact}),
            tier: None,
            v1: &[
                ("cpu", "cpu.shares", "256"),
                ("cpu", "cpu.cfs_quota_us", "25000"),
                ("cpu", "cpu.cfs_period_us", "100000"),
                ("memory", "memory.limit_in_bytes", "67108864"),
                ("pids", "pids.max", "max"),
            ],
            v2: &[
                ("", "cpu.weight", "10"),
                ("", "cpu.max", "25000 100000"),
                ("", "memory.max", "67108864"),
                ("", "pids.max", "max"),
            ],
        },
        Case {
            name: "burstable",
            resources: json!({"requests": {"cpu": "100m", "memory": "16Mi"}, "limits": {"memory": "32Mi"}}),
            tier: Some("burstable"),
            v1: &[
                ("cpu", "cpu.shares", "102"),
                ("cpu", "cpu.cfs_quota_us", "-1"),
                ("memory", "memory.limit_in_bytes", "33554432"),
            ],
            v2: &[("", "cpu.weight", "4"), ("", "cpu.max", "max 100000"), ("", "memory.max", "33554432")],
        },
        Case {
            name: "besteffort",
            resources: json!({}),
            tier: Some("besteffort"),
            v1: &[
                ("cpu", "cpu.shares", "2"),
                ("cpu", "cpu.cfs_quota_us", "-1"),
                ("memory", "memory.limit_in_bytes", "9223372036854771712"),
            ],
            v2: &[("", "cpu.weight", "1"), ("", "cpu.max", "max 100000"), ("", "memory.max", "max")],
        },
    ]
}

fn manifest(name: &str, resources: &Value) -> String {
    let container = json!({
        "name": "app", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", "sleep 3600 & wait"], "resources": resources,
    });
    json!({
        "apiVersion": "v1", "kind": "Pod",
        // Only a static pod with a UID of its own can be resized.
        "metadata": {"name": name, "namespace": "default", "uid": format!("pod-life-{name}")},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    })
    .to_string()
}

/// The tree of a controller of version 1; none on version 2.
fn tree(controller: &str) -> Option<PathBuf> {
    let entries = fs::read_dir("/sys/fs/cgroup").ok()?.flatten();
    let mut trees = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let found =
        trees.find(|entry| entry.file_name().to_string_lossy().split(',').any(|name| name == controller));
    found.map(|entry| entry.path()).filter(|path| path.join("tasks").exists())
}

/// All processes below a folder.
fn processes(folder: &Path) -> BTreeSet<String> {
    let own = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let mut all: BTreeSet<String> = own.lines().map(str::to_owned).collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            all.extend(processes(&entry.path()));
        }
    }
    all
}

/// Compares a pod's files, and whether its processes are in its cgroup.
fn compare(root: &str, pod: &Value, case: &Case) -> Result<(), Failed> {
    let name = case.name;
    let uid = pod["metadata"]["uid"].as_str().ok_or("a pod has a UID")?;
    let own = format!("pod{uid}");
    let mut parts = vec![root.trim_start_matches('/'), "kubepods"];
    parts.extend(case.tier);
    parts.push(&own);
    let path = cgroups::path_of(&parts);
    let is_v2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    for (controller, file, expected) in if is_v2 { case.v2 } else { case.v1 } {
        let found = if is_v2 { Some(PathBuf::from("/sys/fs/cgroup")) } else { tree(controller) };
        let Some(tree) = found else { continue };
        let file = tree.join(&path).join(file);
        let found = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        if found.trim() != *expected {
            return Err(format!("{name}: {} is {}, not {expected}", file.display(), found.trim()).into());
        }
    }
    let mut places = cgroups::folders(root).into_iter();
    let Some(first) = places.next() else { return Err("there are no cgroups".into()) };
    let folder = first.parent().ok_or("a root has a parent")?.join(&path);
    // The sandbox, the shell and the sleeper.
    let found = processes(&folder);
    if found.len() < 3 {
        return Err(format!("{name}: {} has only the processes {found:?}", folder.display()).into());
    }
    Ok(())
}

/// Compares until all is there: a pod runs before its shell has had the turn in which it starts the sleeper, and a BestEffort pod waits
/// long for one on a busy machine.
async fn compared(root: &str, pod: &Value, case: &Case) -> Result<(), Failed> {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    loop {
        match compare(root, pod, case) {
            Err(_) if Instant::now() < deadline => sleep(AGAIN).await,
            compared => return compared,
        }
    }
}

/// What the Guaranteed pod is resized to: up, and down below what it had.
fn resizes() -> [Case; 2] {
    let exact = |cpu: &str, memory: &str| {
        let resources = json!({"cpu": cpu, "memory": memory});
        json!({"requests": resources, "limits": resources})
    };
    [
        Case {
            name: "guaranteed",
            resources: exact("500m", "96Mi"),
            tier: None,
            v1: &[
                ("cpu", "cpu.shares", "512"),
                ("cpu", "cpu.cfs_quota_us", "50000"),
                ("memory", "memory.limit_in_bytes", "100663296"),
            ],
            v2: &[("", "cpu.weight", "20"), ("", "cpu.max", "50000 100000"), ("", "memory.max", "100663296")],
        },
        Case {
            name: "guaranteed",
            resources: exact("100m", "48Mi"),
            tier: None,
            v1: &[
                ("cpu", "cpu.shares", "102"),
                ("cpu", "cpu.cfs_quota_us", "10000"),
                ("memory", "memory.limit_in_bytes", "50331648"),
            ],
            v2: &[("", "cpu.weight", "4"), ("", "cpu.max", "10000 100000"), ("", "memory.max", "50331648")],
        },
    ]
}

/// Resizes the Guaranteed pod in place. Its cgroup, which has a quota, must not stand in the way of its container.
async fn resize(daemon: &mut Daemon, root: &str) -> Result<(), Failed> {
    for case in &resizes() {
        let written = daemon.write_manifest("guaranteed.json", &manifest(case.name, &case.resources));
        written.map_err(|error| failed(&error))?;
        let name = format!("{}-node1", case.name);
        let is_it = |pod: &&Value| pod["metadata"]["name"] == *name;
        let has_all = |pods: &[Value]| {
            let pod = pods.iter().find(is_it);
            pod.is_some_and(|pod| pod["status"]["containerStatuses"][0]["resources"] == case.resources)
        };
        let pods =
            daemon.wait_for_pods("the pod is resized", has_all).await.map_err(|error| failed(&error))?;
        let pod = pods.iter().find(is_it).ok_or("the pod is shown")?;
        compared(root, pod, case)
            .await
            .map_err(|error| format!("{}\n{}", error.message().unwrap_or_default(), daemon.log()))?;
        if pod["status"]["containerStatuses"][0]["restartCount"] != 0 {
            return Err("the pod was restarted".into());
        }
    }
    Ok(())
}

/// Cgroups of pods below the root.
fn pods_left(root: &str) -> Vec<PathBuf> {
    let mut left = Vec::new();
    let root = root.trim_start_matches('/');
    let mounts = cgroups::folders("/").into_iter().chain([PathBuf::from("/sys/fs/cgroup/unified")]);
    for mount in mounts {
        for tier in [None, Some("burstable"), Some("besteffort")] {
            let parts: Vec<&str> = [root, "kubepods"].into_iter().chain(tier).collect();
            let entries = fs::read_dir(mount.join(cgroups::path_of(&parts))).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()).filter(|path| {
                let name =
                    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                name.rsplit('-').next().is_some_and(|last| last.starts_with("pod"))
            }));
        }
    }
    left
}

/// All of it, with a daemon of its own on this containerd.
pub(crate) async fn classes(endpoint: String, arguments: Vec<String>) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let program = program::witlet().map_err(|error| failed(&error))?;
    let mut options = DaemonOptions::below(folder.path(), program, &*endpoint);
    options.arguments = arguments;
    let root = cgroups::root_of(&endpoint);
    let mut daemon = Daemon::start(options).map_err(|error| failed(&error))?;
    for Case { name, resources, .. } in &cases() {
        let written = daemon.write_manifest(&format!("{name}.json"), &manifest(name, resources));
        written.map_err(|error| failed(&error))?;
    }
    let run = |pods: &[Value]| pods.len() == 3 && pods.iter().all(|pod| pod["status"]["phase"] == "Running");
    for life in ["first", "second"] {
        let pods = daemon.wait_for_pods("three pods run", run).await.map_err(|error| failed(&error))?;
        for case in &cases() {
            let full = format!("{}-node1", case.name);
            let pod = pods.iter().find(|pod| pod["metadata"]["name"] == *full);
            let compared = compared(&root, pod.ok_or("each pod is shown")?, case).await;
            compared.map_err(|error| {
                format!("{life} life: {}\n{}", error.message().unwrap_or_default(), daemon.log())
            })?;
            let restarts = &pod.ok_or("each pod is shown")?["status"]["containerStatuses"][0]["restartCount"];
            if restarts != 0 {
                return Err(format!("{life} life: {full} was restarted").into());
            }
        }
        if life == "first" {
            daemon.kill_and_restart().map_err(|error| failed(&error))?;
        }
    }
    resize(&mut daemon, &root).await?;
    for Case { name, .. } in &cases() {
        daemon.remove_manifest(&format!("{name}.json")).map_err(|error| failed(&error))?;
    }
    let gone = |pods: &[Value]| pods.is_empty() && pods_left(&root).is_empty();
    daemon.wait_for_pods("nothing is left", gone).await.map_err(|error| failed(&error))?;
    daemon.stop().await.map_err(|error| failed(&error))
}
