//! Trees are added up once, and nothing outside of them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;

fn later() -> Instant {
    Instant::now() + Duration::from_secs(600)
}

#[test]
fn each_inode_counts_once_and_links_lead_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let (top, other) = (folder.path().join("top"), folder.path().join("other"));
    fs::create_dir_all(top.join("a/b")).expect("made");
    fs::create_dir(&other).expect("made");
    fs::write(other.join("large"), vec![1; 1 << 20]).expect("written");
    fs::write(top.join("a/b/file"), vec![1; 64 << 10]).expect("written");
    fs::hard_link(top.join("a/b/file"), top.join("again")).expect("linked");
    symlink(&other, top.join("elsewhere")).expect("linked");
    let seen = usage(&top, later()).expect("measured");
    // The top, two folders, the file, the link.
    assert_eq!(seen.inodes, Some(5));
    let bytes = seen.bytes.expect("known");
    assert!((64 << 10..512 << 10).contains(&bytes), "{bytes}");
    let through_a_link = usage(&top.join("elsewhere"), later()).expect("measured");
    assert_eq!(through_a_link.inodes, Some(1), "the link itself");
    assert_eq!(usage(&top.join("missing"), later()).expect("measured"), FsUsage::new(0, 0));
}

#[test]
fn deep_trees_and_many_files_are_counted_and_time_has_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut deep = folder.path().to_owned();
    for _ in 0..300 {
        deep.push("d");
        fs::create_dir(&deep).expect("made");
    }
    for number in 0..500 {
        fs::write(folder.path().join(number.to_string()), "").expect("written");
    }
    assert_eq!(usage(folder.path(), later()).expect("measured").inodes, Some(801));
    let too_late = usage(folder.path(), Instant::now() - Duration::from_secs(1));
    assert_eq!(too_late.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
}

#[tokio::test]
async fn volumes_logs_and_own_files_of_a_pod_are_distinguished() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, logs) = (folder.path().join("root"), folder.path().join("logs"));
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "u-1"},
        "spec": {
            "containers": [{"name": "app"}],
            "volumes": [
                {"name": "cache", "emptyDir": {}},
                {"name": "config", "configMap": {"name": "c"}},
                {"name": "host", "hostPath": {"path": "/"}},
            ],
        },
    }))
    .expect("a pod");
    let cache = root.join("pods/u-1/volumes/kubernetes.io~empty-dir/cache");
    fs::create_dir_all(&cache).expect("made");
    fs::write(cache.join("data"), vec![1; 100 << 10]).expect("written");
    fs::write(root.join("pods/u-1/etc-hosts"), "x").expect("written");
    let log = logs.join("ns_p_u-1/app");
    fs::create_dir_all(&log).expect("made");
    fs::write(log.join("0.log"), vec![1; 30 << 10]).expect("written");

    let seen = DiskUsage::new(&root, &logs).measure(&pod).await;
    assert_eq!(seen.volumes.keys().collect::<Vec<_>>(), ["cache", "config"]);
    assert!(seen.volumes["cache"].bytes >= Some(100 << 10));
    assert_eq!(seen.volumes["config"], FsUsage::new(0, 0), "it isn't set up yet");
    assert!(seen.logs["app"].bytes >= Some(30 << 10));
    assert_eq!(seen.own.inodes, Some(1));
}
