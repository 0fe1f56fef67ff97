//! Logs as they are asked for over the wire.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};

use super::cluster::{ended, running, waiting, web};
use super::soon;
use super::world::{SetUp, World, send};

const LOG: &str = "2026-06-01T11:59:00Z stdout F one\n\
                   2026-06-01T11:59:30Z stderr P tw\n\
                   2026-06-01T11:59:30Z stderr F o\n\
                   2026-06-01T11:59:59Z stdout F three\n";

async fn world() -> World {
    let world = World::new(SetUp::default()).await;
    fs::write(world.log("1.log"), "2026-06-01T11:00:00Z stdout F before\n").unwrap();
    fs::write(world.log("2.log"), LOG).unwrap();
    for (id, log) in [("c-1", "1.log"), ("c-2", "2.log")] {
        world.cluster.log_paths.lock().unwrap().insert(id.to_owned(), world.log(log));
    }
    world.cluster.show(web("c-2", running(), Some(ended("c-1"))));
    world
}

fn add(log: &Path, text: &str) {
    OpenOptions::new().append(true).create(true).open(log).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Begins to read a log.
async fn begin(world: &World, query: &str) -> Response<Incoming> {
    let stream = world.tls(None, "http/1.1").await;
    let request = Request::get(format!("/containerLogs/default/web/app?{query}"))
        .header("host", "node-1")
        .header("authorization", "Bearer admin");
    send(stream, request.body(Empty::<Bytes>::new()).unwrap()).await
}

/// Reads until this came.
async fn until(response: &mut Response<Incoming>, seen: &mut String, awaited: &str) {
    while !seen.ends_with(awaited) {
        let frame = soon(response.body_mut().frame()).await.expect("not the end").unwrap();
        seen.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn a_log_is_shown_as_the_query_wants_it() {
    let world = world().await;
    let cases = [
        ("", 200, "one\ntwo\nthree\n"),
        ("tailLines=1", 200, "three\n"),
        ("tailLines=2", 200, "o\nthree\n"),
        ("tailLines=0", 200, ""),
        ("tailLines=100", 200, "one\ntwo\nthree\n"),
        ("sinceSeconds=40", 200, "two\nthree\n"),
        ("sinceTime=2026-06-01T11:59:59Z", 200, "three\n"),
        ("limitBytes=5", 200, "one\nt"),
        ("stream=Stderr", 200, "two\n"),
        ("tailLines=1&timestamps=true", 200, "2026-06-01T11:59:59.000000000Z three\n"),
        ("previous=true", 200, "before\n"),
        ("tailLines=x", 400, r#"{"message": "Unable to decode query."}"#),
        ("limitBytes=0", 422, r#"{"message": "Invalid request."}"#),
    ];
    for (query, code, expected) in cases {
        let answer = soon(world.get(&format!("/containerLogs/default/web/app?{query}"))).await;
        assert_eq!((answer.code.as_u16(), answer.body.as_str()), (code, expected), "{query}");
    }
    world.stop().await;
}

#[tokio::test]
async fn what_has_no_log_is_reported_in_upstreams_words() {
    let world = world().await;
    let get = async |path: &str| {
        let answer = soon(world.get(path)).await;
        (answer.code.as_u16(), answer.body)
    };
    let of = |code: u16, words: &str| (code, words.to_owned());
    let app = "/containerLogs/default/web/app";
    assert_eq!(get("/containerLogs/default/none/app").await, of(404, r#"pod "none" does not exist"#));
    assert_eq!(
        get("/containerLogs/default/web/no").await,
        of(404, r#"container "no" not found in pod "web""#)
    );
    world.cluster.show(web("", waiting("ContainerCreating"), None));
    let words = r#"container "app" in pod "web" is waiting to start: ContainerCreating"#;
    assert_eq!(get(app).await, of(400, words));
    world.cluster.show(web("c-2", running(), None));
    let words = r#"previous terminated container "app" in pod "web" not found"#;
    assert_eq!(get(&format!("{app}?previous=true")).await, of(400, words));
    world.cluster.show(web("c-9", running(), None));
    assert_eq!(get(app).await, of(200, "unable to retrieve container logs for fake://c-9"));
    world.stop().await;
}

#[tokio::test]
async fn a_followed_log_goes_on_over_rotations_and_ends_with_its_container() {
    let world = world().await;
    let log = world.log("2.log");
    let mut response = soon(begin(&world, "follow=true&tailLines=1")).await;
    let mut seen = String::new();
    until(&mut response, &mut seen, "three\n").await;
    add(&log, "2026-06-01T12:00:01Z stdout F fo");
    add(&log, "ur\n");
    until(&mut response, &mut seen, "four\n").await;
    // Moved away; what is still written to it comes before what is in the new one.
    let mut old = OpenOptions::new().append(true).open(&log).unwrap();
    fs::rename(&log, world.log("2.log.old")).unwrap();
    old.write_all(b"2026-06-01T12:00:02Z stdout F five\n").unwrap();
    add(&log, "2026-06-01T12:00:03Z stdout F six\n");
    until(&mut response, &mut seen, "six\n").await;
    add(&log, "2026-06-01T12:00:04Z stdout F last\n2026-06-01T12:00:04Z stdout P no end\n");
    world.cluster.show(web("c-2", ended("c-2"), None));
    let rest = soon(response.into_body().collect()).await.unwrap().to_bytes();
    seen.push_str(std::str::from_utf8(&rest).unwrap());
    assert_eq!(seen, "three\nfour\nfive\nsix\nlast\nno end");
    world.stop().await;
}

#[tokio::test]
async fn a_followed_log_ends_with_its_pod_its_limit_and_its_reader() {
    let world = world().await;
    let limited = soon(begin(&world, "follow=true&limitBytes=5")).await;
    let seen = soon(limited.into_body().collect()).await.unwrap().to_bytes();
    assert_eq!(&seen[..], b"one\nt");
    let mut response = soon(begin(&world, "follow=true")).await;
    until(&mut response, &mut String::new(), "three\n").await;
    // A restarted container has another log.
    world.cluster.show(web("c-3", running(), Some(ended("c-2"))));
    soon(response.into_body().collect()).await.unwrap();
    world.cluster.show(web("c-2", running(), None));
    let mut response = soon(begin(&world, "follow=true")).await;
    until(&mut response, &mut String::new(), "three\n").await;
    let count = Arc::strong_count(&world.cluster);
    drop(response);
    // A client that disconnects leaves nothing behind.
    soon(async {
        while Arc::strong_count(&world.cluster) >= count {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.stop().await;
}

#[tokio::test]
async fn the_stop_ends_followed_logs() {
    let world = world().await;
    let mut response = soon(begin(&world, "follow=true")).await;
    until(&mut response, &mut String::new(), "three\n").await;
    soon(world.stop()).await;
    soon(response.into_body().collect()).await.unwrap();
}
