//! TLS to servers whose certificates nobody verifies: upstream's probes and hooks don't either.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// What a server that doesn't speak TLS answers a handshake with, at its beginning.
const HTTP_ANSWER: &[u8; 5] = b"HTTP/";

/// No TLS with this server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    /// The server speaks HTTP in the clear.
    #[error("http: server gave HTTP response to HTTPS client")]
    PlainAnswer,
    /// The host is neither an address nor a name.
    #[error("tls: {host:?} is not a server's name")]
    Name {
        /// The host.
        host: String,
    },
    /// The handshake failed.
    #[error("tls: {cause}")]
    Handshake {
        /// Why.
        cause: io::Error,
    },
}

/// Makes TLS of a connection. Takes as long as the server does.
pub(crate) async fn handshake(host: &str, stream: TcpStream) -> Result<TlsStream<Watched>, TlsError> {
    let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::Name { host: host.to_owned() })?;
    let watched = Watched { stream, first: [0; HTTP_ANSWER.len()], seen: 0 };
    match TlsConnector::from(config()).connect(name, watched).into_fallible().await {
        Ok(tls) => Ok(tls),
        Err((_, watched)) if watched.first == *HTTP_ANSWER => Err(TlsError::PlainAnswer),
        Err((cause, _)) => Err(TlsError::Handshake { cause }),
    }
}

/// One configuration for all: no certificates, no sessions, HTTP/1.1.
fn config() -> Arc<ClientConfig> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let make = || {
        let provider = Arc::new(ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("the provider has cipher suites for both versions of TLS")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody { provider }))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::disabled();
        Arc::new(config)
    };
    CONFIG.get_or_init(make).clone()
}

/// Takes every certificate: a probe asks whether the server is there, not who it is.
#[derive(Debug)]
struct Anybody {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Anybody {
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
