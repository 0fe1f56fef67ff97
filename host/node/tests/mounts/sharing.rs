//! The agent's root folder as a shared mount.

use std::fs;

use rustix::mount::{UnmountFlags, mount_bind, unmount};
use witlet_node::make_shared;

use super::{Case, Fixture};

pub(crate) const CASES: &[Case] = &[
    ("a root folder becomes a shared mount once, where everything around it is private", becomes_shared),
    ("what is mounted below a folder that becomes shared stays visible", keeps_mounts),
];

/// Whether the newest mount at the folder of the case is shared, for each mount there.
fn shared(fixture: &Fixture) -> Vec<bool> {
    let table = fs::read_to_string("/proc/thread-self/mountinfo").expect("a table of mounts");
    let folder = fixture.at("root").to_str().expect("text").to_owned();
    let at = table.lines().filter(|line| line.split(' ').nth(4) == Some(&folder));
    at.map(|line| line.contains(" shared:")).collect()
}

fn becomes_shared(fixture: &Fixture) {
    fs::create_dir(fixture.at("root")).expect("a folder");
    for _ in 0..3 {
        make_shared(&fixture.at("root")).expect("it may mount");
        assert_eq!(shared(fixture), [true]);
    }
    unmount(fixture.at("root"), UnmountFlags::DETACH).expect("it is mounted");
}

fn keeps_mounts(fixture: &Fixture) {
    let (source, target) = (fixture.at("source"), fixture.at("root/pods/volume"));
    fs::create_dir_all(&source).expect("a folder");
    fs::create_dir_all(&target).expect("a folder");
    fs::write(source.join("file"), "here").expect("a file");
    mount_bind(&source, &target).expect("it may mount");
    make_shared(&fixture.at("root")).expect("it may mount");
    assert_eq!(fs::read_to_string(target.join("file")).expect("it is there"), "here");
    unmount(fixture.at("root"), UnmountFlags::DETACH).expect("it is mounted");
}
