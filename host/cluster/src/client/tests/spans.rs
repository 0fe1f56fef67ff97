//! Requests as spans.

use witlet_core::trace::{SpanKind, SpanStart};
use witlet_testkit::RecordedSpans;

use super::*;

#[tokio::test]
async fn a_request_is_a_span_of_the_task_that_makes_it_with_one_for_each_try() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let (tracer, spans) = RecordedSpans::tracer();
    let options = ConnectOptions { tracer: tracer.clone(), ..home.options() };
    let client = Connection::open(options).expect("open").client();
    let start = || SpanStart { name: "outer".into(), kind: SpanKind::Internal, attributes: Vec::new() };
    let outer = tracer.span(start);
    server.answer(&[(429, Some("0")), (200, None)]);
    outer.scope(text(&client, "/api/v1/nodes/n1?x=1")).await.expect("an answer");
    let seen: Vec<_> = server.seen().into_iter().filter_map(|seen| seen.traceparent).collect();
    let trace = "00000000000000010000000000000002";
    assert_eq!(seen, [format!("00-{trace}-{:016x}-01", 4), format!("00-{trace}-{:016x}-01", 5)]);
    server.answer(&[(404, None)]);
    text(&client, "/api/v1/nodes/n2").await.expect_err("not found");
    drop(outer);
    let port = server.url.rsplit_once(':').expect("a port").1;
    let request = |path: &str| {
        format!(
            "HTTP GET http.request.method=GET url.full={}{path} server.address=127.0.0.1 server.port={port}",
            server.url
        )
    };
    let expected = [
        "outer".to_owned(),
        format!(
            "  {} http.response.status_code=429 error.type=429 error=\"\"",
            request("/api/v1/nodes/n1?x=1")
        ),
        format!("  {} http.response.status_code=200", request("/api/v1/nodes/n1?x=1")),
        format!("{} http.response.status_code=404 error.type=404 error=\"\"", request("/api/v1/nodes/n2")),
    ];
    assert_eq!(spans.tree(), expected);
}

#[tokio::test]
async fn a_watch_is_a_span_that_lasts_as_long_as_its_answer() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    let (tracer, spans) = RecordedSpans::tracer();
    let client = Connection::open(ConnectOptions { tracer, ..home.options() }).expect("open").client();
    let watch = client.send(get("/api/v1/pods?watch=true")).await.expect("a watch");
    assert!(spans.all().is_empty(), "it goes on");
    drop(watch);
    assert_eq!(spans.all().len(), 1);
}

#[tokio::test]
async fn a_request_without_an_answer_is_a_failed_span() {
    let server = TestServer::start(true, 100).await;
    let home = Home::new(&server, "{token: abc}");
    home.write("kubeconfig", &kubeconfig("https://127.0.0.1:1", "{token: abc}"));
    let (tracer, spans) = RecordedSpans::tracer();
    let client = Connection::open(ConnectOptions { tracer, ..home.options() }).expect("open").client();
    text(&client, "/version").await.expect_err("no one listens");
    let tree = spans.tree();
    assert!(tree[0].contains("error.type=_OTHER error=\"failed to connect to 127.0.0.1:1"), "{tree:?}");
}
