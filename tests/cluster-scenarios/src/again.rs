//! Pods that come again: under the same name with another UID, and with the very same UID.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_ports::AgentView;
use witlet_testkit::{Behaviour, FakeImage};

use crate::world::{World, pass};

fn uid(world: &World, name: &str) -> Option<String> {
    world.server.get::<Pod>("default", name)?.metadata.uid
}

/// The pod as it would be created, but for its UID.
fn as_created(world: &World, name: &str) -> Value {
    let pod = world.server.get::<Pod>("default", name).expect("it is there");
    let mut pod = serde_json::to_value(&pod).expect("a pod is JSON");
    pod["status"] = json!({"phase": "Pending", "qosClass": "BestEffort"});
    let metadata = pod["metadata"].as_object_mut().expect("it has metadata");
    for field in ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        metadata.remove(field);
    }
    pod
}

fn put(world: &World, pod: &Value) {
    world.server.put_as_is::<Pod>(pod.clone()).expect("put");
}

/// A pod whose process ignores being asked to stop.
async fn with_stubborn_pod() -> World {
    let world = World::started();
    world.node.runtime.add_image("stubborn:1", FakeImage::present(Behaviour::IgnoresStop));
    world.create("db-0", "stubborn:1", "Always");
    pass(10.0).await;
    assert_eq!(world.on_server("db-0"), "Running, 0 restarts, ready True");
    world
}

#[tokio::test(start_paused = true)]
async fn the_next_of_a_stateful_set_comes_when_the_one_before_is_gone() {
    let world = with_stubborn_pod().await;
    world.delete("db-0", 10);
    let mut waited = 0;
    while uid(&world, "db-0").is_some() {
        pass(0.1).await;
        waited += 1;
        assert!(waited < 200, "it is gone after its grace");
    }
    assert!(waited > 90, "its object stays until its containers have ended: {waited}");
    world.node.runtime.clear_log();
    world.create("db-0", "sleeper:1", "Always");
    pass(5.0).await;
    assert_eq!(world.on_server("db-0"), "Running, 0 restarts, ready True");
    let log = world.node.runtime.log();
    let stops: Vec<&String> = log.iter().filter(|line| line.contains("stop")).collect();
    assert!(stops.is_empty(), "nothing of the old one was left: {log:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_takes_the_name_of_one_that_still_ends_isnt_harmed_by_it() {
    let world = with_stubborn_pod().await;
    world.delete("db-0", 0);
    world.create("db-0", "sleeper:1", "Always");
    let new = uid(&world, "db-0");
    world.server.clear_requests();
    pass(5.0).await;
    assert_eq!(world.on_server("db-0"), "Running, 0 restarts, ready True");
    assert_eq!(world.node.agent().pods().len(), 2, "the old one still ends");
    pass(120.0).await;
    assert_eq!(world.on_server("db-0"), "Running, 0 restarts, ready True");
    assert_eq!(uid(&world, "db-0"), new);
    assert_eq!(world.server.count("delete pods"), 0);
    assert_eq!((world.starts("db-0"), world.node.agent().pods().len()), (2, 1));
    let requests = world.server.requests();
    let reported: Vec<String> = requests
        .iter()
        .filter(|request| request.action() == "patch pods/status")
        .filter_map(|request| request.json()["metadata"]["uid"].as_str().map(str::to_owned))
        .collect();
    assert!(reported.iter().all(|uid| Some(uid) == new.as_ref()), "no one tells of a pod without an object");
}

#[tokio::test(start_paused = true)]
async fn a_uid_that_comes_again_starts_over_when_nothing_is_left_of_the_first() {
    // Between the deletion and the creation: no time at all, some while the old one ends, much after it.
    for between in [0.0, 0.005, 3.0, 60.0] {
        let world = with_stubborn_pod().await;
        let again = as_created(&world, "db-0");
        world.delete("db-0", 0);
        if between > 0.0 {
            pass(between).await;
        }
        put(&world, &again);
        pass(20.0).await;
        let early = world.starts("db-0");
        assert!(between > 30.0 || early == 1, "{between} s: not next to the old one");
        pass(60.0).await;
        // Logs that are left of the first count as restarts, as upstream.
        let shown = world.on_server("db-0");
        assert!(shown.starts_with("Running") && shown.ends_with("ready True"), "after {between} s: {shown}");
        assert_eq!(world.starts("db-0"), 2, "after {between} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_uid_that_was_deleted_with_grace_may_come_again() {
    let world = with_stubborn_pod().await;
    let again = as_created(&world, "db-0");
    world.delete("db-0", 10);
    pass(30.0).await;
    assert_eq!(world.on_server("db-0"), "gone");
    put(&world, &again);
    pass(60.0).await;
    assert_eq!(
        (world.on_server("db-0").as_str(), world.starts("db-0")),
        ("Running, 0 restarts, ready True", 2)
    );
}

#[tokio::test(start_paused = true)]
async fn a_uid_that_came_again_while_no_one_watched_is_the_same_pod() {
    let world = with_stubborn_pod().await;
    let again = as_created(&world, "db-0");
    world.server.down();
    world.delete("db-0", 0);
    put(&world, &again);
    // The watch can't go on from where it was: all that is known next is a list.
    world.server.expire_history();
    pass(60.0).await;
    world.server.up();
    pass(60.0).await;
    assert_eq!(
        (world.on_server("db-0").as_str(), world.starts("db-0")),
        ("Running, 0 restarts, ready True", 1)
    );
    // One that had ended stays ended: its worker has, and that is reported of its new object, too.
    world.delete("db-0", 10);
    pass(1.0).await;
    world.server.down();
    pass(60.0).await;
    world.delete("db-0", 0);
    put(&world, &again);
    world.server.expire_history();
    world.server.up();
    pass(60.0).await;
    assert_eq!(
        (world.on_server("db-0").as_str(), world.starts("db-0")),
        ("Failed, 0 restarts, ready False", 1)
    );
    world.delete("db-0", 30);
    pass(30.0).await;
    assert_eq!(world.on_server("db-0"), "gone");
}
