//! What is asked and reported, against a server that answers by a script.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use expect_test::{Expect, expect};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::{Request, Response};
use http_body_util::StreamBody;
use hyper::body::Frame;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, service_fn};
use witlet_core::reflector::Initial;
use witlet_testkit::FixedJitter;

use super::lines::{Line, Lines};
use super::{Change, EVENT_BYTES_MAX, Malformed, ObjectKey, Selection, answers, run};

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, io::Error>>>;

/// How a body ends.
#[derive(Clone, Copy)]
enum End {
    Closes,
    Breaks,
    Hangs,
}

/// What the server does with one request. It says nothing to those beyond its script.
enum WatchResponse {
    Refuses,
    Says(u16, Value),
    /// With `Retry-After`.
    Busy(u64),
    Streams(Vec<String>, End),
}

fn body(parts: Vec<Bytes>, end: End) -> Body {
    let parts = stream::iter(parts).map(|part| Ok(Frame::data(part)));
    // One that ends does so after two seconds, or it would count as too short.
    let pause = stream::once(tokio::time::sleep(Duration::from_secs(2))).filter_map(|()| async { None });
    let end: BoxStream<'static, _> = match end {
        End::Closes => stream::empty().boxed(),
        End::Breaks => stream::iter([Err(io::Error::from(io::ErrorKind::ConnectionReset))]).boxed(),
        End::Hangs => stream::pending().boxed(),
    };
    StreamBody::new(parts.chain(pause).chain(end).boxed())
}

impl WatchResponse {
    fn response(self) -> Result<Response<Body>, BoxError> {
        let (code, parts, end, retry_after) = match self {
            Self::Refuses => return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
            Self::Says(code, value) => (code, vec![value.to_string().into()], None, None),
            Self::Busy(seconds) => (429, Vec::new(), None, Some(seconds)),
            Self::Streams(lines, end) => (200, lines.into_iter().map(Bytes::from).collect(), Some(end), None),
        };
        let body = match end {
            Some(end) => body(parts, end),
            None => StreamBody::new(stream::iter(parts).map(|part| Ok(Frame::data(part))).boxed()),
        };
        let mut response = Response::builder().status(code);
        if let Some(seconds) = retry_after {
            response = response.header("retry-after", seconds);
        }
        Ok(response.body(body)?)
    }
}

/// Requests and what was reported, in order, with the seconds since the start.
#[derive(Clone)]
struct Log {
    begun: Instant,
    lines: Arc<Mutex<String>>,
}

impl Log {
    fn add(&self, line: &str) {
        let seconds = self.begun.elapsed().as_secs_f64();
        self.lines.lock().unwrap().push_str(&format!("{seconds:.1} {line}\n"));
    }
}

fn shown(change: &Change<ConfigMap>) -> String {
    let name = |object: &Arc<ConfigMap>| object.metadata.name.clone().unwrap_or_default();
    let unread = |malformed: &Malformed| {
        malformed.key.as_ref().map(|key| key.name.clone()).unwrap_or_else(|| "something".to_owned())
    };
    match change {
        Change::Replaced { objects, malformed } => {
            let objects: Vec<String> = objects.iter().map(name).collect();
            let malformed: Vec<String> = malformed.iter().map(unread).collect();
            format!("all: {objects:?}, unread: {malformed:?}")
        }
        Change::Put(object) => format!("put {}", name(object)),
        Change::Deleted(key) => format!("deleted {}", key.name),
        Change::Malformed(malformed) => format!("unread {}", unread(malformed)),
        Change::Disconnected(error) => format!("failed: {error}"),
        Change::Connected => "connected".to_owned(),
        Change::Unread(unread) => format!("unread for {}s: {}", unread.lasted.as_secs(), unread.error),
    }
}

async fn check(initial: Initial, script: Vec<WatchResponse>, seconds: u64, expected: Expect) {
    expected.assert_eq(&transcript(initial, script, seconds).await);
}

/// Watches for so many seconds.
async fn transcript(initial: Initial, script: Vec<WatchResponse>, seconds: u64) -> String {
    let log = Log { begun: Instant::now(), lines: Arc::default() };
    let script = Arc::new(Mutex::new(VecDeque::from(script)));
    let asked = log.clone();
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let path = request.uri().to_string();
        asked.add(&format!("  GET {}", path.trim_start_matches("/api/v1/namespaces/default/configmaps?&")));
        let answer = script.lock().unwrap().pop_front();
        async move {
            match answer {
                Some(answer) => answer.response(),
                None => std::future::pending().await,
            }
        }
    });
    let client = kube::Client::new(service, "default");
    let selection = Selection { namespace: Some("default".to_owned()), fields: None, initial };
    let on = |change: Change<ConfigMap>| log.add(&shown(&change));
    let stop = CancellationToken::new();
    let watching = run(&client, &selection, &FixedJitter(0.0), &stop, on);
    let _ = tokio::time::timeout(Duration::from_secs(seconds), watching).await;
    let transcript = log.lines.lock().unwrap();
    transcript.clone()
}

fn config_map(name: &str, version: u64) -> Value {
    let metadata =
        json!({"namespace": "default", "name": name, "uid": name, "resourceVersion": version.to_string()});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

fn event(kind: &str, object: Value) -> String {
    format!("{}\n", json!({"type": kind, "object": object}))
}

fn bookmark(version: u64, is_end: bool) -> String {
    let annotations = if is_end { json!({"k8s.io/initial-events-end": "true"}) } else { json!({}) };
    event(
        "BOOKMARK",
        json!({"metadata": {"resourceVersion": version.to_string(), "annotations": annotations}}),
    )
}

fn status(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "no"})
}

fn list(version: u64, token: &str, items: Vec<Value>) -> WatchResponse {
    WatchResponse::Says(
        200,
        json!({"metadata": {"resourceVersion": version.to_string(), "continue": token}, "items": items}),
    )
}

#[tokio::test(start_paused = true)]
async fn a_stream_becomes_a_watch_and_a_dropped_watch_goes_on_after_what_was_seen_last() {
    let script = vec![
        WatchResponse::Streams(
            vec![
                event("ADDED", config_map("a", 3)),
                bookmark(7, true),
                event("ADDED", config_map("b", 8)),
                event("DELETED", config_map("a", 9)),
                bookmark(20, false),
            ],
            End::Breaks,
        ),
        WatchResponse::Streams(vec![event("MODIFIED", config_map("b", 21))], End::Closes),
    ];
    let expected = expect![[r#"
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=
        0.0 all: ["a"], unread: []
        0.0 put b
        0.0 deleted a
        2.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=20
        2.0 put b
        4.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=21
    "#]];
    check(Initial::Stream, script, 10, expected).await;
}

#[tokio::test(start_paused = true)]
async fn where_streams_are_refused_lists_are_read_page_by_page() {
    let script = vec![
        WatchResponse::Says(422, status(422, "Invalid")),
        list(5, "next", vec![config_map("a", 3)]),
        list(5, "", vec![config_map("b", 4)]),
    ];
    let expected = expect![[r#"
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=
        0.0   GET limit=500&resourceVersion=0
        0.0   GET limit=500&continue=next
        0.0 all: ["a", "b"], unread: []
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=5
    "#]];
    check(Initial::Stream, script, 10, expected).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_streams_is_asked_for_lists_at_once_and_nothing_counts_as_lost() {
    let mut disabled = status(500, "InternalError");
    disabled["message"] = json!(
        "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
    );
    let script = vec![
        WatchResponse::Says(500, disabled),
        list(5, "", vec![config_map("a", 3)]),
        WatchResponse::Streams(vec![event("ADDED", config_map("b", 6)), bookmark(7, false)], End::Closes),
    ];
    let expected = expect![[r#"
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=
        0.0   GET limit=500&resourceVersion=0
        0.0 all: ["a"], unread: []
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=5
        0.0 put b
        2.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=7
    "#]];
    check(Initial::Stream, script, 10, expected).await;
}

/// Bodies that no server of the kind sends.
fn nonsense() -> [WatchResponse; 6] {
    let html = || "<html>Bad Gateway</html>\n".to_owned();
    [
        WatchResponse::Says(500, json!("<html>")),
        WatchResponse::Says(404, status(404, "NotFound")),
        WatchResponse::Says(200, json!("text")),
        WatchResponse::Streams(vec![html()], End::Closes),
        WatchResponse::Streams(vec!["{\"type\":\"ADDED\",\"object\":{\"metad".to_owned()], End::Breaks),
        WatchResponse::Streams(Vec::new(), End::Closes),
    ]
}

#[tokio::test(start_paused = true)]
async fn whatever_a_server_answers_all_objects_are_read_once_it_answers_well() {
    for (number, to_stream) in nonsense().into_iter().enumerate() {
        for (other, to_list) in nonsense().into_iter().enumerate() {
            let to_stream = match (&to_stream, other) {
                (WatchResponse::Says(code, value), _) => WatchResponse::Says(*code, value.clone()),
                (WatchResponse::Streams(lines, end), _) => WatchResponse::Streams(lines.clone(), *end),
                (WatchResponse::Refuses | WatchResponse::Busy(_), _) => WatchResponse::Refuses,
            };
            let is_early_end = match &to_stream {
                WatchResponse::Streams(lines, _) => !lines.concat().contains("html"),
                WatchResponse::Says(code, _) => *code == 200,
                WatchResponse::Refuses | WatchResponse::Busy(_) => false,
            };
            let mut script = vec![to_stream];
            // What ends by itself is asked for once more.
            if is_early_end {
                script.push(WatchResponse::Streams(Vec::new(), End::Closes));
            }
            script.extend([
                to_list,
                WatchResponse::Streams(
                    vec![event("ADDED", config_map("a", 3)), bookmark(4, true)],
                    End::Hangs,
                ),
            ]);
            let log = transcript(Initial::Stream, script, 60).await;
            assert!(log.contains(" failed: "), "{number}, {other}: {log}");
            assert!(log.ends_with(" all: [\"a\"], unread: []\n"), "{number}, {other}: {log}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_is_read_again_and_one_that_is_too_large_by_the_newest() {
    let mut too_large = status(504, "Timeout");
    too_large["details"] =
        json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "x"}], "retryAfterSeconds": 1});
    let script = vec![
        list(5, "", vec![config_map("a", 3)]),
        WatchResponse::Streams(vec![event("ERROR", status(410, "Expired"))], End::Closes),
        WatchResponse::Says(504, too_large.clone()),
        list(4, "", vec![]),
        WatchResponse::Says(504, too_large),
        list(3, "", vec![]),
    ];
    let expected = expect![[r#"
        0.0   GET limit=500&resourceVersion=0
        0.0 all: ["a"], unread: []
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=5
        0.0 failed: 410 Expired: no
        0.8   GET resourceVersion=5
        0.8 failed: 504 Timeout: no
        0.8   GET limit=500
        0.8 all: [], unread: []
        0.8   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=4
        0.8 failed: 504 Timeout: no
        2.4   GET limit=500
        2.4 all: [], unread: []
        2.4   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=3
    "#]];
    check(Initial::Pages, script, 10, expected).await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_costs_itself_and_the_nameless_a_list() {
    let mut bad = config_map("bad", 4);
    bad["data"] = json!(7);
    let mut worse = config_map("worse", 6);
    worse["data"] = json!(["x"]);
    let script = vec![
        list(5, "", vec![config_map("a", 3), bad, json!("nothing"), config_map("b", 3)]),
        WatchResponse::Streams(
            vec![
                event("MODIFIED", worse),
                event("MODIFIED", config_map("a", 7)),
                "{\"type\": \"ADD\n".to_owned(),
                "\n".to_owned(),
                format!("{}\n", "x".repeat(EVENT_BYTES_MAX + 1)),
                event("NEWS", config_map("c", 8)),
                event("MODIFIED", config_map("b", 9)),
                // A line that was cut off.
                "{\"type\":\"ADDED\"".to_owned(),
            ],
            End::Closes,
        ),
        list(12, "", vec![config_map("b", 9)]),
    ];
    let expected = expect![[r#"
        0.0   GET limit=500&resourceVersion=0
        0.0 all: ["a", "b"], unread: ["bad", "something"]
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=5
        0.0 unread worse
        0.0 put a
        0.0 unread something
        0.0 unread something
        0.0 unread c
        0.0 put b
        2.0   GET resourceVersion=9
        2.0 all: ["b"], unread: []
        2.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=12
    "#]];
    check(Initial::Pages, script, 10, expected).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_asked_again_with_back_off_and_goes_on_where_it_was() {
    let script = vec![
        WatchResponse::Refuses,
        WatchResponse::Refuses,
        list(5, "", vec![]),
        WatchResponse::Says(503, status(503, "ServiceUnavailable")),
        WatchResponse::Busy(20),
        WatchResponse::Says(403, status(403, "Forbidden")),
        list(6, "", vec![]),
        WatchResponse::Refuses,
        WatchResponse::Streams(vec![bookmark(9, false)], End::Closes),
    ];
    let expected = expect![[r#"
        0.0   GET limit=500&resourceVersion=0
        0.0 failed: ServiceError: connection refused
        1.0   GET limit=500&resourceVersion=0
        1.0 failed: ServiceError: connection refused
        2.0   GET limit=500&resourceVersion=0
        2.0 all: [], unread: []
        2.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=5
        2.0 failed: 503 ServiceUnavailable: no
        2.8   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=5
        2.8 failed: 429 : 
        22.8   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=5
        22.8 failed: 403 Forbidden: no
        23.6   GET resourceVersion=5
        23.6 all: [], unread: []
        23.6   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=6
        23.6 failed: ServiceError: connection refused
        24.6   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=6
        24.6 connected
        26.6   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=9
    "#]];
    check(Initial::Pages, script, 60, expected).await;
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_pages_never_end_is_given_up_for_a_while() {
    let pages = witlet_core::reflector::PAGES_MAX as usize;
    let mut script: Vec<WatchResponse> = (0..pages).map(|n| list(5, &format!("t{n}"), vec![])).collect();
    script.push(list(6, "", vec![config_map("a", 3)]));
    let log = transcript(Initial::Pages, script, 10).await;
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), pages + 4, "{log}");
    expect![[r#"
        0.0   GET limit=500&continue=t498
        0.0 failed: the response has more than 500 pages
        0.8   GET limit=500&resourceVersion=0
        0.8 all: ["a"], unread: []
        0.8   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=6"#]]
    .assert_eq(&lines[pages - 1..].join("\n"));
}

#[tokio::test(start_paused = true)]
async fn silence_is_noticed_at_every_step() {
    let script = vec![
        // An old server that streams without ever saying that all was sent.
        WatchResponse::Streams(vec![event("ADDED", config_map("a", 3))], End::Hangs),
        list(5, "", vec![config_map("a", 3)]),
        WatchResponse::Streams(vec![bookmark(6, false)], End::Hangs),
    ];
    let expected = expect![[r#"
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=
        60.0 unread for 60s: 
        120.0   GET limit=500&resourceVersion=0
        120.0 all: ["a"], unread: []
        120.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=5
        450.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=6
        510.0 failed: no response within 60s
        510.8   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&resourceVersion=6
    "#]];
    check(Initial::Stream, script, 520, expected).await;
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_stream_that_breaks_off_are_not_taken_for_all() {
    let script = vec![
        WatchResponse::Streams(vec![event("ADDED", config_map("a", 3))], End::Breaks),
        WatchResponse::Streams(vec![event("ADDED", config_map("b", 4)), bookmark(5, true)], End::Hangs),
    ];
    let expected = expect![[r#"
        0.0   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=
        2.8   GET watch=true&timeoutSeconds=300&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=
        2.8 all: ["b"], unread: []
    "#]];
    check(Initial::Stream, script, 10, expected).await;
}

#[test]
fn lines_are_cut_wherever_the_bytes_break() {
    let text = b"one\r\n\ntwo\nmuch too long a line\nthree\nfour".as_slice();
    for size in 1..text.len() {
        let mut lines = Lines::new(8);
        let mut found = Vec::new();
        for part in text.chunks(size) {
            lines.feed(part);
            while let Some(line) = lines.next() {
                found.push(match line {
                    Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                    Line::TooLong => "too long".to_owned(),
                });
            }
        }
        assert_eq!(found, ["one", "two", "too long", "three"], "parts of {size} bytes");
    }
}

#[test]
fn managed_fields_are_dropped_and_keys_are_found_in_what_cannot_be_decoded() {
    let managed = json!([{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]);
    let mut pod =
        json!({"metadata": {"namespace": "ns", "name": "web", "uid": "u1", "resourceVersion": "7"}});
    pod["metadata"]["managedFields"] = managed;
    let page = json!({"metadata": {"resourceVersion": "9"}, "items": [pod, {"metadata": {"uid": "u2"}}]});
    let page = answers::page::<Pod>(page.to_string().as_bytes()).unwrap();
    assert_eq!(page.listed.objects[0].metadata.managed_fields, None);
    assert_eq!(page.listed.malformed, [Malformed { key: None, message: "it has no name".to_owned() }]);
    pod["spec"] = json!({"containers": 7});
    let said = answers::event::<Pod>(event("ADDED", pod).as_bytes()).unwrap();
    let answers::Event::Malformed(malformed) = said.event else { panic!("it was read") };
    let key = ObjectKey { namespace: "ns".to_owned(), name: "web".to_owned(), uid: "u1".to_owned() };
    assert_eq!((malformed.key, said.version.as_str()), (Some(key), "7"));
}

#[test]
fn refusals_keep_their_code_whatever_their_words_are() {
    let refusal = answers::refusal(502, &http::HeaderMap::new(), b"<html>Bad Gateway</html>");
    assert_eq!(refusal.to_string(), "502 : <html>Bad Gateway</html>");
}
