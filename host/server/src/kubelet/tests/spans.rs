//! Requests as spans.

use http_body_util::Empty;
use hyper::Request;
use hyper::body::Bytes;
use tokio::net::TcpStream;
use witlet_core::trace::propagation::traceparent;
use witlet_core::trace::{Attribute, AttributeValue, SpanData, SpanStatus};
use witlet_testkit::RecordedSpans;

use super::soon;
use super::world::{SetUp, World, send};

const CALLER: &str = "00-000000000000000000000000000000aa-00000000000000bb-01";

fn request(path: &str, token: &str) -> Request<Empty<Bytes>> {
    let request = Request::get(path).header("host", "node-1:10250").header("traceparent", CALLER);
    let request = request.header("authorization", format!("Bearer {token}")).header("user-agent", "test");
    request.body(Empty::new()).unwrap()
}

fn text<'a>(span: &'a SpanData, name: &str) -> &'a AttributeValue {
    let found = span.attributes.iter().find(|attribute| attribute.name == name);
    &found.unwrap_or_else(|| panic!("{name} isn't in {:?}", span.attributes)).value
}

#[tokio::test]
async fn a_request_is_a_span_of_its_callers_trace_with_its_route() {
    let (tracer, spans) = RecordedSpans::tracer();
    let world = World::new(SetUp { tracer, ..SetUp::default() }).await;
    for (path, token) in [
        ("/containerLogs/default/none/app", "admin"),
        ("/nowhere", "admin"),
        // Who isn't known has no span.
        ("/pods", "unknown"),
    ] {
        let stream = soon(world.tls(None, "http/1.1")).await;
        soon(send(stream, request(path, token))).await;
    }
    world.stop().await;
    let all = spans.all();
    let [logs, nowhere] = &all[..] else { panic!("{all:#?}") };
    let route = "/containerLogs/{podNamespace}/{podID}/{containerName}";
    assert_eq!((&*logs.name, text(logs, "http.route")), (route, &Attribute::text("", route).value));
    assert_eq!(text(logs, "http.response.status_code"), &AttributeValue::Int(404));
    assert_eq!(text(logs, "server.port"), &AttributeValue::Int(10250));
    assert_eq!(text(logs, "url.scheme"), &Attribute::text("", "https").value);
    assert_eq!(logs.status, SpanStatus::Unset, "the client's fault");
    assert_eq!(logs.context.trace_id.to_string(), "000000000000000000000000000000aa");
    let parent = logs.parent.map(|parent| parent.to_string());
    assert_eq!((parent.as_deref(), logs.parent_is_remote), (Some("00000000000000bb"), true));
    assert_eq!(nowhere.name, "");
}

#[tokio::test]
async fn a_request_that_anyone_may_make_begins_a_trace_and_links_its_callers() {
    let (tracer, spans) = RecordedSpans::tracer();
    let world = World::new(SetUp { tracer, ..SetUp::default() }).await;
    for address in [world.read_only, world.healthz] {
        let stream = TcpStream::connect(address).await.unwrap();
        soon(send(stream, request("/healthz", "admin"))).await;
    }
    world.stop().await;
    let all = spans.all();
    let [span] = &all[..] else { panic!("the port for health has none: {all:#?}") };
    assert_eq!((&*span.name, span.parent), ("/healthz", None));
    assert_ne!(span.context.trace_id.to_string(), "000000000000000000000000000000aa");
    let links: Vec<String> = span.links.iter().map(|link| traceparent(&link.context)).collect();
    assert_eq!(links, [CALLER]);
}
