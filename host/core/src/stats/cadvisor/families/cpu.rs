//! Processor time, its quota, and how long processes waited.

use super::{Family, Figures};
use crate::stats::cadvisor::details::CpuDetails;
use crate::stats::cadvisor::rows::Row;
use crate::stats::cgroup_usage::{PressureUsage, Stall, Stalls};

pub(super) const FAMILIES: &[Family] = &[
    Family::counter(
        "container_cpu_usage_seconds_total",
        "Cumulative cpu time consumed in seconds.",
        |row, to| {
            let used = row.details.usage.cpu_nanoseconds.filter(|used| *used > 0);
            if let Some(used) = used {
                to.put_seconds_with(&[("cpu", "total")], used);
            }
        },
    ),
    Family::counter(
        "container_cpu_user_seconds_total",
        "Cumulative user cpu time consumed in seconds.",
        |row, to| {
            to.put_seconds(row.details.cpu.user);
        },
    ),
    Family::counter(
        "container_cpu_system_seconds_total",
        "Cumulative system cpu time consumed in seconds.",
        |row, to| {
            to.put_seconds(row.details.cpu.system);
        },
    ),
    Family::counter(
        "container_cpu_cfs_periods_total",
        "Number of elapsed enforcement period intervals.",
        |row, to| {
            of_quota(row, to, |to, cpu| to.put(cpu.periods as f64));
        },
    ),
    Family::counter(
        "container_cpu_cfs_throttled_periods_total",
        "Number of throttled period intervals.",
        |row, to| of_quota(row, to, |to, cpu| to.put(cpu.throttled_periods as f64)),
    ),
    Family::counter(
        "container_cpu_cfs_throttled_seconds_total",
        "Total time duration the container has been throttled.",
        |row, to| of_quota(row, to, |to, cpu| to.put_seconds(cpu.throttled)),
    ),
    Family::counter(
        "container_cpu_cfs_burst_periods_total",
        "Number of periods when burst occurs.",
        |row, to| of_quota(row, to, |to, cpu| to.put(cpu.burst_periods as f64)),
    ),
    Family::counter(
        "container_cpu_cfs_burst_seconds_total",
        "Total time duration the container has been bursted.",
        |row, to| of_quota(row, to, |to, cpu| to.put_seconds(cpu.burst)),
    ),
    Family::counter(
        "container_pressure_cpu_stalled_seconds_total",
        "Total time duration no tasks in the container could make progress due to CPU congestion.",
        |row, to| pressure(row, to, |pressure| pressure.cpu, |stalls| stalls.full),
    ),
    Family::counter(
        "container_pressure_cpu_waiting_seconds_total",
        "Total time duration tasks in the container have waited due to CPU congestion.",
        |row, to| pressure(row, to, |pressure| pressure.cpu, |stalls| stalls.some),
    ),
    Family::counter(
        "container_pressure_io_stalled_seconds_total",
        "Total time duration no tasks in the container could make progress due to IO congestion.",
        |row, to| pressure(row, to, |pressure| pressure.io, |stalls| stalls.full),
    ),
    Family::counter(
        "container_pressure_io_waiting_seconds_total",
        "Total time duration tasks in the container have waited due to IO congestion.",
        |row, to| pressure(row, to, |pressure| pressure.io, |stalls| stalls.some),
    ),
    Family::counter(
        "container_pressure_memory_stalled_seconds_total",
        "Total time duration no tasks in the container could make progress due to memory congestion.",
        |row, to| pressure(row, to, |pressure| pressure.memory, |stalls| stalls.full),
    ),
    Family::counter(
        "container_pressure_memory_waiting_seconds_total",
        "Total time duration tasks in the container have waited due to memory congestion.",
        |row, to| pressure(row, to, |pressure| pressure.memory, |stalls| stalls.some),
    ),
];

fn of_quota(row: &Row, to: &mut Figures<'_>, put: fn(&mut Figures<'_>, &CpuDetails)) {
    if row.details.spec.cpu_quota > 0 {
        put(to, &row.details.cpu);
    }
}

fn pressure(
    row: &Row,
    to: &mut Figures<'_>,
    of: fn(&PressureUsage) -> Option<Stalls>,
    line: fn(Stalls) -> Stall,
) {
    if let Some(stalls) = of(&row.details.usage.pressure) {
        to.put_seconds(line(stalls).total_nanoseconds);
    }
}
