//! Pod folders on a real disk.

use std::os::unix::fs::symlink;

use super::*;

fn files() -> (tempfile::TempDir, NodePodFiles) {
    let folder = tempfile::tempdir().expect("a folder");
    let files = NodePodFiles::new(&folder.path().join("root"), &folder.path().join("logs"));
    (folder, files)
}

fn web() -> (PodFullName, PodUid) {
    (PodFullName::new("default", "web"), PodUid::from("u-1"))
}

#[tokio::test]
async fn folders_are_made_listed_and_removed() {
    let (folder, files) = files();
    let (name, uid) = web();
    assert_eq!(files.list().await.expect("nothing yet is no error"), []);
    for _ in 0..2 {
        files.ensure(&name, &uid, &["a".into(), "b".into()]).await.expect("made, and made again");
    }
    let logs = folder.path().join("logs/default_web_u-1");
    assert_eq!(files.log_directory(&name, &uid), logs);
    assert!(logs.join("a").is_dir() && logs.join("b").is_dir());
    assert!(folder.path().join("root/pods/u-1").is_dir());
    files.ensure(&name, &PodUid::from("u-2"), &[]).await.expect("made");
    assert_eq!(files.list().await.expect("listed"), [uid.clone(), PodUid::from("u-2")]);
    for _ in 0..2 {
        files.remove(&uid).await.expect("removed, and removed again");
    }
    assert!(!logs.exists());
    assert_eq!(files.list().await.expect("listed"), [PodUid::from("u-2")]);
}

#[tokio::test]
async fn a_pod_with_logs_alone_is_listed_and_foreign_ones_are_not() {
    let (folder, files) = files();
    for name in ["default_web_u-1", "not-ours", "a_b_c_d", "x_y_"] {
        fs::create_dir_all(folder.path().join("logs").join(name)).expect("made");
    }
    symlink("/", folder.path().join("logs/default_link_u-9")).expect("linked");
    fs::write(folder.path().join("logs/default_file_u-8"), "").expect("written");
    assert_eq!(files.list().await.expect("listed"), [PodUid::from("u-1")]);
}

#[tokio::test]
async fn removing_follows_no_link() {
    let (folder, files) = files();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("precious"), "x").expect("written");
    let (name, uid) = web();
    files.ensure(&name, &uid, &[]).await.expect("made");
    symlink(&outside, folder.path().join("root/pods/u-1/link")).expect("linked");
    symlink(&outside, files.log_directory(&name, &uid).join("link")).expect("linked");
    symlink(&outside, folder.path().join("root/pods/u-2")).expect("linked");
    files.remove(&uid).await.expect("removed");
    let _ = files.remove(&PodUid::from("u-2")).await;
    assert!(outside.join("precious").exists());
}

#[tokio::test]
async fn names_that_lead_elsewhere_are_refused() {
    let (folder, files) = files();
    let (name, uid) = web();
    fs::create_dir_all(folder.path().join("root/pods")).expect("made");
    fs::create_dir_all(folder.path().join("root/precious")).expect("made");
    for bad in ["..", "../precious", "a/b", "", ".hidden", "a\0b"] {
        let bad_uid = PodUid::from(bad);
        assert!(files.remove(&bad_uid).await.is_err(), "{bad:?}");
        assert!(files.ensure(&name, &bad_uid, &[]).await.is_err(), "{bad:?}");
        assert!(files.ensure(&PodFullName::new(bad, "web"), &uid, &[]).await.is_err(), "{bad:?}");
        assert!(files.ensure(&PodFullName::new("default", bad), &uid, &[]).await.is_err(), "{bad:?}");
        assert!(files.ensure(&name, &uid, &[bad.to_owned()]).await.is_err(), "{bad:?}");
    }
    assert!(folder.path().join("root/precious").exists());
    assert_eq!(files.list().await.expect("listed"), []);
}

#[tokio::test]
async fn a_log_is_removed_and_nothing_else_is_taken_for_one() {
    let (folder, files) = files();
    let (name, uid) = web();
    files.ensure(&name, &uid, &["app".into()]).await.expect("made");
    let logs = files.log_directory(&name, &uid);
    let log = |name: &str| logs.join("app").join(name);
    for name in ["0.log", "0.log.20260101-000000.gz", "0.log.20260102-000000", "1.log", "1.log.gz", "10.log"]
    {
        fs::write(log(name), "x").expect("written");
    }
    for _ in 0..2 {
        files.remove_log(&log("0.log")).await.expect("removed, and removed again");
    }
    let mut left: Vec<_> =
        fs::read_dir(log("")).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    left.sort();
    assert_eq!(left, ["1.log", "1.log.gz", "10.log"]);
    let precious = folder.path().join("precious");
    fs::write(&precious, "x").expect("written");
    for bad in [
        precious.clone(),
        logs.join("app/../../../precious"),
        logs.join("app"),
        folder.path().join("logs/unknown/app/0.log"),
        PathBuf::new(),
    ] {
        assert!(files.remove_log(&bad).await.is_err(), "{}", bad.display());
    }
    assert!(precious.exists() && log("1.log").exists());
}

#[tokio::test]
async fn logs_tell_how_often_containers_had_restarted() {
    let (_folder, files) = files();
    let (name, uid) = web();
    let all = ["a", "b", "c", "d"].map(str::to_owned);
    let none = files.logged_restart_counts(&name, &uid, &all).await.expect("no folder is no error");
    assert!(none.is_empty());
    files.ensure(&name, &uid, &all[..3]).await.expect("made");
    let logs = files.log_directory(&name, &uid);
    for log in ["a/0.log", "a/3.log.20260102-030405.gz", "a/2.log", "a/9.txt", "b/0.log", "c/notes"] {
        fs::write(logs.join(log), "").expect("written");
    }
    fs::create_dir(logs.join("b/7.log")).expect("made");
    let counts = files.logged_restart_counts(&name, &uid, &all).await.expect("listed");
    assert_eq!(Vec::from_iter(counts), [("a".to_owned(), 3), ("b".to_owned(), 0)]);
    let outside = ["..".to_owned()];
    assert!(files.logged_restart_counts(&name, &uid, &outside).await.is_err());
}

#[tokio::test]
async fn a_pods_ids_are_in_its_folder_and_go_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let files = NodePodFiles::new(folder.path(), &folder.path().join("logs"));
    let (name, uid) = (PodFullName::new("ns", "web"), PodUid::from("u-1"));
    assert_eq!(files.user_namespace(&uid).await.unwrap(), None);
    files.ensure(&name, &uid, &[]).await.unwrap();
    for content in ["one", "one", "another"] {
        files.write_user_namespace(&uid, content.as_bytes()).await.unwrap();
        assert_eq!(files.user_namespace(&uid).await.unwrap().unwrap(), content.as_bytes());
    }
    let file = folder.path().join("pods/u-1/userns");
    fs::remove_file(&file).unwrap();
    symlink("/etc/hostname", &file).unwrap();
    assert!(files.user_namespace(&uid).await.is_err(), "a link is none of ours");
    files.remove(&uid).await.unwrap();
    assert_eq!(files.user_namespace(&uid).await.unwrap(), None);
}

#[tokio::test]
async fn a_pods_checkpoint_is_in_its_folder_and_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let files = NodePodFiles::new(folder.path(), &folder.path().join("logs"));
    let uid = PodUid::from("u-1");
    assert_eq!(files.checkpoint(&uid).await.unwrap(), None);
    files.remove_checkpoint(&uid).await.unwrap();
    for content in ["one", "another"] {
        files.write_checkpoint(&uid, content.as_bytes()).await.unwrap();
        assert_eq!(files.checkpoint(&uid).await.unwrap().unwrap(), content.as_bytes());
    }
    assert_eq!(files.list().await.unwrap(), std::slice::from_ref(&uid), "the folder was made for it");
    files.remove_checkpoint(&uid).await.unwrap();
    assert_eq!(files.checkpoint(&uid).await.unwrap(), None);
    files.write_checkpoint(&uid, b"one").await.unwrap();
    files.remove(&uid).await.unwrap();
    assert_eq!(files.checkpoint(&uid).await.unwrap(), None);
    assert!(files.write_checkpoint(&PodUid::from("../u"), b"one").await.is_err());
}
