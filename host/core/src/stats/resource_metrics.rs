//! `/metrics/resource`: what the metrics server, and so `kubectl top` and the horizontal autoscaler, read (upstream:
//! `metrics/collectors/resource_metrics.go`).

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::exposition::{Family, Kind, Sample};
use super::summary::{ContainerStats, CpuStats, MemoryStats, PodStats, Summary, SwapStats};

#[cfg(test)]
mod tests;

/// Figures of one kind of object.
type Figures = Vec<Sample>;

/// The families of a summary, in the order of their names; of none, the one that says that there is none.
pub fn resource_metrics(summary: Option<&Summary>) -> Vec<Family> {
    let error = |failed: bool| {
        let value = f64::from(u8::from(failed));
        let help = "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise";
        let samples = vec![Sample { labels: Vec::new(), value, at: None }];
        Family { name: "resource_scrape_error", help, kind: Kind::Gauge, samples }
    };
    let Some(summary) = summary else { return vec![error(true)] };
    let mut families = Vec::new();
    families.extend(of_containers(&summary.pods));
    families.extend(of_node(summary));
    families.extend(of_pods(&summary.pods));
    families.push(error(false));
    families
}

fn of_containers(pods: &[PodStats]) -> [Family; 5] {
    let mut all: [Figures; 5] = Default::default();
    for pod in pods {
        for container in &pod.containers {
            let [cpu, memory, started, swap_limit, swap_usage] = &mut all;
            let labels = || container_labels(pod, container);
            cpu.extend(cpu_sample(container.cpu.as_ref(), labels));
            memory.extend(memory_sample(container.memory.as_ref(), labels));
            started.extend(start_sample(container.start_time.as_ref(), labels));
            swap_usage.extend(swap_sample(container.swap.as_ref(), labels));
            swap_limit.extend(swap_limit_sample(container.swap.as_ref(), labels));
        }
    }
    let [cpu, memory, started, swap_limit, swap_usage] = all;
    [
        Family {
            name: "container_cpu_usage_seconds_total",
            help: "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
            kind: Kind::Counter,
            samples: cpu,
        },
        Family {
            name: "container_memory_working_set_bytes",
            help: "[STABLE] Current working set of the container in bytes",
            kind: Kind::Gauge,
            samples: memory,
        },
        Family {
            name: "container_start_time_seconds",
            help: "[STABLE] Start time of the container since unix epoch in seconds",
            kind: Kind::Gauge,
            samples: started,
        },
        Family {
            name: "container_swap_limit_bytes",
            help: "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
            kind: Kind::Gauge,
            samples: swap_limit,
        },
        Family {
            name: "container_swap_usage_bytes",
            help: "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems",
            kind: Kind::Gauge,
            samples: swap_usage,
        },
    ]
}

fn of_node(summary: &Summary) -> [Family; 3] {
    let node = &summary.node;
    [
        Family {
            name: "node_cpu_usage_seconds_total",
            help: "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
            kind: Kind::Counter,
            samples: cpu_sample(node.cpu.as_ref(), Vec::new).into_iter().collect(),
        },
        Family {
            name: "node_memory_working_set_bytes",
            help: "[STABLE] Current working set of the node in bytes",
            kind: Kind::Gauge,
            samples: memory_sample(node.memory.as_ref(), Vec::new).into_iter().collect(),
        },
        Family {
            name: "node_swap_usage_bytes",
            help: "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems",
            kind: Kind::Gauge,
            samples: swap_sample(node.swap.as_ref(), Vec::new).into_iter().collect(),
        },
    ]
}

fn of_pods(pods: &[PodStats]) -> [Family; 3] {
    let mut all: [Figures; 3] = Default::default();
    for pod in pods {
        let [cpu, memory, swap] = &mut all;
        let labels = || pod_labels(pod);
        cpu.extend(cpu_sample(pod.cpu.as_ref(), labels));
        memory.extend(memory_sample(pod.memory.as_ref(), labels));
        swap.extend(swap_sample(pod.swap.as_ref(), labels));
    }
    let [cpu, memory, swap] = all;
    [
        Family {
            name: "pod_cpu_usage_seconds_total",
            help: "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
            kind: Kind::Counter,
            samples: cpu,
        },
        Family {
            name: "pod_memory_working_set_bytes",
            help: "[STABLE] Current working set of the pod in bytes",
            kind: Kind::Gauge,
            samples: memory,
        },
        Family {
            name: "pod_swap_usage_bytes",
            help: "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
            kind: Kind::Gauge,
            samples: swap,
        },
    ]
}

type Labels = Vec<(&'static str, String)>;

fn pod_labels(pod: &PodStats) -> Labels {
    vec![("namespace", pod.pod_ref.namespace.clone()), ("pod", pod.pod_ref.name.clone())]
}

fn container_labels(pod: &PodStats, container: &ContainerStats) -> Labels {
    std::iter::once(("container", container.name.clone())).chain(pod_labels(pod)).collect()
}

fn sample(labels: impl Fn() -> Labels, value: f64, at: Option<Timestamp>) -> Sample {
    Sample { labels: labels(), value, at }
}

fn cpu_sample(cpu: Option<&CpuStats>, labels: impl Fn() -> Labels) -> Option<Sample> {
    let CpuStats { time, usage_core_nano_seconds, .. } = cpu?;
    Some(sample(labels, (*usage_core_nano_seconds)? as f64 / 1e9, Some(time.0)))
}

fn memory_sample(memory: Option<&MemoryStats>, labels: impl Fn() -> Labels) -> Option<Sample> {
    let memory = memory?;
    Some(sample(labels, memory.working_set_bytes as f64, Some(memory.time.0)))
}

fn swap_sample(swap: Option<&SwapStats>, labels: impl Fn() -> Labels) -> Option<Sample> {
    let swap = swap?;
    Some(sample(labels, swap.swap_usage_bytes as f64, Some(swap.time.0)))
}

fn swap_limit_sample(swap: Option<&SwapStats>, labels: impl Fn() -> Labels) -> Option<Sample> {
    let swap = swap?;
    let limit = swap.swap_available_bytes?.saturating_add(swap.swap_usage_bytes);
    Some(sample(labels, limit as f64, Some(swap.time.0)))
}

/// Without a time of its own, as upstream has it.
fn start_sample(started: Option<&Time>, labels: impl Fn() -> Labels) -> Option<Sample> {
    let nanoseconds = started?.0.as_nanosecond();
    (nanoseconds > 0).then(|| sample(labels, nanoseconds as f64 / 1e9, None))
}
