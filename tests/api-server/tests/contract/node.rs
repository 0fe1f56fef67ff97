//! A node's endpoint in miniature: it keeps what an API server sends it, and answers by the pod's name.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, PostParams};
use rcgen::generate_simple_self_signed;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::support::of;

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) uri: String,
    /// By name; names are in lower case.
    pub(crate) headers: http::HeaderMap,
}

/// The endpoint, until it is dropped.
pub(crate) struct NodeEndpoint {
    /// The node's name in the API.
    pub(crate) name: String,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    _tasks: JoinSet<()>,
}

impl NodeEndpoint {
    /// Serves on the loopback, and registers a node of this name that says so.
    pub(crate) async fn start(client: &Client, name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().as_ref().map_or(0, SocketAddr::port);
        let node: Node = of(json!({ "metadata": { "name": name }, "status": {
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": port } },
        } }));
        let nodes: Api<Node> = Api::all(client.clone());
        nodes.create(&PostParams::default(), &node).await.expect("a node");
        let seen = Arc::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, acceptor(), Arc::clone(&seen)));
        Self { name: name.to_owned(), seen, _tasks: tasks }
    }

    /// What came so far.
    pub(crate) fn seen(&self) -> Vec<ReceivedRequest> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The last request.
    pub(crate) fn last(&self) -> ReceivedRequest {
        self.seen().pop().expect("a request came")
    }
}

fn acceptor() -> TlsAcceptor {
    let issued = generate_simple_self_signed(["node".to_owned()]).expect("a certificate of constants");
    let key = PrivateKeyDer::Pkcs8(issued.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider's own versions")
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .expect("a key that fits");
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, seen: Arc<Mutex<Vec<ReceivedRequest>>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, seen) = (acceptor.clone(), Arc::clone(&seen));
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let answer = service_fn(move |request| {
                let answer = answer(&seen, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            // A client that goes away is no matter.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

fn answer(seen: &Mutex<Vec<ReceivedRequest>>, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let (code, text) = match path.split('/').nth(3) {
        Some("refused") => (400, "container \"c\" in pod \"refused\" is waiting to start: ContainerCreating"),
        Some("missing") => (404, "pod \"missing\" does not exist"),
        Some("broken") => (500, "the runtime is away"),
        Some("forbidden") => (403, "Forbidden (user=alice)"),
        Some("busy") => (503, "wait"),
        _ => (200, "a line\n"),
    };
    seen.lock().unwrap_or_else(PoisonError::into_inner).push(ReceivedRequest {
        method: request.method().to_string(),
        uri: request.uri().to_string(),
        headers: request.headers().clone(),
    });
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = code.try_into().expect("a constant code");
    response
}
