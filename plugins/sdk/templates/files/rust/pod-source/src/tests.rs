//! The source, called as a function.

use serde_json::{Value, json};
use witlet_plugin_sdk_0_2::facts::validate_source;
use witlet_plugin_sdk_0_2::source::{PodSource, Poll, Snapshot, fingerprint};

use super::{{Camel}};

fn source(pods: Value) -> {{Camel}} {
    serde_json::from_value(json!({"pods": pods})).expect("a configuration")
}

fn poll(source: &{{Camel}}, cursor: Option<&str>) -> Poll {
    source.poll(cursor).expect("an answer")
}

#[test]
fn the_pods_of_the_configuration_are_its_pods_until_they_change() {
    let pod = json!({"kind": "Pod", "metadata": {"name": "web"}});
    let manifests = [pod.to_string()];
    let (source, cursor) = (source(json!([pod])), fingerprint(&manifests));
    assert_eq!(poll(&source, None), Poll::all(manifests).cursor(&cursor));
    assert_eq!(poll(&source, Some(&cursor)), Poll::unchanged().cursor(&cursor));

    let other = self::source(json!([{"kind": "Pod", "metadata": {"name": "db"}}]));
    assert!(matches!(poll(&other, Some(&cursor)).snapshot(), Snapshot::Pods(_)));
}

#[test]
fn no_pods_are_reported_as_such() {
    assert_eq!(poll(&source(json!([])), None).snapshot(), &Snapshot::Empty);
}

#[test]
fn what_is_no_pod_is_refused() {
    for pods in [json!([{"kind": "Pod"}, {"kind": "Service"}]), json!([{"kind": "Pod"}, "web"])] {
        let error = validate_source(&source(pods)).expect_err("it is no pod");
        assert_eq!(error.message(), "pods[1]: is no manifest of kind Pod");
    }
    assert_eq!(validate_source(&source(json!([{"kind": "Pod"}]))), Ok(Vec::new()));
}
