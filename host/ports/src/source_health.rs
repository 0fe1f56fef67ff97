//! Which sources of pods can't be read: written by the sources, shown with the node.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use witlet_core::event::{Event, EventObject};
use witlet_core::node::conditions::{UnreadSource, source_message};
use witlet_core::node::whole_seconds;
use witlet_core::pod::SourceName;
use witlet_core::reflector::outage::Outage;

use crate::{Clock, EventSink};

#[cfg(test)]
mod tests;

/// Sources that can't be read now. A source that never reported counts as readable.
#[derive(Debug, Default)]
pub struct SourceHealth(Mutex<BTreeMap<String, UnreadSource>>);

impl SourceHealth {
    /// Notes that a source can't be read.
    pub fn unread(&self, unread: UnreadSource) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(unread.source.clone(), unread);
    }

    /// Notes that a source can be read. Gives whether it couldn't before.
    pub fn read(&self, source: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(source).is_some()
    }

    /// Returns those that can't be read, by name.
    pub fn all_unread(&self) -> Vec<UnreadSource> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// Whether one source can be read, over time: what can't be for a minute is reported, less and less often. Times are counted
/// from the source's start.
pub struct SourceOutage {
    source: SourceName,
    health: Arc<SourceHealth>,
    clock: Arc<dyn Clock>,
    events: Arc<dyn EventSink>,
    outage: Outage,
}

impl SourceOutage {
    /// Of a source that starts, and that nothing was read of yet.
    pub fn new(
        source: SourceName,
        health: Arc<SourceHealth>,
        clock: Arc<dyn Clock>,
        events: Arc<dyn EventSink>,
    ) -> Self {
        Self { source, health, clock, events, outage: Outage::begin(Duration::ZERO) }
    }

    /// Notes that the source was read.
    pub fn read(&mut self) {
        self.outage.ended();
        self.health.read(self.source.as_str());
    }

    /// Notes that the source can't be read, or that reading it begins and may hang.
    pub fn unread(&mut self, now: Duration) {
        self.outage.failed(now);
    }

    /// When the next report is due, while the source can't be read.
    pub fn next_report(&self) -> Option<Duration> {
        self.outage.next_report()
    }

    /// Makes the report that is due: shows the source with the node and records an event of the node. Gives the words for the log.
    pub fn report(&mut self, now: Duration, error: &str) -> Option<String> {
        let lasted = self.outage.report(now)?;
        let since = self.clock.now() - SignedDuration::try_from(lasted).unwrap_or_default();
        let source = self.source.to_string();
        let unread = UnreadSource { source, since: whole_seconds(since), error: error.to_owned() };
        let message = source_message(&unread);
        self.health.unread(unread);
        self.events.record(Event::warning(EventObject::Node, "SourceUnreadable", &*message));
        Some(message)
    }
}

/// A source that ends is none that can't be read.
impl Drop for SourceOutage {
    fn drop(&mut self) {
        self.health.read(self.source.as_str());
    }
}
