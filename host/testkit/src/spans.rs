//! Spans that a test checks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use witlet_core::trace::{AttributeValue, Sampler, SpanData, SpanStatus};
use witlet_ports::{Clock, RandomBits, SpanSink, Tracer};

/// Keeps every span that has ended.
#[derive(Default)]
pub struct RecordedSpans(Mutex<Vec<SpanData>>);

impl SpanSink for RecordedSpans {
    fn take(&self, span: SpanData) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(span);
    }
}

/// 1, 2, 3, …
#[derive(Default)]
struct Counting(AtomicU64);

impl RandomBits for Counting {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl RecordedSpans {
    /// A tracer that samples all traces, and what it records. Ids count up, times begin with 1970.
    pub fn tracer() -> (Tracer, Arc<Self>) {
        let spans = Arc::<Self>::default();
        let (sampler, bits) = (Sampler::per_million(1_000_000), Arc::<Counting>::default());
        (Tracer::new(sampler, spans.clone(), bits, Arc::new(Epoch)), spans)
    }

    /// All that ended so far, in that order.
    pub fn all(&self) -> Vec<SpanData> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The traces in the order in which they began, each span on a line below its parent: name, attributes, status.
    pub fn tree(&self) -> Vec<String> {
        let mut spans = self.all();
        // Ids count up.
        spans.sort_by_key(|span| span.context.span_id);
        let is_root = |span: &&SpanData| {
            span.parent.is_none_or(|parent| !spans.iter().any(|other| other.context.span_id == parent))
        };
        let mut lines = Vec::new();
        for root in spans.iter().filter(is_root) {
            below(root, &spans, 0, &mut lines);
        }
        lines
    }
}

fn below(span: &SpanData, all: &[SpanData], depth: usize, lines: &mut Vec<String>) {
    lines.push(format!("{}{}", "  ".repeat(depth), line(span)));
    for child in all.iter().filter(|child| child.parent == Some(span.context.span_id)) {
        below(child, all, depth + 1, lines);
    }
}

fn line(span: &SpanData) -> String {
    let mut words = vec![span.name.to_string()];
    words.extend(span.attributes.iter().map(|attribute| match &attribute.value {
        AttributeValue::Text(text) => format!("{}={text}", attribute.name),
        AttributeValue::Int(number) => format!("{}={number}", attribute.name),
    }));
    if let SpanStatus::Error(message) = &span.status {
        words.push(format!("error={message:?}"));
    }
    words.join(" ")
}
