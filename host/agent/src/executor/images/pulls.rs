//! Pulls under way: one after the other or several at the same time, not too many a second, and each only once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use jiff::Timestamp;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use witlet_core::runtime::{ImageAuth, ImageInfo, SandboxSpec};
use witlet_ports::{Clock, Images as ImagePort, RuntimeError};

use crate::settings::ImagePullLimits;
use witlet_core::error::aggregate;
use witlet_core::token_bucket::TokenBucket;

#[cfg(test)]
mod tests;

/// What is pulled, and how.
#[derive(Clone, Debug)]
pub(crate) struct PullRequest {
    /// With tag or digest.
    pub(crate) image: String,
    /// Credentials to try, in this order. Without any the registry is asked without.
    pub(crate) credentials: Vec<ImageAuth>,
    /// The pod that it is for.
    pub(crate) sandbox: SandboxSpec,
}

impl PullRequest {
    /// Whether what the other one pulls may be used for this one. Only with the same credentials: what one pod may pull,
    /// another one need not be allowed to have.
    fn is_served_by(&self, other: &Self) -> bool {
        self.image == other.image
            && self.credentials == other.credentials
            && self.sandbox.runtime_handler == other.sandbox.runtime_handler
    }
}

/// An image that was pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pulled {
    /// What containers are created from.
    pub(crate) image_ref: String,
    /// What the runtime says of it; none if it is gone again.
    pub(crate) image: Option<ImageInfo>,
    /// Which of the credentials the registry took; none if none were needed.
    pub(crate) credentials: Option<ImageAuth>,
    /// When the runtime was asked, after the wait for others.
    pub(crate) begun_at: Timestamp,
    /// When it was done.
    pub(crate) done_at: Timestamp,
}

/// Why nothing was pulled.
#[derive(Clone, Debug, Error)]
pub(crate) enum PullError {
    /// More pulls were begun than the node may begin (upstream's words).
    #[error("pull QPS exceeded")]
    TooMany,
    /// The runtime failed without credentials, or with each of them.
    #[error("{}", aggregate(_0.iter().map(RuntimeError::pull_text)))]
    Runtime(Vec<RuntimeError>),
}

type Running = BoxFuture<'static, Result<Pulled, PullError>>;

/// Pulls images for all pods.
pub(crate) struct Pulls {
    port: Arc<dyn ImagePort>,
    clock: Arc<dyn Clock>,
    /// None if any number may be pulled at the same time.
    turns: Option<Arc<Semaphore>>,
    /// None if pulls have no limit per second.
    bucket: Option<Arc<Mutex<TokenBucket>>>,
    started: Instant,
    running: Mutex<Vec<(PullRequest, WeakShared<Running>)>>,
}

impl Pulls {
    pub(crate) fn new(port: Arc<dyn ImagePort>, clock: Arc<dyn Clock>, limits: ImagePullLimits) -> Self {
        let at_a_time = if limits.serialize { Some(1) } else { limits.parallel_max.map(|max| max.max(1)) };
        Self {
            port,
            clock,
            turns: at_a_time.map(|turns| Arc::new(Semaphore::new(turns.min(Semaphore::MAX_PERMITS)))),
            bucket: TokenBucket::new(f64::from(limits.per_second), limits.burst, Duration::ZERO)
                .map(|bucket| Arc::new(Mutex::new(bucket))),
            started: Instant::now(),
            running: Mutex::default(),
        }
    }

    /// Pulls the image, or waits for the same pull of another pod. The pull goes on as long as a pod waits for it.
    pub(crate) async fn pull(&self, request: PullRequest) -> Result<Pulled, PullError> {
        self.begin_or_join(request).await
    }

    fn begin_or_join(&self, request: PullRequest) -> Shared<Running> {
        let mut running = self.lock();
        running.retain(|(_, pull)| pull.upgrade().is_some());
        let same = running.iter().find(|(other, _)| request.is_served_by(other));
        if let Some(pull) = same.and_then(|(_, pull)| pull.upgrade()) {
            return pull;
        }
        let pull = self.begin(request.clone()).shared();
        running.extend(pull.downgrade().map(|weak| (request, weak)));
        pull
    }

    fn begin(&self, request: PullRequest) -> Running {
        let (port, clock) = (self.port.clone(), self.clock.clone());
        let (turns, bucket, started) = (self.turns.clone(), self.bucket.clone(), self.started);
        let may_begin = move || {
            let bucket = bucket.as_ref().map(|bucket| bucket.lock().unwrap_or_else(PoisonError::into_inner));
            bucket.is_none_or(|mut bucket| bucket.try_take(started.elapsed()))
        };
        let pull = async move {
            let _turn = match &turns {
                Some(turns) => Some(turns.acquire().await.expect("the semaphore is never closed")),
                None => None,
            };
            let begun_at = clock.now();
            let (image_ref, credentials) = pull_with_each(&*port, may_begin, request).await?;
            let done_at = clock.now();
            // Whom it runs as has to be known before a container is made from it.
            let image = port.status(&image_ref).await.map_err(|error| PullError::Runtime(vec![error]))?;
            Ok(Pulled { image_ref, image, credentials, begun_at, done_at })
        };
        pull.boxed()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(PullRequest, WeakShared<Running>)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first of the credentials that works decides. Each try counts for the limit of pulls per second.
async fn pull_with_each(
    port: &dyn ImagePort,
    may_begin: impl Fn() -> bool,
    request: PullRequest,
) -> Result<(String, Option<ImageAuth>), PullError> {
    let PullRequest { image, credentials, sandbox } = request;
    if credentials.is_empty() {
        if !may_begin() {
            return Err(PullError::TooMany);
        }
        let pulled = port.pull(&image, None, &sandbox).await;
        return pulled.map(|image_ref| (image_ref, None)).map_err(|error| PullError::Runtime(vec![error]));
    }
    let mut errors = Vec::new();
    for auth in credentials {
        if !may_begin() {
            return Err(PullError::TooMany);
        }
        match port.pull(&image, Some(&auth), &sandbox).await {
            Ok(image_ref) => return Ok((image_ref, Some(auth))),
            Err(error) => errors.push(error),
        }
    }
    Err(PullError::Runtime(errors))
}
