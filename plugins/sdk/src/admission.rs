//! The role of admission: whether a pod may run on the node.

pub mod bindings;
mod export;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod facts;
mod handler;
mod node;
mod pod;
mod request;
mod verdict;

pub use bindings::witlet::admission::types::{
    Condition, Container, ContainerKind, Datetime, Deferral, HostPort, Operation, PodRef, QosClass, Quantity,
    Rejection, Shortage, Taint, Verdict,
};
pub use handler::AdmissionHandler;
pub use node::Node;
pub use pod::Pod;
pub(crate) use pod::decode;
pub use request::Request;
pub use verdict::amount_of;

/// Where getters lead: to the host in a component, to plain data everywhere else.
mod backend {
    #[cfg(target_family = "wasm")]
    pub(crate) use super::bindings::witlet::admission::types::{Node, Pod, Request};
    #[cfg(not(target_family = "wasm"))]
    pub(crate) use super::facts::{NodeFacts as Node, PodFacts as Pod, RequestFacts as Request};
}
