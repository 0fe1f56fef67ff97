//! Calls as spans, and the context that goes with them to the runtime.

use witlet_core::trace::propagation::Incoming;
use witlet_core::trace::{SpanKind, SpanStart};
use witlet_testkit::RecordedSpans;

use crate::server::{Answers, Server};
use crate::{client_at, runtime_at};

fn named(name: &'static str) -> SpanStart {
    SpanStart { name: name.into(), kind: SpanKind::Internal, attributes: Vec::new() }
}

#[tokio::test]
async fn a_call_is_a_span_of_the_task_that_makes_it_and_its_context_reaches_the_runtime() {
    let server = Server::start(Answers::default());
    let (tracer, spans) = RecordedSpans::tracer();
    let runtime = client_at(server.path()).with_tracer(tracer.clone()).into_runtime();
    let caller = Incoming::of(|name| match name {
        "traceparent" => Some("00-000000000000000000000000000000aa-00000000000000bb-01"),
        "tracestate" => Some("vendor=1"),
        _ => Some("user=anna"),
    });
    let outer = tracer.server_span(|| caller, || named("outer"));
    outer.scope(async { runtime.containers.reopen_log(&"c-stays".into()).await }).await.expect("reopened");
    // The span of the call, which is the second one.
    let expected = [
        "traceparent: 00-000000000000000000000000000000aa-0000000000000002-01",
        "tracestate: vendor=1",
        "baggage: user=anna",
    ];
    assert_eq!(server.last_context(), expected);
    let failed = outer.scope(async { runtime.containers.reopen_log(&"gone".into()).await }).await;
    failed.expect_err("there is no such log");
    assert!(runtime.images.status("none").await.expect("an answer").is_none());
    drop(outer);
    let socket = server.path().display();
    let reopen = format!(
        "  runtime.v1.RuntimeService/ReopenContainerLog rpc.method=runtime.v1.RuntimeService/ReopenContainerLog rpc.system.name=grpc server.address={socket}"
    );
    let tree = spans.tree();
    assert_eq!(tree[0], "outer");
    assert_eq!(tree[1], format!("{reopen} rpc.response.status_code=OK"));
    assert!(
        tree[2].starts_with(&format!("{reopen} rpc.response.status_code=NotFound error=")),
        "{}",
        tree[2]
    );
    let root = format!(
        "runtime.v1.ImageService/ImageStatus rpc.method=runtime.v1.ImageService/ImageStatus rpc.system.name=grpc server.address={socket} rpc.response.status_code=NotFound error=\"none\""
    );
    assert_eq!(tree[3..], [root]);
}

#[tokio::test]
async fn a_call_without_tracing_has_no_context() {
    let server = Server::start(Answers::default());
    runtime_at(server.path()).containers.reopen_log(&"c-stays".into()).await.expect("reopened");
    assert!(server.last_context().is_empty());
}
