//! Pods that run and are judged again: put off, they go on as they are; refused, they end.

use serde_json::json;
use witlet_testkit::{Behaviour, FakeImage, FakeNode, container, pod};

use crate::support::{
    condition, ends_after, node, orders, pass, pod_with_uid, reported, sleeper, started, status,
};

const PENDING: &str = "witlet.dev/AdmissionPending";

/// A node on which these pods run, and whose restarted agent has to judge all again; the handlers put everything off.
async fn put_off(manifest: Vec<k8s_openapi::api::core::v1::Pod>) -> FakeNode {
    let mut node = started();
    ends_after(&node, "crasher:1", 1, 60);
    node.runtime.add_image("newer:1", FakeImage::present(Behaviour::Sleeps));
    node.source.put("p", manifest);
    pass(5.0).await;
    orders(&node);
    node.kill();
    node.config.readmit_on_restart = true;
    node.admission.set_defers(true);
    node
}

#[tokio::test(start_paused = true)]
async fn a_running_pod_whose_verdict_is_put_off_goes_on_is_restarted_and_counted() {
    let app = container("app", "crasher:1").request("cpu", "3");
    let mut node = put_off(vec![pod("web").container(app).build()]).await;
    node.start();
    pass(30.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
    let why = "True PluginLoading: handler fake is still being loaded";
    assert_eq!(condition(&node, "web", PENDING).as_deref(), Some(why));
    assert!(condition(&node, "web", "Ready").is_some_and(|ready| ready.starts_with("True")));
    let events = reported(&node, "web");
    let event = "AdmissionPending ×3 The pod keeps running unchanged: PluginLoading: handler fake is still being loaded\n";
    assert!(events.contains(event), "{events}");
    // What ended is started again, and a new pod finds the capacity taken.
    pass(60.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 1 restarts");
    let other = pod("other").container(container("app", "sleeper:1").request("cpu", "3")).build();
    node.source.put("q", vec![other]);
    pass(5.0).await;
    assert!(status(&node, "other").contains("Blocked("), "{}", status(&node, "other"));
    node.admission.set_defers(false);
    pass(20.0).await;
    assert_eq!(condition(&node, "web", PENDING), None);
    assert_eq!(status(&node, "web"), "Running app: running, 1 restarts");
    assert!(status(&node, "other").contains("UnexpectedAdmissionError"), "{}", status(&node, "other"));
    // The verdict stands from now on.
    node.config.readmit_on_restart = false;
    let asked = node.admission.asked().len();
    node.start();
    pass(20.0).await;
    assert!(!node.admission.asked()[asked..].iter().any(|name| name.starts_with("web")));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_made_of_a_spec_that_was_edited_until_it_is_admitted() {
    let manifest = |image: &str| {
        let app = json!({"name": "app", "image": image});
        vec![pod_with_uid("web", "uid-web", json!({"containers": [app]}))]
    };
    let mut node = put_off(manifest("sleeper:1")).await;
    node.config.readmit_on_restart = false;
    node.source.put("p", manifest("newer:1"));
    node.start();
    pass(60.0).await;
    assert_eq!(orders(&node), "");
    assert!(condition(&node, "web", PENDING).is_some());
    node.runtime.end_container("web-node1", "app", 1);
    pass(60.0).await;
    assert_eq!(orders(&node), "", "what ended would be another container now");
    node.state.set_full(true);
    node.admission.set_defers(false);
    pass(60.0).await;
    assert_eq!(orders(&node), "", "the admission isn't on disk");
    node.state.set_full(false);
    pass(20.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 1 restarts");
    assert_eq!(condition(&node, "web", PENDING), None);
}

#[tokio::test(start_paused = true)]
async fn a_running_pod_that_is_refused_in_the_end_ends_and_says_why() {
    let clash = |name: &str| pod(name).container(container("app", "sleeper:1").host_port(80)).build();
    let mut node = put_off(vec![clash("web")]).await;
    node.start();
    pass(20.0).await;
    assert_eq!(orders(&node), "");
    node.admission.set_refuses("web-node1");
    node.admission.set_defers(false);
    pass(30.0).await;
    assert!(orders(&node).contains("stop within 30s web-node1/app#0"));
    assert!(status(&node, "web").starts_with("Failed AsScripted app: ended 143"), "{}", status(&node, "web"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_waits_for_its_admission_for_longer_than_it_may_be_active_fails() {
    let mut node = node();
    node.admission.set_defers(true);
    node.start();
    let app = json!({"name": "app", "image": "sleeper:1"});
    let spec = json!({"activeDeadlineSeconds": 100, "containers": [app]});
    node.source.put("p", vec![pod_with_uid("web", "uid-web", spec), sleeper("other").build()]);
    pass(99.0).await;
    assert!(
        status(&node, "web").starts_with("Pending PluginLoading app: Blocked("),
        "{}",
        status(&node, "web")
    );
    pass(3.0).await;
    assert!(status(&node, "web").starts_with("Failed DeadlineExceeded"), "{}", status(&node, "web"));
    let events = reported(&node, "web");
    let event = "DeadlineExceeded ×1 Pod was active on the node longer than the specified deadline\n";
    assert!(events.contains(event), "{events}");
    node.admission.set_defers(false);
    pass(20.0).await;
    assert!(status(&node, "web").starts_with("Failed DeadlineExceeded"), "{}", status(&node, "web"));
    assert_eq!(status(&node, "other"), "Running app: running, 0 restarts");
    assert!(!orders(&node).contains("web"));
}
