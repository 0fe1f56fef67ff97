//! The role of an admission handler, whatever version of the contract it was built against.

pub(crate) mod facts;
mod v0_1_0;

use wasmtime::Store;
use wasmtime::component::{Component, Linker};
use witlet_core::admission::Verdict;

pub(crate) use super::Reply;
use super::host;
use crate::guest::GuestState;

/// The interface whose export makes a component an admission handler, without its version.
pub(crate) const HANDLER: &str = "witlet:admission/handler";
/// The versions of it that this host serves.
pub(crate) const VERSIONS: &[&str] = &["0.1.0"];

/// Longest reason that a handler may give: the longest CamelCase words of Kubernetes have a third of it.
pub(crate) const REASON_BYTES_MAX: usize = 128;
/// Longest message that a handler may give; upstream cuts pod status messages at about as much.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// How many shortages a handler may name.
pub(crate) const SHORTAGES_MAX: usize = 64;

/// A handler that is linked and type-checked, of any version.
pub(crate) enum HandlerPre {
    V0_1_0(v0_1_0::Pre),
}

/// A handler that is instantiated, of any version.
pub(crate) enum Handler {
    V0_1_0(v0_1_0::Instance),
}

/// Everything that handlers of any version may import from this host.
pub(crate) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    host::v0_1_0::add_to_linker(linker, GuestState::host)?;
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
        }
    }

    pub(crate) fn instantiate(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Handler> {
        match self {
            Self::V0_1_0(pre) => Ok(Handler::V0_1_0(pre.instantiate(store)?)),
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
        }
    }

    /// Asks about the request that the store holds.
    pub(crate) fn admit(&self, store: &mut Store<GuestState>) -> wasmtime::Result<Reply<Verdict>> {
        match self {
            Self::V0_1_0(instance) => v0_1_0::admit(instance, store),
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
        match version {
            "0.1.0" => Some(Self::V0_1_0),
            _ => None,
        }
    }

    /// As in the names of interfaces.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
        }
    }
}
