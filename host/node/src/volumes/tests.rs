//! Volumes that need no mount, on a real disk. Those that do are in `tests/mounts.rs`.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use witlet_core::volume::HostPathCheck;

use super::*;

fn place() -> (tempfile::TempDir, NodeVolumes, PodUid) {
    let folder = tempfile::tempdir().expect("a folder");
    let volumes = NodeVolumes::new(folder.path());
    (folder, volumes, "u-1".into())
}

fn volume(kind: VolumeKind) -> VolumeSetUp {
    VolumeSetUp { name: "v".to_owned(), kind, ownership: None }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("there").mode() & 0o7777
}

#[tokio::test]
async fn an_empty_folder_is_for_all_and_keeps_what_is_written_to_it() {
    let (folder, volumes, uid) = place();
    let path = volumes.set_up(&uid, &volume(VolumeKind::EmptyDir)).await.expect("set up");
    assert_eq!(path, folder.path().join("pods/u-1/volumes/kubernetes.io~empty-dir/v"));
    assert_eq!(mode(&path), 0o777);
    fs::write(path.join("file"), "x").expect("written");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("set");
    volumes.set_up(&uid, &volume(VolumeKind::EmptyDir)).await.expect("set up again");
    assert!(path.join("file").exists());
    // What a container did to its folder is its own business.
    assert_eq!(mode(&path), 0o700);
}

#[tokio::test]
async fn an_empty_folder_of_a_group_is_the_groups_from_the_beginning() {
    let (_folder, volumes, uid) = place();
    let gid = rustix::process::getegid().as_raw();
    let owner = Ownership { gid, on_root_mismatch: false, read_only: false };
    let expected = VolumeSetUp { ownership: Some(owner), ..volume(VolumeKind::EmptyDir) };
    let path = volumes.set_up(&uid, &expected).await.expect("set up");
    assert_eq!((mode(&path), fs::metadata(&path).expect("there").gid()), (0o2777, gid));
}

#[tokio::test]
async fn half_a_folder_of_a_crash_is_made_again() {
    let (folder, volumes, uid) = place();
    let half = folder.path().join("pods/u-1/volumes/kubernetes.io~empty-dir/.new.v");
    fs::create_dir_all(half.join("inner")).expect("made");
    let path = volumes.set_up(&uid, &volume(VolumeKind::EmptyDir)).await.expect("set up");
    assert!(path.is_dir() && !half.exists() && !path.join("inner").exists());
}

#[tokio::test]
async fn a_file_or_a_link_where_a_folder_should_be_is_reported() {
    let (folder, volumes, uid) = place();
    let place = folder.path().join("pods/u-1/volumes/kubernetes.io~empty-dir");
    fs::create_dir_all(&place).expect("made");
    fs::write(place.join("v"), "x").expect("written");
    volumes.set_up(&uid, &volume(VolumeKind::EmptyDir)).await.expect_err("a file");
    fs::remove_file(place.join("v")).expect("removed");
    symlink("/tmp", place.join("v")).expect("linked");
    volumes.set_up(&uid, &volume(VolumeKind::EmptyDir)).await.expect_err("a link");
}

#[tokio::test]
async fn a_path_on_the_host_is_given_as_it_is_and_outlives_the_pod() {
    let (folder, volumes, uid) = place();
    let path = folder.path().join("data");
    let expected =
        volume(VolumeKind::HostPath { path: path.clone(), check: HostPathCheck::DirectoryOrCreate });
    assert_eq!(volumes.set_up(&uid, &expected).await.expect("set up"), path);
    fs::write(path.join("precious"), "x").expect("written");
    volumes.tear_down(&uid).await.expect("torn down");
    assert!(path.join("precious").exists());
    let missing = volume(VolumeKind::HostPath { path: path.join("gone"), check: HostPathCheck::Directory });
    let error = volumes.set_up(&uid, &missing).await.expect_err("not there");
    assert!(matches!(error, VolumeError::HostPathMissing { .. }), "{error}");
}

#[tokio::test]
async fn giving_up_removes_what_volumes_held_and_nothing_else_of_the_pod() {
    let (folder, volumes, uid) = place();
    volumes.tear_down(&uid).await.expect("no pod is no error");
    let path = volumes.set_up(&uid, &volume(VolumeKind::EmptyDir)).await.expect("set up");
    fs::create_dir_all(path.join("deep/inner")).expect("made");
    symlink(folder.path(), path.join("link")).expect("linked");
    let pod = folder.path().join("pods/u-1");
    fs::create_dir_all(pod.join("containers/app")).expect("made");
    for _ in 0..2 {
        volumes.tear_down(&uid).await.expect("torn down, and again");
    }
    assert!(!pod.join("volumes").exists() && pod.join("containers/app").exists());
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    let (folder, volumes, uid) = place();
    for bad in ["..", "a/b", "", ".hidden", "a\0b"] {
        let named = VolumeSetUp { name: bad.to_owned(), ..volume(VolumeKind::EmptyDir) };
        volumes.set_up(&uid, &named).await.expect_err("a bad volume");
        volumes.set_up(&bad.into(), &volume(VolumeKind::EmptyDir)).await.expect_err("a bad uid");
        volumes.tear_down(&bad.into()).await.expect_err("a bad uid");
        for (volume, container) in [(bad, "app"), ("v", bad)] {
            let (volume, container) = (volume.to_owned(), container.to_owned());
            let place = SubPath { volume, container, index: 0, path: "a".into() };
            volumes.sub_path(&uid, folder.path(), &place).await.expect_err("a bad name");
        }
    }
}
