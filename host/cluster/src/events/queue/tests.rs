//! Order, repeats and the bound.

use jiff::Timestamp;
use witlet_core::event::correlate::Correlator;
use witlet_core::event::{Event, EventObject, EventType};

use super::*;

fn outgoing(correlator: &mut Correlator, reason: &str) -> Outgoing {
    let event = Event {
        object: EventObject::Node,
        kind: EventType::Normal,
        reason: reason.to_owned(),
        message: "m".to_owned(),
        annotations: Default::default(),
    };
    correlator.correlate(&event, Timestamp::UNIX_EPOCH).expect("few events are all sent")
}

#[test]
fn repeats_wait_once_in_the_place_of_the_first() {
    let (mut correlator, mut queue) = (Correlator::default(), Queue::new(10));
    for reason in ["a", "b", "a", "a"] {
        assert!(queue.push(outgoing(&mut correlator, reason)));
    }
    let mut sent = Vec::new();
    sent.extend(queue.pop());
    // One that is on its way isn't changed any more.
    queue.push(outgoing(&mut correlator, "a"));
    sent.extend(std::iter::from_fn(|| queue.pop()));
    let lines: Vec<_> =
        sent.iter().map(|w| (w.outgoing.key.reason.as_str(), w.outgoing.count, w.is_new)).collect();
    assert_eq!(lines, [("a", 3, true), ("b", 1, true), ("a", 4, false)]);
}

#[test]
fn one_too_many_is_dropped_and_counted() {
    let (mut correlator, mut queue) = (Correlator::default(), Queue::new(2));
    let pushed: Vec<bool> =
        ["a", "b", "c", "a", "d"].map(|reason| queue.push(outgoing(&mut correlator, reason))).into();
    assert_eq!((pushed, queue.dropped()), (vec![true, true, false, true, false], 2));
}
