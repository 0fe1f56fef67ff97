//! Cases for the fan-out of events.

use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::*;

fn event(id: &str) -> Event {
    let at = Timestamp::UNIX_EPOCH;
    Event { kind: EventKind::Created, id: id.to_owned(), at, sandbox: None, containers: Vec::new() }
}

#[test]
fn an_event_is_made_only_for_those_who_listen() {
    let events = Events::default();
    events.emit(|| unreachable!("there is no subscriber"));
    let (mut one, mut other) = (events.listen().expect("a place"), events.listen().expect("a place"));
    events.emit(|| event("a"));
    assert_eq!(one.try_recv().expect("an event").id, "a");
    assert_eq!(other.try_recv().expect("an event").id, "a");
    drop((one, other));
    events.emit(|| unreachable!("the subscriber has gone"));
}

#[tokio::test]
async fn who_is_too_far_behind_gets_an_error_and_holds_up_no_one() {
    let events = Events::default();
    let (mut slow, mut fast) = (events.listen().expect("a place"), events.listen().expect("a place"));
    for number in 0..=EVENTS_MAX {
        events.emit(|| event(&number.to_string()));
        assert_eq!(fast.recv().await.expect("an event").id, number.to_string());
    }
    assert!(matches!(slow.recv().await, Err(RecvError::Lagged(1))));
}

#[test]
fn listeners_are_bounded_and_end_with_the_runtime() {
    let events = Events::default();
    let mut all: Vec<_> = (0..LISTENERS_MAX).map(|_| events.listen().expect("a place")).collect();
    assert!(events.listen().is_none());
    all.pop();
    all.push(events.listen().expect("a place that was left"));
    events.close();
    for listener in &mut all {
        assert_eq!(listener.try_recv(), Err(TryRecvError::Closed));
    }
    let late = events.listen().expect("a stream").try_recv();
    assert_eq!(late, Err(TryRecvError::Closed));
}
