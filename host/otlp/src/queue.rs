//! Spans that wait to be sent.

use std::sync::Arc;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};
use witlet_core::trace::SpanData;
use witlet_core::trace::export::QUEUE_MAX;
use witlet_ports::SpanSink;

use crate::metrics::{DropReason, SpanCounts};

/// Takes spans as long as there is capacity.
pub struct SpanQueue {
    spans: Sender<SpanData>,
    counts: Arc<SpanCounts>,
}

impl SpanQueue {
    pub(crate) fn new(counts: Arc<SpanCounts>) -> (Arc<Self>, Receiver<SpanData>) {
        let (spans, waiting) = mpsc::channel(QUEUE_MAX);
        (Arc::new(Self { spans, counts }), waiting)
    }
}

impl SpanSink for SpanQueue {
    fn take(&self, span: SpanData) {
        match self.spans.try_send(span) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.counts.dropped(1, DropReason::QueueFull),
            Err(TrySendError::Closed(_)) => self.counts.dropped(1, DropReason::Stopped),
        }
    }
}
