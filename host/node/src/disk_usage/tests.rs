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
    for missing in [usage(&top.join("missing"), later()), files_in(&top.join("missing"), later())] {
        assert_eq!(missing.map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
    }
    let files = files_in(&top, later()).expect("measured");
    assert_eq!(files.inodes, Some(2), "the file that is linked, and the link; not the folders");
    assert!(files.bytes <= seen.bytes, "{files:?}");
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
            "containers": [{"name": "app"}, {"name": "waiting"}],
            "initContainers": [{"name": "init"}],
            "ephemeralContainers": [{"name": "debug"}],
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
    for container in ["app", "init", "debug"] {
        let log = logs.join("ns_p_u-1").join(container);
        fs::create_dir_all(log.join("folder")).expect("made");
        fs::write(log.join("folder/0.log"), vec![1; 300 << 10]).expect("written");
        fs::write(log.join("0.log"), vec![1; 30 << 10]).expect("written");
    }
    fs::write(logs.join("ns_p_u-1/own.log"), "x").expect("written");

    let seen = DiskUsage::new(&root, &logs).measure(&pod).await;
    assert_eq!(seen.volumes.keys().collect::<Vec<_>>(), ["cache"], "the other isn't set up yet");
    assert!(seen.volumes["cache"].bytes >= Some(100 << 10));
    assert_eq!(seen.logs.keys().collect::<Vec<_>>(), ["app", "debug", "init"], "the other has no logs yet");
    for (container, log) in &seen.logs {
        let bytes = log.bytes.expect("known");
        assert!((30 << 10..300 << 10).contains(&bytes), "{container}: {bytes}");
        assert_eq!(log.inodes, Some(1), "{container}: the file alone");
    }
    assert_eq!(seen.own.inodes, Some(2), "hosts, and the log that is the pod's");
}

#[tokio::test]
async fn a_volume_has_the_size_of_the_file_system_that_it_is_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, logs) = (folder.path().join("root"), folder.path().join("logs"));
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "ns", "uid": "u-1"},
        "spec": {"containers": [], "volumes": [{"name": "here", "emptyDir": {}}, {"name": "later", "emptyDir": {}}]},
    }))
    .expect("a pod");
    let here = root.join("pods/u-1/volumes/kubernetes.io~empty-dir/here");
    fs::create_dir_all(&here).expect("made");
    let seen = DiskUsage::new(&root, &logs).measure(&pod).await;
    assert_eq!(seen.systems.keys().collect::<Vec<_>>(), ["here"]);
    let expected = measure(&here).expect("it is there");
    let system = seen.systems["here"];
    assert_eq!((system.capacity, system.inodes > 0), (expected.capacity, expected.inodes > 0));
    assert!(system.capacity > 0, "{system:?}");
}

/// Time has run out before anything is counted: nothing that needs it is known, and nothing is waited for.
#[test]
fn what_is_counted_in_time_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    for path in ["log", "volume"] {
        fs::create_dir(at(path)).expect("made");
        fs::write(at(path).join("file"), "x").expect("written");
    }
    fs::write(at("hosts"), "x").expect("written");
    let paths = PodPaths {
        volumes: vec![("v".to_owned(), at("volume"))],
        logs: vec![("app".to_owned(), at("log"))],
        own: Some((at("hosts"), at("log"))),
    };
    let seen = paths.measure(Instant::now() - Duration::from_secs(1));
    assert_eq!(seen.own.inodes, Some(1), "a file needs no walk");
    assert_eq!((seen.volumes.len(), seen.systems.len(), seen.logs.len()), (0, 0, 0));
}
