//! Which pod and which container a name means.

use serde_json::{Value, json};

use super::*;

fn made(value: Value) -> Arc<Pod> {
    Arc::new(serde_json::from_value(value).expect("a pod"))
}

/// A pod of a file on node `Node-1`.
fn of_file(namespace: &str, name: &str) -> Arc<Pod> {
    made(json!({
        "metadata": {"name": format!("{name}-node-1"), "namespace": namespace,
            "annotations": {"kubernetes.io/config.source": "file"}},
        "spec": {"nodeName": "Node-1", "containers": [{"name": "app"}]},
    }))
}

/// A pod of an API server.
fn of_api(namespace: &str, name: &str, is_ending: bool) -> Arc<Pod> {
    let deleted = is_ending.then_some("2026-01-01T00:00:00Z");
    made(json!({
        "metadata": {"name": name, "namespace": namespace, "deletionTimestamp": deleted,
            "annotations": {"kubernetes.io/config.source": "api"}},
        "spec": {"nodeName": "Node-1", "containers": [{"name": "app"}]},
    }))
}

#[test]
fn a_pod_is_found_by_its_name_or_its_manifests() {
    let pods = [
        of_file("default", "web"),
        of_file("kube-system", "etcd"),
        of_api("default", "db-0", true),
        of_api("default", "db-0", false),
        of_api("default", "job-node-1", false),
    ];
    for (namespace, name, expected) in [
        ("default", "web", Some(0)),
        ("default", "web-node-1", Some(0)),
        ("default", "pod/web", Some(0)),
        ("kube-system", "etcd", Some(1)),
        ("default", "db-0", Some(3)),
        ("default", "job-node-1", Some(4)),
        // What looks like a node's name is its own in a pod of the API server.
        ("default", "job", None),
        ("default", "etcd", None),
        ("default", "", None),
    ] {
        let found = pod(&pods, namespace, name).ok();
        let found = found.and_then(|found| pods.iter().position(|pod| Arc::ptr_eq(pod, found)));
        assert_eq!(found, expected, "{namespace}/{name}");
    }
}

#[test]
fn an_error_says_where_the_pod_is_or_which_names_are_close() {
    let pods = [of_file("default", "web"), of_file("default", "webhook"), of_file("kube-system", "etcd")];
    let error = |name: &str| pod(&pods, "default", name).map(drop).expect_err("there is none").to_string();
    assert_eq!(
        error("etcd"),
        "pod \"etcd\" not found in namespace \"default\"; there is one in namespace \"kube-system\": add -n kube-system"
    );
    for (name, close) in [("wep", "web"), ("wbe", "web"), ("we", "web, webhook"), ("webhok", "webhook")] {
        let expected = format!("pod {name:?} not found in namespace \"default\"; did you mean {close}?");
        assert_eq!(error(name), expected);
    }
    assert_eq!(error("zookeeper"), "pod \"zookeeper\" not found in namespace \"default\"");
}

#[test]
fn a_container_is_the_named_the_annotated_or_the_first() {
    let with = |annotation: Option<&str>| {
        let annotations = annotation.map(|name| json!({DEFAULT_CONTAINER: name}));
        made(json!({
            "metadata": {"name": "web", "annotations": annotations},
            "spec": {"containers": [{"name": "app"}, {"name": "sidecar"}], "initContainers": [{"name": "setup"}]},
        }))
    };
    for (annotation, name, expected) in [
        (None, None, ("app", true)),
        (Some("sidecar"), None, ("sidecar", true)),
        (Some("gone"), None, ("app", true)),
        (Some("sidecar"), Some("app"), ("app", false)),
        (None, Some("setup"), ("setup", false)),
    ] {
        let found = container(&with(annotation), name).expect("there is one");
        assert_eq!((found.0.as_str(), found.1), expected);
    }
    let missing = container(&with(None), Some("db")).expect_err("there is none").to_string();
    assert_eq!(missing, "container \"db\" not found in pod \"web\"; it has: app, sidecar, setup (init)");
    assert_eq!(shown_containers(&with(None)), "app, sidecar, setup (init)");
    let empty = made(json!({"metadata": {"name": "web"}}));
    assert_eq!(container(&empty, None), Err(LookupError::NoContainers { pod: "web".to_owned() }));
}
