//! Gathers spans into batches, and sends one after the other.

use std::error::Error as _;
use std::sync::Arc;

use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use witlet_core::error::one_line;
use witlet_core::text::shortened;
use witlet_core::trace::SpanData;
use witlet_core::trace::endpoint::CollectorEndpoint;
use witlet_core::trace::export::{
    BATCH_AGE_MAX, BATCH_BYTES_MAX, BATCH_MAX, BATCH_PERIOD, EXPORT_TIMEOUT, FLUSH_MAX, delay, may_retry,
};
use witlet_ports::Jitter;

use crate::collector::Collector;
use crate::connection::Connection;
use crate::convert::{self, Resource};
use crate::metrics::{DropReason, SpanCounts};
use crate::queue::SpanQueue;

#[cfg(test)]
mod tests;

/// Bytes of a collector's message that the log has: an answer has up to 4 MiB.
const MESSAGE_BYTES_MAX: usize = 1024;

/// Sends spans until it is stopped.
pub struct Exporter {
    work: Work<Connection>,
    waiting: Receiver<SpanData>,
}

impl Exporter {
    /// An exporter and the queue that it sends from. Must be called inside a tokio runtime; connects to no one yet.
    pub fn new(
        endpoint: &CollectorEndpoint,
        resource: Resource,
        jitter: Arc<dyn Jitter>,
    ) -> (Self, Arc<SpanQueue>) {
        let counts = Arc::<SpanCounts>::default();
        let (queue, waiting) = SpanQueue::new(counts.clone());
        let collector = Connection::lazy(endpoint);
        let work = Work { collector, place: endpoint.to_string(), resource, jitter, counts, failures: 0 };
        (Self { work, waiting }, queue)
    }

    /// Returns what became of spans.
    pub fn counts(&self) -> Arc<SpanCounts> {
        self.work.counts.clone()
    }

    /// Sends spans until `stop` is cancelled, and then what still waits, for a short time.
    pub async fn run(self, stop: CancellationToken) {
        self.work.run(self.waiting, stop).await;
    }
}

struct Work<C> {
    collector: C,
    /// The collector's address, for the log.
    place: String,
    resource: Resource,
    jitter: Arc<dyn Jitter>,
    counts: Arc<SpanCounts>,
    /// Tries that failed since the last one that didn't.
    failures: u32,
}

/// What became of a batch.
enum Sent {
    /// The collector took it, but for so many spans.
    Taken { rejected: u64 },
    /// It may be sent again.
    NotNow,
    /// It won't be taken.
    Refused,
}

/// Spans that are sent at once.
#[derive(Default)]
struct Batch {
    spans: Vec<SpanData>,
    /// Of all their texts.
    bytes: usize,
}

impl Batch {
    fn push(&mut self, span: SpanData) {
        self.bytes += span.text_bytes();
        self.spans.push(span);
    }

    fn is_full(&self) -> bool {
        self.spans.len() >= BATCH_MAX || self.bytes >= BATCH_BYTES_MAX
    }

    fn clear(&mut self) {
        self.spans.clear();
        self.bytes = 0;
    }
}

impl<C: Collector> Work<C> {
    async fn run(mut self, mut waiting: Receiver<SpanData>, stop: CancellationToken) {
        let mut batch = Batch::default();
        let too_late = async {
            stop.cancelled().await;
            sleep(FLUSH_MAX).await;
        };
        let work = async {
            while let Some(true) = stop.run_until_cancelled(gather(&mut waiting, &mut batch)).await {
                self.send_until_taken(&mut batch, &stop).await;
            }
            waiting.close();
            self.flush(&mut waiting, &mut batch).await;
        };
        tokio::select! {
            () = work => {}
            () = too_late => {}
        }
        waiting.close();
        let left = batch.spans.len() + waiting.len();
        self.counts.dropped(left as u64, DropReason::Stopped);
    }

    /// Sends what waits, until a try fails.
    async fn flush(&mut self, waiting: &mut Receiver<SpanData>, batch: &mut Batch) {
        loop {
            while !batch.is_full()
                && let Ok(span) = waiting.try_recv()
            {
                batch.push(span);
            }
            if batch.spans.is_empty() || matches!(self.send(batch).await, Sent::NotNow) {
                return;
            }
        }
    }

    /// Sends a batch, again after a failure that may pass. One that gets too old is dropped. Either way the batch is empty then,
    /// but for a stop: that ends the waits between tries, and no try.
    async fn send_until_taken(&mut self, batch: &mut Batch, stop: &CancellationToken) {
        let begun = Instant::now();
        while let Sent::NotNow = self.send(batch).await {
            let is_old = begun.elapsed() >= BATCH_AGE_MAX;
            if is_old {
                self.counts.dropped(batch.spans.len() as u64, DropReason::ExportFailed);
                batch.clear();
            }
            let pause = sleep(delay(self.failures, self.jitter.unit()));
            if stop.run_until_cancelled(pause).await.is_none() || is_old {
                return;
            }
        }
    }

    /// Tries once. The batch stays if it may be sent again.
    async fn send(&mut self, batch: &mut Batch) -> Sent {
        let count = batch.spans.len() as u64;
        let request = convert::request(&self.resource, batch.spans.clone());
        let sent = match timeout(EXPORT_TIMEOUT, self.collector.export(request)).await {
            Ok(Ok(response)) => {
                let partial = response.partial_success.unwrap_or_default();
                let rejected = u64::try_from(partial.rejected_spans).unwrap_or_default().min(count);
                self.taken(rejected, &partial.error_message);
                Sent::Taken { rejected }
            }
            Ok(Err(status)) => {
                // What has a cause was made on this side, because the transport failed.
                let passes = may_retry(status.code().into()) || status.source().is_some();
                self.failed(&words(&status));
                if passes { Sent::NotNow } else { Sent::Refused }
            }
            Err(late) => {
                self.failed(&late.to_string());
                Sent::NotNow
            }
        };
        match sent {
            Sent::Taken { rejected } => {
                self.counts.exported(count - rejected);
                self.counts.dropped(rejected, DropReason::ExportFailed);
                batch.clear();
            }
            Sent::Refused => {
                self.counts.dropped(count, DropReason::ExportFailed);
                batch.clear();
            }
            Sent::NotNow => {}
        }
        sent
    }

    /// The log has a line when it begins to fail and one when it is over, however much is sent meanwhile.
    fn taken(&mut self, rejected: u64, message: &str) {
        if rejected > 0 {
            return self.failed(&rejection(rejected, message));
        }
        if std::mem::take(&mut self.failures) > 0 {
            tracing::info!(collector = self.place, "Exporting spans again");
        }
    }

    fn failed(&mut self, error: &str) {
        self.failures = self.failures.saturating_add(1);
        if self.failures == 1 {
            tracing::warn!(
                collector = self.place,
                error,
                "Failed to export spans, dropping what the queue cannot hold"
            );
        } else {
            tracing::debug!(
                collector = self.place,
                error,
                failures = self.failures,
                "Failed to export spans"
            );
        }
    }
}

/// Waits for spans: until a batch is full, or its first span has waited for its time. False once there will be none.
async fn gather(waiting: &mut Receiver<SpanData>, batch: &mut Batch) -> bool {
    let Some(first) = waiting.recv().await else { return false };
    batch.push(first);
    let due = Instant::now() + BATCH_PERIOD;
    while !batch.is_full()
        && let Ok(Some(span)) = timeout_at(due, waiting.recv()).await
    {
        batch.push(span);
    }
    true
}

/// Returns what a collector says of spans that it didn't take.
fn rejection(rejected: u64, message: &str) -> String {
    format!("the collector rejected {rejected} spans: {}", shortened(message, MESSAGE_BYTES_MAX))
}

/// Returns what went wrong, with its causes.
fn words(status: &Status) -> String {
    let code = status.code();
    match status.source() {
        Some(cause) => format!("{code:?}: {}", one_line(cause)),
        None => format!("{code:?}: {}", status.message()),
    }
}
