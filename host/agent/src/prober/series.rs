//! What probes found, as `/metrics/probes` shows it (upstream: `prober/prober_manager.go`).

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use witlet_core::pod::{PodFullName, PodUid};
use witlet_core::probe::ProbeKind;
use witlet_core::stats::exposition::{Exposition, Kind};
use witlet_ports::{DurationHistogram, ProbeCounts};

/// What a probe of one container found since its begin.
pub(super) struct ProbeSeries {
    pub(super) uid: PodUid,
    pub(super) pod: Arc<Pod>,
    pub(super) container: String,
    pub(super) kind: ProbeKind,
    pub(super) counts: ProbeCounts,
    pub(super) durations: DurationHistogram,
}

/// Shows these.
pub(super) fn write(all: &[ProbeSeries], to: &mut Exposition) {
    let names: Vec<PodFullName> = all.iter().map(|series| PodFullName::of(&series.pod)).collect();
    let help = "[ALPHA] How long probes took that passed or could not be carried out";
    let mut family = to.family("prober_probe_duration_seconds", help, Kind::Histogram);
    for ((PodFullName { namespace, name }, container, kind), durations) in durations(all, &names) {
        let labels = [
            ("container", container),
            ("namespace", &**namespace),
            ("pod", &**name),
            ("probe_type", kind.as_str()),
        ];
        family.histogram(&labels, durations.buckets(), durations.sum().as_secs_f64());
    }
    let help = "[BETA] Probes of a container by what they found";
    let mut family = to.family("prober_probe_total", help, Kind::Counter);
    for (series, PodFullName { namespace, name }) in all.iter().zip(&names) {
        let ProbeSeries { uid, container, kind, counts, .. } = series;
        let ProbeCounts { successful, failed, unknown } = *counts;
        for (result, count) in [("failed", failed), ("successful", successful), ("unknown", unknown)] {
            if count == 0 {
                continue;
            }
            let labels = [
                ("container", container.as_str()),
                ("namespace", &**namespace),
                ("pod", &**name),
                ("pod_uid", uid.as_str()),
                ("probe_type", kind.as_str()),
                ("result", result),
            ];
            family.sample(&labels, count as f64);
        }
    }
}

/// How long probes took, by the labels that upstream has, without a UID: while a pod ends whose name another one has by now, a static pod
/// or one of a stateful set, both are one series. Prometheus takes nothing of a response that has a series twice.
fn durations<'a>(
    all: &'a [ProbeSeries],
    names: &'a [PodFullName],
) -> BTreeMap<(&'a PodFullName, &'a str, ProbeKind), DurationHistogram> {
    let mut by_labels = BTreeMap::<_, DurationHistogram>::new();
    for (series, name) in all.iter().zip(names).filter(|(series, _)| series.durations.count() > 0) {
        by_labels.entry((name, series.container.as_str(), series.kind)).or_default().add(&series.durations);
    }
    by_labels
}
