//! A runtime that answers late, on paused time, and the source on a real folder.

use std::sync::Mutex;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_core::event::Event;
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ListedSandbox, ObservedPod, RuntimeEvent, RuntimePod, SandboxState};
use witlet_core::sources::SourceUpdate;
use witlet_ports::{Clock, EventSink, PodSource, RuntimeError, SOURCE_EVENTS_MAX};

use super::*;
use crate::{FileSource, FileStateStore, SystemClock};

const THEIRS: &str = "00112233445566778899aabbccddeeff";

/// A runtime that has these pods once it was asked so often.
struct Pods {
    answers_after: Mutex<u32>,
    pods: Vec<RuntimePod>,
}

fn unavailable() -> RuntimeError {
    let (endpoint, message) = ("unix:///none".to_owned(), "no".to_owned());
    RuntimeError::Unavailable { call: "ListPodSandbox", endpoint, message }
}

#[async_trait]
impl PodView for Pods {
    async fn list_pods(&self) -> Result<Arc<Vec<RuntimePod>>, RuntimeError> {
        let mut left = self.answers_after.lock().expect("the lock is not poisoned");
        match left.checked_sub(1) {
            Some(fewer) => {
                *left = fewer;
                Err(unavailable())
            }
            None => Ok(Arc::new(self.pods.clone())),
        }
    }

    async fn pod_status(&self, _: &PodUid) -> Result<ObservedPod, RuntimeError> {
        Err(unavailable())
    }

    async fn events(&self, _: mpsc::Sender<RuntimeEvent>) -> Result<(), RuntimeError> {
        Err(unavailable())
    }
}

struct NoEvents;

impl EventSink for NoEvents {
    fn record(&self, _: Event) {}
}

fn runtime(answers_after: u32, made_at: Timestamp) -> Arc<Pods> {
    let sandbox =
        ListedSandbox { id: "s".into(), attempt: 0, state: SandboxState::Ready, created_at: made_at };
    let (name, namespace) = ("web-n".to_owned(), "default".to_owned());
    let pod = RuntimePod {
        uid: PodUid::from(THEIRS),
        name,
        namespace,
        sandboxes: vec![sandbox],
        containers: Vec::new(),
    };
    Arc::new(Pods { answers_after: Mutex::new(answers_after), pods: vec![pod] })
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_does_not_answer_is_waited_for_but_not_forever() {
    for (answers_after, waited) in [(0, 0), (7, 7), (1000, RUNTIME_WAIT_MAX.as_secs())] {
        let began = Instant::now();
        let pods = runtime(answers_after, Timestamp::UNIX_EPOCH);
        let folder = tempfile::tempdir().expect("a folder");
        Inherited::new(pods, Arc::new(FileStateStore::new(folder.path()))).load().await;
        assert_eq!(began.elapsed().as_secs(), waited);
    }
}

#[tokio::test(start_paused = true)]
async fn uids_that_cannot_be_read_count_as_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = Arc::new(FileStateStore::new(folder.path()));
    state.save(INHERITED_UIDS, b"{\"a\":").await.expect("saved");
    let uids = Inherited::new(runtime(0, Timestamp::UNIX_EPOCH), state).load().await;
    assert!(uids.taken().is_empty());
}

/// The UID that the source gives the pod of this folder.
async fn uid_of(folder: &std::path::Path, pods: Arc<Pods>, state: Arc<FileStateStore>) -> Option<String> {
    let (clock, period) = (Arc::new(SystemClock), Duration::from_secs(60));
    let source = FileSource::new(folder, "n", period, clock, Arc::new(NoEvents)).inheriting(pods, state);
    let (sender, mut sets) = mpsc::channel(SOURCE_EVENTS_MAX);
    let mut tasks = JoinSet::new();
    tasks.spawn(Box::new(source).run(sender, CancellationToken::new()));
    let set = tokio::time::timeout(Duration::from_secs(60), sets.recv()).await;
    let event = set.expect("in time").expect("the source runs");
    let SourceUpdate::Replaced { pods, .. } = event.update else { panic!("{event:?}") };
    pods.first().and_then(|pod| pod.metadata.uid.clone())
}

#[tokio::test]
async fn a_static_pod_that_a_kubelet_started_goes_on_under_its_uid_and_an_edited_one_is_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder_path = folder.path().canonicalize().expect("it is there");
    let manifest =
        "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: i}]}}";
    std::fs::write(folder_path.join("web.yaml"), manifest).expect("written");
    let states = tempfile::tempdir().expect("a folder");
    let [state, fresh] =
        ["state", "fresh"].map(|name| Arc::new(FileStateStore::new(states.path().join(name))));
    let now = SystemClock.now();
    let later = runtime(0, now + SignedDuration::from_hours(1));
    let earlier = runtime(0, now - SignedDuration::from_hours(1));
    let own = uid_of(&folder_path, earlier.clone(), state.clone()).await;
    assert!(own.is_some() && own.as_deref() != Some(THEIRS), "{own:?}");
    assert_eq!(uid_of(&folder_path, later, state.clone()).await.as_deref(), Some(THEIRS));
    assert_eq!(uid_of(&folder_path, earlier, state).await.as_deref(), Some(THEIRS), "it was remembered");
    // A link may have been led elsewhere: what it says of the file's age isn't known.
    let link = folder_path.join("link");
    std::os::unix::fs::symlink(&folder_path, &link).expect("linked");
    let of_link = uid_of(&link, runtime(0, now + SignedDuration::from_hours(1)), fresh).await;
    assert!(of_link.is_some() && of_link.as_deref() != Some(THEIRS), "{of_link:?}");
}
