//! On plain folders, whose files tests make as the kernel would.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

struct World {
    folder: TempDir,
}

impl World {
    /// Process ids as of the host, and two trees of version 1 with these processes in their root.
    fn new(processes: &[i32]) -> Self {
        let folder = TempDir::new().unwrap();
        for process in ["1", "self"] {
            let namespaces = folder.path().join("proc").join(process).join("ns");
            fs::create_dir_all(&namespaces).unwrap();
            symlink("pid:[4026531836]", namespaces.join("pid")).unwrap();
        }
        let listed: String = processes.iter().map(|pid| format!("{pid}\n")).collect();
        for tree in ["memory", "pids"] {
            let mount = folder.path().join("cgroup").join(tree);
            fs::create_dir_all(&mount).unwrap();
            fs::write(mount.join("cgroup.procs"), &listed).unwrap();
        }
        Self { folder }
    }

    fn system(&self) -> MachineSystem {
        let mount = self.folder.path().join("cgroup");
        let cgroups = CgroupFs::open(&mount, &mount.join("pages")).unwrap();
        MachineSystem::at(&self.folder.path().join("proc"), cgroups)
    }

    fn program(&self, pid: i32) {
        let folder = self.folder.path().join("proc").join(pid.to_string());
        fs::create_dir_all(&folder).unwrap();
        symlink("/sbin/daemon", folder.join("exe")).unwrap();
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder.path().join(path)).ok()
    }
}

#[tokio::test]
async fn tunables_are_numbers_in_files() {
    let world = World::new(&[]);
    let kernel = world.folder.path().join("proc/sys/kernel");
    fs::create_dir_all(&kernel).unwrap();
    fs::write(kernel.join("panic"), "0\n").unwrap();
    fs::write(kernel.join("panic_on_oops"), "on").unwrap();
    let system = world.system();
    assert_eq!(system.tunable("kernel/panic").await, Ok(0));
    system.set_tunable("kernel/panic", 10).await.unwrap();
    assert_eq!(system.tunable("kernel/panic").await, Ok(10));
    let odd = system.tunable("kernel/panic_on_oops").await.unwrap_err().to_string();
    assert!(odd.contains("sys/kernel/panic_on_oops: invalid digit"), "{odd}");
    let none = system.tunable("vm/none").await.unwrap_err();
    assert!(none.is_not_found() && none.to_string().starts_with("read /"), "{none}");
    let none = system.set_tunable("vm/none", 1).await.unwrap_err().to_string();
    assert!(none.starts_with("write 1 to /"), "{none}");
}

#[tokio::test]
async fn the_agent_is_moved_where_it_is_on_the_host() {
    let world = World::new(&[]);
    let system = world.system();
    system.move_agent("/kubelet").await.unwrap();
    let own = std::process::id().to_string();
    for tree in ["memory", "pids"] {
        assert_eq!(world.text(&format!("cgroup/{tree}/kubelet/cgroup.procs")), Some(own.clone()), "{tree}");
    }
    system.set_oom_score(-999).await.unwrap();
    assert_eq!(world.text("proc/self/oom_score_adj").as_deref(), Some("-999"));
    let contained = World::new(&[]);
    let namespace = contained.folder.path().join("proc/self/ns/pid");
    fs::remove_file(&namespace).unwrap();
    symlink("pid:[1]", &namespace).unwrap();
    contained.system().move_agent("/kubelet").await.unwrap();
    contained.system().set_oom_score(-999).await.unwrap();
    assert_eq!(contained.text("cgroup/memory/kubelet/cgroup.procs"), None);
    assert_eq!(contained.text("proc/self/oom_score_adj"), None);
}

#[tokio::test]
async fn the_systems_processes_are_moved_but_the_init_and_the_kernels() {
    let world = World::new(&[1, 2, 40]);
    world.program(1);
    world.program(40);
    world.system().move_system("/system").await.unwrap();
    assert_eq!(world.text("cgroup/memory/system/cgroup.procs").as_deref(), Some("40"));
    let none = World::new(&[1, 2]);
    none.program(1);
    none.system().move_system("/system").await.unwrap();
    assert_eq!(none.text("cgroup/memory/system/cgroup.procs"), None, "nothing is to be moved");
}
