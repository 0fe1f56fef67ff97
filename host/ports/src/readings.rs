//! The port to what the machine has and uses now, for the node's conditions and images.

use async_trait::async_trait;

pub use witlet_core::node::readings::{Left, NodeImage, NodeReadings};

/// Looks at the machine.
#[async_trait]
pub trait NodeGauge: Send + Sync {
    /// Reads all figures now. Takes at most a few seconds.
    async fn read(&self) -> NodeReadings;

    /// The images that the runtime has; none if it can't be asked.
    async fn images(&self) -> Option<Vec<NodeImage>>;
}
