//! What the soak asks of a node under churn: the pods that its manifests describe, and the count of what is lost of them.
//!
//! It is pure, so that `make test` shows that the count finds every loss; `tests/soak` takes the snapshots.
#![forbid(unsafe_code)]

mod checks;
mod pods;
mod random;
mod shape;

pub use checks::{Loss, NodeSnapshot, count, doubles, full_name, ids};
pub use pods::{Character, ExpectedPod, Ids, Kind, Touch};
pub use random::Random;
pub use shape::Shape;

/// Name of the node, which ends the names of its pods.
pub const NODE_NAME: &str = "node1";
