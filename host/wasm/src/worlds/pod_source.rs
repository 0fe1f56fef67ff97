//! The role of a pod source, whatever version of the contract it was built against.

mod v0_1_0;

use wasmtime::Store;
use wasmtime::component::InstancePre;
use witlet_core::sources::plugin::{PodStatusChange, PollResponse, SourceFault};

use super::remarks::Warnings;
use super::{Reply, serves};
use crate::guest::async_guest::AsyncState;

/// The interface whose export makes a component a pod source, without its version.
pub(crate) const SOURCE: &str = "witlet:pod-source/source";
/// The interface with the types of its contract, without its version.
pub(crate) const TYPES: &str = "witlet:pod-source/types";
/// The interface whose export says that the source wants to receive the statuses of its pods.
pub(crate) const FEEDBACK: &str = "witlet:pod-source/feedback";
/// The versions of both that this host serves.
pub(crate) const VERSIONS: &[&str] = &["0.1.0"];

/// Longest reason that a source may give.
pub(crate) const REASON_BYTES_MAX: usize = 128;
/// Longest message that a source may give.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// Longest cursor.
pub(crate) const CURSOR_BYTES_MAX: usize = 4 << 10;
/// How many manifests a source may give at once. What exceeds its allowance is another matter; this bounds the host.
pub(crate) const MANIFESTS_MAX: usize = 16 << 10;

/// A pod source that is linked and type-checked, of any version.
pub(crate) enum SourcePre {
    V0_1_0(v0_1_0::Pre),
}

/// A pod source that is instantiated, of any version.
pub(crate) enum Source {
    V0_1_0(v0_1_0::Instance),
}

impl SourcePre {
    /// Of a linked component that [`super::detect`] found to be a pod source of this version.
    pub(crate) fn new(
        pre: &InstancePre<AsyncState>,
        version: Version,
        feedback: bool,
    ) -> wasmtime::Result<Self> {
        match version {
            Version::V0_1_0 => Ok(Self::V0_1_0(v0_1_0::Pre::new(pre, feedback)?)),
        }
    }

    /// Whether it wants to receive the statuses of its pods.
    pub(crate) fn has_feedback(&self) -> bool {
        match self {
            Self::V0_1_0(pre) => pre.has_feedback(),
        }
    }

    pub(crate) async fn instantiate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Source> {
        match self {
            Self::V0_1_0(pre) => Ok(Source::V0_1_0(pre.instantiate(store).await?)),
        }
    }
}

impl Source {
    /// Whether it is content with the configuration that the store holds.
    pub(crate) async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<Warnings>> {
        match self {
            Self::V0_1_0(instance) => instance.validate(store).await,
        }
    }

    /// What it has now, or why it can't tell.
    pub(crate) async fn poll(
        &self,
        store: &mut Store<AsyncState>,
        cursor: Option<&str>,
    ) -> wasmtime::Result<Reply<Result<PollResponse, SourceFault>>> {
        match self {
            Self::V0_1_0(instance) => instance.poll(store, cursor).await,
        }
    }

    /// Passes statuses of pods to it. One without the export takes them as passed.
    pub(crate) async fn statuses(
        &self,
        store: &mut Store<AsyncState>,
        changed: Vec<PodStatusChange>,
    ) -> wasmtime::Result<Reply<()>> {
        match self {
            Self::V0_1_0(instance) => instance.statuses(store, changed).await,
        }
    }
}

/// A version of the contract that this host serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V0_1_0,
}

impl Version {
    /// The version that serves components built against `version`: the same or an older one of its track.
    pub(crate) fn serving(version: &str) -> Option<Self> {
        [Self::V0_1_0].into_iter().find(|served| serves(served.as_str(), version))
    }

    /// As in the names of interfaces.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
        }
    }
}
