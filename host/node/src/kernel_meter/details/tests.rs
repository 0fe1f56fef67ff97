//! Open files of processes.

use std::sync::{Arc, Mutex as SyncMutex};

use jiff::Timestamp;
use witlet_core::cgroup::CgroupLayout;
use witlet_core::runtime::CgroupDriver;
use witlet_core::stats::summary::Scope;
use witlet_ports::Clock;

use super::*;
use crate::kernel_meter::Kernel;

struct Never;

impl Clock for Never {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

#[test]
fn files_beyond_the_bound_are_not_listed() {
    let machine = tempfile::tempdir().expect("a folder");
    let folder = machine.path().join("fd");
    fs::create_dir(&folder).expect("made");
    for name in ["0", "1", "2"] {
        std::os::unix::fs::symlink("socket:[1]", folder.join(name)).expect("made");
    }
    let kernel = Kernel { proc: machine.path().into(), cgroups: "none".into(), processors: "none".into() };
    let layouts =
        [CgroupDriver::Systemd, CgroupDriver::Cgroupfs].map(|driver| CgroupLayout::new(driver, "/"));
    let clock: Arc<dyn Clock> = Arc::new(Never);
    let known = SyncMutex::default();
    let reading = Reading::new(&kernel, &layouts, &*clock, &known, Scope::All);
    // What the kernel says of the folder; of processes it is the number of files, from 6.2 on.
    let known = fs::metadata(&folder).expect("it is there").len();
    for (left, open, sockets, left_then) in [(100_000, 3, 3, 99_997), (1, known, 0, 1), (0, known, 0, 0)] {
        let (budget, mut processes) = (Budget { files: Cell::new(left) }, Processes::default());
        reading.open_files(&folder, &budget, &mut processes);
        let found = (processes.file_descriptors, processes.sockets, budget.files.get());
        assert_eq!(found, (open, sockets, left_then), "{left} left");
    }
}
