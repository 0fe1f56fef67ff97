//! What a role has for each track of its contract's versions.

use std::fmt;

use semver::Version;
use wasmtime::component::{InstancePre, Linker};

use super::serves;

/// Serves components of one track of a contract's versions: `S` is what their stores hold, `P` a linked component.
pub(crate) struct Adapter<S: 'static, P: ?Sized + 'static> {
    /// The newest version of the track, as in the names of interfaces.
    pub(crate) version: &'static str,
    /// The interface with the types of its contract, without its version.
    pub(crate) types: &'static str,
    /// Adds what components of the track may import of the contract.
    pub(crate) add_to_linker: fn(&mut Linker<S>) -> wasmtime::Result<()>,
    /// Type-checks a linked component.
    pub(crate) link: fn(InstancePre<S>) -> wasmtime::Result<Box<P>>,
}

impl<S, P: ?Sized> fmt::Debug for Adapter<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Adapter").field(&self.version).finish()
    }
}

impl<S, P: ?Sized> PartialEq for Adapter<S, P> {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

impl<S, P: ?Sized> Eq for Adapter<S, P> {}

/// Returns the versions of adapters, in their order.
pub(crate) const fn versions<const N: usize, S, P: ?Sized>(adapters: &[Adapter<S, P>]) -> [&'static str; N] {
    let mut versions = [""; N];
    let mut index = 0;
    while index < N {
        versions[index] = adapters[index].version;
        index += 1;
    }
    versions
}

/// Returns the interfaces with the types of adapters' contracts, each with its version.
pub(crate) const fn types<const N: usize, S, P: ?Sized>(
    adapters: &[Adapter<S, P>],
) -> [(&'static str, &'static str); N] {
    let mut types = [("", ""); N];
    let mut index = 0;
    while index < N {
        types[index] = (adapters[index].types, adapters[index].version);
        index += 1;
    }
    types
}

/// Returns the newer one of two that serve a component, because it may bring an older and a newer version of a role.
pub(crate) fn newer<S, P: ?Sized>(
    found: Option<&'static Adapter<S, P>>,
    other: &'static Adapter<S, P>,
) -> &'static Adapter<S, P> {
    let version = |adapter: &Adapter<S, P>| Version::parse(adapter.version).ok();
    match found {
        Some(found) if version(found) > version(other) => found,
        Some(_) | None => other,
    }
}

/// Returns the adapter that serves components built against `version`: of the same or a newer version of its track.
pub(crate) fn serving<S, P: ?Sized>(
    adapters: &'static [Adapter<S, P>],
    version: &str,
) -> Option<&'static Adapter<S, P>> {
    adapters.iter().find(|adapter| serves(adapter.version, version))
}
