//! What an API server was seen to ask a node for when kubectl asked it: each request, with all its headers, is answered.

use std::collections::BTreeMap;

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::cluster::{ended, running, web};
use super::soon;
use super::world::{SetUp, World, send};

/// Recorded between kubectl and kube-apiserver, and between kube-apiserver and a node.
const RECORDED: &str = include_str!("../../../../../tests/api-server/recorded/kube-apiserver-1.20.2.json");

#[derive(Deserialize)]
struct Recording {
    namespace: String,
    pod: String,
    requests: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Exchange {
    command: String,
    node: RecordedRequest,
}

#[derive(Deserialize)]
struct RecordedRequest {
    method: String,
    target: String,
    headers: BTreeMap<String, Vec<String>>,
}

/// A runtime's streaming server, which takes the protocols that the one of containerd takes, and refuses the newer ones.
async fn streaming_server(tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tasks.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            upgrade(stream).await;
        }
    });
    format!("http://:{port}/stream/token-1")
}

async fn upgrade(mut stream: TcpStream) {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(read).unwrap().to_ascii_lowercase();
    let protocol = ["v4.channel.k8s.io", "portforward.k8s.io"]
        .into_iter()
        .find(|protocol| head.lines().any(|line| line == format!("x-stream-protocol-version: {protocol}")));
    let answer = match protocol.filter(|_| head.contains("\r\nupgrade: spdy/3.1\r\n")) {
        Some(protocol) => format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\
             X-Stream-Protocol-Version: {protocol}\r\n\r\n"
        ),
        None => "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n".to_owned(),
    };
    stream.write_all(answer.as_bytes()).await.unwrap();
}

/// Sends it as it was recorded, as the API server; the answer's code, and what it says of a failure.
async fn ask(world: &World, method: &str, target: &str, asked: &RecordedRequest) -> (u16, String) {
    let api_server = world.ca.sign(Some("admin"), "system:masters", 2099);
    let stream = world.tls(Some(&api_server), "http/1.1").await;
    let mut request = Request::builder().method(method).uri(target).header("host", "10.250.0.1:10250");
    for (name, values) in &asked.headers {
        for value in values {
            request = request.header(name, value);
        }
    }
    let answer = send(stream, request.body(Empty::<Bytes>::new()).unwrap()).await;
    let code = answer.status().as_u16();
    let words =
        if code == 500 { soon(answer.into_body().collect()).await.unwrap().to_bytes() } else { Bytes::new() };
    (code, String::from_utf8(words.into()).unwrap())
}

#[tokio::test]
async fn what_an_api_server_was_seen_to_ask_is_answered() {
    let recording: Recording = serde_json::from_str(RECORDED).unwrap();
    let mut tasks = JoinSet::new();
    let world = World::new(SetUp::default()).await;
    *world.cluster.streaming_url.lock().unwrap() = streaming_server(&mut tasks).await;
    for (id, log) in [("c-1", "1.log"), ("c-2", "2.log")] {
        std::fs::write(world.log(log), "2026-06-01T11:00:00Z stdout F a line\n").unwrap();
        world.cluster.log_paths.lock().unwrap().insert(id.to_owned(), world.log(log));
    }
    world.cluster.show(web("c-2", running(), Some(ended("c-1"))));
    let pod = format!("/{}/{}", recording.namespace, recording.pod);
    let mut upgraded = 0;
    for Exchange { command, node } in &recording.requests {
        // The pod that this world has, in the place of the recorded one.
        let target = node.target.replacen(&format!("{pod}/c"), "/default/web/app", 1).replacen(
            &pod,
            "/default/web",
            1,
        );
        let (method, target) = (&*node.method, &*target);
        // kubectl tries a WebSocket first, and what it falls back to when a node or its runtime refuses that.
        let expected = match node.headers.get("upgrade").map(|values| &*values[0]) {
            None => 200,
            Some("SPDY/3.1") => 101,
            Some(_) if target.starts_with("/portForward/") => 400,
            Some(_) => 403,
        };
        let (code, words) = soon(ask(&world, method, target, node)).await;
        assert_eq!(code, expected, "{command}: {method} {target}: {words}");
        upgraded += usize::from(code == 101);
    }
    assert!(upgraded > 0);
    let asked = world.cluster.asked.lock().unwrap().join("\n");
    for awaited in [
        "exec c-2 [\"echo\", \"hi\"] StreamOptions { stdin: false, stdout: true, stderr: true, tty: false }",
        "exec c-2 [\"cat\"] StreamOptions { stdin: true, stdout: true, stderr: true, tty: false }",
        "exec c-2 [\"sh\", \"-c\", \"stty size\"] StreamOptions { stdin: true, stdout: true, stderr: false, tty: true }",
        "attach c-2 StreamOptions { stdin: true, stdout: true, stderr: true, tty: false }",
        "attach c-2 StreamOptions { stdin: false, stdout: true, stderr: true, tty: false }",
    ] {
        assert!(asked.contains(awaited), "{awaited} isn't in {asked}");
    }
    world.stop().await;
}
