//! The source, called as a function.

use serde_json::{Value, json};
use witlet_plugin_sdk::source::{PodSource, Snapshot};

use super::{Config, {{Camel}}};

fn config(pods: Value) -> Config {
    let config: Config = serde_json::from_value(json!({"pods": pods})).expect("a configuration");
    {{Camel}}::validate(&config).expect("its pods are pods");
    config
}

#[test]
fn the_pods_of_the_configuration_are_its_pods_until_they_change() {
    let pod = json!({"kind": "Pod", "metadata": {"name": "web"}});
    let config = config(json!([pod]));
    let first = {{Camel}}::poll(None, &config).expect("an answer");
    assert_eq!(first.snapshot, Snapshot::Pods(vec![pod.to_string()]));
    let second = {{Camel}}::poll(first.cursor.as_deref(), &config).expect("an answer");
    assert_eq!((second.snapshot, second.cursor), (Snapshot::Unchanged, first.cursor.clone()));

    let other = self::config(json!([{"kind": "Pod", "metadata": {"name": "db"}}]));
    let third = {{Camel}}::poll(first.cursor.as_deref(), &other).expect("an answer");
    assert!(matches!(third.snapshot, Snapshot::Pods(_)), "{third:?}");
}

#[test]
fn no_pods_are_reported_as_such() {
    let poll = {{Camel}}::poll(None, &config(json!([]))).expect("an answer");
    assert_eq!(poll.snapshot, Snapshot::Empty);
}

#[test]
fn what_is_no_pod_is_refused() {
    for pods in [json!([{"kind": "Pod"}, {"kind": "Service"}]), json!([{"kind": "Pod"}, "web"])] {
        let config: Config = serde_json::from_value(json!({"pods": pods})).expect("it decodes");
        let error = {{Camel}}::validate(&config).expect_err("it is no pod");
        assert_eq!(error.to_string(), "pods[1]: is no manifest of kind Pod");
    }
}
