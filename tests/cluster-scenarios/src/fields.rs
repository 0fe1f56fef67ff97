//! Every field of a pod's status as the API server has it, for what a pod can be: whatever people and controllers read.

use std::fmt::Write as _;

use expect_test::expect;
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use serde_json::{Value, json};

use crate::world::{World, pass};

/// `path = value` of each field below a value, times as `TIME`.
fn flatten(value: &Value, path: &str, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                flatten(value, &format!("{path}.{name}"), text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                flatten(item, &format!("{path}[{index}]"), text);
            }
        }
        Value::String(word) if word.ends_with('Z') && word.contains("T0") => {
            let _ = writeln!(text, "{path} = TIME");
        }
        _ => {
            let _ = writeln!(text, "{path} = {value}");
        }
    }
}

/// `Ready=False ContainersNotReady (containers with …) @2` with the generation that it was observed at.
fn line(condition: &PodCondition) -> String {
    let mut line = format!("{}={}", condition.type_, condition.status);
    if let Some(reason) = &condition.reason {
        let _ = write!(line, " {reason}");
    }
    if let Some(message) = &condition.message {
        let _ = write!(line, " ({message})");
    }
    if condition.last_transition_time.is_none() {
        line += " without a time";
    }
    match condition.observed_generation {
        Some(generation) => line + &format!(" @{generation}"),
        None => line,
    }
}

/// The status of a pod: conditions in a line each, then all other fields.
fn shown(world: &World, name: &str) -> String {
    let pod = world.server.get::<Pod>("default", name).expect("it is there");
    let uid = pod.metadata.uid.unwrap_or_default();
    let mut status = pod.status.unwrap_or_default();
    let mut text = String::new();
    for condition in status.conditions.take().unwrap_or_default() {
        let _ = writeln!(text, "{}", line(&condition));
    }
    flatten(&serde_json::to_value(&status).expect("a status is JSON"), "", &mut text);
    text.replace(&uid, "UID")
}

fn container(name: &str, image: &str, edit: Value) -> Value {
    let mut container = json!({"name": name, "image": image, "imagePullPolicy": "IfNotPresent"});
    for (field, value) in edit.as_object().into_iter().flatten() {
        container[field] = value.clone();
    }
    container
}

/// What the test below is to see.
const RUNS: &str = r#"PodReadyToStartContainers=True @1
Initialized=True @1
Ready=True @1
ContainersReady=True @1
PodScheduled=True @1
.allocatedResources.cpu = "100m"
.allocatedResources.memory = "64Mi"
.containerStatuses[0].containerID = "fake://c5"
.containerStatuses[0].image = "sleeper:1"
.containerStatuses[0].imageID = "sleeper:1"
.containerStatuses[0].lastState = {}
.containerStatuses[0].name = "a"
.containerStatuses[0].ready = true
.containerStatuses[0].resources = {}
.containerStatuses[0].restartCount = 0
.containerStatuses[0].started = true
.containerStatuses[0].state.running.startedAt = TIME
.containerStatuses[1].allocatedResources.cpu = "100m"
.containerStatuses[1].allocatedResources.memory = "64Mi"
.containerStatuses[1].containerID = "fake://c4"
.containerStatuses[1].image = "sleeper:1"
.containerStatuses[1].imageID = "sleeper:1"
.containerStatuses[1].lastState = {}
.containerStatuses[1].name = "b"
.containerStatuses[1].ready = true
.containerStatuses[1].resources.limits.memory = "64Mi"
.containerStatuses[1].resources.requests.cpu = "100m"
.containerStatuses[1].resources.requests.memory = "64Mi"
.containerStatuses[1].restartCount = 0
.containerStatuses[1].started = true
.containerStatuses[1].state.running.startedAt = TIME
.containerStatuses[1].volumeMounts[0].mountPath = "/data"
.containerStatuses[1].volumeMounts[0].name = "data"
.containerStatuses[1].volumeMounts[1].mountPath = "/seen"
.containerStatuses[1].volumeMounts[1].name = "data"
.containerStatuses[1].volumeMounts[1].readOnly = true
.containerStatuses[1].volumeMounts[1].recursiveReadOnly = "Disabled"
.hostIP = "192.0.2.1"
.hostIPs[0].ip = "192.0.2.1"
.initContainerStatuses[0].containerID = "fake://c2"
.initContainerStatuses[0].image = "init:1"
.initContainerStatuses[0].imageID = "init:1"
.initContainerStatuses[0].lastState = {}
.initContainerStatuses[0].name = "first"
.initContainerStatuses[0].ready = true
.initContainerStatuses[0].resources = {}
.initContainerStatuses[0].restartCount = 0
.initContainerStatuses[0].started = false
.initContainerStatuses[0].state.terminated.containerID = "fake://c2"
.initContainerStatuses[0].state.terminated.exitCode = 0
.initContainerStatuses[0].state.terminated.finishedAt = TIME
.initContainerStatuses[0].state.terminated.reason = "Completed"
.initContainerStatuses[0].state.terminated.startedAt = TIME
.initContainerStatuses[1].containerID = "fake://c3"
.initContainerStatuses[1].image = "sleeper:1"
.initContainerStatuses[1].imageID = "sleeper:1"
.initContainerStatuses[1].lastState = {}
.initContainerStatuses[1].name = "sidecar"
.initContainerStatuses[1].ready = true
.initContainerStatuses[1].resources = {}
.initContainerStatuses[1].restartCount = 0
.initContainerStatuses[1].started = true
.initContainerStatuses[1].state.running.startedAt = TIME
.observedGeneration = 1
.phase = "Running"
.podIP = "10.0.0.1"
.podIPs[0].ip = "10.0.0.1"
.qosClass = "Burstable"
.resources.limits.memory = "64Mi"
.resources.requests.cpu = "100m"
.resources.requests.memory = "64Mi"
.startTime = TIME
"#;

#[tokio::test(start_paused = true)]
async fn of_a_pod_that_runs() {
    let world = World::started();
    world.ends_after("init:1", 0, 2);
    let mounts = json!([
        {"name": "data", "mountPath": "/data"},
        {"name": "data", "mountPath": "/seen", "readOnly": true},
    ]);
    let resources = json!({"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}});
    let app = json!({"resources": resources, "volumeMounts": mounts});
    world.create_from(
        "web",
        json!({
            "initContainers": [
                container("first", "init:1", json!({})),
                container("sidecar", "sleeper:1", json!({"restartPolicy": "Always"})),
            ],
            "containers": [container("b", "sleeper:1", app), container("a", "sleeper:1", json!({}))],
            "volumes": [{"name": "data", "emptyDir": {}}],
        }),
    );
    pass(20.0).await;
    assert_eq!(shown(&world, "web"), RUNS);
}

#[tokio::test(start_paused = true)]
async fn of_a_pod_that_crashes() {
    let world = World::started();
    world.ends_after("crash:1", 3, 2);
    world.create("crash", "crash:1", "Always");
    pass(10.0).await;
    expect![[r#"
        PodReadyToStartContainers=True @1
        Initialized=True @1
        Ready=False ContainersNotReady (containers with unready status: [app]) @1
        ContainersReady=False ContainersNotReady (containers with unready status: [app]) @1
        PodScheduled=True @1
        .containerStatuses[0].containerID = "fake://c3"
        .containerStatuses[0].image = "crash:1"
        .containerStatuses[0].imageID = "crash:1"
        .containerStatuses[0].lastState.terminated.containerID = "fake://c3"
        .containerStatuses[0].lastState.terminated.exitCode = 3
        .containerStatuses[0].lastState.terminated.finishedAt = TIME
        .containerStatuses[0].lastState.terminated.reason = "Error"
        .containerStatuses[0].lastState.terminated.startedAt = TIME
        .containerStatuses[0].name = "app"
        .containerStatuses[0].ready = false
        .containerStatuses[0].resources = {}
        .containerStatuses[0].restartCount = 1
        .containerStatuses[0].started = false
        .containerStatuses[0].state.waiting.message = "back-off 10s restarting failed container=app pod=crash_default(UID)"
        .containerStatuses[0].state.waiting.reason = "CrashLoopBackOff"
        .hostIP = "192.0.2.1"
        .hostIPs[0].ip = "192.0.2.1"
        .observedGeneration = 1
        .phase = "Running"
        .podIP = "10.0.0.1"
        .podIPs[0].ip = "10.0.0.1"
        .qosClass = "BestEffort"
        .resources = {}
        .startTime = TIME
    "#]].assert_eq(&shown(&world, "crash"));
}

#[tokio::test(start_paused = true)]
async fn of_a_pod_that_ended_well() {
    let world = World::started();
    world.ends_after("good:1", 0, 2);
    world.create("job", "good:1", "Never");
    pass(10.0).await;
    expect![[r#"
        PodReadyToStartContainers=False @1
        Initialized=True PodCompleted @1
        Ready=False PodCompleted @1
        ContainersReady=False PodCompleted @1
        PodScheduled=True @1
        .containerStatuses[0].containerID = "fake://c2"
        .containerStatuses[0].image = "good:1"
        .containerStatuses[0].imageID = "good:1"
        .containerStatuses[0].lastState = {}
        .containerStatuses[0].name = "app"
        .containerStatuses[0].ready = false
        .containerStatuses[0].resources = {}
        .containerStatuses[0].restartCount = 0
        .containerStatuses[0].started = false
        .containerStatuses[0].state.terminated.containerID = "fake://c2"
        .containerStatuses[0].state.terminated.exitCode = 0
        .containerStatuses[0].state.terminated.finishedAt = TIME
        .containerStatuses[0].state.terminated.reason = "Completed"
        .containerStatuses[0].state.terminated.startedAt = TIME
        .hostIP = "192.0.2.1"
        .hostIPs[0].ip = "192.0.2.1"
        .observedGeneration = 1
        .phase = "Succeeded"
        .podIP = "10.0.0.1"
        .podIPs[0].ip = "10.0.0.1"
        .qosClass = "BestEffort"
        .resources = {}
        .startTime = TIME
    "#]]
    .assert_eq(&shown(&world, "job"));
}

#[tokio::test(start_paused = true)]
async fn of_a_pod_that_ended_at_someones_word() {
    let world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(10.0).await;
    let finalizer = json!({"metadata": {"finalizers": ["example.com/wait"]}});
    world.server.patch::<Pod>("default", "web", "", finalizer).expect("patched");
    world.delete("web", 5);
    pass(30.0).await;
    expect![[r#"
        PodReadyToStartContainers=False @2
        Initialized=True @2
        Ready=False PodFailed @2
        ContainersReady=False PodFailed @2
        PodScheduled=True @2
        .containerStatuses[0].containerID = "fake://c2"
        .containerStatuses[0].image = "sleeper:1"
        .containerStatuses[0].imageID = "sleeper:1"
        .containerStatuses[0].lastState = {}
        .containerStatuses[0].name = "app"
        .containerStatuses[0].ready = false
        .containerStatuses[0].resources = {}
        .containerStatuses[0].restartCount = 0
        .containerStatuses[0].started = false
        .containerStatuses[0].state.terminated.containerID = "fake://c2"
        .containerStatuses[0].state.terminated.exitCode = 143
        .containerStatuses[0].state.terminated.finishedAt = TIME
        .containerStatuses[0].state.terminated.reason = "Error"
        .containerStatuses[0].state.terminated.startedAt = TIME
        .hostIP = "192.0.2.1"
        .hostIPs[0].ip = "192.0.2.1"
        .observedGeneration = 2
        .phase = "Failed"
        .podIP = "10.0.0.1"
        .podIPs[0].ip = "10.0.0.1"
        .qosClass = "BestEffort"
        .resources = {}
        .startTime = TIME
    "#]]
    .assert_eq(&shown(&world, "web"));
}

#[tokio::test(start_paused = true)]
async fn of_a_pod_that_waits_and_of_one_that_was_refused() {
    let world = World::started();
    let never = container("app", "absent:1", json!({"imagePullPolicy": "Never"}));
    world.create_from("waits", json!({"containers": [never]}));
    let large = json!({"resources": {"requests": {"cpu": "5"}}});
    world.create_from("large", json!({"containers": [container("app", "sleeper:1", large)]}));
    pass(10.0).await;
    expect![[r#"
        PodReadyToStartContainers=True @1
        Initialized=True @1
        Ready=False ContainersNotReady (containers with unready status: [app]) @1
        ContainersReady=False ContainersNotReady (containers with unready status: [app]) @1
        PodScheduled=True @1
        .containerStatuses[0].image = "absent:1"
        .containerStatuses[0].imageID = ""
        .containerStatuses[0].lastState = {}
        .containerStatuses[0].name = "app"
        .containerStatuses[0].ready = false
        .containerStatuses[0].restartCount = 0
        .containerStatuses[0].started = false
        .containerStatuses[0].state.waiting.message = "Container image \"absent:1\" is not present with pull policy of Never"
        .containerStatuses[0].state.waiting.reason = "ErrImageNeverPull"
        .hostIP = "192.0.2.1"
        .hostIPs[0].ip = "192.0.2.1"
        .observedGeneration = 1
        .phase = "Pending"
        .podIP = "10.0.0.1"
        .podIPs[0].ip = "10.0.0.1"
        .qosClass = "BestEffort"
        .resources = {}
        .startTime = TIME
    "#]].assert_eq(&shown(&world, "waits"));
    expect![[r#"
        .message = "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000"
        .observedGeneration = 1
        .phase = "Failed"
        .qosClass = "Burstable"
        .reason = "OutOfcpu"
        .startTime = TIME
    "#]].assert_eq(&shown(&world, "large"));
}
