//! Servers on loopback that do as a test says, over TLS too, and names that lead to them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::{default_provider, sign::any_ecdsa_type};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{ALL_VERSIONS, RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::name::HostName;
use crate::resolve::{Resolve, ResolveError};

pub(crate) use witlet_test_servers::{ClosedPort, RequestLog, Server, answer, answer_http, read_head};

/// Bound of a wait for something that has to happen: only a hang reaches it.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(120);
/// A limit that no test reaches unless it lets the time pass: see [`outlasts`].
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Returns what has to end, whatever the server does.
pub(crate) async fn ends<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT_TIMEOUT, work).await.expect("it ends long before")
}

/// Runs `work` in real time until the server has `reached` the point where it says no more, and lets [`LIMIT`] pass then, in no
/// time. Until that point sockets are served as fast as the machine can.
pub(crate) async fn outlasts<T>(work: impl Future<Output = T>, reached: &Notify) -> T {
    let passing = async {
        ends(reached.notified()).await;
        tokio::time::pause();
        // Timers end on the next whole millisecond, and a clock that is paused doesn't go on to it while sockets are busy.
        tokio::time::advance(LIMIT + Duration::from_millis(1)).await;
    };
    let (done, ()) = futures::future::join(work, passing).await;
    tokio::time::resume();
    done
}

/// More kinds of servers.
pub(crate) trait ServerKinds: Sized {
    /// Takes connections and says nothing, ever. Notified when a client has said something.
    async fn receives_and_says_nothing() -> (Self, Arc<Notify>);

    /// Answers over TLS, with a certificate that isn't one.
    async fn https(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self;

    /// Answers over TLS.
    async fn tls(identity: &Identity, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self;
}

impl ServerKinds for Server {
    async fn receives_and_says_nothing() -> (Self, Arc<Notify>) {
        let requested = Arc::new(Notify::new());
        let notified = requested.clone();
        let server = Self::new(move |mut stream| {
            let requested = notified.clone();
            async move {
                let _ = stream.read(&mut [0; 1]).await;
                requested.notify_one();
                std::future::pending().await
            }
        })
        .await;
        (server, requested)
    }

    async fn https(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self::tls(&Identity::untrusted(), answer).await
    }

    async fn tls(identity: &Identity, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        let acceptor = TlsAcceptor::from(identity.config.clone());
        Self::new(move |stream| {
            let (acceptor, answer) = (acceptor.clone(), answer.clone());
            async move {
                if let Ok(tls) = acceptor.accept(stream).await {
                    answer_http(tls, answer).await;
                }
            }
        })
        .await
    }
}

/// Who a TLS server says it is.
pub(crate) struct Identity {
    config: Arc<ServerConfig>,
    /// The names that clients asked for, empty where they named none.
    pub(crate) asked: RequestLog,
}

impl Identity {
    /// A certificate that isn't one.
    pub(crate) fn untrusted() -> Self {
        let key = KeyPair::generate().expect("there is randomness");
        Self::new(CertificateDer::from(b"not a certificate".to_vec()), &key, ALL_VERSIONS)
    }

    pub(crate) fn new(
        certificate: CertificateDer<'static>,
        key: &KeyPair,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Self {
        let asked = RequestLog::default();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = any_ecdsa_type(&key).expect("it is such a key");
        let resolver =
            OneKey { key: Arc::new(CertifiedKey::new(vec![certificate], key)), asked: asked.clone() };
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .expect("the provider has cipher suites for both versions of TLS")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver));
        Self { config: Arc::new(config), asked }
    }

    /// The same, letting in only clients whom this authority vouches for.
    pub(crate) fn asking_for_clients_of(mut self, authority: &Authority) -> Self {
        let mut roots = RootCertStore::empty();
        let certificates = CertificateDer::pem_slice_iter(authority.pem.as_bytes());
        roots.add_parsable_certificates(certificates.map(|certificate| certificate.expect("our own text")));
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(ALL_VERSIONS)
            .expect("the provider has cipher suites for both versions of TLS")
            .with_client_cert_verifier(verifier.expect("there is an authority"))
            .with_cert_resolver(self.config.cert_resolver.clone());
        self.config = Arc::new(config);
        self
    }
}

#[derive(Debug)]
struct OneKey {
    key: Arc<CertifiedKey>,
    asked: RequestLog,
}

impl ResolvesServerCert for OneKey {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.asked.add(hello.server_name().unwrap_or_default());
        Some(self.key.clone())
    }
}

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("there is randomness");
        let mut params = CertificateParams::new([]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).expect("a key of our own").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// A server with these names and addresses, by a certificate that ends in that year.
    pub(crate) fn server(
        &self,
        names: &[&str],
        last_year: i32,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Identity {
        let key = KeyPair::generate().expect("there is randomness");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("they are names");
        params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
        let certificate = params.signed_by(&key, &self.issuer).expect("a key of our own");
        Identity::new(certificate.der().clone(), &key, versions)
    }

    /// A client of this name, by a certificate that ends in that year: certificate and key as PEM.
    pub(crate) fn client(&self, name: &str, last_year: i32) -> (String, String) {
        let key = KeyPair::generate().expect("there is randomness");
        let mut params = CertificateParams::new([name.to_owned()]).expect("it is a name");
        params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
        let certificate = params.signed_by(&key, &self.issuer).expect("a key of our own");
        (certificate.pem(), key.serialize_pem())
    }
}

/// Every name leads to this host.
pub(crate) struct AllHere;

#[async_trait]
impl Resolve for AllHere {
    async fn resolve(&self, _: &HostName) -> Result<Vec<IpAddr>, ResolveError> {
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }
}
