//! The conditions of a running pod whose edit admission hasn't admitted: `witlet.dev/ImageUpdatePending` and
//! `witlet.dev/EphemeralContainersPending`.

use k8s_openapi::api::core::v1::PodCondition;

/// Condition: containers go on with the images that they had.
pub(super) const IMAGES: &str = "witlet.dev/ImageUpdatePending";
/// Condition: ephemeral containers aren't started.
pub(super) const EPHEMERAL_CONTAINERS: &str = "witlet.dev/EphemeralContainersPending";

/// What of a running pod an edit changes, as far as admission is asked about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EditKind {
    /// Images of its containers.
    Images,
    EphemeralContainers,
}

impl EditKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Images, Self::EphemeralContainers];

    /// The type of the condition that says that such an edit waits.
    pub fn condition_type(self) -> &'static str {
        match self {
            Self::Images => IMAGES,
            Self::EphemeralContainers => EPHEMERAL_CONTAINERS,
        }
    }
}

/// An edit that wasn't admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEdit {
    pub kind: EditKind,
    /// Whether it may be admitted as it is.
    pub reason: PendingEditReason,
    /// The handler's reason and message.
    pub message: String,
    /// The `metadata.generation` of the pod that was asked about.
    pub generation: Option<i64>,
}

/// Why an edit wasn't admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PendingEditReason {
    /// It is asked about again.
    Deferred,
    /// It is asked about again only if it, or the handlers, change.
    Rejected,
}

impl PendingEditReason {
    /// The condition's reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deferred => "Deferred",
            Self::Rejected => "Rejected",
        }
    }
}

impl PendingEdit {
    /// The condition without its time.
    pub fn condition(&self) -> PodCondition {
        PodCondition {
            type_: self.kind.condition_type().to_owned(),
            status: "True".to_owned(),
            reason: Some(self.reason.as_str().to_owned()),
            message: Some(self.message.clone()),
            observed_generation: self.generation,
            ..PodCondition::default()
        }
    }
}
