//! What is kept, and what is read of it.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use tokio::time::Instant;

use witlet_ports::StateStore;
use witlet_testkit::MemoryStateStore;

use super::{ENDS_AFTER, Outdated, PAGES_MAX, SAVE_AFTER, SAVED_PODS, SAVES_APART, SavedPods, page_name};

/// The pods of the first page.
fn read(page: &[u8], node_name: &str) -> Result<Vec<Arc<Pod>>, super::PageError> {
    super::read(page, node_name).map(|(pods, _)| pods)
}

/// The first page, and how many pods are on none.
fn write(node_name: &str, pods: Vec<Arc<Pod>>, now: Timestamp, bytes_max: usize) -> (Vec<u8>, usize) {
    let (mut pages, left_out) = super::write(node_name, pods, now, bytes_max);
    (pages.remove(0), left_out)
}

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
    assert_eq!(
        (names(&read(&page, "node1").unwrap()), left_out),
        (vec!["critical"], 0),
        "others are on other pages"
    );
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
fn pods_that_run_open_pages_up_to_a_bound_and_finished_ones_get_the_bytes_that_are_left() {
    let finished = |name: &str| {
        let mut pod = Pod::clone(&pod(name, 0, "2030-01-01T00:00:00Z"));
        pod.status.get_or_insert_default().phase = Some("Failed".to_owned());
        Arc::new(pod)
    };
    let running = |n: usize| pod(&format!("p{n:02}"), 0, "2030-01-02T00:00:00Z");
    let one = serde_json::to_vec(&*running(0)).unwrap().len();
    let page_of_two = 2 * one + 10;
    // Pods that run, finished ones, pages, and pods that aren't remembered.
    for (runs, ended, pages, left_out) in [
        (0, 0, 1, 0),
        (2, 0, 1, 0),
        (2, 2, 1, 2),
        (3, 0, 2, 0),
        (3, 2, 2, 1),
        (2 * PAGES_MAX, 3, PAGES_MAX, 3),
        (2 * PAGES_MAX + 3, 1, PAGES_MAX, 4),
    ] {
        let mut pods: Vec<_> = (0..ended).map(|n| finished(&format!("e{n:02}"))).collect();
        pods.extend((0..runs).map(running));
        // A finished pod is a little longer than one that runs.
        let (written, lost) = super::write("node1", pods, Timestamp::UNIX_EPOCH, page_of_two + 40);
        assert_eq!((written.len(), lost), (pages, left_out), "{runs} run, {ended} ended");
        let back: usize = written.iter().map(|page| read(page, "node1").unwrap().len()).sum();
        assert_eq!(back, runs + ended - left_out);
    }
}

#[tokio::test]
async fn pods_of_all_pages_come_back_and_those_of_pages_that_no_longer_count_do_not() {
    let state = Arc::new(MemoryStateStore::default());
    let saved = SavedPods::new(state.clone());
    // Three megabytes each: four fit into a page.
    let large = |n: usize| {
        let mut pod = Pod::clone(&pod(&format!("p{n}"), 0, "2030-01-02T00:00:00Z"));
        let note = ("note".to_owned(), "x".repeat(2_900_000));
        pod.metadata.annotations.get_or_insert_default().insert(note.0, note.1);
        Arc::new(pod)
    };
    let pods: Vec<_> = (0..6).map(large).collect();
    saved.save("node1", pods.clone(), Timestamp::UNIX_EPOCH).await.unwrap();
    let mut back =
        names(&saved.load("node1").await.unwrap()).into_iter().map(str::to_owned).collect::<Vec<_>>();
    back.sort();
    assert_eq!(back, ["p0", "p1", "p2", "p3", "p4", "p5"]);
    // Cut between the pages: a pod that is on both is one.
    let first = state.load(SAVED_PODS).await.unwrap().unwrap();
    state.save(&page_name(1), &first).await.unwrap();
    assert_eq!(saved.load("node1").await.unwrap().len(), 4);
    saved.save("node1", pods[..1].to_vec(), Timestamp::UNIX_EPOCH).await.unwrap();
    assert_eq!(names(&saved.load("node1").await.unwrap()), ["p0"]);
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
    assert_eq!(error(&page(2, "node1")), "unsupported version 2");
    assert_eq!(error(&page(1, "other")), "saved for node \"other\"");
    assert!(error("").starts_with("invalid JSON"));
    assert!(error("\u{0}\u{0}\u{0}").starts_with("invalid JSON"));
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
