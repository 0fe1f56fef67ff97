//! The handle on the daemon, with a shell script in the daemon's place.

use tempfile::TempDir;

use super::*;

/// Counts its starts in the agent's folder, shows them as pods, and ends with success when asked to.
const STAND_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/daemon/stand-in.sh");

fn stand_in() -> (TempDir, Daemon) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut options = DaemonOptions::below(folder.path(), STAND_IN, "unix:///run/some.sock");
    options.plugins = Some("/etc/plugins.yaml".into());
    options.arguments = vec!["--max-pods".to_owned(), "7".to_owned()];
    let daemon = Daemon::start(options).expect("it starts");
    (folder, daemon)
}

#[tokio::test]
async fn a_daemon_is_started_with_its_options_killed_restarted_and_stopped() {
    let (_folder, mut daemon) = stand_in();
    let pods = daemon.wait_for_pods("one start", |pods| pods.len() == 1).await.expect("it answers");
    assert_eq!(pods[0]["metadata"]["name"], "pod-1");
    let root = daemon.options.root.display().to_string();
    for expected in [
        "run --pod-manifest-path ",
        &format!("--root-dir {root} "),
        "--container-runtime-endpoint unix:///run/some.sock --node-name node1 ",
        &format!("--api-socket {root}/api.sock --plugins /etc/plugins.yaml --eviction-hard= --max-pods 7"),
    ] {
        assert!(daemon.log().contains(expected), "{expected} isn't in {}", daemon.log());
    }

    let first = daemon.pid();
    daemon.kill_and_restart().expect("it restarts");
    assert_ne!(daemon.pid(), first);
    daemon.wait_for_pods("two starts", |pods| pods.len() == 2).await.expect("it answers");
    daemon.stop().await.expect("it ends with success");
    assert_eq!(daemon.pid(), None);
}

#[tokio::test]
async fn waiting_in_vain_says_what_was_seen() {
    let (_folder, daemon) = stand_in();
    daemon.wait_for_pods("one start", |pods| pods.len() == 1).await.expect("it answers");
    let error = daemon.wait_for_pods_within("nine pods", Duration::ZERO, |pods| pods.len() == 9).await;
    let text = error.expect_err("there is one pod").to_string();
    assert!(text.starts_with("nine pods didn't happen within 0 s; "), "{text}");
    assert!(text.contains(r#""pod-1" {"phase":"Running"}"#), "{text}");
}

#[tokio::test]
async fn manifests_appear_whole_and_go() {
    let (folder, daemon) = stand_in();
    daemon.write_manifest("web.yaml", "kind: Pod").expect("write");
    let names = || {
        let entries = fs::read_dir(folder.path().join("manifests")).expect("list").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["web.yaml"]);
    daemon.remove_manifest("web.yaml").expect("remove");
    assert!(names().is_empty());
}
