//! The agent with what it has of a cluster but the node's object: outages of the server, and kills of the agent between any two
//! requests.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{ApiServer, Identity, Moment, Options};
use witlet_cluster::{ApiEvents, ApiPods, EventLimit, Objects, SavedPods, StatusManager};
use witlet_ports::{AgentView, Clock, Jitter};
use witlet_testkit::{Behaviour, ClusterEdge, FakeImage, FakeNode, FixedJitter, NODE_NAME};

struct World {
    server: Arc<ApiServer>,
    node: FakeNode,
}

/// All parts that have to do with pods, as the binary puts them together.
fn connect(server: &ApiServer, node: &FakeNode, object: &Node) -> ClusterEdge {
    let client = server.client(&Identity::node(NODE_NAME));
    let clock: Arc<dyn Clock> = Arc::new(node.clock.clone());
    let jitter: Arc<dyn Jitter> = Arc::new(FixedJitter::default());
    let saved = SavedPods::new(node.state.clone());
    let pods = ApiPods::new(client.clone(), NODE_NAME, Some(saved), clock.clone(), jitter.clone());
    let (shown, node_object) = watch::channel(Some(Arc::new(object.clone())));
    let (known, mirrors) = (pods.known(), pods.mirrors());
    let statuses =
        StatusManager::new(client.clone(), known, mirrors, node_object, clock.clone(), jitter.clone());
    let objects = Objects::new(client.clone(), clock.clone(), jitter.clone());
    let limit = EventLimit { per_second: 50, burst: 100 };
    let events = ApiEvents::new(client, NODE_NAME, limit, clock, jitter);
    let (writing, drawing, telling) = (statuses.clone(), objects.clone(), events.clone());
    ClusterEdge {
        sources: vec![Box::new(pods)],
        statuses,
        objects,
        events,
        work: Box::new(move |_| {
            let never = CancellationToken::new();
            async move {
                let _shown = shown;
                tokio::join!(writing.run(never.clone()), drawing.run(never.clone()), telling.run(never));
            }
            .boxed()
        }),
    }
}

impl World {
    fn started() -> Self {
        let mut node = FakeNode::new();
        node.runtime.add_image("sleeper:1", FakeImage::present(Behaviour::Sleeps));
        let clock = node.clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || clock.now())));
        let object: Node = serde_json::from_value(json!({"metadata": {"name": NODE_NAME}})).expect("a node");
        let object = server.create(&object).expect("made");
        let of_node = server.clone();
        node.cluster = Some(Box::new(move |node: &FakeNode| connect(&of_node, node, &object)));
        node.start();
        Self { server, node }
    }

    fn ends_after(&self, image: &str, code: i32, seconds: u64) {
        let behaviour = Behaviour::Exits { code, after: Duration::from_secs(seconds) };
        self.node.runtime.add_image(image, FakeImage::present(behaviour));
    }

    fn create(&self, name: &str, image: &str, restart_policy: &str) {
        let container = json!({"name": "app", "image": image, "imagePullPolicy": "IfNotPresent"});
        let spec = json!({
            "nodeName": NODE_NAME, "terminationGracePeriodSeconds": 30, "automountServiceAccountToken": false,
            "restartPolicy": restart_policy, "containers": [container],
        });
        let metadata = json!({"name": name, "namespace": "default"});
        let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod");
        self.server.create(&pod).expect("made");
    }

    fn delete(&self, name: &str, grace: i64) {
        self.server.delete::<Pod>("default", name, Some(grace)).expect("deleted");
    }

    /// `phase, restarts, ready` of a pod as the server has it.
    fn on_server(&self, name: &str) -> String {
        let Some(pod) = self.server.get::<Pod>("default", name) else { return "gone".to_owned() };
        let status = pod.status.unwrap_or_default();
        let restarts: i32 = status.container_statuses.iter().flatten().map(|of| of.restart_count).sum();
        let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready");
        let ready = ready.map(|ready| ready.status.clone()).unwrap_or_default();
        format!("{}, {restarts} restarts, ready {ready}", status.phase.unwrap_or_default())
    }

    /// How often containers of the pod were started, in all runs of the agent.
    fn starts(&self, name: &str) -> usize {
        let log = self.node.runtime.log();
        log.iter().filter(|line| line.contains(&format!(" start {name}/"))).count()
    }

    /// Lets time pass; if the server is held meanwhile, the agent is killed at that moment and another one started.
    /// Gives whether that happened.
    async fn pass_or_die(&mut self, seconds: f64) -> bool {
        let is_held = tokio::select! {
            () = self.server.held() => true,
            () = pass(seconds) => false,
        };
        if is_held {
            self.node.kill();
            self.server.release();
            self.node.start();
            pass(seconds).await;
        }
        is_held
    }
}

async fn pass(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn after_an_hour_without_a_server_every_status_is_right_and_few_requests_told_them() {
    let world = World::started();
    world.ends_after("job:1", 0, 600);
    world.ends_after("crash:1", 3, 400);
    world.create("web", "sleeper:1", "Always");
    world.create("job", "job:1", "Never");
    world.create("crash", "crash:1", "Always");
    world.create("ends", "sleeper:1", "Always");
    pass(20.0).await;
    for name in ["web", "job", "crash", "ends"] {
        assert_eq!(world.on_server(name), "Running, 0 restarts, ready True", "{name}");
    }
    world.server.down();
    pass(3600.0).await;
    world.delete("ends", 30);
    world.server.clear_requests();
    world.server.up();
    pass(70.0).await;
    assert_eq!(world.on_server("web"), "Running, 0 restarts, ready True");
    assert_eq!(world.on_server("job"), "Succeeded, 0 restarts, ready False");
    assert_eq!(world.on_server("ends"), "gone");
    let crash = world.on_server("crash");
    assert!(crash.contains("8 restarts") || crash.contains("7 restarts"), "{crash}");
    let requests = world.server.counts();
    let of = |action: &str| requests.get(action).copied().unwrap_or(0);
    assert!(of("patch pods/status") <= 8, "{requests:?}");
    assert!(of("create events") + of("patch events") <= 30, "{requests:?}");
    assert_eq!((of("get pods"), of("delete pods")), (0, 1), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_restarted_without_a_server_runs_its_pods_and_tells_of_them_later() {
    let mut world = World::started();
    world.create("web", "sleeper:1", "Always");
    world.create("job", "sleeper:1", "Never");
    pass(20.0).await;
    world.server.down();
    world.node.kill();
    world.node.runtime.lose_sandboxes();
    world.node.start();
    pass(300.0).await;
    assert_eq!((world.starts("web"), world.starts("job")), (2, 1));
    world.server.up();
    pass(70.0).await;
    assert_eq!(world.on_server("web"), "Running, 1 restarts, ready True");
    assert_eq!(world.on_server("job"), "Failed, 0 restarts, ready False");
}

/// A pod that runs and is deleted, and a job that ends; the agent is killed at the k-th request from its creation on. Gives
/// whether there was such a request.
async fn killed_at(k: u64, moment: Moment) -> bool {
    let mut world = World::started();
    world.ends_after("job:1", 0, 5);
    pass(5.0).await;
    world.server.hold_from(world.server.last_request() + k, moment);
    world.create("web", "sleeper:1", "Always");
    world.create("job", "job:1", "Never");
    let early = world.pass_or_die(40.0).await;
    let at = format!("killed at request {k}, {moment:?}");
    assert_eq!(world.on_server("web"), "Running, 0 restarts, ready True", "{at}");
    assert_eq!(world.on_server("job"), "Succeeded, 0 restarts, ready False", "{at}");
    world.delete("web", 30);
    world.delete("job", 30);
    let late = world.pass_or_die(70.0).await;
    assert_eq!(
        (world.on_server("web"), world.on_server("job")),
        ("gone".to_owned(), "gone".to_owned()),
        "{at}"
    );
    assert_eq!((world.starts("web"), world.starts("job")), (1, 1), "{at}");
    assert!(world.node.agent().pods().is_empty(), "{at}");
    early || late
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_killed_between_any_two_requests_loses_nothing_and_starts_nothing_twice() {
    for moment in [Moment::Before, Moment::After] {
        let mut k = 1;
        while killed_at(k, moment).await {
            k += 1;
            assert!(k < 200, "a story of two pods has no end of requests");
        }
        assert!(k > 8, "the story had only {k} requests");
    }
}
