//! Who gets which code where.

use axum::http::StatusCode;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::cluster::{running, web};
use super::soon;
use super::world::{CONNECTIONS_MAX, Ca, SetUp, Who, World, request};

/// Every path, with a method that it takes, the code for someone who may do everything, and whether `reader` may, too.
const PATHS: [(&str, &str, u16, bool); 32] = [
    ("GET", "/healthz", 200, true),
    ("GET", "/healthz/ping", 200, true),
    ("GET", "/healthz/log", 200, true),
    ("GET", "/healthz/syncloop", 200, true),
    ("GET", "/healthz/unknown", 404, true),
    ("GET", "/pods", 200, true),
    ("GET", "/pods/", 200, true),
    ("GET", "/runningpods/", 200, true),
    ("GET", "/configz", 200, true),
    ("GET", "/metrics", 200, true),
    ("GET", "/metrics/cadvisor", 200, true),
    ("GET", "/metrics/probes", 200, true),
    ("GET", "/metrics/slis", 200, true),
    ("DELETE", "/metrics/slis", 200, false),
    ("GET", "/metrics/resource", 200, true),
    ("GET", "/stats/summary", 200, true),
    ("GET", "/flagz", 200, true),
    ("GET", "/statusz", 200, true),
    ("PUT", "/debug/flags/v", 400, false),
    ("GET", "/debug/flags/v", 406, false),
    ("GET", "/logs/", 404, true),
    ("GET", "/containerLogs/default/web/app", 200, false),
    ("POST", "/run/default/web/app?cmd=ls", 200, false),
    ("POST", "/run/default/web/u-1/app?cmd=ls", 200, false),
    ("POST", "/exec/default/web/app?output=1", 500, false),
    ("GET", "/exec/default/web/u-1/app?output=1", 500, false),
    ("POST", "/attach/default/web/app?output=1", 500, false),
    ("POST", "/portForward/default/web", 500, false),
    ("POST", "/portForward/default/web/u-1", 500, false),
    ("POST", "/checkpoint/default/web/app", 200, false),
    ("GET", "/debug/pprof/heap", 501, false),
    ("GET", "/", 404, false),
];

async fn world(set_up: SetUp) -> World {
    let world = World::new(set_up).await;
    world.cluster.show(web("c-2", running(), None));
    world.cluster.log_paths.lock().unwrap().insert("c-2".to_owned(), world.log("2.log"));
    std::fs::write(world.log("2.log"), "2026-06-01T11:00:00Z stdout F hello\n").unwrap();
    world
}

async fn code(world: &World, method: &str, path: &str, who: &Who) -> u16 {
    soon(world.ask(method.parse().unwrap(), path, who)).await.code.as_u16()
}

#[tokio::test]
async fn every_path_is_refused_to_the_unauthorized_and_open_to_the_authorized() {
    let world = world(SetUp::default()).await;
    let other = Ca::new("others");
    let by_certificate = |user, group| Who::certificate(world.ca.sign(user, group, 2030));
    let mut both = Who::certificate(other.sign(Some("admin"), "system:masters", 2030));
    both.token = Some("admin".to_owned());
    for (method, path, open, for_reader) in PATHS {
        let read = if for_reader { open } else { 403 };
        let who = [
            ("nothing", Who::default(), 401),
            ("an unknown token", Who::token("x"), 401),
            ("a token that no one reviews", Who::token("unreviewed"), 401),
            ("a token without rights", Who::token("no-one"), 403),
            ("a token whose rights no one knows", Who::token("riddle"), 500),
            ("a token that may read", Who::token("reader"), read),
            ("a token that may do everything", Who::token("admin"), open),
            ("a certificate that may do everything", by_certificate(Some("admin"), "system:masters"), open),
            ("a certificate without rights", by_certificate(Some("other"), "system:masters"), 403),
            ("a certificate without a name", by_certificate(None, "system:masters"), 401),
            ("an old certificate", Who::certificate(world.ca.sign(Some("admin"), "g", 2026)), 401),
            ("another CA's", Who::certificate(other.sign(Some("admin"), "g", 2030)), 401),
            ("another CA's, and a token that may", both.clone(), open),
        ];
        for (name, who, expected) in who {
            assert_eq!(code(&world, method, path, &who).await, expected, "{method} {path} with {name}");
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn refusals_have_upstreams_words() {
    let world = world(SetUp::default()).await;
    let refused = soon(world.ask(Method::GET, "/pods", &Who::default())).await;
    assert_eq!((refused.code, refused.body.as_str()), (StatusCode::UNAUTHORIZED, "Unauthorized"));
    let refused = soon(world.ask(Method::GET, "/pods", &Who::token("no-one"))).await;
    let words = "Forbidden (user=no-one, verb=get, resource=nodes, subresource(s)=[pods proxy])\n";
    assert_eq!((refused.code, refused.body.as_str()), (StatusCode::FORBIDDEN, words));
    let refused = soon(world.ask(Method::POST, "/run/default/web/app", &Who::token("riddle"))).await;
    let words = "Authorization error (user=riddle, verb=create, resource=nodes, subresource=proxy)";
    assert_eq!((refused.code, refused.body.as_str()), (StatusCode::INTERNAL_SERVER_ERROR, words));
    let refused = soon(world.ask(Method::PUT, "/pods", &Who::token("admin"))).await;
    assert_eq!(refused.code, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(
        (refused.headers["allow"].to_str().unwrap(), refused.body.as_str()),
        ("GET", "405: Method Not Allowed")
    );
    world.stop().await;
}

#[tokio::test]
async fn who_shows_nothing_is_anonymous_only_where_that_is_allowed() {
    let world = world(SetUp { anonymous: true, ..SetUp::default() }).await;
    let refused = soon(world.ask(Method::GET, "/pods", &Who::default())).await;
    let words = "Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n";
    assert_eq!((refused.code, refused.body.as_str()), (StatusCode::FORBIDDEN, words));
    // What doesn't count is refused all the same.
    let other = Ca::new("others").sign(Some("admin"), "system:masters", 2030);
    for who in [Who::token("x"), Who::token("unreviewed"), Who::certificate(other)] {
        assert_eq!(code(&world, "GET", "/pods", &who).await, 401);
    }
    world.stop().await;
    let world = self::world(SetUp { anonymous: true, always_allow: true, ..SetUp::default() }).await;
    assert_eq!(code(&world, "GET", "/pods", &Who::default()).await, 200);
    world.stop().await;
    let world = self::world(SetUp { always_allow: true, ..SetUp::default() }).await;
    assert_eq!(code(&world, "GET", "/pods", &Who::default()).await, 401);
    assert_eq!(code(&world, "GET", "/pods", &Who::token("no-one")).await, 200);
    world.stop().await;
}

#[tokio::test]
async fn without_debugging_handlers_only_reads_of_the_agent_are_left() {
    let world = world(SetUp { no_debugging: true, ..SetUp::default() }).await;
    for (method, path, open, _) in PATHS {
        let first = path.split(['/', '?']).nth(1).unwrap_or_default();
        let debugs =
            ["run", "exec", "attach", "portForward", "containerLogs", "runningpods", "logs", "debug"];
        let expected = match first {
            // Upstream has these next to those, and no words for their absence.
            "configz" | "flagz" | "statusz" | "checkpoint" => 404,
            _ if path == "/debug/flags/v" => 404,
            first if debugs.contains(&first) => 405,
            _ => open,
        };
        assert_eq!(code(&world, method, path, &Who::token("admin")).await, expected, "{method} {path}");
        assert_eq!(code(&world, method, path, &Who::default()).await, 401, "{method} {path}");
    }
    let refused = soon(world.get("/containerLogs/default/web/app")).await;
    assert_eq!(refused.body, "Debug endpoints are disabled.\n");
    world.stop().await;
}

#[tokio::test]
async fn the_plain_listeners_have_only_what_is_theirs() {
    let world = world(SetUp::default()).await;
    for (method, path, _, _) in PATHS.iter().filter(|(method, ..)| *method == "GET") {
        let (healthz, read_only) = match *path {
            "/healthz" | "/healthz/ping" => (200, 200),
            "/healthz/log" | "/healthz/syncloop" => (404, 200),
            "/pods" | "/pods/" | "/stats/summary" => (404, 200),
            "/metrics" | "/metrics/cadvisor" | "/metrics/probes" | "/metrics/slis" | "/metrics/resource" => {
                (404, 200)
            }
            // Upstream's port says of these that they are off.
            path if ["/runningpods", "/logs", "/containerLogs", "/exec", "/debug/pprof"]
                .iter()
                .any(|root| path.starts_with(root)) =>
            {
                (404, 405)
            }
            _ => (404, 404),
        };
        assert_eq!(soon(World::plain(world.healthz, path)).await.code.as_u16(), healthz, "{method} {path}");
        assert_eq!(
            soon(World::plain(world.read_only, path)).await.code.as_u16(),
            read_only,
            "{method} {path}"
        );
    }
    // An agent without a network is there nevertheless.
    let healthz = soon(World::plain(world.healthz, "/healthz")).await;
    assert_eq!(healthz.body, "ok");
    world.stop().await;
}

#[tokio::test]
async fn reads_answer_as_upstreams_do() {
    let world = world(SetUp::default()).await;
    let pods = soon(world.get("/pods")).await;
    assert_eq!(pods.headers["content-type"], "application/json");
    let pods: Value = serde_json::from_str(&pods.body).unwrap();
    assert_eq!((&pods["kind"], &pods["apiVersion"]), (&"PodList".into(), &"v1".into()));
    assert_eq!(pods["items"][0]["status"]["containerStatuses"][0]["containerID"], "fake://c-2");
    let running: Value = serde_json::from_str(&soon(world.get("/runningpods/")).await.body).unwrap();
    assert_eq!(running["items"].as_array().map(Vec::len), Some(1), "{running}");
    let container = &running["items"][0]["spec"]["containers"][0];
    assert_eq!((&container["name"], &container["image"]), (&"app".into(), &"sha256:c-2".into()));
    let configz: Value = serde_json::from_str(&soon(world.get("/configz")).await.body).unwrap();
    assert_eq!(configz["kubeletconfig"]["maxPods"], 110);
    let metrics = soon(world.get("/metrics")).await;
    assert!(metrics.body.contains("witlet_event_loop_events_total 7"), "{}", metrics.body);
    let verbose = soon(world.get("/healthz?verbose")).await;
    assert_eq!(verbose.body, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n");
    world.stop().await;
}

#[tokio::test]
async fn a_client_that_takes_no_json_is_refused_where_there_is_nothing_else() {
    let world = world(SetUp::default()).await;
    let admin = Who::token("admin");
    let words = "406: Not Acceptable\n\nAvailable representations: application/json";
    for (path, accept, code) in [
        ("/pods", "text/plain", 406),
        ("/pods", "text/plain, */*", 200),
        ("/stats/summary", "application/yaml", 406),
        ("/configz", "application/yaml", 200),
    ] {
        let mut request = request(Method::GET, path, &admin.token);
        request.headers_mut().insert("accept", accept.parse().unwrap());
        let reply = soon(world.request(request, &admin)).await;
        assert_eq!((reply.code.as_u16(), reply.body == words), (code, code == 406), "{path}: {accept}");
        assert!(code == 200 || !reply.headers.contains_key("x-content-type-options"), "{path}: {accept}");
    }
    world.stop().await;
}

#[tokio::test]
async fn usage_is_shown_as_upstream_shows_it() {
    let world = world(SetUp::default()).await;
    let summary = soon(world.get("/stats/summary")).await;
    assert_eq!(summary.headers["content-type"], "application/json");
    let summary: Value = serde_json::from_str(&summary.body).unwrap();
    assert_eq!(summary["node"]["nodeName"], "node-1");
    assert_eq!(summary["pods"][0]["podRef"]["name"], "web");
    assert_eq!(summary["pods"].as_array().map(Vec::len), Some(1), "one runs: {summary}");
    assert!(summary["node"]["fs"].is_object(), "{summary}");
    // Only the very word, and only once, leaves the rest out.
    for (query, is_all) in [
        ("only_cpu_and_memory=true", false),
        ("only_cpu_and_memory=false", true),
        ("only_cpu_and_memory=1", true),
        ("only_cpu_and_memory=true&only_cpu_and_memory=true", true),
        ("only_cpu_and_memory", true),
    ] {
        let answer = soon(world.get(&format!("/stats/summary?{query}"))).await;
        let summary: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(summary["node"]["fs"].is_object(), is_all, "{query}");
    }
    let malformed = soon(world.get("/stats/summary?only_cpu_and_memory=%zz")).await;
    let words = "Internal Error: parse form failed: invalid URL escape \"%zz\"";
    assert_eq!((malformed.code.as_u16(), malformed.body.as_str()), (500, words));
    let admin = Who::token("admin");
    assert_eq!(code(&world, "POST", "/stats/summary", &admin).await, 200);
    // A form counts as the query does, and with it.
    for (query, kind, is_all) in [
        ("", "application/x-www-form-urlencoded", false),
        ("?only_cpu_and_memory=true", "application/x-www-form-urlencoded", true),
        ("", "text/plain", true),
    ] {
        let path = format!("/stats/summary{query}");
        let mut posted = request(Method::POST, &path, &admin.token)
            .map(|_| Full::new(Bytes::from_static(b"only_cpu_and_memory=true")));
        posted.headers_mut().insert("content-type", kind.parse().unwrap());
        let answer = soon(world.request(posted, &admin)).await;
        let summary: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(summary["node"]["fs"].is_object(), is_all, "{query} {kind}");
    }
    assert_eq!(code(&world, "PUT", "/stats/summary", &admin).await, 405);
    let metrics = soon(world.get("/metrics/resource")).await;
    assert_eq!(
        metrics.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
    );
    assert!(
        metrics.body.contains("\npod_cpu_usage_seconds_total{namespace=\"default\",pod=\"web\"} "),
        "{}",
        metrics.body
    );
    assert!(metrics.body.ends_with("resource_scrape_error 0\n"), "{}", metrics.body);
    world.stop().await;
}

#[tokio::test]
async fn commands_that_are_run_answer_with_their_output() {
    let world = world(SetUp::default()).await;
    let admin = Who::token("admin");
    let run = async |path| soon(world.ask(Method::POST, path, &admin)).await;
    let ran = run("/run/default/web/app?cmd=ls%20-l+/tmp").await;
    assert_eq!((ran.code.as_u16(), ran.body.as_str()), (200, "c-2: ls,-l,/tmp\nsaid\n"));
    let ran = run("/run/default/web/app?cmd=false").await;
    assert_eq!((ran.code.as_u16(), ran.body.as_str()), (500, "command 'false' exited with 3: said\n"));
    let missing = run("/run/default/none/app?cmd=ls").await;
    assert_eq!((missing.code.as_u16(), missing.body.as_str()), (404, "pod does not exist"));
    for path in ["/run/default/web/none?cmd=ls", "/run/default/web/u-2/none?cmd=ls"] {
        let missing = run(path).await;
        assert_eq!((missing.code.as_u16(), missing.body.as_str()), (500, "container not found (\"none\")"));
    }
    assert_eq!(soon(world.get("/run/default/web/app?cmd=ls")).await.code.as_u16(), 405);
    world.stop().await;
}

#[tokio::test]
async fn http2_is_spoken_side_by_side() {
    let world = world(SetUp::default()).await;
    let stream = soon(world.tls(None, "h2")).await;
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (sender, connection) = soon(shaken).await.unwrap();
    let mut driver = tokio::task::JoinSet::new();
    driver.spawn(async move {
        let _ = connection.await;
    });
    let ask = |path: &'static str, token: &'static str| {
        let mut sender = sender.clone();
        async move {
            let request = Request::get(format!("https://node-1{path}")).header("authorization", token);
            let answer = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
            let code = answer.status().as_u16();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            (code, String::from_utf8(body.into()).unwrap())
        }
    };
    let (logs, pods, refused) = soon(async {
        tokio::join!(
            ask("/containerLogs/default/web/app", "Bearer admin"),
            ask("/pods", "Bearer admin"),
            ask("/pods", "Bearer x")
        )
    })
    .await;
    assert_eq!(logs, (200, "hello\n".to_owned()));
    assert_eq!((pods.0, refused.0), (200, 401));
    // A head has no body: after one the stream would be broken.
    for (path, code, length) in [("/healthz", 200, "2"), ("/pods", 405, "23"), ("/nope", 404, "19")] {
        let request = Request::head(format!("https://node-1{path}")).header("authorization", "Bearer admin");
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let answer = soon(sender.clone().send_request(request)).await.unwrap();
        assert_eq!(answer.status().as_u16(), code, "{path}");
        assert_eq!(answer.headers()["content-length"], length, "{path}");
        let body = soon(answer.into_body().collect()).await.unwrap().to_bytes();
        assert!(body.is_empty(), "{path}: {body:?}");
    }
    // Nothing can be upgraded there.
    let refused = soon(ask("/exec/default/web/app?output=1", "Bearer admin")).await;
    assert_eq!(refused, (500, "Upgrade request required\n".to_owned()));
    world.stop().await;
}

#[tokio::test]
async fn unauthenticated_clients_that_say_nothing_do_not_shut_out_others() {
    let world = world(SetUp::default()).await;
    let node = Who::certificate(world.ca.sign(Some("admin"), "system:masters", 2030));
    // One that is known and lies idle, before all the others.
    let mut known = soon(world.tls(node.credentials.as_ref(), "http/1.1")).await;
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS_MAX + 8 {
        clients.push(soon(tokio::net::TcpStream::connect(world.address)).await.unwrap());
    }
    assert_eq!(code(&world, "GET", "/pods", &node).await, 200);
    assert_eq!(code(&world, "GET", "/pods", &Who::token("admin")).await, 200);
    soon(known.write_all(b"GET /healthz HTTP/1.1\r\nhost: node-1\r\nconnection: close\r\n\r\n"))
        .await
        .unwrap();
    let mut said = String::new();
    soon(known.read_to_string(&mut said)).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    // The first connection gave way.
    assert_eq!(soon(clients[0].read(&mut [0])).await.unwrap_or(0), 0);
    // The stop would wait for them.
    drop(clients);
    world.stop().await;
}

#[tokio::test]
async fn the_heads_of_unauthenticated_clients_are_short_and_those_of_the_api_server_may_be_long() {
    let world = world(SetUp::default()).await;
    let node = Who::certificate(world.ca.sign(Some("admin"), "system:masters", 2030));
    let filling = "x".repeat(700_000);
    let head = format!("GET /pods HTTP/1.1\r\nhost: node-1\r\nconnection: close\r\nx: {filling}\r\n\r\n");
    let mut server = soon(world.tls(node.credentials.as_ref(), "http/1.1")).await;
    soon(server.write_all(head.as_bytes())).await.unwrap();
    soon(server.flush()).await.unwrap();
    let mut said = [0; 12];
    soon(server.read_exact(&mut said)).await.unwrap();
    assert_eq!(&said, b"HTTP/1.1 200");
    let mut other_client = soon(world.tls(None, "http/1.1")).await;
    // It may break off before it was read.
    let _ = soon(other_client.write_all(head.as_bytes())).await;
    let _ = soon(other_client.flush()).await;
    let mut said = Vec::new();
    let _ = soon(other_client.read_to_end(&mut said)).await;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
    world.stop().await;
}
