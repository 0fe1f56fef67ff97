//! The contracts, one adapter per role and version. The host has one vocabulary (`witlet_core`); an adapter
//! translates it for the components of its version.

pub(crate) mod admission;
pub(crate) mod detect;
