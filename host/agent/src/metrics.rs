//! What the agent counts while it works, for its handle to show.

use std::sync::Arc;

use crate::cgroups::CgroupMetrics;
use crate::prober::ProberHandle;

/// The agent's metrics. Parts of it have their own, which they add to.
#[derive(Default)]
pub(crate) struct AgentMetrics {
    /// Cgroups of pods and their classes.
    pub(crate) cgroups: Arc<CgroupMetrics>,
    /// Probes of containers.
    pub(crate) prober: ProberHandle,
}
