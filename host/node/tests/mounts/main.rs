//! Volumes that need real mounts. Each case has a mount namespace of its own, so that nothing it mounts is seen outside,
//! or outlives it.
#![allow(clippy::print_stderr, clippy::panic, reason = "a test program of its own")]

mod cleaning;
mod filesystems;
mod hanging;
mod memory;
mod memory_reports;
mod sharing;
mod sub_paths;
mod unprivileged;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Arguments, Failed, Trial};
use rustix::mount::MountPropagationFlags;
use rustix::thread::UnshareFlags;
use tokio::runtime::Runtime;
use witlet_core::pod::PodUid;
use witlet_core::volume::{Ownership, SubPath, VolumeKind, VolumeSetUp};
use witlet_node::{NodePodFiles, NodeVolumes};
use witlet_ports::{VolumeError, Volumes};

/// What a case claims, and the case.
type Case = (&'static str, fn(&Fixture));

static CASES_BEGUN: AtomicUsize = AtomicUsize::new(0);

/// What a case has: a folder, volumes in it, and a tokio runtime whose threads see its mounts.
struct Fixture {
    folder: tempfile::TempDir,
    volumes: NodeVolumes,
    pods: NodePodFiles,
    uid: PodUid,
    tokio: Runtime,
    /// What the runtime's threads are called; no other case's are.
    thread_name: String,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let thread_name = format!("case-{}", CASES_BEGUN.fetch_add(1, Ordering::Relaxed));
        let mut tokio = tokio::runtime::Builder::new_current_thread();
        let tokio = tokio.enable_all().thread_name(&thread_name).build().expect("a runtime");
        let volumes = NodeVolumes::new(folder.path());
        let pods = NodePodFiles::new(folder.path(), &folder.path().join("logs"));
        Self { folder, volumes, pods, uid: "u-1".into(), tokio, thread_name }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn set_up(&self, name: &str, kind: VolumeKind, gid: Option<u32>) -> Result<PathBuf, VolumeError> {
        let ownership = gid.map(|gid| Ownership { gid, on_root_mismatch: false, read_only: false });
        let volume = VolumeSetUp { name: name.to_owned(), kind, ownership };
        self.tokio.block_on(self.volumes.set_up(&self.uid, &volume))
    }

    fn sub_path(&self, volume: &Path, path: &str) -> Result<PathBuf, VolumeError> {
        let sub_path = SubPath { volume: "v".into(), container: "app".into(), index: 0, path: path.into() };
        self.tokio.block_on(self.volumes.sub_path(&self.uid, volume, &sub_path))
    }

    fn tear_down(&self) -> Result<(), VolumeError> {
        self.tokio.block_on(self.volumes.tear_down(&self.uid))
    }

    /// Mount points below the case's folder.
    fn mounted(&self) -> Vec<String> {
        let table = std::fs::read_to_string("/proc/thread-self/mountinfo").expect("a table of mounts");
        let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(str::to_owned);
        let folder = self.folder.path().to_str().expect("text").to_owned();
        points.filter(|point| point.starts_with(&folder)).collect()
    }
}

/// Runs the rest of this thread, and the threads it starts, with mounts of their own.
#[allow(unsafe_code, reason = "the kernel's call is marked so for what it can do to file descriptors")]
fn own_mounts() -> io::Result<()> {
    // SAFETY: mounts and the working directory are no longer shared; the table of file descriptors stays shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) }?;
    Ok(rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

fn in_own_mounts(case: fn(&Fixture)) -> Result<(), Failed> {
    let thread = std::thread::spawn(move || {
        own_mounts().expect("a mount namespace");
        case(&Fixture::new());
    });
    thread.join().map_err(|panic| match panic.downcast::<String>() {
        Ok(message) => Failed::from(*message),
        Err(_) => Failed::from("see the message above"),
    })
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let may_mount = std::thread::spawn(own_mounts).join().expect("no panic");
    if let Err(error) = &may_mount {
        eprintln!("SKIPPED: mounting needs root and CAP_SYS_ADMIN: {error}");
    }
    let cases = [
        memory::CASES,
        memory_reports::CASES,
        sub_paths::CASES,
        cleaning::CASES,
        hanging::CASES,
        unprivileged::CASES,
        sharing::CASES,
        filesystems::CASES,
    ]
    .concat();
    let trials = cases.into_iter().map(|(name, case)| {
        let can_run =
            may_mount.is_ok() && (name != memory_reports::OF_STALLS || memory_reports::has_stalls());
        Trial::test(name, move || in_own_mounts(case)).with_ignored_flag(!can_run)
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
