//! The kernel's reports of short memory, with a cgroup of version 1 of the test's own, or with none where the machine has no such.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;
use witlet_core::eviction::{MemoryScope, MemoryWatch, ThresholdValue};
use witlet_node::{KernelMemoryNotifier, PodsCgroup};
use witlet_ports::MemoryNotifier;

use crate::{Case, Fixture};

/// Ignored where the kernel doesn't measure stalls.
pub(crate) const OF_STALLS: &str = "the_kernel_reports_that_processes_wait_for_memory";

pub(crate) const CASES: &[Case] =
    &[("the_kernel_reports_that_memory_runs_short", reports), (OF_STALLS, reports_of_stalls)];

const MIB: usize = 1 << 20;
const V1: &str = "/sys/fs/cgroup/memory";
const V2: &str = "/sys/fs/cgroup";
/// How often a file is read at most: far more often than a report takes.
const READS_MAX: usize = 5000;

/// A cgroup that is removed with it.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new(parent: &str, name: &str) -> Self {
        let cgroup = Self(Path::new(parent).join(format!("witlet-test-{name}-{}", std::process::id())));
        std::fs::create_dir(&cgroup.0).expect("a cgroup");
        cgroup
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _there = std::fs::remove_dir(&self.0);
    }
}

/// Whether the kernel measures how long processes wait for memory.
pub(crate) fn has_stalls() -> bool {
    Path::new("/proc/pressure/memory").exists()
}

fn reports(fixture: &Fixture) {
    if !Path::new(V1).join("cgroup.event_control").exists() {
        let notifier = KernelMemoryNotifier::new(PodsCgroup::default());
        fixture.tokio.block_on(notifier.watch(&[watch(1)])).expect("the kernel takes a trigger of stalls");
        return;
    }
    let cgroup = Cgroup::new(V1, "levels");
    // The cgroup is the root of a machine with 64 MiB.
    std::os::unix::fs::symlink(&cgroup.0, fixture.at("memory")).expect("linked");
    std::fs::write(fixture.at("meminfo"), "MemTotal: 65536 kB\n").expect("written");
    let notifier = KernelMemoryNotifier::with_files(
        fixture.folder.path().into(),
        fixture.folder.path().into(),
        PodsCgroup::default(),
    );
    fixture.tokio.block_on(async {
        notifier.watch(&[watch(40)]).await.expect("watched");
        eat(&cgroup.0, 4);
        let early = timeout(Duration::from_millis(50), notifier.notified()).await;
        assert!(early.is_err(), "much is left");
        eat(&cgroup.0, 32);
        timeout(Duration::from_secs(300), notifier.notified()).await.expect("a report");
    });
}

/// A process reads a file that is larger than what its cgroup may keep of it, again and again, so that it waits for what was there
/// before. The machine has memory all the while.
fn reports_of_stalls(fixture: &Fixture) {
    let cgroup = if Path::new(V1).exists() {
        let cgroup = Cgroup::new(V1, "stalls");
        std::fs::write(cgroup.0.join("memory.limit_in_bytes"), (16 * MIB).to_string()).expect("limited");
        cgroup
    } else {
        std::fs::write(Path::new(V2).join("cgroup.subtree_control"), "+memory").expect("delegated");
        let cgroup = Cgroup::new(V2, "stalls");
        std::fs::write(cgroup.0.join("memory.max"), (16 * MIB).to_string()).expect("limited");
        cgroup
    };
    let file = not_cached();
    // This folder has no cgroups of version 1, which have levels.
    let notifier =
        KernelMemoryNotifier::with_files("/proc".into(), fixture.folder.path().into(), PodsCgroup::default());
    let procs = cgroup.0.join("cgroup.procs");
    let mut reader = std::process::Command::new("sh");
    reader.args(["-c", "echo $$ > \"$0\" && exec cat \"$@\" > /dev/null"]).arg(&procs);
    reader.args(std::iter::repeat_n(file.path(), READS_MAX));
    fixture.tokio.block_on(async {
        notifier.watch(&[watch(1)]).await.expect("watched");
        let mut reader = reader.spawn().expect("run");
        let reported = timeout(Duration::from_secs(300), notifier.notified()).await;
        // It has ended if it was done.
        let _done = reader.kill();
        reader.wait().expect("ended");
        reported.expect("a report");
    });
}

/// A file on a disk, none of which is in memory: what is there counts for the cgroup of who read it first.
fn not_cached() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a file");
    file.write_all(&vec![0; 64 * MIB]).expect("written");
    file.as_file().sync_all().expect("on the disk");
    rustix::fs::fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed).expect("dropped");
    file
}

fn watch(mib: i64) -> MemoryWatch {
    let threshold = ThresholdValue::Quantity { amount: mib << 20, is_binary: true };
    MemoryWatch { scope: MemoryScope::Node, threshold }
}

/// A process in the cgroup takes so much memory, and ends.
fn eat(cgroup: &Path, mib: usize) {
    let procs = cgroup.join("cgroup.procs");
    let script = format!(
        "echo $$ > {} && exec dd if=/dev/zero of=/dev/null bs={} count=1 status=none",
        procs.display(),
        mib * MIB
    );
    let ended = std::process::Command::new("sh").args(["-c", &script]).status().expect("run");
    assert!(ended.success());
}
