//! Limits, and when a cgroup was made.

use super::{Family, Figures};
use crate::stats::cadvisor::details::CgroupSpec;
use crate::stats::cadvisor::rows::Row;
use crate::stats::cgroup_usage::LIMIT_MAX;

pub(super) const FAMILIES: &[Family] = &[
    Family::gauge(
        "container_start_time_seconds",
        "Start time of the container since unix epoch in seconds.",
        |row, to| {
            if let Some(at) = row.started_at {
                to.without_time().put(at.as_second() as f64);
            }
        },
    ),
    Family::gauge("container_spec_cpu_period", "CPU period of the container.", |row, to| {
        of_cpu(row, to, |spec| Some(spec.cpu_period));
    }),
    Family::gauge("container_spec_cpu_quota", "CPU quota of the container.", |row, to| {
        of_cpu(row, to, |spec| (spec.cpu_quota > 0).then_some(spec.cpu_quota));
    }),
    Family::gauge("container_spec_cpu_shares", "CPU share of the container.", |row, to| {
        of_cpu(row, to, |spec| Some(spec.cpu_shares));
    }),
    Family::gauge("container_spec_memory_limit_bytes", "Memory limit for the container.", |row, to| {
        of_memory(row, to, |spec| spec.memory);
    }),
    Family::gauge(
        "container_spec_memory_swap_limit_bytes",
        "Memory swap limit for the container.",
        |row, to| {
            of_memory(row, to, |spec| spec.swap);
        },
    ),
    Family::gauge(
        "container_spec_memory_reservation_limit_bytes",
        "Memory reservation limit for the container.",
        |row, to| of_memory(row, to, |spec| spec.reservation),
    ),
];

fn of_cpu(row: &Row, to: &mut Figures<'_>, figure: fn(&CgroupSpec) -> Option<u64>) {
    let spec = &row.details.spec;
    if let Some(value) = figure(spec).filter(|_| spec.has_cpu) {
        to.without_time().put(value as f64);
    }
}

fn of_memory(row: &Row, to: &mut Figures<'_>, figure: fn(&CgroupSpec) -> Option<u64>) {
    let spec = &row.details.spec;
    if spec.has_memory {
        let limit = figure(spec).filter(|limit| *limit <= LIMIT_MAX);
        to.without_time().put(limit.unwrap_or(0) as f64);
    }
}
