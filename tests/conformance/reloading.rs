//! Changed files take effect, and broken ones don't.

use witlet_core::admission::Decision;
use witlet_wasm::plugin::PluginState;

use crate::claims;
use crate::node::{Node, configuration, hostile, pod, write};

claims!(
    a_changed_configuration_is_taken_and_told,
    a_broken_configuration_leaves_the_old_plugins_running,
    a_changed_component_is_swapped_in,
    a_broken_component_leaves_the_old_one_running,
    a_missing_component_is_loaded_when_it_appears,
);

async fn a_changed_configuration_is_taken_and_told() {
    let node = Node::with(&hostile("one", "admit", "")).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
    let mut generation = node.host.admission().generation();
    generation.mark_unchanged();
    node.configure(&configuration(&hostile("one", "reject", "")));
    let told = tokio::time::timeout(crate::node::PATIENCE, generation.changed()).await;
    assert!(matches!(told, Ok(Ok(()))), "the change was told");
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }));
    node.configure(&configuration(""));
    node.until("the plugin is gone", |node| node.host.list().is_empty()).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}

async fn a_broken_configuration_leaves_the_old_plugins_running() {
    let node = Node::with(&hostile("one", "reject", "")).await;
    node.configure(&configuration("- {name: two, component: x.wasm, admission: {}, limits: {timeout: 5}}\n"));
    node.until("the error is told", |node| node.host.file_error().is_some()).await;
    let error = node.host.file_error().unwrap_or_default();
    assert!(
        error.contains("plugins.yaml") && error.contains("line 4") && error.contains("duration"),
        "{error}"
    );
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "the old one still decides");
    assert_eq!(node.events.reasons(), ["PluginConfigurationInvalid"]);
    node.configure(&configuration(&hostile("one", "admit", "")));
    node.until("the error is gone", |node| node.host.file_error().is_none()).await;
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}

async fn a_changed_component_is_swapped_in() {
    let entry = "- {name: swapped, component: swapped.wasm, admission: {}, config: null}\n";
    let node = Node::with("").await;
    write(&node.folder.path().join("swapped.wasm"), witlet_test_guests::HOSTILE);
    node.configure(&configuration(entry));
    node.until("it is loaded", |node| {
        node.host.list().iter().any(|status| status.state == PluginState::Ready)
    })
    .await;
    let before = node.status("swapped").digest;
    write(&node.folder.path().join("swapped.wasm"), witlet_test_guests::NO_LATEST_TAG);
    node.until("it is swapped", |node| node.status("swapped").digest != before).await;
    let mut latest = pod("latest");
    if let Some(spec) = &mut latest.spec {
        spec.containers[0].image = Some("app:latest".to_owned());
    }
    assert!(matches!(node.admit(latest).await, Decision::Reject { .. }), "the new one decides");
}

async fn a_broken_component_leaves_the_old_one_running() {
    let node = Node::with(&hostile("one", "reject", "")).await;
    write(&node.folder.path().join("hostile.wasm"), witlet_test_guests::core_module());
    node.until("the error is told", |node| node.status("one").pending.is_some()).await;
    let status = node.status("one");
    assert_eq!(status.state, PluginState::Ready);
    assert!(status.pending.is_some_and(|pending| pending.contains("core module")));
    assert!(matches!(node.admit(pod("web")).await, Decision::Reject { .. }), "the old one still decides");
    write(&node.folder.path().join("hostile.wasm"), witlet_test_guests::HOSTILE);
    node.until("the error is gone", |node| node.status("one").pending.is_none()).await;
}

async fn a_missing_component_is_loaded_when_it_appears() {
    let node = Node::with("- {name: late, component: late.wasm, admission: {}, config: admit}\n").await;
    assert!(matches!(node.admit(pod("web")).await, Decision::Defer { .. }));
    let generation = node.host.admission().generation();
    write(&node.folder.path().join("late.wasm"), witlet_test_guests::HOSTILE);
    node.until("it is loaded", |node| node.status("late").state == PluginState::Ready).await;
    assert!(generation.has_changed().unwrap_or(false), "deferred pods are asked for again");
    assert_eq!(node.admit(pod("web")).await, Decision::Admit);
}
