//! The kernel's reports of short memory, with a cgroup of version 1 of the test's own, or with none where the machine has no such.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;
use witlet_core::eviction::{MemoryScope, MemoryWatch, ThresholdValue};
use witlet_node::{KernelMemoryNotifier, PodsCgroup};
use witlet_ports::MemoryNotifier;

use crate::{Case, Fixture};

pub(crate) const CASES: &[Case] = &[("the_kernel_reports_that_memory_runs_short", reports)];

const MIB: usize = 1 << 20;
const V1: &str = "/sys/fs/cgroup/memory";

/// A cgroup that is removed with it.
struct Cgroup(PathBuf);

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _there = std::fs::remove_dir(&self.0);
    }
}

fn reports(fixture: &Fixture) {
    if !Path::new(V1).join("cgroup.event_control").exists() {
        let notifier = KernelMemoryNotifier::new(PodsCgroup::default());
        fixture.tokio.block_on(notifier.watch(&[watch(1)])).expect("the kernel takes a trigger of stalls");
        return;
    }
    let cgroup = Cgroup(Path::new(V1).join(format!("witlet-test-{}", std::process::id())));
    std::fs::create_dir(&cgroup.0).expect("a cgroup");
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
