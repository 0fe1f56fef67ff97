//! Pods that the API server takes and this node can't run: what becomes of them, and what people see of it.

use std::fmt::Write as _;

use expect_test::expect;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use serde_json::{Value, json};

use crate::world::{World, pass};

/// Warnings about a pod, each as `reason: message`, without what differs from run to run.
fn warnings(world: &World, name: &str) -> Vec<String> {
    let mut events: Vec<Event> = world.server.list();
    events.retain(|event| event.type_.as_deref() == Some("Warning"));
    events.retain(|event| event.involved_object.name.as_deref() == Some(name));
    let line = |event: &Event| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{}: {}", text(&event.reason), text(&event.message))
    };
    let mut lines: Vec<String> = events.iter().map(line).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// How a pod stands on the server: phase, reason and message; what its containers wait for; warnings.
fn shown(world: &World, name: &str) -> String {
    let Some(pod) = world.server.get::<Pod>("default", name) else { return format!("{name}: gone\n") };
    let uid = pod.metadata.uid.unwrap_or_default();
    let status = pod.status.unwrap_or_default();
    let mut text = format!("{name}: {}", status.phase.unwrap_or_default());
    if let Some(reason) = status.reason {
        let _ = write!(text, " {reason}");
    }
    if let Some(message) = status.message {
        let _ = write!(text, " ({message})");
    }
    for container in status.container_statuses.iter().flatten() {
        let state = container.state.clone().unwrap_or_default();
        if let Some(waiting) = state.waiting {
            let reason = waiting.reason.unwrap_or_default();
            let message = waiting.message.map(|message| format!(" ({message})")).unwrap_or_default();
            let _ = write!(text, "\n  {} waits: {reason}{message}", container.name);
        } else {
            let _ = write!(text, "\n  {} doesn't wait", container.name);
        }
    }
    for line in warnings(world, name) {
        let _ = write!(text, "\n  {line}");
    }
    text.replace(&uid, "UID") + "\n"
}

fn spec(edit: Value, of_container: Value) -> Value {
    let mut spec =
        json!({"containers": [{"name": "app", "image": "sleeper:1", "imagePullPolicy": "IfNotPresent"}]});
    for (field, value) in edit.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    for (field, value) in of_container.as_object().into_iter().flatten() {
        spec["containers"][0][field] = value.clone();
    }
    spec
}

fn from_key(name: &str, key: &str) -> Value {
    let reference = json!({"name": name, "key": key});
    json!([{"name": "A", "valueFrom": {"configMapKeyRef": reference}}])
}

/// A volume with items of a config map that is there.
fn with_items(items: Value) -> Value {
    json!([{"name": "data", "configMap": {"name": "conf", "items": items}}])
}

/// Pods with something that this node can't give them; the port of the first is taken.
fn cases() -> Vec<(&'static str, Value)> {
    let none = json!({});
    let csi = json!([{"name": "data", "csi": {"driver": "example.com"}}]);
    let mount = json!([{"name": "data", "mountPath": "/data"}]);
    let missing = json!([{"name": "data", "configMap": {"name": "missing"}}]);
    let nowhere = json!([{"key": "a", "path": "a"}, {"key": "nowhere", "path": "b"}]);
    let outside = json!([{"key": "a", "path": "x/../../y"}]);
    vec![
        ("port", spec(none.clone(), json!({"ports": [{"containerPort": 80, "hostPort": 80}]}))),
        ("large", spec(none.clone(), json!({"resources": {"requests": {"cpu": "5"}}}))),
        ("class", spec(json!({"runtimeClassName": "unknown"}), none.clone())),
        ("driver", spec(json!({"volumes": csi}), json!({"volumeMounts": mount}))),
        ("volume", spec(json!({"volumes": missing}), json!({"volumeMounts": mount}))),
        ("item", spec(json!({"volumes": with_items(nowhere)}), json!({"volumeMounts": mount}))),
        ("outside", spec(json!({"volumes": with_items(outside)}), json!({"volumeMounts": mount}))),
        ("env", spec(none.clone(), json!({"env": from_key("missing", "a")}))),
        ("key", spec(none.clone(), json!({"env": from_key("conf", "nowhere")}))),
        ("image", spec(none.clone(), json!({"image": "no such name"}))),
        ("never", spec(none.clone(), json!({"image": "absent:1", "imagePullPolicy": "Never"}))),
        ("root", spec(none.clone(), json!({"securityContext": {"runAsNonRoot": true, "runAsUser": 0}}))),
        (
            "claims",
            spec(json!({"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}), none.clone()),
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn each_says_why_and_no_one_else_pays() {
    let world = World::started();
    let conf: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": "conf", "namespace": "default"}, "data": {"a": "1", "b": "2"},
    }))
    .expect("a config map");
    world.server.create(&conf).expect("made");
    world.create_from("first", spec(json!({}), json!({"ports": [{"containerPort": 80, "hostPort": 80}]})));
    pass(5.0).await;
    let cases = cases();
    for (name, spec) in &cases {
        world.create_from(name, spec.clone());
    }
    pass(60.0).await;
    let mut text = String::new();
    for (name, _) in &cases {
        text += &shown(&world, name);
        assert_eq!(world.starts(name), 0, "{name}");
    }
    expect![[r#"
        port: Failed NodePorts (Pod was rejected: node(s) didn't have free ports for the requested pod ports)
          NodePorts: node(s) didn't have free ports for the requested pod ports
        large: Failed OutOfcpu (Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000)
          OutOfcpu: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000
        class: Pending
          app waits: ContainerCreating
          FailedCreatePodSandBox: Failed to create pod sandbox: runtimeclass.node.k8s.io "unknown" not found
        driver: Pending
          app waits: ContainerCreating
          FailedMount: Unable to attach or mount volumes: volume data: csi volumes are not supported by this release
        volume: Pending
          app waits: ContainerCreating
          FailedMount: MountVolume.SetUp failed for volume "data" : configmap "missing" not found
        item: Pending
          app waits: ContainerCreating
          FailedMount: MountVolume.SetUp failed for volume "data" : configmap references non-existent config key: nowhere
        outside: Pending
          app waits: ContainerCreating
          FailedMount: Unable to attach or mount volumes: volume data: invalid path "x/../../y": must not contain '..'
        env: Pending
          app waits: CreateContainerConfigError (configmap "missing" not found)
          Failed: Error: configmap "missing" not found
        key: Pending
          app waits: CreateContainerConfigError (couldn't find key nowhere in ConfigMap default/conf)
          Failed: Error: couldn't find key nowhere in ConfigMap default/conf
        image: Pending
          app waits: InvalidImageName (Failed to apply default image tag "no such name": couldn't parse image name: spaces and control characters are not allowed)
          Failed: Error: InvalidImageName
          InspectFailed: Failed to apply default image tag "no such name": couldn't parse image name: spaces and control characters are not allowed
        never: Pending
          app waits: ErrImageNeverPull (Container image "absent:1" is not present with pull policy of Never)
          ErrImageNeverPull: Container image "absent:1" is not present with pull policy of Never
          Failed: Error: ErrImageNeverPull
        root: Pending
          app waits: CreateContainerConfigError (container's runAsUser breaks non-root policy (pod: "root_default(UID)", container: app))
          Failed: Error: container's runAsUser breaks non-root policy (pod: "root_default(UID)", container: app)
        claims: Pending
          app waits: ContainerCreating
          FailedPrepareDynamicResources: Failed to prepare dynamic resources: claim "gpu": this release has no drivers for resource claims
    "#]].assert_eq(&text);
    assert_eq!(world.on_server("first"), "Running, 0 restarts, ready True");
    // Whatever it waits for, it goes when it is deleted.
    for (name, _) in &cases {
        world.delete(name, 30);
    }
    pass(60.0).await;
    for (name, _) in &cases {
        assert_eq!(world.on_server(name), "gone", "{name}");
    }
}

/// A pod that this node is to run, with a field that is no such thing.
fn malformed(name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": uid},
        "spec": {"nodeName": "node1", "containers": [{"name": "app", "image": 7}]},
        "status": {"phase": "Pending"},
    })
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_says_so_next_to_the_pod_and_costs_only_itself() {
    let mut world = World::started();
    world.create("web", "sleeper:1", "Always");
    pass(10.0).await;
    let uid = world.server.get::<Pod>("default", "web").and_then(|pod| pod.metadata.uid).unwrap_or_default();
    world.server.put_as_is::<Pod>(malformed("odd", "odd-uid")).expect("put");
    world.server.put_as_is::<Pod>(malformed("web", &uid)).expect("put");
    world.create("next", "sleeper:1", "Always");
    pass(20.0).await;
    assert_eq!((world.starts("web"), world.starts("next"), world.starts("odd")), (1, 1, 0));
    let text = warnings(&world, "odd").join("\n") + "\n" + &warnings(&world, "web").join("\n");
    expect![[r#"
        FailedValidation: Error validating pod default/odd: invalid type: integer `7`, expected a string at line 1 column 151; keeping it unchanged
        FailedValidation: Error validating pod default/web: invalid type: integer `7`, expected a string at line 1 column 180; keeping it unchanged"#]].assert_eq(&text);
    // Reported once, however often it is read.
    world.server.end_watches();
    pass(60.0).await;
    world.server.expire_history();
    pass(60.0).await;
    let events: Vec<Event> = world.server.list();
    let reported = events.iter().filter(|event| event.reason.as_deref() == Some("FailedValidation"));
    assert_eq!(reported.map(|event| event.count.unwrap_or_default()).sum::<i32>(), 2);
    // A restarted agent leaves what it can't read alone.
    world.node.kill();
    world.node.start();
    pass(60.0).await;
    assert_eq!((world.starts("web"), world.starts("next")), (1, 1));
    assert!(world.node.runtime.log().iter().all(|line| !line.contains("stop")), "no one was stopped");
    world.server.delete::<Pod>("default", "odd", Some(0)).expect("deleted");
    world.server.delete::<Pod>("default", "web", Some(0)).expect("deleted");
    pass(60.0).await;
    assert!(world.node.runtime.log().iter().any(|line| line.contains("stop sandbox web")));
    assert_eq!(world.on_server("next"), "Running, 0 restarts, ready True");
}
