//! Pods: who they are, what they ask for, and the life of the worker that manages one.

pub mod allocation;
pub mod checkpoint;
pub mod claims;
pub mod clean_up;
pub mod deadline;
pub mod defaults;
pub mod edit;
pub mod fields;
pub(crate) mod identity;
pub mod lifecycle;
pub mod mirror;
pub mod quantity;
pub mod references;
pub mod resize;
pub mod resources;
pub mod startup;
pub mod static_pod;
pub mod user_namespace;
pub mod validation;
pub mod void_limits;
pub mod worker;
pub mod working;

pub use identity::{PodFullName, PodUid, SourceName, controller};
