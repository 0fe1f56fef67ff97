//! The node's file systems, as metrics show them.

use std::sync::Arc;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use witlet_node::{SystemClock, SystemMeter};
use witlet_ports::KernelMeter as _;

use super::{Case, Fixture};

pub(crate) const CASES: &[Case] =
    &[("a file system is shown as long as it is mounted", are_shown_as_long_as_they_are_mounted)];

/// Near the root, as the node's own file systems in memory are.
const POINT: &str = "/mnt";

fn are_shown_as_long_as_they_are_mounted(fixture: &Fixture) {
    let meter = SystemMeter::new("/", Default::default(), Arc::new(SystemClock));
    let shown = || {
        let details = fixture.tokio.block_on(meter.details(Vec::new())).expect("in time");
        details.filesystems.iter().filter(|filesystem| filesystem.device == POINT).count()
    };
    let before = shown();
    mount("witlet", POINT, "tmpfs", MountFlags::empty(), None).expect("it may mount");
    assert_eq!((before, shown(), shown()), (0, 1, 1));
    unmount(POINT, UnmountFlags::empty()).expect("it is mounted");
    assert_eq!((shown(), shown()), (0, 0));
}
