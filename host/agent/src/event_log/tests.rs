//! Tests of the event log.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;
use witlet_core::event::{EventObject, EventType};

use super::*;

/// A clock that is a second later each time it is read.
#[derive(Default)]
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        let seconds = self.0.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_second(seconds).expect("a small number of seconds is a timestamp")
    }
}

fn event(message: &str) -> Event {
    Event {
        object: EventObject::Node,
        kind: EventType::Normal,
        reason: "Tested".into(),
        message: message.into(),
        annotations: Default::default(),
    }
}

#[test]
fn repeats_are_counted_and_move_to_the_end() {
    let log = EventLog::new(Arc::new(Ticking::default()));
    for message in ["a", "b", "a"] {
        log.record(event(message));
    }
    let events = log.events();
    let shown: Vec<String> = events
        .iter()
        .map(|e| {
            let (first, last) = (e.first_seen.as_second(), e.last_seen.as_second());
            format!("{} ×{} {first}..{last}", e.event.message, e.count)
        })
        .collect();
    assert_eq!(shown, ["b ×1 1..1", "a ×2 0..2"]);
}

#[test]
fn the_log_is_bounded_and_forgets_the_oldest() {
    let log = EventLog::new(Arc::new(Ticking::default()));
    for n in 0..=EVENTS_MAX {
        log.record(event(&n.to_string()));
    }
    let events = log.events();
    assert_eq!(events.len(), EVENTS_MAX);
    assert_eq!(events[0].event.message, "1");
    log.record(event("0"));
    assert_eq!(log.events().last().map(|e| e.count), Some(1), "a forgotten event starts over");
}

#[test]
fn a_long_message_is_cut_and_still_counted_as_the_same() {
    let log = EventLog::new(Arc::new(Ticking::default()));
    log.record(event(&"ä".repeat(5000)));
    log.record(event(&"ä".repeat(5000)));
    let events = log.events();
    assert_eq!((events.len(), events[0].count), (1, 2));
    assert_eq!(events[0].event.message, format!("{}…", "ä".repeat((MESSAGE_BYTES_MAX - '…'.len_utf8()) / 2)));
}

#[test]
fn what_a_pod_says_is_one_line_of_the_log() {
    let said = "failed: \u{1b}[2Jno\n2026-01-01T00:00:00Z  INFO witlet: all is well\r\u{85} \"é\"";
    let expected = r#"failed: \u{1b}[2Jno\n2026-01-01T00:00:00Z  INFO witlet: all is well\r\u{85} "é""#;
    assert_eq!(OneLine(said).to_string(), expected);
}
