//! The sources on plugins that a test speaks for, with time that stands still unless everything waits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::sources::SourceUpdate;
use witlet_core::sources::allow::Allowance;
use witlet_core::sources::plugin::{LeftOutPod, PollResponse, Snapshot, SourceFault};
use witlet_core::sources::polling::{Polled, Settings};
use witlet_ports::{Clock, EventSink, FilesError, Jitter, SourceHealth, StateStore};

use super::*;

mod kept;

/// Answers of one source, one after the other; the last one again and again.
struct Script {
    answers: Vec<Polled>,
    /// How long each takes.
    takes: Duration,
}

#[derive(Default)]
struct Fakes {
    specs: Mutex<Vec<SourceSpec>>,
    changes: watch::Sender<u64>,
    scripts: Mutex<HashMap<SourceName, Script>>,
    /// When each poll began, with its cursor.
    polls: Mutex<Vec<(Duration, String)>>,
    reported: Mutex<Vec<PodNews>>,
    /// How often it still refuses news.
    refusals: Mutex<u32>,
    began: Mutex<Option<Instant>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fakes {
    fn install(&self, specs: Vec<SourceSpec>) {
        *lock(&self.specs) = specs;
        self.changes.send_modify(|changes| *changes += 1);
    }

    fn script(&self, name: &str, answers: Vec<Polled>) {
        let script = Script { answers, takes: Duration::ZERO };
        lock(&self.scripts).insert(name.into(), script);
    }

    /// The polls so far as `seconds cursor`; then forgets them.
    fn polls(&self) -> Vec<String> {
        let polls = std::mem::take(&mut *lock(&self.polls));
        polls.iter().map(|(at, cursor)| format!("{:.1} {cursor}", at.as_secs_f64())).collect()
    }
}

#[async_trait]
impl SourcePlugins for Fakes {
    fn sources(&self) -> Vec<SourceSpec> {
        lock(&self.specs).clone()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    async fn poll(&self, name: &SourceName, cursor: Option<&str>) -> Polled {
        let at = lock(&self.began).map(|began| began.elapsed()).unwrap_or_default();
        lock(&self.polls).push((at, cursor.unwrap_or("-").to_owned()));
        let (answer, takes) = {
            let mut scripts = lock(&self.scripts);
            let script = scripts.get_mut(name).expect("the test speaks for this source");
            let answer = match script.answers.len() {
                1 => script.answers[0].clone(),
                _ => script.answers.remove(0),
            };
            (answer, script.takes)
        };
        sleep(takes).await;
        answer
    }

    async fn tell(&self, _: &SourceName, news: Vec<PodNews>) -> Result<(), SourceNotifyError> {
        lock(&self.reported).extend(news);
        let refusals = lock(&self.refusals).checked_sub(1);
        match refusals {
            Some(refusals) => {
                *lock(&self.refusals) = refusals;
                let retry = witlet_ports::NotifyRetry::BackOff;
                Err(SourceNotifyError { message: "no".to_owned(), retry })
            }
            None => Ok(()),
        }
    }
}

#[derive(Default)]
struct Memory(Mutex<HashMap<String, Vec<u8>>>, Mutex<usize>);

#[async_trait]
impl StateStore for Memory {
    async fn load(&self, name: &str) -> Result<Option<Vec<u8>>, FilesError> {
        Ok(lock(&self.0).get(name).cloned())
    }

    async fn save(&self, name: &str, value: &[u8]) -> Result<(), FilesError> {
        lock(&self.0).insert(name.to_owned(), value.to_vec());
        *lock(&self.1) += 1;
        Ok(())
    }
}

#[derive(Default)]
struct Events(Mutex<Vec<String>>);

impl Events {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl EventSink for Events {
    fn record(&self, event: Event) {
        lock(&self.0).push(format!("{} {}: {}", event.reason, event.object, event.message));
    }
}

struct Certain;

impl Jitter for Certain {
    fn unit(&self) -> f64 {
        0.0
    }
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> jiff::Timestamp {
        "2026-01-01T12:00:00Z".parse().expect("a time")
    }
}

fn spec(name: &str) -> SourceSpec {
    let allowance = Allowance { namespaces: vec!["*".to_owned()], ..Allowance::default() };
    SourceSpec {
        name: name.into(),
        settings: Settings { allowance, interval: Duration::from_secs(10) },
        config: "null".into(),
        keeps_state: false,
        listens: false,
        wants_left_out: false,
        version: 1,
    }
}

fn manifest(name: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: a, image: b}}]}}}}"
    )
}

fn answer(snapshot: Snapshot, cursor: Option<&str>) -> Polled {
    Polled::Answer(PollResponse { snapshot, cursor: cursor.map(str::to_owned), next_poll: None })
}

fn pods(names: &[&str]) -> Polled {
    answer(Snapshot::Pods(names.iter().map(|name| manifest(name)).collect()), Some("c1"))
}

fn fault(reason: &str) -> Polled {
    Polled::Fault(SourceFault { reason: reason.to_owned(), message: "no".to_owned(), retry_after: None })
}

struct Node {
    plugins: Arc<Fakes>,
    events: Arc<Events>,
    health: Arc<SourceHealth>,
    state: Arc<Memory>,
    set: Arc<HostSources<Fakes>>,
    snapshots: mpsc::Receiver<SourceEvent>,
    _tasks: JoinSet<()>,
}

/// A node with these sources, whose plugins and state may have been there before.
fn start(plugins: Arc<Fakes>, state: Arc<Memory>) -> Node {
    *lock(&plugins.began) = Some(Instant::now());
    let (events, health) = (Arc::new(Events::default()), Arc::new(SourceHealth::default()));
    let config = SourcesConfig {
        node_name: "N1".to_owned(),
        state: state.clone(),
        events: events.clone(),
        health: health.clone(),
        clock: Arc::new(Noon),
        jitter: Arc::new(Certain),
    };
    let set = Arc::new(HostSources::new(plugins.clone(), config));
    let (sender, snapshots) = mpsc::channel(witlet_ports::SOURCE_EVENTS_MAX);
    let mut tasks = JoinSet::new();
    tasks.spawn(set.clone().run(sender, CancellationToken::new()));
    Node { plugins, events, health, state, set, snapshots, _tasks: tasks }
}

impl Node {
    /// The sets that come within so many seconds: `source: pods`.
    async fn sets(&mut self, seconds: u64) -> Vec<String> {
        let until = Instant::now() + Duration::from_secs(seconds);
        let mut sets = Vec::new();
        while let Ok(Some(snapshot)) = tokio::time::timeout_at(until, self.snapshots.recv()).await {
            let (pods, partly, restored) = match snapshot.update {
                SourceUpdate::Replaced { pods, incomplete: None } => (pods, "", ""),
                SourceUpdate::Replaced { pods, incomplete: Some(_) } => (pods, " and who knows what", ""),
                SourceUpdate::Restored(pods) => (pods, "", " from before"),
                other => panic!("{other:?}"),
            };
            let names: Vec<_> = pods.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
            sets.push(format!("{}: {}{partly}{restored}", snapshot.source, names.join(" ")));
        }
        sets
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_is_polled_by_its_interval_with_its_last_cursor_and_only_changes_are_sent() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    plugins.script(
        "edge",
        vec![pods(&["a"]), answer(Snapshot::Unchanged, Some("c2")), pods(&["a"]), pods(&["a", "b"])],
    );
    let mut node = start(plugins, Arc::default());
    assert_eq!(node.sets(35).await, ["edge: a-n1", "edge: a-n1 b-n1"]);
    assert_eq!(node.plugins.polls(), ["0.0 -", "10.0 c1", "20.0 c2", "30.0 c1"]);
    assert_eq!(node.events.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_keeps_its_last_set_and_is_asked_ever_more_seldom() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge"), spec("silent")]);
    plugins.script("edge", vec![pods(&["a"]), fault("Unavailable")]);
    plugins.script("silent", vec![fault("Denied")]);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(3000).await, ["edge: a-n1"], "no one says that there are no pods");
    let mut reported = node.events.take();
    reported.retain(|event| !event.starts_with("SourceUnreadable"));
    reported.sort();
    assert_eq!(
        reported,
        ["PodSourceFailed plugin edge: Unavailable: no", "PodSourceFailed plugin silent: Denied: no"]
    );
    let polls = plugins.polls().len();
    assert!((40..100).contains(&polls), "{polls} polls of two sources in 50 minutes");
    plugins.script("edge", vec![pods(&["a"])]);
    assert_eq!(node.sets(400).await, [""; 0]);
    assert_eq!(node.events.take(), ["PodSourceRecovered plugin edge: Resynced"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_goes_takes_its_name_along_and_the_others_go_on() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge"), spec("other")]);
    plugins.script("edge", vec![pods(&["a"])]);
    plugins.script("other", vec![pods(&["b"])]);
    let mut node = start(plugins.clone(), Arc::default());
    let names = node.set.names();
    assert_eq!(names.borrow().len(), 2, "names are known before the first poll");
    assert_eq!(node.sets(1).await.len(), 2);
    plugins.install(vec![spec("other")]);
    assert_eq!(node.sets(1).await, [""; 0], "the loop ends its pods, because its name is gone");
    assert_eq!(names.borrow().iter().map(SourceName::as_str).collect::<Vec<_>>(), ["other"]);
    assert_eq!(
        node.events.take(),
        ["PodSourceRemoved plugin edge: is no longer a pod source, its pods are removed"]
    );
    plugins.polls();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(plugins.polls().len(), 6, "only the other one is polled");
    plugins.install(vec![spec("edge"), spec("other")]);
    assert_eq!(node.sets(1).await, ["edge: a-n1"], "one that comes back is seen again");
}

#[tokio::test(start_paused = true)]
async fn other_code_keeps_cursor_and_set_and_is_asked_at_once() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    plugins.script("edge", vec![pods(&["a"]), answer(Snapshot::Unchanged, Some("c1"))]);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(2).await, ["edge: a-n1"]);
    plugins.install(vec![SourceSpec { version: 2, ..spec("edge") }]);
    assert_eq!(node.sets(2).await, [""; 0]);
    assert_eq!(plugins.polls(), ["0.0 -", "2.0 c1"]);
}

#[tokio::test(start_paused = true)]
async fn another_configuration_asks_for_everything_and_a_smaller_allowance_ends_pods_at_once() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    plugins.script("edge", vec![pods(&["a"])]);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(2).await, ["edge: a-n1"]);
    plugins.install(vec![SourceSpec { config: "{}".into(), ..spec("edge") }]);
    assert_eq!(node.sets(2).await, [""; 0]);
    assert_eq!(plugins.polls(), ["0.0 -", "2.0 -"]);
    // The source hangs, and still its pods end.
    lock(&plugins.scripts).get_mut(&SourceName::from("edge")).expect("it is there").takes =
        Duration::from_secs(3600);
    let mut smaller = SourceSpec { config: "{}".into(), ..spec("edge") };
    smaller.settings.allowance.namespaces = vec!["other".to_owned()];
    plugins.install(vec![smaller]);
    assert_eq!(node.sets(2).await, ["edge: "]);
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_waits_for_news_ends_when_the_source_is_elsewhere() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    plugins.script("edge", vec![pods(&["a"])]);
    lock(&plugins.scripts).get_mut(&SourceName::from("edge")).expect("it is there").takes =
        Duration::from_secs(30);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(5).await, [""; 0]);
    plugins.install(vec![SourceSpec { config: "{}".into(), ..spec("edge") }]);
    assert_eq!(node.sets(40).await, ["edge: a-n1"]);
    assert_eq!(plugins.polls()[..2], ["0.0 -", "5.0 -"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_cannot_be_read_for_a_minute_is_shown_until_it_can_be_or_is_gone() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    plugins.script("edge", vec![fault("Unavailable")]);
    let mut node = start(plugins.clone(), Arc::default());
    let unreadable = |events: Vec<String>| {
        events.into_iter().filter(|event| event.starts_with("SourceUnreadable")).collect::<Vec<_>>()
    };
    node.sets(59).await;
    assert_eq!((unreadable(node.events.take()).len(), node.health.all_unread().len()), (0, 0));
    node.sets(2).await;
    let reported = unreadable(node.events.take());
    let words = "pods of source \"edge\" have been unreadable since 2026-01-01T11:59:00Z: Unavailable: no";
    assert!(reported.len() == 1 && reported[0].ends_with(words), "{reported:?}");
    node.sets(3600).await;
    assert!((3..8).contains(&unreadable(node.events.take()).len()), "again, less and less often");
    plugins.script("edge", vec![pods(&["a"]), fault("Unavailable")]);
    assert_eq!(node.sets(301).await, ["edge: a-n1"]);
    assert_eq!(node.sets(600).await, [""; 0]);
    assert_eq!(node.health.all_unread().len(), 1, "it was readable in between");
    plugins.install(vec![]);
    node.sets(1).await;
    assert_eq!(node.health.all_unread(), []);
}

#[tokio::test(start_paused = true)]
async fn pods_beyond_the_allowance_are_reported_by_name_and_the_rest_counts() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    let privileged = manifest("evil").replace("image: b", "image: b, securityContext: {privileged: true}");
    let manifests = vec![privileged, manifest("good"), "nonsense".to_owned()];
    plugins.script("edge", vec![answer(Snapshot::Pods(manifests), None)]);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(60).await, ["edge: good-n1 and who knows what"]);
    let reported = node.events.take();
    assert_eq!(reported.len(), 2, "each is reported once: {reported:?}");
    assert!(
        reported[0].starts_with(
            "PodForbidden edge pod default/evil-n1: was not admitted: violates PodSecurity baseline"
        ),
        "{reported:?}"
    );
    assert!(reported[1].starts_with("InvalidManifest edge manifest 3: "), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_pods_every_tenth_of_a_second_are_refused_and_no_one_else_waits() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("flood"), spec("other")]);
    let flood = PollResponse {
        snapshot: Snapshot::Pods((0..10_000).map(|n| manifest(&format!("p{n}"))).collect()),
        cursor: None,
        next_poll: Some(Duration::ZERO),
    };
    plugins.script("flood", vec![Polled::Answer(flood)]);
    plugins.script("other", vec![pods(&["b"])]);
    let mut node = start(plugins.clone(), Arc::default());
    assert_eq!(node.sets(20).await, ["other: b-n1"]);
    assert_eq!(
        node.events.take(),
        ["PodSourceFailed plugin flood: SetRefused: the set must have at most 110 pods, found 10000"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_source_is_notified_of_its_pods_by_the_names_that_it_gave_them() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![SourceSpec { listens: true, ..spec("edge") }, spec("other")]);
    plugins.script("edge", vec![pods(&["a"])]);
    plugins.script("other", vec![pods(&["a"])]);
    let node = start(plugins.clone(), Arc::default());
    assert_eq!(node.set.listeners(), BTreeSet::from([SourceName::from("edge")]));
    let update = |status| PodStatusUpdate {
        full_name: PodFullName::new("default", "a-n1"),
        uid: PodUid::from("u"),
        status,
    };
    let reported = node.set.tell(&"edge".into(), vec![update(Some(Arc::default())), update(None)]).await;
    assert_eq!(reported, Ok(()));
    let change = |status: Option<&str>| {
        PodNews::Status(PodStatusChange {
            namespace: "default".to_owned(),
            name: "a".to_owned(),
            uid: "u".to_owned(),
            status: status.map(str::to_owned),
        })
    };
    assert_eq!(*lock(&plugins.reported), [change(Some("{}")), change(None)]);
}

#[tokio::test(start_paused = true)]
async fn a_source_receives_which_of_its_pods_are_left_out_until_it_takes_it() {
    let plugins = Arc::new(Fakes::default());
    let forbids = |name: &str| {
        let allowance = Allowance { namespaces: vec!["prod".to_owned()], ..Allowance::default() };
        let spec = spec(name);
        let settings = Settings { allowance, ..spec.settings.clone() };
        SourceSpec { settings, ..spec }
    };
    plugins.install(vec![SourceSpec { wants_left_out: true, ..forbids("edge") }, forbids("deaf")]);
    let unread = || answer(Snapshot::Pods(vec![manifest("a"), "{}".to_owned()]), None);
    plugins.script("edge", vec![unread()]);
    plugins.script("deaf", vec![unread()]);
    *lock(&plugins.refusals) = 2;
    let mut node = start(plugins.clone(), Arc::default());
    node.sets(60).await;
    let reported = std::mem::take(&mut *lock(&plugins.reported));
    let (first, rest) = reported.split_at(2);
    assert_eq!(rest, [first, first].concat(), "twice refused, then taken, and not again at later polls");
    let PodNews::LeftOut(LeftOutPod { namespace, name, reason, message }) = &first[0] else {
        panic!("{first:?}")
    };
    assert_eq!((&**namespace, &**name, &**reason), ("default", "a", "PodForbidden"));
    assert!(message.contains("namespace default is not in podSource.allow.namespaces"), "{message}");
    let PodNews::LeftOut(LeftOutPod { name, reason, message, .. }) = &first[1] else { panic!("{first:?}") };
    assert_eq!((&**name, &**reason), ("", "InvalidManifest"));
    assert!(message.starts_with("manifest 2"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn it_stops_when_no_one_listens() {
    let plugins = Arc::new(Fakes::default());
    plugins.install(vec![spec("edge")]);
    plugins.script("edge", vec![pods(&["a"])]);
    let Node { snapshots, mut _tasks, .. } = start(plugins, Arc::default());
    drop(snapshots);
    assert!(timeout(Duration::from_secs(5), _tasks.join_next()).await.is_ok_and(|ended| ended.is_some()));
}
