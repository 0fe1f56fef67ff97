//! The node proxy path: logs, exec, attach, port-forward and anything else, forwarded to the node's own endpoint.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, HOST, UPGRADE};
use http::{HeaderMap, Method, Request as HttpRequest, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::SignedDuration;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use serde_json::Value;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::ApiError;
use crate::identity::Identity;
use crate::path::Target;
use crate::resources;
use crate::server::{ApiServer, Body, BoxError, lock};
use crate::store::Key;
use crate::translate::{self, StreamOptions, Wish};
use crate::value::{list, number, text};

/// How long a node may take to take a connection.
const CONNECT: Duration = Duration::from_secs(30);
/// Streams at the same time; beyond, requests are answered 503.
const TUNNELS_MAX: usize = 1024;
/// Life of the certificate that the server shows to nodes.
const CERTIFICATE_LIFE: SignedDuration = SignedDuration::from_hours(24);

type Sender = http1::SendRequest<Full<Bytes>>;

/// Codes of a node's answer that pass as they are, for logs.
const LOG_CODES: std::ops::RangeInclusive<u16> = 200..=206;
/// How much of a node's refusal is passed on.
const REFUSAL_BYTES_MAX: usize = 50_000;

fn is_log(target: &Target) -> bool {
    target.resource.is_pods() && target.subresource == "log"
}

/// Whether this request goes to a node.
pub(crate) fn is_forwarded(target: &Target) -> bool {
    match target.resource.name {
        "pods" => matches!(target.subresource.as_str(), "log" | "exec" | "attach" | "portforward"),
        "nodes" => target.subresource == "proxy",
        _ => false,
    }
}

/// Forwards the request, and whatever it is upgraded to.
pub(crate) async fn forward(
    server: &ApiServer,
    target: &Target,
    query: &[(String, String)],
    request: &mut HttpRequest<Bytes>,
) -> Result<Response<Body>, ApiError> {
    let (node, path) = if target.resource.is_pods() {
        match of_pod(server, target, query)? {
            Some(found) => found,
            None => return Ok(Response::new(crate::server::full(Vec::new()))),
        }
    } else {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        let rest = if target.rest.is_empty() { "/" } else { &target.rest };
        (target.name.clone(), format!("{rest}{query}"))
    };
    if let Some(wish) = Wish::of(&target.subresource, request.headers()) {
        return translated(server, wish, (node, path), query, request).await;
    }
    let ask = Ask {
        method: request.method().clone(),
        headers: request.headers().clone(),
        body: request.body().clone(),
        node,
        path,
    };
    let (mut answer, sender) = ask.send(server).await?;
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        let (client, node) = (hyper::upgrade::on(&mut *request), hyper::upgrade::on(&mut answer));
        keep(server, async move {
            if let (Ok(client), Ok(node)) = tokio::join!(client, node) {
                // Either side may go away at any time.
                let _ = copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(node)).await;
            }
        })?;
        let mut response = Response::new(crate::server::full(Vec::new()));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *response.headers_mut() = answer.headers().clone();
        return Ok(response);
    }
    let (parts, body) = answer.into_parts();
    if is_log(target) && !LOG_CODES.contains(&parts.status.as_u16()) {
        let text = Limited::new(body, REFUSAL_BYTES_MAX).collect().await.map_err(|cause| failed(&*cause))?;
        let text = String::from_utf8_lossy(&text.to_bytes()).into_owned();
        return Err(ApiError::of_node(parts.status.as_u16(), &target.name, text));
    }
    // The sender must live as long as the body is read.
    let body = body.map_frame(move |frame| {
        let _alive = &sender;
        frame
    });
    Ok(Response::from_parts(parts, body.map_err(BoxError::from).boxed_unsync()))
}

fn failed(cause: &dyn std::error::Error) -> ApiError {
    let message = format!("Internal error occurred: error dialing backend: {cause}");
    ApiError::new(500, "InternalError", message)
}

/// What a node is asked.
struct Ask {
    method: Method,
    headers: HeaderMap,
    body: Bytes,
    node: String,
    /// With its query.
    path: String,
}

impl Ask {
    /// Asks it. The connection lasts as long as the sender, or what the answer was upgraded to.
    async fn send(self, server: &ApiServer) -> Result<(Response<Incoming>, Sender), ApiError> {
        let (host, port) = endpoint(server, &self.node)?;
        let stream = match timeout(CONNECT, connect(server, &host, port)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(cause)) => return Err(failed(&*cause)),
            Err(cause) => return Err(failed(&cause)),
        };
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|cause| failed(&cause))?;
        keep(server, async move {
            // The client learns how it ends from what it carries.
            let _ = connection.with_upgrades().await;
        })?;
        let mut forwarded = HttpRequest::new(Full::new(self.body));
        *forwarded.method_mut() = self.method;
        *forwarded.uri_mut() =
            self.path.parse().map_err(|_| ApiError::bad_request("the path can't be forwarded"))?;
        *forwarded.headers_mut() = headers(&self.headers, &host, port);
        let answer = sender.send_request(forwarded).await.map_err(|cause| failed(&cause))?;
        Ok((answer, sender))
    }
}

/// Makes the client's connection a WebSocket, and the node's what the node takes. A tunnel's node is asked first; that of a
/// process only when the client has its connection, as upstream.
async fn translated(
    server: &ApiServer,
    wish: Wish,
    (node, path): (String, String),
    query: &[(String, String)],
    request: &mut HttpRequest<Bytes>,
) -> Result<Response<Body>, ApiError> {
    let accepted = wish.accepted(request.headers());
    let accepted = accepted.ok_or_else(|| ApiError::bad_request("the WebSocket has no key"))?;
    let ask = Ask { method: Method::POST, headers: wish.for_node(), body: Bytes::new(), node, path };
    let client = hyper::upgrade::on(&mut *request);
    // How streams end is said in them; either side may go away at any time.
    match wish {
        Wish::Streams => {
            let (server, expected) = (server.me(), StreamOptions::of(query));
            keep(&server.me(), async move {
                let (answer, _sender) = ask
                    .send(&server)
                    .await
                    .map(|(answer, sender)| (Ok(answer), Some(sender)))
                    .unwrap_or_else(|error| (Err(error), None));
                let _ = translate::streams(client, answer, expected).await;
            })?;
        }
        Wish::Tunnel(_) => {
            let (answer, sender) = ask.send(server).await?;
            if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
                let body = answer.map(|body| {
                    let body = body.map_frame(move |frame| {
                        let _alive = &sender;
                        frame
                    });
                    body.map_err(BoxError::from).boxed_unsync()
                });
                return Ok(body);
            }
            keep(server, async move {
                let _ = translate::tunnel(client, answer).await;
            })?;
        }
    }
    Ok(accepted)
}

/// Runs something that belongs to a forwarded request until it ends, or the server does.
fn keep(server: &ApiServer, task: impl Future<Output = ()> + Send + 'static) -> Result<(), ApiError> {
    let mut tunnels = lock(&server.tunnels);
    while tunnels.try_join_next().is_some() {}
    if tunnels.len() >= TUNNELS_MAX {
        return Err(ApiError::new(503, "ServiceUnavailable", "too many streams to nodes"));
    }
    tunnels.spawn(task);
    Ok(())
}

/// The node of a pod, and what the node is asked for; none for the log of a pod that has no node yet, which is empty.
fn of_pod(
    server: &ApiServer,
    target: &Target,
    query: &[(String, String)],
) -> Result<Option<(String, String)>, ApiError> {
    let pods = resources::named("pods");
    let pod = server.store.lock().get(pods, &Key::new(&target.namespace, &target.name)).cloned();
    let pod = pod.ok_or_else(|| ApiError::not_found(pods, &target.name))?;
    let node = text(&pod, "/spec/nodeName").to_owned();
    let (namespace, name) = (&target.namespace, &target.name);
    let is_port_forward = target.subresource == "portforward";
    let container = if is_port_forward { String::new() } else { container(&pod, query)? };
    if node.is_empty() && is_log(target) {
        return Ok(None);
    }
    if node.is_empty() {
        let message = format!("pod {} does not have a host assigned", target.name);
        return Err(ApiError::bad_request(message));
    }
    let path = match target.subresource.as_str() {
        "portforward" => format!("/portForward/{namespace}/{name}"),
        "log" => format!("/containerLogs/{namespace}/{name}/{container}"),
        other => format!("/{other}/{namespace}/{name}/{container}"),
    };
    let query = parameters(&target.subresource, query);
    let separator = if query.is_empty() { "" } else { "?" };
    Ok(Some((node, format!("{path}{separator}{query}"))))
}

/// The parameters in the words of the node's endpoint, and in the order of their names, as upstream writes them.
fn parameters(subresource: &str, query: &[(String, String)]) -> String {
    let is = |value: &str| matches!(value, "true" | "1");
    let streams = [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")];
    let mut kept: Vec<(&str, String)> = Vec::new();
    for (key, value) in query {
        match (subresource, key.as_str()) {
            ("log", "container") => {}
            ("log", key) => kept.push((key, value.clone())),
            ("exec", "command") => kept.push(("command", value.clone())),
            ("exec" | "attach", key) if is(value) => {
                kept.extend(
                    streams.iter().filter(|(from, _)| *from == key).map(|(_, to)| (*to, "1".to_owned())),
                );
            }
            ("portforward", "ports") => match kept.first_mut() {
                Some((_, ports)) => *ports = format!("{ports},{value}"),
                None => kept.push(("port", value.clone())),
            },
            _ => {}
        }
    }
    kept.sort_by_key(|(key, _)| *key);
    let pairs: Vec<String> =
        kept.iter().map(|(key, value)| format!("{}={}", escaped(key), escaped(value))).collect();
    pairs.join("&")
}

/// Escaped as in a form.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => escaped.push('+'),
            b'-' | b'_' | b'.' | b'~' => escaped.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => escaped.push(byte.into()),
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

fn container(pod: &Value, query: &[(String, String)]) -> Result<String, ApiError> {
    let name = text(pod, "/metadata/name");
    let all = ["containers", "initContainers", "ephemeralContainers"];
    let names: Vec<&str> =
        all.iter().flat_map(|kind| list(pod, &format!("/spec/{kind}"))).map(|c| text(c, "/name")).collect();
    match query.iter().find(|(key, value)| key == "container" && !value.is_empty()) {
        Some((_, expected)) if names.contains(&expected.as_str()) => Ok(expected.clone()),
        Some((_, expected)) => {
            Err(ApiError::bad_request(format!("container {expected} is not valid for pod {name}")))
        }
        None if list(pod, "/spec/containers").len() == 1 => {
            Ok(names.first().copied().unwrap_or_default().to_owned())
        }
        None => {
            let message = format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                names.join(" ")
            );
            Err(ApiError::bad_request(message))
        }
    }
}

/// Address and port of the node's endpoint, from its status; 404 for an unknown node.
fn endpoint(server: &ApiServer, node: &str) -> Result<(String, u16), ApiError> {
    let nodes = resources::named("nodes");
    let (name, port) = match node.split_once(':') {
        Some((name, port)) => (name, port.parse().ok()),
        None => (node, None),
    };
    let found = server.store.lock().get(nodes, &Key::new("", name)).cloned();
    let found = found.ok_or_else(|| ApiError::not_found(nodes, name))?;
    let addresses = list(&found, "/status/addresses");
    let address = ["InternalIP", "ExternalIP", "Hostname"]
        .iter()
        .find_map(|kind| addresses.iter().find(|address| address["type"] == *kind))
        .map(|address| text(address, "/address").to_owned())
        .ok_or_else(|| {
            let message =
                format!("Internal error occurred: no preferred addresses found for node \"{name}\"");
            ApiError::new(500, "InternalError", message)
        })?;
    let own = number(&found, "/status/daemonEndpoints/kubeletEndpoint/Port")
        .and_then(|port| u16::try_from(port).ok());
    Ok((address, port.or(own).unwrap_or(10250)))
}

async fn connect(server: &ApiServer, host: &str, port: u16) -> Result<TlsStream<TcpStream>, BoxError> {
    let who = Identity::new("kube-apiserver-kubelet-client", &["system:masters"]);
    let issued = server.client_certificate(&who, CERTIFICATE_LIFE)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyNode(provider)))
        .with_client_auth_cert(vec![issued.der], issued.key)?;
    let stream = TcpStream::connect((host, port)).await?;
    let name = ServerName::try_from(host.to_owned())?;
    Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
}

/// What goes on to the node: all but who the client is and what concerns its own connection.
fn headers(given: &HeaderMap, host: &str, port: u16) -> HeaderMap {
    let mut headers = given.clone();
    headers.remove(http::header::AUTHORIZATION);
    headers.remove(http::header::CONTENT_LENGTH);
    headers.remove(http::header::TRANSFER_ENCODING);
    if !given.contains_key(UPGRADE) {
        headers.remove(CONNECTION);
    }
    let host = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    if let Ok(host) = host.parse() {
        headers.insert(HOST, host);
    }
    headers
}

/// Takes any certificate: an API server without the nodes' authority doesn't check, upstream's neither.
#[derive(Debug)]
struct AnyNode(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyNode {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests;
