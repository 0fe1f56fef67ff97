//! The kernel's figures, and this machine's.

use witlet_ports::{ImageFilesystem, RuntimeError};

use super::*;

const KIB: u64 = 1024;

#[test]
fn memory_is_what_isnt_in_the_working_set() {
    let meminfo = "MemTotal:       1000 kB\nMemFree:         200 kB\nMemAvailable:    900 kB\nInactive(file):   300 kB\n";
    assert_eq!(memory(meminfo), Some(Left { capacity: 1000 * KIB, available: 500 * KIB }));
    let without = "MemTotal: 1000 kB\nMemFree: 200 kB\n";
    assert_eq!(memory(without), Some(Left { capacity: 1000 * KIB, available: 200 * KIB }));
    let odd = "MemTotal: 10 kB\nMemFree: 20 kB\nInactive(file): 99 kB\n";
    assert_eq!(memory(odd), Some(Left { capacity: 10 * KIB, available: 10 * KIB }));
    for bad in [
        "",
        "MemTotal: x kB\nMemFree: 1 kB\n",
        "MemTotal: 10 kB\n",
        "MemTotal: 18446744073709551615 kB\nMemFree: 1 kB",
    ] {
        assert_eq!(memory(bad), None, "{bad:?}");
    }
}

#[test]
fn process_ids_are_the_smaller_limit_less_the_threads() {
    let load = Some("0.00 0.01 0.05 3/456 789\n");
    let cases = [
        (Some("32768\n"), Some("1000"), load, Some((1000, 544))),
        (Some("100"), None, load, Some((100, 0))),
        (None, Some("1000"), load, Some((1000, 544))),
        (None, None, load, None),
        (Some("x"), Some("y"), load, None),
        (Some("100"), Some("100"), Some("0 0 0 456 789"), None),
        (Some("100"), Some("100"), None, None),
    ];
    for (pid_max, threads_max, loadavg, expected) in cases {
        let left = expected.map(|(capacity, available)| Left { capacity, available });
        assert_eq!(pids(pid_max, threads_max, loadavg), left, "{pid_max:?} {threads_max:?} {loadavg:?}");
    }
}

/// A runtime with one image in one folder, or with nothing to say.
struct Images(Option<PathBuf>);

#[async_trait]
impl ImageStore for Images {
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError> {
        match &self.0 {
            Some(_) => Ok(vec![NodeImage { names: vec!["a".to_owned()], size: 1 }]),
            None => Err(RuntimeError::failed("ListImages", "no")),
        }
    }

    async fn filesystems(&self) -> Result<Vec<ImageFilesystem>, RuntimeError> {
        match &self.0 {
            Some(folder) => {
                Ok(vec![ImageFilesystem { mountpoint: folder.clone(), used_bytes: None, inodes_used: None }])
            }
            None => Err(RuntimeError::failed("ImageFsInfo", "no")),
        }
    }
}

#[tokio::test]
async fn this_machine_is_read_whole_and_without_a_runtime_only_the_images_are_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("not/yet/there");
    let full = Gauge::new(missing.clone(), Arc::new(Images(Some(folder.path().to_owned()))));
    let readings = full.read().await;
    for left in [readings.memory, readings.nodefs_bytes, readings.imagefs_bytes, readings.pids] {
        let left = left.expect("Linux says it");
        assert!(left.capacity > 0 && left.available <= left.capacity, "{left:?}");
    }
    assert_eq!(full.images().await.map(|images| images.len()), Some(1));

    let down = Gauge::new(missing, Arc::new(Images(None)));
    let readings = down.read().await;
    assert!(readings.nodefs_bytes.is_some() && readings.imagefs_bytes.is_none());
    assert_eq!(down.images().await, None);
}
