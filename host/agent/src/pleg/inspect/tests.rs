//! Tests of checks: what is read of ended containers, how often, and what a hanging disk holds up.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::time::Instant;
use witlet_core::runtime::{ContainerId, Mount, MountPropagation, RuntimeEvent, RuntimePod};
use witlet_ports::RuntimeError;

use super::*;
use crate::pleg::fixture::Machine;

/// A runtime with one pod.
struct View(Mutex<ObservedPod>);

#[async_trait]
impl PodView for View {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        Ok(Arc::default())
    }

    async fn pod_status(&self, _: &PodUid) -> Result<ObservedPod, RuntimeError> {
        Ok(self.0.lock().expect("no panic").clone())
    }

    async fn events(&self, _: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        std::future::pending().await
    }
}

fn uid() -> PodUid {
    PodUid::from("u")
}

/// A container that failed, with a message at `/dev/termination-log` and a log.
fn failed() -> ObservedContainer {
    ObservedContainer {
        exit_code: 1,
        reason: "Error".to_owned(),
        log_path: "/log".to_owned(),
        termination_message_path: Some("/dev/termination-log".to_owned()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        mounts: vec![Mount {
            container_path: PathBuf::from("/dev/termination-log"),
            host_path: PathBuf::from("/message"),
            read_only: false,
            recursive_read_only: false,
            propagation: MountPropagation::Private,
            selinux_relabel: false,
        }],
        ..ObservedContainer::new(
            ContainerId::from("c"),
            "app",
            ContainerRunState::Exited,
            Timestamp::UNIX_EPOCH,
        )
    }
}

struct Bench {
    machine: Arc<Machine>,
    inspector: Inspector,
}

fn bench(container: ObservedContainer, files: &[(&str, Result<&str, ()>)]) -> Bench {
    let mut pod = ObservedPod::absent(uid(), Timestamp::UNIX_EPOCH);
    pod.containers = vec![container];
    let machine = Arc::new(Machine::default());
    let files = files
        .iter()
        .map(|(path, content)| (PathBuf::from(path), content.map(|content| content.as_bytes().to_vec())));
    machine.files.lock().expect("no panic").extend(files);
    let inspector = Inspector {
        view: Arc::new(View(Mutex::new(pod))),
        files: machine.clone(),
        cache: Arc::new(PodCache::new()),
    };
    Bench { machine, inspector }
}

impl Bench {
    async fn message(&self) -> Option<String> {
        let seen = self.inspector.inspect(&uid()).await.expect("the view never fails");
        seen.containers[0].termination_message.clone()
    }
}

#[tokio::test]
async fn the_message_is_from_the_file_or_where_policy_and_end_allow_from_the_log() {
    let both = [("/message", Ok("file")), ("/log", Ok("log"))];
    let no_file = [("/log", Ok("log"))];
    let empty_file = [("/message", Ok("")), ("/log", Ok("log"))];
    let broken_file = [("/message", Err(())), ("/log", Ok("log"))];
    let broken_log = [("/log", Err(()))];
    let file_only =
        |c: ObservedContainer| ObservedContainer { termination_message_policy: Some("File".to_owned()), ..c };
    for (name, container, files, expected) in [
        ("file", failed(), &both[..], Some("file")),
        ("no file", failed(), &no_file, Some("log")),
        ("empty file", failed(), &empty_file, Some("log")),
        ("policy File", file_only(failed()), &empty_file, Some("")),
        ("ended well", ObservedContainer { exit_code: 0, ..failed() }, &no_file, Some("")),
        (
            "never began",
            ObservedContainer { reason: "ContainerCannotRun".to_owned(), ..failed() },
            &no_file,
            Some(""),
        ),
        ("not mounted", ObservedContainer { mounts: Vec::new(), ..failed() }, &both, Some("log")),
        (
            "no path",
            ObservedContainer { termination_message_path: None, ..file_only(failed()) },
            &both,
            Some(""),
        ),
        (
            "unreadable",
            failed(),
            &broken_file,
            Some("Error on reading termination log /message: read /message: as scripted"),
        ),
        (
            "unreadable log",
            failed(),
            &broken_log,
            Some("Error reading from container log: read /log: as scripted"),
        ),
        ("running", ObservedContainer { state: ContainerRunState::Running, ..failed() }, &both, None),
    ] {
        let bench = bench(container, files);
        assert_eq!(bench.message().await.as_deref(), expected, "{name}");
    }
}

#[tokio::test]
async fn a_message_is_read_once() {
    let bench = bench(failed(), &[("/message", Ok("first"))]);
    assert_eq!(bench.message().await.as_deref(), Some("first"));
    bench.machine.files.lock().expect("no panic").insert(PathBuf::from("/message"), Ok(b"later".to_vec()));
    assert_eq!(bench.message().await.as_deref(), Some("first"));
    assert_eq!(bench.machine.reads.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_hangs_holds_a_lookup_for_a_bounded_time_and_is_tried_again() {
    let bench = bench(failed(), &[("/message", Ok("at last"))]);
    bench.machine.hangs.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    assert_eq!(bench.message().await, None);
    assert_eq!(begun.elapsed(), MESSAGES_READ_MAX);
    bench.machine.hangs.store(false, Ordering::Relaxed);
    assert_eq!(bench.message().await.as_deref(), Some("at last"));
}
