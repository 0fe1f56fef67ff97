//! Pods end because the node is short of something, or exceed limits of theirs: each once, and no others.

mod measured;
mod waits;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use serde_json::{Value, json};
use witlet_core::event::EventObject;
use witlet_core::eviction::{EvictionConfig, Filesystems, ThresholdConfig};
use witlet_core::node::conditions;
use witlet_core::stats::{ContainerUsage, FsUsage, LocalStorage};
use witlet_ports::{ActivePods, AgentView, Left};
use witlet_testkit::{Behaviour, FakeImage, FakeNode};

use crate::support::{bound_pod, condition, events, from_spec, node, orders, pass, status, status_of};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A pod of an API server; its name as it is shown is `<name>-node1`.
fn api_pod(name: &str, spec: Value) -> Pod {
    bound_pod(&format!("{name}-node1"), spec)
}

/// One that takes its whole grace to end.
fn clinging(name: &str, request: &str) -> Pod {
    let app = json!({"name": "app", "image": "clinging:1", "resources": {"requests": {"memory": request}}});
    api_pod(name, json!({"terminationGracePeriodSeconds": 30, "containers": [app]}))
}

/// With these thresholds: hard ones, soft ones with a minute of grace, and what has to be reclaimed.
fn started(hard: &[(&str, &str)], soft: &[(&str, &str)], reclaim: &[(&str, &str)]) -> FakeNode {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let config = ThresholdConfig {
        hard: Some(map(hard)),
        soft: map(soft),
        soft_grace: soft.iter().map(|(signal, _)| ((*signal).to_owned(), "1m".to_owned())).collect(),
        min_reclaim: map(reclaim),
        ..ThresholdConfig::default()
    };
    let thresholds = config.thresholds().expect("thresholds");
    let mut node = node();
    node.runtime.add_image("clinging:1", FakeImage::present(Behaviour::IgnoresStop));
    node.config.eviction =
        EvictionConfig { thresholds, max_pod_grace_seconds: 20, ..EvictionConfig::default() };
    node.start();
    node
}

fn left(available: u64) -> Option<Left> {
    Some(Left { capacity: 8 * GIB, available })
}

fn uses_memory(node: &FakeNode, pod: &Pod, bytes: u64) {
    let usage = ContainerUsage { name: "app".to_owned(), memory: Some(bytes), ..ContainerUsage::default() };
    node.usage.set_container(pod, usage);
}

fn uses_disk(node: &FakeNode, pod: &Pod, rootfs: u64, logs: u64, volume: u64) {
    let usage = ContainerUsage {
        name: "app".to_owned(),
        rootfs: FsUsage::new(rootfs, rootfs / 1024),
        ..ContainerUsage::default()
    };
    node.usage.set_container(pod, usage);
    let storage = LocalStorage {
        volumes: [("cache".to_owned(), FsUsage::new(volume, volume / 1024))].into(),
        logs: [("app".to_owned(), FsUsage::new(logs, 1))].into(),
        own: FsUsage::new(0, 0),
        ..LocalStorage::default()
    };
    node.usage.set_storage(pod, storage);
}

/// What is short, as the node's conditions say it.
fn pressures(node: &FakeNode) -> Vec<String> {
    let shown: std::sync::Arc<Node> = node.agent().node();
    let short = |pressure: &conditions::Pressure| {
        conditions::of_type(&shown, pressure.condition()).is_some_and(|condition| condition.status == "True")
    };
    conditions::PRESSURES.iter().filter(|one| short(one)).map(|one| one.condition().to_owned()).collect()
}

fn node_events(node: &FakeNode) -> String {
    let events = node.agent().events().into_iter().filter(|event| event.event.object == EventObject::Node);
    events.map(|e| format!("{} ×{} {}\n", e.event.reason, e.count, e.event.message)).collect()
}

fn evicted(node: &FakeNode, names: &[&str]) -> Vec<bool> {
    names.iter().map(|name| status(node, name).starts_with("Failed Evicted")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_memory_bomb_ends_and_its_neighbours_go_on() {
    let node = started(&[("memory.available", "100Mi")], &[], &[]);
    let (bomb, tame) = (clinging("bomb", "10Mi"), clinging("tame", "10Mi"));
    node.source.put_as_is("pods", vec![bomb.clone(), tame.clone()]);
    uses_memory(&node, &bomb, 900 * MIB);
    uses_memory(&node, &tame, 5 * MIB);
    pass(15.0).await;
    assert_eq!(pressures(&node), [""; 0]);
    let conditions = node_events(&node);
    assert!(conditions.contains("NodeHasSufficientMemory ×1 Node node1 status is now"), "{conditions}");

    node.usage.set(|seen| seen.memory = left(50 * MIB));
    // The next round is 20 s after the start, and the one after that as soon as the pod is gone.
    pass(6.0).await;
    let message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container app was \
                   using 900Mi, request is 10Mi, has larger consumption of memory. ";
    assert_eq!(status_of(&node, "bomb").message.as_deref(), Some(message));
    let target = condition(&node, "bomb", "DisruptionTarget").unwrap_or_default();
    assert_eq!(target, format!("True TerminationByKubelet: {message}"));
    assert!(events(&node, "bomb").contains(&format!("Evicted ×1 {message}")), "{}", events(&node, "bomb"));
    assert_eq!(pressures(&node), ["MemoryPressure"]);
    let reported = node_events(&node);
    assert!(reported.contains("EvictionThresholdMet ×1 Attempting to reclaim memory"), "{reported}");
    assert!(reported.contains("NodeHasInsufficientMemory ×1"), "{reported}");
    let annotations = node.agent().events().into_iter().find(|event| event.event.reason == "Evicted");
    let annotations = annotations.map(|event| event.event.annotations.clone()).unwrap_or_default();
    assert_eq!(annotations["offending_containers"], "app");
    assert_eq!(annotations["offending_containers_usage"], "900Mi");
    assert_eq!(annotations["starved_resource"], "memory");

    node.usage.set(|seen| seen.memory = left(4 * GIB));
    pass(280.0).await;
    // Its grace was a second.
    assert!(status(&node, "bomb").starts_with("Failed Evicted app: ended 137"), "{}", status(&node, "bomb"));
    assert_eq!(pressures(&node), ["MemoryPressure"], "for the transition period");
    pass(30.0).await;
    assert_eq!(pressures(&node), [""; 0]);
    assert!(status(&node, "tame").starts_with("Running app: running, 0"), "{}", status(&node, "tame"));
    let stats = node.agent().stats();
    assert_eq!(stats.evictions.into_iter().collect::<Vec<_>>(), [("memory.available", 1)]);
    let ages = stats.eviction_stats_ages.into_iter().map(|(signal, ages)| (signal, ages.count()));
    assert_eq!(ages.collect::<Vec<_>>(), [("memory.available", 1)]);
    let ActivePods { of_api_server, of_node } = stats.active_pods;
    assert_eq!((of_api_server, of_node), (1, 0), "the one that ended isn't active");
    // Neither comes back.
    assert!(events(&node, "bomb").matches("Started ×1").count() == 1);
}

#[tokio::test(start_paused = true)]
async fn offenders_go_one_at_a_time_and_only_while_it_is_needed() {
    let node = started(&[("memory.available", "100Mi")], &[], &[("memory.available", "400Mi")]);
    let pods: Vec<Pod> = (0..4).map(|number| clinging(&format!("p{number}"), "10Mi")).collect();
    node.source.put_as_is("pods", pods.clone());
    for (pod, used) in pods.iter().zip([300, 200, 100, 50]) {
        uses_memory(&node, pod, used * MIB);
    }
    pass(12.0).await;
    node.usage.set(|seen| seen.memory = left(90 * MIB));
    pass(9.0).await;
    let names = ["p0", "p1", "p2", "p3"];
    assert_eq!(evicted(&node, &names), [true, false, false, false]);
    // Above the threshold, below what has to be reclaimed: the next one goes as soon as the first is gone.
    node.usage.set(|seen| seen.memory = left(390 * MIB));
    pass(2.5).await;
    assert_eq!(evicted(&node, &names), [true, true, false, false]);
    node.usage.set(|seen| seen.memory = left(590 * MIB));
    pass(120.0).await;
    assert_eq!(evicted(&node, &names), [true, true, false, false], "enough is left");
    let reported = node_events(&node);
    assert!(reported.contains("EvictionThresholdMet ×2"), "{reported}");
}

#[tokio::test(start_paused = true)]
async fn a_soft_threshold_waits_for_its_grace_and_gives_pods_some() {
    let node = started(&[], &[("memory.available", "200Mi")], &[]);
    let pod = clinging("soft", "1Mi");
    node.source.put_as_is("pods", vec![pod.clone()]);
    uses_memory(&node, &pod, 500 * MIB);
    pass(12.0).await;
    node.usage.set(|seen| seen.memory = left(150 * MIB));
    pass(55.0).await;
    assert_eq!(pressures(&node), ["MemoryPressure"]);
    assert_eq!(evicted(&node, &["soft"]), [false]);
    pass(20.0).await;
    assert_eq!(evicted(&node, &["soft"]), [true]);
    assert!(status(&node, "soft").contains("running"), "it has 20 s: {}", status(&node, "soft"));
    pass(25.0).await;
    assert!(status(&node, "soft").contains("ended 137"), "{}", status(&node, "soft"));
}

#[tokio::test(start_paused = true)]
async fn critical_pods_stay_and_the_next_one_goes() {
    let node = started(&[("memory.available", "100Mi")], &[], &[]);
    let mut vital = clinging("vital", "1Mi");
    vital.spec.get_or_insert_default().priority = Some(2_000_000_000);
    let mine = from_spec("mine", json!({"containers": [{"name": "app", "image": "sleeper:1"}]}));
    let small = clinging("small", "10Mi");
    node.source.put_as_is("pods", vec![vital.clone(), small.clone()]);
    node.source.put("static", vec![mine]);
    uses_memory(&node, &vital, GIB);
    uses_memory(&node, &small, MIB);
    pass(12.0).await;
    node.usage.set(|seen| seen.memory = left(1));
    pass(120.0).await;
    assert_eq!(evicted(&node, &["vital", "mine", "small"]), [false, false, true]);
    assert!(status(&node, "vital").starts_with("Running"), "{}", status(&node, "vital"));
    assert!(status(&node, "mine").starts_with("Running"), "{}", status(&node, "mine"));
}

#[tokio::test(start_paused = true)]
async fn unused_images_go_before_pods_do() {
    let node = started(&[("nodefs.available", "1Gi"), ("imagefs.available", "1Gi")], &[], &[]);
    let pod = clinging("filler", "1Mi");
    let unused = FakeImage { size: 768 * MIB, ..FakeImage::present(Behaviour::Sleeps) };
    node.runtime.add_image("unused:1", unused);
    node.source.put_as_is("pods", vec![pod.clone()]);
    uses_disk(&node, &pod, 3 * GIB, MIB, MIB);
    // The image collection has seen it for longer than the minimum age.
    pass(450.0).await;
    orders(&node);
    node.usage.set(|seen| {
        seen.nodefs_bytes = left(GIB / 2);
        seen.imagefs_bytes = left(GIB / 2);
    });
    pass(20.0).await;
    let removals = orders(&node).lines().filter(|line| line.contains("remove image unused:1")).count();
    assert_eq!(removals, 1);
    assert_eq!(evicted(&node, &["filler"]), [false]);
    assert_eq!(pressures(&node), ["DiskPressure"]);
    // Nothing is left to be removed the next time; what images gave back, a byte of another one with it, stays free.
    node.usage
        .set(|seen| seen.nodefs_bytes = Some(Left { available: 0, ..left(GIB / 2).unwrap_or_default() }));
    pass(20.0).await;
    assert_eq!(evicted(&node, &["filler"]), [true]);
    let message = status_of(&node, "filler").message.unwrap_or_default();
    let begin = "The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 805306369. Container app \
                 was using 3073Mi, request is 0, has larger consumption of ephemeral-storage. ";
    assert_eq!(message, begin);
}

#[tokio::test(start_paused = true)]
async fn images_and_layers_on_different_file_systems_have_their_own_shortages() {
    let node = started(&[("nodefs.available", "1Gi"), ("imagefs.available", "1Gi")], &[], &[]);
    node.usage.set(|seen| {
        seen.filesystems = Some(Filesystems::Split);
        seen.containerfs_bytes = left(4 * GIB);
    });
    let unused = FakeImage { size: 768 * MIB, ..FakeImage::present(Behaviour::Sleeps) };
    node.runtime.add_image("unused:1", unused);
    let (layers, volumes) = (clinging("layers", "1Mi"), clinging("volumes", "1Mi"));
    node.source.put_as_is("pods", vec![layers.clone(), volumes.clone()]);
    uses_disk(&node, &layers, 3 * GIB, 0, 0);
    uses_disk(&node, &volumes, 0, 2 * GIB, 0);
    pass(450.0).await;
    orders(&node);
    let removals = || orders(&node).lines().filter(|line| line.contains("remove image")).count();
    let thresholds: Vec<String> =
        node.agent().thresholds().iter().map(|state| state.threshold.to_string()).collect();
    assert_eq!(thresholds, ["nodefs.available<1Gi", "imagefs.available<1Gi", "containerfs.available<1Gi"]);

    // Layers lie with the agent's folder: images would give nothing back there.
    node.usage.set(|seen| {
        seen.nodefs_bytes = left(GIB / 2);
        seen.containerfs_bytes = left(GIB / 2);
    });
    // The next one goes as soon as the first is gone, while it is short.
    for _ in 0..60 {
        pass(0.2).await;
        if evicted(&node, &["layers"]) == [true] {
            break;
        }
    }
    assert_eq!(removals(), 0);
    assert_eq!(evicted(&node, &["layers", "volumes"]), [true, false]);
    node.usage.set(|seen| {
        seen.nodefs_bytes = left(4 * GIB);
        seen.containerfs_bytes = left(4 * GIB);
    });
    pass(60.0).await;

    node.usage.set(|seen| seen.imagefs_bytes = left(GIB / 2));
    pass(30.0).await;
    assert_eq!(removals(), 2, "all that are unused, and that is enough");
    assert_eq!(evicted(&node, &["layers", "volumes"]), [true, false]);
}

#[tokio::test(start_paused = true)]
async fn inodes_and_process_ids_have_their_offenders() {
    let node = started(&[("nodefs.inodesFree", "1k"), ("pid.available", "1k")], &[], &[]);
    let (files, forks, tame) = (clinging("files", "1Mi"), clinging("forks", "1Mi"), clinging("tame", "1Mi"));
    node.source.put_as_is("pods", vec![files.clone(), forks.clone(), tame.clone()]);
    uses_disk(&node, &files, GIB, 0, 0);
    uses_disk(&node, &forks, MIB, 0, 0);
    uses_disk(&node, &tame, MIB, 0, 0);
    for (pod, count) in [(&files, 3), (&forks, 30_000), (&tame, 5)] {
        node.usage.set_processes(pod, count);
    }
    pass(12.0).await;
    node.usage.set(|seen| seen.pids = left(500));
    pass(9.0).await;
    assert_eq!(evicted(&node, &["files", "forks", "tame"]), [false, true, false]);
    assert_eq!(pressures(&node), ["PIDPressure"]);
    let message = status_of(&node, "forks").message.unwrap_or_default();
    assert_eq!(message, "The node was low on resource: pids. Threshold quantity: 1k, available: 500. ");
    node.usage.set(|seen| {
        seen.pids = left(5000);
        seen.nodefs_inodes = left(10);
    });
    pass(2.5).await;
    assert_eq!(evicted(&node, &["files", "forks", "tame"]), [true, true, false]);
    assert_eq!(pressures(&node), ["DiskPressure", "PIDPressure"]);
}

#[tokio::test(start_paused = true)]
async fn limits_of_local_storage_hold_without_any_threshold() {
    let node = started(&[], &[], &[]);
    let limited = |name: &str, size: Value, limit: Value| {
        let app = json!({"name": "app", "image": "sleeper:1", "resources": {"limits": limit}});
        let volume = json!({"name": "cache", "emptyDir": {"sizeLimit": size}});
        api_pod(name, json!({"containers": [app], "volumes": [volume]}))
    };
    let none = || json!(null);
    let pods = [
        limited("volume", json!("10Mi"), json!({})),
        limited("layer", none(), json!({"ephemeral-storage": "10Mi"})),
        limited("logs", none(), json!({"ephemeral-storage": "10Mi"})),
        limited("within", json!("10Mi"), json!({"ephemeral-storage": "100Mi"})),
        limited("free", none(), json!({})),
    ];
    node.source.put_as_is("pods", pods.to_vec());
    let uses = [(0, 0, 20), (20, 0, 0), (0, 20, 0), (20, 20, 10), (900, 900, 900)];
    for (pod, (layer, logs, volume)) in pods.iter().zip(uses) {
        uses_disk(&node, pod, layer * MIB, logs * MIB, volume * MIB);
    }
    pass(45.0).await;
    let names = ["volume", "layer", "logs", "within", "free"];
    assert_eq!(evicted(&node, &names), [true, true, true, false, false]);
    let message = |name| status_of(&node, name).message.unwrap_or_default();
    assert_eq!(message("volume"), "Usage of EmptyDir volume \"cache\" exceeds the limit \"10Mi\". ");
    let whole = "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ";
    assert_eq!((message("layer"), message("logs")), (whole.to_owned(), whole.to_owned()));
    assert_eq!(condition(&node, "volume", "DisruptionTarget"), None, "it exceeded a limit of its own");
    assert_eq!(pressures(&node), [""; 0]);
    pass(60.0).await;
    assert!(status(&node, "volume").contains("ended"), "{}", status(&node, "volume"));
    assert!(!status(&node, "within").contains("ended"), "{}", status(&node, "within"));
    // Only what has limits is measured.
    let counted: u64 = node.agent().stats().evictions.values().sum();
    assert_eq!(counted, 3);
}

#[tokio::test(start_paused = true)]
async fn sizes_of_volumes_hold_without_the_runtimes_figures() {
    let node = started(&[], &[], &[]);
    let app = json!({"name": "app", "image": "sleeper:1"});
    let volume = json!({"name": "cache", "emptyDir": {"sizeLimit": "10Mi"}});
    let pod = api_pod("volume", json!({"containers": [app], "volumes": [volume]}));
    node.source.put_as_is("pods", vec![pod.clone()]);
    uses_disk(&node, &pod, 0, 0, 20 * MIB);
    // Its containers aren't measured at all.
    node.usage.set_down(true);
    pass(45.0).await;
    assert_eq!(evicted(&node, &["volume"]), [true]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_measured_of_pods_while_nothing_is_short_and_none_has_limits() {
    let node = started(&[("nodefs.available", "10%")], &[], &[]);
    node.source.put_as_is("pods", vec![clinging("a", "1Mi"), clinging("b", "1Mi")]);
    pass(600.0).await;
    assert_eq!(node.usage.measured(), 0);
    let thresholds = node.agent().thresholds();
    assert_eq!(thresholds.len(), 2, "that of writable layers is there, too: {thresholds:?}");
    assert!(thresholds[0].observed.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_kernels_report_of_short_memory_evicts_before_the_next_check() {
    let mut node = node();
    let config = ThresholdConfig { enforces_pods: true, ..ThresholdConfig::default() };
    let thresholds = config.thresholds().expect("upstream's thresholds");
    node.config.eviction =
        EvictionConfig { thresholds, memory_notification: true, ..EvictionConfig::default() };
    node.start();
    let pod = clinging("bomb", "1Mi");
    node.source.put_as_is("pods", vec![pod.clone()]);
    uses_memory(&node, &pod, GIB);
    // Rounds begin 0, 10 and 20 s after the start.
    pass(22.0).await;
    assert_eq!(node.usage.watches().len(), 2, "of the node and of all pods");
    node.usage.set(|seen| seen.memory = left(MIB));
    node.usage.report_shortage();
    pass(0.5).await;
    assert_eq!(evicted(&node, &["bomb"]), [true]);
    pass(30.0).await;

    // Memory that swings about the threshold costs a check a second at most.
    node.usage.set(|seen| seen.memory = left(4 * GIB));
    let readings = node.usage.reads();
    for _ in 0..200 {
        node.usage.report_shortage();
        pass(0.1).await;
    }
    let readings = node.usage.reads() - readings;
    assert!((15..=21).contains(&readings), "{readings}");

    // Where the kernel can't report, the next check sees it.
    node.usage.set_cannot_notify(true);
    let next = clinging("next", "1Mi");
    node.source.put_as_is("pods", vec![pod, next.clone()]);
    uses_memory(&node, &next, GIB);
    pass(12.0).await;
    node.usage.set(|seen| seen.memory = left(MIB));
    node.usage.report_shortage();
    pass(10.5).await;
    assert_eq!(evicted(&node, &["bomb", "next"]), [true, true]);
}

#[tokio::test(start_paused = true)]
async fn the_kernel_is_not_asked_for_reports_unless_the_operator_wants_them() {
    let node = started(&[("memory.available", "100Mi")], &[], &[]);
    pass(25.0).await;
    assert!(node.usage.watches().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_measured_evicts_no_one() {
    let node = started(&[("memory.available", "100Mi")], &[], &[]);
    node.source.put_as_is("pods", vec![clinging("a", "1Mi")]);
    pass(12.0).await;
    node.usage.set_down(true);
    node.usage.set(|seen| seen.memory = left(1));
    pass(30.0).await;
    assert_eq!(evicted(&node, &["a"]), [false]);
    assert_eq!(pressures(&node), ["MemoryPressure"]);
    node.usage.set_down(false);
    pass(11.0).await;
    assert_eq!(evicted(&node, &["a"]), [true]);
}

#[tokio::test(start_paused = true)]
async fn a_kill_of_the_agent_at_any_moment_of_an_eviction_doubles_and_loses_nothing() {
    for tenths in 0..=60 {
        let mut node = started(&[("memory.available", "100Mi")], &[], &[]);
        let (bomb, tame) = (clinging("bomb", "1Mi"), clinging("tame", "1Mi"));
        node.source.put_as_is("pods", vec![bomb.clone(), tame.clone()]);
        uses_memory(&node, &bomb, GIB);
        uses_memory(&node, &tame, MIB);
        pass(12.0).await;
        node.usage.set(|seen| seen.memory = left(1));
        // The next round is 20 s after the start.
        pass(7.0 + f64::from(tenths) / 20.0).await;
        node.kill();
        // Its memory is free as soon as it has ended.
        let has_ended = |node: &FakeNode| {
            node.runtime.log().iter().any(|line| line.contains("ended with 137 bomb-node1/app#0"))
        };
        let mut started = false;
        for _ in 0..1200 {
            if has_ended(&node) {
                node.usage.set(|seen| seen.memory = left(GIB));
            }
            if !std::mem::replace(&mut started, true) {
                node.start();
            }
            pass(0.05).await;
        }
        let shown = status(&node, "bomb");
        assert!(shown.starts_with("Failed Evicted app: ended 137"), "at {tenths}: {shown}");
        node.kill();
        node.start();
        pass(90.0).await;
        assert!(
            status(&node, "bomb").starts_with("Failed Evicted"),
            "at {tenths}: {}",
            status(&node, "bomb")
        );
        assert!(status(&node, "tame").starts_with("Running"), "at {tenths}: {}", status(&node, "tame"));
        let starts = node.runtime.starts().into_iter().filter(|start| start.pod == "bomb-node1").count();
        assert_eq!(starts, 1, "at {tenths}");
    }
}
