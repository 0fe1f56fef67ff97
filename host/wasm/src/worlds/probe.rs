//! The role of a probe type, whatever version of the contract it was built against.

pub(crate) mod answer;
mod exec;
pub(crate) mod facts;
pub(crate) mod handles;
#[cfg(test)]
#[path = "../../../../tests/guests/next-version/adapters/probe/adapter.rs"]
mod next_version;
mod v0_1_0;
mod v0_2_0;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::Linker;
use witlet_core::probe::ProbeOutcome;

use super::remarks::Warnings;
use super::{Reply, adapter};
use crate::guest::async_guest::AsyncState;

/// The interface whose export makes a component a probe type, without its version.
pub(crate) const PROBER: &str = "witlet:probe/prober";
/// The versions of the contract that this host serves.
pub(crate) const VERSIONS: &[&str] = &adapter::versions::<{ ADAPTERS.len() }, _, _>(ADAPTERS);
/// The interfaces with the types of these versions, each with its version.
pub(crate) const TYPES: &[(&str, &str)] = &adapter::types::<{ ADAPTERS.len() }, _, _>(ADAPTERS);

/// One for each track.
const ADAPTERS: &[Adapter] = &[
    v0_1_0::ADAPTER,
    v0_2_0::ADAPTER,
    #[cfg(test)]
    next_version::ADAPTER,
];

/// Serves probe types of one track.
pub(crate) type Adapter = adapter::Adapter<AsyncState, dyn ProberPre>;

/// A probe type that is linked and type-checked.
#[async_trait]
pub(crate) trait ProberPre: Send + Sync {
    async fn instantiate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Box<dyn Prober>>;
}

/// A probe type that is instantiated.
#[async_trait]
pub(crate) trait Prober: Send + Sync {
    /// Asks whether it accepts the configuration that the store holds, and what it warns of.
    async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<Warnings>>;

    /// Asks whether it accepts these parameters of a probe, and what it warns of.
    async fn check_parameters(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<Warnings>>;

    /// Probes what the store holds. What it says next to the outcome is noted there.
    async fn probe(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<ProbeOutcome>>;
}

/// Adds everything that probe types of any version may import.
pub(crate) fn add_to_linker(linker: &mut Linker<AsyncState>) -> wasmtime::Result<()> {
    ADAPTERS.iter().try_for_each(|adapter| (adapter.add_to_linker)(linker))
}

/// Returns the adapter that serves probe types built against `version`.
pub(crate) fn serving(version: &str) -> Option<&'static Adapter> {
    adapter::serving(ADAPTERS, version)
}
