//! What is known of a span.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;

use super::ids::{SpanId, TraceId};
use crate::text::truncated;

/// Longest text of an attribute in bytes; longer ones are cut. Clients decide on some of them, such as paths.
pub const VALUE_BYTES_MAX: usize = 1024;

/// Events that a span has at most (upstream: `DefaultEventCountLimit`).
pub const EVENTS_MAX: usize = 128;

/// Bytes of texts that the events of a span have at most.
pub const EVENTS_BYTES_MAX: usize = 16 * 1024;

/// Where a span stands, as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanContext {
    /// All spans of one story.
    pub trace_id: TraceId,
    pub span_id: SpanId,
    /// Whether the trace is exported.
    pub sampled: bool,
    /// What vendors add (`tracestate`), passed on as it came.
    pub state: Option<Arc<str>>,
}

/// What a span does in relation to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work of the agent's own.
    Internal,
    /// The answer to a request.
    Server,
    /// A request to another process.
    Client,
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpanStatus {
    /// Nothing is said, which is how what went well ends.
    #[default]
    Unset,
    /// It failed. The message may be empty.
    Error(String),
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// At most [`VALUE_BYTES_MAX`].
    Text(String),
    Int(i64),
}

/// One thing that is known of a span or an event, with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// In OpenTelemetry's form: words with dots.
    pub name: &'static str,
    pub value: AttributeValue,
}

impl Attribute {
    /// A text, cut if it is too long.
    pub fn text(name: &'static str, value: impl Into<String>) -> Self {
        Self { name, value: AttributeValue::Text(truncated(value, VALUE_BYTES_MAX)) }
    }

    /// A number.
    pub fn int(name: &'static str, value: impl Into<i64>) -> Self {
        Self { name, value: AttributeValue::Int(value.into()) }
    }
}

/// Something that happened within a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanEvent {
    pub name: &'static str,
    pub at: Timestamp,
    pub attributes: Vec<Attribute>,
}

impl SpanEvent {
    /// An error, as OpenTelemetry records those.
    pub fn exception(message: &str, at: Timestamp) -> Self {
        Self { name: "exception", at, attributes: vec![Attribute::text("exception.message", message)] }
    }

    /// Returns what an error says.
    pub fn message(&self) -> Option<&str> {
        match &self.attributes.first()?.value {
            AttributeValue::Text(text) => Some(text),
            AttributeValue::Int(_) => None,
        }
    }
}

/// A span of another trace that has to do with this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Which; it came in from another process.
    pub context: SpanContext,
}

/// How a span begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanStart {
    /// What is done, in few words of a bounded number.
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    /// What is known at the beginning.
    pub attributes: Vec<Attribute>,
}

/// A span that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanData {
    pub context: SpanContext,
    /// Whose part it is; none is the root of a trace.
    pub parent: Option<SpanId>,
    /// Whether the parent is another process's.
    pub parent_is_remote: bool,
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub started_at: Timestamp,
    /// When it ended. Not before it began, however the clock was set meanwhile.
    pub ended_at: Timestamp,
    /// What is known of it.
    pub attributes: Vec<Attribute>,
    pub events: Vec<SpanEvent>,
    /// Spans of other traces.
    pub links: Vec<Link>,
    pub status: SpanStatus,
}

impl SpanData {
    /// Adds an event, as long as it fits.
    pub fn push_event(&mut self, event: SpanEvent) {
        let bytes: usize =
            self.events.iter().chain([&event]).map(|event| text_bytes(&event.attributes)).sum();
        if self.events.len() < EVENTS_MAX && bytes <= EVENTS_BYTES_MAX {
            self.events.push(event);
        }
    }

    /// Bytes of all its texts.
    pub fn text_bytes(&self) -> usize {
        let events: usize = self.events.iter().map(|event| text_bytes(&event.attributes)).sum();
        let SpanStatus::Error(message) = &self.status else { return events + text_bytes(&self.attributes) };
        events + text_bytes(&self.attributes) + message.len()
    }
}

fn text_bytes(attributes: &[Attribute]) -> usize {
    let bytes = |attribute: &Attribute| match &attribute.value {
        AttributeValue::Text(text) => text.len(),
        AttributeValue::Int(_) => 0,
    };
    attributes.iter().map(bytes).sum()
}

impl SpanStatus {
    /// It failed, for this reason.
    pub fn error(message: &str) -> Self {
        Self::Error(truncated(message, VALUE_BYTES_MAX))
    }
}

/// The span of a collection of what isn't needed any more.
pub fn garbage_collection(name: &'static str) -> SpanStart {
    SpanStart { name: Cow::Borrowed(name), kind: SpanKind::Internal, attributes: Vec::new() }
}
