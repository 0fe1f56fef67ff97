//! Pods as an API server brings them: what the agent does with each change, over outages and restarts, and what it remembers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use expect_test::expect;
use futures::FutureExt;
use k8s_openapi::api::core::v1::{Pod, ResourceRequirements};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{ApiServer, Effect, Fault, Identity, Options};
use witlet_cluster::{API_SOURCE, ApiPods, SAVED_PODS, SavedPods};
use witlet_core::event::Event;
use witlet_core::pod::SourceName;
use witlet_ports::{AgentView, Clock, EventSink, NoObjects, NoStatuses, PodSource, SourceEvent, StateStore};
use witlet_testkit::{Behaviour, ClusterEdge, FakeImage, FakeNode, FixedJitter, NODE_NAME};

/// Takes events nowhere.
struct Nowhere;

impl EventSink for Nowhere {
    fn record(&self, _: Event) {}
}

/// A source of the API server that never says a word.
struct Silent;

#[async_trait]
impl PodSource for Silent {
    fn name(&self) -> SourceName {
        SourceName::from(API_SOURCE)
    }

    async fn run(self: Box<Self>, _: mpsc::Sender<SourceEvent>, stop: CancellationToken) {
        stop.cancelled().await;
    }
}

fn edge(source: Box<dyn PodSource>) -> ClusterEdge {
    ClusterEdge {
        sources: vec![source],
        statuses: Arc::new(NoStatuses),
        objects: Arc::new(NoObjects),
        events: Arc::new(Nowhere),
        node: None,
        work: Box::new(|_| std::future::pending().boxed()),
    }
}

struct World {
    server: Arc<ApiServer>,
    node: FakeNode,
}

impl World {
    /// A node whose agent runs, with the pods of an API server and nothing else of it.
    fn started() -> Self {
        let mut node = FakeNode::new();
        node.runtime.add_image("sleeper:1", FakeImage::present(Behaviour::Sleeps));
        let clock = node.clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || clock.now())));
        let of_node = server.clone();
        node.cluster = Some(Box::new(move |node: &FakeNode| {
            let client = of_node.client(&Identity::node(NODE_NAME));
            let saved = SavedPods::new(node.state.clone());
            let clock: Arc<dyn Clock> = Arc::new(node.clock.clone());
            let jitter = Arc::new(FixedJitter::default());
            edge(Box::new(ApiPods::new(client, NODE_NAME, Some(saved), clock, jitter)))
        }));
        node.start();
        Self { server, node }
    }

    fn create(&self, name: &str, edit: impl FnOnce(&mut Value)) -> Pod {
        let container = json!({"name": "app", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent"});
        let mut spec = json!({
            "nodeName": NODE_NAME, "terminationGracePeriodSeconds": 30, "automountServiceAccountToken": false,
            "containers": [container],
        });
        edit(&mut spec);
        let metadata = json!({"name": name, "namespace": "default"});
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod");
        self.server.create(&pod).expect("made")
    }

    fn delete(&self, name: &str, grace: i64) {
        self.server.delete::<Pod>("default", name, Some(grace)).expect("deleted");
    }

    /// The runtime's orders since they were asked for last.
    fn orders(&self) -> String {
        let log = self.node.runtime.log();
        self.node.runtime.clear_log();
        log.iter().map(|line| format!("{line}\n")).collect()
    }

    /// `name: phase` of each pod that the agent shows.
    fn shown(&self) -> Vec<String> {
        let pods = self.node.agent().pods();
        let shown = pods.iter().map(|pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.clone());
            let name = pod.metadata.name.clone().unwrap_or_default();
            format!("{name}: {}", phase.unwrap_or_default())
        });
        let mut shown: Vec<String> = shown.collect();
        shown.sort();
        shown
    }

    /// How many containers were started so far, in all runs of the agent.
    fn starts(&self) -> usize {
        self.node.runtime.starts().len()
    }
}

async fn pass(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_grace_may_shrink_and_a_pod_whose_object_is_gone_at_once_still_has_its_own() {
    let world = World::started();
    world.node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    world.create("web", |spec| spec["containers"][0]["image"] = json!("stubborn:1"));
    world.create("forced", |spec| spec["containers"][0]["image"] = json!("stubborn:1"));
    pass(5.0).await;
    assert_eq!(world.shown(), ["forced: Running", "web: Running"]);
    world.orders();
    world.delete("web", 60);
    pass(10.0).await;
    world.delete("web", 5);
    world.delete("forced", 0);
    pass(50.0).await;
    expect![[r#"
        5.000 stop within 60s web/app#0
        15.000 stop within 30s forced/app#0
        15.000 stop within 5s web/app#0
        20.000 ended with 137 web/app#0
        20.000 stop sandbox web#0
        45.000 ended with 137 forced/app#0
        45.000 stop sandbox forced#0
    "#]]
    .assert_eq(
        &world
            .orders()
            .lines()
            .filter(|line| !line.contains("remove"))
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
    assert_eq!(world.shown(), ["web: Failed"], "the object that is left waits for someone to remove it");
}

#[tokio::test(start_paused = true)]
async fn pods_of_the_last_set_go_on_and_are_restarted_while_no_server_answers() {
    let mut world = World::started();
    let crashes = FakeImage::present(Behaviour::Exits { code: 1, after: Duration::from_secs(100) });
    world.node.runtime.add_image("crashes:1", crashes);
    world.create("web", |_| {});
    world.create("crashes", |spec| spec["containers"][0]["image"] = json!("crashes:1"));
    pass(20.0).await;
    assert_eq!(world.starts(), 2);
    world.orders();
    world.server.down();
    world.node.kill();
    world.node.start();
    pass(60.0).await;
    assert_eq!(world.orders(), "", "what runs goes on");
    assert_eq!(world.shown(), ["crashes: Running", "web: Running"]);
    pass(60.0).await;
    let orders = world.orders();
    assert!(orders.contains("start crashes/app#1"), "{orders}");
    assert!(!orders.contains("web"), "{orders}");
    // Meanwhile one of them was deleted for good.
    world.delete("web", 0);
    world.server.up();
    pass(120.0).await;
    let orders = world.orders();
    assert!(orders.contains("stop sandbox web#0"), "{orders}");
    assert_eq!(world.shown(), ["crashes: Running"]);
}

#[tokio::test(start_paused = true)]
async fn after_the_machine_was_restarted_without_a_server_the_pods_of_the_last_set_run_again() {
    let mut world = World::started();
    world.create("web", |_| {});
    world.create("job", |spec| spec["restartPolicy"] = json!("Never"));
    pass(20.0).await;
    world.server.down();
    world.node.kill();
    world.node.runtime.lose_sandboxes();
    world.orders();
    world.node.start();
    pass(120.0).await;
    let orders = world.orders();
    assert!(orders.contains("start web/app#1"), "{orders}");
    assert!(world.shown().contains(&"web: Running".to_owned()), "{:?}", world.shown());
    assert!(!orders.contains("start job/app"), "what is never restarted isn't: {orders}");
}

#[tokio::test(start_paused = true)]
async fn while_the_api_server_was_not_read_nothing_is_cleaned_up_on_the_word_of_a_restored_set() {
    let mut world = World::started();
    world.create("remembered", |_| {});
    pass(20.0).await;
    // Made after the last write of the set.
    let page = world.node.state.load(SAVED_PODS).await.expect("read").expect("there is one");
    world.create("later", |_| {});
    pass(20.0).await;
    world.node.kill();
    world.node.state.save(SAVED_PODS, &page).await.expect("written");
    world.server.down();
    world.orders();
    world.node.start();
    pass(600.0).await;
    assert_eq!(world.orders(), "");
    world.server.up();
    pass(60.0).await;
    assert_eq!(world.orders(), "");
    assert_eq!(world.shown(), ["later: Running", "remembered: Running"]);
}

#[tokio::test(start_paused = true)]
async fn without_anything_remembered_pods_that_run_are_left_alone_until_the_server_was_read() {
    let mut world = World::started();
    world.create("web", |_| {});
    pass(20.0).await;
    world.node.kill();
    world.orders();
    let connect = world.node.cluster.replace(Box::new(|_: &FakeNode| edge(Box::new(Silent))));
    world.node.start();
    pass(600.0).await;
    assert_eq!(world.orders(), "");
    world.node.kill();
    world.node.cluster = connect;
    world.node.start();
    pass(20.0).await;
    assert_eq!(world.orders(), "");
    assert_eq!(world.shown(), ["web: Running"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_was_recreated_under_its_name_while_the_server_was_away_takes_the_old_ones_place() {
    let mut world = World::started();
    world.create("web", |_| {});
    pass(20.0).await;
    world.server.down();
    world.node.kill();
    world.node.start();
    pass(60.0).await;
    world.delete("web", 0);
    world.create("web", |_| {});
    world.orders();
    world.server.up();
    pass(120.0).await;
    let orders = world.orders();
    assert!(orders.contains("stop within"), "{orders}");
    assert_eq!((world.starts(), world.shown()), (2, vec!["web: Running".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_someone_ended_on_the_server_stops() {
    let world = World::started();
    world.create("web", |_| {});
    pass(20.0).await;
    world.orders();
    let ended = json!({"status": {"phase": "Failed", "reason": "Evicted"}});
    world.server.patch::<Pod>("default", "web", "status", ended).expect("patched");
    pass(60.0).await;
    let orders = world.orders();
    assert!(orders.contains("stop within 30s web/app#0"), "{orders}");
    assert_eq!(world.shown(), ["web: Failed"]);
}

#[tokio::test(start_paused = true)]
async fn edits_of_labels_restart_nothing_and_ephemeral_containers_are_added() {
    let world = World::started();
    world.create("web", |_| {});
    pass(20.0).await;
    world.orders();
    world
        .server
        .patch::<Pod>("default", "web", "", json!({"metadata": {"labels": {"a": "b"}}}))
        .expect("patched");
    pass(20.0).await;
    assert_eq!(world.orders(), "");
    let labels = world.node.agent().pods()[0].metadata.labels.clone().unwrap_or_default();
    assert_eq!(labels.get("a").map(String::as_str), Some("b"));
    let debugger = json!({"name": "debugger", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent"});
    let spec = json!({"spec": {"ephemeralContainers": [debugger]}});
    world.server.patch::<Pod>("default", "web", "ephemeralcontainers", spec).expect("patched");
    pass(20.0).await;
    let orders = world.orders();
    assert!(orders.contains("start web/debugger#0"), "{orders}");
    assert!(!orders.contains("stop"), "{orders}");
}

#[tokio::test(start_paused = true)]
async fn another_size_reaches_the_running_container_without_a_restart() {
    let world = World::started();
    world.create("web", |spec| spec["containers"][0]["resources"] = json!({"limits": {"cpu": "1"}}));
    pass(20.0).await;
    world.orders();
    let wish: ResourceRequirements =
        serde_json::from_value(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "2"}})).expect("resources");
    world.server.resize("default", "web", "app", &wish).expect("wished for");
    pass(20.0).await;
    expect![[r#"
        20.000 update cpu 200000 memory 0 web/app#0
    "#]]
    .assert_eq(&world.orders());
    assert_eq!(world.starts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_says_nonsense_costs_no_one_their_pod() {
    let world = World::started();
    world.create("web", |_| {});
    pass(20.0).await;
    world.orders();
    world.server.fault(Fault::new(Effect::MalformedEvent).verb("watch").on("pods").times(1));
    world.server.end_watches();
    pass(60.0).await;
    assert_eq!(world.orders(), "");
    world.create("next", |_| {});
    pass(20.0).await;
    assert_eq!(world.shown(), ["next: Running", "web: Running"]);
}

#[tokio::test(start_paused = true)]
async fn volumes_that_this_node_cannot_make_keep_their_pod_from_starting_and_no_one_else() {
    let world = World::started();
    world.create("claims", |spec| {
        spec["volumes"] = json!([{"name": "data", "csi": {"driver": "example.com"}}]);
        spec["containers"][0]["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    });
    world.create("web", |_| {});
    pass(60.0).await;
    assert_eq!(world.shown(), ["claims: Pending", "web: Running"]);
    let events = world.node.agent().events();
    let mut reasons: Vec<String> = events.into_iter().map(|recorded| recorded.event.reason.clone()).collect();
    reasons.sort();
    reasons.dedup();
    assert!(reasons.contains(&"FailedMount".to_owned()), "{reasons:?}");
    world.delete("claims", 0);
    pass(30.0).await;
    assert_eq!(world.shown(), ["web: Running"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_claims_no_one_prepares_says_so_and_starts_nothing() {
    let world = World::started();
    world.create("claims", |spec| {
        spec["resourceClaims"] = json!([{"name": "gpu", "resourceClaimName": "one"}]);
        spec["containers"][0]["resources"] = json!({"claims": [{"name": "gpu"}]});
    });
    pass(60.0).await;
    assert_eq!((world.shown(), world.starts()), (vec!["claims: Pending".to_owned()], 0));
    let events = world.node.agent().events();
    assert!(events.iter().any(|recorded| recorded.event.reason == "FailedPrepareDynamicResources"));
}

#[tokio::test(start_paused = true)]
async fn many_pods_at_once_are_one_set_of_requests() {
    let world = World::started();
    for number in 0..100 {
        world.create(&format!("pod-{number}"), |_| {});
    }
    pass(60.0).await;
    assert_eq!(world.starts(), 100);
    let counts: Vec<String> =
        world.server.counts().into_iter().map(|(action, n)| format!("{action} {n}")).collect();
    expect!["watch pods 1"].assert_eq(&counts.join("\n"));
}
