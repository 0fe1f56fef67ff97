//! What is the node's own among all that is counted.

use witlet_core::stats::cadvisor::{BlockDevice, partitions};

use super::*;
use crate::mounts::MountedFilesystem;

#[tokio::test]
async fn the_root_has_the_limits_of_the_machine_and_of_its_first_process() {
    let machine = version_2("kubepods/podu-1", "c1");
    let own = "/system.slice/witlet.service";
    for cgroup in ["", own] {
        machine.write(&format!("cgroup{cgroup}/cgroup.procs"), "77\n");
    }
    for (pid, open_files) in [(1, 4096), (77, 512)] {
        let limits = format!("Limit  Soft\nMax open files            {open_files}   8192   files\n");
        machine.write(&format!("proc/{pid}/limits"), &limits);
    }
    let details = machine.meter.details(vec![running_pod("u-1", &["c1"])]).await.expect("in time");
    let of =
        |path: &str| &details.node.iter().find(|cgroup| cgroup.path == path).expect("it is there").details;
    let spec = of("/").spec;
    assert_eq!(
        (spec.has_cpu, spec.has_memory, spec.memory, spec.swap),
        (true, true, Some(100 << 10), Some(0))
    );
    let processes = |path: &str| (of(path).processes.count, of(path).processes.open_files_max);
    assert_eq!(processes("/"), (1, Some(4096)));
    assert_eq!(processes(own), (1, None), "no container's");
    let container = &details.pods[&PodUid::from("u-1")].containers[&ContainerId::from("c1")].details;
    assert_eq!((container.processes.count, container.processes.open_files_max), (2, Some(512)));
}

#[test]
fn file_systems_are_shown_with_what_their_devices_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let mounted = |minor, source: &str, is_in_memory| MountedFilesystem {
        device: BlockDevice { major: 8, minor },
        source: source.to_owned(),
        point: folder.path().to_owned(),
        is_in_memory,
    };
    let mounted = [mounted(0, "/dev/sda", false), mounted(1, "/dev/sdb", false), mounted(0, "tmpfs", true)];
    let diskstats = partitions("8 0 sda 5 0 0 0 0 0 0 0 0 0 0\n");
    let found = details::filesystems(&mounted, &diskstats);
    let here = folder.path().display().to_string();
    let devices: Vec<&str> = found.iter().map(|found| found.device.as_str()).collect();
    assert_eq!(devices, ["/dev/sda", "/dev/sdb", here.as_str()]);
    let reads = found.iter().map(|found| found.traffic.as_ref().map(|traffic| traffic.reads[0]));
    assert_eq!(reads.collect::<Vec<_>>(), [Some(5), None, None]);
    assert!(found.iter().all(|found| found.capacity >= found.used && found.capacity > 0), "{found:?}");
    assert_eq!(details::filesystems(&vec![mounted[0].clone(); 65], &diskstats).len(), 64, "the bound");
}
