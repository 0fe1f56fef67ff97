//! The role of admission: whether a pod may run on the node. What authors need of it stands at the crate's root, too; the
//! contract is `witlet:admission@0.1.0`.
//!
//! ```
//! use serde_json::json;
//! use witlet_plugin_sdk::admission::{AdmissionHandler, Request, Shortage, Verdict, amount_of};
//! use witlet_plugin_sdk::facts::{NodeFacts, PodFacts, RequestFacts};
//! use witlet_plugin_sdk::{Error, Quantity};
//!
//! /// The node has the capacity for the pod's processors.
//! struct Processors;
//!
//! impl AdmissionHandler for Processors {
//!     type Config = ();
//!
//!     fn admit(request: &Request<'_>, (): &()) -> Result<Verdict, Error> {
//!         let node = request.node();
//!         let requested = amount_of(&request.pod().requests(), "cpu");
//!         let (used, capacity) = (amount_of(&node.requested(), "cpu"), amount_of(&node.allocatable(), "cpu"));
//!         let fits = used.saturating_add(requested) <= capacity;
//!         let shortage = Shortage { resource: "cpu".to_owned(), requested, used, capacity };
//!         Ok(Verdict::shortages(if fits { Vec::new() } else { vec![shortage] }))
//!     }
//! }
//!
//! let cpu = |amount| vec![Quantity { resource: "cpu".to_owned(), amount }];
//! let facts = RequestFacts {
//!     pod: PodFacts { requests: cpu(1_500), ..PodFacts::of(&json!({"metadata": {"name": "web"}})) },
//!     node: NodeFacts { allocatable: cpu(4_000), requested: cpu(3_000), ..NodeFacts::default() },
//!     ..RequestFacts::default()
//! };
//! assert!(matches!(Processors::admit(&facts.request(), &())?, Verdict::Shortage(_)));
//! # Ok::<(), Error>(())
//! ```

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
