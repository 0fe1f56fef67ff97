//! TLS to the API server.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
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
    Authorities {
        /// What is wrong.
        message: String,
    },
    /// The node trusts nobody, and the kubeconfig names nobody to trust.
    #[error("no certificate authority is named, and this node has none of its own (package ca-certificates)")]
    NoAuthorities,
    /// The library refused the protocols.
    #[error("{message}")]
    Protocols {
        /// As it says.
        message: String,
    },
}

/// HTTP/2 where the server has it, else HTTP/1.1. Certificates are asked for at each handshake, and no session is resumed:
/// a resumed one would show the certificate that it began with.
pub(crate) fn client_config(
    authorities: Option<&[u8]>,
    insecure: bool,
    identities: Arc<Identities>,
) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Protocols { message: error.to_string() })?;
    let builder = if insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
    } else {
        builder.with_root_certificates(roots(authorities)?)
    };
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
    if store.is_empty() { Err(bad("no certificate in it".to_owned())) } else { Ok(store) }
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
