//! The wire: a small systemd that serves its manager's interface on a private socket, and files as the kernel has them. What a
//! real one does with it is in `tests/systemd`.

mod manager;
mod named;

use std::fs;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::UnixListener;
use witlet_core::cgroup::ResourceConfig;
use witlet_ports::{CgroupError, Cgroups};

use super::bus::Address;
use super::{CgroupFs, SystemdCgroups};
use manager::{Behaviour, FakeSystemd};

const PODS: &str = "/kubepods.slice";
const BURSTABLE: &str = "/kubepods.slice/kubepods-burstable.slice";

struct World {
    folder: TempDir,
    systemd: FakeSystemd,
    cgroups: SystemdCgroups,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let systemd = FakeSystemd::listen(&folder.path().join("private"));
        let cgroups = cgroups_in(&folder);
        Self { folder, systemd, cgroups }
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join("cgroup").join(path)).unwrap()
    }
}

fn cgroups_in(folder: &TempDir) -> SystemdCgroups {
    let mount = folder.path().join("cgroup");
    fs::create_dir_all(&mount).unwrap();
    fs::write(mount.join("cgroup.controllers"), "cpu memory pids").unwrap();
    let files = CgroupFs::open(&mount, &folder.path().join("pages")).unwrap();
    let addresses = vec![
        Address::Private(folder.path().join("nothing")),
        Address::Private(folder.path().join("private")),
    ];
    SystemdCgroups::at(files, addresses, &mount)
}

fn config() -> ResourceConfig {
    ResourceConfig {
        memory_bytes: Some(64 << 20),
        cpu_shares: Some(1_024),
        cpu_quota_us: Some(1_500),
        cpu_period_us: Some(100_000),
        cpus: Some("0-3".to_owned()),
        ..ResourceConfig::default()
    }
}

#[tokio::test]
async fn a_slice_is_started_then_set_then_written() {
    let world = World::new();
    world.cgroups.check_controllers().await.unwrap();
    world.cgroups.create(BURSTABLE, &config()).await.unwrap();
    let started = "StartTransientUnit kubepods-burstable.slice replace \
                   Description=\"libcontainer container kubepods-burstable.slice\" Wants=[\"kubepods.slice\"] \
                   MemoryAccounting=true CPUAccounting=true IOAccounting=true TasksAccounting=true \
                   DefaultDependencies=false";
    let set = "SetUnitProperties kubepods-burstable.slice runtime=true MemoryMax=67108864 CPUWeight=39 \
               CPUQuotaPeriodUSec=100000 CPUQuotaPerSecUSec=20000 AllowedCPUs=[15]";
    assert_eq!(world.systemd.calls(), [started, set]);
    let file = |name: &str| world.text(&format!("{}/{name}", BURSTABLE.trim_start_matches('/')));
    assert_eq!(file("memory.max"), "67108864");
    assert_eq!(file("cpu.weight"), "39");
    assert_eq!(file("cpu.max"), "2000 100000", "as systemd rounds it");
    world.systemd.forget_calls();
    let more = ResourceConfig { memory_bytes: Some(-1), ..ResourceConfig::default() };
    world.cgroups.update(BURSTABLE, &more).await.unwrap();
    assert_eq!(
        world.systemd.calls(),
        ["SetUnitProperties kubepods-burstable.slice runtime=true MemoryMax=18446744073709551615"]
    );
    assert_eq!(file("memory.max"), "max");
}

#[tokio::test]
async fn a_unit_that_is_there_is_fine_and_a_failed_one_is_reset() {
    let world = World::new();
    world.systemd.behave(Behaviour::Exists);
    world.cgroups.create(PODS, &ResourceConfig::default()).await.unwrap();
    world.systemd.behave(Behaviour::Ends("failed"));
    let failed = world.cgroups.create(BURSTABLE, &ResourceConfig::default()).await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "StartTransientUnit kubepods-burstable.slice: error creating systemd unit `kubepods-burstable.slice`: got `failed`"
    );
    assert_eq!(world.systemd.calls().last().unwrap(), "ResetFailedUnit kubepods-burstable.slice");
    world.systemd.behave(Behaviour::Refuses);
    let refused = world.cgroups.create(BURSTABLE, &ResourceConfig::default()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "StartTransientUnit kubepods-burstable.slice: org.freedesktop.systemd1.Refused: no"
    );
}

#[tokio::test]
async fn what_cant_be_set_is_an_error_of_an_update_and_logged_at_creation() {
    let world = World::new();
    world.systemd.behave(Behaviour::RefusesProperties);
    world.cgroups.create(PODS, &config()).await.unwrap();
    let refused = world.cgroups.update(PODS, &config()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "SetUnitProperties kubepods.slice: org.freedesktop.DBus.Error.InvalidArgs: no"
    );
    assert!(!world.folder.path().join("cgroup/kubepods.slice/memory.max").exists(), "no file is written");
}

#[tokio::test]
async fn a_slice_is_stopped_reset_and_its_folders_are_removed() {
    let world = World::new();
    world.cgroups.create(BURSTABLE, &config()).await.unwrap();
    world.systemd.forget_calls();
    world.cgroups.remove(BURSTABLE).await.unwrap();
    assert_eq!(
        world.systemd.calls(),
        ["StopUnit kubepods-burstable.slice replace", "ResetFailedUnit kubepods-burstable.slice"]
    );
    assert_eq!(world.cgroups.children(PODS).await.unwrap(), [""; 0]);
    world.systemd.behave(Behaviour::Refuses);
    world.cgroups.create(BURSTABLE, &config()).await.unwrap_err();
    world.cgroups.remove(BURSTABLE).await.expect("a unit that isn't there is stopped");
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_again() {
    let world = World::new();
    world.cgroups.check_controllers().await.unwrap();
    world.systemd.break_connections().await;
    world.cgroups.create(PODS, &config()).await.unwrap();
    world.systemd.behave(Behaviour::BreaksOnce);
    world.cgroups.create(BURSTABLE, &config()).await.unwrap();
    assert_eq!(world.systemd.connections(), 3);
}

#[tokio::test]
async fn a_job_that_never_ends_is_given_up() {
    let world = World::new();
    world.cgroups.check_controllers().await.unwrap();
    world.systemd.behave(Behaviour::NeverEnds);
    tokio::time::pause();
    let error = world.cgroups.create(PODS, &config()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "StartTransientUnit kubepods.slice: Timeout waiting for systemd to create kubepods.slice"
    );
}

#[tokio::test]
async fn a_machine_without_systemd_says_so() {
    let folder = TempDir::new().unwrap();
    let cgroups = cgroups_in(&folder);
    let away = cgroups.check_controllers().await.unwrap_err().to_string();
    assert!(away.starts_with("failed to connect to systemd over D-Bus: "), "{away}");
    assert!(away.contains("nothing") && away.contains("private"), "each address: {away}");
    let booted = folder.path().join("not-booted");
    let cgroups = SystemdCgroups { booted, ..cgroups_in(&folder) };
    assert_eq!(cgroups.check_controllers().await.unwrap_err(), CgroupError::NoSystemd);
    let no_slice = cgroups.create("/kubepods", &config()).await.unwrap_err();
    assert_eq!(no_slice.to_string(), "read /kubepods: it is no slice");
}

#[tokio::test(start_paused = true)]
async fn a_systemd_that_says_nothing_is_given_up() {
    let folder = TempDir::new().unwrap();
    // Takes connections into its queue, and never reads one.
    let _silent = UnixListener::bind(folder.path().join("private")).unwrap();
    let cgroups = cgroups_in(&folder);
    let begun = tokio::time::Instant::now();
    let away = cgroups.check_controllers().await.unwrap_err().to_string();
    assert!(away.starts_with("failed to connect to systemd over D-Bus: "), "{away}");
    assert!(away.ends_with("timed out"), "{away}");
    assert_eq!(begun.elapsed(), Duration::from_secs(30));
}
