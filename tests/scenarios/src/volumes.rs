//! Volumes and mounts.

use expect_test::expect;
use serde_json::{Value, json};
use witlet_core::pod::PodUid;
use witlet_core::volume::VolumeKind;

use crate::support::{
    ends_after, from_spec, left, orders, pass, pod_with_uid, reported, shown, started, status,
};

#[tokio::test(start_paused = true)]
async fn limits_of_a_static_pod_are_reported_as_void_once_for_each_sandbox() {
    let node = started();
    let limits = json!({"limits": {"ephemeral-storage": "1Gi"}});
    let spec = json!({
        "volumes": [{"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}}],
        "containers": [{"name": "app", "image": "sleeper:1", "resources": limits}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(200.0).await;
    let events = reported(&node, "web");
    let event = "LimitNotEnforced ×1 Not enforced, because critical pods are never evicted: emptyDir.sizeLimit of volume \"cache\", \
                 limits.ephemeral-storage of container \"app\"\n";
    assert!(events.contains(event), "{events}");
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_hangs_or_fails_holds_up_its_own_pod_only() {
    let node = started();
    node.machine.hang_volume("stuck", true);
    node.machine.fail_volume("flaky", 1);
    let with = |volume: &str| {
        json!({
            "volumes": [{"name": volume, "emptyDir": {}}],
            "containers": [{
                "name": "app", "image": "sleeper:1",
                "volumeMounts": [{"name": volume, "mountPath": "/data"}],
            }],
        })
    };
    node.source.put("stuck", vec![from_spec("stuck", with("stuck"))]);
    node.source.put("flaky", vec![from_spec("flaky", with("flaky"))]);
    pass(20.0).await;
    expect!["Pending app: ContainerCreating(), 0 restarts"].assert_eq(&status(&node, "stuck"));
    expect!["Running app: running, 0 restarts"].assert_eq(&status(&node, "flaky"));
    expect![[r#"
        FailedMount ×1 MountVolume.SetUp failed for volume "flaky" : set up /var/lib/witlet/pods/08244318a0c2c33a3c8642371bc7bcec/volumes/flaky: failed as the test planned
        Pulled ×1 Container image "sleeper:1" already present on machine and can be accessed by the pod
        Created ×1 Container created
        Started ×1 Container started
    "#]].assert_eq(&reported(&node, "flaky"));
    pass(120.0).await;
    expect![[r#"
        FailedMount ×1 Unable to attach or mount volumes: unmounted volumes=[stuck]: timed out waiting for the condition
    "#]].assert_eq(&reported(&node, "stuck"));
    node.source.remove("stuck");
    node.source.remove("flaky");
    pass(10.0).await;
    assert_eq!(shown(&node, "stuck"), None);
    expect![[r#"
        tear down 08244318a0c2c33a3c8642371bc7bcec
        tear down aac503fc86a48877b7150325b139b0dc
        tear down aac503fc86a48877b7150325b139b0dc
        tear down 08244318a0c2c33a3c8642371bc7bcec"#]]
    .assert_eq(&node.machine.log().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn mounts_are_the_volumes_the_hosts_file_and_the_termination_log() {
    let node = started();
    let spec = json!({
        "hostAliases": [{"ip": "192.0.2.9", "hostnames": ["db"]}],
        "volumes": [{"name": "data", "emptyDir": {}}],
        "containers": [{
            "name": "app", "image": "sleeper:1", "terminationMessagePath": "/dev/termination-log",
            "env": [{"name": "PART", "value": "one"}],
            "volumeMounts": [
                {"name": "data", "mountPath": "/data"},
                {"name": "data", "mountPath": "/part", "subPathExpr": "parts/$(PART)", "readOnly": true},
            ],
        }],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(3.0).await;
    let config = node.runtime.container_spec("web-node1", "app").expect("it was made");
    let mounts: Vec<String> = config
        .mounts
        .iter()
        .map(|mount| {
            let mode = if mount.read_only { "ro" } else { "rw" };
            format!("{} {} {mode}", mount.container_path.display(), mount.host_path.display())
        })
        .collect();
    expect![[r#"
        /data /var/lib/witlet/pods/129b410c184337cd0d8153daafc646c4/volumes/data rw
        /part /var/lib/witlet/pods/129b410c184337cd0d8153daafc646c4/volumes/data/parts/one ro
        /etc/hosts /var/lib/witlet/pods/129b410c184337cd0d8153daafc646c4/etc-hosts rw
        /dev/termination-log /var/lib/witlet/pods/129b410c184337cd0d8153daafc646c4/containers/app/0 rw"#]]
    .assert_eq(&mounts.join("\n"));
    expect!["web-node1_default_app-c2.log"]
        .assert_eq(&node.machine.links().keys().cloned().collect::<Vec<_>>().join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_container_takes_its_environment_from_a_file_that_an_init_container_wrote() {
    let node = started();
    ends_after(&node, "init:1", 0, 5);
    let mounts = json!([{"name": "config", "mountPath": "/config"}]);
    let file = json!({"fileKeyRef": {"volumeName": "config", "path": "env", "key": "COLOUR"}});
    let spec = json!({
        "volumes": [{"name": "config", "emptyDir": {}}],
        "initContainers": [{"name": "first", "image": "init:1", "volumeMounts": mounts}],
        "containers": [
            {"name": "app", "image": "sleeper:1", "env": [{"name": "COLOUR", "valueFrom": file}]},
        ],
    });
    node.source.put("web", vec![pod_with_uid("web", "u1", spec)]);
    pass(2.0).await;
    node.machine.write("/var/lib/witlet/pods/u1/volumes/config/env", "COLOUR='blue'\n");
    pass(5.0).await;
    let config = node.runtime.container_spec("web-node1", "app").expect("it was made");
    assert!(config.env.contains(&("COLOUR".to_owned(), "blue".to_owned())));
}

fn with_volume(volume: &Value) -> Value {
    json!({
        "volumes": [volume],
        "containers": [{
            "name": "app", "image": "sleeper:1", "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }],
    })
}

#[tokio::test(start_paused = true)]
async fn volumes_are_there_before_the_sandbox_and_gone_after_the_last_container() {
    let node = started();
    node.machine.hang_volume("data", true);
    node.source
        .put("web", vec![pod_with_uid("web", "u1", with_volume(&json!({"name": "data", "emptyDir": {}})))]);
    pass(10.0).await;
    assert_eq!(orders(&node), "");
    node.machine.hang_volume("data", false);
    pass(10.0).await;
    assert!(orders(&node).contains("start web-node1/app#0"));
    assert_eq!(node.machine.volumes(), ["u1/data"]);
    node.source.remove("web");
    pass(0.5).await;
    let ended = orders(&node);
    assert!(ended.contains("stop sandbox"), "{ended}");
    pass(10.0).await;
    assert_eq!(left(&node).await, "");
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_volume_is_asked_for_as_it_was_written() {
    let node = started();
    let kinds = json!([
        {"name": "disk", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "host", "hostPath": {"path": "/srv", "type": "Directory"}},
        {"name": "facts", "downwardAPI": {"defaultMode": 288, "items": [
            {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
            {"path": "labels", "mode": 256, "fieldRef": {"fieldPath": "metadata.labels"}},
        ]}},
    ]);
    let names = ["disk", "memory", "host", "facts"];
    let mounts: Vec<Value> = names.iter().map(|n| json!({"name": n, "mountPath": format!("/{n}")})).collect();
    let spec = json!({
        "securityContext": {"fsGroup": 2000},
        "volumes": kinds,
        "containers": [{"name": "app", "image": "sleeper:1", "volumeMounts": mounts}],
    });
    let mut pod = pod_with_uid("web", "u1", spec);
    pod.metadata.labels = Some([("colour".to_owned(), "blue".to_owned())].into());
    node.source.put("web", vec![pod]);
    pass(5.0).await;
    let uid = PodUid::from("u1");
    let asked = names.iter().filter_map(|name| node.machine.volume(&uid, name));
    let asked: Vec<String> = asked
        .map(|volume| {
            let group = volume.ownership.map(|ownership| ownership.gid);
            format!("{} {:?} of group {group:?}", volume.name, volume.kind)
        })
        .collect();
    expect![[r#"
        disk EmptyDir of group Some(2000)
        memory Tmpfs { size_bytes: Some(1048576) } of group Some(2000)
        host HostPath { path: "/srv", check: Directory } of group None
        facts Files { plugin: "kubernetes.io~downward-api", files: [labels (13 bytes, 400), name (9 bytes, 440)], medium: Memory { size_bytes: Some(8589934592), is_secret: false } } of group Some(2000)"#]].assert_eq(&asked.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_downward_volume_follows_the_pods_labels() {
    let node = started();
    let volume = json!({"name": "data", "downwardAPI": {"items": [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
    ]}});
    let labelled = |colour: &str| {
        let mut pod = pod_with_uid("web", "u1", with_volume(&volume));
        pod.metadata.labels = Some([("colour".to_owned(), colour.to_owned())].into());
        vec![pod]
    };
    node.source.put("web", labelled("blue"));
    pass(3.0).await;
    orders(&node);
    node.source.put("web", labelled("red"));
    pass(3.0).await;
    let volume = node.machine.volume(&PodUid::from("u1"), "data").expect("it is set up");
    let VolumeKind::Files { files, .. } = volume.kind else { panic!("{volume:?}") };
    assert_eq!(files[0].content, b"colour=\"red\"");
    // And nothing is restarted for it.
    assert_eq!(orders(&node), "");
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_always_fails_is_tried_again_and_reported_and_others_go_on() {
    let node = started();
    node.machine.fail_volume("data", 1_000);
    node.source.put(
        "web",
        vec![pod_with_uid("web", "u1", with_volume(&json!({"name": "data", "hostPath": {"path": "/no"}})))],
    );
    node.source.put("other", vec![crate::support::sleeper("other").build()]);
    pass(120.0).await;
    assert_eq!(status(&node, "other"), "Running app: running, 0 restarts");
    assert_eq!(status(&node, "web"), "Pending app: ContainerCreating(), 0 restarts");
    expect![[r#"
        FailedMount ×12 MountVolume.SetUp failed for volume "data" : set up /var/lib/witlet/pods/u1/volumes/data: failed as the test planned
    "#]].assert_eq(&reported(&node, "web"));
    node.machine.fail_volume("data", 0);
    pass(30.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn volumes_of_pods_removed_while_the_agent_was_away_are_given_up() {
    let mut node = started();
    node.source
        .put("web", vec![pod_with_uid("web", "u1", with_volume(&json!({"name": "data", "emptyDir": {}})))]);
    pass(5.0).await;
    assert_eq!(node.machine.volumes(), ["u1/data"]);
    node.kill();
    node.source.remove("web");
    node.start();
    pass(30.0).await;
    assert_eq!(left(&node).await, "");
}

#[tokio::test(start_paused = true)]
async fn volumes_of_a_pod_that_ended_are_given_up_while_its_manifest_stays() {
    let node = started();
    ends_after(&node, "job:1", 0, 3);
    let mut spec = with_volume(&json!({"name": "data", "emptyDir": {}}));
    spec["restartPolicy"] = json!("Never");
    spec["containers"][0]["image"] = json!("job:1");
    node.source.put("web", vec![pod_with_uid("web", "u1", spec)]);
    pass(10.0).await;
    assert_eq!(status(&node, "web"), "Succeeded app: ended 0, 0 restarts");
    assert_eq!(node.machine.volumes(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_restarted_agent_sets_volumes_up_again_without_touching_containers() {
    let mut node = started();
    node.source
        .put("web", vec![pod_with_uid("web", "u1", with_volume(&json!({"name": "data", "emptyDir": {}})))]);
    pass(5.0).await;
    orders(&node);
    node.kill();
    node.start();
    pass(10.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(node.machine.volumes(), ["u1/data"]);
}
