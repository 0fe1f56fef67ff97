//! Requests through the server to a node that answers what it was asked.

use std::sync::Arc;

use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use rustls::server::WebPkiClientVerifier;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Options, Security};

/// Bound of a wait for something that has to happen: only a hang reaches it.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// A node that takes clients of the cluster's authority only, answers each request with its target, and echoes what is upgraded.
async fn node(server: &ApiServer, tasks: &mut JoinSet<()>) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    let own = server.authority().server().expect("a certificate");
    for authority in rustls::pki_types::pem::PemObject::pem_slice_iter(server.ca_pem().as_bytes()) {
        roots.add(authority.expect("PEM")).expect("a root");
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(vec![own.der], own.key)
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            connections.spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service =
                    service_fn(|request| async { Ok::<_, std::convert::Infallible>(echo(request)) });
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .with_upgrades()
                    .await;
            });
        }
    });
    port
}

fn echo(mut request: HttpRequest<Incoming>) -> Response<Full<Bytes>> {
    if !request.headers().contains_key(UPGRADE) {
        return Response::new(Full::new(Bytes::from(request.uri().to_string())));
    }
    let upgrade = hyper::upgrade::on(&mut request);
    #[allow(clippy::disallowed_methods, reason = "it ends with the connection that the test closes")]
    tokio::spawn(async move {
        let mut stream = TokioIo::new(upgrade.await.expect("an upgrade"));
        let mut bytes = [0; 4];
        while stream.read_exact(&mut bytes).await.is_ok() {
            stream.write_all(&bytes).await.expect("an open stream");
        }
    });
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(UPGRADE, "SPDY/3.1".parse().expect("a value"));
    response.headers_mut().insert(CONNECTION, "Upgrade".parse().expect("a value"));
    response
}

async fn ask(port: u16, request: &str, until: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("an open connection");
    let mut answer = String::new();
    while !answer.contains(until) {
        let mut bytes = [0; 1024];
        let read = timeout(WAIT_TIMEOUT, stream.read(&mut bytes)).await;
        let read =
            read.unwrap_or_else(|_| panic!("{until:?} isn't in {answer:?}")).expect("an open connection");
        assert_ne!(read, 0, "the connection ended after {answer}");
        answer.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    (stream, answer)
}

#[tokio::test]
async fn logs_streams_and_any_path_reach_the_node_in_its_own_words() {
    #[allow(
        clippy::disallowed_methods,
        reason = "the node checks the server's certificate against the real time"
    )]
    let server = ApiServer::new(Options::new(Arc::new(Timestamp::now)));
    let mut tasks = JoinSet::new();
    let port = node(&server, &mut tasks).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let front = listener.local_addr().expect("an address").port();
    let stop = CancellationToken::new();
    let serving = server.clone().serve(listener, Security::Plain(Identity::admin()), stop.clone());
    tasks.spawn(async move { serving.await.expect("served") });
    let wish = json!({ "metadata": { "name": "n1" }, "status": {
        "addresses": [{ "type": "Hostname", "address": "nowhere.invalid" }, { "type": "InternalIP", "address": "127.0.0.1" }],
        "daemonEndpoints": { "kubeletEndpoint": { "Port": port } } } });
    server.create::<Node>(&serde_json::from_value(wish).expect("a node")).expect("created");
    let wish = json!({ "metadata": { "name": "p" },
        "spec": { "nodeName": "n1", "containers": [{ "name": "c", "image": "i" }] } });
    server.create::<Pod>(&serde_json::from_value(wish).expect("a pod")).expect("created");

    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    for (path, expected) in [
        (
            "/api/v1/namespaces/default/pods/p/log?container=c&follow=true&tailLines=5",
            "/containerLogs/default/p/c?follow=true&tailLines=5",
        ),
        ("/api/v1/namespaces/default/pods/p/log", "/containerLogs/default/p/c"),
        ("/api/v1/nodes/n1/proxy/stats/summary?only=cpu", "/stats/summary?only=cpu"),
        ("/api/v1/nodes/n1/proxy/", "/"),
        ("/api/v1/namespaces/default/pods/p/log?container=d", "container d is not valid for pod p"),
        ("/api/v1/namespaces/default/pods/q/log", r#"pods \"q\" not found"#),
    ] {
        let (_, answer) = ask(front, &get(path), expected).await;
        assert!(answer.contains(&format!("\r\n\r\n{expected}")) || answer.contains("Failure"), "{answer}");
    }
    let upgrade = "POST /api/v1/namespaces/default/pods/p/exec?command=ls&command=%2F&stdin=true&stdout=true HTTP/1.1\r\n\
                   host: x\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\ncontent-length: 0\r\n\r\n";
    let (mut stream, answer) = ask(front, upgrade, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    for word in ["ping", "pong"] {
        stream.write_all(word.as_bytes()).await.expect("an open stream");
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes).await.expect("an answer");
        assert_eq!(bytes, word.as_bytes());
    }
    drop(stream);
    stop.cancel();
    tasks.abort_all();
}
