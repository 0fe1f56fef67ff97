//! Events about one pod.

use k8s_openapi::api::core::v1::Pod;
use witlet_core::event::{Event, EventObject, EventType, container_path};
use witlet_core::pod::checkpoint::EndReport;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_ports::{EventSink, trace};

/// Records events about a pod.
pub(crate) struct PodEvents<'a> {
    sink: &'a dyn EventSink,
    full_name: PodFullName,
    uid: PodUid,
    field_path: Option<String>,
}

impl<'a> PodEvents<'a> {
    pub(crate) fn new(sink: &'a dyn EventSink, full_name: &PodFullName, uid: &PodUid) -> Self {
        Self { sink, full_name: full_name.clone(), uid: uid.clone(), field_path: None }
    }

    /// Makes the events those of one of the pod's containers, as far as it is known where the pod has it.
    pub(crate) fn of<'p>(self, pod: impl Into<Option<&'p Pod>>, container: &str) -> Self {
        Self { field_path: pod.into().and_then(|pod| container_path(pod, container)), ..self }
    }

    /// Records an event of type Normal.
    pub(crate) fn normal(&self, reason: &str, message: &str) {
        self.record(EventType::Normal, reason, message);
    }

    /// Records an event of type Warning, which the span of the work on the pod notes, too.
    pub(crate) fn warning(&self, reason: &str, message: &str) {
        trace::note_error(message);
        self.record(EventType::Warning, reason, message);
    }

    /// The node ends the pod, which an agent that was killed since may have recorded already.
    pub(crate) fn ended_by_node(&self, reason: &str, message: &str, report: EndReport) {
        let EndReport { at, annotations } = report;
        let event = self.event(EventType::Warning, reason, message);
        self.sink.record_once(Event { annotations, ..event }, at);
    }

    fn record(&self, kind: EventType, reason: &str, message: &str) {
        self.sink.record(self.event(kind, reason, message));
    }

    fn event(&self, kind: EventType, reason: &str, message: &str) -> Event {
        let (full_name, uid) = (self.full_name.clone(), self.uid.clone());
        let object = EventObject::Pod { full_name, uid, field_path: self.field_path.clone() };
        Event::new(object, kind, reason, message)
    }
}
