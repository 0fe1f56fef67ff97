//! Memory.

use super::{Family, Figures};
use crate::stats::cadvisor::details::MemoryDetails;
use crate::stats::cadvisor::rows::Row;
use crate::stats::cgroup_usage::MemoryUsage;

pub(super) const FAMILIES: &[Family] = &[
    Family::gauge("container_memory_cache", "Number of bytes of page cache memory.", |row, to| {
        detail(row, to, |memory| memory.cache);
    }),
    Family::gauge("container_memory_rss", "Size of RSS in bytes.", |row, to| {
        usage(row, to, |memory| memory.rss);
    }),
    Family::gauge("container_memory_kernel_usage", "Size of kernel memory allocated in bytes.", |row, to| {
        detail(row, to, |memory| memory.kernel);
    }),
    Family::gauge("container_memory_mapped_file", "Size of memory mapped files in bytes.", |row, to| {
        detail(row, to, |memory| memory.mapped_file);
    }),
    Family::gauge("container_memory_swap", "Container swap usage in bytes.", |row, to| {
        to.put(row.details.usage.swap.map_or(0, |swap| swap.usage) as f64);
    }),
    Family::gauge(
        "container_memory_usage_bytes",
        "Current memory usage in bytes, including all memory regardless of when it was accessed",
        |row, to| {
            usage(row, to, |memory| memory.usage);
        },
    ),
    Family::gauge("container_memory_max_usage_bytes", "Maximum memory usage recorded in bytes", |row, to| {
        detail(row, to, |memory| memory.max_usage);
    }),
    Family::gauge("container_memory_working_set_bytes", "Current working set in bytes.", |row, to| {
        usage(row, to, |memory| Some(memory.working_set))
    }),
    Family::gauge(
        "container_memory_total_active_file_bytes",
        "Current total active file in bytes.",
        |row, to| detail(row, to, |memory| memory.active_file),
    ),
    Family::gauge(
        "container_memory_total_inactive_file_bytes",
        "Current total inactive file in bytes.",
        |row, to| detail(row, to, |memory| memory.inactive_file),
    ),
    Family::counter("container_memory_failcnt", "Number of memory usage hits limits", |row, to| {
        detail(row, to, |memory| memory.failures);
    }),
    Family::counter(
        "container_memory_failures_total",
        "Cumulative count of memory allocation failures.",
        |row, to| {
            let memory = row.details.usage.memory.unwrap_or_default();
            let faults = [("pgfault", memory.page_faults), ("pgmajfault", memory.major_page_faults)];
            for (kind, faults) in faults {
                for scope in ["container", "hierarchy"] {
                    to.put_with(&[("failure_type", kind), ("scope", scope)], faults.unwrap_or(0) as f64);
                }
            }
        },
    ),
    Family::counter(
        "container_oom_events_total",
        "Count of out of memory events observed for the container",
        |row, to| {
            to.put(row.details.oom_kills as f64);
        },
    ),
];

fn detail(row: &Row, to: &mut Figures<'_>, figure: fn(&MemoryDetails) -> u64) {
    to.put(figure(&row.details.memory) as f64);
}

fn usage(row: &Row, to: &mut Figures<'_>, figure: fn(&MemoryUsage) -> Option<u64>) {
    to.put(row.details.usage.memory.as_ref().and_then(figure).unwrap_or(0) as f64);
}
