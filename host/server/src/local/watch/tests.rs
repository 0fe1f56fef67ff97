//! What a watch says when something changes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_ports::RecordedEvent;

use super::*;

fn pod(uid: &str, generation: i64) -> Arc<Pod> {
    let metadata =
        ObjectMeta { uid: Some(uid.to_owned()), generation: Some(generation), ..ObjectMeta::default() };
    Arc::new(Pod { metadata, ..Pod::default() })
}

#[test]
fn pods_are_added_modified_and_deleted() {
    let mut sent = BTreeMap::new();
    for (now, expected) in [
        (vec![pod("b", 1), pod("a", 1)], vec![("ADDED", "b", 1), ("ADDED", "a", 1)]),
        (vec![pod("a", 1), pod("b", 1)], vec![]),
        (vec![pod("a", 2), pod("c", 1)], vec![("MODIFIED", "a", 2), ("ADDED", "c", 1), ("DELETED", "b", 1)]),
        (vec![], vec![("DELETED", "a", 2), ("DELETED", "c", 1)]),
    ] {
        let changes = pod_changes(&mut sent, now);
        let shown: Vec<(&str, &str, i64)> = changes
            .iter()
            .map(|change| {
                let metadata = &change.object.metadata;
                (change.kind, metadata.uid.as_deref().unwrap_or_default(), metadata.generation.unwrap_or(0))
            })
            .collect();
        assert_eq!(shown, expected);
    }
}

#[test]
fn events_are_new_or_repeated_and_missing_ones_are_reported() {
    let recorded = |count, version| {
        let event = Event {
            object: EventObject::Node,
            kind: EventType::Normal,
            reason: "Tested".to_owned(),
            message: String::new(),
            annotations: Default::default(),
        };
        let at = jiff::Timestamp::UNIX_EPOCH;
        RecordedEvent { event: Arc::new(event), count, first_seen: at, last_seen: at, version }
    };
    let page = EventPage { events: vec![recorded(1, 7), recorded(2, 8)], version: 8, has_gap: true };
    let lines = String::from_utf8(event_lines(&page)).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<(&Value, &Value)> =
        lines.iter().map(|line| (&line["type"], &line["object"]["metadata"]["resourceVersion"])).collect();
    let (gap, new, repeated) = (json!("ERROR"), json!("ADDED"), json!("MODIFIED"));
    assert_eq!(shown, [(&gap, &Value::Null), (&new, &json!("7")), (&repeated, &json!("8"))]);
    assert_eq!(lines[0]["object"]["code"], 410);
}
