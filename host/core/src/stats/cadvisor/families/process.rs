//! Processes and threads.

use super::{Family, Figures};
use crate::stats::cadvisor::rows::Row;

pub(super) const FAMILIES: &[Family] = &[
    Family::gauge("container_processes", "Number of processes running inside the container.", |row, to| {
        to.put(row.details.processes.count as f64);
    }),
    Family::gauge(
        "container_file_descriptors",
        "Number of open file descriptors for the container.",
        |row, to| {
            to.put(row.details.processes.file_descriptors as f64);
        },
    ),
    Family::gauge("container_sockets", "Number of open sockets for the container.", |row, to| {
        to.put(row.details.processes.sockets as f64);
    }),
    Family::gauge("container_threads", "Number of threads running inside the container", |row, to| {
        to.put(row.details.threads as f64)
    }),
    Family::gauge(
        "container_threads_max",
        "Maximum number of threads allowed inside the container, infinity if value is zero",
        |row, to| {
            to.put(row.details.threads_max as f64);
        },
    ),
    Family::gauge(
        "container_ulimits_soft",
        "Soft ulimit values for the container root process. Unlimited if -1, except priority and nice",
        ulimits,
    ),
    Family::gauge("container_last_seen", "Last time a container was seen by the exporter", |_, to| {
        to.at = Some(to.scrape.at);
        to.put(to.scrape.at.as_second() as f64);
    }),
];

fn ulimits(row: &Row, to: &mut Figures<'_>) {
    if let Some(limit) = row.details.processes.open_files_max {
        to.put_with(&[("ulimit", "max_open_files")], limit as f64);
    }
}
