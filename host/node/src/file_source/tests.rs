//! The source on a real folder: what is written is brought, whatever inotify makes of it.

use std::fs;
use std::sync::Mutex;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use witlet_core::sources::SourceUpdate;

use super::*;

/// Bound of a wait for something that has to happen: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// A clock so far ahead that no file is fresh: nothing waits until one has settled, and tests rename files into place.
struct Ahead;

impl Clock for Ahead {
    fn now(&self) -> jiff::Timestamp {
        SystemClock.now() + jiff::SignedDuration::from_hours(1)
    }
}

#[derive(Default)]
struct Events {
    recorded: Mutex<Vec<Event>>,
    more: Notify,
}

impl EventSink for Events {
    fn record(&self, event: Event) {
        self.recorded.lock().expect("no panic under the lock").push(event);
        self.more.notify_one();
    }
}

impl Events {
    /// The first event, of those that were recorded and of those to come, of which this is true.
    async fn wait_for(&self, predicate: impl Fn(&Event) -> bool) -> Event {
        let found = async {
            loop {
                let recorded = self.recorded.lock().expect("no panic under the lock").clone();
                if let Some(event) = recorded.into_iter().find(&predicate) {
                    return event;
                }
                self.more.notified().await;
            }
        };
        timeout(WAIT_TIMEOUT, found).await.unwrap_or_else(|_| panic!("not among {:?}", self.recorded))
    }
}

struct Running {
    snapshots: mpsc::Receiver<SourceEvent>,
    events: Arc<Events>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

fn start(path: &Path, check_interval: Duration) -> Running {
    start_at(path, check_interval, Arc::new(Ahead))
}

fn start_at(path: &Path, check_interval: Duration, clock: Arc<dyn Clock>) -> Running {
    let events = Arc::new(Events::default());
    let source = FileSource::new(path, "n", check_interval, clock, events.clone());
    let (sender, snapshots) = mpsc::channel(witlet_ports::SOURCE_EVENTS_MAX);
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(Box::new(source).run(sender, stop.clone()));
    Running { snapshots, events, stop, tasks }
}

impl Running {
    /// Names of the pods in the next set.
    async fn next(&mut self) -> Vec<String> {
        let next = timeout(WAIT_TIMEOUT, self.snapshots.recv()).await;
        let snapshot = next.expect("a set in time").expect("the source runs");
        assert_eq!(snapshot.source, SourceName::file());
        let SourceUpdate::Replaced { pods, .. } = snapshot.update else { panic!("{snapshot:?}") };
        pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect()
    }

    async fn wait_for_event(&self, reason: &str) -> Event {
        self.events.wait_for(|event| event.reason == reason).await
    }
}

/// Writes a manifest and renames it into place, so that no check finds half of it.
fn write(path: &Path, name: &str) {
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: a, image: b}}]}}\n"
    );
    let new = path.with_file_name(".new");
    fs::write(&new, text).expect("written");
    fs::rename(new, path).expect("renamed");
}

/// So long that only inotify can have reported.
const NEVER: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn files_that_come_change_and_go_are_seen_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut running = start(folder.path(), NEVER);
    assert_eq!(running.next().await, [""; 0]);
    write(&folder.path().join("a.yaml"), "a");
    assert_eq!(running.next().await, ["a-n"]);
    write(&folder.path().join("a.yaml"), "other");
    assert_eq!(running.next().await, ["other-n"]);
    write(&folder.path().join("b.yaml"), "b");
    assert_eq!(running.next().await, ["other-n", "b-n"]);
    fs::remove_file(folder.path().join("a.yaml")).expect("removed");
    assert_eq!(running.next().await, ["b-n"]);
}

#[tokio::test]
async fn a_file_that_is_removed_and_written_again_is_gone_in_between() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    write(&path, "a");
    let mut running = start(folder.path(), NEVER);
    assert_eq!(running.next().await, ["a-n"]);
    for _ in 0..3 {
        fs::remove_file(&path).expect("removed");
        write(&path, "a");
        assert_eq!(running.next().await, [""; 0]);
        assert_eq!(running.next().await, ["a-n"]);
    }
}

#[tokio::test]
async fn a_broken_file_is_an_event_that_names_it_and_its_pods_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.yaml");
    write(&path, "a");
    // In place, as editors may write: it is read once it has settled.
    let mut running = start_at(folder.path(), NEVER, Arc::new(SystemClock));
    assert_eq!(running.next().await, ["a-n"]);
    fs::write(&path, "kind: Pod\napiVersion: v1\nspec: {contaners: []}").expect("written");
    let event = running.wait_for_event("InvalidManifest").await;
    let place = path.display().to_string();
    assert_eq!(event.object, EventObject::Source { source: "file".into(), place });
    assert!(event.message.contains("spec.contaners: unknown field"), "{}", event.message);
    write(&folder.path().join("b.yaml"), "b");
    assert_eq!(running.next().await, ["a-n", "b-n"]);
}

#[tokio::test]
async fn a_folder_made_later_is_taken_up_and_so_is_one_made_again() {
    let parent = tempfile::tempdir().expect("a folder");
    let path = parent.path().join("manifests");
    let mut running = start(&path, NEVER);
    assert_eq!(running.next().await, [""; 0]);
    running.wait_for_event("FailedRead").await;
    for _ in 0..2 {
        fs::create_dir(&path).expect("made");
        write(&path.join("a.yaml"), "a");
        assert_eq!(running.next().await, ["a-n"]);
        fs::remove_dir_all(&path).expect("removed");
        assert_eq!(running.next().await, [""; 0]);
    }
}

#[tokio::test]
async fn the_full_list_sees_what_inotify_did_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let target = elsewhere.path().join("target");
    write(&target, "a");
    std::os::unix::fs::symlink(&target, folder.path().join("a.yaml")).expect("linked");
    let mut running = start(folder.path(), Duration::from_millis(50));
    assert_eq!(running.next().await, ["a-n"]);
    write(&target, "b");
    assert_eq!(running.next().await, ["b-n"]);
}

#[tokio::test]
async fn no_interval_at_all_is_a_short_one() {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("a.yaml"), "a");
    assert_eq!(start(folder.path(), Duration::ZERO).next().await, ["a-n"]);
}

#[test]
fn a_relative_path_names_the_same_pods_as_the_absolute_one() {
    let here = std::env::current_dir().expect("a folder");
    let source = |path: &Path| {
        FileSource::new(path, "n", NEVER, Arc::new(SystemClock), Arc::new(Events::default())).path
    };
    assert_eq!(source(Path::new("manifests")), source(&here.join("manifests")));
}

#[tokio::test]
async fn it_stops_when_asked_and_when_no_one_listens() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut reported = start(folder.path(), NEVER);
    reported.next().await;
    reported.stop.cancel();
    let ended = timeout(WAIT_TIMEOUT, reported.tasks.join_next()).await.expect("it ends");
    assert!(ended.is_some_and(|result| result.is_ok()));
    let Running { snapshots, mut tasks, .. } = start(folder.path(), NEVER);
    drop(snapshots);
    let ended = timeout(WAIT_TIMEOUT, tasks.join_next()).await.expect("it ends");
    assert!(ended.is_some_and(|result| result.is_ok()));
}

#[test]
fn a_path_can_be_checked_without_a_daemon() {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("a.yaml"), "a");
    fs::write(folder.path().join("b.yaml"), "x").expect("written");
    let outcome = check_path(folder.path(), "n");
    assert_eq!(outcome.pods.map(|pods| pods.len()), Some(1));
    assert_eq!(outcome.reports.len(), 1);
    assert_eq!(outcome.reports[0].reason, ReportReason::InvalidManifest);
}

#[test]
fn the_example_pods_can_run_on_this_release() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pods");
    let mut checked = 0;
    for entry in fs::read_dir(examples).expect("the examples are there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            assert_eq!(check_path(&path, "n").reports, [], "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 0);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_cannot_be_read_for_a_minute_is_shown_until_it_can_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    let (events, health) = (Arc::new(Events::default()), Arc::new(SourceHealth::default()));
    // Not for root, either: what is below a file can't be listed.
    let source = FileSource::new(file.join("manifests"), "n", NEVER, Arc::new(Ahead), events.clone());
    let (sender, mut snapshots) = mpsc::channel(1);
    let mut tasks = JoinSet::new();
    let began = Instant::now();
    let source = source.with_health(health.clone());
    tasks.spawn(Box::new(source).run(sender, CancellationToken::new()));
    let event = events.wait_for(|event| event.reason == "SourceUnreadable").await;
    assert_eq!(event.object, EventObject::Node);
    assert!(
        event.message.contains("pods of source \"file\" have been unreadable since"),
        "{}",
        event.message
    );
    let unread = health.all_unread();
    assert_eq!(unread.len(), 1);
    assert!(unread[0].error.contains("directory"), "{unread:?}");
    assert!(began.elapsed() >= Duration::from_secs(60));
    // Nothing tells that it goes but the next check, which comes before the next report.
    fs::remove_file(&file).expect("removed");
    assert!(timeout(NEVER, snapshots.recv()).await.expect("a set in time").is_some());
    assert_eq!(health.all_unread(), []);
}

#[test]
fn a_file_that_cannot_be_read_makes_the_source_unread_and_a_bad_manifest_does_not() {
    let scan = |state| {
        let mut folder = Folder::new(SourceName::file(), "n".to_owned(), "/m".to_owned());
        folder.observe(Listing::Files(BTreeMap::from([("/m/a".to_owned(), state)]))).unread
    };
    assert_eq!(
        scan(FileState::Unreadable("cannot be read: I/O error".to_owned())).as_deref(),
        Some("/m/a cannot be read: I/O error")
    );
    assert_eq!(scan(FileState::Content(b"nonsense".to_vec())), None);
    assert_eq!(scan(FileState::NoFile("is a folder")), None);
    let mut folder = Folder::new(SourceName::file(), "n".to_owned(), "/m".to_owned());
    assert_eq!(folder.observe(Listing::Missing).unread, None, "upstream: no path, no pods");
    assert_eq!(folder.observe(Listing::Unreadable("no".to_owned())).unread.as_deref(), Some("no"));
}
