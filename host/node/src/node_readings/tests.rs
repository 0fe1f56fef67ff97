//! The kernel's figures, and this machine's.

use witlet_core::runtime::ContainerId;
use witlet_ports::{ContainerImage, ImageFilesystem, ImageFilesystems, RuntimeError};

use super::*;

const KIB: u64 = 1024;

/// A folder of kernel files.
fn kernel(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    folder
}

const MEMINFO: &str =
    "MemTotal:       1000 kB\nMemFree:         200 kB\nMemAvailable:    900 kB\nInactive(file):   300 kB\n";

#[test]
fn memory_is_what_isnt_in_the_working_set_of_the_root_cgroup() {
    let odd = "MemTotal: 10 kB\nMemFree: 20 kB\nInactive(file): 99 kB\n";
    let v1 = [
        ("meminfo", MEMINFO),
        ("memory/memory.usage_in_bytes", "409600\n"),
        ("memory/memory.stat", "inactive_file 1\ntotal_inactive_file 102400\n"),
    ];
    let v2 = [("meminfo", MEMINFO), ("memory.stat", "anon 204800\nfile 204800\ninactive_file 102400\n")];
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<(u64, u64)>);
    let cases: [Case<'_>; 8] = [
        ("meminfo alone", &[("meminfo", MEMINFO)], Some((1000, 500))),
        ("nothing inactive", &[("meminfo", "MemTotal: 1000 kB\nMemFree: 200 kB\n")], Some((1000, 200))),
        ("odd", &[("meminfo", odd)], Some((10, 10))),
        ("version 1", &v1, Some((1000, 700))),
        ("version 2", &v2, Some((1000, 700))),
        ("empty", &[("meminfo", "")], None),
        ("no number", &[("meminfo", "MemTotal: x kB\nMemFree: 1 kB\n")], None),
        ("too large", &[("meminfo", "MemTotal: 18446744073709551615 kB\nMemFree: 1 kB")], None),
    ];
    for (name, files, expected) in cases {
        let folder = kernel(files);
        let expected =
            expected.map(|(capacity, left)| Left { capacity: capacity * KIB, available: left * KIB });
        assert_eq!(memory::of_node(folder.path(), folder.path()), expected, "{name}");
    }
}

#[test]
fn memory_of_pods_is_what_their_cgroup_may_still_take() {
    let v1 = |limit| {
        [
            ("memory/kubepods/memory.limit_in_bytes", limit),
            ("memory/kubepods/memory.usage_in_bytes", "400"),
            ("memory/kubepods/memory.stat", "total_inactive_file 100\n"),
        ]
    };
    let v2 = |limit| {
        [
            ("kubepods.slice/memory.max", limit),
            ("kubepods.slice/memory.current", "400"),
            ("kubepods.slice/memory.stat", "inactive_file 100\n"),
        ]
    };
    let cases = [
        ("version 1", v1("1000"), Some((1000, 700))),
        ("version 2", v2("1000\n"), Some((1000, 700))),
        ("over its limit", v2("200"), Some((300, 0))),
        ("unlimited in version 1", v1("9223372036854771712"), None),
        ("unlimited in version 2", v2("max"), None),
    ];
    for (name, files, expected) in cases {
        let folder = kernel(&files);
        let expected = expected.map(|(capacity, available)| Left { capacity, available });
        assert_eq!(memory::of_pods(folder.path(), &PodsCgroup::default()), expected, "{name}");
    }
    assert_eq!(memory::of_pods(kernel(&[]).path(), &PodsCgroup::default()), None);
}

#[test]
fn pods_are_below_the_configured_root_with_either_driver() {
    let limit = |path: &str| {
        let file = |name: &str| format!("{path}/{name}");
        [
            (file("memory.max"), "1000"),
            (file("memory.current"), "400"),
            (file("memory.stat"), "inactive_file 100\n"),
        ]
    };
    let cases = [
        ("/", "kubepods", true),
        ("/", "kubepods.slice", true),
        ("/nodes/a-b", "nodes/a-b/kubepods", true),
        ("/nodes/a-b", "nodes.slice/nodes-a_b.slice/nodes-a_b-kubepods.slice", true),
        ("/nodes/a-b", "kubepods", false),
    ];
    for (root, path, is_found) in cases {
        let files = limit(path);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let found = memory::of_pods(kernel(&files).path(), &PodsCgroup::below(root));
        let expected = is_found.then_some(Left { capacity: 1000, available: 700 });
        assert_eq!(found, expected, "{root} {path}");
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

#[test]
fn processor_time_is_that_of_the_root_cgroup() {
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<Duration>);
    let cases: [Case<'_>; 4] = [
        (&[("cpuacct/cpuacct.usage", "1500000000\n")], Some(Duration::from_millis(1500))),
        (&[("cpu.stat", "nr_periods 3\nusage_usec 2500\nuser_usec 1\n")], Some(Duration::from_micros(2500))),
        (&[("cpu.stat", "user_usec 1\n")], None),
        (&[], None),
    ];
    for (files, expected) in cases {
        assert_eq!(cpu(kernel(files).path()), expected, "{files:?}");
    }
}

/// A runtime with one image in the first folder, perhaps with writable layers in the second, or with nothing to say.
struct Images(Option<(PathBuf, Option<PathBuf>)>);

#[async_trait]
impl ImageStore for Images {
    async fn list(&self) -> Result<Vec<NodeImage>, RuntimeError> {
        match &self.0 {
            Some(_) => Ok(vec![NodeImage { names: vec!["a".to_owned()], size: 1, ..NodeImage::default() }]),
            None => Err(RuntimeError::failed("ListImages", "no")),
        }
    }

    async fn filesystems(&self) -> Result<ImageFilesystems, RuntimeError> {
        match &self.0 {
            Some((images, containers)) => {
                let at = |folder: &PathBuf| ImageFilesystem {
                    mountpoint: folder.clone(),
                    used_bytes: None,
                    inodes_used: None,
                };
                Ok(ImageFilesystems {
                    images: vec![at(images)],
                    containers: containers.iter().map(at).collect(),
                })
            }
            None => Err(RuntimeError::failed("ImageFsInfo", "no")),
        }
    }

    async fn containers(&self) -> Result<Vec<ContainerImage>, RuntimeError> {
        Ok(Vec::new())
    }

    async fn mounted_images(&self, _: &ContainerId) -> Result<Vec<String>, RuntimeError> {
        Ok(Vec::new())
    }

    async fn remove(&self, _: &str) -> Result<(), RuntimeError> {
        Ok(())
    }
}

#[tokio::test]
async fn this_machine_is_read_whole_and_without_a_runtime_only_the_images_are_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("not/yet/there");
    let full = SystemNodeReader::new(
        missing.clone(),
        Arc::new(Images(Some((folder.path().to_owned(), None)))),
        PodsCgroup::default(),
    );
    let readings = full.read().await;
    for left in [readings.memory, readings.nodefs_bytes, readings.imagefs_bytes, readings.pids] {
        let left = left.expect("Linux says it");
        assert!(left.capacity > 0 && left.available <= left.capacity, "{left:?}");
    }
    assert_eq!(full.images().await.map(|images| images.len()), Some(1));

    let down = SystemNodeReader::new(missing, Arc::new(Images(None)), PodsCgroup::default());
    let readings = down.read().await;
    assert!(readings.nodefs_bytes.is_some() && readings.imagefs_bytes.is_none());
    assert_eq!(readings.filesystems, None);
    assert_eq!(down.images().await, None);
}

/// `/dev/shm` and `/proc` are file systems of their own wherever Linux is.
#[tokio::test]
async fn file_systems_are_those_that_the_runtime_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let (own, shared, kernel) = (folder.path(), Path::new("/dev/shm"), Path::new("/proc"));
    let cases = [
        (own, None, Filesystems::Single),
        (own, Some(own), Filesystems::Single),
        (shared, None, Filesystems::DedicatedImages),
        (shared, Some(shared), Filesystems::DedicatedImages),
        (shared, Some(own), Filesystems::Split),
        (own, Some(shared), Filesystems::Split),
        (kernel, Some(shared), Filesystems::Split),
    ];
    for (images, containers, expected) in cases {
        let named = (images.to_owned(), containers.map(Path::to_owned));
        let node_reader =
            SystemNodeReader::new(own.to_owned(), Arc::new(Images(Some(named))), PodsCgroup::default());
        let readings = node_reader.read().await;
        assert_eq!(readings.filesystems, Some(expected), "{images:?} {containers:?}");
        let capacity = |path: &Path| file_system(path).0.map(|left| left.capacity);
        let containers = containers.unwrap_or(images);
        assert_eq!(readings.imagefs_bytes.map(|left| left.capacity), capacity(images));
        assert_eq!(readings.containerfs_bytes.map(|left| left.capacity), capacity(containers));
    }
}
