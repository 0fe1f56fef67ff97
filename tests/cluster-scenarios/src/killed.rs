//! The agent killed before and after each request to the API server, in one story after the other: nothing is started twice, no
//! status is lost, and nothing is stuck.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ConfigMap, ContainerStatus, Node, Pod, ResourceRequirements, Secret, ServiceAccount,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use witlet_api_server::Moment;
use witlet_core::pod::PodUid;
use witlet_ports::AgentView;
use witlet_testkit::{NODE_NAME, container, pod};

use crate::world::{World, pass};

/// No story has more requests than that.
const REQUESTS_MAX: u64 = 200;

/// What is done, how long it takes to come true, and how that is reported.
type Act = (fn(&World), f64, fn(&World) -> String, &'static str);

struct Story {
    /// What is there before the agent starts.
    before: fn(&World),
    /// Whether the agent may be killed from its first request on, or from the first act on.
    from_start: bool,
    acts: &'static [Act],
    /// How often containers of each pod start.
    starts: &'static [(&'static str, usize)],
}

/// The story with a kill at its k-th request. Gives whether there was such a request.
async fn killed_at(story: &Story, k: u64, moment: Moment) -> bool {
    let mut world = World::new();
    (story.before)(&world);
    if story.from_start {
        world.server.hold_from(world.server.last_request() + k, moment);
    }
    world.node.start();
    if !story.from_start {
        pass(5.0).await;
        world.server.hold_from(world.server.last_request() + k, moment);
    }
    let mut died = false;
    for (number, (act, seconds, tell, expected)) in story.acts.iter().enumerate() {
        act(&world);
        died |= world.pass_or_die(*seconds).await;
        assert_eq!(tell(&world), *expected, "act {number}, killed at request {k}, {moment:?}");
    }
    for (name, starts) in story.starts {
        assert_eq!(world.starts(name), *starts, "{name}, killed at request {k}, {moment:?}");
    }
    died
}

async fn reported(story: Story) {
    for moment in [Moment::Before, Moment::After] {
        let mut k = 1;
        while killed_at(&story, k, moment).await {
            k += 1;
            assert!(k < REQUESTS_MAX, "the story has no end of requests");
        }
        assert!(k > story.acts.len() as u64, "the story had only {k} requests");
    }
}

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object")
}

fn app(edit: Value) -> Value {
    let mut app = json!({"name": "app", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent"});
    for (field, value) in edit.as_object().into_iter().flatten() {
        app[field] = value.clone();
    }
    app
}

fn web(world: &World) -> String {
    world.on_server("web")
}

fn no_one_left(world: &World) -> String {
    format!("{}, {} here", web(world), world.node.agent().pods().len())
}

const RUNNING: &str = "Running, 0 restarts, ready True";
const GONE: &str = "gone, 0 here";

#[tokio::test(start_paused = true)]
async fn a_resize_in_place() {
    fn create(world: &World) {
        let resources = json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}});
        world.create_from("web", json!({"containers": [app(json!({"resources": resources}))]}));
    }
    fn resize(world: &World) {
        let wish: ResourceRequirements = of(json!({"requests": {"cpu": "150m"}, "limits": {"cpu": "300m"}}));
        world.server.resize("default", "web", "app", &wish).expect("wished for");
    }
    /// What the server has for the wish, and whether it is still under way.
    fn sizes(world: &World) -> String {
        let status = world.server.get::<Pod>("default", "web").and_then(|pod| pod.status).unwrap_or_default();
        let of: Option<&ContainerStatus> = status.container_statuses.as_ref().and_then(|all| all.first());
        let cpu = |amounts: Option<&BTreeMap<String, _>>| -> String {
            let cpu: Option<&k8s_openapi::apimachinery::pkg::api::resource::Quantity> =
                amounts.and_then(|amounts| amounts.get("cpu"));
            cpu.map(|cpu| cpu.0.clone()).unwrap_or_default()
        };
        let resources = of.and_then(|status| status.resources.as_ref());
        let limit = cpu(resources.and_then(|resources| resources.limits.as_ref()));
        let allocated = cpu(of.and_then(|status| status.allocated_resources.as_ref()));
        let resizes = status.conditions.iter().flatten().filter(|c| c.type_.starts_with("PodResize")).count();
        format!("limit {limit}, allocated {allocated}, {resizes} under way, {}", web(world))
    }
    reported(Story {
        before: |_| {},
        from_start: false,
        acts: &[
            (create, 15.0, sizes, "limit 200m, allocated 100m, 0 under way, Running, 0 restarts, ready True"),
            (resize, 30.0, sizes, "limit 300m, allocated 150m, 0 under way, Running, 0 restarts, ready True"),
            (|world| world.delete("web", 5), 40.0, no_one_left, GONE),
        ],
        starts: &[("web", 1)],
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn static_pods_and_their_mirrors() {
    fn put(world: &World) {
        let manifest = pod("vital").container(container("app", "sleeper:1")).build();
        world.node.source.put("vital", vec![manifest]);
    }
    fn mirror(world: &World) -> String {
        world.on_server("vital-node1")
    }
    fn left(world: &World) -> String {
        format!("{}, {} here", mirror(world), world.node.agent().pods().len())
    }
    reported(Story {
        before: |_| {},
        from_start: false,
        acts: &[
            (put, 20.0, mirror, RUNNING),
            (|world| world.delete("vital-node1", 0), 20.0, mirror, RUNNING),
            (|world| world.node.source.remove("vital"), 60.0, left, GONE),
        ],
        starts: &[("vital-node1", 1)],
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_draws_from_the_cluster() {
    fn objects(world: &World) {
        world.server.ensure_namespace("default");
        let meta = |name: &str| json!({"name": name, "namespace": "default"});
        let server = &world.server;
        server.create(&of::<ServiceAccount>(json!({"metadata": meta("robot")}))).expect("made");
        server
            .create(&of::<ConfigMap>(json!({"metadata": meta("map"), "data": {"k": "one"}})))
            .expect("made");
        server
            .create(&of::<Secret>(json!({"metadata": meta("secret"), "stringData": {"s": "x"}})))
            .expect("made");
    }
    fn create(world: &World) {
        let env = json!([{"name": "S", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "s"}}}]);
        let mounts = json!([{"name": "all", "mountPath": "/all"}]);
        let sources = json!([
            {"configMap": {"name": "map"}},
            {"secret": {"name": "secret"}},
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
        ]);
        world.create_from(
            "web",
            json!({
                "serviceAccountName": "robot",
                "containers": [app(json!({"env": env, "volumeMounts": mounts}))],
                "volumes": [{"name": "all", "projected": {"sources": sources}}],
            }),
        );
    }
    fn files(world: &World) -> String {
        let Some(pod) = world.server.get::<Pod>("default", "web") else { return "gone".to_owned() };
        let files = world.node.machine.files_of(&PodUid::of(&pod), "all");
        let known = files.iter().filter(|line| !line.contains("token"));
        let known: Vec<&str> = known.map(String::as_str).collect();
        let tokens = files.len() - known.len();
        format!("{}, {tokens} token, {}", known.join(" "), web(world))
    }
    fn edit(world: &World) {
        let meta = json!({"name": "map", "namespace": "default"});
        let map: ConfigMap = of(json!({"metadata": meta, "data": {"k": "two"}}));
        world.server.update(&map).expect("changed");
    }
    reported(Story {
        before: objects,
        from_start: false,
        acts: &[
            (create, 30.0, files, "k: one s: x, 1 token, Running, 0 restarts, ready True"),
            (edit, 30.0, files, "k: two s: x, 1 token, Running, 0 restarts, ready True"),
            (|world| world.delete("web", 5), 60.0, no_one_left, GONE),
        ],
        starts: &[("web", 1)],
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_with_a_sidecar_and_a_hook_that_is_deleted_with_grace() {
    fn create(world: &World) {
        let hook = json!({"preStop": {"exec": {"command": ["drain"]}}});
        let sidecar = json!({"name": "sidecar", "restartPolicy": "Always"});
        world.create_from(
            "web",
            json!({"initContainers": [app(sidecar)], "containers": [app(json!({"lifecycle": hook}))]}),
        );
    }
    reported(Story {
        before: |_| {},
        from_start: false,
        acts: &[(create, 20.0, web, RUNNING), (|world| world.delete("web", 20), 60.0, no_one_left, GONE)],
        starts: &[("web", 2)],
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_nodes_first_registration() {
    fn node(world: &World) -> String {
        let Some(node) = world.server.get::<Node>("", NODE_NAME) else { return "none".to_owned() };
        let status = node.status.unwrap_or_default();
        let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready");
        let ready = ready.map(|ready| ready.status.clone()).unwrap_or_default();
        let leases = world.server.list::<k8s_openapi::api::coordination::v1::Lease>().len();
        let cpu = status.allocatable.as_ref().and_then(|all| all.get("cpu")).map(|cpu| cpu.0.clone());
        format!("ready {ready}, {leases} lease, {} CPUs, {}", cpu.unwrap_or_default(), web(world))
    }
    reported(Story {
        before: |world| world.create("web", "sleeper:1", "Always"),
        from_start: true,
        acts: &[(|_| {}, 30.0, node, "ready True, 1 lease, 4 CPUs, Running, 0 restarts, ready True")],
        starts: &[("web", 1)],
    })
    .await;
}
