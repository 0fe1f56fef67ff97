//! What a watch says when something changes.

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use witlet_core::event::{Event, EventObject, EventType};

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

fn recorded(count: u32, version: u64, message: &str) -> RecordedEvent {
    let event = Event {
        object: EventObject::Node,
        kind: EventType::Normal,
        reason: "Tested".to_owned(),
        message: message.to_owned(),
        annotations: Default::default(),
    };
    let at = jiff::Timestamp::UNIX_EPOCH;
    RecordedEvent { event: Arc::new(event), count, first_seen: at, last_seen: at, version }
}

/// The lines of all pieces, and how many each piece has.
fn pieces<T>(mut waiting: VecDeque<T>, put: impl Fn(T, &mut Vec<u8>)) -> (Vec<Value>, Vec<usize>) {
    let (mut lines, mut counts) = (Vec::new(), Vec::new());
    loop {
        let piece = piece(&mut waiting, &put);
        if piece.is_empty() {
            return (lines, counts);
        }
        assert!(piece.ends_with(b"\n"), "the last line is whole");
        let of_piece = piece.split_inclusive(|byte| *byte == b'\n');
        let of_piece: Vec<Value> = of_piece.map(|line| serde_json::from_slice(line).unwrap()).collect();
        counts.push(of_piece.len());
        lines.extend(of_piece);
    }
}

#[test]
fn events_are_new_or_repeated_and_missing_ones_are_reported() {
    let page = EventPage { events: vec![recorded(1, 7, ""), recorded(2, 8, "")], version: 8, has_gap: true };
    let (lines, _) = pieces(event_lines(page).collect(), EventLine::put);
    let shown: Vec<(&Value, &Value)> =
        lines.iter().map(|line| (&line["type"], &line["object"]["metadata"]["resourceVersion"])).collect();
    let (gap, new, repeated) = (json!("ERROR"), json!("ADDED"), json!("MODIFIED"));
    assert_eq!(shown, [(&gap, &Value::Null), (&new, &json!("7")), (&repeated, &json!("8"))]);
    assert_eq!(lines[0]["object"]["code"], 410);
}

/// An agent that has these events.
struct Log(Vec<RecordedEvent>, watch::Sender<u64>);

impl AgentView for Log {
    fn pods(&self) -> Vec<Arc<Pod>> {
        Vec::new()
    }

    fn events(&self) -> Vec<RecordedEvent> {
        self.0.clone()
    }

    fn event_changes(&self) -> watch::Receiver<u64> {
        self.1.subscribe()
    }

    fn node(&self) -> Arc<k8s_openapi::api::core::v1::Node> {
        Arc::default()
    }

    fn unhealthy(&self) -> Vec<String> {
        Vec::new()
    }

    fn stats(&self) -> witlet_ports::AgentStats {
        witlet_ports::AgentStats::default()
    }
}

#[tokio::test]
async fn a_log_of_events_is_sent_in_pieces_and_then_what_is_new() {
    let message = "x".repeat(PIECE_BYTES / 4);
    let events = (1..=9).map(|version| recorded(1, version, &message)).collect();
    let agent = Arc::new(Log(events, watch::Sender::new(9)));
    let changes = agent.event_changes();
    let mut watch = EventWatch { agent: agent.clone(), changes, after: 2, waiting: VecDeque::new() };
    let mut versions = Vec::new();
    for count in [4, 3] {
        let piece = watch.next().await.expect("the agent is there");
        let lines: Vec<&[u8]> = piece.split_inclusive(|byte| *byte == b'\n').collect();
        assert_eq!(lines.len(), count);
        for line in lines {
            let line: Value = serde_json::from_slice(line).expect("each line is whole");
            versions.push(line["object"]["metadata"]["resourceVersion"].clone());
        }
    }
    assert_eq!(versions, ["3", "4", "5", "6", "7", "8", "9"]);
    // No more until the agent says that there is.
    let mut next = std::pin::pin!(watch.next());
    assert_eq!(futures::poll!(&mut next), std::task::Poll::Pending);
}

#[test]
fn what_waits_is_written_in_pieces_and_each_line_is_whole() {
    let message = "x".repeat(PIECE_BYTES / 4);
    let status = Arc::new(PodStatus { message: Some(message), ..PodStatus::default() });
    let with_status = |uid: &str| ShownPod { status: Some(status.clone()), ..pod(uid, 1) };
    let uids: Vec<String> = (0..9).map(|number| format!("u{number}")).collect();
    let waiting: VecDeque<_> =
        uids.iter().map(|uid| Change { kind: "ADDED", object: with_status(uid) }).collect();
    let (lines, counts) = pieces(waiting, put_pod);
    assert!(
        lines.iter().all(|line| line["object"]["status"]["message"].is_string()),
        "the newest status is in the pod"
    );
    let found: Vec<&Value> = lines.iter().map(|line| &line["object"]["metadata"]["uid"]).collect();
    assert_eq!(found, uids.iter().collect::<Vec<_>>());
    assert_eq!(counts, [4, 4, 1]);
}
