//! TLS to the API server.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use thiserror::Error;

use super::identity::Identities;

/// How many certificate authorities one file may name.
const AUTHORITIES_MAX: usize = 1024;

/// TLS can't be set up.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TlsError {
    /// A certificate authority that can't be used.
    #[error("certificate-authority: {message}")]
    Authorities { message: String },
    /// The node trusts no one, and the kubeconfig names no one to trust.
    #[error(
        "no certificate-authority is set, and this machine has no CA certificates (install ca-certificates)"
    )]
    NoAuthorities,
    /// The library refused the protocols.
    #[error("{message}")]
    Protocols { message: String },
}

/// Whom servers are trusted by. They may be replaced: the next handshake heeds that.
#[derive(Debug)]
pub(crate) struct Authorities {
    current: RwLock<Trust>,
}

#[derive(Debug)]
struct Trust {
    /// As they were read; none are this node's own.
    pem: Option<Vec<u8>>,
    verifier: Arc<WebPkiServerVerifier>,
}

impl Trust {
    fn new(pem: Option<Vec<u8>>) -> Result<Self, TlsError> {
        let roots = Arc::new(roots(pem.as_deref())?);
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
        let verifier = verifier.map_err(|error| TlsError::Authorities { message: error.to_string() })?;
        Ok(Self { pem, verifier })
    }
}

impl Authorities {
    /// Reads the authorities of a file, or this node's own.
    pub(crate) fn new(pem: Option<Vec<u8>>) -> Result<Self, TlsError> {
        Ok(Self { current: RwLock::new(Trust::new(pem)?) })
    }

    /// Trusts these from now on. Returns false if nothing changed. Ones that can't be used leave the last ones.
    pub(crate) fn replace(&self, pem: Vec<u8>) -> Result<bool, TlsError> {
        if self.current.read().unwrap_or_else(PoisonError::into_inner).pem.as_ref() == Some(&pem) {
            return Ok(false);
        }
        let trust = Trust::new(Some(pem))?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = trust;
        Ok(true)
    }

    fn verifier(&self) -> Arc<WebPkiServerVerifier> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).verifier.clone()
    }
}

impl ServerCertVerifier for Authorities {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.verifier().verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier().verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier().verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier().supported_verify_schemes()
    }
}

/// HTTP/2 where the server has it, else HTTP/1.1. Certificates are asked for at each handshake, and no session is resumed:
/// a resumed one would show the certificate that it began with. Without authorities every server is taken for the right one.
pub(crate) fn client_config(
    authorities: Option<Arc<Authorities>>,
    identities: Arc<Identities>,
) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Protocols { message: error.to_string() })?;
    let verifier: Arc<dyn ServerCertVerifier> = match authorities {
        Some(authorities) => authorities,
        None => Arc::new(AnyServer(provider)),
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = builder.with_client_cert_resolver(identities);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn roots(authorities: Option<&[u8]>) -> Result<RootCertStore, TlsError> {
    let bad = |message: String| TlsError::Authorities { message };
    let mut store = RootCertStore::empty();
    let Some(pem) = authorities else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if store.is_empty() { Err(TlsError::NoAuthorities) } else { Ok(store) };
    };
    for certificate in CertificateDer::pem_slice_iter(pem).take(AUTHORITIES_MAX) {
        let certificate = certificate.map_err(|error| bad(error.to_string()))?;
        store.add(certificate).map_err(|error| bad(error.to_string()))?;
    }
    if store.is_empty() { Err(bad("no PEM certificate found".to_owned())) } else { Ok(store) }
}

/// Takes every server for the right one: `insecure-skip-tls-verify`.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
