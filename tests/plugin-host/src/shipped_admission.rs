//! The admission handler that ships turned off, and that of the examples, once a configuration turns them on.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::admission::Decision;
use witlet_wasm::plugin::PluginState;

use crate::node::{Node, Setting, cache, pod, pod_in};

crate::claims!(
    an_image_policy_holds_for_every_image_of_a_pod,
    a_pod_waits_for_its_time_window,
    a_wrong_configuration_is_refused_by_its_key,
);

/// Entries whose components are these.
async fn node(entries: &str) -> Node {
    let shipped = witlet_plugins::SHIPPED
        .iter()
        .filter(|shipped| shipped.name == "image-policy")
        .map(|shipped| (shipped.name, shipped.component));
    let files = vec![("time-window.wasm", witlet_test_guests::TIME_WINDOW.to_vec())];
    let setting =
        Setting { shipped: shipped.collect(), files, ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin(entries, setting).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

fn running(mut pod: Pod, image: &str) -> Pod {
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
        container.image = Some(image.to_owned());
    }
    pod
}

async fn an_image_policy_holds_for_every_image_of_a_pod() {
    let node = node(
        "- name: images\n  component: builtin:image-policy\n  admission: {match: {systemPods: true}}\n  limits: {timeout: 10s}\n  config:\n    \
         allow: [registry.example.com, \"docker.io/library/*\"]\n    exemptNamespaces: [kube-system]\n",
    )
    .await;
    for (pod, expected) in [
        (running(pod("own"), "registry.example.com/team/app:1"), ""),
        (running(pod("library"), "nginx"), ""),
        (
            running(pod("other"), "team/app"),
            "container \"main\": image docker.io/team/app is not from an allowed repository",
        ),
        (running(pod_in("kube-system", "exempt"), "team/app"), ""),
    ] {
        let found = match node.admit(pod).await {
            Decision::Admit => String::new(),
            refusal => match node.unsigned("images", refusal) {
                Decision::Reject { reason, message, .. } if reason == "ImageNotAllowed" => message,
                other => panic!("{other:?}"),
            },
        };
        assert_eq!(found, expected);
    }
}

async fn a_pod_waits_for_its_time_window() {
    // The tests' clock stands at 03:04:05.678 on a Friday.
    let node = node(
        "- name: nights\n  component: time-window.wasm\n  admission: {}\n  limits: {timeout: 10s}\n  config:\n    \
         pods: {namespaces: [batch]}\n    windows: [{days: [Fri], from: \"03:05\", to: \"03:06\"}]\n\
         - name: nights-in-the-east\n  component: time-window.wasm\n  admission: {}\n  limits: {timeout: 10s}\n  config:\n    \
         utcOffset: \"+09:00\"\n    windows: [{from: \"12:00\", to: \"13:00\"}]\n",
    )
    .await;
    assert_eq!(node.admit(pod("anytime")).await, Decision::Admit);
    let expected = Decision::Defer {
        reason: "OutsideTimeWindow".to_owned(),
        message: "the next time window opens at 2026-01-02T03:05:00Z".to_owned(),
        retry_after: Duration::from_secs(55),
    };
    assert_eq!(node.refused_by("nights", pod_in("batch", "later")).await, expected);
}

async fn a_wrong_configuration_is_refused_by_its_key() {
    let node = node(
        "- {name: images, component: \"builtin:image-policy\", admission: {}, config: {allow: [\"a/b:1\"]}}\n\
         - {name: nights, component: time-window.wasm, admission: {}, config: {windows: [{from: \"9\", to: \"10:00\"}]}}\n",
    )
    .await;
    for (name, words) in [
        ("images", "allow[0]: tags and digests aren't matched"),
        ("nights", "windows[0].from: \"9\" isn't a time"),
    ] {
        let status = node.status(name);
        assert_eq!(status.state, PluginState::Failed, "{name}");
        assert!(status.detail.as_deref().is_some_and(|detail| detail.contains(words)), "{:?}", status.detail);
    }
    assert!(matches!(node.admit(pod("web")).await, Decision::Defer { .. }), "nothing runs unchecked");
}
