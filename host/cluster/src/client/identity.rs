//! The client certificate in use, which may be replaced while connections are open.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod tests;

/// How many certificates a chain may have.
const CHAIN_MAX: usize = 16;

/// A certificate and key that can't be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum IdentityError {
    /// The certificates can't be read.
    #[error("client certificate: {message}")]
    Certificate { message: String },
    /// The key can't be read.
    #[error("client key: {message}")]
    Key { message: String },
    /// The key isn't the certificate's.
    #[error("the client key does not match the client certificate")]
    Mismatch,
}

/// A client certificate with its chain and its key.
#[derive(Clone)]
pub(crate) struct Identity {
    certified: Arc<CertifiedKey>,
    digest: [u8; 32],
    /// From when on it is valid.
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Identity {
    /// From PEM: the chain, its own certificate first, and the key. Both may stand in the same text. Fails if the key isn't
    /// the certificate's.
    pub(crate) fn parse(chain: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        let bad = |message: String| IdentityError::Certificate { message };
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(chain).take(CHAIN_MAX + 1).collect();
        let certificates = certificates.map_err(|error| bad(error.to_string()))?;
        if certificates.len() > CHAIN_MAX {
            return Err(bad(format!("more than {CHAIN_MAX} certificates")));
        }
        let first = certificates.first().ok_or_else(|| bad("no PEM certificate found".to_owned()))?;
        let (not_before, not_after) = validity(first)?;
        let mut hasher = Sha256::new();
        certificates.iter().for_each(|certificate| hasher.update(certificate));
        let digest = hasher.finalize().into();
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| IdentityError::Key { message: error.to_string() })?;
        let certified = CertifiedKey::from_der(certificates, key, &ring::default_provider()).map_err(
            |error| match error {
                rustls::Error::InconsistentKeys(_) => IdentityError::Mismatch,
                other => IdentityError::Key { message: other.to_string() },
            },
        )?;
        Ok(Self { certified: Arc::new(certified), digest, not_before, not_after })
    }

    /// Whether a server takes it now.
    pub(crate) fn is_valid(&self, now: Timestamp) -> bool {
        self.not_before <= now && now < self.not_after
    }
}

fn validity(certificate: &[u8]) -> Result<(Timestamp, Timestamp), IdentityError> {
    let bad = |message: String| IdentityError::Certificate { message };
    let (_, parsed) =
        x509_parser::parse_x509_certificate(certificate).map_err(|error| bad(error.to_string()))?;
    let time = |seconds| Timestamp::from_second(seconds).map_err(|error| bad(error.to_string()));
    let validity = parsed.validity();
    Ok((time(validity.not_before.timestamp())?, time(validity.not_after.timestamp())?))
}

/// The certificate in use. When it is replaced, every connection made with another one is asked to end.
#[derive(Debug)]
pub(crate) struct Identities {
    current: watch::Sender<Option<Arc<Identity>>>,
    generation: Mutex<CancellationToken>,
}

impl Identities {
    pub(crate) fn new(first: Option<Identity>) -> Self {
        Self { current: watch::Sender::new(first.map(Arc::new)), generation: Mutex::default() }
    }

    pub(crate) fn current(&self) -> Option<Arc<Identity>> {
        self.current.borrow().clone()
    }

    /// Ends when there is a certificate.
    pub(crate) async fn some(&self) -> Option<Arc<Identity>> {
        let mut receiver = self.current.subscribe();
        // The sender lives in this struct, so that it can't be gone.
        receiver.wait_for(Option::is_some).await.ok().and_then(|identity| identity.clone())
    }

    /// Cancelled when the certificate is replaced. To be taken before a handshake begins.
    pub(crate) fn generation(&self) -> CancellationToken {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses this one from now on, and ends connections that use another. Returns false if it is the one in use.
    pub(crate) fn replace(&self, identity: Identity) -> bool {
        let changed = self.current.send_if_modified(|current| {
            let changes = current.as_deref() != Some(&identity);
            if changes {
                *current = Some(Arc::new(identity));
            }
            changes
        });
        if changed {
            self.end_connections();
        }
        changed
    }

    /// Ends every open connection.
    pub(crate) fn end_connections(&self) {
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *generation).cancel();
    }
}

impl ResolvesClientCert for Identities {
    fn resolve(&self, _hints: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.current.borrow().as_ref().map(|identity| identity.certified.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}
