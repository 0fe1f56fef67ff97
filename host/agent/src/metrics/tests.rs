//! What each report of a part moves.

use std::time::Duration;

use witlet_core::container::plan::ContainerKind;
use witlet_core::pod::worker::{Task, UpdateKind};
use witlet_core::stats::exposition::Format;
use witlet_core::status::WaitingReason;

use super::*;

fn text(metrics: &AgentMetrics) -> String {
    let mut exposition = Exposition::new(Format::Text);
    metrics.write(&mut exposition);
    exposition.finish().expect("it is small")
}

#[test]
fn work_is_counted_by_what_is_done() {
    let metrics = AgentMetrics::default();
    let terminate = Task::Terminate { grace_seconds: 30, evicted: false };
    for (task, kind, operation) in [
        (Task::Sync, UpdateKind::Create, "create"),
        (Task::Sync, UpdateKind::Update, "update"),
        (Task::Sync, UpdateKind::Sync, "sync"),
        (terminate, UpdateKind::Kill, "kill"),
        (terminate, UpdateKind::Sync, "kill"),
        (Task::Settle, UpdateKind::Sync, "terminated"),
    ] {
        let series = format!("kubelet_pod_worker_duration_seconds_count{{operation_type=\"{operation}\"}} ");
        let count = |text: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(&series)?.parse::<u64>().ok());
            found.unwrap_or_default()
        };
        let before = count(&text(&metrics));
        metrics.pods.worked(task, kind, Duration::from_millis(3));
        assert_eq!(count(&text(&metrics)), before + 1, "{operation}");
    }
}

#[test]
fn containers_are_counted_by_kind() {
    let metrics = AgentMetrics::default();
    for kind in [ContainerKind::Init, ContainerKind::Sidecar, ContainerKind::App, ContainerKind::Ephemeral] {
        metrics.pods.container_starts(kind);
    }
    metrics.pods.container_failed(ContainerKind::Sidecar, WaitingReason::ErrImagePull);
    let shown = text(&metrics);
    for line in [
        "kubelet_started_containers_total{container_type=\"container\"} 1",
        "kubelet_started_containers_total{container_type=\"ephemeral_container\"} 1",
        "kubelet_started_containers_total{container_type=\"init_container\"} 2",
        "kubelet_started_containers_errors_total{code=\"ErrImagePull\",container_type=\"init_container\"} 1",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line} isn't in:\n{shown}");
    }
}
