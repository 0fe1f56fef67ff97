//! Whether an image is used as it is, pulled, or neither (upstream: `images/image_manager.go`).

use k8s_openapi::api::core::v1::Container;

use crate::container::backoff::Wait;
use crate::status::WaitingReason;

/// `imagePullPolicy`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PullPolicy {
    /// Pulled before each start; what the runtime has already costs it no download.
    Always,
    /// Pulled if the runtime hasn't got it.
    IfNotPresent,
    /// Never pulled.
    Never,
}

impl PullPolicy {
    /// A container's. Sources fill the default in, by the tag; what comes here without a policy that is known is left
    /// alone if it is there.
    pub fn of(container: &Container) -> Self {
        match container.image_pull_policy.as_deref() {
            Some("Always") => Self::Always,
            Some("Never") => Self::Never,
            Some(_) | None => Self::IfNotPresent,
        }
    }
}

/// What the runtime has of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence<'a> {
    Absent,
    Present {
        /// What containers are created from.
        image_ref: &'a str,
        /// Whether a pull has to show first that this pod may have it ([`super::records::must_attempt_pull`]).
        must_verify: bool,
    },
}

/// What to do about a container's image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageStep {
    /// It is there: create the container from this.
    Use {
        /// What containers are created from.
        image_ref: String,
    },
    Pull,
    Refuse(ImageRefusal),
}

/// Why a container has no image and none is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRefusal {
    /// It isn't there, or no one has shown that this pod may have it, and the policy forbids the pull. Which of the two isn't
    /// reported: a pod that may not have an image needn't know that it is there.
    NeverPull,
    /// The last pull failed, and its delay isn't over.
    BackOff(Wait),
}

impl ImageRefusal {
    /// Returns what the container's status says.
    pub fn waiting_reason(self) -> WaitingReason {
        match self {
            Self::NeverPull => WaitingReason::ErrImageNeverPull,
            Self::BackOff(_) => WaitingReason::ImagePullBackOff,
        }
    }
}

/// The next step for an image that the runtime was asked about. `back_off` is the delay of the last failed pull of this
/// image for this pod, if it isn't over.
pub fn next_step(policy: PullPolicy, presence: Presence<'_>, back_off: Option<Wait>) -> ImageStep {
    let pull = || back_off.map_or(ImageStep::Pull, |wait| ImageStep::Refuse(ImageRefusal::BackOff(wait)));
    match (policy, presence) {
        (
            PullPolicy::IfNotPresent | PullPolicy::Never,
            Presence::Present { image_ref, must_verify: false },
        ) => ImageStep::Use { image_ref: image_ref.to_owned() },
        (PullPolicy::Never, Presence::Absent | Presence::Present { must_verify: true, .. }) => {
            ImageStep::Refuse(ImageRefusal::NeverPull)
        }
        (PullPolicy::Always, Presence::Absent | Presence::Present { .. })
        | (PullPolicy::IfNotPresent, Presence::Absent | Presence::Present { must_verify: true, .. }) => {
            pull()
        }
    }
}

/// What kind of failure a pull met. The CRI has no codes for the special ones: runtimes begin their message with a word
/// (`cri-api/pkg/errors`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PullFailureKind {
    Other,
    /// `RegistryUnavailable`: the registry can't be reached.
    RegistryUnavailable,
    /// `SignatureValidationFailed`: the image isn't signed as the runtime's policy wants it.
    SignatureValidationFailed,
}

impl PullFailureKind {
    /// Classifies an error by how it begins (upstream: `evalCRIPullErr`).
    pub fn of(message: &str) -> Self {
        if message.starts_with(Self::RegistryUnavailable.reason()) {
            Self::RegistryUnavailable
        } else if message.starts_with(Self::SignatureValidationFailed.reason()) {
            Self::SignatureValidationFailed
        } else {
            Self::Other
        }
    }

    /// The container's waiting reason.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Other => "ErrImagePull",
            Self::RegistryUnavailable => "RegistryUnavailable",
            Self::SignatureValidationFailed => "SignatureValidationFailed",
        }
    }

    /// Returns what the container's status says next to the reason; `said` is the runtime's message (upstream:
    /// `evalCRIPullErr`).
    pub fn waiting_message(self, image: &str, said: &str) -> String {
        let why = match self {
            Self::Other => return said.to_owned(),
            Self::RegistryUnavailable => "the registry is unavailable",
            Self::SignatureValidationFailed => "the signature validation failed",
        };
        let rest = said.strip_prefix(self.reason()).unwrap_or(said);
        format!("image pull failed for {image} because {why}{rest}")
    }
}

#[cfg(test)]
mod tests;
