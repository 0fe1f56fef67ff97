//! Reading the kernel's table of mounts.

use super::*;

const TABLE: &str = r"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:20 / /var/lib/w/pods/u-1/volumes/a rw - tmpfs tmpfs rw,size=4k
31 22 0:21 / /var/lib/w/pods/u-10/volumes/a rw - tmpfs tmpfs rw
32 22 0:22 / /var/lib/w/pods/u-1/volumes/with\040space\134and\011tab rw master:2 - tmpfs tmpfs rw
33 30 0:23 /x /var/lib/w/pods/u-1/volumes/a rw - tmpfs tmpfs rw
34 22 0:24 / /var/lib/w/pods/u-1 rw - tmpfs tmpfs rw
35 22 0:25
";

#[test]
fn mounts_at_and_below_a_folder_are_found_in_their_order() {
    let found = parse(TABLE.as_bytes(), Path::new("/var/lib/w/pods/u-1"));
    let expected = ["volumes/a", "volumes/with space\\and\ttab", "volumes/a", ""];
    let expected = expected.map(|name| Path::new("/var/lib/w/pods/u-1").join(name));
    assert_eq!(found, expected);
    assert_eq!(parse(TABLE.as_bytes(), Path::new("/var/lib/w/pods/u-2")), Vec::<PathBuf>::new());
    assert_eq!(parse(b"", Path::new("/")), Vec::<PathBuf>::new());
}

#[test]
fn odd_bytes_are_read_as_they_are() {
    for (field, expected) in [
        (&b"/a\\040b"[..], &b"/a b"[..]),
        (b"/\\012\\043", b"/\n#"),
        (b"/\\134040", b"/\\040"),
        // Not octal, out of range, cut off: as they are.
        (b"/\\xyz", b"/\\xyz"),
        (b"/\\777", b"/\\777"),
        (b"/\\04", b"/\\04"),
        (b"/\xff\xfe", b"/\xff\xfe"),
    ] {
        assert_eq!(unescape(field), PathBuf::from(OsString::from_vec(expected.to_vec())));
    }
}

#[test]
fn the_root_is_a_mount_point_and_a_new_folder_is_not() {
    assert!(is_mount_point(Path::new("/")).expect("checked"));
    let folder = tempfile::tempdir().expect("a folder");
    assert!(!is_mount_point(folder.path()).expect("checked"));
    let gone = is_mount_point(&folder.path().join("gone")).expect_err("not there");
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
}

#[test]
fn nothing_to_unmount_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    unmount_below(folder.path()).expect("nothing mounted");
    unmount_below(&folder.path().join("gone")).expect("not even a folder");
}

#[test]
fn the_last_mount_around_a_folder_says_whether_it_is_shared() {
    let more = format!(
        "{}{}{}",
        "40 22 0:30 / /srv rw - ext4 /dev/sdb rw\n",
        "41 40 0:31 / /srv/kubelet rw shared:7 master:2 - ext4 /dev/sdc rw\n",
        "42 41 0:32 / /srv/kubelet rw master:2 - ext4 /dev/sdc rw\n",
    );
    let table = format!("{TABLE}{more}");
    for (folder, shared) in [
        ("/", true),
        ("/var/lib/w", true),
        ("/srv", false),
        ("/srv/other", false),
        // The later one at the same point is the one that is seen.
        ("/srv/kubelet", false),
        ("/srv/kubelet-2", false),
        ("/var/lib/w/pods/u-10/volumes/a", false),
    ] {
        assert_eq!(is_shared(table.as_bytes(), Path::new(folder)), shared, "{folder}");
    }
    assert!(!is_shared(b"", Path::new("/")));
}

#[test]
fn file_systems_on_disk_and_near_the_root_are_the_nodes() {
    let table = b"\
21 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
22 21 8:1 /a /srv\\040x rw - ext4 /dev/sda1 rw\n\
23 21 0:20 / /run rw shared:2 - tmpfs tmpfs rw\n\
24 23 0:21 / /var/lib/kubelet/pods/u/volumes/x rw - tmpfs tmpfs rw\n\
25 21 0:22 / /proc rw - proc proc rw\n\
26 21 9:5 / /data\\040y rw master:3 - xfs /dev/md5 rw\n\
27 21 x:5 / /broken rw - xfs /dev/md5 rw\n\
28 21 0:30 /root /b rw - btrfs /dev/sdb2 rw\n\
29 21 0:31 /home /home rw - btrfs /dev/sdb2 rw\n\
30 23 0:32 / /run rw - tmpfs other rw\n\
short line\n";
    let filesystem = |major, minor, source: &str, point: &str, is_in_memory| MountedFilesystem {
        device: BlockDevice { major, minor },
        source: source.to_owned(),
        point: point.into(),
        is_in_memory,
    };
    let expected = [
        filesystem(8, 1, "/dev/sda1", "/", false),
        filesystem(0, 20, "tmpfs", "/run", true),
        filesystem(9, 5, "/dev/md5", "/data y", false),
        filesystem(0, 30, "/dev/sdb2", "/b", false),
    ];
    assert_eq!(filesystems(table), expected);
}
