//! TLS of servers, by an authority that this process makes for itself and hands to cases.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Written in the value of a secret, it stands for the authority's certificate.
pub(crate) const AUTHORITY_PLACEHOLDER: &str = "${AUTHORITY}";

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

static AUTHORITY: LazyLock<Result<Authority, rcgen::Error>> = LazyLock::new(|| {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new([])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key)?.pem();
    Ok(Authority { issuer: Issuer::new(params, key), pem })
});

/// Returns the value of a secret with the placeholder replaced. Without an authority it stays, and the servers say why they don't start.
pub(crate) fn with_authority(value: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.contains(AUTHORITY_PLACEHOLDER));
    let placed = text.and_then(|text| {
        let authority = AUTHORITY.as_ref().ok()?;
        Some(text.replace(AUTHORITY_PLACEHOLDER, &authority.pem).into_bytes())
    });
    placed.unwrap_or_else(|| value.to_vec())
}

/// What makes TLS of the connections of a server at this address.
pub(super) fn acceptor(address: IpAddr) -> io::Result<TlsAcceptor> {
    let certified = || {
        let authority = AUTHORITY.as_ref().map_err(Clone::clone)?;
        let key = KeyPair::generate()?;
        let certificate =
            CertificateParams::new([address.to_string()])?.signed_by(&key, &authority.issuer)?;
        Ok((certificate, key))
    };
    let (certificate, key) = certified().map_err(|error: rcgen::Error| io::Error::other(error))?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| {
            config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key)
        });
    Ok(TlsAcceptor::from(Arc::new(config.map_err(io::Error::other)?)))
}
