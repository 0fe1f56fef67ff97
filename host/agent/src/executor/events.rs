//! Events about one pod.

use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::pod::{PodFullName, PodUid};
use witlet_ports::EventSink;

/// Records events about a pod.
pub(crate) struct PodEvents<'a> {
    sink: &'a dyn EventSink,
    full_name: PodFullName,
    uid: PodUid,
}

impl<'a> PodEvents<'a> {
    pub(crate) fn new(sink: &'a dyn EventSink, full_name: &PodFullName, uid: &PodUid) -> Self {
        Self { sink, full_name: full_name.clone(), uid: uid.clone() }
    }

    /// Something went as it should.
    pub(crate) fn normal(&self, reason: &str, message: &str) {
        self.record(EventType::Normal, reason, message);
    }

    /// Something somebody should look at.
    pub(crate) fn warning(&self, reason: &str, message: &str) {
        self.record(EventType::Warning, reason, message);
    }

    fn record(&self, kind: EventType, reason: &str, message: &str) {
        self.sink.record(Event {
            object: EventObject::Pod { full_name: self.full_name.clone(), uid: self.uid.clone() },
            kind,
            reason: reason.to_owned(),
            message: message.to_owned(),
        });
    }
}
