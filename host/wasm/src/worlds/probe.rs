//! The role of a probe type, whatever version of the contract it was built against.

pub(crate) mod facts;
mod v0_1_0;
#[cfg(test)]
mod v0_2_0;

use wasmtime::Store;
use wasmtime::component::{InstancePre, Linker};
use witlet_core::probe::ProbeOutcome;

use super::{Reply, serves};
use crate::guest::async_guest::AsyncState;

/// The interface whose export makes a component a probe type, without its version.
pub(crate) const PROBER: &str = "witlet:probe/prober";
/// The versions of it that this host serves.
pub(crate) const VERSIONS: &[&str] = &["0.1.0"];

/// How much of an outcome's text and of a command's output is kept (upstream: `maxReadLength`, `maxRespBodyLength`).
pub(crate) const TEXT_BYTES_MAX: usize = 10 << 10;

/// A probe type that is linked and type-checked, of any version.
pub(crate) enum ProberPre {
    V0_1_0(v0_1_0::Pre),
    #[cfg(test)]
    V0_2_0(v0_2_0::Pre),
}

/// A probe type that is instantiated, of any version.
pub(crate) enum Prober {
    V0_1_0(v0_1_0::Instance),
    #[cfg(test)]
    V0_2_0(v0_2_0::Instance),
}

/// Everything that probe types of any version may import.
pub(crate) fn add_to_linker(linker: &mut Linker<AsyncState>) -> wasmtime::Result<()> {
    #[cfg(test)]
    v0_2_0::add_to_linker(linker)?;
    v0_1_0::add_to_linker(linker)
}

impl ProberPre {
    /// Of a linked component that [`super::detect`] found to be a probe type of this version.
    pub(crate) fn new(pre: InstancePre<AsyncState>, version: Version) -> wasmtime::Result<Self> {
        match version {
            Version::V0_1_0 => Ok(Self::V0_1_0(v0_1_0::Pre::new(pre)?)),
            #[cfg(test)]
            Version::V0_2_0 => Ok(Self::V0_2_0(v0_2_0::Pre::new(pre)?)),
        }
    }

    pub(crate) async fn instantiate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Prober> {
        match self {
            Self::V0_1_0(pre) => Ok(Prober::V0_1_0(pre.instantiate(store).await?)),
            #[cfg(test)]
            Self::V0_2_0(pre) => Ok(Prober::V0_2_0(pre.instantiate_async(store).await?)),
        }
    }
}

impl Prober {
    /// Whether it is content with the configuration that the store holds.
    pub(crate) async fn validate(&self, store: &mut Store<AsyncState>) -> wasmtime::Result<Reply<()>> {
        match self {
            Self::V0_1_0(instance) => v0_1_0::validate(instance, store).await,
            #[cfg(test)]
            Self::V0_2_0(instance) => v0_2_0::validate(instance, store).await,
        }
    }

    pub(crate) async fn check_parameters(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<()>> {
        match self {
            Self::V0_1_0(instance) => v0_1_0::check_parameters(instance, store, parameters).await,
            #[cfg(test)]
            Self::V0_2_0(instance) => v0_2_0::check_parameters(instance, store, parameters).await,
        }
    }

    /// Probes what the store holds.
    pub(crate) async fn probe(
        &self,
        store: &mut Store<AsyncState>,
        parameters: &str,
    ) -> wasmtime::Result<Reply<ProbeOutcome>> {
        match self {
            Self::V0_1_0(instance) => v0_1_0::probe(instance, store, parameters).await,
            #[cfg(test)]
            Self::V0_2_0(instance) => v0_2_0::probe(instance, store, parameters).await,
        }
    }
}

/// A version of the contract that this host serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V0_1_0,
    #[cfg(test)]
    V0_2_0,
}

impl Version {
    /// One of each track.
    const ALL: &[Self] = &[
        Self::V0_1_0,
        #[cfg(test)]
        Self::V0_2_0,
    ];

    /// The version that serves components built against `version`: the same or an older one of its track.
    pub(crate) fn serving(version: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|served| serves(served.as_str(), version))
    }

    /// As in the names of interfaces.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
            #[cfg(test)]
            Self::V0_2_0 => "0.2.0",
        }
    }
}
