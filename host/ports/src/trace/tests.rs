//! Whose child a span is, and what it tells.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use witlet_core::trace::{EVENTS_BYTES_MAX, EVENTS_MAX, SpanKind, VALUE_BYTES_MAX};

use super::*;

#[derive(Default)]
struct Kept(Mutex<Vec<SpanData>>);

impl SpanSink for Kept {
    fn take(&self, span: SpanData) {
        self.0.lock().expect("not poisoned").push(span);
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

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_000).expect("a time")
    }
}

fn tracer(rate: u32) -> (Tracer, Arc<Kept>) {
    let kept = Arc::<Kept>::default();
    let sampler = Sampler::per_million(rate);
    (Tracer::new(sampler, kept.clone(), Arc::new(Counting::default()), Arc::new(Fixed)), kept)
}

fn named(name: &'static str) -> SpanStart {
    SpanStart { name: name.into(), kind: SpanKind::Internal, attributes: Vec::new() }
}

/// Trace, span and parent of each, in the order in which they ended.
fn shown(kept: &Kept) -> Vec<String> {
    let spans = kept.0.lock().expect("not poisoned");
    let parent = |span: &SpanData| match (span.parent, span.parent_is_remote) {
        (None, _) => "a root".to_owned(),
        (Some(id), true) => format!("of remote {id}"),
        (Some(id), false) => format!("of {id}"),
    };
    spans.iter().map(|span| format!("{} {} {}", span.name, span.context.span_id, parent(span))).collect()
}

fn headers() -> Vec<String> {
    let mut headers = Vec::new();
    propagate(|name, value| headers.push(format!("{name}: {value}")));
    headers
}

fn incoming(flags: &str) -> Incoming {
    let parent = format!("00-{:032x}-{:016x}-{flags}", 0xaa, 0xbb);
    Incoming::of(|name| match name {
        TRACEPARENT => Some(&*parent),
        TRACESTATE => Some("vendor=1"),
        _ => Some("user=anna"),
    })
}

#[tokio::test(start_paused = true)]
async fn spans_are_parts_of_that_of_their_task_and_end_when_they_are_dropped() {
    let (tracer, kept) = tracer(1_000_000);
    let outer = tracer.span(|| named("outer"));
    let work = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let inner = tracer.span(|| named("inner"));
        inner.scope(async { tracer.span(|| named("innermost")) }).await
    };
    drop(outer.scope(work).await);
    assert!(headers().is_empty(), "the context ends with the scope");
    drop(tracer.span(|| named("other")));
    drop(outer);
    let id = |number: u64| format!("{number:016x}");
    let expected = [
        format!("inner {} of {}", id(4), id(3)),
        format!("innermost {} of {}", id(5), id(4)),
        format!("other {} a root", id(8)),
        format!("outer {} a root", id(3)),
    ];
    assert_eq!(shown(&kept), expected);
    let spans = kept.0.lock().expect("not poisoned");
    assert_eq!(spans[0].context.trace_id, spans[3].context.trace_id);
    assert_ne!(spans[2].context.trace_id, spans[3].context.trace_id);
    assert_eq!(spans[3].ended_at.duration_since(spans[3].started_at), SignedDuration::from_secs(2));
}

#[tokio::test]
async fn a_task_that_is_spawned_has_the_context_that_it_inherits() {
    let (tracer, _) = tracer(1_000_000);
    let span = tracer.span(|| named("outer"));
    let spawned = span.scope(async {
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(inherit(async { headers() }));
        let inherited = tasks.join_next().await.expect("one").expect("no panic");
        tasks.spawn(async { headers() });
        (inherited, tasks.join_next().await.expect("one").expect("no panic"))
    });
    let (inherited, bare) = spawned.await;
    assert_eq!(inherited, [format!("traceparent: 00-{:016x}{:016x}-{:016x}-01", 1, 2, 3)]);
    assert!(bare.is_empty());
}

#[tokio::test]
async fn the_callers_context_is_gone_on_with_or_linked() {
    let (tracer, kept) = tracer(0);
    let sampled = tracer.server_span(|| incoming("01"), || named("sampled"));
    let inside = sampled.scope(async { headers() }).await;
    let trace = format!("{:032x}", 0xaa);
    assert_eq!(
        inside,
        [
            format!("traceparent: 00-{trace}-{:016x}-01", 1),
            "tracestate: vendor=1".into(),
            "baggage: user=anna".into()
        ]
    );
    drop(sampled);
    let unsampled = tracer.server_span(|| incoming("00"), || panic!("not recorded"));
    assert_eq!(
        unsampled.scope(async { headers() }).await[0],
        format!("traceparent: 00-{trace}-{:016x}-00", 2)
    );
    drop(unsampled);
    // The caller's decision doesn't count.
    let public = tracer.public_span(|| incoming("01"), || panic!("not recorded"));
    assert_eq!(public.scope(async { headers() }).await.len(), 1, "without baggage and state");
    drop(public);
    assert_eq!(shown(&kept), [format!("sampled {:016x} of remote {:016x}", 1, 0xbb)]);
}

#[tokio::test]
async fn a_public_request_links_its_caller() {
    let (tracer, kept) = tracer(1_000_000);
    drop(tracer.public_span(|| incoming("00"), || named("public")));
    let spans = kept.0.lock().expect("not poisoned");
    assert_eq!(spans[0].parent, None);
    let linked: Vec<String> = spans[0].links.iter().map(|link| traceparent(&link.context)).collect();
    assert_eq!(linked, [format!("00-{:032x}-{:016x}-00", 0xaa, 0xbb)]);
}

#[tokio::test]
async fn an_error_is_recorded_and_is_the_status() {
    let (tracer, kept) = tracer(1_000_000);
    let mut span = tracer.span(|| named("failed"));
    span.fail(|| "no capacity".to_owned());
    span.add(|| vec![Attribute::int("tries", 3)]);
    drop(span);
    let spans = kept.0.lock().expect("not poisoned");
    assert_eq!(spans[0].status, SpanStatus::Error("no capacity".to_owned()));
    assert_eq!(spans[0].events, [SpanEvent::exception("no capacity", spans[0].events[0].at)]);
    assert_eq!(spans[0].attributes, [Attribute::int("tries", 3)]);
}

#[tokio::test]
async fn errors_that_a_task_notes_are_its_spans_which_fails_with_the_last() {
    let (tracer, kept) = tracer(1_000_000);
    let mut outer = tracer.span(|| named("outer"));
    let work = async {
        note_error("first");
        let mut inner = tracer.span(|| named("inner"));
        inner.fail_as_noted("nothing noted");
        drop(inner);
        note_error("last");
    };
    outer.scope(work).await;
    outer.fail_as_noted("nothing noted");
    for _ in 0..EVENTS_MAX {
        outer.scope(async { note_error("too many") }).await;
    }
    drop(outer);
    note_error("of no one");
    let spans = kept.0.lock().expect("not poisoned");
    let of: Vec<_> = spans.iter().map(|span| (&*span.name, &span.status, span.events.len())).collect();
    let error = |message: &str| SpanStatus::Error(message.to_owned());
    assert_eq!(of, [("inner", &error("nothing noted"), 0), ("outer", &error("last"), EVENTS_MAX)]);
}

#[tokio::test]
async fn events_with_long_texts_are_kept_up_to_a_number_of_bytes() {
    let (tracer, kept) = tracer(1_000_000);
    let span = tracer.span(|| named("long"));
    for _ in 0..EVENTS_MAX {
        span.scope(async { note_error(&"x".repeat(2 * VALUE_BYTES_MAX)) }).await;
    }
    drop(span);
    let spans = kept.0.lock().expect("not poisoned");
    assert_eq!(spans[0].events.len(), EVENTS_BYTES_MAX / VALUE_BYTES_MAX);
    assert_eq!(spans[0].text_bytes(), EVENTS_BYTES_MAX);
}

#[tokio::test]
async fn without_a_tracer_a_span_is_nothing_and_leaves_the_context_as_it_is() {
    let (on, _) = tracer(1_000_000);
    let outer = on.span(|| named("outer"));
    let off = Tracer::off();
    let mut nothing = off.span(|| panic!("not put together"));
    nothing.fail(|| panic!("not put together"));
    nothing.add(|| panic!("not put together"));
    assert!(nothing.scope(async { headers() }).await.is_empty());
    let within = outer.scope(async {
        let nothing = off.server_span(|| panic!("not read"), || panic!("not put together"));
        nothing.scope(async { headers() }).await
    });
    assert_eq!(within.await.len(), 1);
    assert_eq!(size_of::<Span>(), size_of::<usize>());
}

#[tokio::test(start_paused = true)]
async fn a_span_that_waited_begins_after_that_and_says_how_long_it_was() {
    let (tracer, kept) = tracer(1_000_000);
    let attribute = |time: Duration| Attribute::int("waited", i64::try_from(time.as_secs()).unwrap_or(0));
    let mut span = tracer.span(|| named("call"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    span.waited(Duration::from_secs(3), attribute);
    drop(span);
    let mut short = tracer.span(|| named("short"));
    short.waited(Duration::from_secs(3), attribute);
    drop(short);
    let spans = kept.0.lock().expect("not poisoned");
    let times = spans.iter().map(|span| (span.started_at.as_second(), span.ended_at.as_second()));
    assert_eq!(times.collect::<Vec<_>>(), [(1_003, 1_005), (1_000, 1_000)], "none is longer than it was");
    let waited: Vec<_> = spans.iter().flat_map(|span| span.attributes.clone()).collect();
    assert_eq!(waited, [Attribute::int("waited", 3), Attribute::int("waited", 0)]);
}
