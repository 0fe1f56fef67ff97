//! Changes to the set in tables, and the source against the API server of the tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{ApiServer, Effect, Fault, Identity, Options};
use witlet_core::event::Event;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::sources::SourceUpdate;
use witlet_ports::{Clock, EventSink, PodSource, SOURCE_EVENTS_MAX, SourceEvent, SourceHealth, StateStore};
use witlet_testkit::{FixedJitter, ManualClock, MemoryStateStore};

use super::store::{Changed, PodStore};
use super::{ApiPods, KnownPods, Mirrors, OUTBOX_MAX};
use crate::saved::{SAVED_PODS, SavedPods, UNREADABLE_PODS};
use crate::watch::{Change, Malformed, ObjectKey};

fn pod(name: &str, uid: &str, version: u64) -> Arc<Pod> {
    let metadata =
        json!({"namespace": "ns", "name": name, "uid": uid, "resourceVersion": version.to_string()});
    let value = json!({"metadata": metadata, "spec": {"nodeName": "node1", "containers": []}});
    Arc::new(serde_json::from_value(value).unwrap())
}

fn with(pod: &Pod, edit: impl FnOnce(&mut Pod)) -> Arc<Pod> {
    let mut pod = pod.clone();
    edit(&mut pod);
    Arc::new(pod)
}

fn key(name: &str, uid: &str) -> ObjectKey {
    ObjectKey { namespace: "ns".to_owned(), name: name.to_owned(), uid: uid.to_owned() }
}

fn unreadable(name: &str, uid: &str) -> Malformed {
    Malformed { key: Some(key(name, uid)), message: "no".to_owned() }
}

fn all(objects: Vec<Arc<Pod>>, malformed: Vec<Malformed>) -> Change<Pod> {
    Change::Replaced { objects, malformed }
}

fn is_complete(set: &PodStore) -> bool {
    matches!(set.everything(), SourceUpdate::Replaced { incomplete: None, .. })
}

/// What the agent is reported: `all names`, `put name`, `deleted uid`, `incomplete` or `complete`.
fn reported(changed: &Changed) -> Vec<String> {
    let name = |pod: &Arc<Pod>| pod.metadata.name.clone().unwrap_or_default();
    let words = changed.updates.iter().map(|update| match update {
        SourceUpdate::Replaced { pods, .. } => {
            format!("all {}", pods.iter().map(name).collect::<Vec<_>>().join(" "))
        }
        SourceUpdate::Restored(_) => "restored".to_owned(),
        SourceUpdate::Put(pod) => format!("put {}", name(pod)),
        SourceUpdate::Deleted(uid) => format!("deleted {uid}"),
        SourceUpdate::Incomplete(Some(_)) => "incomplete".to_owned(),
        SourceUpdate::Incomplete(None) => "complete".to_owned(),
    });
    words.collect()
}

/// `name uid version` of all pods.
fn shown(set: &PodStore) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let shown = |pod: &Arc<Pod>| {
        let meta = &pod.metadata;
        format!("{} {} {}", text(&meta.name), text(&meta.uid), text(&meta.resource_version))
    };
    set.pods().iter().map(shown).collect()
}

fn of(changes: Vec<Change<Pod>>) -> (PodStore, Changed) {
    let mut set = PodStore::new("node1");
    let mut last = Changed::default();
    for change in changes {
        last = set.take(change);
    }
    (set, last)
}

#[test]
fn pods_that_did_not_change_stay_the_same_objects_over_lists() {
    let mut set = PodStore::new("node1");
    set.take(all(vec![pod("a", "u1", 1), pod("b", "u2", 1)], vec![]));
    let before = set.pods();
    set.take(all(vec![pod("a", "u1", 1), pod("b", "u2", 2)], vec![]));
    let after = set.pods();
    assert!(Arc::ptr_eq(&before[0], &after[0]));
    assert!(!Arc::ptr_eq(&before[1], &after[1]));
    assert_eq!(after[0].metadata.annotations.as_ref().unwrap()["kubernetes.io/config.source"], "api");
}

#[test]
fn ten_thousand_pods_are_kept_once_however_often_they_are_listed() {
    let listed = || (0..10_000).map(|number| pod(&format!("p{number}"), &format!("u{number}"), 1)).collect();
    let mut set = PodStore::new("node1");
    set.take(all(listed(), vec![]));
    let before = set.pods();
    assert_eq!(before.len(), 10_000);
    // The set and this list of it, and no one else.
    assert!(before.iter().all(|pod| Arc::strong_count(pod) == 2));
    drop(set.take(all(listed(), vec![])));
    assert!(before.iter().zip(set.pods()).all(|(before, after)| Arc::ptr_eq(before, &after)));
}

#[test]
fn a_pod_that_cannot_be_read_stays_as_it_was() {
    let (mut set, changed) =
        of(vec![all(vec![pod("a", "u1", 1)], vec![]), Change::Malformed(unreadable("a", "u1"))]);
    assert_eq!(shown(&set), ["a u1 1"]);
    assert!(is_complete(&set));
    assert_eq!(changed.warnings, [unreadable("a", "u1")]);
    // Reported once.
    let changed = set.take(all(vec![], vec![unreadable("a", "u1")]));
    assert_eq!((shown(&set), changed.warnings.len()), (vec!["a u1 1".to_owned()], 0));
    set.take(Change::Put(pod("a", "u1", 4)));
    assert_eq!(shown(&set), ["a u1 4"]);
    set.take(all(vec![], vec![]));
    assert!(shown(&set).is_empty());
}

#[test]
fn a_pod_that_could_never_be_read_makes_the_set_incomplete_until_it_goes() {
    let (mut set, changed) = of(vec![all(vec![pod("a", "u1", 1)], vec![unreadable("b", "u2")])]);
    assert_eq!((shown(&set), is_complete(&set)), (vec!["a u1 1".to_owned()], false));
    assert_eq!(reported(&changed), ["all a"]);
    assert_eq!(reported(&set.take(Change::Deleted(key("b", "u2")))), ["complete"]);
    assert!(is_complete(&set));
}

#[test]
fn while_an_object_without_a_name_is_there_no_one_is_taken_for_gone() {
    let nameless = Malformed { key: None, message: "no".to_owned() };
    let (mut set, _) = of(vec![
        all(vec![pod("a", "u1", 1), pod("b", "u2", 1)], vec![]),
        all(vec![pod("a", "u1", 2)], vec![nameless]),
    ]);
    assert_eq!((shown(&set), is_complete(&set)), (vec!["a u1 2".to_owned(), "b u2 1".to_owned()], false));
    set.take(all(vec![pod("a", "u1", 2)], vec![]));
    assert_eq!((shown(&set), is_complete(&set)), (vec!["a u1 2".to_owned()], true));
}

#[test]
fn another_pod_under_the_same_name_takes_its_place_and_the_end_of_the_old_one_comes_late() {
    let (mut set, changed) = of(vec![all(vec![pod("a", "u1", 1)], vec![]), Change::Put(pod("a", "u2", 5))]);
    assert_eq!(shown(&set), ["a u2 5"]);
    assert_eq!(reported(&changed), ["deleted u1", "put a"]);
    set.take(Change::Deleted(key("a", "u1")));
    assert_eq!(shown(&set), ["a u2 5"]);
    // Even if the new one can't be read the old one is gone.
    let changed = set.take(Change::Malformed(unreadable("a", "u3")));
    assert!(shown(&set).is_empty() && !is_complete(&set));
    assert_eq!(reported(&changed), ["deleted u2", "incomplete"]);
}

#[test]
fn who_goes_and_comes_back_with_its_uid_is_notified_both_times() {
    let (mut set, changed) = of(vec![all(vec![pod("a", "u1", 1), pod("b", "u2", 1)], vec![])]);
    assert_eq!(reported(&changed), ["all a b"]);
    assert_eq!(reported(&set.take(Change::Deleted(key("a", "u1")))), ["deleted u1"]);
    assert_eq!(reported(&set.take(Change::Deleted(key("a", "u1")))), [""; 0]);
    assert_eq!(reported(&set.take(Change::Put(pod("a", "u1", 5)))), ["put a"]);
}

#[test]
fn pods_of_other_nodes_and_without_an_identity_are_not_taken_in() {
    let elsewhere =
        with(&pod("a", "u1", 1), |pod| pod.spec.as_mut().unwrap().node_name = Some("other".to_owned()));
    let unbound = with(&pod("b", "", 1), |_| {});
    let climbs = with(&pod("c", "../../etc", 1), |_| {});
    let (set, changed) = of(vec![all(vec![elsewhere, unbound, climbs, pod("d", "u4", 1)], vec![])]);
    assert_eq!(shown(&set), ["d u4 1"]);
    assert_eq!(changed.warnings.len(), 2, "{:?}", changed.warnings);
}

#[test]
fn only_what_would_matter_after_a_restart_is_worth_a_write() {
    let status = |phase: &str, ip: &str| json!({"phase": phase, "podIP": ip});
    let put = |pod: &Pod, status: Value| {
        Change::Put(with(pod, |pod| pod.status = Some(serde_json::from_value(status).unwrap())))
    };
    let first = pod("a", "u1", 1);
    let (mut set, changed) = of(vec![all(vec![], vec![]), Change::Put(first.clone())]);
    assert!(changed.saved);
    assert!(set.take(put(&first, status("Running", "10.0.0.1"))).saved);
    assert!(!set.take(put(&first, status("Running", "10.0.0.2"))).saved);
    assert!(set.take(put(&first, status("Succeeded", "10.0.0.2"))).saved);
    assert!(set.take(Change::Deleted(key("a", "u1"))).saved);
}

#[test]
fn that_a_pod_ends_is_worth_a_write_soon_and_once() {
    let deleted = |pod: &Pod| {
        let time: Value = json!("2030-01-01T00:00:00Z");
        with(pod, |pod| pod.metadata.deletion_timestamp = serde_json::from_value(time).unwrap())
    };
    let mirror = |pod: &Pod| {
        let mark = ("kubernetes.io/config.mirror".to_owned(), "hash".to_owned());
        with(pod, |pod| pod.metadata.annotations = Some([mark].into()))
    };
    let (a, b) = (pod("a", "u1", 1), pod("b", "u2", 2));
    let put = |pod: &Arc<Pod>| Change::Put(pod.clone());
    let gone = || Change::Deleted(key("a", "u1"));
    let (none, one) = (|| all(vec![], vec![]), || all(vec![a.clone()], vec![]));
    for (what, changes, expected) in [
        ("the first list", vec![one()], false),
        ("the first list, with a pod that ends", vec![all(vec![deleted(&a)], vec![])], true),
        ("a pod comes", vec![none(), put(&a)], false),
        ("a pod comes that ends already", vec![none(), put(&deleted(&a))], true),
        ("it is to end", vec![one(), put(&deleted(&a))], true),
        ("its end goes on", vec![one(), put(&deleted(&a)), put(&deleted(&a))], false),
        ("it has ended", vec![one(), put(&deleted(&a)), gone()], false),
        ("its object is taken away", vec![one(), gone()], true),
        ("it is missing from a list", vec![one(), all(vec![b.clone()], vec![])], true),
        ("another has its name", vec![one(), put(&pod("a", "u3", 3))], true),
        (
            "another has its name that can't be read",
            vec![one(), Change::Malformed(unreadable("a", "u3"))],
            true,
        ),
        ("a mirror is to end", vec![none(), put(&mirror(&a)), put(&mirror(&deleted(&a)))], false),
        ("a mirror's object is taken away", vec![none(), put(&mirror(&a)), gone()], false),
    ] {
        assert_eq!(of(changes).1.ends, expected, "{what}");
    }
}

/// An API server with one node, and the source of that node on paused time.
struct World {
    server: Arc<ApiServer>,
    state: Arc<MemoryStateStore>,
    clock: Arc<ManualClock>,
    health: Arc<SourceHealth>,
    reported: Arc<RecordedEvents>,
}

/// Remembers events.
#[derive(Default)]
struct RecordedEvents(Mutex<Vec<Event>>);

impl EventSink for RecordedEvents {
    fn record(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

struct Running {
    known: Arc<KnownPods>,
    mirrors: tokio::sync::watch::Receiver<Mirrors>,
    events: mpsc::Receiver<SourceEvent>,
    pods: BTreeMap<PodUid, Arc<Pod>>,
    stop: CancellationToken,
    _task: JoinSet<()>,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new());
        let time = clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || time.now())));
        Self { server, state: Arc::default(), clock, health: Arc::default(), reported: Arc::default() }
    }

    fn start(&self) -> Running {
        let client = self.server.client(&Identity::node("node1"));
        let saved = SavedPods::new(self.state.clone());
        let source =
            ApiPods::new(client, "node1", Some(saved), self.clock.clone(), Arc::new(FixedJitter(0.0)));
        let source = source.telling(self.reported.clone()).with_health(self.health.clone());
        let (known, mirrors, stop) = (source.known(), source.mirrors(), CancellationToken::new());
        let (sender, events) = mpsc::channel(SOURCE_EVENTS_MAX);
        let mut task = JoinSet::new();
        task.spawn(Box::new(source).run(sender, stop.clone()));
        Running { known, mirrors, events, pods: BTreeMap::new(), stop, _task: task }
    }

    /// Messages of the events that say that pods can't be read.
    fn events(&self) -> Vec<String> {
        let reported = self.reported.0.lock().unwrap();
        let unreadable = reported.iter().filter(|event| event.reason == "SourceUnreadable");
        unreadable.map(|event| event.message.clone()).collect()
    }

    fn create(&self, name: &str, annotations: Value) -> Pod {
        let metadata = json!({"namespace": "default", "name": name, "annotations": annotations});
        let spec = json!({"nodeName": "node1", "containers": [{"name": "app", "image": "image:1"}]});
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
        self.server.create(&pod).unwrap()
    }
}

impl Running {
    /// What the source has after each of its events within so many milliseconds: whether restored, and the names.
    async fn sets(&mut self, milliseconds: u64) -> Vec<(bool, Vec<String>)> {
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        let mut sets = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            let restored = matches!(event.update, SourceUpdate::Restored(_));
            match event.update {
                SourceUpdate::Replaced { pods, .. } | SourceUpdate::Restored(pods) => {
                    self.pods = pods.into_iter().map(|pod| (PodUid::of(&pod), pod)).collect();
                }
                SourceUpdate::Put(pod) => _ = self.pods.insert(PodUid::of(&pod), pod),
                SourceUpdate::Deleted(uid) => _ = self.pods.remove(&uid),
                SourceUpdate::Incomplete(_) => {}
            }
            let names = self.pods.values().map(|pod| pod.metadata.name.clone().unwrap_or_default());
            let mut names: Vec<String> = names.collect();
            names.sort();
            sets.push((restored, names));
        }
        sets
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_change_is_reported_at_once_and_an_agent_that_takes_none_is_notified_of_all_pods() {
    let world = World::new();
    let mut running = world.start();
    assert_eq!(running.sets(100).await, [(false, vec![])]);
    world.create("a", json!({}));
    assert_eq!(running.sets(1).await, [(false, names(&["a"]))]);
    let burst = OUTBOX_MAX + 2 * SOURCE_EVENTS_MAX;
    for number in 0..burst {
        world.create(&format!("burst-{number}"), json!({}));
        if number % 100 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let mut sets = Vec::new();
    for _ in 0..5 {
        sets.extend(running.sets(100).await);
    }
    assert!(sets.len() < 3 * SOURCE_EVENTS_MAX, "{} events", sets.len());
    assert_eq!(sets.last().unwrap().1.len(), 1 + burst);
    assert_eq!(world.server.count("list pods"), 0, "the stream was enough");
}

#[tokio::test(start_paused = true)]
async fn what_is_looked_up_is_newer_than_what_was_reported() {
    let world = World::new();
    let mut running = world.start();
    running.sets(100).await;
    assert!(running.known.is_synced());
    let plain = world.create("a", json!({}));
    let mirror = world.create("m-node1", json!({"kubernetes.io/config.mirror": "x"}));
    running.sets(100).await;
    let uid = PodUid::of(&plain);
    assert_eq!(running.known.get(&uid).unwrap().metadata.name.as_deref(), Some("a"));
    let name = PodFullName::of(&mirror);
    assert_eq!(running.mirrors.borrow().keys().collect::<Vec<_>>(), [&name]);
    world.server.delete::<Pod>("default", "m-node1", Some(0)).unwrap();
    running.sets(100).await;
    assert!(running.mirrors.borrow().is_empty());
    assert!(running.known.get(&PodUid::of(&mirror)).is_none());
}

#[tokio::test(start_paused = true)]
async fn the_last_set_goes_on_after_a_restart_without_a_server_and_mirrors_are_not_in_it() {
    let world = World::new();
    let mut running = world.start();
    world.create("a", json!({}));
    world.create("m-node1", json!({"kubernetes.io/config.mirror": "x"}));
    running.sets(10_000).await;
    drop(running);
    world.server.down();
    let mut running = world.start();
    assert_eq!(running.sets(60_000).await, [(true, names(&["a"]))]);
    assert!(!running.known.is_synced());
    world.server.up();
    let sets = running.sets(90_000).await;
    assert_eq!(sets, [(false, names(&["a", "m-node1"]))]);
    running.stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_page_that_cannot_be_read_is_moved_aside_and_the_source_goes_on() {
    for page in
        ["{", "[]", r#"{"version":9,"nodeName":"node1","writtenAt":"2030-01-01T00:00:00Z","pods":[]}"#]
    {
        let world = World::new();
        world.state.save(SAVED_PODS, page.as_bytes()).await.unwrap();
        let mut running = world.start();
        assert_eq!(running.sets(100).await, [(false, vec![])], "{page}");
        let aside = world.state.load(UNREADABLE_PODS).await.unwrap();
        assert_eq!(aside.as_deref(), Some(page.as_bytes()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_stream_lists_is_read_by_lists_and_watched() {
    let world = World::new();
    world.create("a", json!({}));
    world.server.fault(Fault::new(Effect::code(500)).streaming_list());
    let mut running = world.start();
    assert_eq!(running.sets(100).await, [(false, names(&["a"]))]);
    world.create("b", json!({}));
    assert_eq!(running.sets(100).await, [(false, names(&["a", "b"]))]);
    assert!(world.health.all_unread().is_empty() && world.events().is_empty());
}

#[tokio::test(start_paused = true)]
async fn pods_that_cannot_be_read_for_a_minute_are_notified_of_again_and_again_until_they_can() {
    for effect in [
        Effect::code(500),
        Effect::code(404),
        Effect::html(200),
        Effect::html(502),
        Effect::nothing(),
        Effect::Half,
        Effect::Stall,
    ] {
        let world = World::new();
        world.create("a", json!({}));
        let fault = world.server.fault(Fault::new(effect.clone()).on("pods"));
        let mut running = world.start();
        assert_eq!(running.sets(59_000).await, []);
        assert!(world.health.all_unread().is_empty(), "{effect:?}");
        running.sets(2_000).await;
        assert_eq!(world.events().len(), 1, "{effect:?}");
        running.sets(360_000).await;
        assert_eq!(world.events().len(), 3, "{effect:?}");
        let unread = world.health.all_unread();
        assert_eq!(unread.len(), 1, "{effect:?}");
        assert!(!unread[0].error.is_empty(), "{effect:?}");
        world.server.remove_fault(fault);
        let sets = running.sets(240_000).await;
        assert_eq!(sets, [(false, names(&["a"]))], "{effect:?}");
        assert!(world.health.all_unread().is_empty(), "{effect:?}");
        assert_eq!(world.events().len(), 3, "{effect:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_server_cost_time_and_no_pods() {
    let world = World::new();
    world.create("a", json!({}));
    for effect in [Effect::code(500), Effect::DropBefore, Effect::too_many(3), Effect::code(422)] {
        world.server.fault(Fault::new(effect).verb("watch").on("pods").times(1));
    }
    let mut running = world.start();
    let sets = running.sets(30_000).await;
    assert!(!sets.is_empty() && sets.iter().all(|set| *set == (false, names(&["a"]))), "{sets:?}");
    world.server.expire_history();
    world.create("b", json!({}));
    let sets = running.sets(30_000).await;
    assert!(sets.iter().all(|(_, pods)| pods.contains(&"a".to_owned())), "{sets:?}");
    assert_eq!(sets.last().unwrap().1, names(&["a", "b"]));
    world.server.fault(Fault::new(Effect::MalformedEvent).verb("watch").on("pods").times(1));
    world.server.end_watches();
    running.sets(10_000).await;
    world.create("c", json!({}));
    let sets = running.sets(30_000).await;
    assert_eq!(sets.last().unwrap().1, names(&["a", "b", "c"]));
}
