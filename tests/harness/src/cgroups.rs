//! A cgroup of the test's own for the daemon's pods (`--cgroup-root`), so that tests that run at the same time don't meet, and
//! nothing of them stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::config::asks_for_systemd;

/// Where the kernel's cgroups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The flags that a daemon on this runtime gets: a root of its own, or no cgroups where none can be made. Daemons on one runtime
/// share it, because each goes on with the pods of the one before.
pub fn flags(endpoint: &str) -> Vec<String> {
    if endpoint == "embedded" {
        return Vec::new();
    }
    match make(&path_of_root(endpoint)) {
        Ok(()) => vec![format!("--cgroup-root={}", root_of(endpoint))],
        Err(_) => vec!["--cgroups-per-qos=false".to_owned()],
    }
}

/// The path of that root: of the slice of its name where systemd makes cgroups. systemd takes a slice that is there for its own with the
/// first one that it makes in it.
pub fn path_of_root(endpoint: &str) -> String {
    let root = root_of(endpoint);
    match asks_for_systemd() {
        true => format!("{}.slice", root.replace('-', "_")),
        false => root,
    }
}

/// The root of daemons on this runtime, as `--cgroup-root` has it.
pub fn root_of(endpoint: &str) -> String {
    let digest = Sha256::digest(endpoint.as_bytes());
    format!("/witlet-test-{}", hex::encode(&digest[..6]))
}

/// The path of the cgroup with these parts, as who makes cgroups writes it.
pub fn path_of(parts: &[&str]) -> String {
    if !asks_for_systemd() {
        return parts.join("/");
    }
    let parts: Vec<String> = parts.iter().map(|part| part.replace('-', "_")).collect();
    let slices: Vec<String> =
        (1..=parts.len()).map(|depth| format!("{}.slice", parts[..depth].join("-"))).collect();
    slices.join("/")
}

/// The cgroup of a pod of this class (none for Guaranteed) on this runtime, below where trees are mounted.
pub fn path_of_pod(endpoint: &str, tier: Option<&str>, uid: &str) -> String {
    let (root, own) = (root_of(endpoint), format!("pod{uid}"));
    let mut parts = vec![root.trim_start_matches('/'), "kubepods"];
    parts.extend(tier);
    parts.push(&own);
    path_of(&parts)
}

/// A cgroup's folders in all trees that hold limits.
pub fn folders(path: &str) -> Vec<PathBuf> {
    trees().into_iter().map(|tree| tree.join(path.trim_start_matches('/'))).collect()
}

/// The first cgroup below this folder whose name has one of these in it.
pub fn find_below(folder: &Path, names: &[String]) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).find_map(|path| {
        let is_it =
            path.file_name().is_some_and(|of| names.iter().any(|name| of.to_string_lossy().contains(name)));
        if is_it { Some(path) } else { find_below(&path, names) }
    })
}

/// Processor time that a cgroup has used, in nanoseconds; none of a folder whose tree doesn't count it.
pub fn cpu_nanoseconds(folder: &Path) -> Option<u64> {
    let v1 = || read(folder, "cpuacct.usage")?.trim().parse().ok();
    let v2 = || field(&read(folder, "cpu.stat")?, "usage_usec ")?.checked_mul(1000);
    v1().or_else(v2)
}

/// Memory that a cgroup uses without inactive pages of files, in bytes; none of a folder whose tree doesn't count it.
pub fn working_set(folder: &Path) -> Option<u64> {
    let stat = read(folder, "memory.stat")?;
    let v1 = || Some((read(folder, "memory.usage_in_bytes")?, field(&stat, "total_inactive_file ")?));
    let v2 = || Some((read(folder, "memory.current")?, field(&stat, "inactive_file ")?));
    let (used, inactive) = v1().or_else(v2)?;
    Some(used.trim().parse::<u64>().ok()?.saturating_sub(inactive))
}

fn read(folder: &Path, file: &str) -> Option<String> {
    fs::read_to_string(folder.join(file)).ok()
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// Removes it with all below, as far as nothing runs in it.
pub(crate) fn remove(endpoint: &str) {
    let root = path_of_root(endpoint);
    if asks_for_systemd() {
        // With all slices in it. Where systemd isn't the init there are none.
        let _stopped =
            Command::new("systemctl").args(["--quiet", "stop", root.trim_start_matches('/')]).output();
    }
    for folder in folders(&root) {
        remove_folder(&folder);
    }
    // Runtimes put containers there, too, where it is next to those of version 1.
    remove_folder(&Path::new(MOUNT).join("unified").join(root.trim_start_matches('/')));
}

/// Trees of version 1, or the one of version 2.
fn trees() -> Vec<PathBuf> {
    let mount = Path::new(MOUNT);
    if mount.join("cgroup.controllers").exists() {
        return vec![mount.to_owned()];
    }
    let entries = fs::read_dir(mount).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let trees = folders.map(|entry| entry.path());
    // A tree of version 2 next to those of version 1 holds no limits.
    trees.filter(|path| path.join("tasks").exists()).collect()
}

fn make(root: &str) -> io::Result<()> {
    let folders = folders(root);
    if folders.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    for folder in folders {
        let parent = folder.parent().unwrap_or(Path::new(MOUNT)).to_owned();
        let controllers = fs::read_to_string(parent.join("cgroup.controllers")).unwrap_or_default();
        let passed_on: Vec<String> = controllers.split_whitespace().map(|name| format!("+{name}")).collect();
        if !passed_on.is_empty() {
            fs::write(parent.join("cgroup.subtree_control"), passed_on.join(" "))?;
        }
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        for file in ["cpuset.cpus", "cpuset.mems"] {
            let own = fs::read_to_string(folder.join(file)).unwrap_or("inherited".to_owned());
            if own.trim().is_empty() && parent.join("tasks").exists() {
                fs::write(folder.join(file), fs::read_to_string(parent.join(file))?.trim())?;
            }
        }
    }
    Ok(())
}

fn remove_folder(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_folder(&entry.path());
        }
    }
    // What runs in it keeps it.
    let _kept = fs::remove_dir(folder);
}
