//! The handle that shows what the agent does.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::sync::watch;
use witlet_core::eviction::ThresholdState;
use witlet_core::pod::PodUid;
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{AgentStats, AgentView, EventPage, MetricsSource, PodDescription, PodPage, RecordedEvent};

use crate::image_gc::ImageGc;
use crate::metrics::AgentMetrics;
use crate::pod_status_store::PodStatusStore;

/// Shows what the agent does. Cheap to clone; outlives the agent.
#[derive(Clone)]
pub struct AgentHandle {
    pub(super) statuses: Arc<PodStatusStore>,
    pub(super) image_gc: ImageGc,
    pub(super) metrics: Arc<AgentMetrics>,
}

impl AgentHandle {
    /// The agent's image garbage collection.
    pub fn image_gc(&self) -> &ImageGc {
        &self.image_gc
    }

    /// Returns what probes found, by container.
    pub fn probe_metrics(&self) -> Arc<dyn MetricsSource> {
        Arc::new(self.metrics.prober.clone())
    }

    /// Returns what the agent counts of its work and of the runtime, in addition to [`AgentView::stats`].
    pub fn metrics(&self) -> Arc<dyn MetricsSource> {
        Arc::new(self.clone())
    }
}

impl MetricsSource for AgentHandle {
    fn write(&self, to: &mut Exposition) {
        self.metrics.write(to);
        self.statuses.write(to);
    }
}

impl AgentView for AgentHandle {
    fn pods(&self) -> Vec<Arc<Pod>> {
        self.statuses.pods()
    }

    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Pod>> {
        self.statuses.pod(namespace, name)
    }

    fn events(&self) -> Vec<RecordedEvent> {
        self.statuses.events()
    }

    fn events_after(&self, version: u64) -> EventPage {
        self.statuses.events_after(version)
    }

    fn event_changes(&self) -> watch::Receiver<u64> {
        self.statuses.event_changes()
    }

    fn pods_after(&self, version: u64) -> PodPage {
        self.statuses.pods_after(version)
    }

    fn pod_changes(&self) -> watch::Receiver<u64> {
        self.statuses.pod_changes()
    }

    fn describe_pod(&self, uid: &PodUid) -> PodDescription {
        PodDescription { verdicts: self.statuses.verdicts(uid), probes: self.metrics.prober.reports(uid) }
    }

    fn node(&self) -> Arc<Node> {
        self.statuses.node()
    }

    fn unhealthy(&self) -> Vec<String> {
        self.statuses.unhealthy()
    }

    fn stats(&self) -> AgentStats {
        AgentStats {
            images_removed: self.image_gc.removals(),
            cgroups: self.metrics.cgroups.stats(),
            ..self.statuses.stats()
        }
    }

    fn thresholds(&self) -> Vec<ThresholdState> {
        self.statuses.thresholds()
    }
}
