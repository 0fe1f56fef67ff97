//! Starts of pods.

use serde_json::{Value, json};

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + seconds).expect("a time")
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

fn pod(spec: Value) -> Pod {
    let metadata = json!({"name": "p", "creationTimestamp": at(0).to_string()});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a pod")
}

fn status(init: Value, app: Value) -> PodStatus {
    serde_json::from_value(json!({"initContainerStatuses": init, "containerStatuses": app}))
        .expect("a status")
}

fn container(state: Value) -> Value {
    json!({"name": "c", "state": state, "image": "i", "imageID": "", "ready": false, "restartCount": 0})
}

#[test]
fn pulls_at_the_same_time_count_once() {
    for (pulls, expected) in [
        (&[][..], 0),
        (&[(1, 4)], 3),
        (&[(1, 4), (6, 7)], 4),
        (&[(1, 4), (2, 6)], 5),
        (&[(1, 4), (2, 4)], 3),
        (&[(4, 1)], 0),
    ] {
        let mut time = PullTime::default();
        pulls.iter().for_each(|(from, to)| time.add(at(*from), at(*to)));
        assert_eq!(time.total(), seconds(expected), "{pulls:?}");
    }
}

#[test]
fn a_pod_has_started_when_all_containers_run() {
    let running = || container(json!({"running": {"startedAt": at(9).to_string()}}));
    let waiting = || container(json!({"waiting": {}}));
    let init = container(
        json!({"terminated": {"exitCode": 0, "startedAt": at(3).to_string(), "finishedAt": at(7).to_string()}}),
    );
    let mut pulls = PullTime::default();
    pulls.add(at(1), at(3));
    let empty_dir = json!({"containers": [], "volumes": [{"name": "v", "emptyDir": {}}]});
    let host_path =
        json!({"containers": [], "hostNetwork": true, "volumes": [{"name": "v", "hostPath": {"path": "/"}}]});
    let started = |total, sli: Option<i64>, has_network| {
        Some(StartLatency { total: seconds(total), sli: sli.map(seconds), has_network })
    };
    for (spec, init, app, expected) in [
        (&empty_dir, json!([init]), json!([running()]), started(10, Some(4), true)),
        (&empty_dir, json!([waiting()]), json!([running()]), started(10, Some(8), true)),
        (&host_path, json!([]), json!([running(), running()]), started(10, None, false)),
        (&empty_dir, json!([]), json!([running(), waiting()]), None),
        (&empty_dir, json!([]), json!([container(json!({"running": {}}))]), None),
        (&empty_dir, json!([]), json!([]), None),
    ] {
        let found = start_latency(&pod(spec.clone()), &status(init.clone(), app.clone()), pulls, at(10));
        assert_eq!(found, expected, "{spec} {init} {app}");
    }
}

#[test]
fn pods_that_were_here_or_waited_for_capacity_do_not_count() {
    let with = |status: Value| {
        let mut pod = pod(json!({"containers": []}));
        pod.status = Some(serde_json::from_value(status).expect("a status"));
        pod
    };
    let condition = |status: &str| json!({"conditions": [{"type": "PodScheduled", "status": status}]});
    assert!(is_tracked(&pod(json!({"containers": []}))));
    assert!(is_tracked(&with(condition("True"))));
    assert!(!is_tracked(&with(condition("False"))));
    assert!(!is_tracked(&with(json!({"startTime": at(0).to_string()}))));
}
