//! Static pods of a node of a cluster: their mirrors, and whom they end.

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_core::pod::static_pod::CONFIG_HASH;
use witlet_testkit::{container, pod};

use crate::traces::holds;
use crate::world::{World, pass};

fn manifest(name: &str, cpu: &str) -> Vec<Pod> {
    vec![pod(name).container(container("app", "sleeper:1").request("cpu", cpu)).build()]
}

/// A node with one static pod, whose mirror tells that it runs.
async fn with_static_pod() -> World {
    let world = World::started();
    world.node.source.put("web", manifest("web", "100m"));
    pass(20.0).await;
    assert_eq!(world.on_server("web-node1"), "Running, 0 restarts, ready True");
    world
}

fn uid_on_server(world: &World) -> Option<String> {
    world.server.get::<Pod>("default", "web-node1")?.metadata.uid
}

#[tokio::test(start_paused = true)]
async fn a_static_pod_has_a_mirror_that_goes_with_it() {
    let world = with_static_pod().await;
    holds(
        &world,
        &expect![[r#"
        create : 201
        patch web-node1: 200 Running +PodReadyToStartContainers +Initialized +Ready +ContainersReady +PodScheduled ips:1 | app running ready
    "#]],
    );
    let mirror = world.server.get::<Pod>("default", "web-node1").expect("it was made");
    let owners = mirror.metadata.owner_references.unwrap_or_default();
    assert_eq!(owners.iter().map(|owner| owner.kind.as_str()).collect::<Vec<_>>(), ["Node"]);
    world.node.source.remove("web");
    pass(60.0).await;
    holds(
        &world,
        &expect![[r#"
        patch web-node1: 200 -PodReadyToStartContainers -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) | app ended 143
        delete web-node1: 200
    "#]],
    );
    assert_eq!(world.on_server("web-node1"), "gone");
}

#[tokio::test(start_paused = true)]
async fn deleting_a_mirror_doesnt_end_the_pod() {
    let world = with_static_pod().await;
    let before = uid_on_server(&world);
    world.delete("web-node1", 0);
    pass(20.0).await;
    assert_eq!(world.on_server("web-node1"), "Running, 0 restarts, ready True");
    assert_ne!(uid_on_server(&world), before, "it was made again");
    world.delete("web-node1", 30);
    pass(60.0).await;
    assert_eq!(world.on_server("web-node1"), "Running, 0 restarts, ready True");
    assert_eq!(world.starts("web-node1"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_mirror_of_another_hash_is_made_again_and_other_edits_stay() {
    let world = with_static_pod().await;
    let before = uid_on_server(&world);
    let patch = |body| world.server.patch::<Pod>("default", "web-node1", "", body).expect("patched");
    patch(json!({"metadata": {"labels": {"by": "hand"}}}));
    pass(20.0).await;
    assert_eq!(uid_on_server(&world), before);
    patch(
        json!({"metadata": {"annotations": {CONFIG_HASH: "another", "kubernetes.io/config.mirror": "another"}}}),
    );
    pass(20.0).await;
    assert_ne!(uid_on_server(&world), before);
    assert_eq!(world.on_server("web-node1"), "Running, 0 restarts, ready True");
    assert_eq!(world.starts("web-node1"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_the_api_server_ends_for_a_static_one_that_needs_its_capacity() {
    let world = World::started();
    let resources = json!({"requests": {"cpu": "3"}});
    let app = json!({"name": "app", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent", "resources": resources});
    world.create_from("modest", json!({"containers": [app]}));
    pass(5.0).await;
    world.server.clear_requests();
    world.node.source.put("vital", manifest("vital", "3"));
    pass(60.0).await;
    holds(
        &world,
        &expect![[r#"
        create : 201
        patch modest: 200 -PodReadyToStartContainers -Ready(PodFailed) -ContainersReady(PodFailed) | app ended 143
        patch vital-node1: 200 Preempting -PodReadyToStartContainers +Initialized -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) +PodScheduled | app waiting Blocked
        patch modest: 200 Failed Preempting +DisruptionTarget(TerminationByKubelet)
        patch vital-node1: 200 +PodReadyToStartContainers ips:1 | app waiting ContainerCreating
        patch vital-node1: 200 Running +Ready +ContainersReady | app running ready
    "#]],
    );
    assert_eq!(world.on_server("modest"), "Failed, 0 restarts, ready False");
    assert_eq!(world.on_server("vital-node1"), "Running, 0 restarts, ready True");
}
