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

#[test]
fn events_after_a_version_are_those_that_happened_since_then() {
    let log = EventLog::new(Arc::new(Ticking::default()));
    let messages = |page: EventPage| -> Vec<String> {
        page.events.iter().map(|recorded| recorded.event.message.clone()).collect()
    };
    let before_any = log.events_after(0);
    assert!(before_any.events.is_empty() && !before_any.has_gap);
    for message in ["a", "b"] {
        log.record(event(message));
    }
    let page = log.events_after(0);
    let seen = page.version;
    assert_eq!(messages(page), ["a", "b"]);
    assert_eq!(messages(log.events_after(seen)), <[&str; 0]>::default());
    log.record(event("a"));
    let page = log.events_after(seen);
    assert_eq!(page.events[0].count, 2, "a repeat is news");
    assert_eq!(messages(page), ["a"]);
    assert_eq!(messages(log.events_after(u64::MAX)), ["b", "a"], "of a log whose clock ran ahead");
}

#[test]
fn versions_grow_over_a_restart() {
    let clock = Arc::new(Ticking::default());
    let first = EventLog::new(clock.clone());
    first.record(event("a"));
    let seen = first.events_after(0).version;
    let second = EventLog::new(clock);
    second.record(event("b"));
    assert_eq!(second.events_after(seen).events.len(), 1);
}

#[test]
fn who_reads_too_slowly_learns_that_events_are_missing() {
    let log = EventLog::new(Arc::new(Ticking::default()));
    log.record(event("first"));
    let seen = log.events_after(0).version;
    for n in 0..=EVENTS_MAX {
        log.record(event(&n.to_string()));
    }
    assert!(log.events_after(seen).has_gap);
    let seen = log.events_after(seen).version;
    assert!(!log.events_after(seen).has_gap);
    assert!(!log.events_after(0).has_gap, "who begins misses nothing");
}

#[test]
fn each_event_is_announced() {
    let log = EventLog::new(Arc::new(Ticking::default()));
    let mut changes = log.changes();
    assert_eq!(changes.has_changed().ok(), Some(false));
    log.record(event("a"));
    assert_eq!(*changes.borrow_and_update(), log.events_after(0).version);
}
