//! When a source that can't be read is reported, and when that is over.

use jiff::Timestamp;

use super::*;

#[derive(Default)]
struct Events(Mutex<Vec<Event>>);

impl EventSink for Events {
    fn record(&self, event: Event) {
        self.0.lock().expect("no panic under the lock").push(event);
    }
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-01-01T12:00:00Z".parse().expect("a time")
    }
}

#[test]
fn source_that_cannot_be_read_for_a_minute_is_reported_until_it_can_be() {
    let (events, health) = (Arc::new(Events::default()), Arc::new(SourceHealth::default()));
    let mut outage = SourceOutage::new(SourceName::file(), health.clone(), Arc::new(Noon), events.clone());
    for (second, reports) in [(20, 0), (59, 0), (60, 1), (80, 1), (180, 2)] {
        let now = Duration::from_secs(second);
        outage.unread(now);
        outage.report(now, "no");
        assert_eq!(events.0.lock().expect("no panic under the lock").len(), reports, "{second}");
        assert_eq!(health.all_unread().len(), reports.min(1), "{second}");
    }
    let last = events.0.lock().expect("no panic under the lock").pop().expect("an event");
    assert_eq!((last.object, last.reason.as_str()), (EventObject::Node, "SourceUnreadable"));
    assert_eq!(last.message, "pods of source \"file\" have been unreadable since 2026-01-01T11:57:00Z: no");
    outage.read();
    assert_eq!((health.all_unread(), outage.next_report()), (vec![], None));
    outage.unread(Duration::from_secs(300));
    assert!(outage.report(Duration::from_secs(359), "no").is_none());
    assert!(outage.report(Duration::from_secs(360), "no").is_some());
    drop(outage);
    assert_eq!(health.all_unread(), [], "a source that is gone isn't shown");
}
