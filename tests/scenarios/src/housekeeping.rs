//! What is kept small and cleaned up: logs, links, dead containers and sandboxes, what isn't needed any more.

use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::json;
use witlet_core::container::gc::GcPolicy;
use witlet_core::event::EventObject;
use witlet_core::runtime::{ContainerRunState, RuntimePod};
use witlet_ports::{AgentView, PodView};
use witlet_testkit::{FakeNode, SourceHandle, container, pod};

use crate::support::{
    ends_after, from_spec, left, node, orders, pass, pod_with_uid, sleeper, started, status,
};

fn log_of(node: &FakeNode, pod: &str, container: &str) -> PathBuf {
    let config = node.runtime.container_spec(pod, container).expect("it was made");
    Path::new("/var/log/pods").join(config.log_path)
}

#[tokio::test(start_paused = true)]
async fn a_log_that_has_grown_is_rotated_within_ten_seconds() {
    let node = started();
    node.source.put("web", vec![sleeper("web").build()]);
    pass(5.0).await;
    orders(&node);
    let log = log_of(&node, "web-node1", "app");
    node.machine.write(&log, vec![b'x'; (10 << 20) - 1]);
    pass(20.0).await;
    assert_eq!(orders(&node), "", "it isn't large yet");
    node.machine.write(&log, vec![b'x'; 10 << 20]);
    pass(10.0).await;
    expect![[r#"
        30.000 reopen log of web-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    expect!["rotate /var/log/pods/app/0.log to 5"].assert_eq(&node.machine.log().join("\n"));
    pass(30.0).await;
    assert_eq!(orders(&node), "", "the new one is small");
}

#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_be_reopened_is_put_back_and_tried_again() {
    let node = started();
    node.source.put("web", vec![sleeper("web").build()]);
    pass(5.0).await;
    orders(&node);
    let log = log_of(&node, "web-node1", "app");
    node.machine.write(&log, vec![b'x'; 11 << 20]);
    node.runtime.fail_next("ReopenContainerLog", 1);
    pass(6.0).await;
    assert_eq!(node.machine.log(), Vec::<String>::new());
    pass(10.0).await;
    assert_eq!(node.machine.log().len(), 1);
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
}

#[tokio::test(start_paused = true)]
async fn links_to_logs_go_with_their_containers() {
    let node = started();
    node.source.put("web", vec![sleeper("web").build()]);
    node.source.put("other", vec![sleeper("other").build()]);
    pass(5.0).await;
    assert_eq!(node.machine.links().len(), 2);
    node.source.remove("web");
    pass(10.0).await;
    let links: Vec<String> = node.machine.links().into_keys().collect();
    expect!["other-node1_default_app-c2.log"].assert_eq(&links.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn one_dead_instance_of_each_container_is_kept_and_the_newest_dead_sandbox_goes_with_its_pod() {
    let node = started();
    ends_after(&node, "crasher:1", 1, 1);
    let spec = json!({"containers": [
        {"name": "app", "image": "crasher:1"}, {"name": "stays", "image": "sleeper:1"},
    ]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(200.0).await;
    node.runtime.lose_sandboxes();
    pass(30.0).await;
    let pods = node.runtime.list_pods().await.expect("it is up");
    let containers = pods.iter().flat_map(|pod| &pod.containers);
    let mut names: Vec<String> = containers.map(|c| format!("{} {:?}", c.name, c.state)).collect();
    names.sort();
    expect![[r#"
        app Exited
        stays Exited
        stays Running"#]]
    .assert_eq(&names.join("\n"));
    let sandboxes: usize = pods.iter().map(|pod| pod.sandboxes.len()).sum();
    expect!["2"].assert_eq(&sandboxes.to_string());
}

#[tokio::test(start_paused = true)]
async fn a_log_goes_before_its_container_so_that_an_end_of_the_agent_in_between_leaves_none() {
    let node = started();
    ends_after(&node, "crasher:1", 1, 1);
    node.source.put("web", vec![pod("web").image("crasher:1").build()]);
    node.runtime.hang_removals("web-node1", u32::MAX);
    pass(100.0).await;
    assert_eq!(
        node.files.removed_logs().first().map(PathBuf::as_path),
        Some(Path::new("/var/log/pods/app/0.log"))
    );
}

#[tokio::test(start_paused = true)]
async fn dead_containers_of_pods_that_run_are_collected_though_a_source_is_unseen() {
    let mut node = node();
    let silent = SourceHandle::new("silent", "node1");
    node.more_sources.push(silent.clone());
    ends_after(&node, "crasher:1", 1, 1);
    node.start();
    node.source.put("web", vec![sleeper("web").container(container("crasher", "crasher:1")).build()]);
    pass(400.0).await;
    let dead = |pods: &[RuntimePod]| {
        let all = pods.iter().flat_map(|pod| &pod.containers);
        all.filter(|container| container.state == ContainerRunState::Exited).count()
    };
    let pods = node.runtime.list_pods().await.expect("it is up");
    assert_eq!(dead(&pods), 1, "{pods:?}");
    // What no source that was seen has is left alone, dead or alive.
    node.source.remove("web");
    pass(60.0).await;
    assert_eq!(node.runtime.list_pods().await.expect("it is up").len(), 1);
    silent.speak();
    pass(60.0).await;
    assert_eq!(node.runtime.list_pods().await.expect("it is up").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn as_many_dead_containers_are_kept_as_the_settings_say() {
    let mut node = node();
    node.config.container_gc = GcPolicy { per_container_max: Some(3), ..GcPolicy::default() };
    ends_after(&node, "crasher:1", 1, 1);
    node.start();
    node.source
        .put("web", vec![from_spec("web", json!({"containers": [{"name": "app", "image": "crasher:1"}]}))]);
    pass(1000.0).await;
    let pods = node.runtime.list_pods().await.expect("it is up");
    assert_eq!(pods.iter().map(|pod| pod.containers.len()).sum::<usize>(), 3, "{pods:?}");
}

#[tokio::test(start_paused = true)]
async fn a_collection_that_fails_is_reported_each_minute_until_it_goes_again() {
    let node = started();
    let reported = || {
        let events = node.agent().events();
        let event = events.into_iter().find(|recorded| recorded.event.reason == "ContainerGCFailed")?;
        assert_eq!(event.event.object, EventObject::Node);
        Some((event.count, event.event.message.clone()))
    };
    pass(30.0).await;
    assert_eq!(reported(), None);
    node.runtime.fail_next("ListPodSandbox", u32::MAX);
    pass(10.0).await;
    let (count, message) = reported().expect("it is reported at once");
    assert_eq!(count, 1);
    assert!(message.contains("failed as the test planned"), "{message}");
    pass(120.0).await;
    assert_eq!(reported().map(|(count, _)| count), Some(3));
    node.runtime.fail_next("ListPodSandbox", 0);
    pass(120.0).await;
    assert_eq!(reported().map(|(count, _)| count), Some(3));
}

#[tokio::test(start_paused = true)]
async fn a_resolv_conf_with_too_much_in_it_is_notified_of_once() {
    let node = {
        let mut node = node();
        let domains: String = (0..33).map(|n| format!(" d{n}.test")).collect();
        node.host_files.set_resolv_conf(&format!("nameserver 192.0.2.1\nsearch{domains}\n"));
        node.start();
        node
    };
    pass(120.0).await;
    let events = node.agent().events();
    let reported = events.into_iter().filter(|recorded| {
        matches!(recorded.event.object, EventObject::Node) && recorded.event.reason.contains("ResolvConf")
    });
    let reported: Vec<String> = reported
        .map(|recorded| format!("{} ×{} {}", recorded.event.reason, recorded.count, recorded.event.message))
        .collect();
    expect!["CheckLimitsForResolvConf ×1 Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 32 domains!"].assert_eq(&reported.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_pods_of_all_kinds_once_they_are_gone() {
    let mut node = started();
    ends_after(&node, "job:1", 0, 2);
    ends_after(&node, "crasher:1", 1, 1);
    let spec = |policy: &str, image: &str| {
        json!({
            "restartPolicy": policy, "hostUsers": false,
            "volumes": [{"name": "data", "emptyDir": {}}],
            "initContainers": [
                {"name": "first", "image": "job:1"},
                {"name": "helper", "image": "sleeper:1", "restartPolicy": "Always"},
            ],
            "containers": [{
                "name": "app", "image": image, "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                "livenessProbe": {"exec": {"command": ["alive"]}},
            }],
        })
    };
    for (name, policy, image) in [
        ("a", "Always", "sleeper:1"),
        ("b", "Never", "job:1"),
        ("c", "OnFailure", "crasher:1"),
        ("d", "Always", "no:1"),
    ] {
        node.source.put(name, vec![pod_with_uid(name, &format!("uid-{name}"), spec(policy, image))]);
    }
    pass(30.0).await;
    node.kill();
    node.start();
    pass(10.0).await;
    for name in ["a", "b", "c", "d"] {
        node.source.remove(name);
    }
    pass(120.0).await;
    assert_eq!(left(&node).await, "");
    assert!(node.agent().pods().is_empty());
}
