//! Fields of containers.

use serde_json::{Value, json};

use super::*;

fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is of the API")
}

#[test]
fn probes_are_written_as_kubectl_does() {
    let timing = "delay=0s timeout=1s period=10s #success=1 #failure=3";
    for (value, check) in [
        (json!({"exec": {"command": ["cat", "/tmp/ok"]}}), "exec [cat /tmp/ok]"),
        (json!({"httpGet": {"port": "web"}}), "http-get http://:web/"),
        (
            json!({"httpGet": {"port": 443, "scheme": "HTTPS", "host": "h", "path": "/z"}}),
            "http-get https://h:443/z",
        ),
        (json!({"tcpSocket": {"port": 5432}}), "tcp-socket :5432"),
        (json!({"grpc": {"port": 9000, "service": "live"}}), "grpc <pod>:9000 live"),
        (json!({"grpc": {"port": 9000}}), "grpc <pod>:9000"),
        (json!({}), "unknown"),
    ] {
        assert_eq!(probe(&made(value)), format!("{check} {timing}"));
    }
    let slow = json!({"initialDelaySeconds": 5, "timeoutSeconds": 2, "periodSeconds": 3, "successThreshold": 2, "failureThreshold": 9});
    assert!(probe(&made(slow)).ends_with("delay=5s timeout=2s period=3s #success=2 #failure=9"));
}

#[test]
fn values_that_come_from_elsewhere_are_named() {
    let from = |from: Value| variable(&made(json!({"name": "A", "valueFrom": from})));
    assert_eq!(variable(&made(json!({"name": "A", "value": "b"}))), "A=b");
    assert_eq!(from(json!({"fieldRef": {"fieldPath": "status.podIP"}})), "A=(v1:status.podIP)");
    assert_eq!(
        from(json!({"resourceFieldRef": {"resource": "limits.cpu"}})),
        "A=(limits.cpu of this container)"
    );
    let secret = from(json!({"secretKeyRef": {"name": "s", "key": "k"}}));
    assert_eq!(secret, "A=<set to the key 'k' in secret 's'>");
    let map = from(json!({"configMapKeyRef": {"name": "m", "key": "k"}}));
    assert_eq!(map, "A=<set to the key 'k' of config map 'm'>");
}

#[test]
fn states_have_their_times_and_reasons() {
    let shown = |value: Value| {
        let mut text = Text::default();
        state(&mut text, "State", Some(&made(value)));
        text.render().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let waiting = json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}});
    assert_eq!(shown(waiting), "State: Waiting Reason: ImagePullBackOff Message: Back-off");
    assert_eq!(shown(json!({})), "State: Waiting");
    let ended = json!({"terminated": {"exitCode": 0, "signal": 9, "reason": "Completed", "startedAt": null}});
    assert_eq!(shown(ended), "State: Terminated Reason: Completed Exit Code: 0 Signal: 9");
}
