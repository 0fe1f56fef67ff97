//! Cases for the plan of mounts.

use super::*;

fn mount(container_path: &str, read_only: bool) -> Mount {
    Mount {
        host_path: PathBuf::from(format!("/node{container_path}")),
        container_path: container_path.to_owned(),
        read_only,
        recursive_read_only: false,
    }
}

fn reported(mounts: &[(&str, bool, Kind)]) -> Result<Vec<String>, String> {
    let mounts: Vec<_> =
        mounts.iter().map(|(path, read_only, kind)| (mount(path, *read_only), *kind)).collect();
    let plan = plan(&mounts).map_err(|error| error.to_string())?;
    let mode = |read_only: bool| if read_only { "ro" } else { "rw" };
    let folders =
        plan.folders.iter().map(|folder| format!("{} {}", folder.guest_path, mode(folder.read_only)));
    let private = plan.private.iter().map(|folder| {
        let files: Vec<_> =
            folder.files.iter().map(|file| format!("{} {}", file.name, mode(file.read_only))).collect();
        format!("{} {} of {}", folder.guest_path, mode(folder.read_only()), files.join(", "))
    });
    Ok(folders.chain(private).collect())
}

#[test]
fn folders_are_handed_over_and_files_are_gathered_by_folder() {
    use Kind::{File, Folder};
    for (mounts, expected) in [
        (&[][..], &[][..]),
        (&[("/data/", false, Folder), ("/data/deep", true, Folder)], &["/data rw", "/data/deep ro"]),
        (&[("/etc/hosts", false, File)], &["/etc rw of hosts rw"]),
        (
            &[("/etc/hosts", false, File), ("/dev/termination-log", false, File), ("/etc/zone", true, File)],
            &["/dev rw of termination-log rw", "/etc rw of hosts rw, zone ro"],
        ),
        (&[("/etc/zone", true, File), ("/etc/more", true, Folder)], &["/etc/more ro", "/etc ro of zone ro"]),
        (&[("/message", false, File), ("/data", false, Folder)], &["/data rw", "/ rw of message rw"]),
        // A folder whose name only begins alike isn't the one that the file is in.
        (&[("/data-2/note", false, File), ("/data", false, Folder)], &["/data rw", "/data-2 rw of note rw"]),
    ] {
        assert_eq!(
            reported(mounts),
            Ok(expected.iter().map(|line| (*line).to_owned()).collect()),
            "{mounts:?}"
        );
    }
}

#[test]
fn mounts_that_cannot_be_had_are_named() {
    use Kind::{File, Folder};
    for (mounts, words) in [
        (&[("data", false, Folder)][..], "mount path \"data\""),
        (&[("/data/../etc", false, Folder)], "without `..`"),
        (&[("", false, File)], "mount path \"\""),
        (&[("/", false, File)], "mount path \"/\""),
        (&[("/data", false, Folder), ("/data/", true, Folder)], "/data/ is mounted twice"),
        (&[("/data", false, Folder), ("//data", true, File)], "is mounted twice"),
        (
            &[("/data", false, Folder), ("/data/note", false, File)],
            "file /data/note can't be mounted into /data",
        ),
        (&[("/data", false, Folder), ("/data/deep/note", false, File)], "can't be mounted into /data"),
        (&[("/", false, Folder), ("/etc/hosts", false, File)], "can't be mounted into /,"),
    ] {
        let error = reported(mounts).expect_err(words);
        assert!(error.contains(words), "{mounts:?}: {error}");
    }
}
