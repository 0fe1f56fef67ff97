//! Mounts put in place in folders of the test.

use std::os::unix::fs::{MetadataExt, symlink};

use super::*;

struct Node {
    folder: tempfile::TempDir,
}

impl Node {
    fn new() -> Self {
        let node = Self { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(node.path("volume")).expect("a folder");
        fs::write(node.path("hosts"), "127.0.0.1 localhost\n").expect("a file");
        fs::write(node.path("message"), "").expect("a file");
        node
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn private(&self) -> PathBuf {
        self.path("private/container")
    }

    fn mount(&self, name: &str, container_path: &str, read_only: bool) -> Mount {
        Mount {
            host_path: self.path(name),
            container_path: container_path.to_owned(),
            read_only,
            recursive_read_only: false,
        }
    }
}

fn no_link(_: &Path, _: &Path) -> io::Result<()> {
    Err(rustix::io::Errno::XDEV.into())
}

#[test]
fn a_mounted_file_is_the_nodes_file() {
    let node = Node::new();
    let mounts = [
        node.mount("volume", "/data", false),
        node.mount("message", "/dev/termination-log", false),
        node.mount("hosts", "/etc/hosts", true),
    ];
    let placed = place(&mounts, node.private()).expect("it can be placed");
    let paths: Vec<_> = placed.preopens.iter().map(|one| (one.guest_path.as_str(), one.read_only)).collect();
    assert_eq!(paths, [("/data", false), ("/dev", false), ("/etc", true)]);
    assert_eq!(placed.preopens[0].host_path, fs::canonicalize(node.path("volume")).expect("it is there"));
    fs::write(placed.preopens[1].host_path.join("termination-log"), "goodbye").expect("it can be written");
    assert_eq!(fs::read_to_string(node.path("message")).expect("a file"), "goodbye");
    let inode = |path: PathBuf| fs::metadata(path).expect("it is there").ino();
    assert_eq!(inode(placed.preopens[2].host_path.join("hosts")), inode(node.path("hosts")));
    assert_eq!(placed.usage(), (7 + 20, 2), "of single files, not of volumes");
    drop(placed);
    assert!(!node.private().exists(), "private folders end with the container");
    assert_eq!(fs::read_to_string(node.path("message")).expect("a file"), "goodbye");
}

#[test]
fn what_may_only_be_read_is_never_linked_where_others_write() {
    let node = Node::new();
    let mounts = [node.mount("message", "/etc/message", false), node.mount("hosts", "/etc/hosts", true)];
    let placed = place(&mounts, node.private()).expect("it can be placed");
    assert!(!placed.preopens[0].read_only);
    fs::write(placed.preopens[0].host_path.join("hosts"), "changed").expect("the copy can be written");
    placed.write_back();
    assert_eq!(fs::read_to_string(node.path("hosts")).expect("a file"), "127.0.0.1 localhost\n");
}

#[test]
fn a_copy_is_copied_back_unless_it_is_no_file_any_more() {
    let node = Node::new();
    fs::write(node.path("secret"), "of the node").expect("a file");
    let mounts = [node.mount("message", "/dev/termination-log", false)];
    for (replace, expected) in [(None, "written"), (Some("../../../secret"), "before"), (Some(""), "before")]
    {
        fs::write(node.path("message"), "before").expect("a file");
        let placed = place_with(&mounts, node.private(), no_link).expect("it can be placed");
        let copy = placed.preopens[0].host_path.join("termination-log");
        assert_eq!(fs::read_to_string(&copy).expect("a copy"), "before");
        fs::write(&copy, "written").expect("it can be written");
        if let Some(target) = replace {
            fs::remove_file(&copy).expect("it can be removed");
            if !target.is_empty() {
                symlink(target, &copy).expect("a link");
                assert_eq!(fs::read_to_string(&copy).expect("it leads there"), "of the node");
            }
        }
        placed.write_back();
        assert_eq!(fs::read_to_string(node.path("message")).expect("a file"), expected, "{replace:?}");
    }
}

#[test]
fn what_cannot_be_mounted_is_named_and_leaves_nothing() {
    let node = Node::new();
    let huge = File::create(node.path("huge")).expect("a file");
    huge.set_len(COPY_BYTES_MAX + 1).expect("a hole");
    symlink("nowhere", node.path("dangling")).expect("a link");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        node.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("a pipe");
    for (name, words) in [
        ("absent", "mount "),
        ("dangling", "mount "),
        ("pipe", "neither a folder nor a regular file"),
        ("huge", "larger than"),
    ] {
        let mounts = [node.mount("hosts", "/etc/hosts", true), node.mount(name, "/etc/it", true)];
        let error = place_with(&mounts, node.private(), no_link).expect_err(name).to_string();
        assert!(error.contains(words), "{name}: {error}");
        assert!(!node.private().exists(), "{name}");
    }
}

#[test]
fn links_on_the_node_are_followed() {
    let node = Node::new();
    symlink("hosts", node.path("link")).expect("a link");
    let placed = place(&[node.mount("link", "/etc/hosts", true)], node.private()).expect("it can be placed");
    let seen = fs::symlink_metadata(placed.preopens[0].host_path.join("hosts")).expect("it is there");
    assert!(seen.is_file());
}
