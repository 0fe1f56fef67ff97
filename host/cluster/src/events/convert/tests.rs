//! What the API's events look like.

use serde_json::json;
use witlet_core::event::correlate::Correlator;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::pod::{PodFullName, PodUid};

use super::*;

fn outgoing(object: EventObject, kind: EventType) -> Outgoing {
    let event = Event {
        object,
        kind,
        reason: "Tested".to_owned(),
        message: "m".to_owned(),
        annotations: Default::default(),
    };
    let now: Timestamp = "2030-01-01T00:00:00.5Z".parse().expect("a time");
    Correlator::default().correlate(&event, now).expect("the first event is sent")
}

fn pod(name: &str) -> EventObject {
    EventObject::Pod {
        full_name: PodFullName { namespace: "ns".into(), name: name.into() },
        uid: PodUid::from("u"),
        field_path: Some("spec.containers{app}".to_owned()),
    }
}

#[test]
fn an_event_about_a_pod_is_in_its_namespace_and_names_the_container() {
    let made = event(&outgoing(pod("web"), EventType::Warning), "node1");
    assert_eq!(
        serde_json::to_value(made).expect("JSON"),
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "web.1a46e83353a26500", "namespace": "ns"},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "web", "uid": "u",
                "fieldPath": "spec.containers{app}"},
            "reason": "Tested", "message": "m", "type": "Warning", "count": 1,
            "firstTimestamp": "2030-01-01T00:00:00Z", "lastTimestamp": "2030-01-01T00:00:00Z",
            "source": {"component": "kubelet", "host": "node1"},
            "reportingComponent": "kubelet", "reportingInstance": "node1",
        })
    );
}

#[test]
fn an_event_about_the_node_is_in_the_default_namespace_under_the_nodes_name() {
    let made = event(&outgoing(EventObject::Plugin("p".to_owned()), EventType::Normal), "node1");
    let made = serde_json::to_value(made).expect("JSON");
    assert_eq!(made["metadata"]["namespace"], "default");
    assert_eq!(made["involvedObject"], json!({"kind": "Node", "name": "node1", "uid": "node1"}));
}

#[test]
fn a_repeat_changes_the_count_the_time_and_the_message() {
    let mut again = outgoing(pod("web"), EventType::Normal);
    again.count = 7;
    assert_eq!(repeat(&again), json!({"count": 7, "lastTimestamp": "2030-01-01T00:00:00Z", "message": "m"}));
}

#[test]
fn names_fit_the_api() {
    let long =
        name(&outgoing(pod(&format!("{}-{}", "a".repeat(235), "b".repeat(17))), EventType::Normal), "n");
    assert!(long.len() <= NAME_BYTES_MAX && long.contains("a.1a46e8"), "{long}");
}
