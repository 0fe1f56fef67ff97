//! Answers that aren't what one hopes for, and none at all.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_api_server::{Effect, Fault};

use super::bench::{Bench, Flags, listed, status};

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_over_an_outage_of_an_hour() {
    let bench = Bench::new();
    let pods: Vec<_> = (0..40).map(|n| bench.pod(&format!("p{n}"))).collect();
    pods.iter().for_each(|pod| bench.report(pod, Some(status("Running")), Flags::RUNS));
    bench.pass(2).await;
    bench.server.clear_requests();
    bench.server.down();
    for n in 0..60 {
        // They crash and come back, and some end.
        for (k, pod) in pods.iter().enumerate() {
            let ends = k % 4 == 0 && n > 30;
            let (phase, flags) = if ends { ("Failed", Flags::STOPPED) } else { ("Running", Flags::RUNS) };
            bench.report(pod, Some(status(phase)), flags);
        }
        bench.pass(60).await;
    }
    bench.server.up();
    bench.pass(11).await;
    for (k, pod) in pods.iter().enumerate() {
        let expected = if k % 4 == 0 { "Failed" } else { "Running" };
        assert_eq!(bench.shown(pod.metadata.name.as_deref().unwrap()), expected);
    }
    assert_eq!(bench.server.count("patch pods/status"), 10, "one for each that changed");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_got_lost_costs_a_patch_and_nothing_else() {
    for effect in [Effect::DropBefore, Effect::DropAfter, Effect::Stall, Effect::StallAfter] {
        let bench = Bench::new();
        bench.server.fault(Fault::new(effect.clone()).times(1));
        let pod = bench.pod("a");
        bench.report(&pod, Some(status("Running")), Flags::RUNS);
        bench.pass(60).await;
        assert_eq!(bench.shown("a"), "Running", "{effect:?}");
        assert_eq!(bench.requests().len(), 2, "{effect:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_the_server_has_no_more_is_left_alone() {
    let bench = Bench::new();
    let pod = bench.pod("a");
    bench.server.delete::<Pod>("default", "a", Some(0)).unwrap();
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(50).await;
    assert_eq!(bench.requests().len(), 1, "it was 404");
    bench.known.take(&listed([]));
    bench.report(&pod, Some(status("Failed")), Flags::FINISHED);
    bench.pass(300).await;
    assert_eq!(bench.requests().len(), 1, "the watch says that it is gone");
}

#[tokio::test(start_paused = true)]
async fn another_pod_of_the_same_name_is_not_reported_what_the_old_one_did() {
    let bench = Bench::new();
    let old = bench.pod("a");
    bench.server.delete::<Pod>("default", "a", Some(0)).unwrap();
    bench.server.create(&Pod { metadata: fresh(&old), ..Pod::clone(&old) }).unwrap();
    bench.report(&old, Some(status("Failed")), Flags::STOPPED);
    bench.pass(50).await;
    let request = &bench.server.requests()[0];
    assert_eq!((request.code, bench.requests().len()), (422, 1));
    assert_eq!(bench.shown("a"), "Pending");
    // Its own status is reported as ever.
    let new = bench.watch("a");
    bench.report(&new, Some(status("Running")), Flags::RUNS);
    bench.pass(1).await;
    assert_eq!(bench.shown("a"), "Running");
    bench.forget(&old);
    bench.pass(300).await;
    assert_eq!(bench.requests().len(), 2);
}

fn fresh(pod: &Pod) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
    let mut metadata = pod.metadata.clone();
    (metadata.uid, metadata.resource_version, metadata.creation_timestamp) = (None, None, None);
    metadata
}

#[tokio::test(start_paused = true)]
async fn a_conflict_waits_for_what_the_other_wrote() {
    let bench = Bench::new();
    let pod = bench.pod("a");
    bench.server.fault(Fault::new(Effect::code(409)).times(1));
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(30).await;
    assert_eq!(bench.requests().len(), 1);
    let other = serde_json::json!({ "metadata": { "labels": { "a": "b" } } });
    bench.server.patch::<Pod>("default", "a", "", other).unwrap();
    bench.watch("a");
    bench.pass(11).await;
    assert_eq!(bench.shown("a"), "Running");
}

#[tokio::test(start_paused = true)]
async fn a_server_with_too_much_to_do_is_left_in_peace_by_all_pods() {
    let bench = Bench::new();
    let [a, b] = ["a", "b"].map(|name| bench.pod(name));
    bench.server.fault(Fault::new(Effect::too_many(7)).times(1));
    bench.report(&a, Some(status("Running")), Flags::RUNS);
    tokio::time::sleep(Duration::from_millis(10)).await;
    bench.report(&b, Some(status("Running")), Flags::RUNS);
    tokio::time::sleep(Duration::from_millis(6_900)).await;
    assert_eq!(bench.requests().len(), 1);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(bench.requests().len(), 3);
    assert_eq!([bench.shown("a"), bench.shown("b")], ["Running", "Running"]);
}

#[tokio::test(start_paused = true)]
async fn one_pods_trouble_is_not_the_others() {
    for code in [403, 500] {
        let bench = Bench::new();
        let fault = bench.server.fault(Fault::new(Effect::code(code)).name("a"));
        let [a, b] = ["a", "b"].map(|name| bench.pod(name));
        bench.report(&a, Some(status("Running")), Flags::RUNS);
        bench.pass(100).await;
        bench.report(&b, Some(status("Running")), Flags::RUNS);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(bench.shown("b"), "Running", "{code}");
        let tries = bench.server.requests().iter().filter(|request| request.name == "a").count();
        assert!((10..=16).contains(&tries), "{code}: {tries} tries in 100 s");
        bench.server.remove_fault(fault);
        bench.pass(11).await;
        assert_eq!(bench.shown("a"), "Running", "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_storage_was_restored_gets_the_statuses_again_though_its_versions_are_older() {
    let bench = Bench::new();
    let pod = bench.pod("a");
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(20).await;
    bench.watch("a");
    bench.pass(20).await;
    assert_eq!(bench.requests(), ["patch pods/status a: Running"]);
    let mut restored = bench.at_server("a");
    restored.status = Some(status("Pending"));
    restored = bench.server.update_status(&restored).unwrap();
    restored.metadata.resource_version = Some("1".to_owned());
    bench.known.take(&listed([Arc::new(restored)]));
    bench.pass(20).await;
    assert_eq!(bench.shown("a"), "Running");
    assert_eq!(bench.requests().len(), 2, "{:?}", bench.requests());
}
