//! Client certificates that are renewed before they end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use witlet_core::container::backoff::BackoffPolicy;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use witlet_ports::{Clock, Jitter};

use crate::bootstrap::{CsrError, Order, order};
use crate::client::identity::{Identities, Identity};
use crate::client::metrics::ClientMetrics;

pub(crate) mod store;

use store::{CertificateStore, StoreError, new_key, write_whole};

#[cfg(test)]
mod tests;

/// The part of its life after which a certificate is renewed at the earliest.
const RENEW_FROM: f64 = 0.7;
/// By how much of its life that is put off by chance.
const RENEW_SPREAD: f64 = 0.2;
/// The first pause after a renewal that failed; each pause is twice the one before.
const PAUSE_FIRST: Duration = Duration::from_secs(2);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(32);
/// By how much of itself a pause is longer, by chance.
const PAUSE_SPREAD: f64 = 0.1;
/// How long the wall clock isn't checked: it may be set while a renewal is far away.
const CHECK_AGAIN: Duration = Duration::from_secs(60);

/// When a certificate is renewed: at upstream's 70 to 90 percent of its life. `random` is in `[0, 1)`.
pub(crate) fn when_to_renew(not_before: Timestamp, not_after: Timestamp, random: f64) -> Timestamp {
    let life = not_before.duration_until(not_after).as_secs_f64();
    let until = life * (RENEW_FROM + RENEW_SPREAD * random);
    // What isn't a duration comes of times that are no certificate's: then it ends when it ends.
    SignedDuration::try_from_secs_f64(until)
        .ok()
        .and_then(|until| not_before.checked_add(until).ok())
        .unwrap_or(not_after)
}

/// How long to wait after so many renewals in a row that failed. `random` is in `[0, 1)`.
pub(crate) fn pause_after(failures: u32, random: f64) -> Duration {
    let policy = BackoffPolicy { initial: PAUSE_FIRST, max: PAUSE_MAX };
    policy.after(failures).mul_f64(1.0 + PAUSE_SPREAD * random)
}

/// Through whom a certificate is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SigningIdentity {
    /// As the node itself, by the certificate that it has, or whatever else its kubeconfig has.
    Own,
    /// By the bootstrap kubeconfig.
    Bootstrap,
}

/// A certificate that works asks for the next one; else the bootstrap does, if there is one.
pub(crate) fn through(identity: Option<&Identity>, has_bootstrap: bool, now: Timestamp) -> SigningIdentity {
    match identity {
        Some(identity) if identity.is_valid(now) => SigningIdentity::Own,
        _ if has_bootstrap => SigningIdentity::Bootstrap,
        _ => SigningIdentity::Own,
    }
}

/// Why there is no new certificate yet.
#[derive(Debug, Error)]
pub(crate) enum RenewError {
    #[error(transparent)]
    Csr(#[from] CsrError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the signed certificate is not valid now, only from {not_before} to {not_after}")]
    Ended { not_before: Timestamp, not_after: Timestamp },
}

/// Keeps a client certificate in use that is valid.
pub(crate) struct Rotation {
    pub(crate) node_name: String,
    pub(crate) store: CertificateStore,
    pub(crate) identities: Arc<Identities>,
    /// Makes requests with the certificate in use.
    pub(crate) own: Client,
    pub(crate) bootstrap: Option<Client>,
    /// Renewed before its end; else only a missing one is made.
    pub(crate) rotate: bool,
    /// The first one isn't of this store, and is replaced at once.
    pub(crate) replace_first: bool,
    /// A kubeconfig that is written once there is a certificate.
    pub(crate) kubeconfig: Option<(PathBuf, String)>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) jitter: Arc<dyn Jitter>,
    pub(crate) metrics: Arc<ClientMetrics>,
}

impl Rotation {
    /// Returns when stopped. A certificate in use stays in use until there is another one.
    pub(crate) async fn run(self, stop: &CancellationToken) {
        let work = async {
            let mut replace = self.replace_first;
            loop {
                let due = self.due(replace);
                match due {
                    Some(due) => self.wait_for(due).await,
                    None => std::future::pending().await,
                }
                self.renew_until_done().await;
                replace = false;
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = work => {}
        }
    }

    /// When the next certificate is due; never if the one in use is kept to its end.
    fn due(&self, replace: bool) -> Option<Timestamp> {
        let now = self.clock.now();
        let Some(identity) = self.identities.current().filter(|_| !replace) else { return Some(now) };
        let renew = when_to_renew(identity.not_before, identity.not_after, self.jitter.unit());
        if self.rotate {
            tracing::info!(at = %renew, "Client certificate will be renewed");
        }
        self.rotate.then_some(renew)
    }

    async fn wait_for(&self, due: Timestamp) {
        loop {
            let left = Duration::try_from(self.clock.now().duration_until(due)).unwrap_or_default();
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(CHECK_AGAIN)).await;
        }
    }

    async fn renew_until_done(&self) {
        let mut failures = 0_u32;
        loop {
            let now = self.clock.now();
            if let Some(identity) = self.replaced(now) {
                self.identities.replace(identity);
                return;
            }
            let through = through(self.identities.current().as_deref(), self.bootstrap.is_some(), now);
            match self.renew(through).await {
                Ok(identity) => {
                    tracing::info!(until = %identity.not_after, "Client certificate renewed");
                    self.identities.replace(identity);
                    return;
                }
                Err(error) => {
                    failures = failures.saturating_add(1);
                    self.metrics.renewal_failed();
                    let pause = pause_after(failures, self.jitter.unit());
                    tracing::warn!(%error, retry_in = ?pause, "Failed to renew client certificate");
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    /// One that someone else put into the store, while the one in use is none that a server takes.
    fn replaced(&self, now: Timestamp) -> Option<Identity> {
        let works = self.identities.current().is_some_and(|identity| identity.is_valid(now));
        let kept = if works { None } else { self.store.current().ok().flatten() };
        kept.filter(|kept| kept.is_valid(now))
    }

    async fn renew(&self, through: SigningIdentity) -> Result<Identity, RenewError> {
        let identity = match (through, &self.bootstrap) {
            (SigningIdentity::Bootstrap, Some(bootstrap)) => self.begin(bootstrap).await?,
            _ => {
                let key = new_key()?;
                let request = Order { node_name: &self.node_name, key: &key, resumable: false };
                let chain = order(&self.own, &request).await?;
                self.store.update(&chain, key.serialize_pem().as_bytes(), self.clock.now())?
            }
        };
        if let Some((path, text)) = &self.kubeconfig {
            write_whole(path, text.as_bytes())?;
        }
        let Identity { not_before, not_after, .. } = identity;
        if identity.is_valid(self.clock.now()) {
            Ok(identity)
        } else {
            Err(RenewError::Ended { not_before, not_after })
        }
    }

    /// Gets the first certificate by the bootstrap: the key is kept until the request is answered, so that a restart finds its request again.
    async fn begin(&self, bootstrap: &Client) -> Result<Identity, RenewError> {
        let key = self.store.begun_key()?;
        let request = Order { node_name: &self.node_name, key: &key, resumable: true };
        let chain = match order(bootstrap, &request).await {
            Ok(chain) => chain,
            Err(error) => {
                if is_final(&error) {
                    self.store.forget_key()?;
                }
                return Err(error.into());
            }
        };
        let stored = self.store.update(&chain, key.serialize_pem().as_bytes(), self.clock.now());
        // A certificate that isn't this key's, or is none, won't become it: the next request has another key.
        self.store.forget_key()?;
        Ok(stored?)
    }
}

/// Whether asking again with the same key can't help. A request that was denied is left alone instead: its name is taken
/// until the API server forgets it, and another key would only ask again what was answered.
fn is_final(error: &CsrError) -> bool {
    matches!(error, CsrError::Failed { .. } | CsrError::Other { .. })
}
