//! The probe types of a spec as components, against servers on loopback: upstream's cases for its prober.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use witlet_core::probe::{ProbeKind, ProbeOutcome, ProbeRequest};
use witlet_egress::{NetworkGrant, TlsPolicy};
use witlet_ports::{CommandRunner, ProbeError};
use witlet_wasm::plugin::Builtin;
use witlet_wasm::plugin::config::Grants;

use crate::node::{Node, Setting, cache, pod};
use crate::servers::{ClosedPort, RequestLog, Runs, Server, ServerKinds, answer, read_head};

crate::claims!(
    exec_is_judged_by_its_exit_code_and_its_time,
    http_is_judged_by_its_status,
    an_http_request_is_as_the_spec_has_it,
    http_redirects_are_followed_on_the_same_host_only,
    an_http_server_that_misbehaves_is_a_failure_in_time,
    an_http_body_is_read_as_far_as_it_is_asked_for,
    https_takes_any_certificate_and_tells_of_a_server_without_tls,
    tcp_is_judged_by_the_connection,
    grpc_is_judged_by_what_the_health_service_says,
    parameters_that_make_no_sense_fail_in_words,
    stuck_servers_hold_up_no_other_probe,
);

/// What nothing good takes, on the slowest machine.
pub(crate) const LONG: Duration = witlet_harness::WAIT_TIMEOUT;
/// What something bad outlasts. On a slow machine it is enough to connect and to ask.
pub(crate) const SHORT: Duration = Duration::from_secs(3);

/// The host's words where others had the processors.
const BUSY: &str = "all instances are in use";

/// A node whose runtime answers commands so.
async fn node_with(containers: Option<Arc<dyn CommandRunner>>) -> Node {
    let builtins: Vec<Builtin> = witlet_plugins::PROBES
        .iter()
        .map(|shipped| {
            let network = Grants {
                network: Arc::from([NetworkGrant::Pod, NetworkGrant::ProbeHost]),
                ..Grants::default()
            };
            let (probe_type, grants) = match shipped.name {
                "exec" => ("exec", Grants { exec: true, ..Grants::default() }),
                "http-get" | "httpGet" => ("httpGet", Grants { tls: TlsPolicy::Insecure, ..network }),
                "tcp-socket" | "tcpSocket" => ("tcpSocket", network),
                "grpc" => ("grpc", network),
                other => panic!("{other} is tried here, too"),
            };
            Builtin::probe(shipped.name, probe_type, shipped.component, grants)
        })
        .collect();
    let setting = Setting { builtins, containers, ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin("", setting).await.expect("the host starts");
    let ready = tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready()).await;
    assert!(ready.is_ok(), "every plugin was tried: {:#?}", node.host.list());
    node
}

async fn node() -> Node {
    node_with(None).await
}

/// Probes a pod on loopback; it ends, whatever the server does. Again where the machine was too busy to say whose fault it is.
pub(crate) async fn probe(
    node: &Node,
    probe_type: &str,
    parameters: Value,
    timeout: Duration,
) -> Result<ProbeOutcome, ProbeError> {
    let request = ProbeRequest {
        probe_type: probe_type.into(),
        parameters: parameters.to_string().into(),
        pod: Arc::new(pod("probed")),
        container: "main".to_owned(),
        container_id: "a1".into(),
        restarts: 0,
        pod_ips: vec!["127.0.0.1".parse().expect("an address")],
        host_ips: Vec::new(),
        kind: ProbeKind::Readiness,
        timeout,
    };
    let probes = node.host.probes();
    let asking = async {
        loop {
            match probes.probe(&request).await {
                Err(ProbeError::NotCarriedOut { message }) if message.ends_with(BUSY) => {}
                outcome => return outcome,
            }
        }
    };
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, asking).await.expect("it ends long before")
}

async fn get(node: &Node, port: u16, path: &str) -> ProbeOutcome {
    let outcome = probe(node, "httpGet", json!({"port": port, "path": path}), LONG).await;
    outcome.expect("the probe can be judged")
}

/// The words of a failure.
pub(crate) fn failed(outcome: Result<ProbeOutcome, ProbeError>) -> String {
    match outcome {
        Ok(ProbeOutcome::Failure(text)) => text,
        other => panic!("no failure: {other:?}"),
    }
}

/// Asserts on what a probe says of a server that doesn't answer in [`SHORT`]: the plugin's own words, which its own tests hold, or, on a
/// machine that is late by what the plugin keeps of its time, the host's.
pub(crate) fn assert_late(text: &str, in_plugins_words: impl Fn(&str) -> bool) {
    assert!(in_plugins_words(text) || text == "no answer within 3s", "{text}");
}

pub(crate) fn success(text: &str) -> ProbeOutcome {
    ProbeOutcome::Success(text.to_owned())
}

fn failure(text: &str) -> ProbeOutcome {
    ProbeOutcome::Failure(text.to_owned())
}

fn moved(text: &str) -> ProbeOutcome {
    ProbeOutcome::Warning(format!("Probe terminated redirects, Response body: {text}"))
}

async fn exec_is_judged_by_its_exit_code_and_its_time() {
    let node = node_with(Some(Arc::new(Runs::BY_NAME))).await;
    let run = async |command: &str, timeout| {
        probe(&node, "exec", json!({"command": [command, "/tmp/x"]}), timeout).await
    };
    assert_eq!(run("true", LONG).await, Ok(success("outerr")));
    assert_eq!(run("false", LONG).await, Ok(failure("no such file")));
    let text = failed(run("killed", LONG).await);
    assert!(text.starts_with("xxx") && text.len() <= 10 * 1024, "{} bytes", text.len());
    for command in ["late", "stuck"] {
        let text = failed(run(command, SHORT).await);
        let expected = format!("command timed out: \"{command} /tmp/x\" timed out after ");
        assert_late(&text, |text| text.starts_with(&expected) && text.ends_with('s'));
    }
    let error = run("missing", LONG).await.expect_err("the runtime can't run it");
    assert!(error.to_string().contains("container a1"), "{error}");
}

async fn http_is_judged_by_its_status() {
    let node = node().await;
    let server = Server::http(|head| {
        let status = head.split(['/', ' ']).nth(2).unwrap_or_default().to_owned();
        answer(&format!("{status} Whatever"), &[], "body")
    })
    .await;
    let failed = |status: u16| failure(&format!("HTTP probe failed with statuscode: {status}"));
    let cases = [
        (200, success("body")),
        (204, success("")),
        (299, success("body")),
        (300, moved("body")),
        (302, moved("body")),
        (399, moved("body")),
        (400, failed(400)),
        (404, failed(404)),
        (500, failed(500)),
        (599, failed(599)),
    ];
    for (status, expected) in cases {
        assert_eq!(get(&node, server.port(), &format!("/{status}")).await, expected, "{status}");
    }
}

async fn an_http_request_is_as_the_spec_has_it() {
    let node = node().await;
    let seen = RequestLog::default();
    let log = seen.clone();
    let server = Server::http(move |head| {
        log.add(head);
        answer("200 OK", &[], "")
    })
    .await;
    let header = |name: &str, value: &str| json!({"name": name, "value": value});
    let address = server.address.to_string();
    let cases = [
        (json!([]), format!("host: {address}"), vec!["user-agent: kube-probe/1.36", "accept: */*"]),
        (
            json!([header("X-A", "1"), header("X-A", "2"), header("User-Agent", "me")]),
            format!("host: {address}"),
            vec!["x-a: 1", "x-a: 2", "user-agent: me", "accept: */*"],
        ),
        (
            json!([
                header("host", "example.org"),
                header("Accept", ""),
                header("Proxy-Authorization", "Basic eA==")
            ]),
            "host: example.org".to_owned(),
            vec!["user-agent: kube-probe/1.36", "proxy-authorization: Basic eA=="],
        ),
    ];
    for (headers, host, expected) in cases {
        let parameters = json!({"port": server.port(), "path": "/a b?c=d", "httpHeaders": headers});
        assert_eq!(probe(&node, "httpGet", parameters, LONG).await, Ok(success("")), "{headers}");
        let head = seen.all().pop().expect("a request");
        let mut lines = head.trim_end().split("\r\n");
        assert_eq!(lines.next(), Some("GET /a%20b?c=d HTTP/1.1"));
        let mut found: Vec<String> = lines
            .map(|line| {
                let (name, value) = line.split_once(": ").expect("a header");
                format!("{}: {value}", name.to_lowercase())
            })
            .collect();
        let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        expected.extend([host, "connection: close".to_owned()]);
        // In which order headers of different names stand makes no difference.
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{headers}");
    }
    for (name, value) in [("X A", "1"), ("X-A", "1\r\nX-B: 2"), ("", "1")] {
        let parameters = json!({"port": server.port(), "httpHeaders": [header(name, value)]});
        let text = failed(probe(&node, "httpGet", parameters, LONG).await);
        assert!(text.contains("invalid request"), "{name:?}: {text}");
    }
}

async fn http_redirects_are_followed_on_the_same_host_only() {
    let node = node().await;
    let other = Server::http(|_| answer("200 OK", &[], "elsewhere")).await;
    let secure = Server::https(|_| answer("200 OK", &[], "secure")).await;
    let (port, secure_port) = (other.port(), secure.port());
    let server = Server::http(move |head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let to = |location: &str| answer("302 Found", &[&format!("Location: {location}")], "moved");
        match path {
            "/end?x" | "/end" | "/a/end" => answer("200 OK", &[], path),
            "/absolute" => to("/end?x#part"),
            "/a/relative" => to("end"),
            "/port" => to(&format!("http://127.0.0.1:{port}")),
            "/secure" => to(&format!("https://127.0.0.1:{secure_port}/")),
            "/away" => to("http://0.0.0.0/"),
            "/away-quietly" => to("//localhost/"),
            "/nowhere" => to("ftp://127.0.0.1/"),
            "/loop" => to("/loop"),
            "/no-location" => answer("307 Temporary Redirect", &[], "moved"),
            _ => answer("304 Not Modified", &["Location: /end"], ""),
        }
    })
    .await;
    let failed = |path: &str, why: &str| failure(&format!("Get \"http://{}{path}\": {why}", server.address));
    let cases = [
        ("/absolute", success("/end?x")),
        ("/a/relative", success("/a/end")),
        ("/port", success("elsewhere")),
        ("/secure", success("secure")),
        ("/304", moved("")),
        ("/away", moved("moved")),
        ("/away-quietly", moved("moved")),
        ("/no-location", moved("moved")),
        ("/loop", failed("/loop", "stopped after 10 redirects")),
        ("/nowhere", failed("/nowhere", "failed to parse Location header \"ftp://127.0.0.1/\"")),
    ];
    for (path, expected) in cases {
        assert_eq!(get(&node, server.port(), path).await, expected, "{path}");
    }
}

async fn an_http_server_that_misbehaves_is_a_failure_in_time() {
    let node = node().await;
    let ask = async |scheme: &str, port: u16, timeout| {
        probe(&node, "httpGet", json!({"port": port, "path": "/x", "scheme": scheme}), timeout).await
    };
    let closed = ClosedPort::new();
    let port = closed.port();
    let no_listener =
        format!("Get \"http://127.0.0.1:{port}/x\": dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(failed(ask("HTTP", port, LONG).await), no_listener);
    let named = json!({"port": 80, "host": "no.such.host.invalid"});
    let text = failed(probe(&node, "httpGet", named, LONG).await);
    assert!(text.starts_with("Get \"http://no.such.host.invalid:80/\": dial tcp "), "{text}");
    let trickling = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await;
        while stream.write_all(b"y").await.is_ok() {
            tokio::time::sleep(SHORT / 100).await;
        }
    })
    .await;
    for server in [&Server::stuck().await, &trickling] {
        let text = failed(ask("HTTP", server.port(), SHORT).await);
        let expected = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
        assert_late(&text, |text| text.ends_with(expected));
        failed(ask("HTTPS", server.port(), SHORT).await);
    }
    let endless = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream.write_all(&b"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(100)).await.is_ok() {}
    })
    .await;
    let text = failed(ask("HTTP", endless.port(), LONG).await);
    assert!(text.contains("malformed HTTP exchange"), "{text}");
    let nonsense = Server::saying("220 smtp.example.org ESMTP\r\n\r\n").await;
    let closes = Server::new(|mut stream| async move {
        let _ = stream.read(&mut [0; 4096]).await;
    })
    .await;
    for server in [&Server::resetting().await, &nonsense, &closes] {
        for scheme in ["HTTP", "HTTPS"] {
            failed(ask(scheme, server.port(), LONG).await);
        }
    }
}

async fn an_http_body_is_read_as_far_as_it_is_asked_for() {
    let node = node().await;
    // It would take forever to send all of it.
    let large = Server::new(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n").await;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    })
    .await;
    assert_eq!(get(&node, large.port(), "/").await, success(&"x".repeat(10 * 1024)));
    let begin = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx";
    let broken = Server::new(move |mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(begin.as_bytes()).await;
    })
    .await;
    let ask = async |port| probe(&node, "httpGet", json!({"port": port}), SHORT).await;
    ask(broken.port()).await.expect_err("it can't be judged");
    let slow = Server::saying(begin).await;
    // A body that breaks off can't be judged; one that the host has to end is a failure.
    match ask(slow.port()).await {
        Err(error) => assert!(error.to_string().contains("while reading body"), "{error}"),
        outcome => assert_late(&failed(outcome), |_| false),
    }
}

async fn https_takes_any_certificate_and_tells_of_a_server_without_tls() {
    let node = node().await;
    let server = Server::https(|_| answer("200 OK", &[], "secret")).await;
    for host in ["", "localhost"] {
        let parameters = json!({"port": server.port(), "scheme": "HTTPS", "host": host});
        assert_eq!(probe(&node, "httpGet", parameters, LONG).await, Ok(success("secret")), "{host:?}");
    }
    let plain = Server::saying("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    let parameters = json!({"port": plain.port(), "scheme": "HTTPS"});
    let expected =
        format!("Get \"https://{}/\": http: server gave HTTP response to HTTPS client", plain.address);
    assert_eq!(failed(probe(&node, "httpGet", parameters, LONG).await), expected);
}

async fn tcp_is_judged_by_the_connection() {
    let node = node().await;
    let server = Server::stuck().await;
    for host in ["", "127.0.0.1", "localhost"] {
        let parameters = json!({"port": server.port(), "host": host});
        assert_eq!(probe(&node, "tcpSocket", parameters, LONG).await, Ok(success("")), "{host:?}");
    }
    let closed = ClosedPort::new();
    let port = closed.port();
    let expected = format!("dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(failed(probe(&node, "tcpSocket", json!({"port": port}), LONG).await), expected);
    let parameters = json!({"port": 80, "host": "no.such.host.invalid"});
    let text = failed(probe(&node, "tcpSocket", parameters, LONG).await);
    assert!(text.starts_with("dial tcp no.such.host.invalid:80: lookup"), "{text}");
}

/// Frames of HTTP/2 from a server: its settings, and an answer with this status of health or this error.
fn health(status: u8, error: Option<(&str, &str)>) -> Vec<u8> {
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u16::try_from(payload.len()).expect("it is short").to_be_bytes();
        [&[0, length[0], length[1], kind, flags, 0, 0, 0, stream][..], payload].concat()
    };
    let header = |name: &str, value: &str| {
        let length = |text: &str| u8::try_from(text.len()).expect("it is short");
        [&[0, length(name)][..], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
    };
    let begin = [vec![0x88], header("content-type", "application/grpc")].concat();
    let (code, message) = error.unwrap_or(("0", ""));
    let end = [header("grpc-status", code), header("grpc-message", message)].concat();
    let data = if error.is_none() { frame(0, 0, 1, &[0, 0, 0, 0, 2, 8, status]) } else { Vec::new() };
    [frame(4, 0, 0, &[]), frame(1, 4, 1, &begin), data, frame(1, 5, 1, &end)].concat()
}

async fn grpc_is_judged_by_what_the_health_service_says() {
    let node = node().await;
    let answering = |bytes: Vec<u8>| {
        Server::new(move |mut stream| {
            let bytes = bytes.clone();
            async move {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.read_to_end(&mut Vec::new()).await;
            }
        })
    };
    let not_implemented =
        "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): no";
    let cases = [
        (health(1, None), success("service healthy")),
        (health(2, None), failure("service unhealthy (responded with \"NOT_SERVING\")")),
        (health(3, None), failure("service unhealthy (responded with \"SERVICE_UNKNOWN\")")),
        (health(0, None), failure("service unhealthy (responded with \"UNKNOWN\")")),
        (health(0, Some(("12", "no"))), failure(not_implemented)),
        (
            health(0, Some(("5", "unknown%20service"))),
            failure("error: health rpc probe failed: rpc error: code = NotFound desc = unknown service"),
        ),
    ];
    for (bytes, expected) in cases {
        let server = answering(bytes).await;
        let parameters = json!({"port": server.port(), "service": "db"});
        assert_eq!(probe(&node, "grpc", parameters, LONG).await, Ok(expected));
    }
    let closed = ClosedPort::new();
    let port = closed.port();
    let expected = format!(
        "error: failed to connect service at \"127.0.0.1:{port}\": dial tcp 127.0.0.1:{port}: connect: connection refused"
    );
    assert_eq!(failed(probe(&node, "grpc", json!({"port": port}), LONG).await), expected);
    let stuck = Server::stuck().await;
    let text = failed(probe(&node, "grpc", json!({"port": stuck.port()}), SHORT).await);
    assert_late(&text, |text| text.starts_with("timeout: health rpc did not complete within "));
    let plain = Server::saying("HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let text = failed(probe(&node, "grpc", json!({"port": plain.port()}), LONG).await);
    assert!(text.starts_with("error: health rpc probe failed: "), "{text}");
}

async fn parameters_that_make_no_sense_fail_in_words() {
    let node = node().await;
    let cases = [
        // In the words of the manifest, then in those of the type.
        ("exec", json!({"comand": ["true"]}), "parameters.comand: unknown field, expected command"),
        ("tcpSocket", json!({}), "parameters: the field port is missing"),
        ("httpGet", json!({"port": 0}), "invalid port number: 0"),
        ("httpGet", json!({"port": 1, "scheme": "ftp"}), "unsupported scheme"),
        ("grpc", json!({"port": 65_536}), "expected u16"),
    ];
    for (probe_type, parameters, words) in cases {
        let error = probe(&node, probe_type, parameters, LONG).await.expect_err("it is refused");
        let refused = matches!(&error, ProbeError::Parameters { words: found } if found.contains(words));
        assert!(refused, "{probe_type}: {error:?}");
    }
    let error = probe(&node, "http2Get", json!({}), LONG).await;
    assert_eq!(error, Err(ProbeError::UnknownType { probe_type: "http2Get".to_owned() }));
}

async fn stuck_servers_hold_up_no_other_probe() {
    let node = Arc::new(node().await);
    let stuck = Server::stuck().await;
    let good = Server::http(|_| answer("200 OK", &[], "fine")).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (node, port) = (node.clone(), stuck.port());
        waiting.spawn(async move { probe(&node, "httpGet", json!({"port": port}), LONG).await });
    }
    for _ in 0..20 {
        assert_eq!(get(&node, good.port(), "/").await, success("fine"));
    }
    assert!(waiting.try_join_next().is_none(), "they wait still");
}
