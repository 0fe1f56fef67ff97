//! The server on sockets: plain or TLS, HTTP/1.1 and HTTP/2.

use std::io;
use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use jiff::SignedDuration;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::authority::Issued;
use crate::identity::Identity;
use crate::link;
use crate::server::{ApiServer, broken};

/// Connections at the same time; beyond, new ones are closed.
const CONNECTIONS_MAX: usize = 2048;
/// Bytes of the largest request that is read.
const BODY_MAX: usize = 4 << 20;

/// How connections are made, and who they are of.
#[derive(Clone, Debug)]
pub enum Security {
    /// Without TLS; all clients are this user.
    Plain(Identity),
    /// With the cluster's certificates; each client is whom its certificate or token names.
    Tls,
}

impl ApiServer {
    /// Serves until stopped, and then breaks every connection.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        security: Security,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let acceptor = match security {
            Security::Plain(_) => None,
            Security::Tls => Some(TlsAcceptor::from(Arc::new(self.tls().map_err(io::Error::other)?))),
        };
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept() => {
                    // A connection that failed before it was accepted costs itself.
                    let Ok((stream, _)) = accepted else { continue };
                    if connections.len() < CONNECTIONS_MAX && !self.is_down() {
                        let (server, security, acceptor) = (self.clone(), security.clone(), acceptor.clone());
                        connections.spawn(async move { server.connection(stream, security, acceptor).await });
                    }
                }
            }
        }
    }

    async fn connection(
        self: Arc<Self>,
        stream: TcpStream,
        security: Security,
        acceptor: Option<TlsAcceptor>,
    ) {
        let link = self.link();
        let _ = stream.set_nodelay(true);
        let serving = async {
            match (acceptor, security) {
                (Some(acceptor), _) => {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let certificates = stream.get_ref().1.peer_certificates();
                    let certificate =
                        certificates.and_then(|chain| chain.first()).map(|first| first.to_vec());
                    let server = self.clone();
                    let who = move || match &certificate {
                        Some(der) => server.authority().owner(der, server.now()).unwrap_or_default(),
                        None => Identity::anonymous(),
                    };
                    self.exchange(stream, who).await;
                }
                (None, Security::Plain(who)) => self.exchange(stream, move || who.clone()).await,
                (None, Security::Tls) => {}
            }
        };
        tokio::select! {
            () = serving => {}
            () = link::down(link) => {}
        }
    }

    async fn exchange<S, W>(&self, stream: S, who: W)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        W: Fn() -> Identity + Clone + Send + 'static,
    {
        let server = self.me();
        let service = service_fn(move |request: http::Request<Incoming>| {
            let (server, who) = (server.clone(), who.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = Limited::new(body, BODY_MAX).collect().await;
                let body = body.map_err(|_| broken("the request's body is too large or broken"))?.to_bytes();
                server.handle(&who(), http::Request::from_parts(parts, body)).await
            }
        });
        // What ends a connection is its client's business; the log of requests has what was answered.
        let _ = Builder::new(TokioExecutor::new())
            .serve_connection_with_upgrades(TokioIo::new(stream), service)
            .await;
    }

    fn tls(&self) -> Result<ServerConfig, rustls::Error> {
        let issued = self.authority().server().map_err(|cause| rustls::Error::General(cause.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AnyCertificate(provider)))
            .with_single_cert(vec![issued.der], issued.key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    /// Certificate of the authority that server and clients have theirs from, as PEM.
    pub fn ca_pem(&self) -> String {
        self.authority().pem()
    }

    /// A certificate for a user, from the server's present time on. The certificate names the user and one group.
    pub fn client_certificate(&self, who: &Identity, life: SignedDuration) -> Result<Issued, rcgen::Error> {
        self.authority().client(who, self.now(), life)
    }

    /// A kubeconfig for this address with the fields of its user, such as `client-certificate-data`; `https` addresses get the
    /// cluster's authority.
    pub fn kubeconfig(&self, address: &str, user: &serde_json::Value) -> String {
        use base64::Engine;
        let mut cluster = serde_json::json!({ "server": address });
        if address.starts_with("https:") {
            let authority = base64::engine::general_purpose::STANDARD.encode(self.ca_pem());
            cluster["certificate-authority-data"] = authority.into();
        }
        serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{ "name": "test", "cluster": cluster }],
            "users": [{ "name": "test", "user": user }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        })
        .to_string()
    }
}

/// Takes any certificate whose key the client has: as at upstream, who is unknown or too late is answered 401, not cut off.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
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
