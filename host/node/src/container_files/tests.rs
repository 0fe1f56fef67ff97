//! Files of containers on a real disk, and hostile ones.

use std::os::unix::fs::MetadataExt;

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
    files: NodeContainerFiles,
    uid: PodUid,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let files = NodeContainerFiles::new(&at("root"), &at("logs"), &at("links"));
    Fixture { files, uid: "u-1".into(), folder }
}

impl Fixture {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self, name: &str, content: &str) -> PathBuf {
        let path = self.at("logs/default_web_u-1/app").join(name);
        fs::create_dir_all(path.parent().expect("below a folder")).expect("made");
        fs::write(&path, content).expect("written");
        path
    }

    async fn message(&self, path: &Path) -> Result<Option<Vec<u8>>, FilesError> {
        self.files.read_termination_message(path, 8).await
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("there").mode() & 0o7777
}

#[tokio::test]
async fn a_hosts_file_is_written_in_place_and_only_if_it_differs() {
    let fixture = fixture();
    let path = fixture.files.write_hosts(&fixture.uid, "127.0.0.1 a\n").await.expect("written");
    assert_eq!(path, fixture.at("root/pods/u-1/etc-hosts"));
    assert_eq!((fs::read_to_string(&path).expect("read"), mode(&path)), ("127.0.0.1 a\n".to_owned(), 0o644));
    let before = fs::metadata(&path).expect("there");
    fixture.files.write_hosts(&fixture.uid, "127.0.0.1 a\n").await.expect("written");
    let same = fs::metadata(&path).expect("there");
    assert_eq!((same.mtime_nsec(), same.ino()), (before.mtime_nsec(), before.ino()));
    // Shorter, after a container wrote to it: containers have this very file.
    fs::write(&path, "a container's own line\n".repeat(100)).expect("written");
    fixture.files.write_hosts(&fixture.uid, "::1 b\n").await.expect("written");
    assert_eq!(fs::read_to_string(&path).expect("read"), "::1 b\n");
    assert_eq!(fs::metadata(&path).expect("there").ino(), before.ino());
}

#[tokio::test]
async fn a_hosts_file_is_not_written_through_a_link_or_into_a_pipe() {
    let fixture = fixture();
    let precious = fixture.at("precious");
    fs::write(&precious, "x").expect("written");
    let hosts = fixture.files.write_hosts(&fixture.uid, "a").await.expect("written");
    fs::remove_file(&hosts).expect("removed");
    symlink(&precious, &hosts).expect("linked");
    fixture.files.write_hosts(&fixture.uid, "b").await.expect_err("a link");
    assert_eq!(fs::read(&precious).expect("read"), b"x");
    fs::remove_file(&hosts).expect("removed");
    rustix::fs::mkfifoat(rustix::fs::CWD, &hosts, rustix::fs::Mode::RWXU).expect("made");
    fixture.files.write_hosts(&fixture.uid, "b").await.expect_err("a pipe");
}

#[tokio::test]
async fn each_instance_has_a_message_file_of_its_own_that_anyone_may_write() {
    let fixture = fixture();
    let mut paths = Vec::new();
    for restart_count in [0, 0, 1] {
        let made =
            fixture.files.make_termination_log(&fixture.uid, "app", restart_count).await.expect("made");
        assert_eq!((mode(&made), fs::read(&made).expect("read")), (0o666, vec![]));
        assert_eq!(made.parent(), Some(&*fixture.at("root/pods/u-1/containers/app")));
        paths.push(made);
    }
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 3);
    assert_eq!(mode(&fixture.at("root/pods/u-1/containers/app")), 0o750 & !umask());
}

/// The bits that this process takes away.
fn umask() -> u32 {
    let folder = tempfile::tempdir().expect("a folder");
    DirBuilder::new().mode(0o777).create(folder.path().join("all")).expect("made");
    0o777 & !mode(&folder.path().join("all"))
}

#[tokio::test]
async fn the_end_of_a_message_is_read_however_long_it_is() {
    let fixture = fixture();
    let path = fixture.files.make_termination_log(&fixture.uid, "app", 0).await.expect("made");
    assert_eq!(fixture.message(&path).await.expect("read"), Some(vec![]));
    fs::write(&path, "short").expect("written");
    assert_eq!(fixture.message(&path).await.expect("read"), Some(b"short".to_vec()));
    fs::write(&path, [vec![b'x'; 10 << 20], b"the end!".to_vec()].concat()).expect("written");
    assert_eq!(fixture.message(&path).await.expect("read"), Some(b"the end!".to_vec()));
    fs::write(&path, b"\xff\0\n").expect("written");
    assert_eq!(fixture.message(&path).await.expect("read"), Some(b"\xff\0\n".to_vec()));
    fs::remove_file(&path).expect("removed");
    assert_eq!(fixture.message(&path).await.expect("none is no error"), None);
}

#[tokio::test]
async fn a_message_is_read_from_nothing_but_a_file_of_the_pods_own() {
    let fixture = fixture();
    let path = fixture.files.make_termination_log(&fixture.uid, "app", 0).await.expect("made");
    let replaced = |make: &dyn Fn(&Path)| {
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        make(&path);
    };
    replaced(&|path| symlink("/etc/passwd", path).expect("linked"));
    fixture.message(&path).await.expect_err("a link");
    replaced(&|path| symlink("/gone", path).expect("linked"));
    fixture.message(&path).await.expect_err("a dead link");
    replaced(&|path| {
        rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).expect("made");
    });
    fixture.message(&path).await.expect_err("a pipe, and no one waits for a writer");
    replaced(&|path| fs::create_dir(path).expect("made"));
    fixture.message(&path).await.expect_err("a folder");
    // A folder on the way that is a link.
    let outside = fixture.at("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("secret"), "secret").expect("written");
    symlink(&outside, fixture.at("root/pods/u-1/containers/link")).expect("linked");
    fixture.message(&fixture.at("root/pods/u-1/containers/link/secret")).await.expect_err("through a link");
}

#[tokio::test]
async fn a_message_is_read_from_a_file_of_the_pods_volumes_that_is_mounted_in_its_place() {
    let fixture = fixture();
    for path in ["volume-subpaths/cache/app/0", "volumes/kubernetes.io~empty-dir/cache/message"] {
        let file = fixture.at("root/pods/u-1").join(path);
        fs::create_dir_all(file.parent().expect("it has one")).expect("made");
        fs::write(&file, "by volume").expect("written");
        assert_eq!(fixture.message(&file).await.expect("read"), Some(b"y volume".to_vec()), "{path}");
        fs::remove_file(&file).expect("removed");
        symlink("/etc/passwd", &file).expect("linked");
        fixture.message(&file).await.expect_err("a link");
    }
}

#[tokio::test]
async fn a_message_is_read_from_a_file_of_the_machine_that_is_mounted_in_its_place_and_through_no_link() {
    let fixture = fixture();
    let (file, link) = (fixture.at("message"), fixture.at("link"));
    assert_eq!(fixture.message(&file).await.expect("none is no error"), None);
    fs::write(&file, "by hostPath").expect("written");
    assert_eq!(fixture.message(&file).await.expect("read"), Some(b"hostPath".to_vec()));
    symlink(&file, &link).expect("linked");
    fixture.message(&link).await.expect_err("a link, which the pod may have put there");
    fs::create_dir(fixture.at("folder")).expect("made");
    fixture.message(&fixture.at("folder")).await.expect_err("a folder");
    fixture.message(Path::new("/dev/null")).await.expect_err("a device");
}

#[tokio::test]
async fn a_runtimes_word_for_a_path_leads_nowhere_else() {
    let fixture = fixture();
    let secret = fixture.at("secret");
    fs::write(&secret, "secret").expect("written");
    for path in [
        fixture.at("root/pods/u-1/containers/../../../../secret"),
        fixture.at("root/../secret"),
        fixture.at("root/pods/u-1/etc-hosts"),
        fixture.at("root/pods/u-1/volumes/kubernetes.io~empty-dir/v"),
        PathBuf::from("relative"),
        PathBuf::from("/"),
        PathBuf::new(),
    ] {
        fixture.message(&path).await.expect_err("no message");
    }
    for path in [
        secret.clone(),
        fixture.at("logs/../secret"),
        fixture.at("logs/default_web_u-1/app"),
        "/etc/shadow".into(),
    ] {
        fixture.files.log_tail(&path, 100, 80).await.expect_err("no log");
        let link =
            fixture.files.link_log(&PodFullName::new("default", "web"), "app", &"id".into(), &path).await;
        link.expect_err("no log");
    }
    assert!(!fixture.at("links").exists());
}

#[tokio::test]
async fn the_end_of_a_log_is_read() {
    let fixture = fixture();
    let log = fixture.log("0.log", "2026-01-02T03:04:05Z stdout F one\n2026-01-02T03:04:05Z stderr F two\n");
    assert_eq!(fixture.files.log_tail(&log, 100, 1).await.expect("read"), b"two\n");
    let gone = log.with_file_name("1.log");
    assert_eq!(fixture.files.log_tail(&gone, 100, 1).await.expect("none is no error"), b"");
    symlink("/etc/passwd", &gone).expect("linked");
    fixture.files.log_tail(&gone, 100, 1).await.expect_err("a link");
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    let fixture = fixture();
    for bad in ["..", "a/b", "", ".hidden", "a\0b"] {
        fixture.files.write_hosts(&bad.into(), "x").await.expect_err("a bad uid");
        fixture.files.make_termination_log(&bad.into(), "app", 0).await.expect_err("a bad uid");
        fixture.files.make_termination_log(&fixture.uid, bad, 0).await.expect_err("a bad container");
    }
    let log = fixture.log("0.log", "");
    let name = PodFullName::new("default", "web");
    fixture.files.link_log(&name, "app", &"../../id".into(), &log).await.expect_err("a bad id");
}

#[tokio::test]
async fn logs_are_linked_by_names_that_say_whose_they_are() {
    let fixture = fixture();
    let log = fixture.log("0.log", "");
    let name = PodFullName::new("default", "web");
    let id = ContainerId::from("abc");
    for _ in 0..2 {
        fixture.files.link_log(&name, "app", &id, &log).await.expect("linked, and linked again");
    }
    let link = fixture.at("links/web_default_app-abc.log");
    assert_eq!(fs::read_link(&link).expect("a link"), log);
    let newer = fixture.log("1.log", "");
    fixture.files.link_log(&name, "app", &id, &newer).await.expect("linked again");
    assert_eq!(fs::read_link(&link).expect("a link"), newer);
    // No link to what isn't there.
    fixture
        .files
        .link_log(&name, "app", &"def".into(), &log.with_file_name("9.log"))
        .await
        .expect("nothing to do");
    assert_eq!(fs::read_dir(fixture.at("links")).expect("a folder").count(), 1);
    // A foreign file isn't our link.
    fs::write(fixture.at("links/web_default_app-ghi.log"), "x").expect("written");
    fixture.files.link_log(&name, "app", &"ghi".into(), &log).await.expect_err("a file in the way");
}

#[test]
fn a_links_name_is_cut_to_what_linux_takes() {
    let name = PodFullName::new("default", "web");
    let long = link_name(&name, "app", &"i".repeat(300).as_str().into());
    assert_eq!(long.len(), 255);
    assert!(long.starts_with("web_default_app-ii") && long.ends_with("i.log"));
    let wide = link_name(&name, "app", &"ü".repeat(200).as_str().into());
    assert!(wide.len() <= 255 && wide.ends_with("ü.log"));
}

#[tokio::test]
async fn dead_links_go_except_those_of_running_containers_and_of_others() {
    let fixture = fixture();
    let name = PodFullName::new("default", "web");
    fixture.files.remove_dead_links(&[]).await.expect("no folder is no error");
    for (log, id) in [("0.log", "dead"), ("1.log", "rotating"), ("2.log", "alive")] {
        let log = fixture.log(log, "");
        fixture.files.link_log(&name, "app", &id.into(), &log).await.expect("linked");
    }
    symlink("/gone/elsewhere", fixture.at("links/unknown.log")).expect("linked");
    fs::write(fixture.at("links/file.log"), "x").expect("written");
    for log in ["0.log", "1.log"] {
        fs::remove_file(fixture.at("logs/default_web_u-1/app").join(log)).expect("removed");
    }
    let left = || {
        let names = fs::read_dir(fixture.at("links")).expect("a folder");
        let mut names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    fixture.files.remove_dead_links(&["rotating".into(), "other".into()]).await.expect("cleaned up");
    let kept = ["file.log", "unknown.log", "web_default_app-alive.log", "web_default_app-rotating.log"];
    assert_eq!(left(), kept);
    fixture.files.remove_dead_links(&[]).await.expect("cleaned up");
    assert_eq!(left(), kept[..3]);
}
