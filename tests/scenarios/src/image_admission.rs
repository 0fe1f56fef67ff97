//! Admission is asked about the images that containers start from, once they are on the node.

use std::time::Duration;

use expect_test::expect;
use k8s_openapi::api::core::v1::{LocalObjectReference, Pod};
use serde_json::json;
use witlet_core::admission::Decision;
use witlet_core::image::{CredentialOrigin, ResolvedImage};
use witlet_testkit::{Behaviour, FakeImage, FakeNode};

use crate::support::{node, orders, pass, pod_with_uid, reported, status};

/// The image that handlers have something to say about.
const IMAGE: &str = "unsigned:1";

fn reject() -> Decision {
    Decision::Reject {
        reason: "NotSigned".to_owned(),
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

/// A pod whose first container has that image, and whose second has another.
fn two() -> Vec<Pod> {
    let containers = [json!({"name": "app", "image": IMAGE}), json!({"name": "side", "image": "sleeper:1"})];
    vec![pod_with_uid("web", "u1", json!({"containers": containers}))]
}

/// A running agent whose handlers answer so about the image, which has to be pulled.
fn answering(decision: Option<Decision>) -> FakeNode {
    let mut node = node();
    node.runtime.add_image(IMAGE, FakeImage { size: 7, ..FakeImage::absent(Behaviour::Sleeps) });
    node.admission.set_image_answer(IMAGE, decision);
    node.start();
    node
}

/// How often the handlers were asked about this image.
fn asked(node: &FakeNode, image: &str) -> usize {
    let question = format!("web-node1 image {image} with 0");
    node.admission.asked().iter().filter(|asked| **asked == question).count()
}

fn warnings(node: &FakeNode) -> String {
    let all = reported(node, "web");
    let lines = all.lines().filter(|line| line.starts_with("NotSigned") || line.starts_with("NotNow"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_container_of_a_rejected_image_waits_while_the_others_run() {
    let node = answering(Some(reject()));
    node.source.put("p", two());
    pass(100.0).await;
    expect![[r#"
        0.000 run sandbox web-node1#0
        0.000 pull unsigned:1
        0.000 create web-node1/side#0
        0.000 start web-node1/side#0
    "#]]
    .assert_eq(&orders(&node));
    assert_eq!(
        status(&node, "web"),
        "Pending app: ImageRejected(NotSigned: no (plugin images)), 0 restarts side: running, 0 restarts"
    );
    assert_eq!((asked(&node, IMAGE), asked(&node, "sleeper:1")), (4, 1), "at 0, 10, 30 and 70 s");
    expect![[r#"
        NotSigned ×1 The image of container app is rejected, and the container isn't started: no (plugin images)
    "#]]
    .assert_eq(&warnings(&node));
    let about = node.admission.scripted_questions().remove(0);
    assert_eq!((about.old_pod.is_none(), about.pod.metadata.name.as_deref()), (true, Some("web-node1")));
    node.admission.set_image_answer(IMAGE, Some(Decision::Admit));
    pass(1.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts side: running, 0 restarts");
    assert_eq!(asked(&node, IMAGE), 5);
}

#[tokio::test(start_paused = true)]
async fn where_no_handler_answers_images_are_not_asked_about() {
    let node = answering(None);
    node.source.put("p", two());
    pass(5.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts side: running, 0 restarts");
    assert_eq!(node.admission.asked(), ["web-node1 with 0"]);
}

#[tokio::test(start_paused = true)]
async fn a_container_starts_once_no_handler_answers_any_more() {
    let node = answering(Some(reject()));
    node.source.put("p", two());
    pass(5.0).await;
    node.admission.set_image_answer(IMAGE, None);
    pass(1.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts side: running, 0 restarts");
    assert_eq!(asked(&node, IMAGE), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deferred_image_is_asked_about_again_after_the_handlers_time() {
    let node = answering(Some(defer()));
    node.source.put("p", two());
    pass(50.0).await;
    assert_eq!(
        status(&node, "web"),
        "Pending app: ImageDeferred(NotNow: later), 0 restarts side: running, 0 restarts"
    );
    assert_eq!(asked(&node, IMAGE), 3, "at 0, 20 and 40 s");
    expect![[r#"
        NotNow ×1 The image of container app is deferred, and the container isn't started yet: later
    "#]]
    .assert_eq(&warnings(&node));
}

#[tokio::test(start_paused = true)]
async fn an_init_container_of_a_rejected_image_holds_up_those_after_it() {
    let node = answering(Some(reject()));
    let init = json!({"name": "init", "image": IMAGE});
    let spec = json!({"initContainers": [init], "containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("p", vec![pod_with_uid("web", "u1", spec)]);
    pass(15.0).await;
    let log = orders(&node);
    assert!(log.contains("pull") && !log.contains("create"), "{log}");
    assert_eq!((asked(&node, IMAGE), asked(&node, "sleeper:1")), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_container_that_ends_is_started_again_only_if_its_image_is_admitted_still() {
    let node = answering(Some(Decision::Admit));
    node.source.put("p", two());
    pass(5.0).await;
    node.admission.set_image_answer(IMAGE, Some(reject()));
    pass(30.0).await;
    assert_eq!(status(&node, "web"), "Running app: running, 0 restarts side: running, 0 restarts");
    assert_eq!(asked(&node, IMAGE), 1, "what runs isn't asked about");
    node.runtime.end_container("web-node1", "app", 1);
    pass(25.0).await;
    assert!(asked(&node, IMAGE) > 1);
    let shown = status(&node, "web");
    assert!(shown.contains("ImageRejected") && shown.contains("side: running"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_handlers_that_were_replaced_meanwhile_holds_no_container() {
    let node = answering(Some(reject()));
    let slow = FakeImage { pull_takes: Duration::from_secs(2), ..FakeImage::absent(Behaviour::Sleeps) };
    node.runtime.add_image(IMAGE, slow);
    node.source.put("p", two());
    pass(1.0).await;
    node.admission.set_delay(Duration::from_secs(3));
    pass(2.0).await;
    assert_eq!(asked(&node, IMAGE), 1, "while it is asked, since 2 s");
    node.admission.change();
    pass(7.0).await;
    // The other container is asked about, too, each question for 3 s: 5 s, 8 s, and then again.
    assert_eq!(asked(&node, IMAGE), 2, "the handlers that are there now are asked without a delay");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_deleted_while_its_image_is_asked_about_ends() {
    let node = answering(Some(Decision::Admit));
    let slow = FakeImage { pull_takes: Duration::from_secs(2), ..FakeImage::absent(Behaviour::Sleeps) };
    node.runtime.add_image(IMAGE, slow);
    node.source.put("p", two());
    pass(1.0).await;
    node.admission.set_delay(Duration::from_secs(3600));
    pass(2.0).await;
    node.source.remove("p");
    pass(60.0).await;
    assert_eq!(status(&node, "web"), "not shown");
    assert!(!orders(&node).contains("create"));
}

#[tokio::test(start_paused = true)]
async fn what_was_rejected_before_a_restart_is_asked_about_after_it() {
    let mut node = answering(Some(reject()));
    node.source.put("p", two());
    pass(5.0).await;
    node.start();
    pass(5.0).await;
    assert_eq!(asked(&node, IMAGE), 2);
    let shown = status(&node, "web");
    assert!(shown.contains("ImageRejected") && shown.contains("side: running"), "{shown}");
}

/// What handlers were shown of the container `app`.
fn seen(node: &FakeNode) -> ResolvedImage {
    let images = node.admission.scripted_questions().into_iter().filter_map(|question| question.image);
    let image = images.into_iter().rfind(|image| image.container == "app").expect("it was asked about");
    ResolvedImage::clone(&image)
}

#[tokio::test(start_paused = true)]
async fn handlers_see_what_the_runtime_has_and_whose_credentials_opened_the_registry() {
    for (wants, present, expected) in [
        (None, false, Some(CredentialOrigin::Node)),
        (Some("ann"), false, Some(CredentialOrigin::Secret)),
        (None, true, None),
    ] {
        let node = answering(Some(Decision::Admit));
        let wants_user = wants.map(str::to_owned);
        node.runtime.add_image(
            IMAGE,
            FakeImage { wants_user, present, size: 7, ..FakeImage::absent(Behaviour::Sleeps) },
        );
        node.credentials.add_secret("anns", "ann");
        let mut pods = two();
        let secrets = wants.map(|_| vec![LocalObjectReference { name: "anns".to_owned() }]);
        for spec in pods.iter_mut().filter_map(|pod| pod.spec.as_mut()) {
            spec.image_pull_secrets = secrets.clone();
        }
        node.source.put("p", pods);
        pass(5.0).await;
        assert_eq!(
            seen(&node),
            ResolvedImage {
                container: "app".to_owned(),
                id: IMAGE.to_owned(),
                digest: None,
                size_bytes: Some(7),
                credentials: expected,
            },
            "{wants:?} {present}"
        );
    }
}
