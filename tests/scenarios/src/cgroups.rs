//! Cgroups of pods, from before their sandbox to after their volumes, and of those above.

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::cgroup::{CgroupVersion, ResourceConfig};
use witlet_core::event::EventObject;
use witlet_core::node::allocatable::Enforcement;
use witlet_core::runtime::labels;
use witlet_ports::{AgentView, CgroupError};
use witlet_testkit::FakeNode;

use crate::support::{condition, node, orders, pass, pod_with_uid, reported, status};

/// A node whose agent keeps cgroups.
fn keeping() -> FakeNode {
    let mut node = node();
    node.set_cgroups_per_qos(true);
    node.config.cgroups.cpus = "0-3".to_owned();
    node.config.cgroups.enforce = [Enforcement::Pods].into();
    node
}

fn resources(requests: Value, limits: Value) -> Value {
    json!({"requests": requests, "limits": limits})
}

fn pod(name: &str, resources: &Value) -> Vec<Pod> {
    let container = json!({"name": "app", "image": "sleeper:1", "resources": resources});
    vec![pod_with_uid(name, &format!("uid-{name}"), json!({"containers": [container]}))]
}

fn guaranteed(cpu: &str, memory: &str) -> Value {
    let amounts = json!({"cpu": cpu, "memory": memory});
    resources(amounts.clone(), amounts)
}

fn burstable(cpu: &str) -> Value {
    resources(json!({"cpu": cpu}), json!({}))
}

/// Paths below `kubepods`.
fn pods_in(node: &FakeNode) -> Vec<String> {
    node.cgroups.paths().into_iter().filter(|path| path.contains("/pod")).collect()
}

/// Events about the node, by reason and message.
fn node_events(node: &FakeNode) -> String {
    let events =
        node.agent().events().into_iter().filter(|recorded| recorded.event.object == EventObject::Node);
    let cgroups = events.filter(|recorded| recorded.event.reason.contains("Allocatable"));
    cgroups.map(|e| format!("{} ×{} {}\n", e.event.reason, e.count, e.event.message)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_above_pods_is_made_at_the_start_and_kept() {
    let mut node = keeping();
    node.start();
    pass(5.0).await;
    expect![[r#"
        0.000 create cgroup /kubepods shares 4096 memory 8589934592
        0.000 create cgroup /kubepods/burstable
        0.000 create cgroup /kubepods/besteffort shares 2
        0.000 update cgroup /kubepods shares 4096 memory 8589934592
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(node.cgroups.config("/kubepods").and_then(|config| config.cpus).as_deref(), Some("0-3"));
    expect![[r#"
        NodeAllocatableEnforced ×1 Updated Node Allocatable limit across pods
    "#]]
    .assert_eq(&node_events(&node));
    node.kill();
    node.start();
    pass(5.0).await;
    expect![[r#"
        5.000 update cgroup /kubepods/burstable
        5.000 update cgroup /kubepods/besteffort shares 2
        5.000 update cgroup /kubepods shares 4096 memory 8589934592
    "#]]
    .assert_eq(&orders(&node));
    pass(70.0).await;
    expect![[r#"
        15.000 update cgroup /kubepods
        15.000 update cgroup /kubepods/burstable shares 2
        15.000 update cgroup /kubepods/besteffort shares 2
        75.000 update cgroup /kubepods
        75.000 update cgroup /kubepods/burstable shares 2
        75.000 update cgroup /kubepods/besteffort shares 2
    "#]]
    .assert_eq(&orders(&node));
}

#[tokio::test(start_paused = true)]
async fn each_class_has_its_place_before_the_sandbox_and_nothing_is_left_at_the_end() {
    let mut node = keeping();
    node.config.cgroups.pod_pids_max = Some(100);
    node.start();
    pass(1.0).await;
    orders(&node);
    node.source.put("g", pod("g", &guaranteed("500m", "64Mi")));
    pass(2.0).await;
    expect![[r#"
        1.000 update cgroup /kubepods
        1.000 update cgroup /kubepods/burstable shares 2
        1.000 update cgroup /kubepods/besteffort shares 2
        1.000 create cgroup /kubepods/poduid-g shares 512 quota 50000 memory 67108864 pids 100
        1.000 run sandbox g-node1#0
        1.000 create g-node1/app#0
        1.000 start g-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    node.source.put("b", pod("b", &burstable("250m")));
    node.source.put("e", pod("e", &json!({})));
    pass(2.0).await;
    assert_eq!(
        pods_in(&node),
        ["/kubepods/besteffort/poduid-e", "/kubepods/burstable/poduid-b", "/kubepods/poduid-g"]
    );
    let shares = |path: &str| node.cgroups.config(path).and_then(|config| config.cpu_shares);
    assert_eq!(shares("/kubepods/burstable"), Some(256), "what its pod asks for");
    assert_eq!(shares("/kubepods/besteffort/poduid-e"), Some(2));
    orders(&node);
    let stats = node.agent().stats();
    assert_eq!((stats.active_pods.of_api_server, stats.active_pods.of_node), (0, 3));
    assert_eq!(stats.cgroups.durations.create.count(), 6, "kubepods, two classes, three pods");
    assert_eq!(stats.cgroups.durations.destroy.count(), 0);
    assert_eq!((stats.cgroups.version, stats.cgroups.kept_memory), (Some(CgroupVersion::V1), None));
    for name in ["g", "b", "e"] {
        node.source.remove(name);
    }
    pass(60.0).await;
    assert_eq!(pods_in(&node), [""; 0]);
    let stats = node.agent().stats();
    assert_eq!((stats.active_pods.of_node, stats.cgroups.durations.destroy.count()), (0, 3));
    assert_eq!(shares("/kubepods/burstable"), Some(2), "no pod asks for anything");
}

#[tokio::test(start_paused = true)]
async fn containers_are_put_below_the_pods_cgroup_and_remember_it() {
    let mut node = keeping();
    node.start();
    node.source.put("b", pod("b", &burstable("250m")));
    pass(3.0).await;
    let sandbox = node.runtime.sandbox_spec("b-node1").expect("it was made");
    assert_eq!(sandbox.cgroup_parent.as_deref(), Some("/kubepods/burstable/poduid-b"));
    let container = node.runtime.container_spec("b-node1", "app").expect("it was made");
    assert_eq!(container.annotations[labels::OWN_CGROUP_PARENT], "/kubepods/burstable/poduid-b");
}

#[tokio::test(start_paused = true)]
async fn a_cgroup_that_cant_be_made_holds_the_pod_up_until_it_can() {
    let mut node = keeping();
    node.start();
    pass(1.0).await;
    node.cgroups.fail_next("create", 1);
    node.source.put("b", pod("b", &burstable("250m")));
    pass(3.0).await;
    assert!(!status(&node, "b").contains("running"), "{}", status(&node, "b"));
    expect![[r#"
        FailedToCreatePodContainer ×1 unable to ensure pod container exists: failed to create container for [kubepods burstable poduid-b] : the work on the cgroup didn't finish: create: failed as the test planned
    "#]]
    .assert_eq(&reported(&node, "b"));
    pass(30.0).await;
    assert!(status(&node, "b").contains("running"), "{}", status(&node, "b"));
}

#[tokio::test(start_paused = true)]
async fn a_cgroup_that_cant_be_removed_is_tried_again() {
    let mut node = keeping();
    node.start();
    node.source.put("b", pod("b", &burstable("250m")));
    pass(3.0).await;
    node.cgroups.fail_next("remove", 2);
    node.source.remove("b");
    pass(5.0).await;
    assert_eq!(pods_in(&node), ["/kubepods/burstable/poduid-b"]);
    pass(120.0).await;
    assert_eq!(pods_in(&node), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn orphans_go_once_sources_were_seen() {
    let mut node = keeping();
    node.cgroups.put("/kubepods/burstable/podgone", ResourceConfig::default());
    node.cgroups.put("/kubepods/burstable/podgone/container", ResourceConfig::default());
    node.cgroups.put("/kubepods/podalso-gone", ResourceConfig::default());
    node.cgroups.put("/kubepods/burstable/of-others", ResourceConfig::default());
    node.start();
    node.source.put("b", pod("b", &burstable("250m")));
    pass(10.0).await;
    assert_eq!(pods_in(&node), ["/kubepods/burstable/poduid-b"]);
    assert!(node.cgroups.config("/kubepods/burstable/of-others").is_some(), "no pod's");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_agent_goes_on_with_what_is_there() {
    let mut node = keeping();
    node.start();
    node.source.put("b", pod("b", &burstable("250m")));
    pass(3.0).await;
    node.kill();
    orders(&node);
    node.start();
    pass(5.0).await;
    let made = orders(&node);
    assert!(!made.contains("poduid-b") && !made.contains("sandbox"), "{made}");
    pass(10.0).await;
    let shares = node.cgroups.config("/kubepods/burstable").and_then(|config| config.cpu_shares);
    assert_eq!(shares, Some(256), "its pod is known again");
}

#[tokio::test(start_paused = true)]
async fn what_a_killed_agent_left_half_done_is_set() {
    let mut node = keeping();
    // Made, but nothing was written into it.
    node.cgroups.put("/kubepods/burstable/poduid-b", ResourceConfig::default());
    node.start();
    node.source.put("b", pod("b", &burstable("250m")));
    pass(3.0).await;
    let config = node.cgroups.config("/kubepods/burstable/poduid-b").expect("it is there");
    assert_eq!(config.cpu_shares, Some(256));
    assert!(status(&node, "b").contains("running"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_whose_cgroup_was_lost_is_ended_and_begins_again_in_a_new_one() {
    let mut node = keeping();
    node.start();
    node.source.put("b", pod("b", &burstable("250m")));
    pass(3.0).await;
    node.kill();
    node.cgroups.lose("/kubepods/burstable/poduid-b");
    orders(&node);
    node.start();
    pass(60.0).await;
    let done = orders(&node);
    let lines = done.lines().filter(|line| line.contains("node1") || line.contains("poduid-b"));
    let lines: Vec<&str> = lines.map(|line| line.split_once(' ').map_or(line, |(_, line)| line)).collect();
    assert_eq!(
        lines,
        [
            "stop within 30s b-node1/app#0",
            "ended with 143 b-node1/app#0",
            "stop sandbox b-node1#0",
            "create cgroup /kubepods/burstable/poduid-b shares 256",
            "run sandbox b-node1#1",
            "create b-node1/app#1",
            "start b-node1/app#1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn pods_of_an_agent_without_cgroups_go_on_where_they_are() {
    let mut node = node();
    node.start();
    node.source.put("b", pod("b", &burstable("250m")));
    pass(3.0).await;
    assert_eq!(node.cgroups.paths(), ["/"]);
    node.kill();
    orders(&node);
    node.set_cgroups_per_qos(true);
    node.start();
    pass(30.0).await;
    let done = orders(&node);
    assert!(!done.contains("stop") && !done.contains("start"), "{done}");
    assert_eq!(pods_in(&node), ["/kubepods/burstable/poduid-b"], "for what is made again");
    assert!(
        status(&node, "b").contains("running, 0 restarts") || status(&node, "b").contains("app: running")
    );
}

#[tokio::test(start_paused = true)]
async fn pods_that_ran_without_cgroups_by_the_operators_word_are_restarted_in_them() {
    let mut node = node();
    node.set_cgroups_per_qos(false);
    node.start();
    node.source.put("b", pod("b", &burstable("250m")));
    pass(3.0).await;
    assert_eq!(node.cgroups.paths(), ["/"], "none of it");
    node.kill();
    orders(&node);
    node.set_cgroups_per_qos(true);
    node.start();
    pass(60.0).await;
    assert!(orders(&node).contains("sandbox b-node1#1"));
    assert_eq!(pods_in(&node), ["/kubepods/burstable/poduid-b"]);
}

#[tokio::test(start_paused = true)]
async fn a_resize_sets_the_pods_limits_before_they_grow_and_after_they_shrink() {
    let mut node = keeping();
    node.start();
    node.source.put("g", pod("g", &guaranteed("1", "64Mi")));
    pass(3.0).await;
    orders(&node);
    node.source.put("g", pod("g", &guaranteed("2", "128Mi")));
    pass(3.0).await;
    expect![[r#"
        3.000 update cgroup /kubepods/poduid-g memory 134217728
        3.000 update cpu 100000 memory 134217728 g-node1/app#0
        3.000 update cgroup /kubepods/poduid-g quota 200000
        3.000 update cgroup /kubepods/poduid-g shares 2048
        3.000 update cpu 200000 memory 134217728 g-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    node.source.put("g", pod("g", &guaranteed("1", "64Mi")));
    pass(3.0).await;
    expect![[r#"
        6.000 update cpu 200000 memory 67108864 g-node1/app#0
        6.000 update cgroup /kubepods/poduid-g memory 67108864
        6.000 update cpu 100000 memory 67108864 g-node1/app#0
        6.000 update cgroup /kubepods/poduid-g shares 1024
        6.000 update cgroup /kubepods/poduid-g quota 100000
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(condition(&node, "g", "PodResizeInProgress"), None);
    node.cgroups.use_memory("/kubepods/poduid-g", 50 << 20);
    node.source.put("g", pod("g", &guaranteed("1", "32Mi")));
    pass(3.0).await;
    let reported = condition(&node, "g", "PodResizeInProgress").unwrap_or_default();
    assert!(
        reported.contains("attempting to set pod memory limit (33554432) below current usage (52428800)"),
        "{reported}"
    );
    assert_eq!(orders(&node).lines().filter(|line| line.contains("uid-g")).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_sizes_sandboxes_is_notified_of_limits_before_they_are_written() {
    let mut node = keeping();
    node.runtime.set_sizes_sandboxes(true);
    node.start();
    node.source.put("g", pod("g", &guaranteed("1", "64Mi")));
    pass(3.0).await;
    orders(&node);
    node.cgroups.fail_next("update", 1);
    node.source.put("g", pod("g", &guaranteed("1", "128Mi")));
    pass(1.0).await;
    expect![[r#"
        3.000 size sandbox s1 shares 1024 quota 100000 memory 134217728
        3.000 size sandbox s1 shares 1024 quota 100000 memory 67108864
    "#]]
    .assert_eq(&orders(&node));
    let reported = condition(&node, "g", "PodResizeInProgress").unwrap_or_default();
    assert!(reported.contains("update: failed as the test planned"), "{reported}");
    pass(60.0).await;
    assert_eq!(condition(&node, "g", "PodResizeInProgress"), None, "it is tried again");
    node.runtime.fail_next("UpdatePodSandboxResources", 1);
    node.source.put("g", pod("g", &guaranteed("2", "128Mi")));
    pass(1.0).await;
    let reported = condition(&node, "g", "PodResizeInProgress").unwrap_or_default();
    let rejected = "failed to notify runtime for UpdatePodSandboxResources (resource=cpu); resize rejected";
    assert!(reported.contains(rejected), "{reported}");
}

#[tokio::test(start_paused = true)]
async fn a_machine_without_what_is_needed_ends_the_start_in_upstreams_words() {
    let mut node = keeping();
    node.cgroups.fail_start(CgroupError::NotMounted { controllers: "memory".to_owned() });
    node.start();
    pass(3.0).await;
    let failure = node.failure().unwrap_or_default();
    assert!(
        failure.starts_with("failed to start ContainerManager: system validation failed - Following Cgroup subsystem not mounted: [memory]"),
        "{failure}"
    );
    let mut node = keeping();
    node.config.cgroups.root = "/nowhere".to_owned();
    node.start();
    pass(3.0).await;
    let failure = node.failure().unwrap_or_default();
    assert!(
        failure.contains("invalid configuration: cgroup \"/nowhere\" has some missing paths"),
        "{failure}"
    );
    let mut node = keeping();
    node.config.cgroups.reservations.system = [("memory".to_owned(), 16 << 30)].into();
    node.start();
    pass(3.0).await;
    let failure = node.failure().unwrap_or_default();
    assert!(failure.contains("invalid Node Allocatable configuration. Resource \"memory\""), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_all_pods_is_tried_again_until_it_holds() {
    let mut node = keeping();
    node.cgroups.put("/kubepods", ResourceConfig::default());
    node.config.cgroups.reservations.system =
        [("memory".to_owned(), 1 << 30), ("cpu".to_owned(), 500)].into();
    node.cgroups.put("/system", ResourceConfig::default());
    node.config.cgroups.enforce.insert(Enforcement::SystemReserved);
    node.config.cgroups.system_cgroup = "/system".to_owned();
    node.start();
    tokio::task::yield_now().await;
    pass(1.0).await;
    let of = |path: &str| node.cgroups.config(path).map(|config| (config.memory_bytes, config.cpu_shares));
    assert_eq!(of("/kubepods"), Some((Some(7 << 30), Some(3584))), "without what is reserved");
    assert_eq!(of("/system"), Some((Some(1 << 30), Some(512))));
    expect![[r#"
        NodeAllocatableEnforced ×1 Updated limits on system reserved cgroup /system
        NodeAllocatableEnforced ×1 Updated Node Allocatable limit across pods
    "#]]
    .assert_eq(&node_events(&node));
    node.kill();
    node.config.cgroups.system_cgroup = "/not-there".to_owned();
    node.start();
    pass(1.0).await;
    let failure = node.failure().unwrap_or_default();
    assert!(
        failure.contains("Failed to enforce System Reserved Cgroup Limits on \"/not-there\""),
        "{failure}"
    );
}
