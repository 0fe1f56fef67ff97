//! What the API server receives about a pod, PATCH by PATCH: a recorded trace for each course that a pod's life can take.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use k8s_openapi::api::core::v1::{EphemeralContainer, Pod, ResourceRequirements};
use serde_json::{Value, json};
use witlet_api_server::{ApiServer, Request};
use witlet_ports::AgentView;
use witlet_testkit::{Behaviour, FakeImage};

use crate::world::{World, pass};

/// The containers of a status: `app waiting ContainerCreating`, `app running`, `app ended 0`, with `ready` and restarts.
fn containers(status: &Value) -> String {
    let kinds = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];
    let all = kinds.iter().filter_map(|kind| status[kind].as_array()).flatten();
    let mut text = String::new();
    for container in all {
        let state = &container["state"];
        let state = if let Some(waiting) = state.get("waiting") {
            format!("waiting {}", waiting["reason"].as_str().unwrap_or_default())
        } else if state.get("running").is_some() {
            "running".to_owned()
        } else {
            format!("ended {}", state["terminated"]["exitCode"])
        };
        let ready = if container["ready"] == json!(true) { " ready" } else { "" };
        let restarts = container["restartCount"].as_i64().unwrap_or_default();
        let again = if restarts > 0 { format!(" ×{restarts}") } else { String::new() };
        let _ = write!(text, " | {} {state}{ready}{again}", container["name"].as_str().unwrap_or_default());
    }
    text
}

/// One PATCH of a status in one line: phase and reason if they are in it, conditions as `+Ready`, `-Ready(reason)`, containers.
fn line(request: &Request) -> String {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let status = &body["status"];
    let mut text = String::new();
    for field in ["phase", "reason"] {
        if let Some(value) = status[field].as_str() {
            let _ = write!(text, " {value}");
        }
    }
    for condition in status["conditions"].as_array().into_iter().flatten() {
        let word = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        let sign = match word("status").as_str() {
            "True" => "+",
            "False" => "-",
            _ => "~",
        };
        let reason = Some(word("reason")).filter(|reason| !reason.is_empty());
        let reason = reason.map(|reason| format!("({reason})")).unwrap_or_default();
        let _ = write!(text, " {sign}{}{reason}", word("type"));
    }
    if let Some(ips) = status["podIPs"].as_array() {
        let _ = write!(text, " ips:{}", ips.len());
    }
    text + &containers(status)
}

/// Everything that was asked of the server about pods and their statuses since the last check, watches aside.
fn reported(server: &ApiServer) -> String {
    let mut text = String::new();
    for request in server.requests() {
        let about_pods = request.resource == "pods" && !["watch", "list"].contains(&request.verb.as_str());
        if about_pods {
            let _ = writeln!(text, "{} {}: {}{}", request.verb, request.name, request.code, line(&request));
        }
    }
    server.clear_requests();
    text
}

pub(crate) fn holds(world: &World, expected: &Expect) {
    expected.assert_eq(&reported(&world.server));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_starts_and_is_deleted_with_its_grace() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(5.0).await;
    holds(
        &world,
        &expect![[r#"
        patch web: 200 +PodReadyToStartContainers +Initialized -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) +PodScheduled ips:1 | app waiting ContainerCreating
        patch web: 200 Running +Ready +ContainersReady | app running ready
    "#]],
    );
    world.delete("web", 30);
    pass(40.0).await;
    holds(
        &world,
        &expect![[r#"
        patch web: 200 -PodReadyToStartContainers ~Initialized -Ready(PodFailed) -ContainersReady(PodFailed) ~PodScheduled | app ended 143
        patch web: 200 Failed
        delete web: 200
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_runtime_takes_its_time() {
    let world = World::started();
    world.node.runtime.set_inspections_take(std::time::Duration::from_millis(400));
    let mut slow = FakeImage::present(Behaviour::Sleeps);
    (slow.present, slow.pull_takes) = (false, std::time::Duration::from_secs(4));
    world.node.runtime.add_image("slow:1", slow);
    world.create("web", "slow:1", "Always");
    pass(10.0).await;
    holds(
        &world,
        &expect![[r#"
        patch web: 200 -PodReadyToStartContainers +Initialized -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) +PodScheduled | app waiting ContainerCreating
        patch web: 200 +PodReadyToStartContainers ips:1
        patch web: 200 Running +Ready +ContainersReady | app running ready
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn jobs_that_end_well_and_badly() {
    let world = World::started();
    world.ends_after("good:1", 0, 5);
    world.ends_after("bad:1", 3, 5);
    world.create("good", "good:1", "Never");
    pass(10.0).await;
    holds(
        &world,
        &expect![[r#"
        patch good: 200 +PodReadyToStartContainers +Initialized -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) +PodScheduled ips:1 | app waiting ContainerCreating
        patch good: 200 Running +Ready +ContainersReady | app running ready
        patch good: 200 ~Initialized(PodCompleted) -Ready(PodCompleted) -ContainersReady(PodCompleted) | app ended 0
        patch good: 200 Succeeded -PodReadyToStartContainers
    "#]],
    );
    world.create("bad", "bad:1", "Never");
    pass(10.0).await;
    holds(
        &world,
        &expect![[r#"
        patch bad: 200 +PodReadyToStartContainers +Initialized -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) +PodScheduled ips:1 | app waiting ContainerCreating
        patch bad: 200 Running +Ready +ContainersReady | app running ready
        patch bad: 200 -Ready(PodFailed) -ContainersReady(PodFailed) | app ended 3
        patch bad: 200 Failed -PodReadyToStartContainers
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn a_container_that_crashes_again_and_again() {
    let world = World::started();
    world.ends_after("crash:1", 1, 3);
    world.create("crash", "crash:1", "Always");
    pass(30.0).await;
    holds(
        &world,
        &expect![[r#"
        patch crash: 200 +PodReadyToStartContainers +Initialized -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) +PodScheduled ips:1 | app waiting ContainerCreating
        patch crash: 200 Running +Ready +ContainersReady | app running ready
        patch crash: 200 -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) | app ended 1
        patch crash: 200 +Ready +ContainersReady | app running ready ×1
        patch crash: 200 -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) | app waiting CrashLoopBackOff ×1
        patch crash: 200 | app ended 1 ×1
        patch crash: 200 +Ready +ContainersReady | app running ready ×2
        patch crash: 200 -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) | app waiting CrashLoopBackOff ×2
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn init_containers_one_after_the_other() {
    let world = World::started();
    world.ends_after("init:1", 0, 3);
    world.create_from(
        "web",
        json!({
            "initContainers": [{"name": "first", "image": "init:1", "imagePullPolicy": "IfNotPresent"},
                {"name": "sidecar", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent", "restartPolicy": "Always"}],
            "containers": [{"name": "app", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent"}],
        }),
    );
    pass(10.0).await;
    holds(
        &world,
        &expect![[r#"
        patch web: 200 +PodReadyToStartContainers -Initialized(ContainersNotInitialized) -Ready(ContainersNotReady) -ContainersReady(ContainersNotReady) +PodScheduled ips:1 | first waiting PodInitializing | sidecar waiting PodInitializing | app waiting PodInitializing
        patch web: 200 | first running | sidecar waiting PodInitializing
        patch web: 200 ~Initialized | first ended 0 ready | sidecar waiting PodInitializing
        patch web: 200 Running +Initialized +Ready +ContainersReady | first ended 0 ready | sidecar running ready | app running ready
    "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn a_deletion_without_grace_and_one_that_a_finalizer_holds() {
    let world = World::started();
    world.create("forced", "sleeper:1", "Always");
    world.create("held", "sleeper:1", "Always");
    pass(5.0).await;
    let finalizer = json!({"metadata": {"finalizers": ["example.com/wait"]}});
    world.server.patch::<Pod>("default", "held", "", finalizer).expect("patched");
    pass(2.0).await;
    world.server.clear_requests();
    world.delete("forced", 0);
    pass(40.0).await;
    holds(&world, &expect![[r#""#]]);
    assert_eq!(world.on_server("forced"), "gone");
    assert!(world.node.agent().pods().iter().all(|pod| pod.metadata.name.as_deref() != Some("forced")));
    world.delete("held", 5);
    pass(40.0).await;
    holds(
        &world,
        &expect![[r#"
        patch held: 200 -PodReadyToStartContainers ~Initialized -Ready(PodFailed) -ContainersReady(PodFailed) ~PodScheduled | app ended 143
        patch held: 200 Failed
        delete held: 200
    "#]],
    );
    assert_eq!(world.on_server("held"), "Failed, 0 restarts, ready False");
    world
        .server
        .patch::<Pod>("default", "held", "", json!({"metadata": {"finalizers": null}}))
        .expect("patched");
    pass(20.0).await;
    holds(&world, &expect![[r#""#]]);
    assert_eq!(world.on_server("held"), "gone");
}

#[tokio::test(start_paused = true)]
async fn an_evicted_pod() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(5.0).await;
    world.server.clear_requests();
    world.server.evict("default", "web").expect("evicted");
    pass(40.0).await;
    holds(
        &world,
        &expect![[r#"
        patch web: 200 -PodReadyToStartContainers ~Initialized -Ready(PodFailed) -ContainersReady(PodFailed) ~PodScheduled | app ended 143
        patch web: 200 Failed
        delete web: 200
    "#]],
    );
    assert_eq!(world.on_server("web"), "gone");
}

#[tokio::test(start_paused = true)]
async fn a_resize_and_an_ephemeral_container() {
    let world = World::started();
    let resources = json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}});
    let app = json!({"name": "app", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent", "resources": resources});
    world.create_from("web", json!({"containers": [app]}));
    pass(5.0).await;
    world.server.clear_requests();
    let wish: ResourceRequirements =
        serde_json::from_value(json!({"requests": {"cpu": "150m"}, "limits": {"cpu": "300m"}}))
            .expect("a wish");
    world.server.resize("default", "web", "app", &wish).expect("wished");
    pass(10.0).await;
    holds(
        &world,
        &expect![[r#"
        patch web: 200 ~PodReadyToStartContainers ~Initialized ~Ready ~ContainersReady ~PodScheduled
        patch web: 200 +PodResizeInProgress | app running ready
        patch web: 200 ~PodResizeInProgress | app running ready
    "#]],
    );
    let debug: EphemeralContainer = serde_json::from_value(
        json!({"name": "debug", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent"}),
    )
    .expect("a container");
    world.server.add_ephemeral("default", "web", &debug).expect("added");
    pass(10.0).await;
    holds(
        &world,
        &expect![[r#"
            patch web: 200 ~PodReadyToStartContainers ~Initialized ~Ready ~ContainersReady ~PodScheduled | debug waiting ContainerCreating
            patch web: 200 | debug running
        "#]],
    );
}

#[tokio::test(start_paused = true)]
async fn labels_that_change_tell_nothing() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(5.0).await;
    world.server.clear_requests();
    world
        .server
        .patch::<Pod>("default", "web", "", json!({"metadata": {"labels": {"a": "b"}}}))
        .expect("patched");
    pass(10.0).await;
    holds(&world, &expect![[r#""#]]);
}
