//! What is opened below a folder, what never is, and processes that end.

use std::os::unix::fs::symlink;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::*;

/// Bound of a wait for something that has to happen: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

fn logs() -> (tempfile::TempDir, NodeSystemLogs) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("log");
    fs::create_dir_all(folder.join("pods")).unwrap();
    fs::write(folder.join("syslog"), "a line\n").unwrap();
    fs::write(folder.join("pods/0.log"), "of a pod\n").unwrap();
    fs::write(root.path().join("secret"), "secret\n").unwrap();
    symlink("syslog", folder.join("near")).unwrap();
    symlink(root.path().join("secret"), folder.join("far")).unwrap();
    symlink("../secret", folder.join("up")).unwrap();
    symlink("pods", folder.join("folder-link")).unwrap();
    symlink("loop", folder.join("loop")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, folder.join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .unwrap();
    let logs = NodeSystemLogs::new(&folder);
    (root, logs)
}

/// The text of a file, the names of a folder, or the kind of the error.
async fn found(logs: &NodeSystemLogs, path: &str, links: Links) -> Result<String, io::ErrorKind> {
    match logs.open(Path::new(path), links).await {
        Ok(SystemLog::File(file)) => Ok(io::read_to_string(file).unwrap()),
        Ok(SystemLog::Folder { entries, .. }) => {
            let names = entries
                .iter()
                .map(|entry| format!("{}{}", entry.name, if entry.is_folder { "/" } else { "" }));
            Ok(names.collect::<Vec<_>>().join(" "))
        }
        Err(error) => Err(error.cause.kind()),
    }
}

#[tokio::test]
async fn files_and_folders_are_opened_and_nothing_else() {
    let (_root, logs) = logs();
    let names = "far folder-link loop near pipe pods/ syslog up";
    for links in [Links::Anywhere, Links::Below] {
        for (path, expected) in [
            ("", Ok(names)),
            ("syslog", Ok("a line\n")),
            ("near", Ok("a line\n")),
            ("pods/0.log", Ok("of a pod\n")),
            ("folder-link/0.log", Ok("of a pod\n")),
            ("folder-link", Ok("0.log")),
            ("none", Err(io::ErrorKind::NotFound)),
            ("syslog/x", Err(io::ErrorKind::NotADirectory)),
            ("pipe", Err(io::ErrorKind::InvalidInput)),
        ] {
            assert_eq!(found(&logs, path, links).await, expected.map(str::to_owned), "{path} {links:?}");
        }
        assert!(found(&logs, "loop", links).await.is_err(), "{links:?}");
    }
}

#[tokio::test]
async fn links_lead_out_of_the_folder_only_where_they_may() {
    let (_root, logs) = logs();
    for path in ["far", "up"] {
        assert_eq!(found(&logs, path, Links::Anywhere).await, Ok("secret\n".to_owned()), "{path}");
        assert!(found(&logs, path, Links::Below).await.is_err(), "{path}");
    }
    for path in ["../secret", "/etc/passwd", "pods/../../secret"] {
        assert!(found(&logs, path, Links::Below).await.is_err(), "{path}");
    }
}

#[tokio::test]
async fn both_outputs_of_a_process_are_read_to_its_end() {
    let (_root, logs) = logs();
    let logs = NodeSystemLogs { program: "/bin/sh".into(), ..logs };
    let script = ["-c", "echo \"$0\"; echo failed >&2", "an argument; with signs"].map(str::to_owned);
    let mut text = String::new();
    logs.journal(&script).unwrap().read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "an argument; with signs\nfailed\n");
    let none = NodeSystemLogs { program: "/no/such/program".into(), ..logs };
    let error = none.journal(&[]).err().unwrap();
    assert_eq!(error.cause.kind(), io::ErrorKind::NotFound);
}

#[tokio::test]
async fn a_process_ends_when_no_one_reads_it_any_more() {
    let (_root, logs) = logs();
    let logs = NodeSystemLogs { program: "/bin/sh".into(), ..logs };
    let mut output = logs.journal(&["-c".to_owned(), "echo $$; exec sleep 1000".to_owned()]).unwrap();
    let mut id = String::new();
    while !id.ends_with('\n') {
        id.push(char::from(output.read_u8().await.unwrap()));
    }
    drop(output);
    let status = format!("/proc/{}/stat", id.trim());
    // Gone, or ended and not waited for yet.
    let has_ended = || fs::read_to_string(&status).map_or(true, |stat| stat.contains(") Z "));
    let ended = async {
        while !has_ended() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, ended).await.expect("it is killed");
}
