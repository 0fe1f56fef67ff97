//! The role of a pod source, whatever version of the contract it was built against.

pub(crate) mod answer;
mod handles;
mod v0_1_0;
mod v0_2_0;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};
use witlet_core::sources::plugin::{PodNews, PollResponse, SourceFault};

use super::remarks::Warnings;
use super::{Reply, adapter};
use crate::guest::async_guest::AsyncState;

/// The interface whose export makes a component a pod source, without its version.
pub(crate) const SOURCE: &str = "witlet:pod-source/source";
/// The interface whose export says that the source wants to receive the statuses of its pods.
pub(crate) const FEEDBACK: &str = "witlet:pod-source/feedback";
/// The versions of both that this host serves.
pub(crate) const VERSIONS: &[&str] = &adapter::versions::<{ ADAPTERS.len() }, _, _>(ADAPTERS);
/// The interfaces with the types of these versions, each with its version.
pub(crate) const TYPES: &[(&str, &str)] = &adapter::types::<{ ADAPTERS.len() }, _, _>(ADAPTERS);

/// One for each track.
const ADAPTERS: &[Adapter] = &[v0_1_0::ADAPTER, v0_2_0::ADAPTER];

/// Longest reason that a source may give.
pub(crate) const REASON_BYTES_MAX: usize = 128;
/// Longest message that a source may give.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// Serves pod sources of one track.
pub(crate) type Adapter = adapter::Adapter<AsyncState, dyn SourcePre>;

/// A pod source that is linked and type-checked.
#[async_trait]
pub(crate) trait SourcePre: Send + Sync {
    /// Returns what it wants to receive of its pods.
    fn feedback(&self) -> Feedback;

    async fn instantiate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Box<dyn Source>>;
}

/// What a source receives of its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feedback {
    None,
    /// Statuses. What it didn't take comes with the next change.
    WithNextChange,
    /// Statuses, and what is left out of its sets. What it didn't take comes again.
    AtLeastOnce,
}

/// A pod source that is instantiated.
#[async_trait]
pub(crate) trait Source: Send + Sync {
    /// Asks whether it accepts the configuration that the store holds, and what it warns of.
    async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<Warnings>>;

    /// Asks what it has now, or why it can't tell.
    async fn poll(
        &self,
        store: &mut Store<AsyncState>,
        cursor: Option<&str>,
    ) -> wasmtime::Result<Reply<Result<PollResponse, SourceFault>>>;

    /// Passes news of its pods to it. One without the export takes them as passed.
    async fn notify(
        &self,
        store: &mut Store<AsyncState>,
        news: Arc<[PodNews]>,
    ) -> wasmtime::Result<Reply<Result<(), NotTaken>>>;
}

/// Why a source didn't take news of its pods, in its own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotTaken {
    pub(crate) words: String,
    /// When another try makes sense; none leaves it to the host.
    pub(crate) retry_after: Option<Duration>,
}

/// Adds everything that pod sources of any version may import.
pub(crate) fn add_to_linker(linker: &mut Linker<AsyncState>) -> wasmtime::Result<()> {
    ADAPTERS.iter().try_for_each(|adapter| (adapter.add_to_linker)(linker))
}

/// Returns the adapter that serves pod sources built against `version`.
pub(crate) fn serving(version: &str) -> Option<&'static Adapter> {
    adapter::serving(ADAPTERS, version)
}

/// Whether a component exports the feedback of this version.
fn has_feedback(component: &InstancePre<AsyncState>, version: &str) -> bool {
    component.component().get_export_index(None, format!("{FEEDBACK}@{version}")).is_some()
}
