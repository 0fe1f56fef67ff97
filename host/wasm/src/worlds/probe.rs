//! The role of a probe type, whatever version of the contract it was built against.

pub(crate) mod facts;
#[cfg(test)]
#[path = "../../../../tests/guests/next-version/adapters/probe/adapter.rs"]
mod next_version;
mod v0_1_0;

use async_trait::async_trait;
use wasmtime::Store;
use wasmtime::component::Linker;
use witlet_core::probe::ProbeOutcome;

use super::{Reply, adapter};
use crate::guest::async_guest::AsyncState;

/// The interface whose export makes a component a probe type, without its version.
pub(crate) const PROBER: &str = "witlet:probe/prober";
/// The interface with the types of its contract, without its version.
pub(crate) const TYPES: &str = "witlet:probe/types";
/// The versions of the contract that this host serves.
pub(crate) const VERSIONS: &[&str] = &adapter::versions::<{ ADAPTERS.len() }, _, _>(ADAPTERS);

/// One for each track.
const ADAPTERS: &[Adapter] = &[
    v0_1_0::ADAPTER,
    #[cfg(test)]
    next_version::ADAPTER,
];

/// How much of an outcome's text and of a command's output is kept (upstream: `maxReadLength`, `maxRespBodyLength`).
pub(crate) const TEXT_BYTES_MAX: usize = 10 << 10;

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
    /// Asks whether it accepts the configuration that the store holds.
    async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<()>>;

    /// Asks whether it accepts these parameters of a probe.
    async fn check_parameters(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<()>>;

    /// Probes what the store holds.
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
