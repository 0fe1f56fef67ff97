//! What is asked of the kernel, on folders that look like its own. `tests/mounts` has the real one.

use std::os::unix::fs::FileTypeExt as _;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use witlet_core::eviction::ThresholdValue;

use super::*;

const MIB: u64 = 1 << 20;

fn watch(scope: MemoryScope, mib: i64) -> MemoryWatch {
    let amount = mib << 20;
    MemoryWatch { scope, threshold: ThresholdValue::Quantity { amount, is_binary: true } }
}

fn folder(files: &[(&str, String)]) -> (tempfile::TempDir, KernelMemoryNotifier) {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(path, text).expect("written");
    }
    let notifier =
        KernelMemoryNotifier::with_files(folder.path().into(), folder.path().into(), PodsCgroup::default());
    (folder, notifier)
}

fn cgroup(name: &str, usage: u64, inactive: u64, limit: &str) -> Vec<(String, String)> {
    let at = |file: &str| format!("{name}/{file}");
    vec![
        (at("cgroup.event_control"), String::new()),
        (at("memory.usage_in_bytes"), (usage * MIB).to_string()),
        (at("memory.stat"), format!("inactive_file 1\ntotal_inactive_file {}\n", inactive * MIB)),
        (at("memory.limit_in_bytes"), limit.to_owned()),
    ]
}

/// The level that was written to a cgroup, in MiB.
fn level(folder: &tempfile::TempDir, cgroup: &str) -> Option<u64> {
    let line = fs::read_to_string(folder.path().join(cgroup).join("cgroup.event_control")).expect("read");
    let parts: Vec<u64> = line.split(' ').filter_map(|part| part.parse().ok()).collect();
    let [_event, _usage, level] = parts.as_slice() else { return None };
    Some(level / MIB)
}

#[tokio::test]
async fn version_1_reports_levels_of_usage() {
    let mut files = cgroup("memory", 600, 100, "9223372036854771712");
    files.extend(cgroup("memory/kubepods", 300, 50, &(500 * MIB).to_string()));
    files.push(("meminfo".to_owned(), format!("MemTotal: {} kB\n", 1000 * 1024)));
    let files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    let (folder, notifier) = folder(&files);
    let watches = [watch(MemoryScope::Node, 200), watch(MemoryScope::Pods, 100)];
    notifier.watch(&watches).await.expect("watched");
    assert_eq!(level(&folder, "memory"), Some(900));
    assert_eq!(level(&folder, "memory/kubepods"), Some(450));
    assert_eq!(notifier.armed.lock().await.len(), 2);

    // Levels follow what is cached, and an unlimited cgroup has none.
    let kubepods = folder.path().join("memory/kubepods");
    fs::write(kubepods.join("memory.limit_in_bytes"), "9223372036854771712").expect("written");
    fs::write(folder.path().join("memory/memory.stat"), "total_inactive_file 0\n").expect("written");
    fs::write(folder.path().join("memory/cgroup.event_control"), "").expect("written");
    notifier.watch(&watches).await.expect("watched");
    assert_eq!(level(&folder, "memory"), Some(800));
    assert_eq!(notifier.armed.lock().await.len(), 1);

    fs::remove_file(folder.path().join("memory/memory.usage_in_bytes")).expect("removed");
    fs::write(kubepods.join("memory.limit_in_bytes"), "1000").expect("written");
    fs::remove_file(kubepods.join("cgroup.event_control")).expect("removed");
    let error = notifier.watch(&watches).await.expect_err("no file");
    assert_eq!(error.to_string(), format!("open {}", kubepods.join("cgroup.event_control").display()));
    assert!(notifier.armed.lock().await.is_empty());
}

#[tokio::test]
async fn version_2_reports_stalls_once_for_each_file() {
    let (folder, notifier) = folder(&[("kubepods.slice/x", String::new()), ("pressure/x", String::new())]);
    let (node, pods) =
        (folder.path().join("pressure/memory"), folder.path().join("kubepods.slice/memory.pressure"));
    let watches =
        [watch(MemoryScope::Node, 200), watch(MemoryScope::Node, 300), watch(MemoryScope::Pods, 100)];
    let make = |path: &Path| {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("made");
        assert!(fs::metadata(path).expect("there").file_type().is_fifo());
    };
    make(&node);
    let error = notifier.watch(&watches).await.expect_err("one file is missing");
    assert_eq!(error.to_string(), format!("write {}", pods.display()));
    make(&pods);
    notifier.watch(&watches).await.expect("watched");
    let stalls = |armed: &[Armed]| -> Vec<PathBuf> {
        armed.iter().filter_map(|one| one.stalls.as_ref()).map(|stalls| stalls.path.clone()).collect()
    };
    assert_eq!(stalls(&notifier.armed.lock().await), [node.clone(), pods.clone()]);
    notifier.watch(&watches).await.expect("watched");
    let mut written = [0; 100];
    let length = rustix::io::read(&notifier.armed.lock().await[0].reports, &mut written[..]).expect("read");
    assert_eq!(&written[..length], STALL_TRIGGER, "written once");

    // A cgroup that is made again has another file.
    let before = fs::metadata(&pods).expect("there").ino();
    let other = folder.path().join("other");
    make(&other);
    fs::rename(&other, &pods).expect("renamed");
    notifier.watch(&watches).await.expect("watched");
    let armed = notifier.armed.lock().await;
    assert_eq!(stalls(&armed), [node, pods]);
    assert!(armed.iter().filter_map(|one| one.stalls.as_ref()).all(|stalls| stalls.inode != before));
}

#[tokio::test]
async fn nothing_is_reported_where_nothing_is_watched() {
    let (_folder, notifier) = folder(&[("x", String::new())]);
    notifier.watch(&[watch(MemoryScope::Pods, 1)]).await.expect("no cgroup, no watch");
    let quiet = tokio::time::timeout(std::time::Duration::from_millis(1), notifier.notified()).await;
    assert!(quiet.is_err());
}
