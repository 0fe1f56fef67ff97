//! `/metrics/resource`: what the metrics server, and so `kubectl top` and the horizontal autoscaler, read (upstream:
//! `metrics/collectors/resource_metrics.go`).

use jiff::Timestamp;

use super::exposition::{Exposition, Kind, Labels};
use super::summary::{ContainerStats, CpuStats, MemoryStats, NodeStats, PodStats, Summary, SwapStats, Time};

#[cfg(test)]
mod tests;

/// What is shown of an object, and when it was that; none has no time of its own.
#[derive(Clone, Copy)]
enum Figure {
    Number(u64, Timestamp),
    Seconds(u64, Option<Timestamp>),
}

/// Figures of one name, of objects of one kind.
struct Family<T> {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    figure: fn(&T) -> Option<Figure>,
}

/// Writes the families of a summary, in the order of their names; of none, the one that says that there is none.
pub fn resource_metrics(to: &mut Exposition, summary: Option<&Summary>) {
    let error = |to: &mut Exposition, failed: bool| {
        let help = "[STABLE] 1 if there was an error while getting container metrics, 0 otherwise";
        to.gauge("resource_scrape_error", help, f64::from(u8::from(failed)));
    };
    let Some(Summary { node, pods }) = summary else { return error(to, true) };
    let format = to.format();
    let labels = |container: Option<&str>, pod: &PodStats| {
        let of_pod = [("namespace", &*pod.pod_ref.namespace), ("pod", &*pod.pod_ref.name)];
        Labels::new(format, container.map(|name| ("container", name)).into_iter().chain(of_pod))
    };
    let containers = pods.iter().flat_map(|pod| pod.containers.iter().map(move |container| (pod, container)));
    let containers: Vec<_> =
        containers.map(|(pod, container)| (labels(Some(&container.name), pod), container)).collect();
    write(to, &CONTAINERS, &containers);
    write(to, &NODE, &[(Labels::default(), node)]);
    let pods: Vec<_> = pods.iter().map(|pod| (labels(None, pod), pod)).collect();
    write(to, &PODS, &pods);
    error(to, false);
}

fn write<T>(to: &mut Exposition, families: &[Family<T>], objects: &[(Labels, &T)]) {
    for Family { name, help, kind, figure } in families {
        let mut family = to.family(name, help, *kind);
        for (labels, object) in objects {
            match figure(object) {
                Some(Figure::Number(number, at)) => family.sample_of(labels, &[], number as f64, Some(at)),
                Some(Figure::Seconds(nanoseconds, at)) => family.seconds_of(labels, &[], nanoseconds, at),
                None => {}
            }
        }
    }
}

const CONTAINERS: [Family<ContainerStats>; 5] = [
    Family {
        name: "container_cpu_usage_seconds_total",
        help: "[STABLE] Cumulative cpu time consumed by the container in core-seconds",
        kind: Kind::Counter,
        figure: |container| cpu(container.cpu.as_ref()),
    },
    Family {
        name: "container_memory_working_set_bytes",
        help: "[STABLE] Current working set of the container in bytes",
        kind: Kind::Gauge,
        figure: |container| memory(container.memory.as_ref()),
    },
    Family {
        name: "container_start_time_seconds",
        help: "[STABLE] Start time of the container since unix epoch in seconds",
        kind: Kind::Gauge,
        figure: |container| started(container.start_time.as_ref()),
    },
    Family {
        name: "container_swap_limit_bytes",
        help: "[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems",
        kind: Kind::Gauge,
        figure: |container| swap_limit(container.swap.as_ref()),
    },
    Family {
        name: "container_swap_usage_bytes",
        help: "[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems",
        kind: Kind::Gauge,
        figure: |container| swap(container.swap.as_ref()),
    },
];

const NODE: [Family<NodeStats>; 3] = [
    Family {
        name: "node_cpu_usage_seconds_total",
        help: "[STABLE] Cumulative cpu time consumed by the node in core-seconds",
        kind: Kind::Counter,
        figure: |node| cpu(node.cpu.as_ref()),
    },
    Family {
        name: "node_memory_working_set_bytes",
        help: "[STABLE] Current working set of the node in bytes",
        kind: Kind::Gauge,
        figure: |node| memory(node.memory.as_ref()),
    },
    Family {
        name: "node_swap_usage_bytes",
        help: "[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems",
        kind: Kind::Gauge,
        figure: |node| swap(node.swap.as_ref()),
    },
];

const PODS: [Family<PodStats>; 3] = [
    Family {
        name: "pod_cpu_usage_seconds_total",
        help: "[STABLE] Cumulative cpu time consumed by the pod in core-seconds",
        kind: Kind::Counter,
        figure: |pod| cpu(pod.cpu.as_ref()),
    },
    Family {
        name: "pod_memory_working_set_bytes",
        help: "[STABLE] Current working set of the pod in bytes",
        kind: Kind::Gauge,
        figure: |pod| memory(pod.memory.as_ref()),
    },
    Family {
        name: "pod_swap_usage_bytes",
        help: "[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems",
        kind: Kind::Gauge,
        figure: |pod| swap(pod.swap.as_ref()),
    },
];

fn cpu(cpu: Option<&CpuStats>) -> Option<Figure> {
    let CpuStats { time, usage_core_nano_seconds, .. } = cpu?;
    Some(Figure::Seconds((*usage_core_nano_seconds)?, Some(time.0)))
}

fn memory(memory: Option<&MemoryStats>) -> Option<Figure> {
    memory.map(|memory| Figure::Number(memory.working_set_bytes, memory.time.0))
}

fn swap(swap: Option<&SwapStats>) -> Option<Figure> {
    swap.map(|swap| Figure::Number(swap.swap_usage_bytes, swap.time.0))
}

fn swap_limit(swap: Option<&SwapStats>) -> Option<Figure> {
    let swap = swap?;
    let limit = swap.swap_available_bytes?.saturating_add(swap.swap_usage_bytes);
    Some(Figure::Number(limit, swap.time.0))
}

/// Without a time of its own, as upstream has it.
fn started(started: Option<&Time>) -> Option<Figure> {
    let nanoseconds = u64::try_from(started?.0.as_nanosecond()).ok()?;
    (nanoseconds > 0).then_some(Figure::Seconds(nanoseconds, None))
}
