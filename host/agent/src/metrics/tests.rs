//! What each report of a part moves.

use std::time::Duration;

use jiff::Timestamp;
use witlet_core::container::plan::ContainerKind;
use witlet_core::image::PullPolicy;
use witlet_core::pod::PodUid;
use witlet_core::pod::worker::{Task, UpdateKind};
use witlet_core::stats::exposition::written;
use witlet_core::status::{Termination, WaitingReason};

use super::*;

fn text(metrics: &AgentMetrics) -> String {
    written(|to| metrics.write(to)).expect("it is small")
}

fn has(metrics: &AgentMetrics, lines: &[&str]) {
    let shown = text(metrics);
    for line in lines {
        assert!(shown.lines().any(|found| found == *line), "{line} isn't in:\n{shown}");
    }
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
    has(
        &metrics,
        &[
            "kubelet_started_containers_total{container_type=\"container\"} 1",
            "kubelet_started_containers_total{container_type=\"ephemeral_container\"} 1",
            "kubelet_started_containers_total{container_type=\"init_container\"} 2",
            "kubelet_started_containers_errors_total{code=\"ErrImagePull\",container_type=\"init_container\"} 1",
        ],
    );
}

#[test]
fn ends_sandboxes_and_hooks_are_counted_where_they_happen() {
    let metrics = AgentMetrics::default();
    let pods = &metrics.pods;
    pods.terminated(&Termination {
        container_type: "container",
        exit_code: 137,
        reason: "OOMKilled".to_owned(),
    });
    pods.sandbox_ran("kata", Duration::from_millis(300), true);
    pods.user_namespaced(true);
    pods.user_namespaced(false);
    pods.restarts(true);
    pods.is_orphaned();
    pods.hook_fell_back();
    pods.sleep_was_cut();
    pods.cleaned_up(3, 1);
    let seen = Some(Timestamp::from_second(100).expect("a time"));
    let pod = serde_json::from_value(serde_json::json!({
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
    }));
    pods.work_begins(&pod.expect("a pod"), seen, Timestamp::from_second(102).expect("a time"));
    has(
        &metrics,
        &[
            "kubelet_terminated_containers_total{container_type=\"container\",exit_code=\"137\",reason=\"OOMKilled\"} 1",
            "kubelet_run_podsandbox_duration_seconds_count{runtime_handler=\"kata\"} 1",
            "kubelet_run_podsandbox_errors_total{runtime_handler=\"kata\"} 1",
            "kubelet_started_user_namespaced_pods_total 2",
            "kubelet_started_user_namespaced_pods_errors_total 1",
            "kubelet_restarted_pods_total{static=\"\"} 0",
            "kubelet_restarted_pods_total{static=\"true\"} 1",
            "kubelet_orphaned_runtime_pods_total 1",
            "kubelet_lifecycle_handler_http_fallbacks_total 1",
            "kubelet_sleep_action_terminated_early_total 1",
            "kubelet_orphan_pod_cleaned_volumes 3",
            "kubelet_orphan_pod_cleaned_volumes_errors 1",
            "kubelet_containers_per_pod_count_bucket{le=\"2\"} 0",
            "kubelet_containers_per_pod_count_bucket{le=\"4\"} 1",
            "kubelet_pod_worker_start_duration_seconds_sum 2",
        ],
    );
}

#[test]
fn images_and_resizes_have_the_labels_of_a_kubelets() {
    let metrics = AgentMetrics::default();
    metrics.images.needed(PullPolicy::IfNotPresent, Some(true), Some(false));
    metrics.images.needed(PullPolicy::Always, None, Some(true));
    metrics.images.checked(AccessCheck::PolicyAllowed);
    metrics.images.pulled(3 << 30, Duration::from_secs(7));
    metrics.resizes.carried_out(Duration::from_millis(70), false);
    metrics.resizes.is_infeasible("swap_limitation");
    metrics.resizes.is_accepted();
    has(
        &metrics,
        &[
            "kubelet_image_manager_ensure_image_requests_total{present_locally=\"true\",pull_policy=\"ifnotpresent\",pull_required=\"false\"} 1",
            "kubelet_image_manager_ensure_image_requests_total{present_locally=\"unknown\",pull_policy=\"always\",pull_required=\"true\"} 1",
            "kubelet_imagemanager_image_mustpull_checks_total{result=\"credentialPolicyAllowed\"} 1",
            "kubelet_image_pull_duration_seconds_bucket{image_size_in_bytes=\"1GB-5GB\",le=\"10\"} 1",
            "kubelet_pod_resize_duration_milliseconds_bucket{success=\"false\",le=\"100\"} 1",
            "kubelet_pod_infeasible_resizes_total{reason_detail=\"swap_limitation\"} 1",
            "kubelet_pod_deferred_accepted_resizes_total{retry_trigger=\"node_changed\"} 1",
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn volumes_are_counted_by_plugin_until_they_are_unmounted() {
    let metrics = AgentMetrics::default();
    let volumes = &metrics.pods.volumes;
    let (first, second) = (PodUid::from("u-1"), PodUid::from("u-2"));
    let (scratch, files) = ("kubernetes.io/empty-dir", "kubernetes.io/configmap");
    let desired = [("a".to_owned(), scratch), ("b".to_owned(), scratch), ("c".to_owned(), files)];
    volumes.desired(&first, &desired);
    volumes.desired(&second, &desired[..1]);
    volumes.desired(&second, &[]);
    tokio::time::advance(Duration::from_secs(3)).await;
    let second_long = Duration::from_secs(1);
    volumes.mounted(&first, "a", second_long, true);
    volumes.mounted(&first, "c", second_long, false);
    volumes.mounted(&first, "unknown", second_long, true);
    volumes.mounted(&second, "a", second_long, true);
    let total = |plugin: &str, state: &str, count: u32| {
        format!(
            "volume_manager_total_volumes{{plugin_name=\"{plugin}\",state=\"{state}_state_of_world\"}} {count}"
        )
    };
    let operation = |name: &str, status: &str, plugin: &str, count: u32| {
        format!(
            "storage_operation_duration_seconds_count{{migrated=\"false\",operation_name=\"{name}\",status=\"{status}\",volume_plugin=\"{plugin}\"}} {count}"
        )
    };
    let overall = "volume_operation_total_seconds_sum{operation_name=\"overall_volume_mount\",plugin_name=\"kubernetes.io/empty-dir\"} 3";
    let lines = [
        total(scratch, "desired", 2),
        total(scratch, "actual", 1),
        total(files, "desired", 1),
        operation("volume_mount", "success", scratch, 1),
        operation("volume_mount", "fail-unknown", files, 1),
        overall.to_owned(),
    ];
    has(&metrics, &lines.each_ref().map(String::as_str));
    // Files that are written again are another operation, and not the wait for the volume again.
    volumes.desired(&first, &desired);
    volumes.mounted(&first, "a", second_long, true);
    has(&metrics, &[&operation("volume_mount", "success", scratch, 2), overall]);
    volumes.unmounted(&first, second_long, false);
    has(&metrics, &[&total(scratch, "actual", 1), &operation("volume_unmount", "fail-unknown", scratch, 1)]);
    volumes.unmounted(&first, second_long, true);
    has(&metrics, &[&operation("volume_unmount", "success", scratch, 1)]);
    assert!(!text(&metrics).contains("volume_manager_total_volumes"), "none is left");
}
