//! Batches, tries and what is dropped, on paused time.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use tokio::task::JoinSet;
use witlet_core::Timestamp;
use witlet_core::stats::exposition::written;
use witlet_core::trace::export::QUEUE_MAX;
use witlet_core::trace::{SpanContext, SpanId, SpanKind, SpanStatus, TraceId};
use witlet_ports::{MetricsSource, SpanSink};
use witlet_proto::otlp::{ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse};

use super::*;

struct NoJitter;

impl Jitter for NoJitter {
    fn unit(&self) -> f64 {
        0.0
    }
}

/// What a collector does with the next batch.
enum CollectorResponse {
    Take,
    Reject(i64),
    Fail(Status),
    TakeAfter(Duration),
    Hang,
}

/// Answers as scripted, then takes everything. Keeps when each batch came and how large it was.
#[derive(Clone, Default)]
struct ScriptedCollector {
    answers: Arc<Mutex<VecDeque<CollectorResponse>>>,
    batches: Arc<Mutex<Vec<(u64, usize)>>>,
    begun: Option<Instant>,
}

impl Collector for ScriptedCollector {
    async fn export(&self, batch: ExportTraceServiceRequest) -> Result<ExportTraceServiceResponse, Status> {
        let spans = &batch.resource_spans[0].scope_spans[0].spans;
        let at = self.begun.expect("begun").elapsed().as_secs();
        self.batches.lock().expect("not poisoned").push((at, spans.len()));
        let answer = self.answers.lock().expect("not poisoned").pop_front();
        match answer.unwrap_or(CollectorResponse::Take) {
            CollectorResponse::Take => Ok(ExportTraceServiceResponse::default()),
            CollectorResponse::Reject(rejected_spans) => {
                let partial = ExportTracePartialSuccess { rejected_spans, error_message: "no".to_owned() };
                Ok(ExportTraceServiceResponse { partial_success: Some(partial) })
            }
            CollectorResponse::Fail(status) => Err(status),
            CollectorResponse::TakeAfter(wait) => {
                sleep(wait).await;
                Ok(ExportTraceServiceResponse::default())
            }
            CollectorResponse::Hang => std::future::pending().await,
        }
    }
}

/// An exporter at work, with a scripted collector.
struct Rig {
    queue: Arc<SpanQueue>,
    collector: ScriptedCollector,
    counts: Arc<SpanCounts>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Rig {
    fn new(answers: impl IntoIterator<Item = CollectorResponse>) -> Self {
        let collector = ScriptedCollector { begun: Some(Instant::now()), ..ScriptedCollector::default() };
        collector.answers.lock().expect("not poisoned").extend(answers);
        let counts = Arc::<SpanCounts>::default();
        let (queue, waiting) = SpanQueue::new(counts.clone());
        let work = Work {
            collector: collector.clone(),
            place: "here".to_owned(),
            resource: Resource {
                service_name: "kubelet".to_owned(),
                host_name: "node1".to_owned(),
                scope: ("witlet".to_owned(), "0".to_owned()),
            },
            jitter: Arc::new(NoJitter),
            counts: counts.clone(),
            failures: 0,
        };
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        tasks.spawn(work.run(waiting, stop.clone()));
        Self { queue, collector, counts, stop, tasks }
    }

    fn take(&self, count: usize) {
        for _ in 0..count {
            self.queue.take(span());
        }
    }

    /// Seconds and sizes of all batches so far.
    fn batches(&self) -> Vec<(u64, usize)> {
        self.collector.batches.lock().expect("not poisoned").clone()
    }

    /// Exported, and dropped because of a full queue, a failure, the end.
    fn counted(&self) -> [u64; 4] {
        let text = written(|to| self.counts.write(to)).expect("it is small");
        let value = |series: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
            found.unwrap_or_else(|| panic!("{series} isn't in:\n{text}")).parse().expect("a number")
        };
        let dropped =
            |reason: &str| value(&format!("witlet_tracing_spans_dropped_total{{reason=\"{reason}\"}}"));
        let exported = value("witlet_tracing_spans_exported_total");
        [exported, dropped("queue_full"), dropped("export_failed"), dropped("stopped")]
    }

    async fn stopped(&mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

fn span() -> SpanData {
    let (trace_id, span_id) = (TraceId::of_random([1, 2]), SpanId::of_random(3));
    SpanData {
        context: SpanContext { trace_id, span_id, sampled: true, state: None },
        parent: None,
        parent_is_remote: false,
        name: "work".into(),
        kind: SpanKind::Internal,
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Timestamp::UNIX_EPOCH,
        attributes: Vec::new(),
        events: Vec::new(),
        links: Vec::new(),
        status: SpanStatus::Unset,
    }
}

async fn pass(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn spans_go_out_in_batches_when_one_is_full_or_its_time_is_over() {
    let mut rig = Rig::new([]);
    rig.take(1);
    pass(2).await;
    rig.take(1);
    pass(4).await;
    assert_eq!(rig.batches(), [(5, 2)]);
    rig.take(BATCH_MAX + 1);
    pass(6).await;
    assert_eq!(rig.batches()[1..], [(6, BATCH_MAX), (11, 1)]);
    rig.take(3);
    rig.stopped().await;
    assert_eq!(rig.batches()[3..], [(12, 3)], "what waits goes out at the end");
    assert_eq!(rig.counted(), [BATCH_MAX as u64 + 6, 0, 0, 0]);
    rig.take(1);
    assert_eq!(rig.counted()[3], 1, "after the end");
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_sent_again_after_growing_delays_until_it_is_too_old() {
    let mut rig = Rig::new((0..9).map(|_| CollectorResponse::Fail(Status::unavailable("away"))));
    rig.take(2);
    pass(68).await;
    rig.take(1);
    pass(200).await;
    // After 5 s each try waits twice as long; the seventh finds the batch to be more than a minute old.
    let expected = [(5, 2), (6, 2), (8, 2), (12, 2), (20, 2), (36, 2), (66, 2), (101, 1), (131, 1), (161, 1)];
    assert_eq!(rig.batches(), expected);
    assert_eq!(rig.counted(), [1, 0, 2, 0]);
    rig.take(1);
    rig.stopped().await;
    assert_eq!(rig.counted(), [2, 0, 2, 0]);
}

#[tokio::test(start_paused = true)]
async fn what_the_collector_refuses_or_rejects_is_not_sent_again() {
    let mut rig = Rig::new([
        CollectorResponse::Fail(Status::invalid_argument("no")),
        CollectorResponse::Fail(Status::resource_exhausted("too much")),
        CollectorResponse::Reject(2),
        // More than there were.
        CollectorResponse::Reject(9),
        CollectorResponse::Reject(-1),
    ]);
    for _ in 0..5 {
        rig.take(3);
        pass(6).await;
    }
    assert_eq!(rig.batches().len(), 5);
    assert_eq!(rig.counted(), [1 + 3, 0, 3 + 3 + 2 + 3, 0]);
    rig.stopped().await;
}

#[test]
fn a_rejection_has_the_collectors_words_within_a_bound() {
    assert_eq!(rejection(2, "no"), "the collector rejected 2 spans: no");
    assert!(rejection(2, &"x".repeat(1 << 20)).len() < 2 * MESSAGE_BYTES_MAX);
}

#[tokio::test(start_paused = true)]
async fn while_a_collector_hangs_the_queue_fills_and_what_is_more_is_dropped_and_counted() {
    let mut rig = Rig::new([CollectorResponse::Hang, CollectorResponse::Hang]);
    rig.take(1);
    pass(6).await;
    assert_eq!(rig.batches(), [(5, 1)]);
    rig.take(QUEUE_MAX + 7);
    assert_eq!(rig.counted(), [0, 7, 0, 0], "no one waits");
    // The deadline of the first try, the delay after it, and the deadline of the second.
    pass(20).await;
    assert_eq!(rig.batches(), [(5, 1), (16, 1)]);
    pass(10).await;
    assert_eq!(rig.counted(), [1 + QUEUE_MAX as u64, 7, 0, 0]);
    rig.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn an_end_waits_for_a_hanging_collector_only_a_short_time() {
    let mut rig = Rig::new([CollectorResponse::Hang]);
    rig.take(BATCH_MAX + 5);
    let begun = Instant::now();
    rig.stopped().await;
    assert_eq!(begun.elapsed(), FLUSH_MAX);
    assert_eq!(rig.counted(), [0, 0, 0, BATCH_MAX as u64 + 5]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_on_its_way_at_the_end_is_sent_once() {
    let mut rig = Rig::new([CollectorResponse::TakeAfter(Duration::from_secs(2))]);
    rig.take(BATCH_MAX + 5);
    pass(1).await;
    rig.stopped().await;
    assert_eq!(rig.batches(), [(0, BATCH_MAX), (2, 5)]);
    assert_eq!(rig.counted(), [BATCH_MAX as u64 + 5, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_full_when_its_texts_are() {
    let mut rig = Rig::new([]);
    let large = SpanData { status: SpanStatus::Error("x".repeat(BATCH_BYTES_MAX / 4 + 1)), ..span() };
    for _ in 0..6 {
        rig.queue.take(large.clone());
    }
    pass(1).await;
    assert_eq!(rig.batches(), [(0, 4)]);
    rig.stopped().await;
    assert_eq!(rig.batches()[1..], [(1, 2)]);
}

#[tokio::test(start_paused = true)]
async fn an_end_without_a_collector_is_no_longer() {
    let mut rig = Rig::new([CollectorResponse::Fail(Status::unavailable("away"))]);
    rig.take(2 * BATCH_MAX);
    let begun = Instant::now();
    rig.stopped().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!((rig.batches().len(), rig.counted()[3]), (1, 2 * BATCH_MAX as u64));
}
