//! The agent's memory of Kubernetes events: bounded, with repeats counted instead of kept.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};
use std::ops::Bound;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;
use tracing::field::display;
use witlet_core::event::{Event, EventObject, EventType};
use witlet_core::text::shortened;
use witlet_ports::{Clock, EventPage, EventSink, RecordedEvent};

use crate::settings::EVENTS_MAX;

#[cfg(test)]
mod tests;

/// Bytes of a message that are remembered (the events API takes 1 KiB of a note): what pods say may be long, and many of them may
/// say it.
const MESSAGE_BYTES_MAX: usize = 1024;

/// Remembers the latest [`EVENTS_MAX`] distinct events. Takes events from every part of the daemon.
pub struct EventLog {
    clock: Arc<dyn Clock>,
    onward: Option<Arc<dyn EventSink>>,
    inner: Mutex<Inner>,
    /// The version of the newest event.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    /// Begins with the microseconds since 1970 of the first event, so that versions grow over a restart, too.
    next: u64,
    /// By their versions: in the order in which they happened last.
    events: BTreeMap<u64, RecordedEvent>,
    versions: HashMap<Arc<Event>, u64>,
    /// Of the newest event that was dropped because the log was full; 0 before there is one.
    forgotten: u64,
}

impl EventLog {
    /// An empty log.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, onward: None, inner: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// Hands each event on, too: to the API server.
    pub fn forwarding(self, onward: Arc<dyn EventSink>) -> Self {
        Self { onward: Some(onward), ..self }
    }

    /// Whether events go to an API server as well.
    pub(crate) fn is_forwarding(&self) -> bool {
        self.onward.is_some()
    }

    /// Returns all remembered events; the one that happened longest ago is first.
    pub fn events(&self) -> Vec<RecordedEvent> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.events.values().cloned().collect()
    }

    /// Returns those with a later version than this. One that isn't reached yet is of a log whose clock ran ahead: all of this log came
    /// after it.
    pub fn events_after(&self, version: u64) -> EventPage {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = inner.next.saturating_sub(1);
        let after = if version > newest { 0 } else { version };
        let events = inner.events.range((Bound::Excluded(after), Bound::Unbounded));
        EventPage {
            events: events.map(|(_, event)| event.clone()).collect(),
            version: newest,
            has_gap: after != 0 && after < inner.forgotten,
        }
    }

    /// The version of the newest event, as it changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

impl EventSink for EventLog {
    fn record(&self, event: Event) {
        if let Some(onward) = &self.onward {
            onward.record(event.clone());
        }
        self.remember(event);
    }

    fn record_once(&self, event: Event, at: Timestamp) {
        if let Some(onward) = &self.onward {
            onward.record_once(event.clone(), at);
        }
        self.remember(event);
    }
}

impl EventLog {
    fn remember(&self, event: Event) {
        log(&event);
        let event = Arc::new(Event { message: shortened(event.message, MESSAGE_BYTES_MAX), ..event });
        let now = self.clock.now();
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.next == 0 {
            inner.next = u64::try_from(now.as_microsecond()).unwrap_or_default().max(1);
        }
        let version = inner.next;
        inner.next += 1;
        let before = inner.versions.insert(event.clone(), version);
        let before = before.and_then(|version| inner.events.remove(&version));
        let recorded = match before {
            Some(old) => RecordedEvent { count: old.count.saturating_add(1), last_seen: now, version, ..old },
            None => RecordedEvent { event, count: 1, first_seen: now, last_seen: now, version },
        };
        inner.events.insert(version, recorded);
        if inner.events.len() > EVENTS_MAX
            && let Some((version, oldest)) = inner.events.pop_first()
        {
            inner.versions.remove(&oldest.event);
            inner.forgotten = version;
        }
        drop(inner);
        self.changes.send_replace(version);
    }
}

/// An event as a line of the log. What it is about has the keys that lines about that have.
fn log(event: &Event) {
    let (reason, message) = (event.reason.as_str(), OneLine(&event.message));
    let (mut pod, mut pod_uid, mut container_name, mut plugin, mut object) = (None, None, None, None, None);
    match &event.object {
        EventObject::Pod { full_name, uid, field_path } => {
            (pod, pod_uid) = (Some(display(full_name)), Some(display(uid)));
            container_name = field_path.as_deref().and_then(container_of);
        }
        EventObject::Plugin(name) => plugin = Some(name.as_str()),
        other @ (EventObject::Node | EventObject::Source { .. }) => object = Some(display(other)),
    }
    match event.kind {
        EventType::Normal => {
            tracing::info!(reason, pod, pod_uid, container_name, plugin, object, "{message}");
        }
        EventType::Warning => {
            tracing::warn!(reason, pod, pod_uid, container_name, plugin, object, "{message}");
        }
    }
}

/// The container of `spec.containers{app}`.
fn container_of(field_path: &str) -> Option<&str> {
    field_path.split_once('{')?.1.strip_suffix('}')
}

/// What pods say, such as a probe's output, must not look like other lines of the agent's log.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| match char.is_control() {
            true => write!(f, "{}", char.escape_default()),
            false => f.write_char(char),
        })
    }
}
