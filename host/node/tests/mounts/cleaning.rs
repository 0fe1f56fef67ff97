//! Giving volumes up, and removing the folders of pods, whatever is mounted there.

use std::fs;
use std::io;
use std::path::Path;

use witlet_core::volume::VolumeKind;
use witlet_node::NodeVolumes;
use witlet_ports::{PodFiles, VolumeError, Volumes};

use crate::{Case, Fixture};

pub(crate) const CASES: &[Case] = &[
    (
        "all_that_is_mounted_below_a_pod_goes_and_no_other_pods",
        all_that_is_mounted_below_a_pod_goes_and_no_other_pods,
    ),
    ("a_new_life_of_the_agent_gives_up_what_an_earlier_one_mounted", a_new_life_gives_up),
    ("what_is_in_use_stays_and_holds_nothing_else_up", what_is_in_use_stays_and_holds_nothing_else_up),
    ("removing_a_pod_stops_at_what_is_mounted_in_it", removing_a_pod_stops_at_what_is_mounted_in_it),
];

fn memory(path: &Path) {
    let flags = rustix::mount::MountFlags::empty();
    rustix::mount::mount("tmpfs", path, "tmpfs", flags, None).expect("mounted");
}

fn all_that_is_mounted_below_a_pod_goes_and_no_other_pods(fixture: &Fixture) {
    let disk = fixture.set_up("disk", VolumeKind::EmptyDir, None).expect("set up");
    fixture.set_up("mem", VolumeKind::Tmpfs { size_bytes: None }, None).expect("set up");
    fixture.sub_path(&disk, "a").expect("mounted");
    // What a privileged container mounted, below and above each other, under odd names.
    for name in ["with space", "with\nnewline", "with\\040", "deep/er"] {
        fs::create_dir_all(disk.join(name)).expect("made");
        memory(&disk.join(name));
        fs::create_dir(disk.join(name).join("inner")).expect("made");
        memory(&disk.join(name).join("inner"));
        memory(&disk.join(name).join("inner"));
    }
    // Another pod, whose name begins alike.
    let other = fixture.at("pods/u-10/volumes/x");
    fs::create_dir_all(&other).expect("made");
    memory(&other);
    assert_eq!(fixture.mounted().len(), 2 + 4 * 3 + 1);
    fixture.tear_down().expect("torn down");
    assert_eq!(fixture.mounted(), [other.to_str().expect("text")]);
    assert!(!fixture.at("pods/u-1/volumes").exists() && !fixture.at("pods/u-1/volume-subpaths").exists());
}

fn a_new_life_gives_up(fixture: &Fixture) {
    let disk = fixture.set_up("disk", VolumeKind::EmptyDir, None).expect("set up");
    fixture.set_up("mem", VolumeKind::Tmpfs { size_bytes: None }, None).expect("set up");
    fixture.sub_path(&disk, "a").expect("mounted");
    let next = NodeVolumes::new(fixture.folder.path());
    fixture.tokio.block_on(next.tear_down(&fixture.uid)).expect("torn down");
    assert_eq!(fixture.mounted(), Vec::<String>::new());
    fixture.tokio.block_on(fixture.pods.remove(&fixture.uid)).expect("removed");
    assert!(!fixture.at("pods/u-1").exists());
}

fn what_is_in_use_stays_and_holds_nothing_else_up(fixture: &Fixture) {
    let [used, free] = ["used", "free"]
        .map(|name| fixture.set_up(name, VolumeKind::Tmpfs { size_bytes: None }, None).expect("set up"));
    let file = fs::File::create(used.join("file")).expect("made");
    match fixture.tear_down().expect_err("in use") {
        VolumeError::Io { action: "unmount", path, cause } => {
            assert_eq!((path, cause.kind()), (used.clone(), io::ErrorKind::ResourceBusy));
        }
        other => panic!("{other}"),
    }
    assert_eq!(fixture.mounted(), [used.to_str().expect("text")]);
    assert!(used.join("file").exists() && free.exists());
    drop(file);
    fixture.tear_down().expect("torn down");
    assert_eq!(fixture.mounted(), Vec::<String>::new());
}

fn removing_a_pod_stops_at_what_is_mounted_in_it(fixture: &Fixture) {
    let precious = fixture.at("precious");
    fs::create_dir(&precious).expect("made");
    fs::write(precious.join("data"), "x").expect("written");
    let disk = fixture.set_up("disk", VolumeKind::EmptyDir, None).expect("set up");
    for name in ["folder", "other"] {
        fs::create_dir_all(disk.join("inner").join(name)).expect("made");
    }
    fs::write(disk.join("file"), "").expect("written");
    // Bind mounts of the same file system: its number doesn't tell them.
    rustix::mount::mount_bind(&precious, disk.join("inner/folder")).expect("mounted");
    rustix::mount::mount_bind(precious.join("data"), disk.join("file")).expect("mounted");
    fixture.tokio.block_on(fixture.pods.remove(&fixture.uid)).expect_err("something is mounted");
    assert_eq!(fs::read(precious.join("data")).expect("kept"), b"x");
    assert_eq!(fixture.mounted().len(), 2);
    // All else of the pod is gone.
    assert!(!disk.join("inner/other").exists());
    fixture.tear_down().expect("torn down");
    fixture.tokio.block_on(fixture.pods.remove(&fixture.uid)).expect("removed");
    assert!(!fixture.at("pods/u-1").exists());
    assert_eq!(fs::read(precious.join("data")).expect("kept"), b"x");
}
