//! Repeats, similar events, and too many of them.

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds is a timestamp")
}

fn pod(name: &str, container: Option<&str>) -> EventObject {
    EventObject::Pod {
        full_name: PodFullName { namespace: "default".into(), name: name.into() },
        uid: PodUid::from(name),
        field_path: container.map(|name| format!("spec.containers{{{name}}}")),
    }
}

fn event(object: EventObject, reason: &str, message: &str) -> Event {
    Event {
        object,
        kind: EventType::Warning,
        reason: reason.into(),
        message: message.into(),
        annotations: Default::default(),
    }
}

/// What came of each: its count and message, or that it was left out.
fn sent(correlator: &mut Correlator, events: impl IntoIterator<Item = (i64, Event)>) -> Vec<String> {
    let line = |(second, event): (i64, Event)| match correlator.correlate(&event, at(second)) {
        Some(out) => format!("{}× {}", out.count, out.message),
        None => "-".to_owned(),
    };
    events.into_iter().map(line).collect()
}

#[test]
fn repeats_are_counted_from_the_first_on() {
    let mut correlator = Correlator::default();
    let first = correlator.correlate(&event(pod("a", None), "R", "m"), at(1)).expect("the first is sent");
    let second = correlator.correlate(&event(pod("a", None), "R", "m"), at(5)).expect("so is a repeat");
    assert_eq!((first.count, first.first, first.last), (1, at(1), at(1)));
    assert_eq!((second.count, second.first, second.last), (2, at(1), at(5)));
    assert_eq!((&first.key, first.stamp), (&second.key, second.stamp), "it is the same object of the API");
    let others = [
        event(pod("b", None), "R", "m"),
        event(pod("a", Some("c")), "R", "m"),
        event(pod("a", None), "Q", "m"),
        event(pod("a", None), "R", "n"),
        Event { kind: EventType::Normal, ..event(pod("a", None), "R", "m") },
        event(EventObject::Node, "R", "m"),
    ];
    let mut stamps = vec![first.stamp];
    for other in others {
        let out = correlator.correlate(&other, at(5)).expect("another event is sent");
        assert_eq!(out.count, 1, "{other:?}");
        assert!(!stamps.contains(&out.stamp), "names of events about one object differ: {other:?}");
        stamps.push(out.stamp);
    }
}

#[test]
fn an_event_that_another_agent_records_again_is_the_same_object() {
    let ended = |message: &str| event(pod("a", None), "Evicted", message);
    let mut killed = Correlator::default();
    let before = killed.correlate(&event(pod("a", None), "Started", "m"), at(5)).expect("sent");
    let sent = killed.correlate_once(&ended("m"), at(5), at(5)).expect("sent");
    let after = killed.correlate(&event(pod("a", None), "Killing", "m"), at(5)).expect("sent");
    assert!(before.stamp < sent.stamp && sent.stamp < after.stamp, "names differ at the same moment");
    let mut restarted = Correlator::default();
    assert!(restarted.correlate(&event(EventObject::Node, "Starting", "m"), at(9)).is_some());
    let again = restarted.correlate_once(&ended("m"), at(5), at(9));
    assert_eq!(again, Some(sent.clone()));
    let other = restarted.correlate_once(&ended("n"), at(5), at(9)).expect("sent");
    assert_ne!(other.stamp, sent.stamp);
    let later = restarted.correlate_once(&ended("k"), at(6), at(9)).expect("sent");
    assert_eq!((later.first, later.last, later.count), (at(6), at(6), 1));
}

#[test]
fn what_is_no_api_object_is_notified_of_the_node() {
    let source = EventObject::Source { source: "file".into(), place: "/etc/x.yaml".into() };
    for object in [EventObject::Plugin("p".into()), source, EventObject::Node] {
        let out = Correlator::default().correlate(&event(object, "R", "m"), at(0));
        assert_eq!(out.map(|out| out.key.subject), Some(Subject::Node));
    }
}

#[test]
fn from_the_tenth_message_on_events_are_combined() {
    let mut correlator = Correlator::default();
    let lines = sent(&mut correlator, (0..12).map(|n| (n, event(pod("a", None), "R", &format!("m{n}")))));
    let expected: Vec<String> = (0..9)
        .map(|n| format!("1× m{n}"))
        .chain((9..12).map(|n| format!("{}× (combined from similar events): m{n}", n - 8)))
        .collect();
    assert_eq!(lines, expected);
    let later = sent(&mut correlator, [(612, event(pod("a", None), "R", "late"))]);
    assert_eq!(later, ["1× late"], "ten quiet minutes end it");
    let other = sent(&mut correlator, [(20, event(pod("a", None), "Q", "x"))]);
    assert_eq!(other, ["1× x"], "another reason is another kind of event");
}

#[test]
fn twenty_five_events_about_one_object_and_then_one_each_five_minutes() {
    let mut correlator = Correlator::default();
    let mut story = |second, count| {
        let events = (0..count).map(|_| (second, event(pod("a", None), "R", "m")));
        sent(&mut correlator, events).iter().filter(|line| *line != "-").count()
    };
    assert_eq!(story(0, 30), 25);
    assert_eq!(story(299, 1), 0);
    assert_eq!(story(300, 2), 1);
    assert_eq!(story(1000, 5), 2, "two whole periods since; the rest of the third isn't lost");
    assert_eq!(story(1200, 2), 1);
    assert_eq!(story(100_000, 40), 25, "no more than the burst gathers");
    assert_eq!(
        sent(&mut correlator, [(0, event(pod("b", None), "R", "m"))]),
        ["1× m"],
        "objects don't share"
    );
}

#[test]
fn a_clock_that_was_set_back_gives_and_takes_no_permits() {
    let mut correlator = Correlator::default();
    let count = |lines: Vec<String>| lines.iter().filter(|line| *line != "-").count();
    let many = |second| (0..30).map(move |_| (second, event(EventObject::Node, "R", "m")));
    assert_eq!(count(sent(&mut correlator, many(10_000))), 25);
    assert_eq!(count(sent(&mut correlator, many(0))), 0);
    assert_eq!(count(sent(&mut correlator, many(300))), 1);
}

#[test]
fn long_messages_are_cut_at_a_character() {
    let mut correlator = Correlator::default();
    let out = correlator.correlate(&event(EventObject::Node, "R", &"ä".repeat(4000)), at(0));
    let message = out.map(|out| out.message).unwrap_or_default();
    assert!(message.len() <= MESSAGE_BYTES_MAX && message.ends_with("ä…"), "{}", message.len());
}
