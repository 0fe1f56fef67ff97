//! The role of admission: what stands at the crate's root.

pub(crate) mod container;
pub(crate) mod export;
pub(crate) mod handler;
pub(crate) mod image;
pub(crate) mod node;
pub(crate) mod pod;
pub(crate) mod request;
pub(crate) mod resolved;
pub(crate) mod verdict;

/// Where getters lead: to the host in a component, to plain data everywhere else.
mod backend {
    #[cfg(target_family = "wasm")]
    pub(crate) use crate::bindings::witlet::admission::admission_types::{
        Condition, Container, ContainerPort, HostPort, Image, Mount, Node, Owner, Pod, Request,
        ResolvedImage, Setup, Taint, Volume,
    };
    #[cfg(not(target_family = "wasm"))]
    pub(crate) use crate::facts::backend::{
        Condition, Container, ContainerPort, HostPort, Image, Mount, Node, Owner, Pod, Request,
        ResolvedImage, Setup, Taint, Volume,
    };
}
