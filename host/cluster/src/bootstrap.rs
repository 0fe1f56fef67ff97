//! TLS bootstrap: a client certificate for a node that has only a bootstrap token, and the requests for certificates that
//! rotation makes too.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec, CertificateSigningRequestStatus,
};
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PublicKeyData as _};
use sha2::{Digest as _, Sha512_256};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// Who signs certificates of nodes.
const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// The group of all nodes.
const ORGANIZATION: &str = "system:nodes";
/// What the certificate is for. A key for ECDSA enciphers nothing.
const USAGES: [&str; 2] = ["digital signature", "client auth"];
/// How long a certificate may take until someone approves and signs it.
const SIGNED_WITHIN: Duration = Duration::from_secs(15 * 60);

/// No certificate came of a request.
#[derive(Debug, Error)]
pub enum CsrError {
    /// The request can't be made.
    #[error("certificate signing request: {message}")]
    Make { message: String },
    /// The API server didn't take it, or didn't show it.
    #[error("certificate signing request {name}: {cause}")]
    Api {
        /// Its name, or the beginning of it.
        name: String,
        cause: Box<kube::Error>,
    },
    /// Another request has the name.
    #[error("certificate signing request {name} exists already, for another key or signer")]
    Other { name: String },
    #[error("certificate signing request {name} was denied: {reason}: {message}")]
    Denied {
        name: String,
        /// As it was said.
        reason: String,
        /// As it was said.
        message: String,
    },
    /// The signer gave up.
    #[error("certificate signing request {name} failed: {reason}: {message}")]
    Failed {
        name: String,
        /// As the signer said.
        reason: String,
        /// As the signer said.
        message: String,
    },
    #[error("certificate signing request {name} was deleted before it was signed")]
    Deleted { name: String },
    /// No one approved or signed it.
    #[error("certificate signing request {name} was not signed within {SIGNED_WITHIN:?}")]
    Late { name: String },
}

/// What a request asks for, and under which name.
pub(crate) struct Order<'a> {
    pub(crate) node_name: &'a str,
    pub(crate) key: &'a KeyPair,
    /// A name that follows from key and subject, so that the same request is found again after a restart; else the server
    /// makes a name.
    pub(crate) resumable: bool,
}

/// The user that a node is.
pub(crate) fn user_of(node_name: &str) -> String {
    format!("system:node:{node_name}")
}

/// The name of a node's request: upstream's digest of public key, subject and usages.
fn digested_name(public_key: &[u8], user: &str) -> String {
    use base64::Engine as _;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let mut hasher = Sha512_256::new();
    let parts = [public_key, user.as_bytes(), ORGANIZATION.as_bytes()].into_iter();
    for part in parts.chain(USAGES.iter().map(|usage| usage.as_bytes())) {
        hasher.update(encode(part));
        // No digit of the encoding, so that two lists of parts never read the same.
        hasher.update(b"|");
    }
    format!("node-csr-{}", encode(&hasher.finalize()))
}

impl Order<'_> {
    fn object(&self) -> Result<CertificateSigningRequest, CsrError> {
        let bad = |error: rcgen::Error| CsrError::Make { message: error.to_string() };
        let user = user_of(self.node_name);
        let mut subject = DistinguishedName::new();
        subject.push(DnType::OrganizationName, ORGANIZATION);
        subject.push(DnType::CommonName, user.as_str());
        let mut params = CertificateParams::default();
        params.distinguished_name = subject;
        let request = params.serialize_request(self.key).and_then(|request| request.pem()).map_err(bad)?;
        let mut metadata = ObjectMeta::default();
        if self.resumable {
            metadata.name = Some(digested_name(&self.key.subject_public_key_info(), &user));
        } else {
            metadata.generate_name = Some("csr-".to_owned());
        }
        let spec = CertificateSigningRequestSpec {
            request: ByteString(request.into_bytes()),
            signer_name: SIGNER.to_owned(),
            usages: Some(USAGES.map(str::to_owned).to_vec()),
            ..CertificateSigningRequestSpec::default()
        };
        Ok(CertificateSigningRequest { metadata, spec, status: None })
    }

    /// Whether that object is this order: its key and its signer.
    fn is(&self, object: &CertificateSigningRequest) -> bool {
        let Ok((_, pem)) = x509_parser::pem::parse_x509_pem(&object.spec.request.0) else { return false };
        let parsed =
            <x509_parser::certification_request::X509CertificationRequest<'_> as x509_parser::prelude::FromDer<
                '_,
                _,
            >>::from_der(&pem.contents);
        let Ok((_, request)) = parsed else { return false };
        object.spec.signer_name == SIGNER
            && request.certification_request_info.subject_pki.raw == self.key.subject_public_key_info()
    }
}

/// What the request's status says by now.
#[derive(Debug, PartialEq, Eq)]
enum CsrState {
    Waiting,
    Signed(Vec<u8>),
    Denied { reason: String, message: String },
    Failed { reason: String, message: String },
}

/// Denied and failed go before everything else; a certificate counts once it is approved.
fn csr_state(status: Option<&CertificateSigningRequestStatus>) -> CsrState {
    let Some(status) = status else { return CsrState::Waiting };
    let mut approved = false;
    for condition in status.conditions.iter().flatten() {
        let reason = condition.reason.clone().unwrap_or_default();
        let message = condition.message.clone().unwrap_or_default();
        match condition.type_.as_str() {
            "Denied" => return CsrState::Denied { reason, message },
            "Failed" => return CsrState::Failed { reason, message },
            "Approved" => approved = true,
            _ => {}
        }
    }
    match &status.certificate {
        Some(certificate) if approved && !certificate.0.is_empty() => CsrState::Signed(certificate.0.clone()),
        _ => CsrState::Waiting,
    }
}

/// Orders a certificate and waits for it: PEM of its chain. Takes at most [`SIGNED_WITHIN`] once the request is there.
pub(crate) async fn order(client: &Client, order: &Order<'_>) -> Result<Vec<u8>, CsrError> {
    let api: Api<CertificateSigningRequest> = Api::all(client.clone());
    let object = order.object()?;
    let asked = object.metadata.name.clone().unwrap_or_else(|| "csr-".to_owned());
    let failed = |name: &str, cause| CsrError::Api { name: name.to_owned(), cause: Box::new(cause) };
    let name = match api.create(&PostParams::default(), &object).await {
        Ok(made) => made.metadata.name.unwrap_or(asked),
        Err(kube::Error::Api(status)) if status.code == 409 && order.resumable => {
            let there = api.get(&asked).await.map_err(|cause| failed(&asked, cause))?;
            if !order.is(&there) {
                return Err(CsrError::Other { name: asked });
            }
            tracing::info!(name = asked, "Certificate signing request exists, waiting for it");
            asked
        }
        Err(cause) => return Err(failed(&asked, cause)),
    };
    let answer = tokio::time::timeout(SIGNED_WITHIN, wait(api, &name)).await;
    answer.unwrap_or(Err(CsrError::Late { name }))
}

async fn wait(api: Api<CertificateSigningRequest>, name: &str) -> Result<Vec<u8>, CsrError> {
    let mut objects = std::pin::pin!(watcher::watch_object(api, name).default_backoff());
    let name = name.to_owned();
    // The stream comes back from every failure by itself, and the caller bounds the time.
    while let Some(object) = objects.next().await {
        let status = match object {
            Ok(Some(object)) => object.status,
            Ok(None) => return Err(CsrError::Deleted { name }),
            Err(error) => {
                tracing::warn!(%error, name, "Failed to watch certificate signing request");
                continue;
            }
        };
        match csr_state(status.as_ref()) {
            CsrState::Waiting => {}
            CsrState::Signed(chain) => return Ok(chain),
            CsrState::Denied { reason, message } => return Err(CsrError::Denied { name, reason, message }),
            CsrState::Failed { reason, message } => return Err(CsrError::Failed { name, reason, message }),
        }
    }
    Err(CsrError::Deleted { name })
}
