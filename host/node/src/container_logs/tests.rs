//! Rotation on a real disk.

use std::io::Read;
use std::os::unix::fs::symlink;

use flate2::read::GzDecoder;

use super::*;

struct Fixture {
    folder: tempfile::TempDir,
    logs: NodeContainerLogs,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("default_web_u-1/app")).expect("made");
    Fixture { logs: NodeContainerLogs::new(folder.path()), folder }
}

impl Fixture {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("default_web_u-1/app").join(name)
    }

    fn put(&self, names: &[&str]) {
        for name in names {
            fs::write(self.at(name), format!("content of {name}")).expect("written");
        }
    }

    fn names(&self) -> Vec<String> {
        let mut names = names(&self.at("")).expect("listed");
        names.sort();
        names
    }

    /// Rotates `0.log` at a second; the runtime begins a new one.
    async fn rotate(&self, files_max: usize, second: i64) -> Result<(), RotateError> {
        let live = self.at("0.log");
        let reopen = async move {
            fs::write(live, "").expect("a new log");
            Ok(())
        };
        self.logs.rotate(&self.at("0.log"), files_max, at(second), Box::pin(reopen)).await
    }

    fn unpacked(&self, name: &str) -> String {
        let mut text = String::new();
        let packed = File::open(self.at(name)).expect("there");
        GzDecoder::new(packed).read_to_string(&mut text).expect("unpacked");
        text
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

#[tokio::test]
async fn the_live_log_is_moved_away_and_the_older_ones_packed() {
    let fixture = fixture();
    fixture.put(&["0.log", "0.log.00000000-000001", "0.log.00000000-000000.gz", "1.log"]);
    fixture.rotate(3, 0).await.expect("rotated");
    let expected = ["0.log", "0.log.00000000-000001.gz", "0.log.20270115-080000", "1.log"];
    assert_eq!(fixture.names(), expected);
    assert_eq!(fixture.unpacked("0.log.00000000-000001.gz"), "content of 0.log.00000000-000001");
    assert_eq!(fs::read_to_string(fixture.at("0.log.20270115-080000")).expect("read"), "content of 0.log");
}

#[tokio::test]
async fn no_more_files_than_allowed_are_ever_kept() {
    for files_max in [2, 3, 5] {
        let fixture = fixture();
        for second in 0..10 {
            fixture.put(&["0.log"]);
            fixture.rotate(files_max, second).await.expect("rotated");
            let kept = fixture.names().len();
            assert_eq!(
                kept,
                files_max.min(usize::try_from(second).expect("small") + 2),
                "{files_max} {second}"
            );
        }
        let newest = fixture.names().pop().expect("some");
        assert_eq!(newest, "0.log.20270115-080009");
        assert_eq!(fixture.names().iter().filter(|name| name.ends_with(PACKED)).count(), files_max - 2);
    }
}

#[tokio::test]
async fn what_an_interrupted_rotation_left_is_cleaned_up() {
    let fixture = fixture();
    fixture.put(&["0.log", "0.log.1", "0.log.1.gz", "0.log.2", "0.log.2.tmp"]);
    fixture.rotate(5, 0).await.expect("rotated");
    assert_eq!(fixture.names(), ["0.log", "0.log.1.gz", "0.log.2.gz", "0.log.20270115-080000"]);
    assert_eq!(fixture.unpacked("0.log.2.gz"), "content of 0.log.2");
}

#[tokio::test]
async fn a_log_that_is_not_opened_again_is_moved_back() {
    let fixture = fixture();
    fixture.put(&["0.log"]);
    let refuse =
        async { Err(RuntimeError::NotFound { call: "ReopenContainerLog", message: "gone".to_owned() }) };
    let error = fixture.logs.rotate(&fixture.at("0.log"), 2, at(0), Box::pin(refuse)).await;
    assert!(matches!(error, Err(RotateError::Reopen(_))));
    assert_eq!(fixture.names(), ["0.log"]);
    assert_eq!(fs::read_to_string(fixture.at("0.log")).expect("read"), "content of 0.log");
    // The runtime answers with an error, but had begun a new one: neither is lost.
    let live = fixture.at("0.log");
    let half = async move {
        fs::write(live, "new").expect("written");
        Err(RuntimeError::NotFound { call: "ReopenContainerLog", message: "gone".to_owned() })
    };
    fixture.logs.rotate(&fixture.at("0.log"), 2, at(0), Box::pin(half)).await.expect_err("not opened again");
    assert_eq!(fixture.names(), ["0.log", "0.log.20270115-080000"]);
}

#[tokio::test]
async fn two_rotations_within_a_second_lose_nothing() {
    let fixture = fixture();
    fixture.put(&["0.log"]);
    fixture.rotate(5, 0).await.expect("rotated");
    fs::write(fixture.at("0.log"), "second").expect("written");
    // The first one is packed now, so its name is free again.
    fixture.rotate(5, 0).await.expect("rotated");
    assert_eq!(fixture.names(), ["0.log", "0.log.20270115-080000", "0.log.20270115-080000.gz"]);
    assert_eq!(fixture.unpacked("0.log.20270115-080000.gz"), "content of 0.log");
    assert_eq!(fs::read_to_string(fixture.at("0.log.20270115-080000")).expect("read"), "second");
}

#[tokio::test]
async fn a_packed_log_keeps_its_mode_and_links_are_not_packed() {
    let fixture = fixture();
    fixture.put(&["0.log", "0.log.1"]);
    fs::set_permissions(fixture.at("0.log.1"), fs::Permissions::from_mode(0o640)).expect("set");
    fixture.rotate(5, 0).await.expect("rotated");
    assert_eq!(fs::metadata(fixture.at("0.log.1.gz")).expect("there").permissions().mode() & 0o777, 0o640);
    symlink("/etc/passwd", fixture.at("0.log.2")).expect("linked");
    fixture.rotate(5, 1).await.expect_err("a link");
    assert!(!fixture.at("0.log.2.gz").exists() && fixture.at("0.log").exists());
    let gone = pack(fixture.folder.path(), &fixture.at("0.log.9")).expect_err("gone");
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
}

#[tokio::test]
async fn sizes_are_of_logs_alone() {
    let fixture = fixture();
    fixture.put(&["0.log"]);
    assert_eq!(fixture.logs.size(&fixture.at("0.log")).await.expect("there"), Some(16));
    assert_eq!(fixture.logs.size(&fixture.at("1.log")).await.expect("none is no error"), None);
    symlink("/etc/passwd", fixture.at("1.log")).expect("linked");
    fixture.logs.size(&fixture.at("1.log")).await.expect_err("a link");
    for path in ["/etc/passwd".into(), fixture.at("../../../x"), fixture.at(""), PathBuf::new()] {
        fixture.logs.size(&path).await.expect_err("no log");
        let never = async { panic!("nothing is opened again") };
        fixture.logs.rotate(&path, 5, at(0), Box::pin(never)).await.expect_err("no log");
    }
    // A log that is gone can't be rotated, and nothing is opened again.
    let never = async { panic!("nothing is opened again") };
    fixture.logs.rotate(&fixture.at("2.log"), 5, at(0), Box::pin(never)).await.expect_err("gone");
}

#[tokio::test]
async fn a_log_is_opened_and_nothing_else_is() {
    let fixture = fixture();
    fixture.put(&["0.log"]);
    let mut text = String::new();
    let opened = fixture.logs.open(&fixture.at("0.log")).await.expect("opened").expect("there");
    { opened }.read_to_string(&mut text).expect("read");
    assert_eq!(text, "content of 0.log");
    assert!(fixture.logs.open(&fixture.at("1.log")).await.expect("checked").is_none());
    symlink("/etc/passwd", fixture.at("2.log")).expect("linked");
    for path in [fixture.at("2.log"), fixture.at("../../../etc/passwd"), PathBuf::from("/etc/passwd")] {
        assert!(fixture.logs.open(&path).await.is_err(), "{}", path.display());
    }
}
