//! The certificates of clients: who they are, and a handshake that leaves it to the request whether they count.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use witlet_ports::Identity;
use x509_parser::x509::AttributeTypeAndValue;

/// Whom a certificate is of (its common name, and its organizations as groups), and until when it counts. None of one
/// without a name.
pub(super) fn identity(certificate: &CertificateDer<'_>) -> Option<(Identity, Timestamp)> {
    let (_, read) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let text = |part: &AttributeTypeAndValue<'_>| part.as_str().ok().map(str::to_owned);
    let user = read.subject().iter_common_name().filter_map(text).next().filter(|name| !name.is_empty())?;
    let groups = read.subject().iter_organization().filter_map(text).collect();
    let until = Timestamp::from_second(read.validity().not_after.timestamp()).ok()?;
    Some((Identity { user, groups, ..Identity::default() }, until))
}

/// Takes any certificate whose key the client has. Whether it counts is for the request to see, as upstream has it: who
/// shows a certificate of another CA gets an answer (401), not a broken connection.
#[derive(Debug)]
pub(super) struct AnyCertificate(pub(super) Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
