//! Metrics as they come over the wire.

use std::io::Read as _;

use axum::http::HeaderMap;
use flate2::read::GzDecoder;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;

use super::soon;
use super::world::{SetUp, World, send};

/// Headers and the plain body of a response to one that sends these headers.
async fn scraped(world: &World, path: &str, headers: &[(&str, &str)]) -> (HeaderMap, String) {
    let mut request =
        Request::get(path).header("host", "node-1:10250").header("authorization", "Bearer admin");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let stream = soon(world.tls(None, "http/1.1")).await;
    let response = soon(send(stream, request.body(Empty::<Bytes>::new()).unwrap())).await;
    assert_eq!(response.status().as_u16(), 200, "{path}");
    let (parts, body) = response.into_parts();
    let body = soon(body.collect()).await.unwrap().to_bytes();
    let mut text = String::new();
    if parts.headers.get("content-encoding").is_some_and(|coding| coding == "gzip") {
        GzDecoder::new(&body[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(body.into()).unwrap();
    }
    (parts.headers, text)
}

#[tokio::test]
async fn metrics_have_prometheus_text_format_unless_open_metrics_is_asked_for() {
    let world = World::new(SetUp::default()).await;
    let text = "text/plain; version=0.0.4; charset=utf-8; escaping=values";
    let open_metrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    for (accept, content_type, line, is_open) in [
        (None, text, "# TYPE witlet_event_loop_events_total counter\n", false),
        (Some("text/plain"), text, "# TYPE witlet_event_loop_events_total counter\n", false),
        (
            Some("application/openmetrics-text"),
            open_metrics,
            "# TYPE witlet_event_loop_events counter\n",
            true,
        ),
    ] {
        let headers: Vec<(&str, &str)> = accept.map(|accept| ("accept", accept)).into_iter().collect();
        let (headers, body) = scraped(&world, "/metrics", &headers).await;
        assert_eq!(headers["content-type"], content_type, "{accept:?}");
        assert!(body.contains(line), "{accept:?}: {body}");
        assert!(body.contains("\nwitlet_event_loop_events_total 7\n"), "{accept:?}: {body}");
        assert_eq!(body.ends_with("# EOF\n"), is_open, "{accept:?}: {body}");
    }
    world.stop().await;
}

#[tokio::test]
async fn metrics_and_the_summary_are_compressed_where_that_is_accepted() {
    let world = World::new(SetUp::default()).await;
    for (path, line) in [
        ("/metrics", "witlet_event_loop_events_total 7"),
        ("/metrics/resource", "resource_scrape_error 0"),
        ("/stats/summary", "\"nodeName\":\"node-1\""),
    ] {
        let (headers, body) = scraped(&world, path, &[("accept-encoding", "gzip")]).await;
        assert_eq!(headers["content-encoding"], "gzip", "{path}");
        assert!(body.contains(line), "{path}: {body}");
        let (headers, body) = scraped(&world, path, &[]).await;
        assert!(!headers.contains_key("content-encoding"), "{path}");
        assert!(body.contains(line), "{path}: {body}");
    }
    let (headers, _) = scraped(&world, "/pods", &[("accept-encoding", "gzip")]).await;
    assert!(!headers.contains_key("content-encoding"));
    world.stop().await;
}
