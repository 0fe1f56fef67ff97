//! Sees to it that a container's image is there, by its pull policy.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Container;
use thiserror::Error;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use witlet_core::container::backoff::{BackoffKey, Wait};
use witlet_core::pod::PodUid;
use witlet_core::runtime::SandboxConfig;
use witlet_core::status::WaitingReason;
use witlet_ports::{Clock, Images as ImagePort, RuntimeError};

use super::PodMemory;
use super::events::PodEvents;
use witlet_core::error::one_line;

pub(crate) mod reference;
#[cfg(test)]
mod tests;

/// Why a container's image isn't there.
#[derive(Debug, Error)]
pub(crate) enum ImageError {
    #[error("Failed to apply default image tag {image:?}: {problem}")]
    InvalidName { image: String, problem: &'static str },
    #[error("Failed to inspect image {image:?}")]
    Inspect {
        image: String,
        #[source]
        cause: RuntimeError,
    },
    #[error("Container image {image:?} is not present with pull policy of Never")]
    NeverPull { image: String },
    #[error("Failed to pull image {image:?}")]
    Pull {
        image: String,
        #[source]
        cause: RuntimeError,
    },
    #[error("Back-off pulling image {image:?}: {last}")]
    BackOff { image: String, wait: Wait, last: String },
    #[error("fetching image {image:?} was cut short")]
    Cut { image: String },
}

impl ImageError {
    /// Upstream's waiting reason; none if the container isn't wanted any more.
    pub(crate) fn waiting_reason(&self) -> Option<WaitingReason> {
        match self {
            Self::InvalidName { .. } => Some(WaitingReason::InvalidImageName),
            Self::Inspect { .. } => Some(WaitingReason::ImageInspectError),
            Self::NeverPull { .. } => Some(WaitingReason::ErrImageNeverPull),
            Self::Pull { .. } => Some(WaitingReason::ErrImagePull),
            Self::BackOff { .. } => Some(WaitingReason::ImagePullBackOff),
            Self::Cut { .. } => None,
        }
    }
}

/// A pull that failed.
#[derive(Clone, Debug)]
pub(crate) struct PullFailure {
    at: Timestamp,
    message: String,
}

#[cfg(test)]
impl PullFailure {
    pub(crate) fn at(at: Timestamp) -> Self {
        Self { at, message: String::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}

impl PullPolicy {
    /// Sources fill the default in, by the tag; what comes here without one is left alone if it is there.
    fn of(container: &Container) -> Self {
        match container.image_pull_policy.as_deref() {
            Some("Always") => Self::Always,
            Some("Never") => Self::Never,
            Some(_) | None => Self::IfNotPresent,
        }
    }
}

/// Fetches images, a few at a time.
pub(crate) struct Images {
    port: Arc<dyn ImagePort>,
    clock: Arc<dyn Clock>,
    at_a_time: Semaphore,
}

impl Images {
    pub(crate) fn new(port: Arc<dyn ImagePort>, clock: Arc<dyn Clock>, at_a_time: usize) -> Self {
        Self { port, clock, at_a_time: Semaphore::new(at_a_time.max(1)) }
    }

    /// What the container is to be created from.
    pub(crate) async fn ensure(
        &self,
        uid: &PodUid,
        container: &Container,
        memory: &mut PodMemory,
        events: &PodEvents<'_>,
        cancel: &CancellationToken,
    ) -> Result<String, ImageError> {
        let result = self.try_ensure(uid, container, memory, events, cancel).await;
        if let Err(error) = &result {
            let message = one_line(error);
            match error {
                ImageError::InvalidName { .. } | ImageError::Inspect { .. } => {
                    events.warning("InspectFailed", &message);
                }
                ImageError::NeverPull { .. } => events.warning("ErrImageNeverPull", &message),
                ImageError::Pull { .. } => events.warning("Failed", &message),
                ImageError::BackOff { image, .. } => {
                    events.normal("BackOff", &format!("Back-off pulling image {image:?}"));
                }
                ImageError::Cut { .. } => {}
            }
            if let Some(reason) = error.waiting_reason() {
                events.warning("Failed", &format!("Error: {reason}"));
            }
        }
        result
    }

    async fn try_ensure(
        &self,
        uid: &PodUid,
        container: &Container,
        memory: &mut PodMemory,
        events: &PodEvents<'_>,
        cancel: &CancellationToken,
    ) -> Result<String, ImageError> {
        let asked = container.image.clone().unwrap_or_default();
        let image = reference::with_default_tag(&asked)
            .map_err(|problem| ImageError::InvalidName { image: asked.clone(), problem })?;
        let policy = PullPolicy::of(container);
        if policy != PullPolicy::Always {
            let present = self
                .port
                .status(&image)
                .await
                .map_err(|cause| ImageError::Inspect { image: asked.clone(), cause })?;
            match present {
                Some(present) => {
                    memory.failed_pulls.remove(&image);
                    let message = format!("Container image {asked:?} already present on machine");
                    events.normal("Pulled", &message);
                    return Ok(present.id);
                }
                None if policy == PullPolicy::Never => return Err(ImageError::NeverPull { image: asked }),
                None => {}
            }
        }
        self.pull(uid, &asked, image, memory, events, cancel).await
    }

    async fn pull(
        &self,
        uid: &PodUid,
        asked: &str,
        image: String,
        memory: &mut PodMemory,
        events: &PodEvents<'_>,
        cancel: &CancellationToken,
    ) -> Result<String, ImageError> {
        let key = BackoffKey::pull(uid, &image);
        if let Some(failure) = memory.failed_pulls.get(&image)
            && let Some(wait) = memory.pulls.wait(&key, failure.at, self.clock.now())
        {
            let last = format!("ErrImagePull: {}", failure.message);
            return Err(ImageError::BackOff { image: asked.to_owned(), wait, last });
        }
        events.normal("Pulling", &format!("Pulling image {asked:?}"));
        let waited_from = self.clock.now();
        let pulled = async {
            let _turn = self.at_a_time.acquire().await.expect("the semaphore is never closed");
            let begun = self.clock.now();
            self.port.pull(&image, None, &SandboxConfig::default()).await.map(|image_ref| (image_ref, begun))
        };
        let pulled = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ImageError::Cut { image }),
            pulled = pulled => pulled,
        };
        let now = self.clock.now();
        match pulled {
            Ok((image_ref, begun)) => {
                memory.failed_pulls.remove(&image);
                memory.pulls.succeed(&key);
                let (took, waited) = (seconds(begun, now), seconds(waited_from, now));
                let message =
                    format!("Successfully pulled image {asked:?} in {took} ({waited} including waiting)");
                events.normal("Pulled", &message);
                Ok(image_ref)
            }
            Err(cause) => {
                memory.pulls.record(key, now, now);
                let failure = PullFailure { at: now, message: one_line(&cause) };
                memory.failed_pulls.insert(image, failure);
                Err(ImageError::Pull { image: asked.to_owned(), cause })
            }
        }
    }
}

/// Rounded, so that repeats of an event read alike.
fn seconds(from: Timestamp, to: Timestamp) -> String {
    let took: SignedDuration = to.duration_since(from);
    format!("{:.1}s", took.as_secs_f64().max(0.0))
}
