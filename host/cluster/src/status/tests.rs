//! Tests of the status manager against an API server in the same process, on paused time.

pub(crate) mod bench;
mod faults;
mod restarts;

use k8s_openapi::api::core::v1::PodStatus;
use serde_json::json;

use self::bench::{Bench, Flags, status};

#[tokio::test(start_paused = true)]
async fn each_change_is_one_patch_and_nothing_is_read() {
    let bench = Bench::new();
    let pod = bench.pod("a");
    bench.report(&pod, Some(status("Pending")), Flags::RUNS);
    bench.pass(1).await;
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(1).await;
    assert_eq!(bench.shown("a"), "Running");
    // The watch brings the pod back as it was patched, twice.
    for _ in 0..2 {
        let pod = bench.watch("a");
        bench.report(&pod, Some(status("Running")), Flags::RUNS);
        bench.pass(60).await;
    }
    assert_eq!(bench.requests(), ["patch pods/status a", "patch pods/status a: Running"]);
    let body = bench.server.requests()[1].json();
    assert_eq!(body["metadata"], json!({ "uid": pod.metadata.uid }));
}

#[tokio::test(start_paused = true)]
async fn what_changes_while_a_patch_is_young_goes_with_the_next() {
    let bench = Bench::new();
    let pod = bench.pod("a");
    for phase in ["Pending", "Running", "Pending", "Running"] {
        bench.report(&pod, Some(status(phase)), Flags::RUNS);
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    bench.pass(1).await;
    assert_eq!(bench.requests(), ["patch pods/status a", "patch pods/status a: Running"]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_pods_object_goes_once_its_end_was_reported_and_nothing_is_left() {
    let bench = Bench::new();
    let pod = bench.pod("a");
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(1).await;
    bench.server.delete::<k8s_openapi::api::core::v1::Pod>("default", "a", None).unwrap();
    let pod = bench.watch("a");
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(1).await;
    bench.report(&pod, Some(status("Failed")), Flags::RUNS);
    bench.pass(20).await;
    assert_eq!(bench.shown("a"), "Running", "held back while containers may run");
    bench.report(&pod, Some(status("Failed")), Flags::STOPPED);
    bench.pass(20).await;
    assert_eq!(bench.shown("a"), "Failed");
    bench.report(&pod, Some(status("Failed")), Flags::FINISHED);
    bench.pass(1).await;
    assert_eq!(bench.shown("a"), "gone");
    let requests = bench.requests();
    let unready = "patch pods/status a";
    let reported = ["patch pods/status a: Running", unready, "patch pods/status a: Failed", "delete pods a"];
    assert_eq!(requests, reported);
    let deletion = bench.server.requests().last().unwrap().json();
    assert_eq!(deletion["gracePeriodSeconds"], 0);
    assert_eq!(deletion["preconditions"]["uid"], json!(pod.metadata.uid));
}

#[tokio::test(start_paused = true)]
async fn an_end_and_its_deletion_follow_each_other_at_once() {
    let bench = Bench::new();
    bench.pod("a");
    bench.server.delete::<k8s_openapi::api::core::v1::Pod>("default", "a", None).unwrap();
    let pod = bench.watch("a");
    bench.report(&pod, Some(status("Failed")), Flags::FINISHED);
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    assert_eq!(bench.requests(), ["patch pods/status a: Failed", "delete pods a"]);
    assert_eq!(bench.shown("a"), "gone");
}

#[tokio::test(start_paused = true)]
async fn what_the_server_does_not_take_over_holds_no_deletion_up() {
    let bench = Bench::new();
    bench.pod("a");
    bench.server.delete::<k8s_openapi::api::core::v1::Pod>("default", "a", None).unwrap();
    let pod = bench.watch("a");
    // An empty text never comes back, as a field of a newer version than the server's doesn't.
    let over = PodStatus { message: Some(String::new()), ..status("Failed") };
    bench.report(&pod, Some(over), Flags::FINISHED);
    bench.pass(1).await;
    assert_eq!(bench.requests(), ["patch pods/status a: Failed", "delete pods a"]);
    assert_eq!(bench.shown("a"), "gone");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_held_by_a_finalizer_is_not_deleted_again_and_again() {
    let bench = Bench::new();
    bench.pod("a");
    let finalizers = json!({ "metadata": { "finalizers": ["example.com/wait"] } });
    bench.server.patch::<k8s_openapi::api::core::v1::Pod>("default", "a", "", finalizers).unwrap();
    bench.server.delete::<k8s_openapi::api::core::v1::Pod>("default", "a", None).unwrap();
    let pod = bench.watch("a");
    bench.report(&pod, Some(status("Failed")), Flags::FINISHED);
    for _ in 0..3 {
        bench.pass(15).await;
        let pod = bench.watch("a");
        bench.report(&pod, Some(status("Failed")), Flags::FINISHED);
    }
    assert_eq!(bench.requests(), ["patch pods/status a: Failed", "delete pods a"]);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_someone_else_changed_is_set_right_and_others_conditions_stay() {
    let bench = Bench::new();
    let pod = bench.pod("a");
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(1).await;
    let forged = json!({ "status": {
        "phase": "Pending",
        "podIPs": [{ "ip": "2001:db8::99" }],
        "conditions": [{ "type": "Ready", "status": "False" }, { "type": "example.com/gate", "status": "True" }],
    } });
    bench.server.patch::<k8s_openapi::api::core::v1::Pod>("default", "a", "status", forged).unwrap();
    bench.watch("a");
    bench.pass(11).await;
    let found = bench.at_server("a").status.unwrap();
    assert_eq!(found.phase.as_deref(), Some("Running"));
    let conditions = found.conditions.unwrap();
    let mut shown: Vec<_> = conditions.iter().map(|c| (c.type_.as_str(), c.status.as_str())).collect();
    shown.sort_unstable();
    assert_eq!(shown, [("Ready", "True"), ("example.com/gate", "True")]);
    let ips: Vec<_> = found.pod_ips.unwrap().into_iter().map(|ip| ip.ip).collect();
    assert_eq!(ips, ["192.0.2.7"]);
    assert_eq!(bench.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn of_many_pods_so_many_are_reported_at_the_same_time() {
    use witlet_api_server::{Effect, Fault};
    let bench = Bench::new();
    let second = std::time::Duration::from_secs(1);
    bench.server.fault(Fault::new(Effect::Slow(second)));
    for n in 0..100 {
        let pod = bench.pod(&format!("p{n}"));
        bench.report(&pod, Some(status("Running")), Flags::RUNS);
    }
    tokio::time::sleep(second / 2).await;
    assert_eq!(bench.server.last_request(), 32);
    tokio::time::sleep(4 * second).await;
    assert_eq!(bench.server.last_request(), 100);
    let all: Vec<k8s_openapi::api::core::v1::Pod> = bench.server.list();
    assert!(all.iter().all(|pod| pod.status.as_ref().unwrap().phase.as_deref() == Some("Running")));
}

#[tokio::test(start_paused = true)]
async fn a_static_pods_status_is_its_mirrors() {
    let bench = Bench::new();
    let pod = bench.static_pod("s", "1");
    bench.report(&pod, Some(status("Running")), Flags::RUNS);
    bench.pass(1).await;
    assert_eq!(bench.requests(), ["create pods "], "a mirror is made first");
    bench.watch_all();
    bench.pass(1).await;
    assert_eq!(bench.shown("s"), "Running");
    let uid = bench.at_server("s").metadata.uid;
    assert_ne!(uid, pod.metadata.uid);
    assert_eq!(bench.server.requests()[1].json()["metadata"]["uid"], json!(uid));
    // Someone deletes the mirror: it comes back, and so does the status.
    bench.server.delete::<k8s_openapi::api::core::v1::Pod>("default", "s", None).unwrap();
    bench.watch_all();
    bench.pass(1).await;
    bench.watch_all();
    bench.pass(1).await;
    assert_eq!(bench.shown("s"), "Running");
    assert_ne!(bench.at_server("s").metadata.uid, uid);
    let reported = ["delete pods s", "create pods ", "patch pods/status s: Running"];
    assert_eq!(bench.requests()[2..], reported);
}
