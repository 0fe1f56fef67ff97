//! The agent's root folder as a shared mount.

use std::fs;

use rustix::mount::{UnmountFlags, mount_bind, unmount};
use witlet_node::make_shared;

use super::{Case, Place};

pub(crate) const CASES: &[Case] = &[
    ("a root folder becomes a shared mount once, where everything around it is private", becomes_shared),
    ("what is mounted below a folder that becomes shared stays visible", keeps_mounts),
];

/// Whether the newest mount at the folder of the case is shared, for each mount there.
fn shared(place: &Place) -> Vec<bool> {
    let table = fs::read_to_string("/proc/thread-self/mountinfo").expect("a table of mounts");
    let folder = place.at("root").to_str().expect("text").to_owned();
    let at = table.lines().filter(|line| line.split(' ').nth(4) == Some(&folder));
    at.map(|line| line.contains(" shared:")).collect()
}

fn becomes_shared(place: &Place) {
    fs::create_dir(place.at("root")).expect("a folder");
    for _ in 0..3 {
        make_shared(&place.at("root")).expect("it may mount");
        assert_eq!(shared(place), [true]);
    }
    unmount(place.at("root"), UnmountFlags::DETACH).expect("it is mounted");
}

fn keeps_mounts(place: &Place) {
    let (source, target) = (place.at("source"), place.at("root/pods/volume"));
    fs::create_dir_all(&source).expect("a folder");
    fs::create_dir_all(&target).expect("a folder");
    fs::write(source.join("file"), "here").expect("a file");
    mount_bind(&source, &target).expect("it may mount");
    make_shared(&place.at("root")).expect("it may mount");
    assert_eq!(fs::read_to_string(target.join("file")).expect("it is there"), "here");
    unmount(place.at("root"), UnmountFlags::DETACH).expect("it is mounted");
}
