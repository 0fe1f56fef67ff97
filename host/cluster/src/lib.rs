//! The edge to a Kubernetes API server: pods from it, statuses, events and the node to it, and what pods refer to in it.
#![forbid(unsafe_code)]

mod access;
mod bootstrap;
mod client;
mod events;
pub mod kubeconfig;
mod lease;
mod mirror;
mod node;
mod objects;
mod pods;
mod rotation;
mod saved;
mod services;
mod status;
mod timer;
mod tokens;
pub mod watch;

pub use access::Access;
pub use bootstrap::CsrError;
pub use client::{
    ConnectError, ConnectOptions, Connection, CredentialsError, IdentityError, PluginError, RequestError,
    TlsError, TransportError,
};
pub use events::{ApiEvents, EventLimit};
pub use kubeconfig::KubeconfigError;
pub use lease::Lease;
pub use node::{ClusterNode, NodeManager, NodeOptions, NodePorts};
pub use objects::Objects;
pub use pods::{API_SOURCE, ApiPods, KnownPods, MirrorPods, Mirrors};
pub use rotation::store::StoreError;
pub use saved::{SAVED_PODS, SavedPods, UNREADABLE_PODS};
pub use status::StatusManager;
