//! What is kept, and what is read of it.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use tokio::time::Instant;

use super::{ENDS_AFTER, Outdated, SAVE_AFTER, SAVES_APART, read, write};

fn pod(name: &str, priority: i32, created: &str) -> Arc<Pod> {
    let metadata = json!({"namespace": "ns", "name": name, "uid": name, "creationTimestamp": created});
    let spec = json!({"nodeName": "node1", "priority": priority, "containers": []});
    Arc::new(serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap())
}

fn names(pods: &[Arc<Pod>]) -> Vec<&str> {
    pods.iter().map(|pod| pod.metadata.name.as_deref().unwrap()).collect()
}

#[test]
fn pods_come_back_as_they_were_and_the_important_ones_first() {
    let pods = vec![
        pod("young", 0, "2030-01-02T00:00:00Z"),
        pod("old", 0, "2030-01-01T00:00:00Z"),
        pod("critical", 2_000_001_000, "2030-01-03T00:00:00Z"),
    ];
    let (page, left_out) = write("node1", pods.clone(), Timestamp::UNIX_EPOCH, usize::MAX);
    let back = read(&page, "node1").unwrap();
    assert_eq!((names(&back), left_out), (vec!["critical", "old", "young"], 0));
    assert_eq!(back[2], pods[0]);
    let one = serde_json::to_vec(&*pods[2]).unwrap().len();
    let (page, left_out) = write("node1", pods, Timestamp::UNIX_EPOCH, one + 10);
    assert_eq!((names(&read(&page, "node1").unwrap()), left_out), (vec!["critical"], 2));
}

#[test]
fn finished_pods_give_way_to_those_that_run_however_old_and_important_they_are() {
    let finished = |phase: &str| {
        let mut pod = Pod::clone(&pod(phase, 2_000_001_000, "2030-01-01T00:00:00Z"));
        pod.status.get_or_insert_default().phase = Some(phase.to_owned());
        Arc::new(pod)
    };
    let running = pod("running", 0, "2030-01-09T00:00:00Z");
    let one = serde_json::to_vec(&*running).unwrap().len();
    let pods = vec![finished("Succeeded"), finished("Failed"), running];
    let (page, _) = write("node1", pods.clone(), Timestamp::UNIX_EPOCH, usize::MAX);
    assert_eq!(names(&read(&page, "node1").unwrap())[0], "running");
    let (page, left_out) = write("node1", pods, Timestamp::UNIX_EPOCH, one + 10);
    assert_eq!((names(&read(&page, "node1").unwrap()), left_out), (vec!["running"], 2));
}

#[test]
fn a_pod_that_cannot_be_read_costs_itself_and_a_strange_page_everything() {
    let page = |version: u32, node: &str| {
        let pods = json!([{"metadata": {"name": "a"}}, {"metadata": 7}, {"metadata": {"name": "b"}}]);
        json!({"version": version, "nodeName": node, "writtenAt": "2030-01-01T00:00:00Z", "pods": pods})
            .to_string()
    };
    assert_eq!(names(&read(page(1, "node1").as_bytes(), "node1").unwrap()), ["a", "b"]);
    let error = |page: &str| read(page.as_bytes(), "node1").unwrap_err().to_string();
    assert_eq!(error(&page(2, "node1")), "it is of version 2");
    assert_eq!(error(&page(1, "other")), "it is of node \"other\"");
    assert!(error("").starts_with("it is no JSON of this kind"));
    assert!(error("\u{0}\u{0}\u{0}").starts_with("it is no JSON of this kind"));
}

#[tokio::test(start_paused = true)]
async fn changes_wait_for_one_another_and_ends_do_not() {
    let begun = Instant::now();
    let outdated = Outdated::default();
    outdated.changed();
    outdated.due(None).await;
    assert_eq!(begun.elapsed(), SAVE_AFTER);
    let last = Instant::now();
    outdated.changed();
    outdated.due(Some(last)).await;
    assert_eq!(last.elapsed(), SAVES_APART + SAVE_AFTER);
    let last = Instant::now();
    outdated.ended();
    outdated.due(Some(last)).await;
    assert_eq!(last.elapsed(), ENDS_AFTER, "soon also after another write");
    outdated.changed();
    let end = async {
        tokio::time::sleep(SAVE_AFTER / 2).await;
        outdated.ended();
    };
    let last = Instant::now();
    tokio::join!(outdated.due(Some(last)), end);
    assert_eq!(last.elapsed(), SAVE_AFTER / 2 + ENDS_AFTER, "also while a change waits");
}
