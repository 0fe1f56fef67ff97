//! The driver `systemd` on a machine whose init it is, with cgroups of version 2; elsewhere the cases count as ignored, with the
//! reason on standard error. `tests/containerd/on-cgroup-v2.sh` has such a machine.
#![allow(clippy::print_stderr, clippy::panic, reason = "a test program of its own")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;
use witlet_core::cgroup::{CgroupVersion, ResourceConfig};
use witlet_node::{CgroupFs, SystemdCgroups};
use witlet_ports::{CgroupError, Cgroups};

const MOUNT: &str = "/sys/fs/cgroup";
const PODS: &str = "/witlettest.slice";
const TIER: &str = "/witlettest.slice/witlettest-burstable.slice";
const POD: &str = "/witlettest.slice/witlettest-burstable.slice/witlettest-burstable-poda_b.slice";
const MANY_SLICES: &str = "many_slices_are_made_at_the_same_time";
const PRIVATE: &str = "private_socket_serves_without_a_message_bus";
const POD_UNIT: &str = "witlettest-burstable-poda_b.slice";

/// Why nothing can be shown here.
fn skip_reason() -> Option<&'static str> {
    if !Path::new("/run/systemd/system").is_dir() {
        return Some("systemd isn't the init");
    }
    if !rustix::process::geteuid().is_root() {
        return Some("only root makes slices");
    }
    match CgroupFs::system() {
        Ok(files) if files.facts().version == CgroupVersion::V2 => None,
        _ => Some("cgroups aren't those of version 2"),
    }
}

fn cgroups() -> SystemdCgroups {
    SystemdCgroups::system(CgroupFs::system().expect("they are mounted"))
}

fn file(path: &str, name: &str) -> String {
    let path = Path::new(MOUNT).join(path.trim_start_matches('/')).join(name);
    fs::read_to_string(&path)
        .map_or_else(|error| format!("{}: {error}", path.display()), |t| t.trim().to_owned())
}

fn systemctl(arguments: &[&str]) -> String {
    let output = Command::new("systemctl").args(arguments).output().expect("systemctl runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn config() -> ResourceConfig {
    ResourceConfig {
        memory_bytes: Some(64 << 20),
        cpu_shares: Some(1_024),
        cpu_quota_us: Some(1_500),
        cpu_period_us: Some(100_000),
        pids_max: Some(100),
        ..ResourceConfig::default()
    }
}

/// The pod's files, as the driver sets them.
fn pod_files() -> Vec<String> {
    ["memory.max", "cpu.max", "cpu.weight", "pids.max"]
        .map(|name| format!("{name}={}", file(POD, name)))
        .into()
}

async fn slices_are_set_as_units_and_files() {
    let cgroups = cgroups();
    cgroups.check_controllers().await.expect("systemd answers");
    for path in [PODS, TIER] {
        cgroups.create(path, &ResourceConfig::default()).await.expect("it is made");
        cgroups.validate(path).await.expect("it has all controllers");
    }
    cgroups.create(POD, &config()).await.expect("it is made");
    cgroups.create(POD, &config()).await.expect("one that is there is fine");
    cgroups.validate(POD).await.expect("it has all controllers");
    let expected = ["memory.max=67108864", "cpu.max=2000 100000", "cpu.weight=39", "pids.max=100"];
    assert_eq!(pod_files(), expected);
    let shown = systemctl(&[
        "show",
        POD_UNIT,
        "-p",
        "MemoryMax,CPUWeight,CPUQuotaPerSecUSec,TasksMax,Wants,Description",
    ]);
    for property in [
        "MemoryMax=67108864",
        "CPUWeight=39",
        "CPUQuotaPerSecUSec=20ms",
        "TasksMax=100",
        "Wants=witlettest-burstable.slice",
        "Description=libcontainer container witlettest-burstable-poda_b.slice",
    ] {
        assert!(shown.lines().any(|line| line == property), "{property} in\n{shown}");
    }
    systemctl(&["daemon-reload"]);
    assert_eq!(pod_files(), expected, "systemd has them, too, and sets them again");
    let more = ResourceConfig { memory_bytes: Some(128 << 20), ..ResourceConfig::default() };
    cgroups.update(POD, &more).await.expect("it is set");
    assert_eq!(file(POD, "memory.max"), "134217728");
    let read = cgroups.read(POD).await.expect("it is there");
    assert_eq!((read.memory_limit_bytes, read.cpu_quota_us, read.cpu_weight), (128 << 20, 2_000, Some(39)));
    assert_eq!(cgroups.children(TIER).await.expect("it is there"), [POD]);
    clean(&cgroups).await;
}

async fn what_still_runs_ends_with_its_slice() {
    let cgroups = cgroups();
    for path in [PODS, TIER] {
        cgroups.create(path, &ResourceConfig::default()).await.expect("it is made");
    }
    cgroups.create(POD, &config()).await.expect("it is made");
    let below: PathBuf = Path::new(MOUNT).join(POD.trim_start_matches('/')).join("container");
    fs::create_dir(&below).expect("made next to systemd");
    let mut process = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("it runs");
    fs::write(below.join("cgroup.procs"), process.id().to_string()).expect("it is moved");
    // As the agent does: a killed process takes a moment to be gone.
    while let Err(error) = cgroups.remove(POD).await {
        eprintln!("again: {error}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let ended = process.wait().expect("it can be waited for");
    assert!(!ended.success(), "{ended}");
    assert!(!below.exists() && !below.parent().is_some_and(Path::exists));
    assert_eq!(systemctl(&["show", POD_UNIT, "-p", "ActiveState"]), "ActiveState=inactive");
    cgroups.remove(POD).await.expect("one that is gone is removed");
    clean(&cgroups).await;
}

async fn many_slices_are_made_at_the_same_time() {
    const MANY: usize = 50;
    let cgroups = std::sync::Arc::new(cgroups());
    cgroups.create(PODS, &ResourceConfig::default()).await.expect("it is made");
    let path = |number: usize| format!("{PODS}/witlettest-pod{number}.slice");
    let mut work = tokio::task::JoinSet::new();
    for number in 0..MANY {
        let (cgroups, path) = (cgroups.clone(), path(number));
        work.spawn(async move {
            cgroups.create(&path, &config()).await?;
            // While it starts the slices next to it, systemd may take controllers away that none of its own properties needs.
            loop {
                match cgroups.validate(&path).await {
                    Err(CgroupError::MissingControllers { .. }) => cgroups.create(&path, &config()).await?,
                    whole => break whole?,
                }
            }
            cgroups.remove(&path).await
        });
    }
    while let Some(done) = work.join_next().await {
        done.expect("no panic").expect("it is made and removed");
    }
    assert_eq!(cgroups.children(PODS).await.expect("it is there"), [""; 0]);
    clean(&cgroups).await;
}

/// The first two cases again, in a process of its own that finds no message bus. On its own socket systemd sends every signal that
/// it has: on an emulated machine many jobs at once take longer than one may.
async fn private_socket_serves_without_a_message_bus() {
    let itself = std::env::current_exe().expect("it runs");
    let mut again = Command::new(itself);
    let again = again
        .args(["--skip", PRIVATE, "--skip", MANY_SLICES])
        .env("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere");
    let output = again.output().expect("it runs again");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(" 2 passed"), "{said}");
}

async fn clean(cgroups: &SystemdCgroups) {
    cgroups.remove(PODS).await.expect("all is removed");
    assert!(!Path::new(MOUNT).join(PODS.trim_start_matches('/')).exists());
}

/// Runs a case within its time.
fn case<W>(name: &'static str, skip: Option<&str>, work: fn() -> W) -> Trial
where
    W: Future<Output = ()> + 'static,
{
    const BOUND: Duration = Duration::from_mins(5);
    Trial::test(name, move || {
        let tokio = Runtime::new()?;
        let done = tokio.block_on(async { tokio::time::timeout(BOUND, work()).await });
        done.map_err(|_| Failed::from("it hangs"))
    })
    .with_ignored_flag(skip.is_some())
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They share slices.
    arguments.test_threads = Some(1);
    let skip = skip_reason();
    if let Some(skip) = skip.filter(|_| !arguments.list) {
        eprintln!("SKIPPED: the driver systemd: {skip}");
    }
    let trials = vec![
        case("slices_are_set_as_units_and_files", skip, slices_are_set_as_units_and_files),
        case("what_still_runs_ends_with_its_slice", skip, what_still_runs_ends_with_its_slice),
        case(MANY_SLICES, skip, many_slices_are_made_at_the_same_time),
        case(PRIVATE, skip, private_socket_serves_without_a_message_bus),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}
