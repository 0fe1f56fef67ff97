//! TLS to servers, whose certificates are verified or not.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{Resumption, WantsClientCert};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    AlertDescription, CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error,
    RootCertStore, SignatureScheme, WantsVerifier,
};

use crate::grant::TlsPolicy;

#[cfg(test)]
mod tests;

/// What a server that doesn't speak TLS answers a handshake with, at its beginning.
const HTTP_ANSWER: &[u8; 5] = b"HTTP/";
/// How many certificate authorities an operator may add.
const AUTHORITIES_MAX: usize = 1024;
/// How many certificates a client may show.
const CHAIN_MAX: usize = 16;

/// No TLS with this server.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The server speaks HTTP in the clear.
    #[error("http: server gave HTTP response to HTTPS client")]
    PlainAnswer,
    /// The host is neither an address nor a name.
    #[error("tls: {host:?} is not a server's name")]
    Name { host: String },
    /// The node trusts no certificate authority, so that no certificate can be valid.
    #[error(
        "tls: this node has no certificate authorities to verify servers by; install them (package ca-certificates)"
    )]
    NoAuthorities,
    /// The server's certificate isn't valid for this host.
    #[error("tls: failed to verify certificate: {cause}")]
    Certificate { cause: CertificateError },
    /// The server refused the handshake.
    #[error("tls: the server refused: {alert:?}")]
    Alert {
        /// As the server says.
        alert: AlertDescription,
    },
    /// What the plugin was granted of authorities and certificates can't be used.
    #[error("tls: {words}")]
    Material { words: String },
    /// The handshake failed in another way.
    #[error("tls: {cause}")]
    Handshake { cause: io::Error },
}

impl TlsError {
    fn of(cause: io::Error) -> Self {
        match cause.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) {
            Some(Error::InvalidCertificate(cause)) => Self::Certificate { cause: cause.clone() },
            Some(Error::AlertReceived(alert)) => Self::Alert { alert: *alert },
            // The list is the library's, which says that it grows.
            Some(_) | None => Self::Handshake { cause },
        }
    }
}

/// A PEM text that can't be trusted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AuthorityError {
    #[error("invalid PEM: {words}")]
    Pem {
        /// What is wrong with it.
        words: String,
    },
    /// One of its certificates isn't one.
    #[error("certificate {number} is not a valid CA certificate: {words}")]
    Certificate {
        /// Which, from 1.
        number: usize,
        /// What is wrong with it.
        words: String,
    },
    /// No certificate, or very many.
    #[error("must have 1 to {AUTHORITIES_MAX} certificates, found {count}")]
    Count { count: usize },
}

/// A PEM text that no client can show itself by.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ClientCertificateError {
    #[error("invalid PEM: {words}")]
    Pem {
        /// What is wrong with it.
        words: String,
    },
    /// There is no certificate in it, or very many.
    #[error("must have 1 to {CHAIN_MAX} certificates, the client's first, found {count}")]
    Count { count: usize },
    /// There is no private key in it.
    #[error("must have the private key (PKCS#8, PKCS#1 or SEC1) next to the certificates: {words}")]
    NoKey {
        /// What was found in its place.
        words: String,
    },
    /// The key isn't that of the certificate, or of a kind that isn't known.
    #[error("the private key does not fit the certificate: {words}")]
    Unfit { words: String },
}

/// How a client shows who it is. The key is never shown.
struct ClientIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").field("certificates", &self.chain.len()).finish_non_exhaustive()
    }
}

/// Whom the node trusts. Clones are cheap and share what was read of the system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trust {
    /// What the operator added.
    added: Arc<[CertificateDer<'static>]>,
    /// What is shown to servers that ask for it.
    client: Option<Arc<ClientIdentity>>,
    /// Why there is no TLS at all.
    fault: Option<Arc<str>>,
    verifying: Arc<OnceCell<Arc<ClientConfig>>>,
    insecure: Arc<OnceCell<Arc<ClientConfig>>>,
}

impl Trust {
    /// The same, with the certificate authorities of a PEM text.
    pub(crate) fn with_authorities(&self, pem: &[u8]) -> Result<Self, AuthorityError> {
        let found: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(pem).take(AUTHORITIES_MAX + 1).collect();
        let found = found.map_err(|error| AuthorityError::Pem { words: error.to_string() })?;
        if found.is_empty() || found.len() > AUTHORITIES_MAX {
            return Err(AuthorityError::Count { count: found.len() });
        }
        let mut scratch = RootCertStore::empty();
        for (index, certificate) in found.iter().enumerate() {
            let added = scratch.add(certificate.clone());
            added.map_err(|error| AuthorityError::Certificate {
                number: index + 1,
                words: error.to_string(),
            })?;
        }
        let added = self.added.iter().cloned().chain(found).collect();
        Ok(Self { added, verifying: Arc::default(), ..self.clone() })
    }

    /// The same, showing servers that ask for it the certificate of a PEM text, which has its key, too.
    pub(crate) fn with_client(&self, pem: &[u8]) -> Result<Self, ClientCertificateError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).take(CHAIN_MAX + 1).collect();
        let chain = chain.map_err(|error| ClientCertificateError::Pem { words: error.to_string() })?;
        if chain.is_empty() || chain.len() > CHAIN_MAX {
            return Err(ClientCertificateError::Count { count: chain.len() });
        }
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|error| ClientCertificateError::NoKey { words: error.to_string() })?;
        let builder = builder().with_root_certificates(RootCertStore::empty());
        builder
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| ClientCertificateError::Unfit { words: error.to_string() })?;
        let client = Some(Arc::new(ClientIdentity { chain, key }));
        Ok(Self { client, verifying: Arc::default(), insecure: Arc::default(), ..self.clone() })
    }

    /// No TLS at all, for this reason.
    pub(crate) fn failing(words: String) -> Self {
        Self { fault: Some(words.into()), ..Self::default() }
    }

    /// Makes TLS of a connection to this host. Takes as long as the server does. The server receives the host's name,
    /// but never an address (RFC 6066 section 3).
    pub(crate) async fn handshake(
        &self,
        policy: TlsPolicy,
        host: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<Watched>, TlsError> {
        self.shake_hands(self.config(policy).await?, host, stream).await
    }

    /// The same for what isn't HTTP.
    pub(crate) async fn raw_handshake(
        &self,
        policy: TlsPolicy,
        host: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<Watched>, TlsError> {
        let mut config = ClientConfig::clone(&*self.config(policy).await?);
        config.alpn_protocols.clear();
        self.shake_hands(Arc::new(config), host, stream).await
    }

    async fn shake_hands(
        &self,
        config: Arc<ClientConfig>,
        host: &str,
        stream: TcpStream,
    ) -> Result<TlsStream<Watched>, TlsError> {
        let name = host.strip_suffix('.').unwrap_or(host).to_owned();
        let name = ServerName::try_from(name).map_err(|_| TlsError::Name { host: host.to_owned() })?;
        let watched = Watched { stream, first: [0; HTTP_ANSWER.len()], seen: 0 };
        match TlsConnector::from(config).connect(name, watched).into_fallible().await {
            Ok(tls) => Ok(tls),
            Err((_, watched)) if watched.first == *HTTP_ANSWER => Err(TlsError::PlainAnswer),
            Err((cause, _)) => Err(TlsError::of(cause)),
        }
    }

    async fn config(&self, policy: TlsPolicy) -> Result<Arc<ClientConfig>, TlsError> {
        if let Some(words) = &self.fault {
            return Err(TlsError::Material { words: words.to_string() });
        }
        let client = self.client.clone();
        match policy {
            TlsPolicy::Insecure => {
                let make = async || insecure(client.as_deref());
                self.insecure.get_or_try_init(make).await.cloned()
            }
            TlsPolicy::Verify => {
                let added = self.added.clone();
                let make = async || {
                    // The system's authorities are files, and parsing them takes milliseconds.
                    let made =
                        tokio::task::spawn_blocking(move || verifying(&added, client.as_deref())).await;
                    made.map_err(|error| TlsError::Handshake { cause: io::Error::other(error) })?
                };
                self.verifying.get_or_try_init(make).await.cloned()
            }
        }
    }
}

/// Certificates are verified by the node's certificate authorities, which are read once, and these.
fn verifying(
    added: &[CertificateDer<'static>],
    client: Option<&ClientIdentity>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore::empty();
    // One that can't be read is as good as not there: what it would have vouched for isn't valid.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.add_parsable_certificates(added.iter().cloned());
    if roots.is_empty() {
        return Err(TlsError::NoAuthorities);
    }
    finish(builder().with_root_certificates(roots), client)
}

/// No certificate is verified.
fn insecure(client: Option<&ClientIdentity>) -> Result<Arc<ClientConfig>, TlsError> {
    let verifier = Arc::new(AnyServer { provider: Arc::new(ring::default_provider()) });
    finish(builder().dangerous().with_custom_certificate_verifier(verifier), client)
}

fn builder() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has cipher suites for both versions of TLS")
}

/// HTTP/1.1, and no session outlives its connection.
fn finish(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    client: Option<&ClientIdentity>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some(ClientIdentity { chain, key }) => builder
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| TlsError::Material { words: error.to_string() })?,
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Takes every certificate: upstream's probes and hooks ask whether the server is there, not who it is.
#[derive(Debug)]
struct AnyServer {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection that remembers the first bytes it brought.
#[derive(Debug)]
pub(crate) struct Watched {
    stream: TcpStream,
    first: [u8; HTTP_ANSWER.len()],
    seen: usize,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let new = buffer.filled().get(before..).unwrap_or_default();
        let this = &mut *self;
        let seen = this.seen.min(this.first.len());
        for (place, byte) in this.first[seen..].iter_mut().zip(new) {
            *place = *byte;
            this.seen += 1;
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
