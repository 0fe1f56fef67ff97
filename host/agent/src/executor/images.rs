//! Sees to it that a container's image is there, as `witlet_core::image` decides.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use witlet_core::container::backoff::{BackoffKey, Wait};
use witlet_core::image::policy::{ImageRefusal, ImageStep, Presence, PullFailureKind, PullPolicy, next_step};
use witlet_core::image::records::{PullCredential, PullSecret, PulledWith};
use witlet_core::image::{ReferenceError, ResolvedImage, with_default_tag};
use witlet_core::pod::PodUid;
use witlet_core::runtime::{ImageInfo, SandboxSpec};
use witlet_core::status::WaitingReason;
use witlet_ports::{Clock, FilesError, ImageCredentials, Images as ImagePort, RuntimeError};

use super::events::PodEvents;
use super::memory::{PodMemory, PullFailure};
use crate::metrics::{AccessCheck, ImageMetrics};
use crate::settings::ImagePullLimits;
use access::PullAccess;
use pulls::{PullError, PullRequest, Pulled, Pulls};
use witlet_core::error::one_line;

pub(crate) mod access;
mod pulls;
#[cfg(test)]
mod tests;

/// Why a container's image isn't there. The texts are upstream's, which tools look for.
#[derive(Debug, Error)]
pub(crate) enum ImageError {
    #[error("Failed to apply default image tag {image:?}")]
    InvalidName {
        image: String,
        #[source]
        cause: ReferenceError,
    },
    #[error("Failed to inspect image {image:?}: {}", cause.status_text())]
    Inspect { image: String, cause: RuntimeError },
    #[error("Container image {image:?} is not present with pull policy of Never")]
    NeverPull { image: String },
    #[error("Failed to record image pull intent for container image {image:?}")]
    Intent {
        image: String,
        #[source]
        cause: FilesError,
    },
    #[error("Failed to pull image {image:?}")]
    Pull {
        image: String,
        #[source]
        cause: PullError,
    },
    #[error("Back-off pulling image {image:?}: {last}")]
    BackOff { image: String, wait: Wait, last: String },
    #[error("fetching image {image:?} was cut short")]
    Cut { image: String },
}

impl ImageError {
    /// Upstream's waiting reason; none if the container isn't needed any more.
    pub(crate) fn waiting_reason(&self) -> Option<WaitingReason> {
        match self {
            Self::InvalidName { .. } => Some(WaitingReason::InvalidImageName),
            Self::Inspect { .. } => Some(WaitingReason::ImageInspectError),
            Self::NeverPull { .. } => Some(ImageRefusal::NeverPull.waiting_reason()),
            Self::Intent { .. } => Some(WaitingReason::ErrImagePull),
            Self::Pull { cause, .. } => Some(reason_of(cause)),
            Self::BackOff { .. } => Some(WaitingReason::ImagePullBackOff),
            Self::Cut { .. } => None,
        }
    }

    /// Returns what the container's status says in addition to the reason.
    pub(crate) fn waiting_message(&self) -> String {
        match self {
            Self::Pull { image, cause } => message_of(image, cause),
            Self::InvalidName { .. }
            | Self::Inspect { .. }
            | Self::NeverPull { .. }
            | Self::Intent { .. }
            | Self::BackOff { .. }
            | Self::Cut { .. } => one_line(self),
        }
    }
}

fn message_of(image: &str, cause: &PullError) -> String {
    let said = one_line(cause);
    PullFailureKind::of(&said).waiting_message(image, &said)
}

fn reason_of(cause: &PullError) -> WaitingReason {
    match PullFailureKind::of(&one_line(cause)) {
        PullFailureKind::Other => WaitingReason::ErrImagePull,
        PullFailureKind::RegistryUnavailable => WaitingReason::RegistryUnavailable,
        PullFailureKind::SignatureValidationFailed => WaitingReason::SignatureValidationFailed,
    }
}

/// An image that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadyImage {
    /// What containers are created from.
    pub(crate) reference: String,
    /// What the runtime says of it.
    pub(crate) info: Option<ImageInfo>,
}

/// One container that needs an image.
#[derive(Clone, Copy)]
pub(crate) struct ImageRequest<'a> {
    pub(crate) uid: &'a PodUid,
    pub(crate) pod: &'a Pod,
    pub(crate) container: &'a Container,
    /// The sandbox that the container will be in.
    pub(crate) sandbox: &'a SandboxSpec,
    pub(crate) events: &'a PodEvents<'a>,
    /// Cuts a pull short.
    pub(crate) cancel: &'a CancellationToken,
}

/// Fetches images for all pods.
pub(crate) struct Images {
    port: Arc<dyn ImagePort>,
    credentials: Arc<dyn ImageCredentials>,
    clock: Arc<dyn Clock>,
    access: Arc<PullAccess>,
    pulls: Pulls,
    metrics: Arc<ImageMetrics>,
}

impl Images {
    pub(crate) fn new(
        port: Arc<dyn ImagePort>,
        credentials: Arc<dyn ImageCredentials>,
        access: Arc<PullAccess>,
        clock: Arc<dyn Clock>,
        limits: ImagePullLimits,
        metrics: Arc<ImageMetrics>,
    ) -> Self {
        let pulls = Pulls::new(port.clone(), clock.clone(), limits);
        Self { port, credentials, clock, access, pulls, metrics }
    }

    /// What the container is to be created from. What fails is reported as events.
    pub(crate) async fn ensure(
        &self,
        image_request: ImageRequest<'_>,
        memory: &mut PodMemory,
    ) -> Result<ReadyImage, ImageError> {
        let result = self.try_ensure(image_request, memory).await;
        if let Err(error) = &result {
            tell(image_request.events, error);
        }
        result
    }

    /// The container's image as admission handlers see it.
    pub(crate) async fn resolved(&self, container: &Container, image: &ReadyImage) -> ResolvedImage {
        let asked = container.image.as_deref().unwrap_or_default();
        let pulled_with = self.access.pulled_with(asked, &image.reference).await;
        ResolvedImage::new(container, &image.reference, image.info.as_ref(), pulled_with.as_ref())
    }

    async fn try_ensure(
        &self,
        image_request: ImageRequest<'_>,
        memory: &mut PodMemory,
    ) -> Result<ReadyImage, ImageError> {
        let asked = image_request.container.image.clone().unwrap_or_default();
        let policy = PullPolicy::of(image_request.container);
        let unknown = || self.metrics.needed(policy, None, None);
        let image = with_default_tag(&asked)
            .inspect_err(|_| unknown())
            .map_err(|cause| ImageError::InvalidName { image: asked.clone(), cause })?;
        self.access.recover(&*self.port).await;
        // Whether it is there makes no difference to a policy that pulls always.
        let present = match policy {
            PullPolicy::Always => None,
            PullPolicy::IfNotPresent | PullPolicy::Never => self
                .port
                .status(&image)
                .await
                .inspect_err(|_| unknown())
                .map_err(|cause| ImageError::Inspect { image: asked.clone(), cause })?,
        };
        let is_present = (policy != PullPolicy::Always).then_some(present.is_some());
        let presence = match &present {
            Some(info) => {
                let secrets = async || self.secrets(image_request.pod, &image).await;
                let check = self.access.check(&asked, &info.id, secrets).await;
                self.metrics.checked(check);
                let must_pull = (check != AccessCheck::Error).then(|| check.must_pull());
                self.metrics.needed(policy, is_present, must_pull);
                Presence::Present { image_ref: &info.id, must_verify: check.must_pull() }
            }
            None => {
                self.metrics.needed(policy, is_present, (policy != PullPolicy::Never).then_some(true));
                Presence::Absent
            }
        };
        let back_off = memory.pull_wait(image_request.uid, &image, self.clock.now());
        match next_step(policy, presence, back_off) {
            ImageStep::Use { image_ref } => {
                memory.failed_pulls.remove(&image);
                let message = format!(
                    "Container image {asked:?} already present on machine and can be accessed by the pod"
                );
                image_request.events.normal("Pulled", &message);
                Ok(ReadyImage { reference: image_ref, info: present })
            }
            ImageStep::Pull => self.pull(image_request, asked, image, memory).await,
            ImageStep::Refuse(ImageRefusal::NeverPull) => Err(ImageError::NeverPull { image: asked }),
            ImageStep::Refuse(ImageRefusal::BackOff(wait)) => {
                let last = memory.failed_pulls.get(&image).map(|failure| failure.message.clone());
                Err(ImageError::BackOff { image: asked, wait, last: last.unwrap_or_default() })
            }
        }
    }

    /// Credentials of the pod and the node for the image. What can't be had is reported, and the pull is tried without it.
    async fn credentials(&self, image_request: ImageRequest<'_>, image: &str) -> Vec<PullCredential> {
        self.credentials.for_image(image_request.pod, image).await.unwrap_or_else(|missing| {
            let message = format!(
                "Unable to retrieve some image pull secrets ({}); attempting to pull the image may not succeed.",
                missing.secrets.join(", ")
            );
            image_request.events.warning("FailedToRetrieveImagePullSecret", &message);
            missing.found
        })
    }

    /// The secrets that the pod shows for an image that is there.
    async fn secrets(&self, pod: &Pod, image: &str) -> Vec<PullSecret> {
        let found = self.credentials.for_image(pod, image).await.unwrap_or_else(|missing| missing.found);
        found.into_iter().filter_map(|credential| credential.secret).collect()
    }

    async fn pull(
        &self,
        image_request: ImageRequest<'_>,
        asked: String,
        image: String,
        memory: &mut PodMemory,
    ) -> Result<ReadyImage, ImageError> {
        let events = image_request.events;
        events.normal("Pulling", &format!("Pulling image {asked:?}"));
        let waited_from = self.clock.now();
        let begun = self.access.begin(&asked).await;
        begun.map_err(|cause| ImageError::Intent { image: asked.clone(), cause })?;
        let pull = async {
            let credentials = self.credentials(image_request, &image).await;
            let (sandbox, mut tried) = (image_request.sandbox.clone(), Vec::new());
            for credential in &credentials {
                if !tried.contains(&credential.auth) {
                    tried.push(credential.auth.clone());
                }
            }
            let request = PullRequest { image: image.clone(), credentials: tried, sandbox };
            (self.pulls.pull(request).await, credentials)
        };
        let (pulled, credentials) = tokio::select! {
            biased;
            () = image_request.cancel.cancelled() => {
                self.access.failed(&asked).await;
                return Err(ImageError::Cut { image });
            }
            pulled = pull => pulled,
        };
        match &pulled {
            Ok(pulled) => {
                let used = credentials.iter().find(|tried| Some(&tried.auth) == pulled.credentials.as_ref());
                let with = used.map_or(PulledWith::NodeAccess, PullCredential::proves);
                self.access.succeeded(&asked, &pulled.image_ref, with).await;
            }
            Err(_) => self.access.failed(&asked).await,
        }
        let now = self.clock.now();
        let key = BackoffKey::pull(image_request.uid, &image);
        match pulled {
            Ok(pulled) => {
                memory.failed_pulls.remove(&image);
                let took = pulled.done_at.duration_since(waited_from);
                let size = pulled.image.as_ref().map_or(0, |image| image.size_bytes);
                self.metrics.pulled(size, Duration::try_from(took).unwrap_or_default());
                memory.pulled.push((waited_from, pulled.done_at));
                events.normal("Pulled", &pulled_message(&asked, &pulled, waited_from));
                Ok(ReadyImage { reference: pulled.image_ref, info: pulled.image })
            }
            Err(cause) => {
                memory.pulls.record(key, now, now);
                let message = format!("{}: {}", reason_of(&cause), message_of(&asked, &cause));
                memory.failed_pulls.insert(image, PullFailure { at: now, message });
                Err(ImageError::Pull { image: asked, cause })
            }
        }
    }
}

impl PodMemory {
    /// Until when the last failed pull of this image forbids another one.
    fn pull_wait(&self, uid: &PodUid, image: &str, now: Timestamp) -> Option<Wait> {
        let failure = self.failed_pulls.get(image)?;
        self.pulls.wait(&BackoffKey::pull(uid, image), failure.at, now)
    }
}

fn tell(events: &PodEvents<'_>, error: &ImageError) {
    let message = one_line(error);
    match error {
        ImageError::InvalidName { .. } | ImageError::Inspect { .. } => {
            events.warning("InspectFailed", &message);
        }
        ImageError::NeverPull { .. } => {
            events.warning("ErrImageNeverPull", &message);
        }
        ImageError::Pull { .. } | ImageError::Intent { .. } => events.warning("Failed", &message),
        ImageError::BackOff { image, .. } => {
            events.normal("BackOff", &format!("Back-off pulling image {image:?}"));
        }
        ImageError::Cut { .. } => {}
    }
    if let Some(reason) = error.waiting_reason() {
        events.warning("Failed", &format!("Error: {reason}"));
    }
}

fn pulled_message(asked: &str, pulled: &Pulled, waited_from: Timestamp) -> String {
    // Another pod's pull may have begun earlier than this wait.
    let begun_at = pulled.begun_at.max(waited_from);
    let (took, waited) = (seconds(begun_at, pulled.done_at), seconds(waited_from, pulled.done_at));
    let size = pulled.image.as_ref().map_or(0, |image| image.size_bytes);
    format!(
        "Successfully pulled image {asked:?} in {took} ({waited} including waiting). Image size: {size} bytes."
    )
}

/// Rounded, so that repeats of an event read alike.
fn seconds(from: Timestamp, to: Timestamp) -> String {
    let took: SignedDuration = to.duration_since(from);
    format!("{:.1}s", took.as_secs_f64().max(0.0))
}
