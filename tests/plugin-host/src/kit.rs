//! The conformance kit: it finds planted faults, and nothing in what ships.

pub(crate) mod faults;
pub(crate) mod manifests;
mod planted;
mod recorded;
pub(crate) mod shipped;
