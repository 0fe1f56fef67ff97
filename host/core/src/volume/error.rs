//! Why a pod's volumes can't be had as its spec has them.

use thiserror::Error;

use crate::pod::fields::FieldError;

/// A volume, or a mount of one, that can't be. Upstream's cases, close to its words.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum VolumeSpecError {
    /// A kind of volume that this release doesn't have.
    #[error("volume {volume}: {kind} volumes are not supported by this release")]
    Unsupported {
        volume: String,
        /// Field of the API, such as `secret`.
        kind: &'static str,
    },
    /// `emptyDir.medium` is no word of the API.
    #[error("volume {volume}: unknown storage medium {medium:?}")]
    Medium { volume: String, medium: String },
    /// `emptyDir.sizeLimit` is no quantity.
    #[error("volume {volume}: sizeLimit {quantity:?} is not a quantity")]
    Quantity { volume: String, quantity: String },
    /// Containers ask for several sizes of huge pages, and the volume doesn't say which.
    #[error(
        "volume {volume}: medium HugePages can't be used if containers request several sizes of huge pages"
    )]
    SeveralPageSizes { volume: String },
    /// No container asks for huge pages of this kind.
    #[error(
        "volume {volume}: medium {medium}: huge pages requested, but there is no resource request for huge pages"
    )]
    NoPageSize {
        volume: String,
        /// The medium as the spec has it.
        medium: String,
    },
    /// A path on the host that climbs.
    #[error("volume {volume}: invalid HostPath `{path}`: must not contain '..'")]
    HostPath { volume: String, path: String },
    /// `hostPath.type` is no word of the API.
    #[error("volume {volume}: {kind:?} is an invalid volume type")]
    HostPathType { volume: String, kind: String },
    /// The path of a file in a volume that can't be.
    #[error("volume {volume}: invalid path {path:?}: {problem}")]
    FilePath {
        volume: String,
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// What a file refers to can't be had.
    #[error("volume {volume}: value of file {path:?}")]
    Value {
        volume: String,
        path: String,
        #[source]
        cause: FieldError,
    },
    /// A config map or secret doesn't exist, and isn't optional.
    #[error("{kind} {name:?} not found")]
    NoObject {
        /// `configmap` or `secret`.
        kind: &'static str,
        name: String,
    },
    /// A config map or secret doesn't have a key, which isn't optional.
    #[error("{kind} key: {key}")]
    NoKey {
        /// `configmap references non-existent config` or `references non-existent secret`.
        kind: &'static str,
        key: String,
    },
    /// The API server doesn't let this node have it.
    #[error("{message}")]
    Refused {
        /// What, and the server's words.
        message: String,
    },
    /// No one can be asked for it.
    #[error("{message}")]
    Unavailable {
        /// What, and why not.
        message: String,
    },
    /// Several sources of a projected volume, as upstream puts such lists.
    #[error("[{}]", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Several {
        /// What is wrong with each.
        errors: Vec<VolumeSpecError>,
    },
    /// A user that `runAsUser` names isn't a user's number.
    #[error("runAsUser {uid} is not a user id")]
    User { uid: i64 },
    /// `fsGroup` isn't a group's number.
    #[error("fsGroup {gid} is not a group id")]
    Group { gid: i64 },
    /// A mount of a volume that the pod doesn't have.
    #[error("cannot find volume {volume:?} to mount into container {container:?}")]
    NoVolume { volume: String, container: String },
    /// `subPathExpr` names variables that aren't there or are empty.
    #[error("missing value for {variables}")]
    NoVariable {
        /// The variables, with commas between.
        variables: String,
    },
    /// A sub-path that is no path below the volume.
    #[error("error SubPath `{path}` must not be an absolute path")]
    AbsoluteSubPath { path: String },
    /// A sub-path that can't be.
    #[error("unable to provision SubPath `{path}`: {problem}")]
    SubPath {
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// `mountPropagation` is no word of the API.
    #[error("invalid MountPropagation mode: {mode:?}")]
    Propagation { mode: String },
    /// Recursive read-only where it can't be.
    #[error(
        "failed to resolve recursive read-only mode: volume {volume:?} requested recursive read-only mode, but it is {problem}"
    )]
    RecursiveReadOnly {
        volume: String,
        /// What stands against it.
        problem: String,
    },
    /// `recursiveReadOnly` is no word of the API.
    #[error("failed to resolve recursive read-only mode: unknown recursive read-only mode {mode:?}")]
    RecursiveReadOnlyMode { mode: String },
}

impl VolumeSpecError {
    /// Nothing is wrong but that no one can be asked.
    pub(super) fn is_unavailable(&self) -> bool {
        if let Self::Several { errors } = self {
            return errors.iter().all(Self::is_unavailable);
        }
        matches!(self, Self::Unavailable { .. })
    }

    /// It is about what the volume refers to, which may change, and not about the spec.
    pub fn is_about_content(&self) -> bool {
        matches!(
            self,
            Self::NoObject { .. }
                | Self::NoKey { .. }
                | Self::Refused { .. }
                | Self::Unavailable { .. }
                | Self::Several { .. }
        )
    }
}
