//! The role of an admission handler, whatever version of the contract it was built against.

pub(crate) mod facts;
mod handles;
mod v0_1_0;
#[cfg(feature = "next-version")]
mod v0_2_1;

use wasmtime::Store;
use wasmtime::component::{Component, Linker};
use witlet_core::admission::Verdict;

pub(crate) use super::Reply;
use super::{host, serves};
use crate::guest::GuestState;

/// The interface whose export makes a component an admission handler, without its version.
pub(crate) const HANDLER: &str = "witlet:admission/handler";
/// The versions of it that this host serves.
pub(crate) const VERSIONS: &[&str] = &[
    "0.1.0",
    #[cfg(feature = "next-version")]
    "0.2.1",
];

/// Longest reason that a handler may give: the longest CamelCase words of Kubernetes have a third of it.
pub(crate) const REASON_BYTES_MAX: usize = 128;
/// Longest message that a handler may give; upstream cuts pod status messages at about as much.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// How many shortages a handler may name.
pub(crate) const SHORTAGES_MAX: usize = 64;

/// A handler that is linked and type-checked, of any version.
pub(crate) enum HandlerPre {
    V0_1_0(v0_1_0::Pre),
    #[cfg(feature = "next-version")]
    V0_2_1(v0_2_1::Pre),
}

/// A handler that is instantiated, of any version.
pub(crate) enum Handler {
    V0_1_0(v0_1_0::Instance),
    #[cfg(feature = "next-version")]
    V0_2_1(v0_2_1::Instance),
}

/// Everything that handlers of any version may import from this host.
pub(crate) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    host::v0_1_0::add_to_linker(linker, GuestState::host)?;
    #[cfg(feature = "next-version")]
    v0_2_1::add_to_linker(linker)?;
    v0_1_0::add_to_linker(linker)
}

impl HandlerPre {
    /// Links a component that [`super::detect`] found to be a handler of this version.
    pub(crate) fn link(
        linker: &Linker<GuestState>,
        component: &Component,
        version: Version,
    ) -> wasmtime::Result<Self> {
        let pre = linker.instantiate_pre(component)?;
        match version {
            Version::V0_1_0 => Ok(Self::V0_1_0(v0_1_0::Pre::new(pre)?)),
            #[cfg(feature = "next-version")]
            Version::V0_2_1 => Ok(Self::V0_2_1(v0_2_1::Pre::new(pre)?)),
        }
    }

    pub(crate) fn instantiate(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Handler> {
        match self {
            Self::V0_1_0(pre) => Ok(Handler::V0_1_0(pre.instantiate(store)?)),
            #[cfg(feature = "next-version")]
            Self::V0_2_1(pre) => Ok(Handler::V0_2_1(pre.instantiate(store)?)),
        }
    }
}

impl Handler {
    pub(crate) fn validate(
        &self,
        store: &mut Store<GuestState>,
        config: &str,
    ) -> wasmtime::Result<Reply<()>> {
        match self {
            Self::V0_1_0(instance) => v0_1_0::validate(instance, store, config),
            #[cfg(feature = "next-version")]
            Self::V0_2_1(instance) => v0_2_1::validate(instance, store, config),
        }
    }

    /// Asks about the request that the store holds.
    pub(crate) fn admit(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Reply<Verdict>> {
        match self {
            Self::V0_1_0(instance) => v0_1_0::admit(instance, store),
            #[cfg(feature = "next-version")]
            Self::V0_2_1(instance) => v0_2_1::admit(instance, store),
        }
    }
}

/// A version of the contract that this host serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V0_1_0,
    #[cfg(feature = "next-version")]
    V0_2_1,
}

impl Version {
    /// One of each track.
    const ALL: &[Self] = &[
        Self::V0_1_0,
        #[cfg(feature = "next-version")]
        Self::V0_2_1,
    ];

    /// The version that serves components built against `version`: the same or an older one of its track.
    pub(crate) fn serving(version: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|served| serves(served.as_str(), version))
    }

    /// As in the names of interfaces.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
            #[cfg(feature = "next-version")]
            Self::V0_2_1 => "0.2.1",
        }
    }
}
