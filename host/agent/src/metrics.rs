//! What the agent counts while it works, for its handle to show.

use std::sync::Arc;

use witlet_core::stats::exposition::Exposition;
use witlet_ports::MetricsSource;

use crate::cgroups::CgroupMetrics;
use crate::prober::ProberHandle;

mod images;
pub(crate) mod pods;
mod relists;
mod resizes;
#[cfg(test)]
mod tests;
mod volumes;

pub(crate) use images::{AccessCheck, ImageMetrics};
pub(crate) use pods::PodMetrics;
pub(crate) use relists::RelistMetrics;
pub(crate) use resizes::ResizeMetrics;

/// The agent's metrics. Parts of it have their own, which they add to.
#[derive(Default)]
pub(crate) struct AgentMetrics {
    /// Cgroups of pods and their classes, among [`witlet_ports::AgentStats`].
    pub(crate) cgroups: Arc<CgroupMetrics>,
    /// Probes of containers, apart from the rest.
    pub(crate) prober: ProberHandle,
    /// Lists of the runtime's pods.
    pub(crate) relists: Arc<RelistMetrics>,
    /// The work on pods.
    pub(crate) pods: Arc<PodMetrics>,
    /// Images that pods need.
    pub(crate) images: Arc<ImageMetrics>,
    pub(crate) resizes: Arc<ResizeMetrics>,
}

impl MetricsSource for AgentMetrics {
    fn write(&self, to: &mut Exposition) {
        self.relists.write(to);
        self.pods.write(to);
        self.images.write(to);
        self.resizes.write(to);
    }
}
