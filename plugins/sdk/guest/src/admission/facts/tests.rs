//! Tests that wrappers lead to the facts they name.

use serde_json::json;

use super::{NodeFacts, PodFacts, RequestFacts};
use crate::{ContainerKind, Error, Operation};

#[test]
fn getters_lead_to_the_facts_of_their_name() {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let facts = RequestFacts {
        operation: Operation::Resize,
        pod: PodFacts {
            labels: vec![pair("a", "label")],
            annotations: vec![pair("a", "annotation")],
            manifest: json!({"spec": {"priority": 7, "hostname": null}}),
            ..PodFacts::default()
        },
        node: NodeFacts {
            name: "n1".to_owned(),
            labels: vec![pair("b", "label")],
            facts: vec![pair("b", "fact")],
            devices: json!([{"resource": "example.com/gpu", "id": "0", "healthy": true, "numaNodes": []}]),
            manifest: json!({"metadata": {"name": "n1"}}),
            ..NodeFacts::default()
        },
        other_pods: vec![PodFacts { source: "api".to_owned(), ..PodFacts::default() }],
        ..RequestFacts::default()
    };
    let request = facts.request();
    let (pod, node) = (request.pod(), request.node());
    assert_eq!(request.operation(), Operation::Resize);
    assert_eq!(
        (pod.label("a"), pod.annotation("a"), pod.label("b")),
        (Some("label".into()), Some("annotation".into()), None)
    );
    assert_eq!(
        (node.label("b"), node.fact("b"), node.fact("a")),
        (Some("label".into()), Some("fact".into()), None)
    );
    assert_eq!(node.at::<String>("/metadata/name").expect("a string"), Some(node.name()));
    assert_eq!(pod.at::<i32>("/spec/priority").expect("a number"), Some(7));
    assert_eq!(pod.at::<String>("/spec/hostname").expect("null is nothing"), None);
    assert_eq!(pod.at::<String>("/spec/nowhere").expect("nothing"), None);
    assert!(
        matches!(pod.at::<String>("/spec/priority"), Err(Error::Decode { field, .. }) if field == "/spec/priority")
    );
    assert!(node.devices().contains(r#""id":"0""#), "{}", node.devices());
    assert_eq!(NodeFacts::default().devices(), "[]");
    assert_eq!(request.other_pods().iter().map(|pod| pod.source()).collect::<Vec<_>>(), ["api"]);
}

#[test]
fn a_manifest_gives_what_the_host_reads_from_it() {
    let manifest = json!({
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u1",
            "labels": {"b": "2", "a": "1"},
            "annotations": {"z": "26", "y": 25},
        },
        "spec": {
            "priority": 7,
            "ephemeralContainers": [{"name": "debug", "image": "busybox"}],
            "containers": [{"name": "app"}],
            "initContainers": [{"name": "setup", "image": "i"}, {"name": "proxy", "restartPolicy": "Always"}],
        },
    });
    let pod = PodFacts::of(&manifest);
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!((pod.identity.namespace.as_str(), pod.identity.uid.as_str(), pod.priority), ("shop", "u1", 7));
    assert_eq!(pod.labels, [pair("a", "1"), pair("b", "2")]);
    assert_eq!(pod.annotations, [pair("z", "26")]);
    let containers: Vec<_> =
        pod.containers.iter().map(|it| (it.name.as_str(), it.kind, it.image.as_str())).collect();
    let expected = [
        ("setup", ContainerKind::Init, "i"),
        ("proxy", ContainerKind::Sidecar, ""),
        ("app", ContainerKind::App, ""),
        ("debug", ContainerKind::Ephemeral, "busybox"),
    ];
    assert_eq!(containers, expected);
    assert_eq!(pod.manifest, manifest);
    assert_eq!(PodFacts::of(&json!({})), PodFacts { manifest: json!({}), ..PodFacts::default() });
}
