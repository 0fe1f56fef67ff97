//! The port to the machine's own processes and to the tunables of its kernel.

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::CgroupError;

/// The machine around pods. Where the agent itself runs in a container of some kind, outside of the init's process ids, its
/// own process is left as it is.
#[async_trait]
pub trait NodeSystem: Send + Sync {
    /// The number in a tunable of the kernel, by its name below `/proc/sys`.
    async fn tunable(&self, name: &str) -> Result<i64, CgroupError>;
    /// Writes a tunable of the kernel.
    async fn set_tunable(&self, name: &str, value: i64) -> Result<(), CgroupError>;
    /// Moves the agent into a cgroup, which is made if it isn't there.
    async fn move_agent(&self, cgroup: &str) -> Result<(), CgroupError>;
    /// Moves all processes of the root cgroup but the init and the kernel's threads into a cgroup, which is made if it isn't
    /// there.
    async fn move_system(&self, cgroup: &str) -> Result<(), CgroupError>;
    /// Says how readily the kernel may end the agent when memory runs out, −1000 to 1000.
    async fn set_oom_score(&self, score: i32) -> Result<(), CgroupError>;
    /// Whether what is in volumes of memory may get to the disk: there is swap, and the kernel can't keep them out of it.
    async fn swaps_memory_volumes(&self) -> bool;
    /// Sends the messages of the kernel's log from now on, until no one receives them.
    async fn kernel_messages(&self, messages: mpsc::Sender<String>) -> Result<(), CgroupError>;
}
