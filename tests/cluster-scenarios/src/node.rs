//! The node's own object, its lease and its events in addition to the pods: registration, outages, what others write on it, a runtime
//! that goes and comes back.

use expect_test::expect;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Node, Pod};
use serde_json::{Value, json};
use witlet_core::eviction::ThresholdConfig;
use witlet_core::node::lease::DURATION_SECONDS;
use witlet_ports::Clock;
use witlet_testkit::NODE_NAME;

use crate::world::{World, pass};

fn node(world: &World) -> Node {
    world.server.get("", NODE_NAME).expect("Successfully registered node")
}

fn uid(world: &World) -> Option<String> {
    world.server.get::<Node>("", NODE_NAME)?.metadata.uid
}

/// `Ready=True KubeletReady` of each condition.
fn conditions(world: &World) -> Vec<String> {
    let conditions = node(world).status.and_then(|status| status.conditions).unwrap_or_default();
    let line = |c: &k8s_openapi::api::core::v1::NodeCondition| {
        format!("{}={} {}", c.type_, c.status, c.reason.clone().unwrap_or_default())
    };
    conditions.iter().map(line).collect()
}

fn ready(world: &World) -> String {
    conditions(world).into_iter().find(|line| line.starts_with("Ready")).unwrap_or_default()
}

/// Whether a reader of the lease now takes the node for alive.
fn is_leased(world: &World) -> bool {
    let lease: Option<Lease> = world.server.get("kube-node-lease", NODE_NAME);
    let renewed = lease.and_then(|lease| lease.spec).and_then(|spec| spec.renew_time);
    renewed.is_some_and(|renewed| {
        world.node.clock.now().duration_since(renewed.0).as_secs() <= i64::from(DURATION_SECONDS)
    })
}

fn patch(world: &World, subresource: &str, body: Value) {
    world.server.patch::<Node>("", NODE_NAME, subresource, body).expect("patched");
}

/// `reason ×count: message` of each event about pods, or about the node.
pub(crate) fn events(world: &World, of: &str) -> Vec<String> {
    let mut events: Vec<Event> = world.server.list();
    events.retain(|event| event.involved_object.kind.as_deref() == Some(of));
    events.sort_by_key(|event| {
        let first = event.first_timestamp.as_ref().map(|time| time.0);
        (first, event.involved_object.name.clone(), event.metadata.resource_version.clone())
    });
    let line = |event: &Event| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (reason, message) = (text(&event.reason), text(&event.message));
        format!("{reason} ×{}: {message}", event.count.unwrap_or_default())
    };
    events.iter().map(line).collect()
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_new_node_is_registered_leased_and_ready_and_runs_what_is_bound_to_it() {
    let world = World::started();
    pass(5.0).await;
    expect![[r#"
        MemoryPressure=False KubeletHasSufficientMemory
        DiskPressure=False KubeletHasNoDiskPressure
        PIDPressure=False KubeletHasSufficientPID
        Ready=True KubeletReady
    "#]]
    .assert_eq(&lines(&conditions(&world)));
    assert!(is_leased(&world));
    let lease: Lease = world.server.get("kube-node-lease", NODE_NAME).expect("made");
    let owners = lease.metadata.owner_references.unwrap_or_default();
    assert_eq!(owners.first().map(|owner| owner.uid.clone()), uid(&world));
    world.create("web", "sleeper:1", "Always");
    pass(5.0).await;
    assert_eq!(world.on_server("web"), "Running, 0 restarts, ready True");
    expect![[r#"
        NodeHasSufficientMemory ×1: Node node1 status is now: NodeHasSufficientMemory
        NodeHasNoDiskPressure ×1: Node node1 status is now: NodeHasNoDiskPressure
        NodeHasSufficientPID ×1: Node node1 status is now: NodeHasSufficientPID
        Starting ×1: Starting kubelet.
        NodeReady ×1: Node node1 status is now: NodeReady
    "#]]
    .assert_eq(&lines(&events(&world, "Node")));
    expect![[r#"
        Pulled ×1: Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1: Container created
        Started ×1: Container started
    "#]]
    .assert_eq(&lines(&events(&world, "Pod")));
    world.server.clear_requests();
    pass(3600.0).await;
    let counts = world.server.counts();
    let of = |action: &str| counts.get(action).copied().unwrap_or(0);
    assert!((345..=360).contains(&of("update leases")), "{counts:?}");
    assert!((11..=13).contains(&of("patch nodes/status")), "{counts:?}");
    let quiet = ["update leases", "patch nodes/status"];
    let others: Vec<&String> =
        counts.keys().filter(|key| !quiet.contains(&key.as_str()) && !key.starts_with("watch")).collect();
    assert!(others.is_empty(), "an hour without news: {counts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_outlives_a_short_outage_and_ends_in_a_long_one() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(30.0).await;
    world.server.down();
    pass(25.0).await;
    assert!(is_leased(&world), "three renewals may fail");
    world.server.up();
    pass(15.0).await;
    assert!(is_leased(&world));
    world.server.down();
    pass(45.0).await;
    assert!(!is_leased(&world));
    pass(600.0).await;
    world.server.up();
    pass(15.0).await;
    assert!(is_leased(&world));
    assert_eq!(ready(&world), "Ready=True KubeletReady");
    assert_eq!(
        (world.starts("web"), world.on_server("web").as_str()),
        (1, "Running, 0 restarts, ready True")
    );
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_gone_makes_the_node_unready_and_no_one_restarts() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(20.0).await;
    world.node.runtime.set_down(true);
    pass(60.0).await;
    assert_eq!(ready(&world), "Ready=False KubeletNotReady");
    assert!(is_leased(&world), "the agent lives");
    world.create("later", "sleeper:1", "Always");
    pass(30.0).await;
    assert_eq!(world.starts("later"), 0);
    world.node.runtime.set_down(false);
    pass(30.0).await;
    assert_eq!(ready(&world), "Ready=True KubeletReady");
    assert_eq!(world.on_server("later"), "Running, 0 restarts, ready True");
    assert_eq!((world.starts("web"), world.starts("later")), (1, 1));
    let reported = events(&world, "Node");
    assert!(reported.iter().any(|line| line.starts_with("NodeNotReady ×1")), "{reported:?}");
    assert!(reported.iter().any(|line| line.starts_with("NodeReady ×")), "{reported:?}");
}

#[tokio::test(start_paused = true)]
async fn a_short_memory_evicts_a_pod_and_is_reported_for_five_minutes_after_it_is_over() {
    let mut world = World::new();
    let hard = [("memory.available".to_owned(), "100Mi".to_owned())].into();
    let config = ThresholdConfig { hard: Some(hard), ..ThresholdConfig::default() };
    world.node.config.eviction.thresholds = config.thresholds().expect("a threshold");
    world.node.start();
    world.create("web", "sleeper:1", "Always");
    pass(20.0).await;
    let left = |available| Some(witlet_ports::Left { capacity: 8 << 30, available });
    world.node.usage.set(|seen| seen.memory = left(1 << 20));
    pass(12.0).await;
    let short = "MemoryPressure=True KubeletHasInsufficientMemory".to_owned();
    assert!(conditions(&world).contains(&short), "{:?}", conditions(&world));
    let pod = world.server.get::<Pod>("default", "web").expect("its object stays");
    let status = pod.status.unwrap_or_default();
    assert_eq!((status.phase.as_deref(), status.reason.as_deref()), (Some("Failed"), Some("Evicted")));
    let message = status.message.unwrap_or_default();
    assert!(
        message
            .starts_with("The node was low on resource: memory. Threshold quantity: 100Mi, available: 1Mi. "),
        "{message}"
    );
    world.node.usage.set(|seen| seen.memory = left(4 << 30));
    pass(250.0).await;
    assert!(conditions(&world).contains(&short));
    pass(70.0).await;
    assert!(conditions(&world).contains(&"MemoryPressure=False KubeletHasSufficientMemory".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_deleted_is_registered_again_and_its_pods_go_on() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(20.0).await;
    let before = uid(&world);
    world.server.delete::<Node>("", NODE_NAME, None).expect("deleted");
    pass(20.0).await;
    assert!(uid(&world).is_some() && uid(&world) != before);
    assert_eq!(ready(&world), "Ready=True KubeletReady");
    // A user makes it by hand, with another UID and with less than a node has.
    let by_hand = json!({"metadata": {"name": NODE_NAME, "labels": {"by": "hand"}}});
    world.server.delete::<Node>("", NODE_NAME, None).expect("deleted");
    let made: Node = serde_json::from_value(by_hand).expect("a node");
    let made = world.server.create(&made).expect("made");
    pass(20.0).await;
    assert_eq!(uid(&world), made.metadata.uid, "it stays");
    assert_eq!(ready(&world), "Ready=True KubeletReady");
    let labels = node(&world).metadata.labels.unwrap_or_default();
    assert_eq!(labels.get("by").map(String::as_str), Some("hand"));
    assert!(node(&world).status.and_then(|status| status.allocatable).is_some());
    assert!(is_leased(&world));
    pass(60.0).await;
    assert_eq!(
        (world.starts("web"), world.on_server("web").as_str()),
        (1, "Running, 0 restarts, ready True")
    );
}

#[tokio::test(start_paused = true)]
async fn while_the_server_is_away_a_node_that_was_made_again_is_found_again() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(20.0).await;
    world.server.down();
    world.server.delete::<Node>("", NODE_NAME, None).expect("deleted");
    pass(300.0).await;
    world.server.up();
    pass(40.0).await;
    assert_eq!(ready(&world), "Ready=True KubeletReady");
    assert!(is_leased(&world));
    assert_eq!(
        (world.starts("web"), world.on_server("web").as_str()),
        (1, "Running, 0 restarts, ready True")
    );
}

#[tokio::test(start_paused = true)]
async fn what_others_write_on_the_node_is_what_the_next_pod_is_judged_by() {
    let world = World::started();
    pass(5.0).await;
    let cordoned = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    let taints = json!([{"key": "gone", "effect": "NoExecute"}, cordoned]);
    let spec = json!({"unschedulable": true, "taints": taints});
    patch(&world, "", json!({"metadata": {"labels": {"disk": "ssd"}}, "spec": spec}));
    let amounts = json!({"example.com/gpu": "2", "cpu": "64"});
    patch(&world, "status", json!({"status": {"capacity": amounts, "allocatable": amounts}}));
    pass(1.0).await;
    world.create("web", "sleeper:1", "Always");
    pass(2.0).await;
    let judged = world.node.admission.last_node().expect("someone was asked for");
    let labels = judged.metadata.labels.clone().unwrap_or_default();
    assert_eq!(labels.get("disk").map(String::as_str), Some("ssd"));
    let taints = judged.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    assert_eq!(
        taints.iter().map(|taint| taint.key.as_str()).collect::<Vec<_>>(),
        ["gone", "node.kubernetes.io/unschedulable"]
    );
    let allocatable =
        judged.status.as_ref().and_then(|status| status.allocatable.clone()).unwrap_or_default();
    let amount = |name: &str| allocatable.get(name).map(|amount| amount.0.clone()).unwrap_or_default();
    assert_eq!(
        (amount("example.com/gpu").as_str(), amount("cpu").as_str()),
        ("2", "4"),
        "the machine knows its own"
    );
    // Nothing of that is ours to change, but for what the machine knows better.
    pass(700.0).await;
    let node = node(&world);
    let spec = node.spec.unwrap_or_default();
    assert_eq!((spec.unschedulable, spec.taints.map(|taints| taints.len())), (Some(true), Some(2)));
    let reported = node.status.and_then(|status| status.allocatable).unwrap_or_default();
    let amount = |name: &str| reported.get(name).map(|amount| amount.0.clone()).unwrap_or_default();
    // Upstream zeroes extended resources that it registers again only.
    assert_eq!((amount("example.com/gpu").as_str(), amount("cpu").as_str()), ("2", "4"));
    assert!(events(&world, "Node").iter().any(|line| line.starts_with("NodeNotSchedulable ×1")));
}

#[tokio::test(start_paused = true)]
async fn events_of_an_outage_are_reported_once_and_of_a_flood_few() {
    let world = World::started();
    world.ends_after("crash:1", 1, 2);
    pass(10.0).await;
    world.server.down();
    // What the server had for the node before it went.
    world.create("web", "sleeper:1", "Always");
    pass(60.0).await;
    world.server.up();
    pass(60.0).await;
    let about_web = || events(&world, "Pod").into_iter().filter(|line| !line.starts_with("BackOff")).count();
    assert_eq!(about_web(), 3, "{:?}", events(&world, "Pod"));
    for number in 0..5 {
        world.create(&format!("crash-{number}"), "crash:1", "Always");
    }
    world.server.clear_requests();
    pass(3600.0).await;
    let counts = world.server.counts();
    let of = |action: &str| counts.get(action).copied().unwrap_or(0);
    let (made, repeated) = (of("create events"), of("patch events"));
    println!("an hour of five pods that crash: {made} events made, {repeated} reported again");
    // Upstream lets 25 of an object through, and one more each five minutes.
    assert!(made + repeated <= 5 * (25 + 12), "{counts:?}");
    let back_off = events(&world, "Pod").into_iter().filter(|line| line.starts_with("BackOff")).count();
    assert_eq!(back_off, 5, "one of each pod, counted");
    assert!(world.server.list::<Pod>().len() == 6);
}
