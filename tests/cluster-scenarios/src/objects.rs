//! What pods draw from the cluster: live updates, what is missing, outages, restarts of agent and machine.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use expect_test::expect;
use futures::FutureExt;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, Service, ServiceAccount};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use witlet_api_server::{ApiServer, Identity, Options};
use witlet_cluster::Objects;
use witlet_core::event::{Event, EventObject};
use witlet_core::pod::{PodUid, SourceName};
use witlet_core::sources::SourceUpdate;
use witlet_ports::{AgentView, Clock, EventSink, NoStatuses, PodSource, SourceEvent};
use witlet_testkit::{Behaviour, ClusterEdge, FakeImage, FakeNode, FixedJitter, NODE_NAME, SourceHandle};

/// Takes events nowhere.
struct Nowhere;

impl EventSink for Nowhere {
    fn record(&self, _: Event) {}
}

/// The source of API pods before it reached the server: what was remembered.
struct Remembered(Vec<Pod>);

#[async_trait]
impl PodSource for Remembered {
    fn name(&self) -> SourceName {
        SourceName::from("api")
    }

    async fn run(self: Box<Self>, events: mpsc::Sender<SourceEvent>, stop: CancellationToken) {
        let pods = self.0.into_iter().map(Arc::new).collect();
        let event = SourceEvent { source: api(), update: SourceUpdate::Restored(pods) };
        events.send(event).await.expect("the agent is notified");
        stop.cancelled().await;
    }
}

fn api() -> SourceName {
    SourceName::from("api")
}

struct World {
    server: Arc<ApiServer>,
    api: SourceHandle,
    node: FakeNode,
}

impl World {
    /// A node of a cluster, with the namespace `shop`.
    fn new() -> Self {
        let node = FakeNode::new();
        node.runtime.add_image("sleeper:1", FakeImage::present(Behaviour::Sleeps));
        let clock = node.clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || clock.now())));
        server.ensure_namespace("shop");
        let account = json!({"metadata": {"name": "robot", "namespace": "shop"}});
        server.create(&of::<ServiceAccount>(account)).expect("made");
        let api = SourceHandle::new("api", NODE_NAME);
        api.speak();
        let mut world = Self { server, api, node };
        world.connect(None);
        world
    }

    /// What the next agent belongs to: with the source as it is, or with what was remembered of it.
    fn connect(&mut self, remembered: Option<Vec<Pod>>) {
        let (server, api) = (self.server.clone(), self.api.clone());
        self.node.cluster = Some(Box::new(move |node: &FakeNode| {
            let clock: Arc<dyn Clock> = Arc::new(node.clock.clone());
            let client = server.client(&Identity::node(NODE_NAME));
            let objects = Objects::new(client, clock, Arc::new(FixedJitter::default()));
            let running = objects.clone();
            let source: Box<dyn PodSource> = match &remembered {
                Some(pods) => Box::new(Remembered(pods.clone())),
                None => api.source(),
            };
            ClusterEdge {
                sources: vec![source],
                statuses: Arc::new(NoStatuses),
                objects,
                events: Arc::new(Nowhere),
                node: None,
                work: Box::new(move |_| running.run(CancellationToken::new()).boxed()),
            }
        }));
    }

    fn put_map(&self, name: &str, value: &str) {
        let map = json!({"metadata": {"name": name, "namespace": "shop"}, "data": {"k": value}});
        match self.server.get::<ConfigMap>("shop", name) {
            None => drop(self.server.create(&of::<ConfigMap>(map)).expect("made")),
            Some(_) => drop(self.server.update(&of::<ConfigMap>(map)).expect("changed")),
        }
    }

    fn put_secret(&self, name: &str, value: &str) {
        let secret = json!({"metadata": {"name": name, "namespace": "shop"}, "stringData": {"k": value}});
        self.server.create(&of::<Secret>(secret)).expect("made");
    }

    /// A line for each file of a volume of the pod.
    fn files(&self, pod: &str, volume: &str) -> String {
        let pods = self.node.agent().pods();
        let shown = pods.iter().rfind(|shown| shown.metadata.name.as_deref() == Some(pod));
        let uid = PodUid::of(shown.expect("the agent shows the pod"));
        self.node.machine.files_of(&uid, volume).join("\n")
    }

    /// Creates the pod on the server, and waits until the node has received it. Gives it as the server has it.
    fn bind(&self, mut pod: Pod) -> Pod {
        pod.metadata.uid = None;
        pod.spec.get_or_insert_default().node_name = Some(NODE_NAME.to_owned());
        let made = self.server.create(&pod).expect("made");
        self.api.put_as_is(made.metadata.name.as_deref().unwrap_or_default(), vec![made.clone()]);
        made
    }

    fn status(&self, name: &str) -> String {
        let pods = self.node.agent().pods();
        let pod = pods.iter().rfind(|pod| pod.metadata.name.as_deref() == Some(name));
        let Some(status) = pod.and_then(|pod| pod.status.as_ref()) else { return "none".to_owned() };
        let containers = status.container_statuses.iter().flatten().map(|container| {
            let state = container.state.clone().unwrap_or_default();
            match (state.running, state.waiting) {
                (Some(_), _) => format!("running, {} restarts", container.restart_count),
                (None, Some(waiting)) => {
                    let message = waiting.message.map(|message| format!(": {message}")).unwrap_or_default();
                    waiting.reason.unwrap_or_default() + &message
                }
                (None, None) => "ended".to_owned(),
            }
        });
        containers.collect::<Vec<_>>().join("; ")
    }

    /// Messages of the events of this reason.
    fn reported(&self, pod: &str, reason: &str) -> String {
        let events = self.node.agent().events().into_iter().filter(|recorded| {
            let is_of_pod = matches!(&recorded.event.object, EventObject::Pod { full_name, .. } if &*full_name.name == pod);
            is_of_pod && recorded.event.reason == reason
        });
        events.map(|recorded| recorded.event.message.clone()).collect::<Vec<_>>().join("\n")
    }

    fn env(&self, pod: &str) -> Vec<String> {
        let config = self.node.runtime.container_spec(pod, "app").expect("the container was made");
        config.env.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}

fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the test's object is one")
}

/// A pod of the API server that mounts the volumes and has the variables.
fn pod(name: &str, volumes: Value, env: Value) -> Pod {
    let names = volumes.as_array().into_iter().flatten().map(|volume| volume["name"].clone());
    let mounts: Vec<Value> = names
        .map(|name| json!({"name": name, "mountPath": format!("/{}", name.as_str().unwrap_or_default())}))
        .collect();
    let container = json!({
        "name": "app", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent", "env": env, "volumeMounts": mounts,
    });
    of(json!({
        "metadata": {
            "name": name, "namespace": "shop", "uid": name,
            "annotations": {"kubernetes.io/config.source": "api"},
        },
        "spec": {
            "serviceAccountName": "robot", "enableServiceLinks": true, "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30, "containers": [container], "volumes": volumes,
        },
    }))
}

fn map_volume(map: &str) -> Value {
    json!([{"name": "settings", "configMap": {"name": map, "defaultMode": 0o644}}])
}

/// What every pod has that talks to the API server.
fn access_volume() -> Value {
    json!([{"name": "access", "projected": {"defaultMode": 0o644, "sources": [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "k", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]}}])
}

async fn pass(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_follows_its_object_within_a_second() {
    let mut world = World::new();
    world.put_map("m", "one");
    world.node.start();
    world.api.put_as_is("web", vec![pod("web", map_volume("m"), json!([]))]);
    pass(3.0).await;
    assert_eq!(world.status("web"), "running, 0 restarts");
    assert_eq!(world.files("web", "settings"), "k: one");
    world.put_map("m", "two");
    pass(1.0).await;
    assert_eq!(world.files("web", "settings"), "k: two");
    // Once it is gone, the pod goes on with what it had.
    world.server.delete::<ConfigMap>("shop", "m", None).expect("deleted");
    pass(1.0).await;
    assert_eq!(world.files("web", "settings"), "k: two");
    assert_eq!(world.status("web"), "running, 0 restarts");
    expect![[r#"MountVolume.SetUp failed for volume "settings" : configmap "m" not found"#]]
        .assert_eq(&world.reported("web", "FailedMount"));
    world.api.remove("web");
    pass(60.0).await;
    assert_eq!(world.node.machine.volumes(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_an_object_that_is_missing_and_starts_when_it_comes() {
    let mut world = World::new();
    world.node.start();
    let secret = json!([{"name": "keys", "secret": {"secretName": "s", "defaultMode": 0o644}}]);
    world.api.put_as_is("web", vec![pod("web", secret, json!([]))]);
    let optional =
        json!([{"name": "keys", "secret": {"secretName": "s", "optional": true, "defaultMode": 0o644}}]);
    world.api.put_as_is("easy", vec![pod("easy", optional, json!([]))]);
    pass(5.0).await;
    assert_eq!(world.status("web"), "ContainerCreating");
    expect![[r#"MountVolume.SetUp failed for volume "keys" : secret "s" not found"#]]
        .assert_eq(&world.reported("web", "FailedMount"));
    assert_eq!(
        (world.status("easy"), world.files("easy", "keys")),
        ("running, 0 restarts".to_owned(), String::new())
    );
    world.put_secret("s", "word");
    pass(1.0).await;
    assert_eq!(
        (world.status("web"), world.files("web", "keys")),
        ("running, 0 restarts".to_owned(), "k: word".to_owned())
    );
    assert_eq!(world.files("easy", "keys"), "k: word");
}

#[tokio::test(start_paused = true)]
async fn variables_come_from_objects_and_services() {
    let mut world = World::new();
    world.put_map("m", "one");
    let service = json!({
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"clusterIP": "10.96.0.5", "ports": [{"port": 5432}]},
    });
    world.server.create(&of::<Service>(service)).expect("made");
    world.node.start();
    let env = json!([
        {"name": "K", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
        {"name": "URL", "value": "$(DB_PORT)/x"},
        {"name": "GONE", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": true}}},
    ]);
    world.api.put_as_is("web", vec![pod("web", json!([]), env)]);
    let needs = |source: Value| json!([{"name": "K", "valueFrom": source}]);
    let no_map = needs(json!({"secretKeyRef": {"name": "late", "key": "k"}}));
    let no_key = needs(json!({"configMapKeyRef": {"name": "m", "key": "nothing"}}));
    world.api.put_as_is("waits", vec![pod("waits", json!([]), no_map)]);
    world.api.put_as_is("keyless", vec![pod("keyless", json!([]), no_key)]);
    pass(5.0).await;
    expect![[r#"
        K=one
        URL=tcp://10.96.0.5:5432/x
        DB_PORT=tcp://10.96.0.5:5432
        DB_PORT_5432_TCP=tcp://10.96.0.5:5432
        DB_PORT_5432_TCP_ADDR=10.96.0.5
        DB_PORT_5432_TCP_PORT=5432
        DB_PORT_5432_TCP_PROTO=tcp
        DB_SERVICE_HOST=10.96.0.5
        DB_SERVICE_PORT=5432"#]]
    .assert_eq(&world.env("web").join("\n"));
    assert_eq!(world.status("waits"), "CreateContainerConfigError: secret \"late\" not found");
    assert_eq!(
        world.status("keyless"),
        "CreateContainerConfigError: couldn't find key nothing in ConfigMap shop/m"
    );
    world.put_secret("late", "v");
    pass(15.0).await;
    assert_eq!(world.status("waits"), "running, 0 restarts");
    assert_eq!(world.env("waits")[0], "K=v");
}

#[tokio::test(start_paused = true)]
async fn no_container_of_the_server_starts_before_services_were_read() {
    let mut world = World::new();
    world.server.fault(witlet_api_server::Fault::new(witlet_api_server::Effect::code(500)).on("services"));
    world.node.start();
    world.api.put_as_is("web", vec![pod("web", json!([]), json!([]))]);
    pass(5.0).await;
    assert_eq!(
        world.status("web"),
        "CreateContainerConfigError: services have not yet been read at least once, cannot construct envvars"
    );
    world.server.clear_faults();
    pass(60.0).await;
    assert_eq!(world.status("web"), "running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn an_outage_changes_nothing_for_pods_that_run_and_crash() {
    let mut world = World::new();
    world.put_map("m", "one");
    world.node.start();
    let env = json!([{"name": "K", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}]);
    world.api.put_as_is("web", vec![pod("web", map_volume("m"), env)]);
    pass(3.0).await;
    world.server.down();
    pass(1800.0).await;
    world.node.runtime.end_container("web", "app", 1);
    pass(30.0).await;
    assert_eq!(world.status("web"), "running, 1 restarts");
    assert_eq!(world.env("web")[0], "K=one");
    pass(1800.0).await;
    assert_eq!(world.reported("web", "FailedMount"), "");
    world.put_map("m", "two");
    world.server.up();
    pass(90.0).await;
    assert_eq!(world.files("web", "settings"), "k: two");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_agent_without_a_server_uses_the_volumes_that_are_there() {
    let mut world = World::new();
    world.put_map("m", "one");
    world.node.start();
    let web = pod("web", map_volume("m"), json!([]));
    world.api.put_as_is("web", vec![web.clone()]);
    pass(3.0).await;
    world.node.kill();
    world.server.down();
    world.connect(Some(vec![web]));
    world.node.start();
    pass(30.0).await;
    world.node.runtime.end_container("web", "app", 1);
    pass(60.0).await;
    assert_eq!(world.status("web"), "running, 1 restarts");
    assert_eq!(
        (world.files("web", "settings"), world.reported("web", "FailedMount")),
        ("k: one".to_owned(), String::new())
    );
    world.put_map("m", "two");
    world.server.up();
    pass(90.0).await;
    assert_eq!(world.files("web", "settings"), "k: two");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_machine_without_a_server_runs_what_needs_only_the_servers_credentials() {
    let mut world = World::new();
    world.put_map("kube-root-ca.crt", "certificate");
    world.put_secret("s", "word");
    world.node.start();
    let plain = world.bind(pod("plain", access_volume(), json!([])));
    let mut volumes = access_volume();
    volumes.as_array_mut().expect("a list").push(json!({"name": "keys", "secret": {"secretName": "s"}}));
    let needy = world.bind(pod("needy", volumes, json!([])));
    pass(5.0).await;
    let files = world.files("plain", "access");
    assert!(files.starts_with("ca.crt: certificate\nnamespace: shop\ntoken: "), "{files}");
    world.node.kill();
    world.server.down();
    world.node.runtime.lose_sandboxes();
    world.node.machine.lose_memory();
    world.connect(Some(vec![plain, needy]));
    world.node.start();
    pass(60.0).await;
    assert_eq!(world.status("plain"), "running, 1 restarts");
    assert_eq!(world.files("plain", "access"), "namespace: shop");
    // What the runtime knows of it from before, and no new instance.
    assert_eq!(world.status("needy"), "ended");
    assert!(
        world
            .reported("needy", "FailedMount")
            .contains(r#"MountVolume.SetUp failed for volume "keys" : secret "shop/s""#)
    );
    world.server.up();
    pass(150.0).await;
    let files = world.files("plain", "access");
    assert!(files.starts_with("ca.crt: certificate\nnamespace: shop\ntoken: "), "{files}");
    assert!(world.status("needy").starts_with("running"), "{}", world.status("needy"));
}

#[tokio::test(start_paused = true)]
async fn a_token_is_replaced_in_the_volume_before_it_ends() {
    let mut world = World::new();
    world.put_map("kube-root-ca.crt", "certificate");
    world.node.start();
    world.bind(pod("web", access_volume(), json!([])));
    pass(5.0).await;
    let first = world.files("web", "access");
    pass(2800.0).await;
    assert_eq!(world.files("web", "access"), first);
    pass(100.0).await;
    assert_ne!(world.files("web", "access"), first);
    assert_eq!(world.server.count("create serviceaccounts/token"), 2);
}
