//! Removes what a containerd leaves behind if it can't clean up itself: shims with their processes, mounts, sockets.
//! Only what belongs to its own socket and folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How often is checked whether a killed process is gone, and how many times: a busy machine takes a while to end it.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const PASSES_MAX: usize = 1500;

/// Ends the shims of the containerd at this socket, and all that runs under them, and waits until they are gone: until
/// then they hold their folders and mounts.
#[allow(clippy::disallowed_methods, reason = "for a drop, which can't wait otherwise")]
pub(crate) fn shims(socket: &Path) {
    let parents = parents();
    let mut doomed: Vec<i32> = parents.keys().copied().filter(|pid| is_shim_of(*pid, socket)).collect();
    let mut next = 0;
    while let Some(parent) = doomed.get(next).copied() {
        doomed.extend(parents.iter().filter(|(_, of)| **of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    for pid in doomed.iter().copied().filter_map(Pid::from_raw) {
        // It may have ended by itself.
        let _gone = kill_process(pid, Signal::KILL);
    }
    for _ in 0..PASSES_MAX {
        if !doomed.iter().any(|pid| is_alive(*pid)) {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Whether a process runs. A zombie holds nothing any more.
fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Removes the sockets of shims, which containerd puts outside of its folders and names in a file within: 1.x the address
/// alone, 2.x what the shim answered as JSON.
pub(crate) fn shim_sockets(folder: &Path) {
    let tasks = folder.join("state/io.containerd.runtime.v2.task/k8s.io");
    let Ok(tasks) = fs::read_dir(tasks) else { return };
    for task in tasks.flatten() {
        for file in ["address", "bootstrap.json"] {
            let text = fs::read_to_string(task.path().join(file)).unwrap_or_default();
            if let Some(path) = shim_socket(&text) {
                let _gone = fs::remove_file(path);
            }
        }
    }
}

fn shim_socket(text: &str) -> Option<PathBuf> {
    let answer: Option<Value> = serde_json::from_str(text).ok();
    let address = answer.as_ref().and_then(|answer| answer["address"].as_str()).unwrap_or(text);
    address.trim().strip_prefix("unix://").map(PathBuf::from)
}

/// Takes away all mounts below this folder, the newest first.
pub(crate) fn mounts(folder: &Path) {
    for point in mount_points(folder).into_iter().rev() {
        let _gone = unmount(&point, UnmountFlags::DETACH);
    }
}

/// What is mounted below this folder, the oldest first.
pub(crate) fn mount_points(folder: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let points = table.lines().filter_map(|line| line.split(' ').nth(1)).map(PathBuf::from);
    points.filter(|point| point.starts_with(folder)).collect()
}

/// The shims of the containerd at this socket under which something still runs, by their process ids. A bare one is
/// containerd's own affair: 1.6 forgets a container whose start was cancelled in the midst, because who asked for it was
/// killed, but doesn't tell the shim, which then waits for that container's end for good.
pub(crate) fn busy_shims_of(socket: &Path) -> Vec<String> {
    let mut parents = parents();
    parents.retain(|pid, _| is_alive(*pid));
    let shims: Vec<i32> = parents.keys().copied().filter(|pid| is_shim_of(*pid, socket)).collect();
    with_children(&shims, &parents).iter().map(ToString::to_string).collect()
}

/// Those that are the parents of others.
fn with_children(pids: &[i32], parents: &BTreeMap<i32, i32>) -> Vec<i32> {
    pids.iter().copied().filter(|pid| parents.values().any(|parent| parent == pid)).collect()
}

fn is_shim_of(pid: i32, socket: &Path) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    words.next().is_some_and(|program| String::from_utf8_lossy(program).contains("containerd-shim"))
        && words.any(|word| word == socket.as_os_str().as_encoded_bytes())
}

/// Each process with its parent.
fn parents() -> BTreeMap<i32, i32> {
    let Ok(processes) = fs::read_dir("/proc") else { return BTreeMap::new() };
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name stands in brackets and may hold anything; state and parent follow it.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    //! What files of addresses say, and which shims count.

    use super::*;

    #[test]
    fn shims_count_while_something_runs_under_them() {
        let parents = BTreeMap::from([(10, 1), (11, 10), (12, 11), (20, 1), (30, 1), (31, 30)]);
        assert_eq!(with_children(&[10, 20, 30], &parents), [10, 30]);
    }

    #[test]
    fn sockets_are_found_as_both_generations_write_them() {
        let socket = Some(PathBuf::from("/run/containerd/s/ab12"));
        for (text, expected) in [
            ("unix:///run/containerd/s/ab12", &socket),
            (r#"{"version":3,"address":"unix:///run/containerd/s/ab12","protocol":"ttrpc"}"#, &socket),
            (r#"{"version":3}"#, &None),
            ("", &None),
        ] {
            assert_eq!(&shim_socket(text), expected, "{text}");
        }
    }
}
