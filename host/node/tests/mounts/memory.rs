//! Volumes in memory and in huge pages, and files that are kept there.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use witlet_core::volume::{FilesMedium, VolumeFile, VolumeKind};
use witlet_ports::VolumeError;

use crate::{Case, Fixture};

pub(crate) const CASES: &[Case] = &[
    ("a_volume_in_memory_is_mounted_once_with_its_size", a_volume_in_memory_is_mounted_once_with_its_size),
    ("a_volume_in_memory_is_its_groups", a_volume_in_memory_is_its_groups),
    ("huge_pages_are_mounted_with_the_size_of_a_page", huge_pages_are_mounted_with_the_size_of_a_page),
    ("files_of_the_agent_are_in_memory_and_the_groups", files_of_the_agent_are_in_memory_and_the_groups),
    ("a_foreign_mount_is_not_taken_for_memory", a_foreign_mount_is_not_taken_for_memory),
];

const GID: u32 = 54_321;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").mode() & 0o7777
}

/// File system and options of the mount at this path, as the kernel shows them.
fn mount_of(path: &Path) -> String {
    let table = fs::read_to_string("/proc/thread-self/mountinfo").expect("a table of mounts");
    let point = format!(" {} ", path.display());
    let line = table.lines().rfind(|line| line.contains(&point)).expect("mounted");
    line.split(" - ").nth(1).expect("a file system").to_owned()
}

fn a_volume_in_memory_is_mounted_once_with_its_size(fixture: &Fixture) {
    let kind = VolumeKind::Tmpfs { size_bytes: Some(1 << 20) };
    let path = fixture.set_up("v", kind.clone(), None).expect("set up");
    assert!(mount_of(&path).starts_with("tmpfs tmpfs ") && mount_of(&path).contains("size=1024k"));
    assert_eq!(mode(&path), 0o1777);
    fs::write(path.join("kept"), "x").expect("written");
    fixture.set_up("v", kind, None).expect("set up again");
    assert!(path.join("kept").exists());
    assert_eq!(fixture.mounted().len(), 1);
    let full = fs::write(path.join("large"), vec![0; 2 << 20]).expect_err("more than its size");
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    fixture.tear_down().expect("torn down");
    assert_eq!((fixture.mounted(), path.exists()), (vec![], false));
}

fn a_volume_in_memory_is_its_groups(fixture: &Fixture) {
    let path = fixture.set_up("v", VolumeKind::Tmpfs { size_bytes: None }, Some(GID)).expect("set up");
    assert_eq!((mode(&path), fs::metadata(&path).expect("there").gid()), (0o3777, GID));
    fs::write(path.join("file"), "x").expect("written");
    assert_eq!(fs::metadata(path.join("file")).expect("there").gid(), GID);
    let disk = fixture.set_up("w", VolumeKind::EmptyDir, Some(GID)).expect("set up");
    assert_eq!((mode(&disk), fs::metadata(&disk).expect("there").gid()), (0o2777, GID));
}

fn huge_pages_are_mounted_with_the_size_of_a_page(fixture: &Fixture) {
    let pages = |page_bytes| VolumeKind::HugePages { page_bytes };
    let path = fixture.set_up("v", pages(2 << 20), Some(GID)).expect("set up");
    assert!(mount_of(&path).starts_with("hugetlbfs ") && mount_of(&path).contains("pagesize=2M"));
    assert_eq!((mode(&path), fs::metadata(&path).expect("there").gid()), (0o2775, GID));
    fixture.set_up("v", pages(2 << 20), Some(GID)).expect("set up again");
    assert_eq!(fixture.mounted().len(), 1);
    let error = fixture.set_up("v", pages(1 << 30), None).expect_err("other pages");
    assert!(
        matches!(error, VolumeError::PageSize { found_bytes: 0x20_0000, desired_bytes: 0x4000_0000, .. }),
        "{error}"
    );
    fixture.tear_down().expect("torn down");
    assert_eq!(fixture.mounted(), Vec::<String>::new());
}

fn files_of_the_agent_are_in_memory_and_the_groups(fixture: &Fixture) {
    let files = |content: &str| {
        let file = |path: &str, mode| VolumeFile {
            path: path.into(),
            content: content.into(),
            mode,
            owner: (path == "inner/secret").then_some(1234),
        };
        let files = vec![file("name", 0o644), file("inner/secret", 0o400)];
        let medium = FilesMedium::Memory { size_bytes: Some(1 << 20), is_secret: true };
        VolumeKind::Files { plugin: "kubernetes.io~downward-api", files, medium }
    };
    let volume = |kind| witlet_core::volume::VolumeSetUp {
        name: "v".to_owned(),
        kind,
        ownership: Some(witlet_core::volume::Ownership {
            gid: GID,
            on_root_mismatch: false,
            read_only: true,
        }),
    };
    let set_up = |content: &str| {
        use witlet_ports::Volumes;
        fixture.tokio.block_on(fixture.volumes.set_up(&fixture.uid, &volume(files(content)))).expect("set up")
    };
    let path = set_up("one");
    assert_eq!(path, fixture.at("pods/u-1/volumes/kubernetes.io~downward-api/v"));
    assert!(mount_of(&path).starts_with("tmpfs "));
    assert_eq!(fs::read_to_string(path.join("inner/secret")).expect("read"), "one");
    for (name, expected) in
        [("", 0o3777), ("..data", 0o2755), ("inner", 0o2755), ("name", 0o644), ("inner/secret", 0o440)]
    {
        let found = fs::metadata(path.join(name)).expect("there");
        assert_eq!((found.mode() & 0o7777, found.gid()), (expected, GID), "{name}");
    }
    assert_eq!(fs::metadata(path.join("inner/secret")).expect("there").uid(), 1234);
    let written = || {
        use witlet_ports::Volumes;
        let inspected = fixture.volumes.written(&fixture.uid, "kubernetes.io~downward-api", "v");
        fixture.tokio.block_on(inspected).expect("checked")
    };
    assert_eq!(written(), Some(path.clone()));
    let data = || fs::read_link(path.join("..data")).expect("a link");
    let before = data();
    set_up("one");
    assert_eq!(data(), before);
    set_up("two");
    assert_ne!(data(), before);
    assert_eq!(fs::read_to_string(path.join("name")).expect("read"), "two");
    assert_eq!(fixture.mounted().len(), 1);
}

fn a_foreign_mount_is_not_taken_for_memory(fixture: &Fixture) {
    let path = fixture.set_up("v", VolumeKind::EmptyDir, None).expect("set up");
    rustix::mount::mount_bind("/", &path).expect("mounted");
    fixture.set_up("v", VolumeKind::Tmpfs { size_bytes: None }, None).expect("mounted above");
    assert!(mount_of(&path).starts_with("tmpfs tmpfs "));
    fixture.tear_down().expect("both unmounted");
    assert_eq!(fixture.mounted(), Vec::<String>::new());
}
