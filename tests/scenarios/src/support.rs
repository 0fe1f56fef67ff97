//! What the scenarios on fakes share.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use serde_json::{Value, json};
use witlet_core::event::EventObject;
use witlet_core::pod::defaults;
use witlet_ports::{AgentView, PodView};
use witlet_testkit::{Behaviour, ExecScript, FakeImage, FakeNode, PodBuilder, pod};

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

/// A pod from its spec.
pub(crate) fn from_spec(name: &str, spec: Value) -> Pod {
    let metadata = json!({"name": name, "namespace": "default"});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("the test's spec is one")
}

/// A pod that stays the same one when it is edited.
pub(crate) fn pod_with_uid(name: &str, uid: &str, spec: Value) -> Pod {
    let mut pod = from_spec(name, spec);
    pod.metadata.uid = Some(uid.to_owned());
    pod
}

/// An image whose process ends by itself.
pub(crate) fn ends_after(node: &FakeNode, image: &str, code: i32, seconds: u64) {
    let behaviour = Behaviour::Exits { code, after: Duration::from_secs(seconds) };
    node.runtime.add_image(image, FakeImage::present(behaviour));
}

/// How a command goes that takes these seconds.
pub(crate) fn takes(seconds: u64) -> ExecScript {
    ExecScript { takes: Duration::from_secs(seconds), ..ExecScript::default() }
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

/// The pod's status.
pub(crate) fn status_of(node: &FakeNode, name: &str) -> PodStatus {
    shown(node, name).and_then(|pod| pod.status).expect("the pod is shown with a status")
}

/// The status of a container of whatever kind.
pub(crate) fn container_of(node: &FakeNode, pod: &str, name: &str) -> ContainerStatus {
    let status = status_of(node, pod);
    let all =
        [status.init_container_statuses, status.container_statuses, status.ephemeral_container_statuses];
    let mut all = all.into_iter().flatten().flatten();
    all.find(|status| status.name == name).expect("the container has a status")
}

/// A condition of the pod, as `status reason: message`; none if the pod doesn't have it.
pub(crate) fn condition(node: &FakeNode, name: &str, kind: &str) -> Option<String> {
    let conditions = status_of(node, name).conditions.unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition.type_ == kind)?;
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let reason = text(found.reason).map(|reason| format!(" {reason}")).unwrap_or_default();
    let message = text(found.message).map(|message| format!(": {message}")).unwrap_or_default();
    Some(format!("{}{reason}{message}", found.status))
}

/// Events about the pod, without the one that there is no cluster, which every pod has.
pub(crate) fn reported(node: &FakeNode, name: &str) -> String {
    let lines = events(node, name);
    let lines = lines.lines().filter(|line| !line.starts_with("MissingClusterDNS"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Whatever is there of pods: in the runtime, on disk, in what the agent remembers. One a line.
pub(crate) async fn left(node: &FakeNode) -> String {
    let mut left = Vec::new();
    for pod in node.runtime.list_pods().await.expect("the runtime is up").iter() {
        left.push(format!("runtime {} {:?} {:?}", pod.name, pod.sandboxes, pod.containers));
    }
    left.extend(node.machine.volumes().into_iter().map(|volume| format!("volume {volume}")));
    left.extend(node.machine.links().into_keys().map(|link| format!("link {link}")));
    left.extend(node.files.uids().into_iter().map(|uid| format!("folder {uid}")));
    let remembered = |value: &String| value.contains("\"uid\"") || value.contains("node1");
    let values = node.state.values().into_iter().filter(|(_, value)| remembered(value));
    left.extend(values.map(|(name, value)| format!("state {name} {value}")));
    left.join("\n")
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

/// A pod of an API server that is bound to this node.
pub(crate) fn bound_pod(name: &str, spec: Value) -> Pod {
    let metadata = json!({
        "name": name, "namespace": "default", "uid": format!("uid-{name}"),
        "creationTimestamp": "2029-12-31T23:59:59Z",
        "annotations": {"kubernetes.io/config.source": "api"},
    });
    let mut pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod");
    pod.spec.get_or_insert_default().node_name = Some("node1".to_owned());
    defaults::apply(&mut pod);
    pod
}
