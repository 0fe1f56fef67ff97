//! Ends what runs in a cgroup.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use witlet_ports::CgroupError;

/// How deep below a pod's cgroup processes are looked for.
const DEPTH_MAX: usize = 32;

/// Kills all processes in these folders and below them, as often as `rounds` says: a process may be forked meanwhile.
pub(super) fn kill_all(name: &str, folders: &[PathBuf], rounds: u32) -> Result<(), CgroupError> {
    let mut problem = None;
    for _ in 0..rounds {
        let mut pids = BTreeSet::new();
        for folder in folders {
            collect(folder, &mut pids, 0);
        }
        if pids.is_empty() {
            return Ok(());
        }
        problem = None;
        // All of them, whichever can't be.
        for pid in pids {
            if let Err(error) = kill(pid) {
                problem = Some(format!("{pid}: {error}"));
            }
        }
        if problem.is_none() {
            // They take a moment to be gone; that the folders can't be removed until then is met there.
            return Ok(());
        }
    }
    match problem {
        None => Ok(()),
        Some(problem) => Err(CgroupError::Processes { name: name.to_owned(), problem }),
    }
}

/// The processes in this folder itself.
pub(super) fn of(folder: &Path) -> Result<BTreeSet<i32>, CgroupError> {
    let path = folder.join("cgroup.procs");
    let listed = fs::read_to_string(&path).map_err(|error| super::tree::failed("read", &path, &error))?;
    Ok(listed.lines().filter_map(|line| line.trim().parse().ok()).collect())
}

/// Puts a process into these folders. One that is gone is fine.
pub(super) fn add(folders: &[PathBuf], pid: i32) -> Result<(), CgroupError> {
    for folder in folders {
        let path = folder.join("cgroup.procs");
        match fs::write(&path, pid.to_string()) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => return Ok(()),
            Err(error) => return Err(super::tree::failed("write", &path, &error)),
        }
    }
    Ok(())
}

/// A process that is gone already is fine.
fn kill(pid: i32) -> Result<(), Errno> {
    let own = i32::try_from(std::process::id()).ok();
    // 0 is a process of another PID namespace: it can't be named from here, and `kill(0)` would mean this group.
    let Some(target) = Pid::from_raw(pid).filter(|_| pid > 0 && Some(pid) != own) else {
        return Err(Errno::PERM);
    };
    match kill_process(target, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error),
    }
}

fn collect(folder: &Path, pids: &mut BTreeSet<i32>, depth: usize) {
    let listed = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    pids.extend(listed.lines().filter_map(|line| line.trim().parse::<i32>().ok()));
    if depth >= DEPTH_MAX {
        return;
    }
    for child in super::tree::folders_in(folder) {
        collect(&child, pids, depth + 1);
    }
}
