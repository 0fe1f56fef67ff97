//! The node's object on a small API server, on paused time.

mod outage;
mod overlay;
mod rig;

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use tokio::time::sleep;
use witlet_api_server::{Effect, Fault};

use super::*;
use rig::{Rig, existing};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_new_node_is_registered_and_reported_ready_as_soon_as_it_is() {
    let mut rig = Rig::new();
    rig.view.set_ready(false);
    rig.start();
    sleep(Duration::from_millis(50)).await;
    let node = rig.node().expect("Successfully registered node");
    let labels = node.metadata.labels.clone().unwrap_or_default();
    assert_eq!(labels.get("beta.kubernetes.io/os").map(String::as_str), Some("linux"));
    assert_eq!(
        rig.conditions(),
        ["MemoryPressure False", "DiskPressure False", "PIDPressure False", "Ready False"]
    );
    sleep(Duration::from_millis(3_000)).await;
    rig.view.set_ready(true);
    sleep(Duration::from_millis(200)).await;
    assert_eq!(rig.conditions().last().map(String::as_str), Some("Ready True"));
    assert_eq!(
        rig.recorded(),
        [
            "Normal NodeHasSufficientMemory Node node1 status is now: NodeHasSufficientMemory",
            "Normal NodeHasNoDiskPressure Node node1 status is now: NodeHasNoDiskPressure",
            "Normal NodeHasSufficientPID Node node1 status is now: NodeHasSufficientPID",
        ]
    );
    assert_eq!(rig.server.count("create nodes"), 1);
    assert_eq!(rig.server.count("get nodes"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_hour_without_news_is_a_report_each_five_minutes_and_nothing_else() {
    let mut rig = Rig::new();
    rig.start();
    sleep(60 * SECOND).await;
    rig.server.clear_requests();
    sleep(3600 * SECOND).await;
    let counts = rig.server.counts();
    println!("requests about the node in an hour: {counts:?}");
    let patches = counts.get("patch nodes/status").copied().unwrap_or_default();
    assert!((11..=13).contains(&patches), "{counts:?}");
    let others: Vec<_> =
        counts.keys().filter(|key| *key != "patch nodes/status" && *key != "watch nodes").collect();
    assert!(others.is_empty(), "{counts:?}");
    assert!(counts.get("watch nodes").copied().unwrap_or_default() <= 13, "{counts:?}");
    let body =
        rig.server.requests().into_iter().find(|r| r.action() == "patch nodes/status").map(|r| r.json());
    let body = body.expect("there are patches");
    let beats = body.pointer("/status/conditions").and_then(|all| all.as_array()).expect("conditions");
    assert_eq!(
        (beats.len(), body.pointer("/status").and_then(|s| s.as_object()).map(|s| s.len())),
        (4, Some(1))
    );
}

#[tokio::test(start_paused = true)]
async fn a_change_of_ready_or_of_a_pressure_is_sent_at_once() {
    let mut rig = Rig::new();
    rig.start();
    sleep(25 * SECOND).await;
    rig.view.set_ready(false);
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(rig.conditions().last().map(String::as_str), Some("Ready False"));
    rig.view.set_ready(true);
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(rig.conditions().last().map(String::as_str), Some("Ready True"));

    rig.view.set_memory_pressure(true);
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(rig.conditions()[0], "MemoryPressure True");
    assert!(rig.recorded().iter().any(|line| line.contains("NodeHasInsufficientMemory")));
    rig.view.set_memory_pressure(false);
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(rig.conditions()[0], "MemoryPressure False");
}

#[tokio::test(start_paused = true)]
async fn the_set_of_plugins_that_runs_is_written_into_annotations_at_once_and_taken_out_again() {
    let mut rig = Rig::new();
    rig.start();
    sleep(25 * SECOND).await;
    rig.server
        .patch::<Node>("", "node1", "", json!({"metadata": {"annotations": {"others": "1"}}}))
        .expect("patched");
    let text = |text: &str| Some(text.to_owned());
    let reports = [
        SetReport { running: text("oci://a@sha256:1"), message: text("oci://a@sha256:2: it doesn't load") },
        SetReport { running: text("oci://a@sha256:2"), message: None },
        SetReport::default(),
    ];
    for report in reports {
        rig.view.set_plugin_set(&report);
        sleep(Duration::from_millis(1_100)).await;
        let node = rig.node().expect("the node is there");
        assert_eq!(SetReport::of(&node), report);
        assert_eq!(node.metadata.annotations.and_then(|all| all.get("others").cloned()), text("1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_there_keeps_what_is_others_and_stays_ready_over_a_restart() {
    let mut rig = Rig::new();
    rig.server.create(&existing("boot-0")).expect("created");
    rig.view.set_ready(false);
    rig.start();
    sleep(2 * SECOND).await;
    let node = rig.node().expect("the node is there");
    let labels = node.metadata.labels.clone().unwrap_or_default();
    assert_eq!(
        (labels.get("others").map(String::as_str), labels.contains_key("kubernetes.io/os")),
        (Some("1"), true)
    );
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
    assert_eq!(taints.first().map(|taint| taint.key.as_str()), Some("others"));
    assert!(rig.conditions().contains(&"Ready True".to_owned()), "no one is moved away for a restart");
    assert!(rig.conditions().contains(&"NetworkUnavailable False".to_owned()));
    let reboots: Vec<String> = rig.recorded().into_iter().filter(|line| line.contains("Rebooted")).collect();
    assert_eq!(reboots, ["Warning Rebooted Node node1 has been rebooted, boot id: boot-1"]);
    sleep(40 * SECOND).await;
    assert!(rig.conditions().contains(&"Ready False".to_owned()), "but not for ever");

    rig.restart();
    sleep(60 * SECOND).await;
    let reboots = rig.recorded().into_iter().filter(|line| line.contains("Rebooted")).count();
    assert_eq!(reboots, 1, "a restart of the agent is no start of the machine");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_someone_deletes_is_registered_again() {
    let mut rig = Rig::new();
    rig.start();
    sleep(30 * SECOND).await;
    let uid = |node: Option<Node>| node.and_then(|node| node.metadata.uid);
    let before = uid(rig.node());
    rig.server.delete::<Node>("", "node1", Some(0)).expect("deleted");
    sleep(2 * SECOND).await;
    let after = uid(rig.node());
    assert!(after.is_some() && after != before);
    assert_eq!(rig.conditions().last().map(String::as_str), Some("Ready True"));

    // The same while no watch can tell: the next report finds out.
    rig.server.fault(Fault::new(Effect::code(500)).verb("watch").on("nodes"));
    rig.server.fault(Fault::new(Effect::code(500)).verb("list").on("nodes"));
    rig.server.end_watches();
    rig.server.delete::<Node>("", "node1", Some(0)).expect("deleted");
    sleep(400 * SECOND).await;
    assert!(uid(rig.node()).is_some_and(|uid| Some(uid) != after));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_isnt_registered_here_is_waited_for() {
    let mut rig = Rig::new();
    rig.options.register = false;
    rig.start();
    sleep(60 * SECOND).await;
    assert_eq!((rig.node(), rig.server.count("create nodes")), (None, 0));
    rig.server.create(&existing("boot-1")).expect("created");
    sleep(8 * SECOND).await;
    assert!(rig.conditions().contains(&"MemoryPressure False".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn who_cordons_the_node_is_reported() {
    let mut rig = Rig::new();
    rig.start();
    sleep(5 * SECOND).await;
    rig.server.patch::<Node>("", "node1", "", json!({"spec": {"unschedulable": true}})).expect("patched");
    sleep(11 * SECOND).await;
    rig.server.patch::<Node>("", "node1", "", json!({"spec": {"unschedulable": null}})).expect("patched");
    sleep(11 * SECOND).await;
    let recorded: Vec<String> =
        rig.recorded().into_iter().filter(|line| line.contains("chedulable")).collect();
    assert_eq!(
        recorded,
        [
            "Normal NodeNotSchedulable Node node1 status is now: NodeNotSchedulable",
            "Normal NodeSchedulable Node node1 status is now: NodeSchedulable",
        ]
    );
}
