//! The machine's own logs: files, folders and queries.

use std::fs;
use std::io::Read;

use axum::http::HeaderMap;
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use hyper::Method;
use tokio::sync::oneshot;

use super::soon;
use super::world::{SetUp, Who, World, request, send};
use crate::kubelet::EndpointSwitches;

async fn world(system_log_query: bool) -> World {
    let switches = EndpointSwitches { system_log_query, ..EndpointSwitches::default() };
    let world = World::new(SetUp { switches, ..SetUp::default() }).await;
    fs::create_dir_all(world.log("log/pods/web")).unwrap();
    fs::create_dir_all(world.log("log/site")).unwrap();
    fs::write(world.log("log/syslog"), "0123456789\n").unwrap();
    fs::write(world.log("log/packed.gz"), b"\x1f\x8b\x08\0").unwrap();
    fs::write(world.log("log/cron.log"), "cron ran\n").unwrap();
    fs::write(world.log("log/site/index.html"), "<p>a page</p>").unwrap();
    fs::write(world.log("secret"), "secret\n").unwrap();
    world
}

/// The code, headers and body of an answer, as bytes.
async fn get(world: &World, path: &str, header: (&'static str, &str)) -> (u16, HeaderMap, Vec<u8>) {
    let admin = Who::token("admin");
    let mut request = request(Method::GET, path, &admin.token);
    request.headers_mut().insert(header.0, header.1.parse().unwrap());
    let answer = soon(send(soon(world.tls(None, "http/1.1")).await, request)).await;
    let (parts, body) = answer.into_parts();
    let body = soon(body.collect()).await.unwrap().to_bytes().to_vec();
    (parts.status.as_u16(), parts.headers, body)
}

async fn shown(world: &World, path: &str) -> (u16, String) {
    let (code, _, body) = get(world, path, ("accept", "*/*")).await;
    (code, String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn files_are_served_whole_or_in_part() {
    let world = world(false).await;
    let (code, headers, body) = get(&world, "/logs/syslog", ("accept", "*/*")).await;
    assert_eq!((code, &body[..]), (200, &b"0123456789\n"[..]));
    assert_eq!(headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(
        (&headers["content-length"], &headers["accept-ranges"]),
        (&"11".parse().unwrap(), &"bytes".parse().unwrap())
    );
    let modified = headers["last-modified"].to_str().unwrap().to_owned();
    let (code, _, body) = get(&world, "/logs/syslog", ("if-modified-since", &modified)).await;
    assert_eq!((code, body.len()), (304, 0));
    let (code, headers, body) = get(&world, "/logs/syslog", ("range", "bytes=3-5")).await;
    assert_eq!((code, &body[..]), (206, &b"345"[..]));
    assert_eq!(headers["content-range"], "bytes 3-5/11");
    let (code, headers, _) = get(&world, "/logs/syslog", ("range", "bytes=11-")).await;
    assert_eq!((code, headers["content-range"].to_str().unwrap()), (416, "bytes */11"));
    fs::write(world.log("log/empty"), "").unwrap();
    let (code, headers, body) = get(&world, "/logs/empty", ("range", "bytes=0-99")).await;
    assert_eq!((code, headers["content-length"].to_str().unwrap(), body.len()), (200, "0", 0));
    let (_, headers, _) = get(&world, "/logs/packed.gz", ("accept", "*/*")).await;
    assert_eq!(headers["content-type"], "application/octet-stream");
    // Where queries are off, their parameters mean nothing.
    assert_eq!(shown(&world, "/logs/syslog?query=kubelet&boot=x").await.0, 200);
    let posted = soon(world.ask(Method::POST, "/logs/syslog", &Who::token("admin"))).await;
    assert_eq!(posted.code.as_u16(), 405);
    world.stop().await;
}

#[tokio::test]
async fn folders_are_listed_and_their_paths_end_with_a_slash() {
    let world = world(false).await;
    let (code, page) = shown(&world, "/logs/").await;
    assert_eq!(code, 200);
    for link in ["<a href=\"pods/\">pods/</a>\n", "<a href=\"syslog\">syslog</a>\n"] {
        assert!(page.contains(link), "{page}");
    }
    assert_eq!(shown(&world, "/logs/site/").await, (200, "<p>a page</p>".to_owned()));
    for (path, location) in [
        ("/logs", "logs/"),
        ("/logs/pods", "pods/"),
        ("/logs/pods/web?a=b", "web/?a=b"),
        ("/logs/syslog/", "../syslog"),
        ("/logs/site/index.html", "./"),
    ] {
        let (code, headers, _) = get(&world, path, ("accept", "*/*")).await;
        assert_eq!((code, headers["location"].to_str().unwrap()), (301, location), "{path}");
    }
    world.stop().await;
}

#[tokio::test]
async fn no_path_leads_out_of_the_folder() {
    let world = world(false).await;
    for path in [
        "/logs/../secret",
        "/logs/pods/../../secret",
        "/logs/%2e%2e/secret",
        "/logs/..%2fsecret",
        "/logs/pods/%2E%2E/%2E%2E/secret",
        "/logs//etc/passwd",
        "/logs/%2fetc/passwd",
        "/logs/none",
        "/logs/syslog/more",
    ] {
        assert_eq!(shown(&world, path).await, (404, "404 page not found\n".to_owned()), "{path}");
    }
    world.stop().await;
}

#[tokio::test]
async fn services_are_shown_of_the_journal_or_of_their_files() {
    let world = world(true).await;
    let common = "--utc,--no-pager,--output=short-precise";
    for (query, code, expected) in [
        ("query=kubelet", 200, format!("{common},--unit=kubelet\n")),
        (
            "query=kubelet&tailLines=3&pattern=a%2Cb",
            200,
            format!("{common},--pager-end,--lines=3,--unit=kubelet,--grep=a,b\n"),
        ),
        ("query=cron", 200, "cron ran\n".to_owned()),
        ("query=cron&query=syslog", 200, "cron ran\n0123456789\n".to_owned()),
        ("query=none", 200, "\nlog not found for none\n".to_owned()),
        (
            "query=cron&boot=0",
            200,
            "\noptions present and query resolved to log files for [cron]\ntry without specifying options\n"
                .to_owned(),
        ),
        ("query=/syslog", 200, "0123456789\n".to_owned()),
        ("query=%5Csyslog", 200, "0123456789\n".to_owned()),
        ("query=cron&tailLines=%zz&pattern=a;b", 200, "cron ran\n".to_owned()),
        ("query=", 400, "query: Invalid value: [\"\"]: query cannot be empty\n".to_owned()),
        ("boot=1&query=kubelet", 406, "boot: Invalid value: 1: must be less than 1\n".to_owned()),
        ("boot=0", 406, "query: Required value: cannot be empty with options\n".to_owned()),
    ] {
        assert_eq!(shown(&world, &format!("/logs/?{query}")).await, (code, expected), "{query}");
    }
    let (code, words) = shown(&world, "/logs/?query=/none").await;
    assert_eq!(code, 406, "{words}");
    assert!(words.starts_with("query: Invalid value: [\"/none\"]: "), "{words}");
    // Without parameters there are files.
    assert_eq!(shown(&world, "/logs/syslog").await, (200, "0123456789\n".to_owned()));
    let (_, headers, packed) = get(&world, "/logs/?query=cron", ("accept-encoding", "gzip")).await;
    assert_eq!(
        (headers["content-encoding"].as_bytes(), headers["content-type"].as_bytes()),
        (&b"gzip"[..], &b"text/plain;charset=UTF-8"[..])
    );
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    assert_eq!(text, "cron ran\n");
    world.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_away_ends_the_journal() {
    let world = world(true).await;
    let (sender, ended) = oneshot::channel();
    *world.cluster.journal_ended.lock().unwrap() = Some(sender);
    let admin = Who::token("admin");
    let request = request(Method::GET, "/logs/?query=endless", &admin.token);
    let mut answer = soon(send(soon(world.tls(None, "http/1.1")).await, request)).await;
    let frame = soon(answer.body_mut().frame()).await.unwrap().unwrap();
    assert!(frame.into_data().unwrap().starts_with(b"a line\n"));
    drop(answer);
    // The sender is dropped with the output.
    assert!(soon(ended).await.is_err());
    world.stop().await;
}
