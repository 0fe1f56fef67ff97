//! Counts of exported and dropped spans.

use std::sync::atomic::{AtomicU64, Ordering};

use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::MetricsSource;

/// Why a span was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropReason {
    /// The queue was full: the collector is slow or not there.
    QueueFull,
    /// The collector wasn't reached, or didn't take it.
    ExportFailed,
    /// The agent ended before.
    Stopped,
}

/// Counts spans. Those that aren't sampled aren't spans here.
#[derive(Debug, Default)]
pub struct SpanCounts {
    exported: AtomicU64,
    queue_full: AtomicU64,
    export_failed: AtomicU64,
    stopped: AtomicU64,
}

impl SpanCounts {
    pub(crate) fn exported(&self, count: u64) {
        self.exported.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self, count: u64, reason: DropReason) {
        self.of(reason).fetch_add(count, Ordering::Relaxed);
    }

    fn of(&self, reason: DropReason) -> &AtomicU64 {
        match reason {
            DropReason::QueueFull => &self.queue_full,
            DropReason::ExportFailed => &self.export_failed,
            DropReason::Stopped => &self.stopped,
        }
    }
}

impl MetricsSource for SpanCounts {
    fn write(&self, to: &mut Exposition) {
        let help = "Spans that were dropped, by the reason";
        let mut family = to.family("witlet_tracing_spans_dropped_total", help, Kind::Counter);
        for (reason, word) in [
            (DropReason::ExportFailed, "export_failed"),
            (DropReason::QueueFull, "queue_full"),
            (DropReason::Stopped, "stopped"),
        ] {
            family.sample(&[("reason", word)], self.of(reason).load(Ordering::Relaxed) as f64);
        }
        let help = "Spans that the collector took";
        to.counter("witlet_tracing_spans_exported_total", help, self.exported.load(Ordering::Relaxed));
    }
}
