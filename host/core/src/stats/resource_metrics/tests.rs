//! The families of a summary.

use super::*;
use crate::stats::exposition::written;
use crate::stats::summary::Scope;
use crate::stats::summary::tests::measurements;

fn text(summary: Option<&Summary>) -> String {
    written(|to| resource_metrics(to, summary)).expect("it is small")
}

#[test]
fn the_metrics_server_finds_what_it_reads() {
    let summary = measurements().summary(Scope::CpuAndMemory);
    let shown = text(Some(&summary));
    let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with('#')).collect();
    let at = "1780315200000";
    let expected = [
        &*format!(
            "container_cpu_usage_seconds_total{{container=\"app\",namespace=\"ns\",pod=\"web\"}} 1 {at}"
        ),
        &*format!(
            "container_cpu_usage_seconds_total{{container=\"side\",namespace=\"ns\",pod=\"web\"}} 0.5 {at}"
        ),
        &*format!(
            "container_memory_working_set_bytes{{container=\"app\",namespace=\"ns\",pod=\"web\"}} 100 {at}"
        ),
        &*format!(
            "container_memory_working_set_bytes{{container=\"side\",namespace=\"ns\",pod=\"web\"}} 100 {at}"
        ),
        "container_start_time_seconds{container=\"app\",namespace=\"ns\",pod=\"web\"} 1780311600",
        "container_start_time_seconds{container=\"side\",namespace=\"ns\",pod=\"web\"} 1780311600",
        &*format!("container_swap_limit_bytes{{container=\"app\",namespace=\"ns\",pod=\"web\"}} 20 {at}"),
        &*format!("container_swap_limit_bytes{{container=\"side\",namespace=\"ns\",pod=\"web\"}} 20 {at}"),
        &*format!("container_swap_usage_bytes{{container=\"app\",namespace=\"ns\",pod=\"web\"}} 7 {at}"),
        &*format!("container_swap_usage_bytes{{container=\"side\",namespace=\"ns\",pod=\"web\"}} 7 {at}"),
        &*format!("node_cpu_usage_seconds_total 9 {at}"),
        &*format!("node_memory_working_set_bytes 400 {at}"),
        &*format!("node_swap_usage_bytes 7 {at}"),
        &*format!("pod_cpu_usage_seconds_total{{namespace=\"ns\",pod=\"web\"}} 1.5 {at}"),
        &*format!("pod_memory_working_set_bytes{{namespace=\"ns\",pod=\"web\"}} 200 {at}"),
        &*format!("pod_swap_usage_bytes{{namespace=\"ns\",pod=\"web\"}} 14 {at}"),
        "resource_scrape_error 0",
    ];
    assert_eq!(lines, expected);
    let headings: Vec<&str> = shown.lines().filter(|line| line.starts_with("# HELP ")).collect();
    assert!(headings.is_sorted(), "{headings:?}");
}

#[test]
fn a_failure_stands_alone() {
    let shown = text(None);
    assert!(shown.ends_with("resource_scrape_error 1\n"), "{shown}");
    assert_eq!(shown.lines().count(), 3);
}

#[test]
fn what_is_not_known_has_no_sample() {
    let mut measured = measurements();
    measured.node = None;
    for container in &mut measured.pods[0].containers {
        container.usage.cpu_nanoseconds = None;
        container.usage.memory = None;
        container.usage.swap = None;
    }
    let shown = text(Some(&measured.summary(Scope::CpuAndMemory)));
    assert!(!shown.contains("cpu") && !shown.contains("memory") && !shown.contains("swap"), "{shown}");
    assert!(shown.contains("container_start_time_seconds"));
}
