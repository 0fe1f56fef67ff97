//! An agent that isn't root, as with the embedded runtime: what works, and what tells why it doesn't. And what only root
//! can try: devices.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType};
use rustix::process::Uid;
use witlet_core::volume::{FilesMedium, HostPathCheck, Ownership, VolumeFile, VolumeKind, VolumeSetUp};
use witlet_ports::{VolumeError, Volumes};

use crate::{Case, Fixture};

pub(crate) const CASES: &[Case] = &[
    ("without_privileges_folders_files_and_host_paths_work", folders_files_and_host_paths_work),
    ("without_privileges_mounts_tell_why_not", mounts_tell_why_not),
    ("devices_are_distinguished", devices_are_distinguished),
];

const WITHOUT_RIGHTS: u32 = 65_534;

/// This thread and those it starts run as the user without rights from here on.
fn drop_privileges(fixture: &Fixture) {
    let uid = Uid::from_raw(WITHOUT_RIGHTS);
    std::os::unix::fs::chown(fixture.folder.path(), Some(WITHOUT_RIGHTS), None).expect("given");
    rustix::thread::set_thread_res_uid(uid, uid, uid).expect("root no longer");
    fs::write("/root-no-longer", "x").expect_err("root no longer");
}

fn folders_files_and_host_paths_work(fixture: &Fixture) {
    drop_privileges(fixture);
    // A group that isn't the agent's can't be given; the folder is for all anyway.
    let disk = fixture.set_up("disk", VolumeKind::EmptyDir, Some(4)).expect("set up");
    fs::write(disk.join("file"), "x").expect("written");
    let files = vec![VolumeFile { path: "name".into(), content: "web".into(), mode: 0o644, owner: Some(5) }];
    let medium = |is_secret| FilesMedium::Memory { size_bytes: Some(1 << 20), is_secret };
    let secret =
        VolumeKind::Files { plugin: "kubernetes.io~secret", files: files.clone(), medium: medium(true) };
    let kind = VolumeKind::Files { plugin: "kubernetes.io~downward-api", files, medium: medium(false) };
    let ownership = Some(Ownership { gid: 4, on_root_mismatch: false, read_only: true });
    let volume = VolumeSetUp { name: "down".into(), kind, ownership };
    for _ in 0..2 {
        let path = fixture.tokio.block_on(fixture.volumes.set_up(&fixture.uid, &volume)).expect("set up");
        assert_eq!(fs::read_to_string(path.join("name")).expect("read"), "web");
    }
    // A secret doesn't go to the disk.
    fixture.set_up("hidden", secret, None).expect_err("only root may mount");
    assert!(!fixture.at("pods/u-1/volumes/kubernetes.io~secret/hidden/name").exists());
    let host = |path: &Path, check| VolumeKind::HostPath { path: path.to_owned(), check };
    fixture
        .set_up("host", host(&fixture.at("data"), HostPathCheck::DirectoryOrCreate), None)
        .expect("set up");
    let denied =
        fixture.set_up("host", host(Path::new("/root-no-longer"), HostPathCheck::FileOrCreate), None);
    denied.expect_err("not allowed");
    fixture.tear_down().expect("torn down");
    assert!(!disk.exists());
}

fn mounts_tell_why_not(fixture: &Fixture) {
    drop_privileges(fixture);
    let disk = fixture.set_up("disk", VolumeKind::EmptyDir, None).expect("set up");
    let errors = [
        fixture.set_up("mem", VolumeKind::Tmpfs { size_bytes: None }, None),
        fixture.set_up("huge", VolumeKind::HugePages { page_bytes: 2 << 20 }, None),
        fixture.sub_path(&disk, "a"),
    ];
    for (error, expected) in
        errors.into_iter().zip(["mount tmpfs at", "mount hugetlbfs at", "mount sub-path at"])
    {
        match error.expect_err("only root may mount") {
            VolumeError::Io { action, cause, .. } => {
                assert_eq!((action, cause.kind()), (expected, io::ErrorKind::PermissionDenied));
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!(fixture.mounted(), Vec::<String>::new());
    fixture.tear_down().expect("torn down");
}

fn devices_are_distinguished(fixture: &Fixture) {
    let mode = rustix::fs::Mode::RUSR;
    for (name, kind) in [("block", FileType::BlockDevice), ("char", FileType::CharacterDevice)] {
        rustix::fs::mknodat(CWD, fixture.at(name), kind, mode, rustix::fs::makedev(7, 0)).expect("made");
    }
    let of = |name: &str, check| {
        let kind = VolumeKind::HostPath { path: fixture.at(name), check };
        fixture.set_up("v", kind, None).is_ok()
    };
    let found = ["block", "char"]
        .map(|name| [HostPathCheck::BlockDevice, HostPathCheck::CharDevice].map(|check| of(name, check)));
    assert_eq!(found, [[true, false], [false, true]]);
}
