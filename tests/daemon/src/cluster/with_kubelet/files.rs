//! All files of cgroups that can be written, under names that two runs have in common.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use witlet_harness::cgroups;
use witlet_harness::cluster::Cluster;

/// What a file has, by its tree, its cgroup and its name.
pub(super) type Files = BTreeMap<String, String>;

/// Files that are commands, or that count.
const COUNT: &[&str] = &[
    "cgroup.event_control",
    "cgroup.procs",
    "cgroup.threads",
    "tasks",
    "memory.force_empty",
    "memory.pressure_level",
];

/// Names by the ids in paths of cgroups: pods' UIDs and containers' ids.
pub(super) fn names(cluster: &Cluster) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for pod in cluster.api().list::<Pod>() {
        let name = pod.metadata.name.unwrap_or_default();
        let uid = pod.metadata.uid.unwrap_or_default();
        names.extend([(uid.replace('-', "_"), name.clone()), (uid, name)]);
        let Some(status) = pod.status else { continue };
        let lists = [status.init_container_statuses, status.container_statuses];
        for status in lists.into_iter().flatten().flatten() {
            let id = status.container_id.unwrap_or_default();
            let id = id.rsplit('/').next().unwrap_or_default().to_owned();
            names.push((id, status.name));
        }
    }
    names.retain(|(id, _)| !id.is_empty());
    names
}

/// A folder's name with names in place of ids; what isn't a container of the pod is its sandbox.
fn named(folder: &str, names: &[(String, String)]) -> String {
    let named = names.iter().fold(folder.to_owned(), |text, (id, name)| text.replace(id, name));
    let hexes = |text: &str| text.len() == 64 && text.chars().all(|char| char.is_ascii_hexdigit());
    let parts = named.split(['-', '.']).map(|part| if hexes(part) { "sandbox" } else { part });
    parts.collect::<Vec<_>>().join(".")
}

/// All files below the root of this cluster's pods.
pub(super) fn read(cluster: &Cluster) -> Files {
    let (root, names) = (cgroups::path_of_root(&cluster.ground.endpoint), names(cluster));
    let mut trees = cgroups::folders("/");
    trees.push(PathBuf::from("/sys/fs/cgroup/unified"));
    let mut files = Files::new();
    for tree in trees {
        let label = tree.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        read_folder(&tree.join(root.trim_start_matches('/')), &label, &names, &mut files);
    }
    files
}

fn read_folder(folder: &Path, label: &str, names: &[(String, String)], files: &mut Files) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            read_folder(&entry.path(), &format!("{label}/{}", named(&file, names)), names, files);
            continue;
        }
        let counts = COUNT.contains(&&*file)
            || ["usage", "failcnt", "pressure", "peak"].iter().any(|what| file.contains(what));
        let is_shown = file == "devices.list" || metadata.permissions().mode() & 0o200 != 0;
        if counts || !is_shown {
            continue;
        }
        // Some can only be written.
        let Ok(value) = fs::read_to_string(entry.path()) else { continue };
        files.insert(format!("{label}/{file}"), value.trim().replace('\n', "; "));
    }
    let Ok(processes) = fs::read_to_string(folder.join("cgroup.procs")) else { return };
    let score = |process: &str| fs::read_to_string(format!("/proc/{process}/oom_score_adj")).ok();
    let scores: std::collections::BTreeSet<String> =
        processes.lines().filter_map(score).map(|score| score.trim().to_owned()).collect();
    if !scores.is_empty() {
        files.insert(format!("{label}/oom_score_adj"), scores.into_iter().collect::<Vec<_>>().join("; "));
    }
}

/// Each file that one of both has otherwise.
pub(super) fn differences(kubelets: &Files, own: &Files) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = kubelets.keys().chain(own.keys()).collect();
    let of = |files: &Files, name: &str| {
        files.get(name).map_or_else(|| "no file".to_owned(), |value| format!("{value:?}"))
    };
    let differ = all.into_iter().filter(|name| kubelets.get(*name) != own.get(*name));
    differ.map(|name| format!("{name}: {}, {}", of(kubelets, name), of(own, name))).collect()
}

/// Files of a Guaranteed pod and its container that haven't these limits.
pub(super) fn not_limited(cluster: &Cluster, pod: &str, milli: u64, mebi: u64) -> Vec<String> {
    let (quota, bytes) = (milli * 100, mebi << 20);
    let v1 = [("cpu.cfs_quota_us", quota.to_string()), ("memory.limit_in_bytes", bytes.to_string())];
    let v2 = [("cpu.max", format!("{quota} 100000")), ("memory.max", bytes.to_string())];
    let expected = if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() { v2 } else { v1 };
    let files = read(cluster);
    let of = |name: &str, file: &str| {
        let mut found = files.iter().filter(|(path, _)| {
            let parts: Vec<&str> = path.split('/').collect();
            parts.last() == Some(&file)
                && parts.iter().any(|part| part.contains(pod))
                && parts.iter().any(|part| part.contains(name))
        });
        found.next().map(|(path, value)| (path.clone(), value.clone()))
    };
    let mut missing = Vec::new();
    for (file, value) in expected {
        for name in [pod, "app"] {
            match of(name, file) {
                Some((_, found)) if found == value => {}
                other => missing.push(format!("{pod} {name} {file}: {other:?}, not {value}")),
            }
        }
    }
    missing
}
