//! Spans of what the agent does, and the context that goes with them.
//!
//! The context of a task is its innermost span. It goes with the task's future ([`Span::scope`]) and is no argument: calls to
//! the runtime are made behind many ports that needn't know of it. A task that is spawned begins without one; what it does for the
//! task that spawned it is handed on by [`inherit`].
//!
//! Where tracing is off, a span is nothing: no memory is taken, no clock is read, and what it would say isn't put together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::task::futures::TaskLocalFuture;
use tokio::time::Instant;
use witlet_core::trace::propagation::{BAGGAGE, Incoming, TRACEPARENT, TRACESTATE, traceparent};
use witlet_core::trace::{
    Attribute, Link, Sampler, SpanContext, SpanData, SpanEvent, SpanId, SpanStart, SpanStatus, TraceId,
};

use crate::clock::{Clock, RandomBits};

#[cfg(test)]
mod tests;

/// Where spans go that have ended.
pub trait SpanSink: Send + Sync {
    /// Takes a span, or drops it. Never waits.
    fn take(&self, span: SpanData);
}

/// Where a task stands: within this span.
pub struct TaskContext {
    span: SpanContext,
    /// What the caller of all this added, passed on as it came.
    baggage: Option<Arc<str>>,
    /// What is recorded of the span; none of one that isn't sampled, or that has ended.
    recording: Mutex<Option<Recording>>,
}

impl TaskContext {
    fn recording(&self) -> MutexGuard<'_, Option<Recording>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

tokio::task_local! {
    static CURRENT: Option<Arc<TaskContext>>;
}

/// A future with the context that it runs in.
pub type InContext<F> = TaskLocalFuture<Option<Arc<TaskContext>>, F>;

/// The context of this task, if it has one.
fn current() -> Option<Arc<TaskContext>> {
    CURRENT.try_with(Clone::clone).ok().flatten()
}

/// Runs a future in the context of the task that calls this, whichever task it is polled by.
pub fn inherit<F: Future>(future: F) -> InContext<F> {
    CURRENT.scope(current(), future)
}

/// Has the headers set that pass the context of this task on to another process; none without a context.
pub fn propagate(mut set: impl FnMut(&'static str, &str)) {
    let Some(context) = current() else { return };
    set(TRACEPARENT, &traceparent(&context.span));
    if let Some(state) = &context.span.state {
        set(TRACESTATE, state);
    }
    if let Some(baggage) = &context.baggage {
        set(BAGGAGE, baggage);
    }
}

/// Notes an error within the span of this task, which need not fail for it.
pub fn note_error(message: &str) {
    let Some(context) = current() else { return };
    if let Some(recording) = &mut *context.recording() {
        recording.note_error(message);
    }
}

/// Begins spans. Cheap to clone. The default is off: all its spans are nothing.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<Parts>>);

struct Parts {
    sampler: Sampler,
    sink: Arc<dyn SpanSink>,
    bits: Arc<dyn RandomBits>,
    clock: Arc<dyn Clock>,
}

/// What a span comes from.
struct Origin {
    parent: Option<SpanContext>,
    parent_is_remote: bool,
    link: Option<SpanContext>,
    baggage: Option<Arc<str>>,
}

impl Tracer {
    /// Ids are made of `bits`, times are those of `clock`.
    pub fn new(
        sampler: Sampler,
        sink: Arc<dyn SpanSink>,
        bits: Arc<dyn RandomBits>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self(Some(Arc::new(Parts { sampler, sink, bits, clock })))
    }

    /// No spans.
    pub fn off() -> Self {
        Self(None)
    }

    /// A span within that of this task, or the root of a trace.
    pub fn span(&self, start: impl FnOnce() -> SpanStart) -> Span {
        let Some(parts) = &self.0 else { return Span::none() };
        let context = current();
        let origin = Origin {
            parent: context.as_ref().map(|context| context.span.clone()),
            parent_is_remote: false,
            link: None,
            baggage: context.and_then(|context| context.baggage.clone()),
        };
        parts.begin(origin, start)
    }

    /// The span of a request that came in, within its caller's.
    pub fn server_span(
        &self,
        incoming: impl FnOnce() -> Incoming,
        start: impl FnOnce() -> SpanStart,
    ) -> Span {
        let Some(parts) = &self.0 else { return Span::none() };
        let Incoming { parent, baggage } = incoming();
        parts.begin(Origin { parent_is_remote: parent.is_some(), parent, link: None, baggage }, start)
    }

    /// The span of a request of anyone's: its trace begins here, with a link to the caller's span. Neither does the caller decide on
    /// sampling, nor is its baggage passed on.
    pub fn public_span(
        &self,
        incoming: impl FnOnce() -> Incoming,
        start: impl FnOnce() -> SpanStart,
    ) -> Span {
        let Some(parts) = &self.0 else { return Span::none() };
        let link = incoming().parent;
        parts.begin(Origin { parent: None, parent_is_remote: false, link, baggage: None }, start)
    }
}

impl Parts {
    fn begin(self: &Arc<Self>, origin: Origin, start: impl FnOnce() -> SpanStart) -> Span {
        let Origin { parent, parent_is_remote, link, baggage } = origin;
        let bits = &self.bits;
        let trace_id = parent
            .as_ref()
            .map_or_else(|| TraceId::of_random([bits.next(), bits.next()]), |parent| parent.trace_id);
        let sampled = self.sampler.samples(parent.as_ref().map(|parent| parent.sampled), trace_id);
        let state = parent.as_ref().and_then(|parent| parent.state.clone());
        let context = SpanContext { trace_id, span_id: SpanId::of_random(bits.next()), sampled, state };
        let recording = sampled.then(|| {
            let started_at = self.clock.now();
            let SpanStart { name, kind, attributes } = start();
            let data = SpanData {
                context: context.clone(),
                parent: parent.map(|parent| parent.span_id),
                parent_is_remote,
                name,
                kind,
                started_at,
                ended_at: started_at,
                attributes,
                events: Vec::new(),
                links: link.map(|context| Link { context }).into_iter().collect(),
                status: SpanStatus::Unset,
            };
            Recording { parts: self.clone(), data, begun: Instant::now() }
        });
        Span(Some(Arc::new(TaskContext { span: context, baggage, recording: Mutex::new(recording) })))
    }
}

/// A span that was begun. It ends when it is dropped.
#[must_use = "a span that is dropped at once has no duration"]
pub struct Span(Option<Arc<TaskContext>>);

struct Recording {
    parts: Arc<Parts>,
    data: SpanData,
    begun: Instant,
}

impl Recording {
    /// The time by a clock that no one sets.
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.begun.elapsed()).unwrap_or(SignedDuration::ZERO);
        self.data.started_at.checked_add(elapsed).unwrap_or(self.data.started_at)
    }

    fn note_error(&mut self, message: &str) {
        let event = SpanEvent::exception(message, self.now());
        self.data.push_event(event);
    }
}

impl Span {
    /// Nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// Runs a future within this span. One that is nothing leaves the context as it is.
    pub fn scope<F: Future>(&self, future: F) -> InContext<F> {
        CURRENT.scope(self.0.clone().or_else(current), future)
    }

    /// Changes what is recorded, if anything is.
    pub fn record(&mut self, change: impl FnOnce(&mut SpanData)) {
        self.with(|recording| change(&mut recording.data));
    }

    /// Adds what is known now.
    pub fn add(&mut self, attributes: impl FnOnce() -> Vec<Attribute>) {
        self.record(|data| data.attributes.extend(attributes()));
    }

    /// It began only after this wait, of which it has an attribute. For a span that is done and has no parts from before.
    pub fn waited(&mut self, time: Duration, attribute: impl FnOnce(Duration) -> Attribute) {
        self.with(|recording| {
            let time = time.min(recording.begun.elapsed());
            recording.begun += time;
            let began = recording.data.started_at.checked_add(time);
            recording.data.started_at = began.unwrap_or(recording.data.started_at);
            recording.data.attributes.push(attribute(time));
        });
    }

    /// It failed: the error is noted, and is the span's status.
    pub fn fail(&mut self, message: impl FnOnce() -> String) {
        self.with(|recording| {
            let message = message();
            recording.note_error(&message);
            recording.data.status = SpanStatus::error(&message);
        });
    }

    /// It failed with the error that was noted last, or with this one.
    pub fn fail_as_noted(&mut self, otherwise: &'static str) {
        self.with(|recording| {
            let noted = recording.data.events.iter().rev().find_map(SpanEvent::message);
            recording.data.status = SpanStatus::error(noted.unwrap_or(otherwise));
        });
    }

    fn with(&mut self, change: impl FnOnce(&mut Recording)) {
        if let Some(context) = &self.0
            && let Some(recording) = &mut *context.recording()
        {
            change(recording);
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let recording = self.0.take().and_then(|context| context.recording().take());
        if let Some(mut recording) = recording {
            recording.data.ended_at = recording.now();
            recording.parts.sink.take(recording.data);
        }
    }
}
