//! Tests against an API server in this process, on paused time.

use serde_json::{Value, json};
use witlet_api_server::{ApiServer, Effect, Fault, Identity, Options};
use witlet_testkit::{FixedJitter, ManualClock};

use super::*;

struct World {
    server: Arc<ApiServer>,
    objects: Arc<Objects>,
    _running: JoinSet<()>,
}

impl World {
    fn new() -> Self {
        let clock = ManualClock::new();
        let of_server = clock.clone();
        let server = ApiServer::new(Options::new(Arc::new(move || of_server.now())));
        server.ensure_namespace("shop");
        let client = server.client(&Identity::node("node1"));
        let objects = Objects::new(client, Arc::new(clock), Arc::new(FixedJitter::default()));
        let mut running = JoinSet::new();
        running.spawn(objects.clone().run(CancellationToken::new()));
        Self { server, objects, _running: running }
    }

    fn put_map(&self, name: &str, value: &str) {
        let map: ConfigMap = serde_json::from_value(object(name, json!({"data": {"k": value}}))).unwrap();
        match self.server.get::<ConfigMap>("shop", name) {
            None => drop(self.server.create(&map).unwrap()),
            Some(_) => drop(self.server.update(&map).unwrap()),
        }
    }

    async fn value(&self, name: &str) -> String {
        match self.objects.config_map("shop", name).await {
            Ok(Some(map)) => map.data.as_ref().unwrap()["k"].clone(),
            Ok(None) => "none".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn register(&self, uid: &str, maps: &[&str], secrets: &[&str]) {
        self.objects.register(&pod(uid, maps, secrets));
    }

    /// Pods whose changes were reported so far.
    async fn changed(&self) -> Vec<String> {
        pass(0.1).await;
        let changed = self.objects.changed();
        let reported = tokio::time::timeout(Duration::from_millis(1), changed).await.unwrap_or_default();
        reported.iter().map(ToString::to_string).collect()
    }

    fn requests_on(&self, resource: &str) -> Vec<String> {
        let requests = self.server.requests();
        requests
            .iter()
            .filter(|request| request.resource == resource)
            .map(|request| request.verb.clone())
            .collect()
    }
}

fn object(name: &str, mut rest: Value) -> Value {
    rest["metadata"] = json!({"name": name, "namespace": "shop"});
    rest
}

fn pod(uid: &str, maps: &[&str], secrets: &[&str]) -> Arc<Pod> {
    let maps = maps.iter().map(|name| json!({"configMapRef": {"name": name}}));
    let secrets = secrets.iter().map(|name| json!({"secretRef": {"name": name}}));
    let from: Vec<Value> = maps.chain(secrets).collect();
    let pod = json!({
        "metadata": {"name": uid, "namespace": "shop", "uid": uid},
        "spec": {"containers": [{"name": "a", "envFrom": from}]},
    });
    Arc::new(serde_json::from_value(pod).unwrap())
}

async fn pass(seconds: f64) {
    sleep(Duration::from_secs_f64(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_is_read_once_and_every_change_of_it_is_reported() {
    let world = World::new();
    world.put_map("m", "1");
    world.register("one", &["m"], &[]);
    world.register("two", &["m"], &[]);
    assert_eq!(world.value("m").await, "1");
    assert_eq!(world.value("m").await, "1");
    assert_eq!(world.changed().await, [""; 0]);
    let asked = world.requests_on("configmaps").len();
    world.put_map("m", "2");
    assert_eq!(world.changed().await, ["one", "two"]);
    assert_eq!(world.value("m").await, "2");
    world.server.delete::<ConfigMap>("shop", "m", None).unwrap();
    assert_eq!(world.changed().await, ["one", "two"]);
    assert_eq!(world.value("m").await, "none");
    world.put_map("m", "3");
    assert_eq!(world.changed().await, ["one", "two"]);
    assert_eq!(world.value("m").await, "3");
    assert_eq!(world.requests_on("configmaps").len(), asked, "no request for any of that");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_there_comes_when_it_is_made() {
    let world = World::new();
    world.register("one", &["m"], &["s"]);
    assert_eq!(world.value("m").await, "none");
    assert_eq!(world.objects.secret("shop", "s").await, Ok(None));
    let secret: Secret = serde_json::from_value(object("s", json!({"stringData": {"k": "v"}}))).unwrap();
    world.server.create(&secret).unwrap();
    assert_eq!(world.changed().await, ["one"]);
    let secret = world.objects.secret("shop", "s").await.unwrap().unwrap();
    assert_eq!(secret.data.as_ref().unwrap()["k"].0, b"v");
}

#[tokio::test(start_paused = true)]
async fn who_is_not_registered_gets_nothing() {
    let world = World::new();
    world.put_map("m", "1");
    assert_eq!(world.value("m").await, "object \"shop\"/\"m\": not registered");
    world.register("one", &["m"], &[]);
    assert_eq!(world.value("m").await, "1");
    world.objects.unregister(&PodUid::from("one"));
    pass(60.0).await;
    assert_eq!(world.objects.watched(), 0);
    assert_eq!(world.value("m").await, "object \"shop\"/\"m\": not registered");
}

#[tokio::test(start_paused = true)]
async fn immutable_objects_are_read_once() {
    let world = World::new();
    let map = object("m", json!({"data": {"k": "1"}, "immutable": true}));
    world.server.create(&serde_json::from_value::<ConfigMap>(map).unwrap()).unwrap();
    world.register("one", &["m"], &[]);
    assert_eq!(world.value("m").await, "1");
    pass(1.0).await;
    assert_eq!(world.objects.watched(), 0);
    let asked = world.requests_on("configmaps").len();
    pass(3600.0).await;
    assert_eq!(world.value("m").await, "1");
    assert_eq!(world.requests_on("configmaps").len(), asked);
}

#[tokio::test(start_paused = true)]
async fn what_was_read_outlives_an_outage_and_what_was_not_is_reported_when_it_ends() {
    let world = World::new();
    world.put_map("old", "1");
    world.put_map("new", "1");
    world.register("one", &["old"], &[]);
    assert_eq!(world.value("old").await, "1");
    world.server.down();
    world.put_map("old", "2");
    pass(3600.0).await;
    assert_eq!(world.value("old").await, "1");
    world.register("two", &["new"], &[]);
    let begun = Instant::now();
    let error = world.objects.config_map("shop", "new").await.unwrap_err();
    assert!(matches!(error, ObjectError::Unavailable { .. }), "{error}");
    assert!(begun.elapsed() <= FIRST_ANSWER_MAX);
    assert_eq!(world.changed().await, [""; 0]);
    world.server.up();
    pass(90.0).await;
    assert_eq!(world.changed().await, ["one", "two"]);
    assert_eq!((world.value("old").await, world.value("new").await), ("2".to_owned(), "1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_waited_for_only_so_long() {
    let world = World::new();
    world.server.fault(Fault::new(Effect::Stall).on("configmaps"));
    world.register("one", &["m"], &[]);
    let begun = Instant::now();
    assert_eq!(world.value("m").await, "failed to sync configmap cache: timed out waiting for the condition");
    assert_eq!(begun.elapsed(), FIRST_ANSWER_MAX);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_may_not_see_an_object_yet_waits_a_little() {
    let world = World::new();
    world.put_map("m", "1");
    world.server.fault(Fault::new(Effect::code(403)).on("configmaps").name("m").times(1));
    world.server.fault(Fault::new(Effect::code(403)).on("secrets"));
    world.register("one", &["m"], &["s"]);
    assert_eq!(world.value("m").await, "1");
    let error = world.objects.secret("shop", "s").await.unwrap_err();
    assert!(matches!(error, ObjectError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("forbidden"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_event_that_can_not_be_read_leaves_what_was_known() {
    let world = World::new();
    world.put_map("m", "1");
    world.register("one", &["m"], &[]);
    assert_eq!(world.value("m").await, "1");
    world.server.fault(Fault::new(Effect::MalformedEvent).on("configmaps").times(1));
    world.server.end_watches();
    pass(5.0).await;
    assert_eq!(world.value("m").await, "1");
    world.put_map("m", "2");
    pass(5.0).await;
    assert_eq!(world.value("m").await, "2");
}

#[tokio::test(start_paused = true)]
async fn services_and_runtime_classes_are_read_from_the_beginning() {
    let world = World::new();
    assert_eq!(world.objects.services("shop"), None);
    let service = object("db", json!({"spec": {"clusterIP": "10.0.0.5", "ports": [{"port": 5432}]}}));
    world
        .server
        .create(&serde_json::from_value::<k8s_openapi::api::core::v1::Service>(service).unwrap())
        .unwrap();
    let class = json!({"metadata": {"name": "sandboxed"}, "handler": "kata"});
    world
        .server
        .create(&serde_json::from_value::<k8s_openapi::api::node::v1::RuntimeClass>(class).unwrap())
        .unwrap();
    pass(1.0).await;
    let services = world.objects.services("shop").unwrap();
    assert_eq!(services.iter().map(|service| &*service.name).collect::<Vec<_>>(), ["db"]);
    assert_eq!(world.objects.runtime_classes().unwrap()["sandboxed"], "kata");
}

#[tokio::test(start_paused = true)]
async fn many_objects_cost_a_watch_each_and_no_more() {
    const OBJECTS: usize = 200;
    let world = World::new();
    let names: Vec<String> = (0..OBJECTS).map(|n| format!("m{n}")).collect();
    for name in &names {
        world.put_map(name, &"x".repeat(1024));
    }
    for (number, names) in names.chunks(20).enumerate() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        world.register(&format!("pod{number}"), &names, &[]);
    }
    for name in &names {
        assert_eq!(world.value(name).await.len(), 1024);
    }
    let asked = world.requests_on("configmaps").len();
    assert_eq!(world.objects.watched(), OBJECTS);
    assert_eq!(asked, OBJECTS, "one request for each");
    pass(3600.0).await;
    let hour = world.requests_on("configmaps").len() - asked;
    // Watches last five to ten minutes.
    assert!((OBJECTS * 5..=OBJECTS * 13).contains(&hour), "{hour}");
    world.put_map("m7", "new");
    assert_eq!(world.changed().await, ["pod0"]);
}
