//! Processes and threads.

use super::{Family, Figures};
use crate::stats::cadvisor::rows::Row;

pub(super) const FAMILIES: &[Family] = &[
    Family::gauge("container_processes", "Processes", |row, to| {
        to.put(row.details.processes.count as f64);
    }),
    Family::gauge("container_file_descriptors", "Open files of all processes", |row, to| {
        to.put(row.details.processes.file_descriptors as f64);
    }),
    Family::gauge("container_sockets", "Open sockets of all processes", |row, to| {
        to.put(row.details.processes.sockets as f64);
    }),
    Family::gauge("container_threads", "Threads", |row, to| to.put(row.details.threads as f64)),
    Family::gauge("container_threads_max", "Threads that there may be; 0 for no limit", |row, to| {
        to.put(row.details.threads_max as f64);
    }),
    Family::gauge("container_ulimits_soft", "What the first process may use; -1 for no limit", ulimits),
    Family::gauge("container_last_seen", "When the cgroup was seen last, in Unix time", |_, to| {
        to.at = Some(to.scrape.at);
        to.put(to.scrape.at.as_second() as f64);
    }),
];

fn ulimits(row: &Row, to: &mut Figures<'_>) {
    if let Some(limit) = row.details.processes.open_files_max {
        to.put_with(&[("ulimit", "max_open_files")], limit as f64);
    }
}
