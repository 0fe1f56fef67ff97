//! Tests of mirrors on an API server in the same process, on paused time.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use witlet_api_server::{Effect, Fault};
use witlet_core::pod::static_pod::CONFIG_MIRROR;
use witlet_ports::StatusSink;

use crate::status::tests::bench::{Bench, Flags, status};

fn runs(bench: &Bench, pod: &Arc<Pod>) {
    bench.report(pod, Some(status("Running")), Flags::RUNS);
}

/// Requests that make and delete pods; statuses are another matter.
fn requests(bench: &Bench) -> Vec<String> {
    bench.requests().into_iter().filter(|request| !request.starts_with("patch")).collect()
}

/// A static pod that runs and has its mirror.
async fn mirrored(bench: &Bench) -> Arc<Pod> {
    let pod = bench.static_pod("s", "1");
    runs(bench, &pod);
    bench.pass(1).await;
    bench.watch_all();
    bench.pass(60).await;
    assert_eq!(requests(bench), ["create pods "]);
    bench.server.clear_requests();
    pod
}

#[tokio::test(start_paused = true)]
async fn a_mirror_shows_the_static_pod_and_belongs_to_the_node() {
    let bench = Bench::new();
    let pod = mirrored(&bench).await;
    let mirror = bench.at_server("s");
    let annotations = mirror.metadata.annotations.unwrap();
    assert_eq!(annotations[CONFIG_MIRROR], "1");
    assert_eq!(annotations["kubernetes.io/config.source"], "file");
    let owner = &mirror.metadata.owner_references.unwrap()[0];
    let node = bench.node.borrow().clone().unwrap();
    assert_eq!((&owner.kind, Some(&owner.uid)), (&"Node".to_owned(), node.metadata.uid.as_ref()));
    assert_ne!(mirror.metadata.uid, pod.metadata.uid);
}

#[tokio::test(start_paused = true)]
async fn a_mirror_whose_hash_was_edited_is_made_again_and_other_edits_stay() {
    let bench = Bench::new();
    mirrored(&bench).await;
    let edit = json!({ "metadata": { "labels": { "by": "hand" } } });
    bench.server.patch::<Pod>("default", "s", "", edit).unwrap();
    bench.watch_all();
    bench.pass(60).await;
    assert_eq!(requests(&bench), [] as [&str; 0]);
    let mut mirror = bench.at_server("s");
    mirror.metadata.annotations.as_mut().unwrap().insert(CONFIG_MIRROR.to_owned(), "0".to_owned());
    // The server lets no one edit the annotation of a mirror; this one got there in another way.
    let _ = bench.server.delete::<Pod>("default", "s", Some(0));
    (mirror.metadata.uid, mirror.metadata.resource_version) = (None, None);
    bench.server.create(&mirror).unwrap();
    bench.watch_all();
    bench.pass(1).await;
    bench.watch_all();
    bench.pass(60).await;
    assert_eq!(requests(&bench), ["delete pods s", "create pods "]);
    assert_eq!(bench.at_server("s").metadata.annotations.unwrap()[CONFIG_MIRROR], "1");
}

#[tokio::test(start_paused = true)]
async fn an_edited_manifest_gets_its_mirror_when_the_old_pod_is_gone() {
    let bench = Bench::new();
    let old = mirrored(&bench).await;
    let new = bench.static_pod("s", "2");
    bench.report(&old, Some(status("Running")), Flags::ENDS);
    bench.report(&new, None, Flags::RUNS);
    bench.watch_all();
    bench.pass(60).await;
    assert_eq!(requests(&bench), [] as [&str; 0]);
    bench.forget(&old);
    runs(&bench, &new);
    bench.pass(1).await;
    assert_eq!(requests(&bench), ["delete pods s", "create pods "]);
    bench.watch_all();
    bench.pass(1).await;
    assert_eq!(bench.shown("s"), "Running");
}

#[tokio::test(start_paused = true)]
async fn an_edited_manifest_gets_its_mirror_also_where_someone_deleted_the_old_one() {
    let bench = Bench::new();
    let old = mirrored(&bench).await;
    // The watch hasn't shown it yet.
    bench.server.delete::<Pod>("default", "s", Some(0)).unwrap();
    bench.forget(&old);
    runs(&bench, &bench.static_pod("s", "2"));
    bench.pass(1).await;
    assert_eq!(requests(&bench), ["delete pods s", "create pods "]);
    assert_eq!(bench.at_server("s").metadata.annotations.unwrap()[CONFIG_MIRROR], "2");
}

#[tokio::test(start_paused = true)]
async fn a_mirror_without_static_pod_goes_once_all_sources_were_seen() {
    let bench = Bench::new();
    let pod = mirrored(&bench).await;
    bench.forget(&pod);
    bench.pass(60).await;
    assert_eq!(requests(&bench), [] as [&str; 0]);
    bench.manager.sources_seen(true);
    bench.pass(1).await;
    assert_eq!(requests(&bench), ["delete pods s"]);
    assert_eq!(bench.shown("s"), "gone");
    bench.watch_all();
    bench.pass(60).await;
    assert_eq!(requests(&bench).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_mirror_is_made_when_there_is_a_node_that_stays() {
    let bench = Bench::new();
    let node = bench.node.send_replace(None);
    let pod = bench.static_pod("s", "1");
    runs(&bench, &pod);
    bench.pass(60).await;
    assert_eq!(requests(&bench), [] as [&str; 0]);
    bench.node.send_replace(node);
    bench.pass(1).await;
    assert_eq!(requests(&bench), ["create pods "]);
}

#[tokio::test(start_paused = true)]
async fn before_the_servers_pods_were_read_nothing_is_done() {
    let mut bench = Bench::new();
    bench.known = Arc::default();
    bench.restart().await;
    bench.manager.sources_seen(true);
    let pod = bench.static_pod("s", "1");
    runs(&bench, &pod);
    bench.pass(60).await;
    assert_eq!(requests(&bench), [] as [&str; 0]);
    bench.watch_all();
    bench.pass(1).await;
    assert_eq!(requests(&bench), ["create pods "]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_made_is_tried_again_less_and_less_often() {
    let bench = Bench::new();
    let mut pod = Pod::clone(&bench.static_pod("s", "1"));
    pod.metadata.namespace = Some("later".to_owned());
    runs(&bench, &Arc::new(pod));
    bench.pass(300).await;
    let tries = requests(&bench).len();
    assert_eq!(tries, 10, "after 1, 2, 4, 8, 16, 32 and then each 60 s");
    bench.server.ensure_namespace("later");
    bench.pass(61).await;
    assert!(bench.server.get::<Pod>("later", "s").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_mirror_that_could_not_be_made_is_there_a_second_later() {
    let bench = Bench::new();
    bench.server.fault(Fault::new(Effect::code(500)).verb("create").on("pods").times(2));
    runs(&bench, &bench.static_pod("s", "1"));
    bench.pass(1).await;
    assert_eq!(bench.shown("s"), "gone");
    bench.pass(3).await;
    assert!(bench.server.get::<Pod>("default", "s").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_someone_elses_is_never_taken_for_a_mirror() {
    let bench = Bench::new();
    let foreign = bench.pod("s");
    bench.watch_all();
    let pod = bench.static_pod("s", "1");
    runs(&bench, &pod);
    bench.manager.sources_seen(true);
    bench.pass(60).await;
    assert!(requests(&bench).iter().all(|request| request == "create pods "), "{:?}", requests(&bench));
    let found = bench.at_server("s");
    assert_eq!((found.metadata.uid, bench.shown("s")), (foreign.metadata.uid.clone(), "Pending".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn the_mirror_of_a_pod_that_ended_is_not_made_again() {
    let bench = Bench::new();
    let pod = mirrored(&bench).await;
    bench.report(&pod, Some(status("Failed")), Flags::FINISHED);
    bench.pass(1).await;
    assert_eq!(bench.shown("s"), "Failed");
    bench.server.delete::<Pod>("default", "s", Some(0)).unwrap();
    bench.watch_all();
    bench.pass(60).await;
    assert_eq!(requests(&bench), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_wait_about_a_mirror_gets_it() {
    let bench = Bench::new();
    bench.server.fault(Fault::new(Effect::too_many(20)).verb("create").on("pods").times(1));
    let pod = bench.static_pod("s", "1");
    runs(&bench, &pod);
    bench.pass(19).await;
    assert_eq!(requests(&bench), ["create pods "]);
    bench.pass(2).await;
    assert_eq!(requests(&bench), ["create pods "; 2]);
    assert_eq!(bench.at_server("s").metadata.annotations.unwrap()[CONFIG_MIRROR], "1");
}
