//! The ports to what the machine has and uses now, for the node's conditions, evictions and images.

use async_trait::async_trait;
use thiserror::Error;
use witlet_core::eviction::MemoryWatch;

pub use witlet_core::node::readings::{Left, NodeImage, NodeReadings};

/// Checks the machine.
#[async_trait]
pub trait NodeReader: Send + Sync {
    /// Reads all figures now. Takes at most a few seconds.
    async fn read(&self) -> NodeReadings;

    /// The images that the runtime has; none if it can't be asked.
    async fn images(&self) -> Option<Vec<NodeImage>>;
}

/// The kernel doesn't report shortages of memory here.
#[derive(Debug, Error)]
#[error("{action} {}", path.display())]
pub struct MemoryNotifierError {
    /// What was tried, as a verb.
    pub action: &'static str,
    pub path: std::path::PathBuf,
    #[source]
    pub cause: std::io::Error,
}

/// Has the kernel report that memory runs short, so that it is noticed before the next check of the node. A report is a reason to
/// check, no more: it may come without a shortage, and may not come.
#[async_trait]
pub trait MemoryNotifier: Send + Sync {
    /// Watches for these shortages from now on, in place of all before. Called again in short intervals: levels of usage may have to
    /// be computed again. A cgroup that isn't there isn't watched.
    ///
    /// # Errors
    /// Where the kernel can't report some of them; the others are watched.
    async fn watch(&self, watches: &[MemoryWatch]) -> Result<(), MemoryNotifierError>;

    /// Returns as soon as the kernel has reported a shortage since the last call of `watch`; never while nothing is watched.
    /// Cancel-safe.
    async fn notified(&self);
}
