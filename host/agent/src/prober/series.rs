//! What probes found, as `/metrics/probes` shows it (upstream: `prober/prober_manager.go`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::probe::ProbeKind;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{Histogram, ProbeCounts};

/// What a probe of one container found since its begin.
pub(super) struct ProbeSeries {
    pub(super) uid: PodUid,
    pub(super) pod: Arc<Pod>,
    pub(super) container: String,
    pub(super) kind: ProbeKind,
    pub(super) counts: ProbeCounts,
}

/// The labels of durations, as upstream has them, without a UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DurationLabels {
    pub(super) pod: PodFullName,
    pub(super) container: String,
    pub(super) kind: ProbeKind,
}

/// How long probes took. While a pod ends whose name another one has by now, a static pod or one of a stateful set, both count in one
/// series, which stays as long as one of them has the probe: Prometheus takes a sum that falls for a new beginning.
#[derive(Clone, Default)]
pub(super) struct ProbeDurations(BTreeMap<DurationLabels, (usize, Histogram)>);

impl ProbeDurations {
    /// A probe with these labels begins.
    pub(super) fn begin(&mut self, labels: DurationLabels) {
        self.0.entry(labels).or_default().0 += 1;
    }

    /// Ends the series of these labels.
    pub(super) fn end(&mut self, labels: &DurationLabels) {
        if let Some((probes, _)) = self.0.get_mut(labels) {
            *probes -= 1;
            if *probes == 0 {
                self.0.remove(labels);
            }
        }
    }

    /// Counts a probe.
    pub(super) fn observe(&mut self, labels: &DurationLabels, took: Duration) {
        if let Some((_, durations)) = self.0.get_mut(labels) {
            durations.observe(took.as_secs_f64());
        }
    }
}

/// Shows these.
pub(super) fn write(all: &[ProbeSeries], durations: &ProbeDurations, to: &mut Exposition) {
    let help = "[ALPHA] Duration in seconds for a probe response.";
    let mut family = to.family("prober_probe_duration_seconds", help, Kind::Histogram);
    for (labels, (_, durations)) in durations.0.iter().filter(|(_, (_, durations))| durations.count() > 0) {
        let DurationLabels { pod: PodFullName { namespace, name }, container, kind } = labels;
        let labels = [
            ("container", container.as_str()),
            ("namespace", &**namespace),
            ("pod", &**name),
            ("probe_type", kind.as_str()),
        ];
        family.histogram(&labels, durations.buckets(), durations.sum());
    }
    let help =
        "[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.";
    let mut family = to.family("prober_probe_total", help, Kind::Counter);
    for series in all {
        let PodFullName { namespace, name } = PodFullName::of(&series.pod);
        let ProbeSeries { uid, container, kind, counts, .. } = series;
        let ProbeCounts { successful, failed, unknown } = *counts;
        for (result, count) in [("failed", failed), ("successful", successful), ("unknown", unknown)] {
            if count == 0 {
                continue;
            }
            let labels = [
                ("container", container.as_str()),
                ("namespace", &*namespace),
                ("pod", &*name),
                ("pod_uid", uid.as_str()),
                ("probe_type", kind.as_str()),
                ("result", result),
            ];
            family.sample(&labels, count as f64);
        }
    }
}
