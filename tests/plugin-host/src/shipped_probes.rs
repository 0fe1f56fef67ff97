//! The probe types that ship and are off, and those of the examples, turned on by a configuration, against servers on loopback.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use tempfile::TempDir;
use witlet_ports::ProbeError;
use witlet_wasm::inspect::inspect;

use crate::builtin_probes::{LONG, SHORT, assert_late, failed, probe, success};
use crate::node::{Node, Setting, cache};
use crate::servers::{ClosedPort, Server, ServerKinds, answer};

crate::claims!(
    a_probe_type_imports_what_it_uses_and_no_more,
    redis_is_asked_with_the_operators_password,
    postgres_accepts_or_rejects_or_doesnt_answer,
    an_http_answers_json_is_compared,
    a_datagrams_answer_is_compared,
);

/// The examples, by the names of their files.
const EXAMPLES: [(&str, &[u8]); 2] =
    [("postgres-ready.wasm", witlet_test_guests::POSTGRES_READY), ("udp.wasm", witlet_test_guests::UDP)];

/// A node with all four, and the folder with the secret.
async fn node() -> (Node, TempDir) {
    let secrets = TempDir::new().expect("a folder");
    let file = secrets.path().join("password");
    std::fs::write(&file, "s3cret\n").expect("the folder is writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is the test's file");
    let entries = format!(
        "- name: redis\n  component: builtin:redis\n  probe: {{}}\n  grants: {{network: [pod], secrets: [password]}}\n  \
           config: {{credentials: {{cache: {{username: probe, passwordSecret: password, namespaces: [default]}}}}}}\n\
         - {{name: postgres-ready, component: postgres-ready.wasm, probe: {{}}, grants: {{network: [pod]}}}}\n\
         - {{name: http-json, component: builtin:http-json, probe: {{}}, grants: {{network: [pod]}}}}\n\
         - {{name: udp, component: udp.wasm, probe: {{}}, grants: {{network: [pod]}}}}\n\
         secrets:\n- {{name: password, file: {}}}\n",
        file.display()
    );
    let shipped = witlet_plugins::SHIPPED.iter().map(|shipped| (shipped.name, shipped.component)).collect();
    let files = EXAMPLES.map(|(file, component)| (file, component.to_vec())).into();
    let setting = Setting { shipped, files, ..Setting::new(crate::node::compiler(cache())) };
    let node = Node::begin(&entries, setting).await.expect("the host starts");
    tokio::time::timeout(witlet_harness::WAIT_TIMEOUT, node.host.ready())
        .await
        .expect("every plugin is tried in time");
    (node, secrets)
}

async fn a_probe_type_imports_what_it_uses_and_no_more() {
    const TYPES: &str = "witlet:probe/types";
    // Name, what it can't do without, what it has use for, and what it imports of ours.
    type Case = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);
    let cases: [Case; 6] = [
        ("exec", &["exec"], &[], &[TYPES, "witlet:probe/exec"]),
        ("httpGet", &[], &["network"], &[TYPES]),
        ("tcpSocket", &[], &["network"], &[TYPES]),
        ("grpc", &[], &["network"], &[TYPES]),
        ("redis", &["secrets"], &["network"], &[TYPES, "witlet:host/secret", "witlet:host/config"]),
        ("http-json", &[], &["network"], &[TYPES]),
    ];
    for (name, needs, uses, imports) in cases {
        let mut shipped = witlet_plugins::PROBES.iter().chain(witlet_plugins::SHIPPED);
        let component = shipped.find(|shipped| shipped.name == name).expect("it ships").component;
        let seen = inspect(component).expect("a component");
        assert_eq!((&seen.needs_grants[..], &seen.may_use_grants[..]), (needs, uses), "{name}");
        assert_eq!(seen.obstacles, [""; 0], "{name}");
        let mut ours: Vec<&str> = seen
            .imports
            .iter()
            .filter(|import| import.starts_with("witlet:"))
            .map(|import| import.split_once('@').map_or("", |(name, _)| name))
            .collect();
        ours.sort_unstable();
        let mut expected = imports.to_vec();
        expected.sort_unstable();
        assert_eq!(ours, expected, "{name}");
    }
}

async fn redis_is_asked_with_the_operators_password() {
    let (node, _secrets) = node().await;
    let server = Server::conversing(&[
        (b"*3\r\n$4\r\nAUTH\r\n$5\r\nprobe\r\n$6\r\ns3cret\r\n", b"+OK\r\n"),
        (b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"),
        (b"*1\r\n$4\r\nROLE\r\n", b"*5\r\n$5\r\nslave\r\n"),
    ])
    .await;
    let ask = async |parameters| probe(&node, "redis", parameters, LONG).await;
    let port = server.port();
    let replica = json!({"port": port, "credentials": "cache", "role": "replica"});
    assert_eq!(ask(replica).await, Ok(success("")));
    let master = json!({"port": port, "credentials": "cache", "role": "master"});
    assert_eq!(failed(ask(master).await), "the server's role is \"slave\", not \"master\"");
    let refusing = Server::saying("-NOAUTH Authentication required.\r\n").await;
    let text = failed(ask(json!({"port": refusing.port()})).await);
    assert_eq!(text, "PING: NOAUTH Authentication required.");
    // Where the operator's grants don't lead, no password goes.
    let elsewhere = json!({"port": port, "host": "127.0.0.2", "credentials": "cache"});
    let text = failed(ask(elsewhere).await);
    assert_eq!(text, format!("dial tcp 127.0.0.2:{port}: not granted to the plugin"));
    let unknown = ask(json!({"credentials": "other"})).await;
    assert!(matches!(unknown, Err(ProbeError::Parameters { .. })), "{unknown:?}");
}

async fn postgres_accepts_or_rejects_or_doesnt_answer() {
    let (node, _secrets) = node().await;
    let ask = async |port, time| probe(&node, "postgres-ready", json!({"port": port}), time).await;
    let accepting = Server::saying("R\0\0\0\x08\0\0\0\x0a").await;
    assert_eq!(ask(accepting.port(), LONG).await, Ok(success("accepting connections")));
    let starting = Server::saying("E\0\0\0\x1cC57P03\0Mit is starting\0\0").await;
    assert_eq!(failed(ask(starting.port(), LONG).await), "rejecting connections: it is starting");
    let stuck = Server::stuck().await;
    let text = failed(ask(stuck.port(), SHORT).await);
    let expected = format!("no response: read tcp {}: i/o timeout", stuck.address);
    assert_late(&text, |text| text == expected);
    let closed = ClosedPort::new();
    let port = closed.port();
    let text = failed(ask(port, LONG).await);
    assert_eq!(text, format!("no response: dial tcp 127.0.0.1:{port}: connect: connection refused"));
}

async fn an_http_answers_json_is_compared() {
    let (node, _secrets) = node().await;
    let server = Server::http(|_| answer("200 OK", &[], r#"{"queue": {"depth": 7}}"#)).await;
    let ask = async |max| {
        let parameters = json!({"port": server.port(), "pointer": "/queue/depth", "max": max});
        probe(&node, "http-json", parameters, LONG).await
    };
    assert_eq!(ask(7).await, Ok(success("/queue/depth is 7")));
    assert_eq!(failed(ask(6).await), "/queue/depth is 7, not at most 6");
}

async fn a_datagrams_answer_is_compared() {
    let (node, _secrets) = node().await;
    let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("loopback has a port");
    let port = socket.local_addr().expect("it is bound").port();
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        let mut received = [0; 64];
        while let Ok((count, from)) = socket.recv_from(&mut received).await {
            if &received[..count] != b"silence" {
                let _ = socket.send_to(&received[..count], from).await;
            }
        }
    });
    let ask = async |parameters, time| probe(&node, "udp", parameters, time).await;
    let good = json!({"port": port, "send": {"hex": "ff00"}, "expect": {"base64": "/wA="}, "match": "whole"});
    assert_eq!(ask(good, LONG).await, Ok(success("2 bytes were answered")));
    let bad = json!({"port": port, "send": {"text": "ping"}, "expect": {"text": "pong"}});
    assert_eq!(failed(ask(bad, LONG).await), "the answer is \"ping\", not \"pong\"");
    let text = failed(ask(json!({"port": port, "send": {"text": "silence"}}), SHORT).await);
    assert_late(&text, |text| text == format!("read udp 127.0.0.1:{port}: i/o timeout"));
}
