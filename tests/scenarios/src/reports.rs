//! What the agent tells of its pods: phase, whether it may run, whether it ends, whether nothing is left of it.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde_json::{Value, json};
use witlet_core::pod::{PodUid, defaults};
use witlet_ports::{NoObjects, PodReport, StatusSink};
use witlet_testkit::{ClusterEdge, FakeNode, NOT_BEFORE_SECONDS};

use crate::support::{ends_after, node, pass};

/// Records what it receives; the same again in a row once.
#[derive(Default)]
struct Scribe {
    reported: Mutex<Vec<String>>,
    status: Mutex<Option<Arc<PodStatus>>>,
}

impl StatusSink for Scribe {
    fn report(&self, report: PodReport) {
        let phase = report.status.as_ref().and_then(|status| status.phase.clone());
        let flags =
            [(report.may_run, " may run"), (report.is_ending, " ends"), (report.is_finished, " finished")];
        let flags: String = flags.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect();
        *self.status.lock().expect("the lock is not poisoned") = report.status;
        self.write(format!("{}{flags}", phase.as_deref().unwrap_or("-")));
    }

    fn forget(&self, _: &PodUid) {
        self.write("forgotten".to_owned());
    }
}

impl Scribe {
    fn write(&self, line: String) {
        let mut reported = self.reported.lock().expect("the lock is not poisoned");
        if reported.last() != Some(&line) {
            reported.push(line);
        }
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.reported.lock().expect("the lock is not poisoned")).join("\n")
    }
}

/// A node whose agents all tell the same scribe.
fn reported_of() -> (FakeNode, Arc<Scribe>) {
    let (mut node, scribe) = (node(), Arc::new(Scribe::default()));
    let sink = scribe.clone();
    node.cluster = Some(Box::new(move |_| ClusterEdge {
        sources: Vec::new(),
        statuses: sink.clone(),
        objects: Arc::new(NoObjects),
        events: Arc::new(Unheard),
        node: None,
        work: Box::new(|_| Box::pin(std::future::pending())),
    }));
    node.start();
    (node, scribe)
}

struct Unheard;

impl witlet_ports::EventSink for Unheard {
    fn record(&self, _: witlet_core::event::Event) {}
}

/// A pod that an API server bound to this node.
fn bound(more: &Value, image: &str) -> Pod {
    let mut metadata = json!({
        "name": "web", "namespace": "default", "uid": "u1", "creationTimestamp": "2029-12-31T23:59:59Z",
        "annotations": {"kubernetes.io/config.source": "api"},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        metadata["annotations"][key] = value.clone();
    }
    let container = json!({"name": "app", "image": image});
    let spec =
        json!({"restartPolicy": "Never", "terminationGracePeriodSeconds": 30, "containers": [container]});
    let mut pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod");
    pod.spec.get_or_insert_default().node_name = Some("node1".to_owned());
    defaults::apply(&mut pod);
    pod
}

fn deleted(mut pod: Pod) -> Pod {
    let time = serde_json::from_value(json!("2030-01-01T00:01:00Z")).expect("a time");
    pod.metadata.deletion_timestamp = Some(time);
    pod.metadata.deletion_grace_period_seconds = Some(30);
    pod
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_deleted_pod_is_reported_step_by_step() {
    let (node, scribe) = reported_of();
    let pod = bound(&json!({}), "sleeper:1");
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(5.0).await;
    expect![[r#"
        - may run
        Pending may run
        Running may run"#]]
    .assert_eq(&scribe.take());
    node.source.put_as_is("web", vec![deleted(pod)]);
    pass(40.0).await;
    let reported = scribe.take();
    // It heeded the signal by the signal's own end, which isn't 0.
    let steps = ["Running may run", "Running may run ends", "Failed may run ends", "Failed ends"];
    assert_eq!(reported, [&steps[..], &["Failed ends finished"]].concat().join("\n"));
    node.source.remove("web");
    pass(5.0).await;
    assert_eq!(scribe.take(), "forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ended_by_itself_is_finished_before_anyone_deletes_it() {
    let (node, scribe) = reported_of();
    ends_after(&node, "brief:1", 0, 3);
    let pod = bound(&json!({}), "brief:1");
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(60.0).await;
    assert!(scribe.take().ends_with("\nSucceeded ends finished"));
    node.source.put_as_is("web", vec![deleted(pod)]);
    pass(5.0).await;
    assert_eq!(scribe.take(), "Succeeded ends finished", "now that it is deleted it may go");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_pod_may_go_when_it_is_deleted() {
    let (node, scribe) = reported_of();
    let mut pod = bound(&json!({}), "sleeper:1");
    let requests = json!({"requests": {"cpu": "100"}});
    pod.spec.as_mut().unwrap().containers[0].resources = serde_json::from_value(requests).unwrap();
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(5.0).await;
    let reported = scribe.take();
    assert!(reported.ends_with("Failed finished") && !reported.contains("Failed may run"), "{reported}");
    node.source.put_as_is("web", vec![deleted(pod)]);
    pass(5.0).await;
    assert_eq!(scribe.take(), "Failed finished");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_waits_for_its_verdict_may_go_when_it_is_deleted() {
    let (node, scribe) = reported_of();
    let pod = bound(&json!({NOT_BEFORE_SECONDS: "3600"}), "sleeper:1");
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(5.0).await;
    assert!(scribe.take().ends_with("Pending may run"));
    node.source.put_as_is("web", vec![deleted(pod)]);
    pass(40.0).await;
    let reported = scribe.take();
    assert!(reported.ends_with("Failed ends finished"), "{reported}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_had_ended_at_the_server_before_it_was_seen_may_go() {
    let (node, scribe) = reported_of();
    let ended = PodStatus { phase: Some("Failed".to_owned()), ..PodStatus::default() };
    let pod = Pod { status: Some(ended), ..deleted(bound(&json!({}), "sleeper:1")) };
    node.source.put_as_is("web", vec![pod]);
    pass(40.0).await;
    assert!(scribe.take().ends_with("\nFailed ends finished"));
}

#[tokio::test(start_paused = true)]
async fn what_the_server_was_reported_before_a_restart_still_holds_after_it() {
    let (mut node, scribe) = reported_of();
    ends_after(&node, "crashes:1", 1, 3);
    let mut pod = bound(&json!({}), "crashes:1");
    pod.spec.as_mut().unwrap().restart_policy = Some("Always".to_owned());
    node.source.put_as_is("web", vec![pod.clone()]);
    pass(100.5).await;
    let facts = |scribe: &Scribe| {
        let status = scribe.status.lock().expect("the lock is not poisoned").clone().unwrap();
        let scheduled =
            status.conditions.iter().flatten().find(|c| c.type_ == "PodScheduled").cloned().unwrap();
        let restarts = status.container_statuses.as_ref().unwrap()[0].restart_count;
        (status.start_time.clone().unwrap(), scheduled.last_transition_time.unwrap(), restarts)
    };
    let before = facts(&scribe);
    assert!(before.2 > 1, "{before:?}");
    pod.status = scribe.status.lock().expect("the lock is not poisoned").as_deref().cloned();
    node.kill();
    scribe.take();
    node.source.put_as_is("web", vec![pod]);
    node.start();
    pass(1.0).await;
    assert!(scribe.take().contains("Running"));
    let after = facts(&scribe);
    assert_eq!((&after.0, &after.1), (&before.0, &before.1));
    assert!(after.2 >= before.2, "{after:?}");
}
