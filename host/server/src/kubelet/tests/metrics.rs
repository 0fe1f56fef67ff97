//! Metrics as they come over the wire.

use std::io::Read as _;

use axum::http::HeaderMap;
use flate2::read::GzDecoder;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Method, Request};

use super::soon;
use super::world::{SetUp, Who, World, send};

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
        ("/metrics/cadvisor", "container_scrape_error 0"),
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

#[tokio::test]
async fn metrics_of_probes_come_with_the_start_of_the_process() {
    let world = World::new(SetUp::default()).await;
    for body in [
        scraped(&world, "/metrics/probes", &[("accept-encoding", "gzip")]).await.1,
        soon(World::plain(world.read_only, "/metrics/probes")).await.body,
    ] {
        assert!(body.contains("\nprocess_start_time_seconds "), "{body}");
        assert!(body.ends_with("\nprober_probe_total 5\n"), "{body}");
    }
    world.stop().await;
}

#[tokio::test]
async fn checks_of_health_are_counted_on_every_port_until_they_are_reset() {
    let world = World::new(SetUp::default()).await;
    let count = |body: &str, name: &str| {
        let line =
            format!("kubernetes_healthchecks_total{{name=\"{name}\",status=\"success\",type=\"healthz\"}} ");
        body.lines().find_map(|found| found.strip_prefix(&line).map(str::to_owned))
    };
    soon(world.get("/healthz")).await;
    soon(World::plain(world.healthz, "/healthz")).await;
    soon(World::plain(world.read_only, "/healthz?verbose&exclude=log")).await;
    // One check alone isn't counted, as upstream has it.
    soon(world.get("/healthz/ping")).await;
    let body = soon(world.get("/metrics/slis")).await.body;
    let counts = ["ping", "log", "syncloop"].map(|name| count(&body, name));
    assert_eq!(counts, ["3", "1", "2"].map(|count| Some(count.to_owned())), "{body}");
    assert!(body.contains("kubernetes_healthcheck{name=\"syncloop\",type=\"healthz\"} 1\n"), "{body}");
    assert!(body.contains("\nprocess_start_time_seconds "), "{body}");
    let reset = soon(world.ask(Method::DELETE, "/metrics/slis", &Who::token("admin"))).await;
    assert_eq!((reset.code.as_u16(), reset.body.as_str()), (200, "metrics reset\n"));
    let body = soon(World::plain(world.read_only, "/metrics/slis")).await.body;
    assert_eq!(count(&body, "ping"), None, "{body}");
    for (method, path) in
        [(Method::POST, "/metrics/slis"), (Method::DELETE, "/metrics/probes"), (Method::DELETE, "/metrics")]
    {
        let refused = soon(world.ask(method.clone(), path, &Who::token("admin"))).await;
        assert_eq!(refused.code.as_u16(), 405, "{method} {path}");
    }
    world.stop().await;
}
