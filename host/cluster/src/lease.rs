//! The node's lease in `kube-node-lease`.

use std::sync::Arc;

use k8s_openapi::api::coordination::v1 as api;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use witlet_core::container::backoff::ExponentialBackoff;
use witlet_core::node::lease;
use witlet_ports::{Clock, Jitter};

use crate::node::api::{ApiError, within};

#[cfg(test)]
mod tests;

/// Renews the node's lease.
pub struct Lease {
    api: Api<api::Lease>,
    node_name: String,
    node: watch::Receiver<Option<Arc<Node>>>,
    duration_seconds: u32,
    clock: Arc<dyn Clock>,
    jitter: Arc<dyn Jitter>,
    /// As our last request left it.
    latest: Option<api::Lease>,
}

impl Lease {
    /// `node` is the node's object, which the lease belongs to; `duration_seconds` is how long it lasts without a renewal
    /// ([`lease::DURATION_SECONDS`] unless the operator says otherwise).
    pub fn new(
        client: kube::Client,
        node_name: &str,
        node: watch::Receiver<Option<Arc<Node>>>,
        duration_seconds: u32,
        clock: Arc<dyn Clock>,
        jitter: Arc<dyn Jitter>,
    ) -> Self {
        let api = Api::namespaced(client, lease::NAMESPACE);
        let node_name = node_name.to_owned();
        Self { api, node_name, node, duration_seconds, clock, jitter, latest: None }
    }

    /// Runs until `stop` is cancelled.
    pub async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(async {
            loop {
                self.renew().await;
                sleep(lease::renew_after(self.duration_seconds, self.jitter.unit())).await;
            }
        })
        .await;
    }

    /// Renews it once. No one else writes it, so that what we wrote last is what there is: no request but the renewal.
    async fn renew(&mut self) {
        if let Some(latest) = self.latest.take() {
            if self.update(latest).await {
                return;
            }
            tracing::info!("Failed to update lease using latest lease, fallback to ensure lease");
        }
        let (lease, is_new) = self.ensure().await;
        if is_new {
            self.latest = Some(lease);
        } else if !self.update(lease).await {
            let interval = lease::renew_after(self.duration_seconds, 0.0);
            tracing::error!(?interval, "Will retry updating lease");
        }
    }

    /// Whether it could be renewed. Each try that fails is logged with its cause, at upstream's level.
    async fn update(&mut self, mut base: api::Lease) -> bool {
        for _ in 0..lease::RENEWALS_MAX {
            let node = self.node.borrow().clone();
            let (duration, now) = (self.duration_seconds, self.clock.now());
            let desired = lease::renewed(&base, &self.node_name, node.as_deref(), duration, now);
            match within(self.api.replace(&self.node_name, &PostParams::default(), &desired)).await {
                Ok(lease) => {
                    self.latest = Some(lease);
                    return true;
                }
                Err(error) => {
                    tracing::error!(%error, "Failed to update lease");
                    if matches!(error, ApiError::Missing) {
                        return false;
                    }
                    if error.is_conflict() {
                        base = self.ensure().await.0;
                    }
                }
            }
        }
        false
    }

    /// The lease as it is, and whether it was made just now. Takes as long as it has to.
    async fn ensure(&mut self) -> (api::Lease, bool) {
        let mut backoff = ExponentialBackoff::new(lease::ENSURE);
        loop {
            let error = match within(self.api.get(&self.node_name)).await {
                Ok(lease) => return (lease, false),
                Err(ApiError::Missing) => {
                    let desired = self.fresh().await;
                    match within(self.api.create(&PostParams::default(), &desired)).await {
                        Ok(lease) => return (lease, true),
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            let interval = backoff.fail();
            tracing::error!(%error, ?interval, "Failed to ensure lease exists, will retry");
            sleep(interval).await;
        }
    }

    /// A new lease. It belongs to the node's object, which is waited for.
    async fn fresh(&mut self) -> api::Lease {
        loop {
            let node = self.node.borrow_and_update().clone();
            let (duration, now) = (self.duration_seconds, self.clock.now());
            if let Some(lease) = node.and_then(|node| lease::fresh(&self.node_name, &node, duration, now)) {
                return lease;
            }
            if self.node.changed().await.is_err() {
                // Anyone who keeps the object has ended: so will this.
                std::future::pending::<()>().await;
            }
        }
    }
}
