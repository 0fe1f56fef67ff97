//! Programs that answer HTTP: `wasi:http/proxy` components.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use witlet_proto::cri::*;

use crate::client::{Folders, Pod, Program, Runtime, eventually, program};
use crate::{alone, on_shared};

/// The deadline of requests on the shared runtime is long; this is one that can be waited for.
const SHORT_DEADLINE_SECONDS: &str = "5";
/// How many requests of one container are answered at the same time.
const INSTANCES: usize = 32;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        on_shared("a_handler_is_served_on_its_pods_address", served),
        on_shared("the_port_is_the_environments_or_the_specs", ports),
        on_shared("a_handler_that_is_asked_to_stop_answers_first", stopped),
        on_shared("a_handler_that_fails_fails_its_request_alone", failures),
        on_shared("bodies_are_bounded", bodies),
        on_shared("a_thousand_clients_at_once_are_answered", thousand),
        on_shared("clients_that_dawdle_are_left_and_hold_up_no_one", dawdlers),
        on_shared("requests_go_out_by_the_pods_rules", outgoing),
        on_shared("the_example_greets_and_echoes", example),
        on_shared("the_probe_target_is_well_or_sick_by_files_in_a_volume", probe_target),
        alone("a_request_that_is_never_answered_ends_by_its_deadline", never),
    ]
}

/// An answer: its status and its body.
type HttpReply = (u16, String);

/// Sends `request` whole and reads until the server closes.
async fn raw(address: &str, request: &[u8]) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn parsed(answer: &str) -> HttpReply {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no status: {head:?}")), body.to_owned())
}

async fn get(address: &str, path: &str) -> HttpReply {
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    parsed(&raw(address, request.as_bytes()).await.expect("an answer"))
}

/// Starts a handler and waits until it serves.
async fn start(runtime: &Runtime, pod: &Pod, name: &str, handler: Program) -> (String, String) {
    let id = runtime.run(pod, name, handler).await;
    runtime.says(&id, "serving HTTP on http://").await;
    let address = format!("{}:8080", pod.address);
    (id, address)
}

async fn served(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut handler = program("proxy", &[]);
    handler.environment = vec![("A".to_owned(), "1".to_owned())];
    handler.mounts = vec![runtime.folder_mount("of-handler", "/data", true)];
    std::fs::write(runtime.folder.join("of-handler/note"), "from a volume").expect("a file");
    let (id, address) = start(&runtime, &pod, "web", handler).await;
    // Each request has an instance of its own: each counts to one only.
    for _ in 0..3 {
        assert_eq!(get(&address, "/hello").await, (200, format!("hello 1 {address} Ok(\"1\")")));
    }
    assert_eq!(get(&address, "/read?/data/note").await, (200, "from a volume".to_owned()));
    runtime.says(&id, "stdout F asked by 0").await;

    // A connection can be used again.
    let mut stream = TcpStream::connect(&address).await.expect("a connection");
    for _ in 0..2 {
        stream.write_all(b"GET /moment HTTP/1.1\r\nHost: web\r\n\r\n").await.expect("it is taken");
        let mut answer = Vec::new();
        while !answer.ends_with(b"0\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut answer).await.expect("an answer"), 0);
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&answer));
    }
    let nonsense = raw(&address, b"this is no HTTP\r\n\r\n").await.expect("an answer");
    assert_eq!(parsed(&nonsense).0, 400);
    let stats = runtime.stats(&id).await.expect("stats");
    let time = stats.cpu.expect("it is measured").usage_core_nano_seconds.expect("it is measured").value;
    assert!(time > 0, "requests count");
}

async fn ports(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut by_environment = program("proxy", &[]);
    by_environment.environment = vec![("PORT".to_owned(), "9000".to_owned())];
    let mut by_spec = program("proxy", &[]);
    let noted = r#"[{"name":"metrics","containerPort":53,"protocol":"UDP"},{"containerPort":9001}]"#;
    by_spec.annotations = vec![("io.kubernetes.container.ports".to_owned(), noted.to_owned())];
    for (name, handler, port) in [("environment", by_environment, 9000), ("spec", by_spec, 9001)] {
        let id = runtime.run(&pod, name, handler.clone()).await;
        let address = format!("{}:{port}", pod.address);
        runtime.says(&id, &format!("serving HTTP on http://{address}")).await;
        assert_eq!(get(&address, "/moment").await.0, 200, "{name}");
        // The port is taken: a second one can't be served there.
        let second = runtime.run(&pod, &format!("{name}-2"), handler).await;
        let status = runtime.end(&second).await;
        assert_eq!((status.exit_code, status.reason.as_str()), (128, "StartError"), "{name}");
        assert!(
            status.message.contains(&format!("listen on {address}: Address already in use")),
            "{status:?}"
        );
    }
}

async fn stopped(runtime: Runtime) {
    let pod = runtime.pod().await;
    let (id, address) = start(&runtime, &pod, "web", program("proxy", &[])).await;
    // One client is in the middle of its request, and one holds an idle connection, which the runtime leaves after a while:
    // it comes when the instance runs.
    let mut client = TcpStream::connect(&address).await.expect("a connection");
    client.write_all(b"POST /length HTTP/1.0\r\nContent-Length: 1\r\n\r\n").await.expect("it is taken");
    let programs = async |count| (runtime.programs(&pod.id).await >= count).then_some(());
    eventually("it is being answered", async || programs(3).await).await;
    let idle = TcpStream::connect(&address).await.expect("a connection");
    eventually("the idle one is served", async || programs(4).await).await;
    let (stopped, answer) = tokio::join!(runtime.stop(&id, 60), async {
        let closed = async || TcpStream::connect(&address).await.is_err().then_some(());
        eventually("no one listens any more", closed).await;
        client.write_all(b"x").await.expect("it is taken");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("an answer");
        parsed(&answer)
    });
    stopped.expect("it stops");
    assert_eq!(answer, (200, "1".to_owned()));
    let status = runtime.status(&id).await.expect("a status");
    assert_eq!((status.state(), status.exit_code), (ContainerState::ContainerExited, 0));
    drop(idle);

    // One that never answers is killed with its container.
    let again = runtime.create_attempt(&pod, "web", 1, program("proxy", &[])).await.expect("a container");
    runtime.start(&again).await.expect("it starts");
    runtime.says(&again, "serving HTTP").await;
    let request = format!("GET /never HTTP/1.0\r\nHost: {address}\r\n\r\n");
    let (_cut_off, stopped) = tokio::join!(raw(&address, request.as_bytes()), async {
        eventually("it is being answered", async || (runtime.programs(&pod.id).await > 2).then_some(()))
            .await;
        runtime.stop(&again, 1).await
    });
    stopped.expect("it is killed");
    assert_eq!(runtime.status(&again).await.expect("a status").exit_code, 137);
    assert_eq!(runtime.programs(&pod.id).await, 0, "its instances are gone as well");
}

async fn failures(runtime: Runtime) {
    let pod = runtime.pod().await;
    let (id, address) = start(&runtime, &pod, "web", program("proxy", &[])).await;
    for (path, remark) in [
        ("/silent", None),
        ("/panic", Some("GET /panic: ")),
        ("/eat", Some("GET /eat: exceeded its memory limit of 268435456 bytes")),
    ] {
        let (status, body) = get(&address, path).await;
        assert_eq!((status, body.as_str()), (500, "the program ended without an answer\n"), "{path}");
        if let Some(remark) = remark {
            runtime.says(&id, remark).await;
        }
    }
    assert_eq!(get(&address, "/moment").await.0, 200, "others are still answered");
    assert_eq!(runtime.status(&id).await.expect("a status").state(), ContainerState::ContainerRunning);

    // A client that goes away takes its instance with it.
    let mut client = TcpStream::connect(&address).await.expect("a connection");
    client.write_all(b"GET /spin HTTP/1.0\r\n\r\n").await.expect("it is taken");
    eventually("it computes", async || (runtime.programs(&pod.id).await == 3).then_some(())).await;
    drop(client);
    eventually("it is gone", async || (runtime.programs(&pod.id).await == 1).then_some(())).await;
}

async fn bodies(runtime: Runtime) {
    let pod = runtime.pod().await;
    let (_, address) = start(&runtime, &pod, "web", program("proxy", &[])).await;
    let post = |length: usize| format!("POST /length HTTP/1.0\r\nContent-Length: {length}\r\n\r\n");
    for length in [0, 1, 100_000, 16 << 20] {
        let mut request = post(length).into_bytes();
        request.resize(request.len() + length, b'x');
        assert_eq!(parsed(&raw(&address, &request).await.expect("an answer")), (200, length.to_string()));
    }
    // Announced, it isn't read at all; otherwise it ends where it is too much.
    let refused = raw(&address, post((16 << 20) + 1).as_bytes()).await.expect("an answer");
    assert_eq!(parsed(&refused).0, 413);
    let mut request =
        b"POST /length HTTP/1.1\r\nHost: web\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_vec();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..17 {
        request.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        request.extend_from_slice(&piece);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    let mut client = TcpStream::connect(&address).await.expect("a connection");
    let (mut read, mut write) = client.split();
    let mut answer = Vec::new();
    // The server may close before it received everything.
    let (_, _) = tokio::join!(write.write_all(&request), read.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.contains("200 OK") && !answer.contains(&(17 << 20).to_string()), "{answer}");
    // A head that is too large is refused.
    let long = format!("GET /hello HTTP/1.1\r\nHost: web\r\nX: {}\r\n\r\n", "x".repeat(200 << 10));
    let refused = raw(&address, long.as_bytes()).await.map(|answer| parsed(&answer).0);
    assert!(matches!(refused, Ok(431) | Err(_)), "{refused:?}");
    // What never ends needn't be read.
    let mut client = TcpStream::connect(&address).await.expect("a connection");
    client.write_all(b"GET /flood HTTP/1.0\r\n\r\n").await.expect("it is taken");
    let mut piece = vec![0; 1 << 20];
    client.read_exact(&mut piece).await.expect("there is much of it");
    drop(client);
    eventually("it is gone", async || (runtime.programs(&pod.id).await == 1).then_some(())).await;
}

async fn thousand(runtime: Runtime) {
    let pod = runtime.pod().await;
    let (id, address) = start(&runtime, &pod, "web", program("proxy", &[])).await;
    let begin = Instant::now();
    let all = (0..1000).map(|_| get(&address, "/moment"));
    let all = futures::future::join_all(all).await;
    let answered =
        all.iter().filter(|(status, body)| (*status, body.as_str()) == (200, "after a moment")).count();
    let busy = all.iter().filter(|(status, _)| *status == 503).count();
    eprintln!("1000 requests at once: {answered} answered, {busy} sent away, in {:?}", begin.elapsed());
    assert_eq!(answered + busy, 1000, "{all:?}");
    // How many of the others have their turn within their ten seconds is a matter of the machine.
    assert!(answered >= INSTANCES, "{answered}");
    let used = async || {
        let memory = runtime.stats(&id).await.expect("stats").memory.expect("it is measured");
        memory.usage_bytes.expect("it is measured").value
    };
    eventually("instances have given everything back", async || (used().await == 0).then_some(())).await;
    assert_eq!(get(&address, "/moment").await.0, 200);
}

async fn dawdlers(runtime: Runtime) {
    let pod = runtime.pod().await;
    let (_, address) = start(&runtime, &pod, "web", program("proxy", &[])).await;
    // More than there are connections: the last ones wait in the kernel's queue.
    let mut dawdlers = Vec::new();
    for _ in 0..300 {
        let mut dawdler = TcpStream::connect(&address).await.expect("a connection");
        dawdler.write_all(b"GET /hello HTTP/1.1\r\nX: ").await.expect("it is taken");
        dawdlers.push(dawdler);
    }
    let answer =
        tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, get(&address, "/moment")).await.expect("in time");
    assert_eq!(answer.0, 200, "once the first ones were left");
    for dawdler in &mut dawdlers {
        let mut rest = Vec::new();
        let left = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, dawdler.read_to_end(&mut rest)).await;
        assert!(left.is_ok(), "each is left");
    }
}

async fn outgoing(runtime: Runtime) {
    let (pod, other) = (runtime.pod().await, runtime.pod().await);
    let (_, address) = start(&runtime, &pod, "web", program("proxy", &[])).await;
    let (_, far) = start(&runtime, &other, "web", program("proxy", &[])).await;
    // A server of the node itself, which pods may not talk to.
    let node = std::net::TcpListener::bind("127.0.0.2:0").expect("a port");
    let node = node.local_addr().expect("an address");
    for (path, expected) in [
        (format!("/fetch?{far}"), format!("200 hello 1 {far} Err(NotPresent)")),
        ("/fetch?localhost:8080".to_owned(), "200 hello 1 localhost:8080 Err(NotPresent)".to_owned()),
        (format!("/fetch?{node}"), "failed: ErrorCode::DestinationIpProhibited".to_owned()),
        ("/fetch?192.0.2.1".to_owned(), "failed: ErrorCode::DestinationIpProhibited".to_owned()),
        ("/fetch?[::1]:80".to_owned(), "failed: ErrorCode::DestinationIpUnroutable".to_owned()),
        ("/fetch?example.com".to_owned(), "failed: ErrorCode::DnsError".to_owned()),
        (format!("/fetch?{}:1", other.address), "failed: ErrorCode::ConnectionRefused".to_owned()),
        (format!("/fetch-https?{far}"), "sends no HTTPS".to_owned()),
    ] {
        let (status, body) = get(&address, &path).await;
        assert_eq!(status, 200, "{path}: {body}");
        assert!(body.contains(&expected), "{path}: {body}");
    }
}

async fn example(runtime: Runtime) {
    let pod = runtime.pod().await;
    let (id, address) = start(&runtime, &pod, "web", program("http_hello", &[])).await;
    assert_eq!(get(&address, "/").await, (200, format!("Hello from {}\n", pod.config.hostname)));
    assert_eq!(get(&address, "/other").await.0, 404);
    let post = b"POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nagain";
    assert_eq!(parsed(&raw(&address, post).await.expect("an answer")), (200, "again".to_owned()));
    let ran = runtime.exec(&id, &["http-hello"], 60).await.expect("it runs");
    let words = format!("http-hello of {}: answers HTTP\n", pod.config.hostname);
    assert_eq!((ran.exit_code, ran.stdout), (0, words.into_bytes()));
}

async fn probe_target(runtime: Runtime) {
    let pod = runtime.pod().await;
    let mut target = program("probe_target", &[]);
    target.mounts = vec![runtime.folder_mount("of-probe-target", "/health", false)];
    let id = runtime.run(&pod, "app", target).await;
    runtime.says(&id, "listening on port 8080").await;
    let address = format!("{}:8080", pod.address);
    for (steps, health, readiness) in [
        (&["print", "nothing"][..], 200, 503),
        (&["write", "/health/ready", "yes"], 200, 200),
        (&["write", "/health/sick", "yes", "exists", "/health/sick"], 503, 200),
        (&["remove", "/health/sick", "remove", "/health/ready"], 200, 503),
    ] {
        let command: Vec<&str> = std::iter::once("probe-target").chain(steps.iter().copied()).collect();
        let ran = runtime.exec(&id, &command, 60).await.expect("it runs");
        assert_eq!(ran.exit_code, 0, "{steps:?}: {ran:?}");
        let answers = (get(&address, "/healthz").await.0, get(&address, "/readyz").await.0);
        assert_eq!(answers, (health, readiness), "{steps:?}");
    }
    let ran = runtime.exec(&id, &["probe-target", "exists", "/health/ready"], 60).await.expect("it runs");
    assert_eq!(ran.exit_code, 1, "{ran:?}");
    runtime.stop(&id, 60).await.expect("it stops");
    assert_eq!(runtime.status(&id).await.expect("a status").exit_code, 0);
}

async fn never() {
    let folders = Folders::new();
    let (mut process, runtime) = folders.start_with(&[SHORT_DEADLINE_SECONDS]).await;
    let pod = runtime.pod().await;
    let (id, address) = start(&runtime, &pod, "web", program("proxy", &[])).await;
    for path in ["/never", "/spin"] {
        let begin = Instant::now();
        let answer = get(&address, path).await;
        assert_eq!(answer, (504, "the program didn't answer in time\n".to_owned()), "{path}");
        assert!(begin.elapsed() >= Duration::from_secs(5), "{path}");
    }
    // One that begins and never goes on is cut off, for which HTTP has no better word.
    let begun =
        tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, raw(&address, b"GET /begin HTTP/1.0\r\n\r\n"))
            .await;
    let begun = begun.expect("in time").map(|answer| parsed(&answer).1);
    assert!(matches!(begun.as_deref(), Ok("begun") | Err(_)), "{begun:?}");
    runtime.says(&id, "GET /begin: stopped after 5 s").await;

    // A client that doesn't send what it announced, and one that doesn't read what it asked for.
    let unsent = raw(&address, b"POST /length HTTP/1.0\r\nContent-Length: 100\r\n\r\nonly this").await;
    assert_eq!(parsed(&unsent.expect("an answer")).0, 504);
    let mut unread = TcpStream::connect(&address).await.expect("a connection");
    unread.write_all(b"GET /flood HTTP/1.0\r\n\r\n").await.expect("it is taken");
    runtime.says(&id, "GET /flood: stopped after 5 s").await;
    drop(unread);

    // As many as there are instances never answer: others wait for their turn, and have it. A busy machine may have ended the first
    // before it begins with the last.
    let over = tokio::sync::Notify::new();
    let hogs = async {
        let hogs = futures::future::join_all((0..INSTANCES).map(|_| get(&address, "/never"))).await;
        over.notify_one();
        hogs
    };
    let all_taken = async || (runtime.programs(&pod.id).await > INSTANCES as u64).then_some(());
    let (hogs, other) = tokio::join!(hogs, async {
        tokio::select! {
            () = eventually("all are taken", all_taken) => {}
            () = over.notified() => {}
        }
        get(&address, "/moment").await
    });
    assert!(hogs.iter().all(|(status, _)| *status == 504), "{hogs:?}");
    assert_eq!(other.0, 200);
    eventually("all are gone", async || (runtime.programs(&pod.id).await == 1).then_some(())).await;
    process.kill().expect("it runs");
    process.wait().expect("it ended");
}
