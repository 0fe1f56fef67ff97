//! A server on real listeners, and clients of it.

use std::error::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime, pem::PemObject,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{Clock, MetricsSource, Tracer};

use super::cluster::{Cluster, now};
use crate::kubelet::{
    Authentication, Authorization, Diagnostics, EndpointSwitches, KubeletServer, ServerOptions, ServerParts,
    ServerTls, TlsOptions,
};
use crate::metrics::Metrics;
use crate::stats::StatsPorts;
use crate::stats::tests::Machine;

/// Connections that each listener takes: few, so that a test can take them all with few files open.
pub(super) const CONNECTIONS_MAX: usize = 16;

/// A certificate with its key.
pub(crate) struct Credentials(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Clone for Credentials {
    fn clone(&self) -> Self {
        Self(self.0.clone(), self.1.clone_key())
    }
}

impl Credentials {
    pub(crate) fn chain(&self) -> &[CertificateDer<'static>] {
        &self.0
    }
}

/// Signs certificates of clients.
pub(crate) struct Ca {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Ca {
    pub(crate) fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    pub(crate) fn sign(&self, user: Option<&str>, group: &str, last_year: i32) -> Credentials {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        if let Some(user) = user {
            params.distinguished_name.push(DnType::CommonName, user);
        }
        params.distinguished_name.push(DnType::OrganizationName, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(last_year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Credentials(vec![certificate.der().clone()], key.into())
    }
}

/// How a server is set up.
#[derive(Clone, Default)]
pub(super) struct SetUp {
    pub(super) anonymous: bool,
    pub(super) always_allow: bool,
    pub(super) no_debugging: bool,
    pub(super) streaming_idle: Option<std::time::Duration>,
    pub(super) switches: EndpointSwitches,
    pub(super) tracer: Tracer,
    /// What usage is measured with, in place of a machine of constants.
    pub(super) stats: Option<StatsPorts>,
}

pub(super) struct World {
    pub(super) cluster: Arc<Cluster>,
    pub(super) server: Arc<KubeletServer>,
    pub(super) ca: Ca,
    pub(super) folder: TempDir,
    pub(super) address: SocketAddr,
    pub(super) healthz: SocketAddr,
    pub(super) read_only: SocketAddr,
    roots: Arc<rustls::RootCertStore>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

/// Metrics of probes.
struct Probed;

impl MetricsSource for Probed {
    fn write(&self, to: &mut Exposition) {
        to.counter("prober_probe_total", "Probes", 5);
    }
}

/// The time of all tests.
#[derive(Debug)]
pub(crate) struct Then;

impl Clock for Then {
    fn now(&self) -> jiff::Timestamp {
        now()
    }
}

impl rustls::time_provider::TimeProvider for Then {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(now().as_second().unsigned_abs())))
    }
}

/// What came back.
pub(super) struct Reply {
    pub(super) code: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

fn diagnostics(cluster: &Arc<Cluster>, folder: &Path) -> Diagnostics {
    Diagnostics {
        flags: [("v".to_owned(), "2".to_owned())].into(),
        kubernetes_version: "1.36.0".to_owned(),
        verbosity: cluster.clone(),
        system_logs: cluster.clone(),
        checkpoints: cluster.clone(),
        checkpoint_folder: folder.join("root/checkpoints"),
    }
}

impl World {
    pub(super) async fn new(set_up: SetUp) -> Self {
        let cluster = Arc::new(Cluster::default());
        let folder = tempfile::tempdir().unwrap();
        let ca = Ca::new("clients");
        let client_ca = folder.path().join("client-ca.pem");
        fs::write(&client_ca, &ca.pem).unwrap();
        let options = TlsOptions {
            certificate: None,
            client_ca: Some(client_ca),
            cert_dir: folder.path().join("pki"),
            node_name: "node-1".to_owned(),
            alternative_names: vec!["127.0.0.1".to_owned()],
            only_tls13: false,
        };
        let tls = ServerTls::open(options, cluster.clone()).unwrap();
        let roots = roots(&folder.path().join("pki"));
        let defaults = ServerOptions::default();
        *cluster.log_folder.lock().unwrap() = folder.path().join("log");
        let parts = ServerParts {
            view: cluster.clone(),
            mirrors: Some(cluster.mirrors.subscribe()),
            pods: cluster.clone(),
            containers: cluster.clone(),
            streaming: cluster.clone(),
            logs: cluster.clone(),
            clock: cluster.clone() as Arc<dyn Clock>,
            metrics: Metrics::of_agent(cluster.clone()),
            probes: Arc::new(Probed),
            process_started_at: Some(now()),
            stats: set_up.stats.unwrap_or_else(|| {
                let machine = Machine::default();
                StatsPorts { view: cluster.clone(), pods: cluster.clone(), ..machine.ports() }
            }),
            configz: json!({"kubeletconfig": {"maxPods": 110}}),
            diagnostics: diagnostics(&cluster, folder.path()),
            tracer: set_up.tracer,
            authentication: Authentication { anonymous: set_up.anonymous, tokens: Some(cluster.clone()) },
            authorization: match set_up.always_allow {
                true => Authorization::AlwaysAllow,
                false => Authorization::Webhook(cluster.clone()),
            },
            options: ServerOptions {
                debugging_handlers: !set_up.no_debugging,
                switches: set_up.switches,
                streaming_idle: set_up.streaming_idle.unwrap_or(defaults.streaming_idle),
                connections_max: CONNECTIONS_MAX,
                // Followed logs have more at once, and nothing waits for a poll.
                log_poll_interval: std::time::Duration::from_millis(1),
                ..defaults
            },
        };
        let server = KubeletServer::new(parts);
        let (stop, mut tasks) = (CancellationToken::new(), JoinSet::new());
        let mut listeners = Vec::new();
        for _ in 0..3 {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let addresses: Vec<SocketAddr> = listeners.iter().map(|l| l.local_addr().unwrap()).collect();
        let (plain, healthz) = (listeners.pop().unwrap(), listeners.pop().unwrap());
        tasks.spawn(server.clone().serve(listeners.pop().unwrap(), tls, stop.clone()));
        tasks.spawn(server.clone().serve_healthz(healthz, stop.clone()));
        tasks.spawn(server.clone().serve_read_only(plain, stop.clone()));
        let [address, healthz, read_only] = addresses[..] else { unreachable!("three were bound") };
        Self { cluster, server, ca, folder, address, healthz, read_only, roots, stop, tasks }
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A connection that speaks this protocol.
    pub(super) async fn tls(&self, who: Option<&Credentials>, protocol: &str) -> TlsStream<TcpStream> {
        connect(self.address, self.roots.clone(), who, protocol).await
    }

    /// One request over TLS with these credentials.
    pub(super) async fn ask(&self, method: Method, path: &str, who: &Who) -> Reply {
        self.request(request(method, path, &who.token), who).await
    }

    /// This request, over TLS with these credentials.
    pub(super) async fn request<B>(&self, request: Request<B>, who: &Who) -> Reply
    where
        B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
    {
        let stream = self.tls(who.credentials.as_ref(), "http/1.1").await;
        answer(send(stream, request).await).await
    }

    /// As a user who may do everything.
    pub(super) async fn get(&self, path: &str) -> Reply {
        self.ask(Method::GET, path, &Who::token("admin")).await
    }

    /// One request in the clear.
    pub(super) async fn plain(address: SocketAddr, path: &str) -> Reply {
        Self::plain_by(Method::GET, address, path).await
    }

    pub(super) async fn plain_by(method: Method, address: SocketAddr, path: &str) -> Reply {
        let stream = TcpStream::connect(address).await.unwrap();
        answer(send(stream, request(method, path, &None)).await).await
    }

    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

/// The authority of the certificate that a server made in this folder.
pub(crate) fn roots(cert_dir: &Path) -> Arc<rustls::RootCertStore> {
    let mut roots = rustls::RootCertStore::empty();
    let chain = CertificateDer::pem_file_iter(cert_dir.join("kubelet.crt")).unwrap();
    roots.add(chain.map(Result::unwrap).last().unwrap()).unwrap();
    Arc::new(roots)
}

/// A connection that speaks this protocol.
pub(crate) async fn connect(
    address: SocketAddr,
    roots: Arc<rustls::RootCertStore>,
    who: Option<&Credentials>,
    protocol: &str,
) -> TlsStream<TcpStream> {
    connect_to("127.0.0.1", address, roots, who, &[protocol]).await
}

/// The same to a server of this name, with one of these protocols.
pub(crate) async fn connect_to(
    name: &'static str,
    address: SocketAddr,
    roots: Arc<rustls::RootCertStore>,
    who: Option<&Credentials>,
    protocols: &[&str],
) -> TlsStream<TcpStream> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_details(provider, Arc::new(Then))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match who.cloned() {
        Some(Credentials(chain, key)) => config.with_client_auth_cert(chain, key).unwrap(),
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(name).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

/// Who asks.
#[derive(Clone, Default)]
pub(super) struct Who {
    pub(super) token: Option<String>,
    pub(super) credentials: Option<Credentials>,
}

impl Who {
    pub(super) fn token(token: &str) -> Self {
        Self { token: Some(token.to_owned()), credentials: None }
    }

    pub(super) fn certificate(credentials: Credentials) -> Self {
        Self { token: None, credentials: Some(credentials) }
    }
}

pub(super) fn request(method: Method, path: &str, token: &Option<String>) -> Request<Empty<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "node-1:10250");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    request.body(Empty::new()).unwrap()
}

/// Sends it over a connection of its own.
pub(super) async fn send<B>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<B>,
) -> Response<Incoming>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        let _ = connection.with_upgrades().await;
    });
    let answer = sender.send_request(request).await.unwrap();
    driver.detach_all();
    answer
}

async fn answer(response: Response<Incoming>) -> Reply {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Reply { code: parts.status, headers: parts.headers, body: String::from_utf8(body.into()).unwrap() }
}
