//! Upgrades that are passed through to a streaming server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use witlet_core::pod::PodFullName;
use witlet_core::pod::static_pod::{CONFIG_HASH, CONFIG_MIRROR};
use witlet_core::stats::exposition::written;
use witlet_ports::MetricsSource as _;

use super::cluster::{running, web};
use super::soon;
use super::world::{SetUp, Who, World, send};

/// A streaming server: what it read, up to the end of the first head, is kept; what it does then is the test's.
pub(super) async fn streaming_server<F>(
    tasks: &mut JoinSet<()>,
    then: impl FnOnce(TcpStream) -> F + Send + 'static,
) -> (String, Arc<Mutex<String>>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let head = Arc::new(Mutex::new(String::new()));
    let kept = head.clone();
    tasks.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n") {
            read.push(stream.read_u8().await.unwrap());
        }
        *kept.lock().unwrap() = String::from_utf8(read).unwrap();
        then(stream).await;
    });
    // As runtimes that listen on all addresses tell it.
    (format!("http://:{port}/exec/token-1"), head)
}

pub(super) const SWITCHED: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\
                          X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";

async fn world(set_up: SetUp, url: String) -> World {
    let world = World::new(set_up).await;
    world.cluster.show(web("c-2", running(), None));
    *world.cluster.streaming_url.lock().unwrap() = url;
    world
}

/// The request that an API server makes for `kubectl exec`.
async fn ask(world: &World, method: Method, path: &str, upgrade: &str) -> Response<Incoming> {
    let stream = world.tls(None, "http/1.1").await;
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "node-1:10250")
        .header("authorization", "Bearer admin")
        .header("connection", "Upgrade")
        .header("upgrade", upgrade)
        .header("x-stream-protocol-version", "v4.channel.k8s.io")
        .header("x-forwarded-for", "10.0.0.1");
    send(stream, request.body(Empty::<Bytes>::new()).unwrap()).await
}

#[tokio::test]
async fn bytes_go_both_ways_and_ends_are_passed_on() {
    let mut tasks = JoinSet::new();
    let (url, head) = streaming_server(&mut tasks, |mut stream| async move {
        stream.write_all(SWITCHED).await.unwrap();
        // At once, behind the head.
        stream.write_all(b"hello ").await.unwrap();
        let mut read = String::new();
        stream.read_to_string(&mut read).await.unwrap();
        stream.write_all(format!("you said {read}").as_bytes()).await.unwrap();
    })
    .await;
    let world = world(SetUp::default(), url).await;
    let path = "/exec/default/web/app?command=sh&command=-c&command=echo+%24A&input=1&output=1&error=1";
    let mut answer = soon(ask(&world, Method::POST, path, "SPDY/3.1")).await;
    assert_eq!(answer.status().as_u16(), 101);
    assert_eq!(answer.headers()["upgrade"], "SPDY/3.1");
    assert_eq!(answer.headers()["x-stream-protocol-version"], "v4.channel.k8s.io");
    let mut stream = TokioIo::new(soon(hyper::upgrade::on(&mut answer)).await.unwrap());
    assert_eq!(commands_in_flight(&world).as_deref(), Some("1"), "a stream is in flight until its end");
    stream.write_all(&[b'x'; 100_000]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut read = String::new();
    soon(stream.read_to_string(&mut read)).await.unwrap();
    assert_eq!(read, format!("hello you said {}", "x".repeat(100_000)));
    let head = head.lock().unwrap().to_ascii_lowercase();
    let lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines[0], "post /exec/token-1 http/1.1");
    for expected in [
        "connection: upgrade",
        "upgrade: spdy/3.1",
        "x-stream-protocol-version: v4.channel.k8s.io",
        "x-forwarded-for: 10.0.0.1",
    ] {
        assert!(lines.contains(&expected), "{expected} isn't in {lines:?}");
    }
    assert!(!head.contains("admin"), "the token stays here: {head}");
    let asked = world.cluster.asked.lock().unwrap().clone();
    let options = "StreamOptions { stdin: true, stdout: true, stderr: true, tty: false }";
    assert_eq!(asked, [format!(r#"exec c-2 ["sh", "-c", "echo $A"] {options}"#)]);
    drop(stream);
    let ended = async {
        while commands_in_flight(&world).as_deref() != Some("0") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(ended).await;
    world.stop().await;
}

#[tokio::test]
async fn the_servers_end_reaches_the_sender_who_says_nothing() {
    let mut tasks = JoinSet::new();
    let (url, _) = streaming_server(&mut tasks, |mut stream| async move {
        stream.write_all(SWITCHED).await.unwrap();
        stream.write_all(b"bye").await.unwrap();
    })
    .await;
    let world = world(SetUp::default(), url).await;
    world.cluster.show(with_terminal(web("c-2", running(), None)));
    let mut answer =
        soon(ask(&world, Method::GET, "/attach/default/web/app?output=1&tty=1&error=1", "websocket")).await;
    let mut stream = TokioIo::new(soon(hyper::upgrade::on(&mut answer)).await.unwrap());
    let mut read = String::new();
    soon(stream.read_to_string(&mut read)).await.unwrap();
    assert_eq!(read, "bye");
    let asked = world.cluster.asked.lock().unwrap().clone();
    // A terminal has no standard error of its own.
    assert_eq!(asked, ["attach c-2 StreamOptions { stdin: false, stdout: true, stderr: false, tty: true }"]);
    world.stop().await;
}

fn with_terminal(pod: Arc<Pod>) -> Arc<Pod> {
    let mut pod = Arc::unwrap_or_clone(pod);
    pod.spec.as_mut().unwrap().containers[0].tty = Some(true);
    Arc::new(pod)
}

/// What a request says of a terminal decides about its ways out alone. Both at once the runtime refuses, as a kubelet's does.
#[tokio::test]
async fn a_container_that_is_attached_to_says_itself_whether_it_has_a_terminal() {
    let world = world(SetUp::default(), "https://127.0.0.1:1/attach/token-1".to_owned()).await;
    for (has_terminal, query, expected) in [
        (false, "output=1&error=1", "stdout: true, stderr: true, tty: false"),
        (false, "output=1&error=1&tty=1", "stdout: true, stderr: false, tty: false"),
        (true, "output=1&error=1&tty=1", "stdout: true, stderr: false, tty: true"),
        (true, "output=1", "stdout: true, stderr: false, tty: true"),
        (true, "output=1&error=1", "stdout: true, stderr: true, tty: true"),
    ] {
        let pod = web("c-2", running(), None);
        world.cluster.show(if has_terminal { with_terminal(pod) } else { pod });
        soon(ask(&world, Method::POST, &format!("/attach/default/web/app?{query}"), "SPDY/3.1")).await;
        let asked = world.cluster.asked.lock().unwrap().last().cloned();
        let expected = format!("attach c-2 StreamOptions {{ stdin: false, {expected} }}");
        assert_eq!(asked, Some(expected), "{has_terminal} {query}");
    }
    // A command has the terminal that is asked for.
    world.cluster.show(with_terminal(web("c-2", running(), None)));
    soon(ask(&world, Method::POST, "/exec/default/web/app?output=1&command=ls", "SPDY/3.1")).await;
    let asked = world.cluster.asked.lock().unwrap().last().cloned().unwrap();
    assert!(asked.starts_with("exec c-2") && asked.ends_with("tty: false }"), "{asked}");
    world.stop().await;
}

#[tokio::test]
async fn a_websocket_may_show_its_token_among_its_protocols() {
    // What is passed on fails there: a client that gets so far is known.
    let world = world(SetUp::default(), "https://127.0.0.1:1/exec/token-1".to_owned()).await;
    let (admin, unknown) = ("YWRtaW4", "bm8gb25l");
    let token = |encoded: &str| format!("base64url.bearer.authorization.k8s.io.{encoded}");
    for (upgrade, protocols, code) in [
        ("websocket", format!("v5.channel.k8s.io, {}", token(admin)), 500),
        ("websocket", token(admin), 401),
        ("websocket", format!("{}, a, {}", token(admin), token(admin)), 401),
        ("websocket", format!("a, {}", token(unknown)), 401),
        ("websocket", "v5.channel.k8s.io".to_owned(), 401),
        ("SPDY/3.1", format!("a, {}", token(admin)), 401),
    ] {
        let request = Request::get("/exec/default/web/app?output=1")
            .header("host", "node-1:10250")
            .header("connection", "Upgrade")
            .header("upgrade", upgrade)
            .header("sec-websocket-protocol", &protocols);
        let stream = soon(world.tls(None, "http/1.1")).await;
        let answer = soon(send(stream, request.body(Empty::<Bytes>::new()).unwrap())).await;
        assert_eq!(answer.status().as_u16(), code, "{upgrade} {protocols}");
    }
    world.stop().await;
}

/// Requests for commands that are in flight, as `/metrics` shows them.
fn commands_in_flight(world: &World) -> Option<String> {
    let series = "kubelet_http_inflight_requests{long_running=\"true\",method=\"POST\",path=\"exec\",server_type=\"readwrite\"} ";
    let text = written(|to| world.server.requests.write(to)).unwrap();
    text.lines().find_map(|line| line.strip_prefix(series).map(str::to_owned))
}

#[tokio::test]
async fn an_answer_that_is_no_upgrade_is_passed_on() {
    let mut tasks = JoinSet::new();
    let (url, _) = streaming_server(&mut tasks, |mut stream| async move {
        let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\nX-Reason: token\r\n\r\nexpired";
        stream.write_all(answer).await.unwrap();
    })
    .await;
    let world = world(SetUp::default(), url).await;
    let answer = soon(ask(&world, Method::POST, "/portForward/default/web", "SPDY/3.1")).await;
    assert_eq!((answer.status().as_u16(), &answer.headers()["x-reason"]), (404, &"token".parse().unwrap()));
    let body = soon(answer.into_body().collect()).await.unwrap().to_bytes();
    assert_eq!(&body[..], b"expired");
    assert_eq!(*world.cluster.asked.lock().unwrap(), ["port-forward s-1 []"]);
    world.stop().await;
}

#[tokio::test]
async fn what_leads_nowhere_is_reported() {
    let world = world(SetUp::default(), "https://127.0.0.1:1/exec/token-1".to_owned()).await;
    let ask = async |path: &str, upgrade: &str| {
        let answer = soon(ask(&world, Method::POST, path, upgrade)).await;
        let code = answer.status().as_u16();
        let body = soon(answer.into_body().collect()).await.unwrap().to_bytes();
        (code, String::from_utf8(body.into()).unwrap())
    };
    let exec = "/exec/default/web/app?output=1";
    let (code, words) = ask(exec, "SPDY/3.1").await;
    assert_eq!(code, 500);
    assert!(words.starts_with("error dialing backend: ") && words.contains("must be http"), "{words}");
    assert!(!words.contains("token-1"), "{words}");
    // It is taken, and no one listens there.
    let taken = TcpSocket::new_v4().unwrap();
    taken.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let closed = taken.local_addr().unwrap();
    *world.cluster.streaming_url.lock().unwrap() = format!("http://{closed}/exec/token-1");
    let (code, words) = ask(exec, "SPDY/3.1").await;
    assert!(code == 500 && !words.contains("token-1"), "{words}");
    let cases = [
        ("/exec/default/web/app", "SPDY/3.1", 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("/exec/default/none/app?output=1", "SPDY/3.1", 404, "pod does not exist"),
        ("/exec/default/web/none?output=1", "SPDY/3.1", 500, "container not found (\"none\")"),
        ("/exec/default/web/u-2/app?output=1", "SPDY/3.1", 500, "container not found (\"app\")"),
        ("/attach/default/web/none?output=1", "SPDY/3.1", 500, "container none not found in pod web_default"),
        ("/portForward/default/none", "SPDY/3.1", 404, "pod does not exist"),
        ("/portForward/default/web/u-2", "SPDY/3.1", 404, "pod not found"),
        ("/portForward/default/web", "websocket", 400, "query parameter \"port\" is required"),
        ("/portForward/default/web?port=404", "websocket", 404, "PortForward: not found: no such sandbox\n"),
    ];
    for (path, upgrade, code, words) in cases {
        assert_eq!(ask(path, upgrade).await, (code, words.to_owned()), "{path}");
    }
    world.stop().await;
}

#[tokio::test]
async fn a_silent_stream_ends_and_the_stop_ends_all() {
    for idle in [Some(Duration::from_millis(1)), None] {
        let mut tasks = JoinSet::new();
        let (url, _) = streaming_server(&mut tasks, |mut stream| async move {
            stream.write_all(SWITCHED).await.unwrap();
            let _ = stream.read_to_end(&mut Vec::new()).await;
        })
        .await;
        let world = world(SetUp { streaming_idle: idle, ..SetUp::default() }, url).await;
        let mut answer = soon(ask(&world, Method::POST, "/exec/default/web/app?output=1", "SPDY/3.1")).await;
        let mut stream = TokioIo::new(soon(hyper::upgrade::on(&mut answer)).await.unwrap());
        match idle {
            Some(_) => {
                // Cut off, or ended in good order.
                let _ = soon(stream.read_to_end(&mut Vec::new())).await;
                soon(world.stop()).await;
            }
            None => {
                soon(world.stop()).await;
                let _ = soon(stream.read_to_end(&mut Vec::new())).await;
            }
        }
        soon(tasks.join_next()).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn logs_and_streams_leave_each_other_capacity() {
    let world = world(SetUp::default(), "http://127.0.0.1:1/exec/token-1".to_owned()).await;
    let taken = |of: &Arc<Semaphore>| {
        let all = u32::try_from(of.available_permits()).unwrap();
        of.clone().try_acquire_many_owned(all).unwrap()
    };
    let log = async || {
        let answer = soon(world.get("/containerLogs/default/web/app")).await;
        (answer.code.as_u16(), answer.body)
    };
    let exec = async || {
        let answer = soon(ask(&world, Method::POST, "/exec/default/web/app?output=1", "SPDY/3.1")).await;
        let code = answer.status().as_u16();
        (code, String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().into()).unwrap())
    };
    let logs = taken(&world.server.logs);
    assert_eq!(log().await, (503, "too many open logs on this node\n".to_owned()));
    // It gets as far as to a streaming server that isn't there.
    assert_eq!(exec().await.0, 500);
    drop(logs);
    let _streams = taken(&world.server.streams);
    assert_eq!(exec().await, (503, "too many open streams on this node\n".to_owned()));
    assert_eq!(log().await.0, 200);
    world.stop().await;
}

#[tokio::test]
async fn a_static_pod_is_meant_by_its_mirrors_uid_too() {
    let world = world(SetUp::default(), String::new()).await;
    let marked = |uid: &str, name: &str, hash: &str| {
        let mut pod = Pod::clone(&web("c-2", running(), None));
        pod.metadata.uid = Some(uid.to_owned());
        pod.metadata.annotations.get_or_insert_default().insert(name.to_owned(), hash.to_owned());
        Arc::new(pod)
    };
    let run = async |uid: &str| {
        let path = format!("/run/default/web/{uid}/app?cmd=true");
        soon(world.ask(Method::POST, &path, &Who::token("admin"))).await.code.as_u16()
    };
    world.cluster.show(marked("u-1", CONFIG_HASH, "h1"));
    assert_eq!((run("u-1").await, run("m-1").await), (200, 500), "it has no mirror");
    for (hash, code) in [("h1", 200), ("h2", 500)] {
        let mirror = marked("m-1", CONFIG_MIRROR, hash);
        world.cluster.mirrors.send_replace(Arc::new([(PodFullName::of(&mirror), mirror)].into()));
        assert_eq!((run("u-1").await, run("m-1").await, run("m-2").await), (200, code, 500), "{hash}");
    }
    world.stop().await;
}
