//! Has the kernel report that memory runs short: by levels of usage with cgroups of version 1 (upstream:
//! `threshold_notifier_linux.go`), by stalls with version 2, which knows no such levels. Nothing runs while memory is there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use futures::future::select_all;
use rustix::event::{EventfdFlags, eventfd};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Mutex;
use witlet_core::eviction::{MemoryScope, MemoryWatch};
use witlet_ports::{MemoryNotifier, MemoryNotifierError};

use crate::node_readings::memory::{self, PodsCgroup};

#[cfg(test)]
mod tests;

/// A report comes when processes have waited for memory for 200 ms within 2 s: what systemd takes for pressure where nothing else is
/// set (`DefaultMemoryPressureThresholdSec`), and a window that needs no privilege.
const STALL_TRIGGER: &[u8] = b"some 200000 2000000\0";

/// Asks the kernel of this machine.
#[derive(Debug)]
pub struct KernelMemoryNotifier {
    proc: PathBuf,
    cgroups: PathBuf,
    pods: PodsCgroup,
    armed: Mutex<Vec<Armed>>,
}

/// A watch that the kernel has.
#[derive(Debug)]
struct Armed {
    /// Which stalls; none for a level of usage.
    stalls: Option<Stalls>,
    reports: AsyncFd<OwnedFd>,
}

/// A file that tells of stalls. A cgroup that is made again has another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stalls {
    path: PathBuf,
    inode: u64,
}

/// What was opened, and the first failure.
#[derive(Default)]
struct Opened {
    files: Vec<(Option<Stalls>, OwnedFd)>,
    failure: Option<MemoryNotifierError>,
}

impl KernelMemoryNotifier {
    /// Of a machine whose pods are in this cgroup.
    pub fn new(pods: PodsCgroup) -> Self {
        Self::with_files("/proc".into(), "/sys/fs/cgroup".into(), pods)
    }

    /// With the kernel's files below these folders.
    pub fn with_files(proc: PathBuf, cgroups: PathBuf, pods: PodsCgroup) -> Self {
        Self { proc, cgroups, pods, armed: Mutex::default() }
    }
}

#[async_trait]
impl MemoryNotifier for KernelMemoryNotifier {
    async fn watch(&self, watches: &[MemoryWatch]) -> Result<(), MemoryNotifierError> {
        let mut armed = self.armed.lock().await;
        let known: Vec<Stalls> = armed.iter().filter_map(|one| one.stalls.clone()).collect();
        let files = (self.proc.clone(), self.cgroups.clone(), self.pods.clone());
        let watches = watches.to_vec();
        let open = move || open((&files.0, &files.1, &files.2), &watches, &known);
        let (kept, opened) = tokio::task::spawn_blocking(open).await.unwrap_or_default();
        let mut failure = opened.failure;
        armed.retain(|one| one.stalls.as_ref().is_some_and(|stalls| kept.contains(stalls)));
        for (stalls, file) in opened.files {
            let interest = if stalls.is_some() { Interest::PRIORITY } else { Interest::READABLE };
            match poll(file, interest) {
                Ok(reports) => armed.push(Armed { stalls, reports }),
                Err(cause) => {
                    let path = stalls.map_or_else(|| self.cgroups.clone(), |stalls| stalls.path);
                    failure = failure.or(Some(MemoryNotifierError { action: "poll", path, cause }));
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    async fn notified(&self) {
        let armed = self.armed.lock().await;
        let reports = armed.iter().map(|one| Box::pin(reported(&one.reports)));
        let reports: Vec<_> = reports.collect();
        if reports.is_empty() {
            return std::future::pending().await;
        }
        select_all(reports).await;
    }
}

#[expect(
    deprecated,
    reason = "what takes its place is unsafe, and asks only for what an owned descriptor promises"
)]
fn poll(file: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(file, interest)
}

/// Returns with the next report.
async fn reported(file: &AsyncFd<OwnedFd>) {
    let interest = Interest::READABLE | Interest::PRIORITY;
    match file.ready(interest).await {
        Ok(mut ready) => ready.clear_ready(),
        // Only a runtime that is shutting down.
        Err(_) => std::future::pending().await,
    }
}

/// Where `/proc` and cgroups are mounted, and the cgroup of pods.
type Files<'a> = (&'a Path, &'a Path, &'a PodsCgroup);

/// Files of all watches, and which of the known ones stay.
fn open(files: Files<'_>, watches: &[MemoryWatch], known: &[Stalls]) -> (Vec<Stalls>, Opened) {
    let (proc, cgroups, pods) = files;
    let (mut kept, mut opened) = (Vec::new(), Opened::default());
    if cgroups.join("memory/cgroup.event_control").exists() {
        for watch in watches {
            match level(files, *watch) {
                Ok(file) => opened.files.extend(file.map(|file| (None, file))),
                Err(error) => opened.failure = opened.failure.or(Some(error)),
            }
        }
        return (kept, opened);
    }
    let mut scopes: Vec<MemoryScope> = watches.iter().map(|watch| watch.scope).collect();
    scopes.sort_unstable();
    scopes.dedup();
    for scope in scopes {
        let path = match scope {
            MemoryScope::Node => Some(proc.join("pressure/memory")),
            MemoryScope::Pods => memory::pods_v2(cgroups, pods).map(|folder| folder.join("memory.pressure")),
        };
        let Some(path) = path else { continue };
        match stalls(&path, known) {
            Ok((stalls, Some(file))) => opened.files.push((Some(stalls), file)),
            Ok((stalls, None)) => kept.push(stalls),
            Err(cause) => {
                let error = MemoryNotifierError { action: "write", path, cause };
                opened.failure = opened.failure.or(Some(error));
            }
        }
    }
    (kept, opened)
}

/// A trigger in a file of stalls; no new one where there is one.
fn stalls(path: &Path, known: &[Stalls]) -> io::Result<(Stalls, Option<OwnedFd>)> {
    let stalls = Stalls { path: path.to_owned(), inode: fs::metadata(path)?.ino() };
    if known.contains(&stalls) {
        return Ok((stalls, None));
    }
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    file.write_all(STALL_TRIGGER)?;
    Ok((stalls, Some(file.into())))
}

/// An event at a level of usage; none where the cgroup isn't there or has no limit.
fn level(
    (proc, cgroups, pods): Files<'_>,
    watch: MemoryWatch,
) -> Result<Option<OwnedFd>, MemoryNotifierError> {
    let found = match watch.scope {
        MemoryScope::Node => memory::capacity(proc).map(|capacity| (cgroups.join("memory"), capacity)),
        MemoryScope::Pods => memory::pods_v1(cgroups, pods),
    };
    let Some((folder, capacity)) = found else { return Ok(None) };
    let Some(inactive_file) = memory::inactive_file_v1(&folder) else { return Ok(None) };
    let at = watch.usage_level(capacity, inactive_file);
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |cause: io::Error| MemoryNotifierError { action, path, cause }
    };
    let (usage, control) = (folder.join("memory.usage_in_bytes"), folder.join("cgroup.event_control"));
    let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(|errno| failed("make an event for", &control)(errno.into()))?;
    let usage_file = File::open(&usage).map_err(failed("open", &usage))?;
    let line = format!("{} {} {at}", event.as_raw_fd(), usage_file.as_raw_fd());
    let mut file = OpenOptions::new().write(true).open(&control).map_err(failed("open", &control))?;
    file.write_all(line.as_bytes()).map_err(failed("write", &control))?;
    Ok(Some(event))
}
