//! What the agent counts while it works.

use serde_json::json;
use witlet_core::stats::exposition::written;
use witlet_testkit::FakeNode;

use crate::support::{from_spec, node, pass, status};

fn text(node: &FakeNode) -> String {
    written(|to| node.agent().metrics().write(to)).expect("it is small")
}

fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line} isn't in:\n{text}");
    }
}

/// The value of a series.
fn value(text: &str, series: &str) -> f64 {
    let found = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("{series} isn't in:\n{text}")).parse().expect("a number")
}

#[tokio::test(start_paused = true)]
async fn lists_of_the_runtime_and_the_work_on_pods_are_counted() {
    let mut node = node();
    node.start();
    pass(3.5).await;
    let idle = text(&node);
    let nothing =
        ["kubelet_started_pods_total 0", "kubelet_started_pods_errors_total 0", "kubelet_running_pods 0"];
    has(&idle, &nothing);
    has(&idle, &["kubelet_pod_start_duration_seconds_count 0"]);
    assert!(value(&idle, "kubelet_pleg_relist_duration_seconds_count") >= 3.0, "{idle}");
    assert!(value(&idle, "kubelet_pleg_relist_interval_seconds_bucket{le=\"2.5\"}") >= 2.0, "{idle}");

    node.runtime.fail_next("RunPodSandbox", 1);
    let spec = json!({
        "initContainers": [{"name": "first", "image": "sleeper:1", "restartPolicy": "Always"}],
        "containers": [{"name": "app", "image": "sleeper:1"}, {"name": "lacks", "image": "none:1", "imagePullPolicy": "Never"}],
    });
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(60.0).await;
    let running = text(&node);
    has(
        &running,
        &[
            "kubelet_started_pods_total 2",
            "kubelet_started_pods_errors_total 1",
            "kubelet_started_containers_total{container_type=\"init_container\"} 1",
            "kubelet_running_pods 1",
            "kubelet_running_containers{container_state=\"running\"} 2",
            "kubelet_running_containers{container_state=\"exited\"} 0",
            "kubelet_pod_worker_duration_seconds_count{operation_type=\"create\"} 1",
        ],
    );
    let lacking =
        "kubelet_started_containers_errors_total{code=\"ErrImageNeverPull\",container_type=\"container\"}";
    assert!(value(&running, lacking) >= 1.0, "{running}");
    let syncs = value(&running, "kubelet_pod_worker_duration_seconds_count{operation_type=\"sync\"}");
    assert!(syncs >= 1.0, "{running}");
    let last_seen = |text: &str| value(text, "kubelet_pleg_last_seen_seconds");
    assert!(last_seen(&running) > last_seen(&idle), "{running}");
    assert!(!running.contains("operation_type=\"kill\""), "{running}");

    node.source.put("web", Vec::new());
    pass(60.0).await;
    let ended = text(&node);
    has(&ended, &["kubelet_running_pods 0"]);
    let kills = value(&ended, "kubelet_pod_worker_duration_seconds_count{operation_type=\"kill\"}");
    assert!(kills >= 1.0, "{ended}");
}

#[tokio::test(start_paused = true)]
async fn a_start_is_from_the_first_sight_of_a_pod_until_it_runs() {
    let mut node = node();
    node.start();
    pass(1.5).await;
    // The sandbox comes with a later try.
    node.runtime.fail_next("RunPodSandbox", 1);
    let spec = json!({"containers": [{"name": "app", "image": "sleeper:1"}]});
    node.source.put("web", vec![from_spec("web", spec)]);
    pass(60.0).await;
    assert!(status(&node, "web").contains("Running"), "{}", status(&node, "web"));
    let first = text(&node);
    has(&first, &["kubelet_pod_start_duration_seconds_count 1"]);
    has(&first, &["kubelet_pod_start_duration_seconds_bucket{le=\"0.5\"} 0"]);
    let took = value(&first, "kubelet_pod_start_duration_seconds_sum");
    assert!((0.5..60.0).contains(&took), "{took}");
    // What goes on running isn't counted again.
    pass(120.0).await;
    has(&text(&node), &["kubelet_pod_start_duration_seconds_count 1"]);
}
