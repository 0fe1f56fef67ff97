//! What the scenarios on fakes share.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use witlet_core::event::EventObject;
use witlet_ports::AgentView;
use witlet_testkit::{Behaviour, FakeImage, FakeNode, PodBuilder, pod};

/// A node that has the image `sleeper:1`, whose agent doesn't run yet.
pub(crate) fn node() -> FakeNode {
    let node = FakeNode::new();
    node.runtime.add_image("sleeper:1", FakeImage::present(Behaviour::Sleeps));
    node
}

/// The same with a running agent.
pub(crate) fn started() -> FakeNode {
    let mut node = node();
    node.start();
    node
}

/// A pod that runs until asked to stop.
pub(crate) fn sleeper(name: &str) -> PodBuilder {
    pod(name).image("sleeper:1")
}

/// Lets this much time pass, with everything that happens in it.
pub(crate) async fn pass(seconds: f64) {
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
}

/// The runtime's orders so far, one a line; then forgets them.
pub(crate) fn orders(node: &FakeNode) -> String {
    let log = node.runtime.log();
    node.runtime.clear_log();
    log.iter().map(|line| format!("{line}\n")).collect()
}

/// The pod of this name, as the agent shows it.
pub(crate) fn shown(node: &FakeNode, name: &str) -> Option<Pod> {
    let full = format!("{name}-node1");
    let pods = node.agent().pods();
    pods.iter().rfind(|pod| pod.metadata.name.as_ref() == Some(&full)).map(|pod| Pod::clone(pod))
}

/// `Phase reason: message`, then each container, as people read a status.
pub(crate) fn status(node: &FakeNode, name: &str) -> String {
    let Some(pod) = shown(node, name) else { return "not shown".to_owned() };
    let Some(status) = pod.status else { return "no status".to_owned() };
    let mut words = vec![status.phase.unwrap_or_default()];
    words.extend(status.reason);
    words.extend(status.container_statuses.iter().flatten().map(container));
    words.join(" ")
}

fn container(status: &ContainerStatus) -> String {
    let state = status.state.clone().unwrap_or_default();
    let text = match (state.running, state.waiting, state.terminated) {
        (Some(_), _, _) => "running".to_owned(),
        (_, Some(waiting), _) => {
            format!("{}({})", waiting.reason.unwrap_or_default(), waiting.message.unwrap_or_default())
        }
        (_, _, Some(ended)) => format!("ended {}", ended.exit_code),
        _ => "unknown".to_owned(),
    };
    format!("{}: {text}, {} restarts", status.name, status.restart_count)
}

/// Events about the pod of this name: reason, how often, message.
pub(crate) fn events(node: &FakeNode, name: &str) -> String {
    let full = format!("{name}-node1");
    let events = node.agent().events().into_iter().filter(|recorded| match &recorded.event.object {
        EventObject::Pod { full_name, .. } => *full_name.name == *full,
        EventObject::Node | EventObject::Plugin(_) | EventObject::Source { .. } => false,
    });
    events.map(|e| format!("{} ×{} {}\n", e.event.reason, e.count, e.event.message)).collect()
}
