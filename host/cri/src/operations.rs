//! Calls to the runtime as a kubelet counts them (upstream: `kuberuntime/instrumented_services.go`).

use std::time::Duration;

use witlet_core::stats::exposition::Exposition;
use witlet_ports::{Counters, Histograms, MetricsSource};

#[cfg(test)]
mod tests;

/// Upper bounds in seconds: 5 ms, and each 2.5 times the one before.
const BUCKETS: &[f64] = &[
    0.005,
    0.0125,
    0.031_25,
    0.078_125,
    0.195_312_5,
    0.488_281_25,
    1.220_703_125,
    3.051_757_812_5,
    7.629_394_531_25,
    19.073_486_328_125,
    47.683_715_820_312_5,
    119.209_289_550_781_25,
    298.023_223_876_953_1,
    745.058_059_692_382_8,
];

/// Counts calls by what they do.
#[derive(Debug)]
pub struct RuntimeOperations {
    calls: Counters<1>,
    errors: Counters<1>,
    durations: Histograms<1>,
}

impl Default for RuntimeOperations {
    fn default() -> Self {
        let label = ["operation_type"];
        Self {
            calls: Counters::new(
                "kubelet_runtime_operations_total",
                "[ALPHA] Cumulative number of runtime operations by operation type.",
                label,
            ),
            errors: Counters::new(
                "kubelet_runtime_operations_errors_total",
                "[ALPHA] Cumulative number of runtime operation errors by operation type.",
                label,
            ),
            durations: Histograms::new(
                "kubelet_runtime_operations_duration_seconds",
                "[ALPHA] Duration in seconds of runtime operations. Broken down by operation type.",
                label,
                BUCKETS,
            ),
        }
    }
}

impl RuntimeOperations {
    pub(crate) fn ended(&self, call: &str, took: Duration, succeeded: bool) {
        let operation = operation_type(call);
        self.calls.add([operation]);
        self.durations.observe_duration([operation], took);
        if !succeeded {
            self.errors.add([operation]);
        }
    }
}

impl MetricsSource for RuntimeOperations {
    fn write(&self, to: &mut Exposition) {
        self.durations.write(to);
        self.errors.write(to);
        self.calls.write(to);
    }
}

/// Upstream's word for a call of the CRI.
fn operation_type(call: &str) -> &'static str {
    match call {
        "Version" => "version",
        "Status" => "status",
        "RuntimeConfig" => "runtime_config",
        "RunPodSandbox" => "run_podsandbox",
        "StopPodSandbox" => "stop_podsandbox",
        "RemovePodSandbox" => "remove_podsandbox",
        "PodSandboxStatus" => "podsandbox_status",
        "ListPodSandbox" => "list_podsandbox",
        "UpdatePodSandboxResources" => "update_podsandbox_resources",
        "ListPodSandboxStats" => "list_podsandbox_stats",
        "CreateContainer" => "create_container",
        "StartContainer" => "start_container",
        "StopContainer" => "stop_container",
        "RemoveContainer" => "remove_container",
        "ListContainers" => "list_containers",
        "ContainerStatus" => "container_status",
        "UpdateContainerResources" => "update_container",
        "ReopenContainerLog" => "reopen_container_log",
        "ListContainerStats" => "list_container_stats",
        "CheckpointContainer" => "checkpoint_container",
        "ExecSync" => "exec_sync",
        "Exec" => "exec",
        "Attach" => "attach",
        "PortForward" => "port_forward",
        "ImageStatus" => "image_status",
        "ListImages" => "list_images",
        "PullImage" => "pull_image",
        "RemoveImage" => "remove_image",
        "ImageFsInfo" => "image_fs_info",
        _ => "other",
    }
}
