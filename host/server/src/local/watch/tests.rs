//! What a watch says when something changes.

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_ports::RecordedEvent;

use super::*;

fn pod(uid: &str, generation: i64) -> ShownPod {
    let metadata =
        ObjectMeta { uid: Some(uid.to_owned()), generation: Some(generation), ..ObjectMeta::default() };
    ShownPod { pod: Arc::new(Pod { metadata, ..Pod::default() }), status: None }
}

#[test]
fn pods_are_added_modified_and_deleted() {
    let mut sent = BTreeMap::new();
    for (changed, left, expected) in [
        (vec![pod("b", 1), pod("a", 1)], None, vec![("ADDED", "b", 1), ("ADDED", "a", 1)]),
        (vec![pod("a", 1)], Some(vec!["a", "b"]), vec![]),
        (
            vec![pod("a", 2), pod("c", 1)],
            Some(vec!["a", "c"]),
            vec![("MODIFIED", "a", 2), ("ADDED", "c", 1), ("DELETED", "b", 1)],
        ),
        (vec![], None, vec![]),
        (vec![], Some(vec![]), vec![("DELETED", "a", 2), ("DELETED", "c", 1)]),
    ] {
        let left = left.map(|uids| uids.into_iter().map(PodUid::from).collect());
        let changes = pod_changes(&mut sent, PodPage { changed, left, version: 1 });
        let shown: Vec<(&str, &str, i64)> = changes
            .iter()
            .map(|change| {
                let metadata = &change.object.pod.metadata;
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

#[test]
fn what_waits_is_written_in_pieces_and_each_line_is_whole() {
    let message = "x".repeat(PIECE_BYTES / 4);
    let status = Arc::new(PodStatus { message: Some(message), ..PodStatus::default() });
    let with_status = |uid: &str| ShownPod { status: Some(status.clone()), ..pod(uid, 1) };
    let uids: Vec<String> = (0..9).map(|number| format!("u{number}")).collect();
    let mut waiting: VecDeque<_> =
        uids.iter().map(|uid| Change { kind: "ADDED", object: with_status(uid) }).collect();
    let (mut found, mut pieces) = (Vec::new(), Vec::new());
    loop {
        let lines = piece(&mut waiting);
        if lines.is_empty() {
            break;
        }
        let count = found.len();
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let line: Value = serde_json::from_slice(line).unwrap();
            assert!(line["object"]["status"]["message"].is_string(), "the newest status is in the pod");
            found.push(line["object"]["metadata"]["uid"].as_str().unwrap_or_default().to_owned());
        }
        pieces.push(found.len() - count);
    }
    assert_eq!((found, pieces), (uids, vec![4, 4, 1]));
}
