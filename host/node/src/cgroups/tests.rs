//! Both versions on plain folders, whose files tests make as the kernel would; and the machine's own where that may be written.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use witlet_core::cgroup::{CgroupVersion, PodCgroup, ResourceConfig};
use witlet_ports::{CgroupError, Cgroups};

use super::CgroupFs;

struct World {
    folder: TempDir,
}

impl World {
    fn v1(controllers: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        for controller in controllers {
            let mount = folder.path().join(controller);
            fs::create_dir_all(&mount).unwrap();
            fs::write(mount.join("cgroup.procs"), "").unwrap();
        }
        // Neither a link nor an empty folder is a tree.
        fs::create_dir(folder.path().join("unified")).unwrap();
        fs::write(folder.path().join("unified/cgroup.controllers"), "").unwrap();
        std::os::unix::fs::symlink("memory", folder.path().join("cpuacct")).unwrap();
        fs::create_dir(folder.path().join("hugetlb")).unwrap();
        Self { folder }
    }

    fn v2(controllers: &str) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
        Self { folder }
    }

    fn open(&self) -> CgroupFs {
        let pages = self.folder.path().join("pages");
        fs::create_dir_all(pages.join("hugepages-2048kB")).unwrap();
        CgroupFs::open(self.folder.path(), &pages).unwrap()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

fn pod_resources() -> ResourceConfig {
    ResourceConfig {
        memory_bytes: Some(1 << 20),
        cpu_shares: Some(102),
        cpu_quota_us: Some(20_000),
        cpu_period_us: Some(100_000),
        pids_max: Some(64),
        ..ResourceConfig::default()
    }
}

#[tokio::test]
async fn version_1_has_a_folder_in_each_tree() {
    let world = World::v1(&["cpu,cpuacct", "memory", "pids", "systemd"]);
    let cgroups = world.open();
    assert_eq!(cgroups.facts().version, CgroupVersion::V1);
    assert_eq!(cgroups.facts().hugepage_sizes, [2 << 20]);
    assert!(!cgroups.facts().controllers.contains("hugetlb"));
    let missing = cgroups.check_controllers().await.unwrap_err().to_string();
    assert_eq!(missing, "system validation failed - Following Cgroup subsystem not mounted: [cpuset]");
    let pod = "/kubepods/pod1";
    let error = cgroups.validate(pod).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
    cgroups.create(pod, &pod_resources()).await.unwrap();
    cgroups.validate(pod).await.unwrap();
    let at = |file: &str| world.text(file);
    assert_eq!(at("memory/kubepods/pod1/memory.limit_in_bytes"), "1048576");
    assert_eq!(at("cpu,cpuacct/kubepods/pod1/cpu.shares"), "102");
    assert_eq!(at("cpu,cpuacct/kubepods/pod1/cpu.cfs_quota_us"), "20000");
    assert_eq!(at("pids/kubepods/pod1/pids.max"), "64");
    assert!(world.path("systemd/kubepods/pod1").is_dir());
    fs::write(world.path("memory/kubepods/pod1/memory.usage_in_bytes"), "4096\n").unwrap();
    let expected = PodCgroup {
        cpu_shares: 102,
        cpu_weight: None,
        cpu_quota_us: 20_000,
        cpu_period_us: 100_000,
        memory_limit_bytes: 1 << 20,
        memory_usage_bytes: Some(4096),
    };
    assert_eq!(cgroups.read(pod).await.unwrap(), expected);
    assert_eq!(cgroups.children("/kubepods").await.unwrap(), ["/kubepods/pod1"]);
    fs::create_dir_all(world.path("memory/kubepods/pod1/container")).unwrap();
    fs::create_dir_all(world.path("unified/kubepods/pod1/container")).unwrap();
    fs::create_dir_all(world.path("unified/kubepods/pod2")).unwrap();
    assert_eq!(cgroups.children("/kubepods").await.unwrap(), ["/kubepods/pod1", "/kubepods/pod2"]);
    cgroups.remove(pod).await.unwrap();
    cgroups.remove(pod).await.unwrap();
    assert!(!world.path("unified/kubepods/pod1").exists(), "where runtimes put containers, too");
    assert!(!world.path("memory/kubepods/pod1").exists() && world.path("memory/kubepods").exists());
    assert_eq!(cgroups.children("/nowhere").await.unwrap(), [""; 0]);
    assert!(cgroups.remove("/").await.is_err(), "never the root");
}

#[tokio::test]
async fn cpus_are_inherited_where_none_are_given() {
    let world = World::v1(&["cpuset", "cpu", "memory"]);
    for (file, value) in [("cpuset.cpus", "0-1\n"), ("cpuset.mems", "0\n")] {
        fs::write(world.path("cpuset").join(file), value).unwrap();
    }
    // The kernel makes these files with the folder.
    for folder in ["cpuset/kubepods", "cpuset/kubepods/pod1"] {
        fs::create_dir(world.path(folder)).unwrap();
        fs::write(world.path(folder).join("cpuset.cpus"), "\n").unwrap();
        fs::write(world.path(folder).join("cpuset.mems"), "\n").unwrap();
    }
    let cgroups = world.open();
    cgroups.create("/kubepods/pod1", &ResourceConfig::default()).await.unwrap();
    assert_eq!(world.text("cpuset/kubepods/pod1/cpuset.cpus"), "0-1");
    let given = ResourceConfig { cpus: Some("1".to_owned()), ..ResourceConfig::default() };
    cgroups.create("/kubepods/pod1", &given).await.unwrap();
    assert_eq!(world.text("cpuset/kubepods/pod1/cpuset.cpus"), "1");
}

#[tokio::test]
async fn version_2_passes_controllers_on_to_every_folder_above() {
    let world = World::v2("cpuset cpu memory pids\n");
    let cgroups = world.open();
    assert_eq!(cgroups.facts().version, CgroupVersion::V2);
    cgroups.check_controllers().await.unwrap();
    let pod = "/kubepods/burstable/pod1";
    let absent = cgroups.validate(pod).await.unwrap_err();
    let file = world.path("kubepods/burstable/pod1/cgroup.controllers");
    let expected = format!(
        "could not read controllers for cgroup {pod:?}: read {}: No such file or directory (os error 2)",
        file.display()
    );
    assert_eq!((absent.to_string(), absent.is_not_found()), (expected, true));
    cgroups.create(pod, &pod_resources()).await.unwrap();
    for folder in ["", "kubepods/", "kubepods/burstable/"] {
        let passed_on = world.text(&format!("{folder}cgroup.subtree_control"));
        assert_eq!(passed_on, "+cpu +cpuset +memory +pids", "{folder}");
    }
    assert!(!world.path("kubepods/burstable/pod1/cgroup.subtree_control").exists());
    assert_eq!(world.text("kubepods/burstable/pod1/cpu.max"), "20000 100000");
    assert_eq!(world.text("kubepods/burstable/pod1/memory.max"), "1048576");
    let controllers = world.path("kubepods/burstable/pod1/cgroup.controllers");
    fs::write(&controllers, "cpu memory\n").unwrap();
    let missing = cgroups.validate(pod).await.unwrap_err().to_string();
    assert_eq!(missing, "cgroup \"/kubepods/burstable/pod1\" has some missing controllers: cpuset, pids");
    fs::write(&controllers, "cpu cpuset memory pids rdma\n").unwrap();
    cgroups.validate(pod).await.unwrap();
    fs::write(world.path("kubepods/burstable/pod1/memory.current"), "5\n").unwrap();
    let read = cgroups.read(pod).await.unwrap();
    assert_eq!((read.cpu_weight, read.cpu_shares, read.memory_usage_bytes), (Some(4), 80, Some(5)));
    cgroups.remove("/kubepods").await.unwrap();
    assert!(!world.path("kubepods").exists());
}

#[tokio::test]
async fn a_machine_without_cgroups_says_so() {
    let empty = TempDir::new().unwrap();
    let error = CgroupFs::open(empty.path(), empty.path()).unwrap_err();
    assert_eq!(error, CgroupError::NoMounts);
    assert_eq!(error.to_string(), "failed to find cgroup mounts");
}

#[tokio::test]
async fn files_that_cant_be_written_are_named() {
    let world = World::v1(&["cpu", "memory"]);
    let cgroups = world.open();
    let error = cgroups.update("/kubepods", &pod_resources()).await.unwrap_err();
    let text = error.to_string();
    assert!(
        error.is_not_found()
            && text.starts_with("write \"1048576\" to ")
            && text.contains("/memory/kubepods/memory.limit_in_bytes"),
        "{text}"
    );
    fs::create_dir_all(world.path("memory/kubepods/memory.limit_in_bytes")).unwrap();
    assert!(!cgroups.update("/kubepods", &pod_resources()).await.unwrap_err().is_not_found());
}

mod of_the_machine {
    //! As root on the kernel's own cgroups, below a folder of the test's. Elsewhere this says so.

    use std::process::{Command, Stdio};

    use super::*;

    fn writable() -> Option<(CgroupFs, String)> {
        let cgroups = CgroupFs::system().ok()?;
        let root = format!("/witlet-test-{}-{:?}", std::process::id(), std::thread::current().id());
        let root = root.replace(['(', ')'], "");
        Some((cgroups, root))
    }

    #[tokio::test]
    async fn values_are_the_kernels_and_all_that_runs_is_ended() {
        let Some((cgroups, root)) = writable() else { return eprintln!("skipped: no cgroups here") };
        let pod = format!("{root}/kubepods/pod1");
        if let Err(error) = cgroups.tree.make(&pod, &ResourceConfig::default()) {
            return eprintln!("skipped: {error}");
        }
        cgroups.create(&pod, &pod_resources()).await.unwrap();
        cgroups.validate(&pod).await.unwrap();
        let read = cgroups.read(&pod).await.unwrap();
        assert_eq!(
            (read.cpu_quota_us, read.cpu_period_us, read.memory_limit_bytes),
            (20_000, 100_000, 1 << 20)
        );
        assert!((read.cpu_shares - 102).abs() <= 26, "{read:?}");
        // A longer period with a smaller quota than before: the kernel refuses the one before the other.
        let other = ResourceConfig {
            cpu_quota_us: Some(5_000),
            cpu_period_us: Some(10_000),
            ..ResourceConfig::default()
        };
        cgroups.update(&pod, &other).await.unwrap();
        assert_eq!(cgroups.read(&pod).await.unwrap().cpu_period_us, 10_000);
        let roomy = ResourceConfig { memory_bytes: Some(-1), ..ResourceConfig::default() };
        cgroups.update(&pod, &roomy).await.unwrap();
        assert_eq!(cgroups.read(&pod).await.unwrap().memory_limit_bytes, 0);
        let container = format!("{pod}/container");
        cgroups.create(&container, &ResourceConfig::default()).await.unwrap();
        let mut sleeper = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        for folder in cgroups.tree.folders(&container) {
            // As runtimes do where a tree of version 2 is next to those of version 1.
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("cgroup.procs"), sleeper.id().to_string()).unwrap();
        }
        let reaper = std::thread::spawn(move || sleeper.wait().unwrap());
        let removed = cgroups.remove(&pod).await;
        assert!(!reaper.join().unwrap().success(), "it was killed");
        // The kernel keeps the folder until a killed process is gone, which may be later than the last try.
        if removed.is_err() {
            cgroups.remove(&pod).await.unwrap();
        }
        assert!(cgroups.validate(&pod).await.is_err());
        cgroups.remove(&root).await.unwrap();
        assert!(cgroups.tree.folders(&root).iter().all(|folder| !folder.exists()), "nothing is left");
    }
}

#[test]
fn the_size_of_a_page_is_what_the_kernel_says() {
    let read = super::CgroupResources::read().page_bytes;
    assert!(read >= 4096 && read % 4096 == 0, "{read}");
}
