//! Metrics as they come over the wire.

use std::io::Read as _;

use axum::http::HeaderMap;
use flate2::read::GzDecoder;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Method, Request};
use prost::Message as _;
use witlet_proto::metrics::{LabelPair, MetricFamily, MetricType};

use super::soon;
use super::world::{SetUp, Who, World, send};

/// Headers and the plain body of a response to one that sends these headers.
async fn scraped_bytes(world: &World, path: &str, headers: &[(&str, &str)]) -> (HeaderMap, Vec<u8>) {
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
    if parts.headers.get("content-encoding").is_none_or(|coding| coding != "gzip") {
        return (parts.headers, body.into());
    }
    let mut plain = Vec::new();
    GzDecoder::new(&body[..]).read_to_end(&mut plain).unwrap();
    (parts.headers, plain)
}

async fn scraped(world: &World, path: &str, headers: &[(&str, &str)]) -> (HeaderMap, String) {
    let (headers, body) = scraped_bytes(world, path, headers).await;
    (headers, String::from_utf8(body).unwrap())
}

/// Where a kubelet shows metrics.
const PATHS: [&str; 5] =
    ["/metrics", "/metrics/cadvisor", "/metrics/probes", "/metrics/resource", "/metrics/slis"];

#[tokio::test]
async fn metrics_are_text_also_for_a_client_that_would_rather_have_open_metrics() {
    let world = World::new(SetUp::default()).await;
    for (accept, escaping) in [
        (None, "underscores"),
        (Some("text/plain"), "underscores"),
        (Some("application/openmetrics-text"), "underscores"),
        (
            Some("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8,text/plain;q=0.3"),
            "allow-utf-8",
        ),
    ] {
        let headers: Vec<(&str, &str)> = accept.map(|accept| ("accept", accept)).into_iter().collect();
        for path in PATHS {
            let (headers, _) = scraped(&world, path, &headers).await;
            let expected = format!("text/plain; version=0.0.4; charset=utf-8; escaping={escaping}");
            assert_eq!(headers["content-type"], expected, "{path} {accept:?}");
        }
        let (_, body) = scraped(&world, "/metrics", &headers).await;
        assert!(body.contains("# TYPE kubelet_pleg_discard_events counter\n"), "{accept:?}: {body}");
        assert!(body.contains("\nwitlet_event_loop_events_total 7\n"), "{accept:?}: {body}");
    }
    world.stop().await;
}

/// The families of a body.
fn families(mut body: &[u8]) -> Vec<MetricFamily> {
    let mut families = Vec::new();
    while !body.is_empty() {
        families.push(MetricFamily::decode_length_delimited(&mut body).unwrap());
    }
    families
}

/// Names, labels, values and times of a body's figures, in its order; of histograms the counts and the sums.
fn figures(families: &[MetricFamily]) -> Vec<String> {
    let mut lines = Vec::new();
    for family in families {
        for metric in &family.metric {
            let label = |label: &LabelPair| format!("{}={:?}", label.name(), label.value());
            let labels: Vec<String> = metric.label.iter().map(label).collect();
            let labels = labels.join(",");
            let series = |suffix: &str| match labels.as_str() {
                "" => format!("{}{suffix}", family.name()),
                labels => format!("{}{suffix}{{{labels}}}", family.name()),
            };
            let at = metric.timestamp_ms.map(|at| format!(" {at}")).unwrap_or_default();
            match (family.r#type(), &metric.counter, &metric.gauge, &metric.histogram) {
                (MetricType::Counter, Some(figure), None, None) => {
                    lines.push(format!("{} {}{at}", series(""), figure.value()));
                }
                (MetricType::Gauge, None, Some(figure), None) => {
                    lines.push(format!("{} {}{at}", series(""), figure.value()));
                }
                (MetricType::Histogram, None, None, Some(figure)) => {
                    lines.push(format!("{} {}", series("_sum"), figure.sample_sum()));
                    lines.push(format!("{} {}", series("_count"), figure.sample_count()));
                }
                other => panic!("{}: {other:?}", family.name()),
            }
        }
    }
    lines
}

#[tokio::test]
async fn messages_say_what_text_says() {
    let world = World::new(SetUp::default()).await;
    let accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,\
                  text/plain;version=0.0.4;q=0.3";
    for path in PATHS {
        // What is counted of requests is there once one has ended.
        scraped(&world, path, &[]).await;
        let (_, text) = scraped(&world, path, &[]).await;
        let (headers, body) = scraped_bytes(&world, path, &[("accept", accept)]).await;
        assert_eq!(
            headers["content-type"],
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited; \
             escaping=underscores",
            "{path}"
        );
        let found = families(&body);
        let helps = found.iter().map(|family| format!("# HELP {} {}", family.name(), family.help()));
        let expected = text.lines().filter(|line| line.starts_with("# HELP ")).map(str::to_owned);
        assert_eq!(helps.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{path}");
        let is_of_requests = |line: &&str| line.starts_with("kubelet_http_") || line.starts_with("process_");
        let plain = |line: &&str| !line.starts_with('#') && !line.contains("_bucket{");
        let expected: Vec<&str> = text.lines().filter(plain).filter(|line| !is_of_requests(line)).collect();
        let figures = figures(&found);
        let figures: Vec<&str> =
            figures.iter().map(String::as_str).filter(|line| !is_of_requests(line)).collect();
        assert_eq!(figures, expected, "{path}");
        let (_, packed) =
            scraped_bytes(&world, path, &[("accept", accept), ("accept-encoding", "gzip")]).await;
        assert_eq!(families(&packed).len(), found.len(), "{path}");
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
    world.stop().await;
}

#[tokio::test]
async fn health_and_metrics_answer_every_method_as_upstreams_handlers_do() {
    let world = World::new(SetUp::default()).await;
    let admin = Who::token("admin");
    for path in
        ["/healthz", "/metrics", "/metrics/probes", "/metrics/slis", "/metrics/resource", "/metrics/cadvisor"]
    {
        for method in [Method::HEAD, Method::POST, Method::OPTIONS] {
            let answer = soon(world.ask(method.clone(), path, &admin)).await;
            assert_eq!(answer.code.as_u16(), 200, "{method} {path}");
            assert_eq!(answer.body.is_empty(), method == Method::HEAD, "{method} {path}: {}", answer.body);
            let started = answer.headers.get("process-start-time-unix").map(|at| at.to_str().unwrap());
            let expected =
                path.starts_with("/metrics").then(|| super::cluster::now().as_second().to_string());
            assert_eq!(started, expected.as_deref(), "{method} {path}");
        }
    }
    // The node suite of upstream waits for a kubelet by this.
    let head = soon(World::plain_by(Method::HEAD, world.healthz, "/healthz")).await;
    assert_eq!((head.code.as_u16(), head.body.as_str()), (200, ""));
    // What upstream has a route for answers to the route's method alone.
    for path in ["/pods", "/runningpods/", "/containerLogs/default/web/app"] {
        let refused = soon(world.ask(Method::HEAD, path, &admin)).await;
        assert_eq!(refused.code.as_u16(), 405, "{path}");
    }
    world.stop().await;
}
