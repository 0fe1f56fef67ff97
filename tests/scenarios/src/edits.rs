//! Running pods are edited: images and ephemeral containers, which admission is asked about.

use std::time::Duration;

use expect_test::expect;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use witlet_core::admission::{Decision, Operation};
use witlet_testkit::{Behaviour, FakeImage, FakeNode};

use crate::support::{condition, node, orders, pass, pod_with_uid, reported, status};

const IMAGES: &str = "witlet.dev/ImageUpdatePending";
const EPHEMERAL: &str = "witlet.dev/EphemeralContainersPending";

/// The pod `web` with this image, and with ephemeral containers of these names.
fn web(image: &str, ephemeral: &[&str]) -> Vec<Pod> {
    let added: Vec<Value> =
        ephemeral.iter().map(|name| json!({"name": name, "image": "sleeper:1"})).collect();
    let mut spec = json!({"containers": [{"name": "app", "image": image}]});
    if !added.is_empty() {
        spec["ephemeralContainers"] = added.into();
    }
    vec![pod_with_uid("web", "u1", spec)]
}

fn reject() -> Decision {
    Decision::Reject {
        reason: "NotNeeded".to_owned(),
        message: "no (plugin images)".to_owned(),
        handler: Some("images".to_owned()),
    }
}

fn defer() -> Decision {
    Decision::Defer {
        reason: "NotNow".to_owned(),
        message: "later".to_owned(),
        retry_after: Duration::from_secs(20),
    }
}

/// A node whose handlers answer so to edits of this kind, and on which `web` runs with `sleeper:1`.
async fn running(operation: Operation, decision: Decision) -> FakeNode {
    let mut node = node();
    for image in ["newer:1", "newer:2"] {
        node.runtime.add_image(image, FakeImage::present(Behaviour::Sleeps));
    }
    node.admission.set_answer(operation, Some(decision));
    node.start();
    node.source.put("p", web("sleeper:1", &[]));
    pass(5.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts");
    orders(&node);
    node
}

/// The image of the newest container `app`.
fn image(node: &FakeNode) -> String {
    node.runtime.container_spec("web-node1", "app").expect("it was made").user_specified_image
}

/// How often the handlers were asked about an edit of an image.
fn asked(node: &FakeNode) -> usize {
    node.admission.asked().iter().filter(|asked| asked.starts_with("web-node1 updated")).count()
}

fn warnings(node: &FakeNode) -> String {
    let all = reported(node, "web");
    let lines = all.lines().filter(|line| line.starts_with("NotNeeded") || line.starts_with("NotNow"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_refused_image_leaves_the_old_container_running_with_an_event_and_a_condition() {
    let node = running(Operation::Update, reject()).await;
    node.source.put("p", web("newer:1", &[]));
    pass(60.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(
        condition(&node, "web", IMAGES).as_deref(),
        Some("True Rejected: NotNeeded: no (plugin images)")
    );
    expect![[r#"
        NotNeeded ×1 Image update rejected, the containers keep their images: no (plugin images)
    "#]]
    .assert_eq(&warnings(&node));
    assert_eq!(asked(&node), 1, "it isn't asked about again while nothing changes");
    let request = node.admission.scripted_questions().remove(0);
    let image_of = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.containers[0].image.clone());
    assert_eq!(image_of(&request.pod).as_deref(), Some("newer:1"));
    assert_eq!(request.old_pod.as_deref().and_then(image_of).as_deref(), Some("sleeper:1"));
    // What ends is started again as it was, and all else of the pod goes its way.
    node.runtime.end_container("web-node1", "app", 1);
    pass(30.0).await;
    assert_eq!(
        (status(&node, "web").as_str(), image(&node).as_str()),
        ("Running app: running, 1 restarts", "sleeper:1")
    );
    let mut labelled = web("newer:1", &[]);
    labelled[0].metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    node.source.put("p", labelled);
    pass(60.0).await;
    assert_eq!((asked(&node), image(&node).as_str()), (1, "sleeper:1"));
    // Another edit is another question.
    node.source.put("p", web("newer:2", &[]));
    pass(5.0).await;
    assert_eq!(asked(&node), 2);
    node.source.remove("p");
    pass(60.0).await;
    assert_eq!(status(&node, "web"), "not shown");
}

#[tokio::test(start_paused = true)]
async fn an_admitted_image_is_made_once_that_is_on_disk() {
    let node = running(Operation::Update, Decision::Admit).await;
    node.state.set_full(true);
    node.source.put("p", web("newer:1", &[]));
    pass(20.0).await;
    assert_eq!((asked(&node), orders(&node).as_str()), (1, ""), "the admission isn't on disk");
    node.state.set_full(false);
    pass(30.0).await;
    assert_eq!(
        (status(&node, "web").as_str(), image(&node).as_str()),
        ("Running app: running, 1 restarts", "newer:1")
    );
    assert_eq!((condition(&node, "web", IMAGES), warnings(&node).as_str()), (None, ""));
    assert_eq!(asked(&node), 1);
}

#[tokio::test(start_paused = true)]
async fn where_no_handler_answers_an_edit_is_made_at_once_and_nothing_is_asked() {
    let node = running(Operation::Ephemeral, reject()).await;
    node.source.put("p", web("newer:1", &[]));
    pass(5.0).await;
    assert_eq!((image(&node).as_str(), asked(&node)), ("newer:1", 0));
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_put_off_is_asked_about_again_and_made_when_it_is_admitted() {
    let node = running(Operation::Update, defer()).await;
    node.source.put("p", web("newer:1", &[]));
    pass(50.0).await;
    assert_eq!((asked(&node), orders(&node).as_str()), (3, ""));
    assert_eq!(condition(&node, "web", IMAGES).as_deref(), Some("True Deferred: NotNow: later"));
    expect![[r#"
        NotNow ×1 Image update deferred, the containers keep their images: later
    "#]]
    .assert_eq(&warnings(&node));
    node.admission.set_answer(Operation::Update, Some(Decision::Admit));
    pass(10.0).await;
    assert_eq!((image(&node).as_str(), condition(&node, "web", IMAGES)), ("newer:1", None));
}

#[tokio::test(start_paused = true)]
async fn a_refused_image_is_asked_about_again_when_the_handlers_change() {
    let node = running(Operation::Update, reject()).await;
    node.source.put("p", web("newer:1", &[]));
    pass(5.0).await;
    node.admission.change();
    pass(5.0).await;
    assert_eq!((asked(&node), orders(&node).as_str()), (2, ""));
    assert_eq!(warnings(&node).lines().count(), 1, "one event for one refused edit");
    // The handler is gone, and no other one answers.
    node.admission.set_answer(Operation::Update, None);
    pass(10.0).await;
    assert_eq!((asked(&node), image(&node).as_str(), condition(&node, "web", IMAGES)), (2, "newer:1", None));
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_handlers_that_were_replaced_meanwhile_refuses_nothing() {
    let node = running(Operation::Update, reject()).await;
    node.admission.set_delay(Duration::from_secs(3));
    node.source.put("p", web("newer:1", &[]));
    pass(1.0).await;
    // The answer to come is still the old handlers'.
    node.admission.change();
    pass(4.0).await;
    assert_eq!((asked(&node), condition(&node, "web", IMAGES)), (2, None));
    pass(5.0).await;
    assert!(condition(&node, "web", IMAGES).is_some());
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_is_taken_back_is_asked_about_no_more() {
    let node = running(Operation::Update, reject()).await;
    node.admission.set_delay(Duration::from_secs(3));
    node.source.put("p", web("newer:1", &[]));
    pass(1.0).await;
    node.source.put("p", web("sleeper:1", &[]));
    pass(10.0).await;
    assert_eq!((warnings(&node).as_str(), condition(&node, "web", IMAGES)), ("", None), "while it was asked");
    node.source.put("p", web("newer:1", &[]));
    pass(10.0).await;
    assert!(condition(&node, "web", IMAGES).is_some());
    node.source.put("p", web("sleeper:1", &[]));
    pass(10.0).await;
    assert_eq!((asked(&node), condition(&node, "web", IMAGES), orders(&node).as_str()), (2, None, ""));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_deleted_while_it_is_asked_about_ends_and_is_not_changed() {
    let node = running(Operation::Update, Decision::Admit).await;
    node.admission.set_delay(Duration::from_secs(3));
    node.source.put("p", web("newer:1", &[]));
    pass(1.0).await;
    node.source.remove("p");
    pass(60.0).await;
    let log = orders(&node);
    assert!(log.contains("stop within 30s web-node1/app#0") && !log.contains("create"), "{log}");
    assert_eq!(status(&node, "web"), "not shown");
}

#[tokio::test(start_paused = true)]
async fn a_refused_ephemeral_container_is_not_started_and_an_admitted_one_is() {
    let node = running(Operation::Ephemeral, reject()).await;
    node.source.put("p", web("sleeper:1", &["debug"]));
    pass(30.0).await;
    assert_eq!(orders(&node), "");
    assert_eq!(
        condition(&node, "web", EPHEMERAL).as_deref(),
        Some("True Rejected: NotNeeded: no (plugin images)")
    );
    expect![[r#"
        NotNeeded ×1 Ephemeral containers rejected: no (plugin images)
    "#]]
    .assert_eq(&warnings(&node));
    // An image that no one is asked about goes its way.
    node.source.put("p", web("newer:1", &["debug"]));
    pass(10.0).await;
    assert_eq!(image(&node), "newer:1");
    orders(&node);
    node.admission.set_answer(Operation::Ephemeral, Some(Decision::Admit));
    pass(10.0).await;
    expect![[r#"
        45.000 create web-node1/debug#0
        45.000 start web-node1/debug#0
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(condition(&node, "web", EPHEMERAL), None);
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_before_a_restart_is_refused_after_it() {
    let mut node = running(Operation::Update, reject()).await;
    node.source.put("p", web("newer:1", &[]));
    pass(5.0).await;
    for _ in 0..2 {
        node.start();
        pass(20.0).await;
        assert_eq!(
            (orders(&node).as_str(), status(&node, "web").as_str()),
            ("", "Running app: running, 0 restarts")
        );
        assert!(condition(&node, "web", IMAGES).is_some());
        assert_eq!(warnings(&node).lines().count(), 1);
    }
    node.runtime.end_container("web-node1", "app", 1);
    pass(30.0).await;
    assert_eq!(image(&node), "sleeper:1");
    node.admission.set_answer(Operation::Update, Some(Decision::Admit));
    pass(10.0).await;
    assert_eq!(image(&node), "newer:1");
    let asked_before = asked(&node);
    node.start();
    pass(20.0).await;
    assert_eq!((asked(&node), image(&node).as_str()), (asked_before, "newer:1"), "the verdict stands");
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_was_made_while_the_agent_was_away_gets_the_answer_of_one_that_it_saw() {
    for (decision, expected) in
        [(reject(), "sleeper:1"), (defer(), "sleeper:1"), (Decision::Admit, "newer:1")]
    {
        let mut node = running(Operation::Update, decision).await;
        node.kill();
        node.source.put("p", web("newer:1", &["debug"]));
        node.start();
        pass(30.0).await;
        let names = node.admission.asked();
        assert_eq!(names.iter().filter(|name| name.starts_with("web-node1 with")).count(), 1, "{names:?}");
        assert!(asked(&node) >= 1 && image(&node) == expected, "{expected}: {names:?}");
        assert!(status(&node, "web").starts_with("Running app: running"), "{}", status(&node, "web"));
        assert_eq!(condition(&node, "web", IMAGES).is_some(), expected == "sleeper:1");
        assert!(node.runtime.container_spec("web-node1", "debug").is_some(), "no handler is asked about it");
    }
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_refused_ends_no_pod_whose_tolerations_were_edited_while_the_agent_was_away() {
    let edited = |image: &str| {
        let mut pods = web(image, &[]);
        let spec = pods[0].spec.as_mut().expect("it has one");
        let toleration = json!([{"key": "gpu", "operator": "Exists"}]);
        spec.tolerations = Some(serde_json::from_value(toleration).expect("tolerations"));
        spec.active_deadline_seconds = Some(86_400);
        pods
    };
    for is_seen in [true, false] {
        let mut node = running(Operation::Update, reject()).await;
        if is_seen {
            node.source.put("p", web("newer:1", &[]));
            pass(5.0).await;
        }
        node.kill();
        // As a new pod it would be refused, and end.
        node.admission.set_refuses("web-node1");
        let before = node.admission.asked().len();
        node.source.put("p", edited("newer:1"));
        node.start();
        pass(60.0).await;
        assert_eq!(status(&node, "web"), "Running app: running, 0 restarts", "{is_seen}");
        assert_eq!((orders(&node).as_str(), image(&node).as_str()), ("", "sleeper:1"), "{is_seen}");
        assert!(condition(&node, "web", IMAGES).is_some(), "{is_seen}: the image alone is refused");
        let names = node.admission.asked().split_off(before);
        assert!(!names.iter().any(|name| name.starts_with("web-node1 with")), "{is_seen}: {names:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_resize_goes_on_next_to_a_refused_image() {
    let node = running(Operation::Update, reject()).await;
    let with = |image: &str, cpu: &str| {
        let resources = json!({"requests": {"cpu": cpu}, "limits": {"cpu": cpu}});
        let app = json!({"name": "app", "image": image, "resources": resources});
        vec![pod_with_uid("sized", "u2", json!({"containers": [app]}))]
    };
    node.source.put("q", with("sleeper:1", "1"));
    pass(5.0).await;
    orders(&node);
    node.source.put("q", with("newer:1", "2"));
    pass(10.0).await;
    expect![[r#"
        10.000 update cpu 200000 memory 0 sized-node1/app#0
    "#]]
    .assert_eq(&orders(&node));
    assert!(condition(&node, "sized", IMAGES).is_some());
    assert_eq!(condition(&node, "sized", "PodResizePending"), None);
}
