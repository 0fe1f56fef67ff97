//! What is counted of resizes, a family in each row.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::allocation::{RequestedResize, requested_resizes};
use witlet_core::stats::exposition::Exposition;
use witlet_ports::{Counters, Histograms, MetricsSource};

/// Upper bounds in milliseconds (upstream: `podResizeDurationBuckets`).
const BUCKETS: &[f64] =
    &[10.0, 50.0, 100.0, 500.0, 1e3, 2e3, 5e3, 10e3, 20e3, 30e3, 60e3, 120e3, 300e3, 600e3];
/// What has a deferred resize checked again: any change of the node, its pods or the handlers.
const RETRY_TRIGGER: &str = "node_changed";

/// Counts resizes.
pub(crate) struct ResizeMetrics {
    requested: Counters<3>,
    durations: Histograms<1>,
    infeasible: Counters<1>,
    accepted: Counters<1>,
}

impl Default for ResizeMetrics {
    fn default() -> Self {
        Self {
            requested: Counters::new(
                "kubelet_container_requested_resizes_total",
                "[ALPHA] Number of requested resizes, counted at the container level. Different \
                 resources on the same container are counted separately. The 'requirement' label \
                 refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', \
                 'increase' or 'decrease'.",
                ["operation", "requirement", "resource"],
            ),
            durations: Histograms::new(
                "kubelet_pod_resize_duration_milliseconds",
                "[ALPHA] Duration in milliseconds to actuate a pod resize",
                ["success"],
                BUCKETS,
            ),
            infeasible: Counters::new(
                "kubelet_pod_infeasible_resizes_total",
                "[ALPHA] Number of infeasible resizes for pods.",
                ["reason_detail"],
            ),
            accepted: Counters::new(
                "kubelet_pod_deferred_accepted_resizes_total",
                "[ALPHA] Cumulative number of resizes that were accepted after being deferred.",
                ["retry_trigger"],
            ),
        }
    }
}

impl MetricsSource for ResizeMetrics {
    fn write(&self, to: &mut Exposition) {
        self.requested.write(to);
        self.durations.write(to);
        self.infeasible.write(to);
        self.accepted.write(to);
    }
}

impl ResizeMetrics {
    /// A pod was edited.
    pub(crate) fn edited(&self, old: &Pod, new: &Pod) {
        for RequestedResize { resource, requirement, operation } in requested_resizes(old, new) {
            self.requested.add([operation, requirement, resource]);
        }
    }

    /// A sync put a resize into force, or could not.
    pub(crate) fn carried_out(&self, took: Duration, succeeded: bool) {
        let milliseconds = took.as_secs_f64() * 1e3;
        self.durations.observe([if succeeded { "true" } else { "false" }], milliseconds);
    }

    /// A resize can't be on this node.
    pub(crate) fn is_infeasible(&self, detail: &str) {
        self.infeasible.add([detail]);
    }

    /// A resize was granted that had been deferred.
    pub(crate) fn is_accepted(&self) {
        self.accepted.add([RETRY_TRIGGER]);
    }
}
