//! What is kept of pulls survives, next to what others left there.

use std::os::unix::fs::PermissionsExt as _;

use witlet_core::image::records::PulledWith;
use witlet_core::stats::exposition::written;

use super::*;

fn record(image_ref: &str) -> PulledRecord {
    let now = jiff::Timestamp::from_second(1_800_000_000).expect("in range");
    PulledRecord::pulled(None, "reg.io/app:1", image_ref, Some(PulledWith::NodeAccess), now).expect("new")
}

#[tokio::test]
async fn records_are_kept_replaced_listed_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = FilePullRecords::new(folder.path());
    assert_eq!(records.record("sha256:aa").await.expect("read"), None);
    assert_eq!(records.records().await.expect("no folder is no record"), []);
    for image_ref in ["sha256:aa", "sha256:bb"] {
        records.keep(&record(image_ref)).await.expect("kept");
    }
    let again = PulledRecord::pulled(
        Some(&record("sha256:aa")),
        "mirror.io/app:1",
        "sha256:aa",
        Some(PulledWith::NodeAccess),
        jiff::Timestamp::from_second(1_800_000_001).expect("in range"),
    );
    let again = again.expect("another name");
    records.keep(&again).await.expect("replaced");
    assert_eq!(records.record("sha256:aa").await.expect("read"), Some(again));
    assert_eq!(records.records().await.expect("read").len(), 2);
    let file = folder.path().join("image_manager/pulled").join(file_name("sha256:aa"));
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    records.forget("sha256:aa").await.expect("removed");
    records.forget("sha256:aa").await.expect("removed already");
    assert_eq!(records.record("sha256:aa").await.expect("read"), None);
}

#[tokio::test]
async fn a_begun_pull_is_known_until_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = FilePullRecords::new(folder.path());
    assert!(!records.is_intended("reg.io/app:1").await.expect("read"));
    records.intend("reg.io/app:1").await.expect("kept");
    assert!(records.is_intended("reg.io/app:1").await.expect("read"));
    assert!(!records.is_intended("reg.io/app:2").await.expect("read"));
    assert_eq!(records.intents().await.expect("read"), ["reg.io/app:1"]);
    records.end_intent("reg.io/app:1").await.expect("removed");
    assert_eq!(records.intents().await.expect("read"), [""; 0]);
}

#[tokio::test]
async fn what_is_no_record_is_an_error_by_itself_and_passed_over_among_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let records = FilePullRecords::new(folder.path());
    records.keep(&record("sha256:aa")).await.expect("kept");
    let pulled = folder.path().join("image_manager/pulled");
    fs::write(pulled.join(file_name("sha256:bad")), "{").expect("written");
    fs::write(pulled.join("sha256-half.tmp"), "{").expect("written");
    fs::write(pulled.join("notes"), "mine").expect("written");
    let error = records.record("sha256:bad").await.expect_err("half a record");
    assert!(one_line(&error).contains("not a record of a pull"), "{}", one_line(&error));
    assert_eq!(records.records().await.expect("the others"), [record("sha256:aa")]);
}

#[tokio::test]
async fn records_are_counted_for_monitoring() {
    let folder = tempfile::tempdir().expect("a folder");
    let counts = |records: &FilePullRecords| {
        let text = written(|to| records.write(to)).expect("it is small");
        ["pulledrecords", "pullintents"].map(|name| {
            let line = format!("kubelet_imagemanager_ondisk_{name} ");
            text.lines().find_map(|found| found.strip_prefix(&line).map(str::to_owned)).expect(name)
        })
    };
    let records = FilePullRecords::new(folder.path());
    assert_eq!(counts(&records), ["0", "0"]);
    records.intend("reg.io/app:1").await.expect("kept");
    records.keep(&record("sha256:aa")).await.expect("kept");
    records.keep(&record("sha256:bb")).await.expect("kept");
    records.keep(&record("sha256:bb")).await.expect("replaced");
    assert_eq!(counts(&records), ["2", "1"]);
    fs::write(folder.path().join("image_manager/pulled/other"), "").expect("written");
    let after_a_restart = FilePullRecords::new(folder.path());
    assert_eq!(counts(&after_a_restart), ["2", "1"]);
    after_a_restart.forget("sha256:aa").await.expect("removed");
    after_a_restart.end_intent("reg.io/app:1").await.expect("removed");
    assert_eq!(counts(&after_a_restart), ["1", "0"]);
}
