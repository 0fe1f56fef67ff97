//! Ends that are news.

use serde_json::{Value, json};

use super::*;

fn status(init: Value, app: Value) -> PodStatus {
    let status = json!({"initContainerStatuses": init, "containerStatuses": app});
    serde_json::from_value(status).expect("a status")
}

fn container(name: &str, state: Value) -> Value {
    json!({"name": name, "state": state, "image": "i", "imageID": "", "ready": false, "restartCount": 0})
}

fn ended(exit_code: i32, reason: &str) -> Value {
    json!({"terminated": {"exitCode": exit_code, "reason": reason}})
}

#[test]
fn each_end_is_news_once() {
    let running = json!({"running": {}});
    let begun =
        status(json!([container("i", ended(0, "Completed"))]), json!([container("a", running.clone())]));
    let crashed = status(
        json!([container("i", ended(0, "Completed"))]),
        json!([
            container("a", ended(137, "OOMKilled")),
            container("b", json!({"terminated": {"exitCode": 1}}))
        ]),
    );
    let of = |container_type, exit_code, reason: &str| Termination {
        container_type,
        exit_code,
        reason: reason.to_owned(),
    };
    assert_eq!(terminations(None, &begun), [of("init_container", 0, "Completed")]);
    assert_eq!(
        terminations(Some(&begun), &crashed),
        [of("container", 137, "OOMKilled"), of("container", 1, "")]
    );
    assert_eq!(terminations(Some(&crashed), &crashed), []);
    let again = status(json!([]), json!([container("a", running)]));
    assert_eq!(terminations(Some(&crashed), &again), []);
}
