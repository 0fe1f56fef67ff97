//! Cases for the columns that kubectl computes.

use expect_test::expect;
use serde_json::json;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn row(pod: serde_json::Value) -> String {
    let pod: Pod = serde_json::from_value(pod).unwrap();
    render(&pod_header(true), &[pod_row(&pod, true, at(1_000))])
}

fn pod(status: serde_json::Value) -> serde_json::Value {
    json!({
        "metadata": {"namespace": "default", "name": "web-node", "creationTimestamp": "1970-01-01T00:10:00Z"},
        "spec": {"nodeName": "node", "containers": [{"name": "a"}, {"name": "b"}]},
        "status": status,
    })
}

#[test]
fn running_pod_shows_ready_containers_and_address() {
    let text = row(pod(json!({
        "phase": "Running", "podIP": "127.88.0.2",
        "containerStatuses": [
            {"name": "a", "ready": true, "restartCount": 0, "image": "", "imageID": "", "state": {"running": {}}},
            {"name": "b", "ready": false, "restartCount": 0, "image": "", "imageID": "", "state": {"running": {}}},
        ],
    })));
    expect![[r#"
        NAMESPACE   NAME       READY   STATUS    RESTARTS   AGE     IP           NODE   MESSAGE
        default     web-node   1/2     Running   0          6m40s   127.88.0.2   node
    "#]]
    .assert_eq(&text);
}

#[test]
fn crashing_pod_shows_the_waiting_reason_and_when_it_last_ended() {
    let text = row(pod(json!({
        "phase": "Running",
        "containerStatuses": [{
            "name": "a", "ready": false, "restartCount": 3, "image": "", "imageID": "",
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}},
            "lastState": {"terminated": {"exitCode": 1, "finishedAt": "1970-01-01T00:16:10Z"}},
        }],
    })));
    expect![[r#"
        NAMESPACE   NAME       READY   STATUS             RESTARTS      AGE     IP       NODE   MESSAGE
        default     web-node   0/2     CrashLoopBackOff   3 (30s ago)   6m40s   <none>   node   back-off 40s restarting failed container
    "#]]
    .assert_eq(&text);
}

#[test]
fn rejected_pod_shows_its_reason_and_message() {
    let text = row(pod(json!({
        "phase": "Failed", "reason": "LatestTag", "message": "Pod was rejected: image x has no fixed version",
    })));
    assert!(text.contains("LatestTag"), "{text}");
    assert!(text.trim_end().ends_with("image x has no fixed version"), "{text}");
}

#[test]
fn ended_containers_show_their_reason_or_exit_code() {
    let ended = |terminated: serde_json::Value| {
        let status = json!({"phase": "Failed", "containerStatuses": [{
            "name": "a", "ready": false, "restartCount": 0, "image": "", "imageID": "",
            "state": {"terminated": terminated},
        }]});
        let pod: Pod = serde_json::from_value(pod(status)).unwrap();
        pod_reason(&pod, pod.status.as_ref().unwrap())
    };
    assert_eq!(ended(json!({"exitCode": 0, "reason": "Completed"})), "Completed");
    assert_eq!(ended(json!({"exitCode": 3})), "ExitCode:3");
    assert_eq!(ended(json!({"exitCode": 137, "signal": 9})), "Signal:9");
}

#[test]
fn a_pod_being_deleted_is_terminating() {
    let mut pod = pod(json!({"phase": "Running"}));
    pod["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:16:00Z");
    assert!(row(pod).contains("Terminating"));
}

#[test]
fn ages_are_as_short_as_kubectls() {
    let cases = [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 600, "3h10m"),
        (8 * 3600 + 600, "8h"),
        (2 * 86_400, "2d"),
        (2 * 86_400 + 3600, "2d1h"),
        (10 * 86_400, "10d"),
        (3 * 365 * 86_400 + 86_400, "3y1d"),
        (9 * 365 * 86_400, "9y"),
    ];
    for (seconds, expected) in cases {
        assert_eq!(age(at(seconds.max(0)), at((-seconds).max(0))), expected, "{seconds}");
    }
}

#[test]
fn a_row_is_one_line_whatever_is_in_its_cells() {
    let text = render(&["A", "B"], &[vec!["one\ntwo".into(), "x\r\ty".into()]]);
    assert_eq!(text, "A         B\none two   x  y\n");
    // A terminal would clear its screen.
    assert_eq!(render(&["A"], &[vec!["a\u{1b}[2Jb\u{9b}c".into()]]), "A\na\u{fffd}[2Jb\u{fffd}c\n");
    // It would write from right to left.
    assert_eq!(one_line("a\u{202e}b\u{2066}c\u{200d}d"), "a\u{fffd}b\u{fffd}c\u{200d}d");
    assert_eq!(lines("a\n\tb\u{1b}c\n"), "a\n\tb\u{fffd}c\n");
}
