//! Calls that are counted.

use super::*;

use witlet_core::stats::exposition::written;

fn text(operations: &RuntimeOperations) -> String {
    written(|to| operations.write(to)).expect("it is small")
}

#[test]
fn calls_are_counted_by_what_they_do() {
    let operations = RuntimeOperations::default();
    assert_eq!(text(&operations), "");
    operations.ended("RunPodSandbox", Duration::from_millis(300), true);
    operations.ended("RunPodSandbox", Duration::from_millis(20), false);
    operations.ended("UpdateContainerResources", Duration::from_millis(1), true);
    let shown = text(&operations);
    for line in [
        "kubelet_runtime_operations_total{operation_type=\"run_podsandbox\"} 2",
        "kubelet_runtime_operations_total{operation_type=\"update_container\"} 1",
        "kubelet_runtime_operations_errors_total{operation_type=\"run_podsandbox\"} 1",
        "kubelet_runtime_operations_duration_seconds_bucket{operation_type=\"run_podsandbox\",le=\"0.03125\"} 1",
        "kubelet_runtime_operations_duration_seconds_bucket{operation_type=\"run_podsandbox\",le=\"0.48828125\"} 2",
        "kubelet_runtime_operations_duration_seconds_count{operation_type=\"run_podsandbox\"} 2",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line} isn't in:\n{shown}");
    }
    assert!(!shown.contains("errors_total{operation_type=\"update_container\"}"), "{shown}");
}

#[test]
fn each_bucket_is_two_and_a_half_times_the_one_before() {
    assert_eq!(BUCKETS.len(), 14);
    for (at, bound) in BUCKETS.iter().enumerate() {
        let expected = 0.005 * 2.5_f64.powi(i32::try_from(at).expect("there are few"));
        assert!((bound / expected - 1.0).abs() < 1e-9, "{at}: {bound}");
    }
}
